//! The body of an answer, whole or not at all.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use ephemeral_shares::{Party, Taken};
use http::HeaderMap;
use http_body::Body as _;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use crate::MAX_ANSWER;
use crate::error::CallError;

/// The pieces, chunks or frames, that an answer may come in. Each costs the switch between two tasks, so that a body of
/// single bytes would cost this server a thousand times what it costs the webhook.
const MAX_PIECES: usize = 65_536;

/// The beginning of an answer that is not counted, bytes: most answers are no longer, and find room however much others
/// take.
const UNCOUNTED: usize = 16 * 1024;

/// Reads a body of at most [`MAX_ANSWER`] bytes. What is announced to be larger is not read at all. What arrives is
/// counted with the `party` until the last copy of it is gone, and where there is no room for more, the call ends.
pub(crate) async fn read(
    mut body: Incoming,
    party: &Party,
    blame: impl Fn(hyper::Error) -> CallError,
) -> Result<Bytes, CallError> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > MAX_ANSWER {
        return Err(CallError::TooLarge);
    }
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    let mut pieces = 0;
    let mut length = 0;
    let mut room: Option<Taken> = None;
    while let Some(frame) = body.frame().await {
        pieces += 1;
        let Ok(data) = frame.map_err(&blame)?.into_data() else {
            continue;
        };
        length += data.len();
        if length > MAX_ANSWER || pieces > MAX_PIECES {
            return Err(CallError::TooLarge);
        }
        match &mut room {
            Some(room) => room.resize(length)?,
            None if length > UNCOUNTED => room = Some(party.take(length)?),
            None => {}
        }
        if first.is_empty() && all.is_empty() {
            first = data;
            continue;
        }
        if all.is_empty() {
            // More than one piece: from here on it is copied, so that many small ones do not each keep a buffer.
            all.reserve(announced.max(2 * (first.len() + data.len())));
            all.extend_from_slice(&std::mem::take(&mut first));
        }
        all.extend_from_slice(&data);
    }
    let bytes = if all.is_empty() { first } else { all.freeze() };
    Ok(match room {
        Some(room) => Bytes::from_owner(Counted { bytes, _room: room }),
        None => bytes,
    })
}

/// An answer with the room that it takes.
struct Counted {
    bytes: Bytes,
    _room: Taken,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// How long the webhook promises to keep the connection open: `Keep-Alive: timeout=<seconds>`, which Node.js and
/// others send.
pub(crate) fn keep_alive(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get("keep-alive")?.to_str().ok()?;
    let mut parameters = value
        .split(',')
        .filter_map(|parameter| parameter.trim().split_once('='));
    let (_, seconds) = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("timeout"))?;
    seconds.trim().parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_promise_of_keep_alive_is_read() {
        for (value, promised) in [
            ("timeout=5", Some(5)),
            ("timeout=5, max=100", Some(5)),
            ("max=100 , Timeout = 7", Some(7)),
            ("max=100", None),
            ("timeout=-1", None),
            ("timeout", None),
            ("", None),
        ] {
            let headers = HeaderMap::from_iter([(
                http::header::HeaderName::from_static("keep-alive"),
                value.parse().unwrap(),
            )]);
            assert_eq!(keep_alive(&headers), promised.map(Duration::from_secs), "{value}");
        }
    }
}
