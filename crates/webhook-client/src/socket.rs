//! The TCP socket under TLS, watched: what was received, how much may be, and whether the peer has said something
//! that nobody has read yet.

use std::io;
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// What a handshake, or a connection between two calls, may receive in bytes.
const BESIDE_CALLS: u64 = 256 * 1024;

/// The socket, to read from and write to.
#[derive(Debug)]
pub(crate) struct Socket {
    tcp: Arc<TcpStream>,
    traffic: Arc<Traffic>,
}

/// The socket, to look at.
#[derive(Debug)]
pub(crate) struct Traffic {
    /// Weak, so that a closed connection gives its descriptor back at once.
    tcp: Weak<TcpStream>,
    received: AtomicU64,
    /// The value of `received` at which the connection has sent too much.
    limit: AtomicU64,
}

/// The peer sent more than the calls of the connection can have asked for.
///
/// A flood of frames that are part of no answer would cost this server CPU for as long as it lasts (CVE-2019-9512,
/// CVE-2019-9515, CVE-2019-9518 and their kin).
#[derive(Debug, thiserror::Error)]
#[error("the peer sent more than was asked for")]
struct Flooded;

impl Socket {
    pub(crate) fn new(tcp: TcpStream) -> Self {
        let tcp = Arc::new(tcp);
        let traffic = Arc::new(Traffic {
            tcp: Arc::downgrade(&tcp),
            received: AtomicU64::new(0),
            limit: AtomicU64::new(BESIDE_CALLS),
        });
        Self { tcp, traffic }
    }

    pub(crate) fn traffic(&self) -> Arc<Traffic> {
        Arc::clone(&self.traffic)
    }
}

impl Traffic {
    /// The bytes received so far.
    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }

    /// Whether the peer has sent more than it was let.
    pub(crate) fn is_flooded(&self) -> bool {
        self.received() > self.limit.load(Ordering::Relaxed)
    }

    /// Lets the peer send this many bytes from now on, beside the little that a connection without calls may receive.
    /// What it was let send before and did not is void.
    pub(crate) fn expect(&self, bytes: u64) {
        self.limit
            .store(self.received() + BESIDE_CALLS + bytes, Ordering::Relaxed);
    }

    /// Whether the kernel holds something that was not read, or the peer has closed the connection.
    ///
    /// Asks the kernel and not the runtime, which learns of it only when it next polls.
    pub(crate) fn has_unread(&self) -> bool {
        let Some(tcp) = self.tcp.upgrade() else { return true };
        let mut byte = [MaybeUninit::uninit()];
        match SockRef::from(&*tcp).peek(&mut byte) {
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
            Ok(_) => true,
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            ready!(self.tcp.poll_read_ready(cx))?;
            match self.tcp.try_read_buf(buf) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
                Ok(count) => {
                    // usize is at most 64 bits wide wherever this runs.
                    let count = count as u64;
                    self.traffic.received.fetch_add(count, Ordering::Relaxed);
                    if self.traffic.is_flooded() {
                        return Poll::Ready(Err(io::Error::other(Flooded)));
                    }
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_try_write(cx, |tcp| tcp.try_write(buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_try_write(cx, |tcp| tcp.try_write_vectored(bufs))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&*self.tcp).shutdown(Shutdown::Write))
    }
}

impl Socket {
    fn poll_try_write(
        &self,
        cx: &mut Context<'_>,
        write: impl Fn(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.tcp.poll_write_ready(cx))?;
            match write(&self.tcp) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio::time::timeout;

    use super::*;

    async fn pair() -> (Socket, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (near, far) = tokio::join!(TcpStream::connect(address), listener.accept());
        (Socket::new(near.unwrap()), far.unwrap().0)
    }

    async fn becomes_unread(traffic: &Traffic) {
        let poll = async {
            while !traffic.has_unread() {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_secs(10), poll)
            .await
            .expect("the peer's doing is seen");
    }

    #[tokio::test]
    async fn it_carries_bytes_both_ways() {
        let (mut near, mut far) = pair().await;
        near.write_all(b"question").await.unwrap();
        let mut read = [0; 8];
        far.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"question");

        far.write_all(b"answer").await.unwrap();
        near.read_exact(&mut read[..6]).await.unwrap();
        assert_eq!((&read[..6], near.traffic().received()), (b"answer".as_slice(), 6));

        near.shutdown().await.unwrap();
        assert_eq!(far.read(&mut read).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn what_the_peer_did_is_seen_without_reading() {
        let (near, mut far) = pair().await;
        let traffic = near.traffic();
        assert!(!traffic.has_unread());
        far.write_all(b"x").await.unwrap();
        becomes_unread(&traffic).await;

        let (near, far) = pair().await;
        let traffic = near.traffic();
        assert!(!traffic.has_unread());
        drop(far);
        becomes_unread(&traffic).await;

        let (near, _far) = pair().await;
        let traffic = near.traffic();
        drop(near);
        assert!(traffic.has_unread());
    }

    #[tokio::test]
    async fn more_than_allowed_is_an_error() {
        let (mut near, mut far) = pair().await;
        let traffic = near.traffic();
        traffic.expect(1000);
        let flood = usize::try_from(BESIDE_CALLS).unwrap() + 1000;
        let zeros = vec![0; flood];
        let (written, read) = tokio::join!(far.write_all(&zeros), async {
            let mut read = vec![0; flood];
            near.read_exact(&mut read).await
        });
        written.and(read).unwrap();
        far.write_all(b"x").await.unwrap();
        let error = near.read_u8().await.unwrap_err();
        assert!(error.downcast::<Flooded>().is_ok());

        traffic.expect(0);
        far.write_all(b"x").await.unwrap();
        near.read_u8().await.unwrap();
    }
}
