use std::fmt;

use crate::go;

/// Why a text is no JSON, in Go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The text ends before the value does.
    #[error("unexpected end of JSON input")]
    UnexpectedEnd {
        /// Length of the text, bytes.
        offset: usize,
    },
    /// A byte that cannot stand where it stands.
    #[error("invalid character {} {context}", Character(*.byte))]
    UnexpectedByte {
        /// The byte; a space where the text ends within a literal, as Go reads it.
        byte: u8,
        /// Go's words for the place.
        context: &'static str,
        /// Bytes read, this one included.
        offset: usize,
    },
    /// A number that is not finite as `float64`. Reported only for a text without syntax error.
    #[error("json: cannot unmarshal number {literal} into Go value of type float64")]
    NumberRange {
        /// The number as it was written.
        literal: Box<str>,
        /// Bytes read, the number included.
        offset: usize,
    },
}

impl Error {
    /// Number of bytes read when the error was found.
    pub fn offset(&self) -> usize {
        match self {
            Self::UnexpectedEnd { offset } | Self::UnexpectedByte { offset, .. } | Self::NumberRange { offset, .. } => {
                *offset
            }
        }
    }
}

/// A byte as Go's scanner quotes it: taken for a Unicode character, whatever the encoding of the text.
struct Character(u8);

impl fmt::Display for Character {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            b'\'' => f.write_str(r"'\''"),
            b'"' => f.write_str("'\"'"),
            byte => {
                let quoted = go::quote(char::from(byte).encode_utf8(&mut [0; 2]));
                write!(f, "'{}'", quoted.trim_matches('"'))
            }
        }
    }
}
