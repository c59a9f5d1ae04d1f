//! The body of a request, read into the room that it takes.

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body::Body;
use http_body_util::BodyExt;

use super::Room;
use crate::fault::{ClientFault, Fault, MAX_BODY_BYTES};

/// The room that a body of unknown length begins with: nearly every body as a whole. What does not come takes none.
const FIRST: usize = 64 * 1024;

/// Makes room for the body that `headers` announce, before a byte of it is read.
pub(super) fn reserve(headers: &HeaderMap, room: &mut Room) -> Result<Option<usize>, Fault> {
    let announced = content_length(headers);
    if announced.is_some_and(|length| length > MAX_BODY_BYTES) {
        return Err(ClientFault::BodyTooLarge.into());
    }
    room.resize(announced.unwrap_or(FIRST))?;
    Ok(announced)
}

/// hyper has refused requests whose values differ or are no numbers.
fn content_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

pub(super) fn unreadable(what: &'static str) -> Fault {
    ClientFault::BadRequest(what.into()).into()
}

/// Reads a body; one that was not announced takes more room as it grows. A body of one frame is not copied.
pub(super) async fn read<B>(mut body: B, announced: Option<usize>, room: &mut Room) -> Result<Bytes, Fault>
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    let mut reserved = announced.unwrap_or(FIRST);
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| unreadable("the body of the request broke off"))?;
        let Ok(data) = frame.into_data() else { continue };
        length += data.len();
        if length > MAX_BODY_BYTES {
            return Err(ClientFault::BodyTooLarge.into());
        }
        if length > reserved {
            reserved = (2 * length).min(MAX_BODY_BYTES);
            room.resize(reserved)?;
        }
        if first.is_empty() {
            first = data;
            continue;
        }
        if all.is_empty() {
            all.reserve(announced.unwrap_or_default().max(length));
            all.extend_from_slice(&first);
        }
        all.extend_from_slice(&data);
    }
    room.resize(length)?;
    Ok(if all.is_empty() { first } else { all.freeze() })
}
