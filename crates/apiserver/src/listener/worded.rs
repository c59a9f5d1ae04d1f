//! The errors that hyper answers by itself on HTTP/1.1, with a body.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::fault::{ClientFault, Fault};

/// Puts a Status into answers to what is no HTTP.
///
/// Such a request reaches no service: hyper answers it with a head alone, hangs up, and lets nobody have a say. So
/// that head, which comes in one piece and is unlike any of a service, is known by its text on the way out. Were it to
/// change, it would pass as it is.
#[derive(Debug)]
pub(super) struct Worded<T> {
    io: T,
    /// What has been taken for written and is not yet.
    pending: Vec<u8>,
}

impl<T: AsyncWrite + Unpin> Worded<T> {
    pub(super) fn new(io: T) -> Self {
        Self {
            io,
            pending: Vec::new(),
        }
    }

    fn poll_pending(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.pending.is_empty() {
            let written = ready!(Pin::new(&mut self.io).poll_write(cx, &self.pending))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.pending.drain(..written);
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Worded<T> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Worded<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_pending(cx))?;
        let Some(answer) = with_status(buf) else {
            return Pin::new(&mut self.io).poll_write(cx, buf);
        };
        self.pending = answer;
        // The rest goes before whatever comes next.
        if let Poll::Ready(Err(error)) = self.poll_pending(cx) {
            return Poll::Ready(Err(error));
        }
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_pending(cx))?;
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_pending(cx))?;
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let [only] = bufs {
            return self.poll_write(cx, only);
        }
        ready!(self.poll_pending(cx))?;
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}

/// The whole answer, if `head` is one of hyper's own: an error without a body, and without what each of ours has.
fn with_status(head: &[u8]) -> Option<Vec<u8>> {
    const NO_BODY: &str = "content-length: 0\r\n";
    let (version, rest) = head.split_first_chunk::<9>()?;
    if !matches!(version, b"HTTP/1.1 " | b"HTTP/1.0 ") {
        return None;
    }
    let fault: Fault = match rest.get(..4)? {
        b"400 " => ClientFault::BadRequest("the request is not valid HTTP".into()).into(),
        b"414 " => ClientFault::UriTooLong.into(),
        b"431 " => ClientFault::HeadersTooLarge.into(),
        _ => return None,
    };
    let head = std::str::from_utf8(head).ok()?;
    if !(head.ends_with("\r\n\r\n") && head.contains(NO_BODY)) || head.contains("content-type") {
        return None;
    }
    let body = fault.status().to_json();
    let described = format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len());
    let mut answer = head.replacen(NO_BODY, &described, 1).into_bytes();
    answer.extend(body);
    Some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bare_errors_are_given_a_body() {
        let bare = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        let answer = String::from_utf8(with_status(bare.as_bytes()).unwrap()).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert_eq!(
            head,
            format!(
                "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close",
                body.len()
            )
        );
        assert!(body.contains("\"reason\":\"BadRequest\""), "{body}");
        for other in [
            "",
            "HTTP/1.1 400 ",
            "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 10\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-type: a/b\r\ncontent-length: 0\r\n\r\n",
            "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\nx",
        ] {
            assert_eq!(with_status(other.as_bytes()), None, "{other}");
        }
    }
}
