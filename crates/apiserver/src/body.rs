//! The body of an answer on its way to the client.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::FutureExt as _;
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt as _, Full};

use crate::flow::{PartOfRoom, Room};

/// What is handed to a connection at once, bytes: it keeps what the client does not take yet.
const PIECE: usize = 64 * 1024;

/// Pieces up to this size, bytes, are not counted once a connection has them: their number is bounded, and most answers
/// are as small.
const SMALL: usize = 4 * 1024;

/// The body of an answer, with the room that it takes until the client has taken it.
#[derive(Debug, Default)]
pub struct AnswerBody {
    rest: Bytes,
    room: Option<Room>,
    /// Whether pieces are copied out of the body, so that one which is not taken does not hold all of it.
    copied: bool,
}

impl AnswerBody {
    /// A whole body that takes the room of its request.
    pub(crate) fn held(body: Full<Bytes>, room: Room) -> Self {
        let rest = whole(body);
        Self {
            copied: rest.len() > PIECE,
            room: Some(room),
            rest,
        }
    }

    fn next(&mut self) -> Bytes {
        let piece = self.rest.split_to(PIECE.min(self.rest.len()));
        match &mut self.room {
            Some(room) if piece.len() > SMALL => {
                let part = room.part(piece.len());
                let bytes = if self.copied {
                    Bytes::copy_from_slice(&piece)
                } else {
                    piece
                };
                Bytes::from_owner(Piece { bytes, _room: part })
            }
            _ => piece,
        }
    }
}

/// A whole body that takes no room: a small one, or a document that is kept anyway.
impl From<Full<Bytes>> for AnswerBody {
    fn from(body: Full<Bytes>) -> Self {
        Self {
            rest: whole(body),
            ..Self::default()
        }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        Poll::Ready(Some(Ok(Frame::data(self.next()))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

fn whole(body: Full<Bytes>) -> Bytes {
    let collected = body.collect().now_or_never();
    let Ok(whole) = collected.expect("a whole body is there at once");
    whole.to_bytes()
}

/// A piece that a connection has not written yet.
struct Piece {
    bytes: Bytes,
    _room: PartOfRoom,
}

impl AsRef<[u8]> for Piece {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::{Flow, FlowConfig};

    fn held(flow: &Flow, length: usize) -> AnswerBody {
        let mut room = flow.admit("a", 100).unwrap();
        room.answered(length).unwrap();
        AnswerBody::held(Full::from(vec![b'x'; length]), room)
    }

    fn next(body: &mut AnswerBody) -> Option<Bytes> {
        let frame = body.frame().now_or_never().expect("it is there")?;
        let Ok(frame) = frame;
        frame.into_data().ok()
    }

    #[test]
    fn room_is_held_until_a_connection_has_written_what_it_was_handed() {
        let flow = Flow::new(FlowConfig::default());
        let length = 2 * PIECE + 5 * 1024;
        let mut body = held(&flow, length);
        assert_eq!(flow.bytes_in_flight(), length);
        let (first, second, last) = (next(&mut body), next(&mut body), next(&mut body));
        assert!(body.is_end_stream() && next(&mut body).is_none());
        drop(body);
        assert_eq!(flow.bytes_in_flight(), length);
        drop(first);
        assert_eq!(flow.bytes_in_flight(), length - PIECE);
        assert_eq!(last.as_ref().map(Bytes::len), Some(5 * 1024));
        drop((second, last));
        assert_eq!(flow.bytes_in_flight(), 0);
    }

    #[test]
    fn a_body_that_nobody_takes_frees_its_room_when_it_goes() {
        let flow = Flow::new(FlowConfig::default());
        let mut body = held(&flow, 10 * PIECE);
        let piece = next(&mut body);
        drop(body);
        assert_eq!(flow.bytes_in_flight(), PIECE);
        drop(piece);
        assert_eq!(flow.bytes_in_flight(), 0);
    }

    #[test]
    fn a_body_comes_whole_and_says_how_long_it_is() {
        let flow = Flow::new(FlowConfig::default());
        for length in [0, 1, SMALL, PIECE, PIECE + 1, 3 << 20] {
            let text: Vec<u8> = (0..length).map(|i| u8::try_from(i % 251).unwrap()).collect();
            let free = AnswerBody::from(Full::from(text.clone()));
            let mut room = flow.admit("a", 0).unwrap();
            room.answered(length).unwrap();
            for body in [free, AnswerBody::held(Full::from(text.clone()), room)] {
                assert_eq!(body.size_hint().exact(), Some(length as u64));
                assert_eq!(body.collect().now_or_never().unwrap().unwrap().to_bytes(), text);
            }
            assert_eq!(flow.bytes_in_flight(), 0, "{length}");
        }
    }
}
