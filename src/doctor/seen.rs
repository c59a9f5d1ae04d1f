//! What could be seen of something.

use ephemeral_kcp::RequestError;

use crate::errors::one_line;

/// Something of kcp's, looked at with somebody's credentials.
#[derive(Clone, Debug)]
pub(super) enum Seen<T> {
    /// It is there.
    Found(T),
    /// It is not there.
    Missing,
    /// Whether it is there cannot be said, and why.
    Hidden(String),
}

impl<T> Seen<T> {
    /// What a request led to.
    pub(super) fn of(result: Result<T, RequestError>) -> Self {
        match result {
            Ok(found) => Self::Found(found),
            Err(error) if error.is_not_found() => Self::Missing,
            Err(error) if error.is_forbidden() => Self::Hidden("not visible with these credentials".to_owned()),
            Err(error) => Self::Hidden(one_line(&error)),
        }
    }

    /// What was found, if anything was.
    pub(super) const fn found(&self) -> Option<&T> {
        match self {
            Self::Found(found) => Some(found),
            Self::Missing | Self::Hidden(_) => None,
        }
    }

    pub(super) fn map<U>(self, f: impl FnOnce(T) -> U) -> Seen<U> {
        match self {
            Self::Found(found) => Seen::Found(f(found)),
            Self::Missing => Seen::Missing,
            Self::Hidden(why) => Seen::Hidden(why),
        }
    }
}
