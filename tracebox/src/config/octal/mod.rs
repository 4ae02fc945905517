//! Finds numbers of a text config that begin with 0: TextFormat reads them as octal, the C++ tools as decimal.

/// One warning for each number of `text` that has another value in octal than in decimal. `name` is the file.
pub(super) fn warnings(name: &str, text: &[u8]) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut scanner = Scanner { text, at: 0 };
    while let Some(start) = scanner.next_number() {
        let number = text.get(start..scanner.at).unwrap_or_default();
        let Some((octal, decimal)) = both_values(number) else { continue };
        let before = text.get(..start).unwrap_or_default();
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|&&byte| byte != b'\n').count() + 1;
        let number = String::from_utf8_lossy(number);
        warnings.push(format!(
            "{name}:{line}:{column} warning: {number} is octal and means {octal}; \
             perfetto in C++ reads it as {decimal}"
        ));
    }
    warnings
}

/// The value of an octal number, and that of its digits in decimal, if they are not the same.
fn both_values(number: &[u8]) -> Option<(u64, u64)> {
    let number = std::str::from_utf8(number).ok().filter(|number| number.starts_with('0'))?;
    let octal = u64::from_str_radix(number, 8).ok()?;
    let decimal = number.parse().ok()?;
    (octal != decimal).then_some((octal, decimal))
}

struct Scanner<'t> {
    text: &'t [u8],
    at: usize,
}

impl Scanner<'_> {
    /// Moves behind the next word that begins with a digit, outside of strings and comments; its first byte.
    fn next_number(&mut self) -> Option<usize> {
        loop {
            let start = self.at;
            match *self.text.get(start)? {
                b'#' => self.skip_while(|byte| byte != b'\n'),
                quote @ (b'"' | b'\'') => self.skip_string(quote),
                byte if is_word(byte) => {
                    self.skip_while(is_word);
                    if byte.is_ascii_digit() {
                        return Some(start);
                    }
                }
                _ => self.at += 1,
            }
        }
    }

    fn skip_while(&mut self, is: impl Fn(u8) -> bool) {
        while self.text.get(self.at).is_some_and(|&byte| is(byte)) {
            self.at += 1;
        }
    }

    fn skip_string(&mut self, quote: u8) {
        self.at += 1;
        while let Some(&byte) = self.text.get(self.at) {
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == quote {
                return;
            }
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'+')
}

#[cfg(test)]
mod tests;
