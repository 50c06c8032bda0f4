//! A secret's value: it can be used, never printed and never serialized.

use std::fmt;

use crate::guard::Guard;

/// A secret's plain text. `Debug` and `Display` print a marker; there is no `Serialize`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes charge of a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The plain text. Call this only where the value meets its sink (a field of the page under
    /// test) or the redactor.
    pub fn expose(&self) -> &str {
        &self.0
    }

    fn printed(&self) -> &str {
        match Guard::SecretSink.holds() {
            true => "<secret>",
            false => &self.0,
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.printed())
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.printed())
    }
}

/// What stands in text where a secret stood.
pub fn marker(name: &str) -> String {
    format!("<secret:{name}>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_prints() {
        let secret = Secret::new("hunter22");
        assert_eq!(
            format!("{secret} {secret:?} {:?}", Some(&secret)),
            "<secret> <secret> Some(<secret>)"
        );
        assert_eq!(secret.expose(), "hunter22");
    }
}
