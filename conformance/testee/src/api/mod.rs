//! The API kinds that can convert the payload of a request into the requested format.

mod compact;
mod copy;
mod dynamic;
mod owned;
mod structs;
mod view;

/// The payload of a request.
pub enum Input<'a> {
    Binary(&'a [u8]),
    Text(&'a str),
    Json { text: &'a str, ignore_unknown: bool },
}

/// The requested format.
#[derive(Clone, Copy)]
pub enum Output {
    Binary,
    Text { print_unknown: bool },
    Json,
}

/// Why a conversion failed.
pub enum Failure {
    Parse(String),
    Serialize(String),
    UnknownMessage,
}

/// The code that converts.
#[derive(Clone, Copy)]
pub enum ApiKind {
    /// Generated owned messages.
    Owned,
    /// The same in the compact form.
    Compact,
    /// Generated messages that borrow.
    View,
    /// Dynamic messages, over descriptors of the official compiler.
    Dynamic,
    /// The same over descriptors from our parser.
    Compiled,
    /// Generated readers and writers.
    Copy,
}

impl ApiKind {
    /// The API kind that the command line calls `name`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "owned" => Some(Self::Owned),
            "compact" => Some(Self::Compact),
            "view" => Some(Self::View),
            "dynamic" => Some(Self::Dynamic),
            "compiled" => Some(Self::Compiled),
            "copy" => Some(Self::Copy),
            _ => None,
        }
    }

    /// Whether this API kind supports both formats.
    pub fn takes(self, input: &Input<'_>, output: &Output) -> bool {
        let is_binary = matches!((input, output), (Input::Binary(_), Output::Binary));
        is_binary || !matches!(self, Self::Copy | Self::View)
    }

    /// Reads `input` as message `name` and writes it as `output`.
    ///
    /// # Errors
    /// [`Failure`], which is reported to the runner.
    pub fn convert(
        self,
        name: &str,
        input: &Input<'_>,
        output: &Output,
    ) -> Result<Vec<u8>, Failure> {
        match self {
            Self::Owned => owned::convert(name, input, output),
            Self::Compact => compact::convert(name, input, output),
            Self::View => view::convert(name, input, output),
            Self::Copy => copy::convert(name, input, output),
            Self::Dynamic => dynamic::convert(&dynamic::OFFICIAL, name, input, output),
            Self::Compiled => dynamic::convert(&dynamic::OURS, name, input, output),
        }
    }
}
