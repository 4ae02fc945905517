//! Regular expressions of names. They are a feature: few programs with a service of their own need them.

#[cfg(feature = "name-regex")]
mod compiled {
    use regex_lite::{Regex, RegexBuilder};

    /// A compiled expression.
    #[derive(Debug)]
    pub(crate) struct Expression(Regex);

    impl Expression {
        /// Compiles `text` into at most `bytes` of memory.
        ///
        /// # Errors
        /// What is wrong with the text, in the words of the regex parser.
        pub(crate) fn new(text: &str, bytes: usize) -> Result<Self, String> {
            let built = RegexBuilder::new(text).size_limit(bytes).build();
            built.map(Self).map_err(|error| error.to_string())
        }

        pub(crate) fn is_match(&self, name: &str) -> bool {
            self.0.is_match(name)
        }
    }
}

#[cfg(not(feature = "name-regex"))]
mod compiled {
    /// No value of it exists: [`new`](Self::new) always fails.
    #[derive(Debug)]
    pub(crate) enum Expression {}

    impl Expression {
        /// # Errors
        /// Always.
        pub(crate) fn new(_: &str, _: usize) -> Result<Self, String> {
            Err("this program was built without the feature `name-regex`".to_owned())
        }

        pub(crate) fn is_match(&self, _: &str) -> bool {
            match *self {}
        }
    }
}

pub(crate) use compiled::Expression;
