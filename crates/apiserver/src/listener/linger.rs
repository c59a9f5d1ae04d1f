//! A socket that is closed without losing the last answer.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

/// How long, and how much, is read after the last word of this side.
const LINGER: Duration = Duration::from_secs(2);
const LINGER_BYTES: usize = 16 * 1024 * 1024;

/// Reads and drops what the peer still sends after this side has said its last word.
///
/// A request may be answered before its body was read (413, 429). If the socket is closed while bytes of that body
/// arrive, the system sends a reset, and the client loses the answer that it was about to read. Go's server waits
/// for the same reason (`rstAvoidanceDelay`).
#[derive(Debug)]
pub(super) struct Linger<T> {
    io: T,
    closing: Option<Closing>,
}

#[derive(Debug)]
struct Closing {
    deadline: Pin<Box<Sleep>>,
    budget: usize,
}

impl<T> Linger<T> {
    pub(super) fn new(io: T) -> Self {
        Self { io, closing: None }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Linger<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Linger<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if this.closing.is_none() {
            ready!(Pin::new(&mut this.io).poll_shutdown(cx))?;
        }
        let closing = this.closing.get_or_insert_with(|| Closing {
            deadline: Box::pin(tokio::time::sleep(LINGER)),
            budget: LINGER_BYTES,
        });
        let mut scratch = [0; 8 * 1024];
        while closing.budget > 0 && closing.deadline.as_mut().poll(cx).is_pending() {
            let mut buf = ReadBuf::new(&mut scratch);
            match ready!(Pin::new(&mut this.io).poll_read(cx, &mut buf)) {
                Ok(()) if !buf.filled().is_empty() => {
                    closing.budget = closing.budget.saturating_sub(buf.filled().len());
                }
                // The peer has closed, or is gone: nothing is left to lose.
                Ok(()) | Err(_) => break,
            }
        }
        Poll::Ready(Ok(()))
    }
}
