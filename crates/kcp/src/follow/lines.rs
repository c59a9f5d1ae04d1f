//! A stream of bytes, line by line.

use bytes::{Bytes, BytesMut};
use futures::{Stream, StreamExt};

use crate::base::RequestError;

/// The longest line that is read, bytes; etcd takes objects of a few MiB at most.
const MAX_LINE: usize = 64 * 1024 * 1024;

pub(super) struct Lines<S> {
    stream: S,
    buffer: BytesMut,
    /// How much of the buffer is known to hold no end of a line.
    scanned: usize,
}

impl<S: Stream<Item = Result<Bytes, RequestError>> + Unpin> Lines<S> {
    pub(super) fn new(stream: S) -> Self {
        Self {
            stream,
            buffer: BytesMut::new(),
            scanned: 0,
        }
    }

    /// The next line that is whole; nothing at the end. Safe to cancel.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, RequestError> {
        loop {
            if let Some(end) = self.buffer[self.scanned..].iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(self.scanned + end + 1).freeze();
                self.scanned = 0;
                return Ok(Some(line));
            }
            self.scanned = self.buffer.len();
            if self.scanned > MAX_LINE {
                return Err(RequestError::Body("a line of a watch is too long".into()));
            }
            match self.stream.next().await {
                Some(piece) => self.buffer.extend_from_slice(&piece?),
                None => return Ok(None),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_whole_whatever_the_pieces() {
        let pieces = ["{\"a\"", ":1}\n{}", "\n", "", "{\"half"];
        let stream = futures::stream::iter(pieces.map(|piece| Ok(Bytes::from_static(piece.as_bytes()))));
        let mut lines = Lines::new(stream);
        assert_eq!(lines.next().await.unwrap().unwrap(), "{\"a\":1}\n");
        assert_eq!(lines.next().await.unwrap().unwrap(), "{}\n");
        assert!(lines.next().await.unwrap().is_none());
    }
}
