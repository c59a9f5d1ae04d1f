//! Flow control: how much is under way at once, in all and for one consumer, and how often one consumer may ask one
//! webhook.

mod body;
mod rate;
mod room;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ephemeral_shares::Shares;
use http::HeaderMap;
use http_body::Body;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::fault::{ClientFault, Fault, MAX_BODY_BYTES, PlatformFault};
use rate::Buckets;
use room::no_room;

pub use rate::Rate;
pub(crate) use room::PartOfRoom;
pub use room::Room;

/// One consumer gets this part of the requests and bytes at most, so that no consumer alone can keep the others out.
const CONSUMERS_PART: usize = 4;

/// The limits.
#[derive(Clone, Debug)]
pub struct FlowConfig {
    /// Requests under way in the whole server; a quarter of them, rounded up, for one consumer.
    pub max_requests: usize,
    /// Bytes in memory for requests and answers in the whole server, at least [`MAX_BODY_BYTES`]; a quarter of them, and
    /// at least as many again, for one consumer.
    pub max_bytes: usize,
    /// What one consumer may ask of one webhook; `None` for no limit.
    pub rate: Option<Rate>,
    /// How long a body may take to arrive.
    pub body_timeout: Duration,
}

impl Default for FlowConfig {
    fn default() -> Self {
        Self {
            max_requests: 8192,
            max_bytes: 256 * 1024 * 1024,
            rate: Some(Rate::default()),
            body_timeout: Duration::from_secs(30),
        }
    }
}

/// Counts what is under way.
///
/// A request is counted with what it holds while it waits for somebody: its headers and body, then the object and the
/// review while the webhook is called, then the answer until the client has taken it. What is in memory only while a
/// thread works on it, such as what is being decoded or compressed, is bounded by the number of threads.
#[derive(Debug)]
pub struct Flow {
    requests: Arc<Semaphore>,
    requests_of_consumers: Arc<Shares>,
    bytes: Arc<Shares>,
    buckets: Option<Buckets>,
    config: FlowConfig,
}

/// One request under way; dropping it makes room.
#[derive(Debug)]
#[must_use]
pub struct InFlight(#[allow(dead_code, reason = "held for its drop")] OwnedSemaphorePermit);

impl Flow {
    /// Nothing under way.
    pub fn new(config: FlowConfig) -> Self {
        let FlowConfig {
            max_requests,
            max_bytes,
            ..
        } = config;
        let share = (max_bytes / CONSUMERS_PART).max(MAX_BODY_BYTES);
        Self {
            requests: Arc::new(Semaphore::new(max_requests.min(Semaphore::MAX_PERMITS))),
            requests_of_consumers: Shares::new(max_requests, max_requests.div_ceil(CONSUMERS_PART)),
            bytes: Shares::new(max_bytes.max(MAX_BODY_BYTES), share),
            buckets: config.rate.map(Buckets::new),
            config,
        }
    }

    /// Begins a request, or 429.
    pub fn begin(&self) -> Result<InFlight, PlatformFault> {
        Arc::clone(&self.requests)
            .try_acquire_owned()
            .map(InFlight)
            .map_err(|_| PlatformFault::Overloaded)
    }

    /// Lets a request of a consumer in, whose headers take so many bytes, or 429.
    ///
    /// The consumer must be known for certain: the logical cluster in a path is text that a provider wrote, and must not
    /// use up a stranger's share before somebody has said that the caller may ask there.
    pub fn admit(&self, consumer: &str, request: usize) -> Result<Room, Fault> {
        let place = self.requests_of_consumers.party(consumer).take(1).map_err(no_room)?;
        let bytes = self.bytes.party(consumer).take(0).map_err(no_room)?;
        Room::new(place, bytes, request, self.bytes.share()).map_err(no_room)
    }

    /// Takes a token of `consumer`'s bucket for `webhook`, or 429 with the time until there is one.
    pub fn take_token(&self, consumer: &str, webhook: &str) -> Result<(), ClientFault> {
        self.buckets
            .as_ref()
            .map_or(Ok(()), |buckets| buckets.take(consumer, webhook))
    }

    /// Reads a body into the room of its request: 413 for one that says it is larger than 3 MiB or turns out to be, 429
    /// where there is no room, before a byte is read for one that says how long it is, and 400 for one that breaks off
    /// or takes too long.
    ///
    /// `Content-Encoding` is not looked at, as in kube-apiserver: a body is what it is.
    pub async fn read<B>(&self, headers: &HeaderMap, body: B, room: &mut Room) -> Result<Bytes, Fault>
    where
        B: Body<Data = Bytes> + Unpin,
    {
        let announced = body::reserve(headers, room)?;
        let read = tokio::time::timeout(self.config.body_timeout, body::read(body, announced, room)).await;
        read.unwrap_or_else(|_| Err(body::unreadable("the body of the request did not arrive in time")))
    }

    /// Requests under way.
    pub fn requests_in_flight(&self) -> usize {
        self.config
            .max_requests
            .saturating_sub(self.requests.available_permits())
    }

    /// Bytes that requests and answers under way are counted with.
    pub fn bytes_in_flight(&self) -> usize {
        self.bytes.taken()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::stream;
    use http::HeaderValue;
    use http::header::CONTENT_LENGTH;
    use http_body::Frame;
    use http_body_util::{Full, StreamBody};

    use super::*;

    fn flow(max_bytes: usize) -> Flow {
        Flow::new(FlowConfig {
            max_requests: 2,
            max_bytes,
            rate: None,
            ..FlowConfig::default()
        })
    }

    fn announcing(length: usize) -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_LENGTH, HeaderValue::from(length))])
    }

    fn code(fault: impl Into<Fault>) -> u16 {
        fault.into().status().code
    }

    fn chunked(sizes: &[usize]) -> impl Body<Data = Bytes, Error = Infallible> + Unpin + use<> {
        let frames: Vec<_> = sizes
            .iter()
            .map(|&size| Ok(Frame::data(Bytes::from(vec![b'x'; size]))))
            .collect();
        StreamBody::new(stream::iter(frames))
    }

    /// Sends this much and then nothing more.
    fn dripping(size: usize) -> impl Body<Data = Bytes, Error = Infallible> + Unpin + use<> {
        use futures::StreamExt as _;
        let first = stream::iter([Ok(Frame::data(Bytes::from(vec![b'x'; size])))]);
        StreamBody::new(first.chain(stream::pending()))
    }

    #[test]
    fn requests_beyond_the_limit_are_refused_until_one_ends() {
        let flow = flow(0);
        let (first, _second) = (flow.begin().unwrap(), flow.begin().unwrap());
        assert_eq!(flow.begin().map_err(code).unwrap_err(), 429);
        assert_eq!(flow.requests_in_flight(), 2);
        drop(first);
        assert!(flow.begin().is_ok());
    }

    #[test]
    fn one_consumer_gets_a_quarter_of_the_requests() {
        let flow = Flow::new(FlowConfig {
            max_requests: 8,
            ..FlowConfig::default()
        });
        let held = [flow.admit("a", 0).unwrap(), flow.admit("a", 0).unwrap()];
        assert_eq!(flow.admit("a", 0).map_err(code).unwrap_err(), 429);
        assert!(flow.admit("b", 0).is_ok());
        drop(held);
        assert!(flow.admit("a", 0).is_ok());
    }

    #[test]
    fn one_consumer_gets_a_quarter_of_the_bytes() {
        let flow = flow(8 * MAX_BODY_BYTES);
        let mut first = flow.admit("a", 0).unwrap();
        first.resize(MAX_BODY_BYTES).unwrap();
        let mut other = flow.admit("b", 0).unwrap();
        // All that one request takes is never more than the share.
        other.resize(100 * MAX_BODY_BYTES).unwrap();
        assert_eq!(flow.bytes_in_flight(), 3 * MAX_BODY_BYTES);
        drop(other);
        first.resize(2 * MAX_BODY_BYTES).unwrap();
        assert_eq!(flow.bytes_in_flight(), 2 * MAX_BODY_BYTES);
    }

    #[test]
    fn a_request_is_counted_beside_its_body_until_it_is_answered() {
        let flow = flow(8 * MAX_BODY_BYTES);
        let mut room = flow.admit("a", 7).unwrap();
        assert_eq!(flow.bytes_in_flight(), 7);
        room.resize(100).unwrap();
        assert_eq!(flow.bytes_in_flight(), 107);
        room.answered(50).unwrap();
        let part = room.part(20);
        drop(room);
        assert_eq!(flow.bytes_in_flight(), 20);
        drop(part);
        assert_eq!(flow.bytes_in_flight(), 0);
    }

    #[tokio::test]
    async fn what_is_announced_finds_room_before_a_byte_is_read() {
        let flow = flow(MAX_BODY_BYTES);
        let mut held = flow.admit("a", 0).unwrap();
        held.resize(MAX_BODY_BYTES - 10).unwrap();
        for (announced, refused) in [(10, None), (11, Some(429)), (MAX_BODY_BYTES + 1, Some(413))] {
            let mut room = flow.admit("b", 0).unwrap();
            let never = StreamBody::new(stream::pending::<Result<Frame<Bytes>, Infallible>>());
            let headers = announcing(announced);
            let mut reading = Box::pin(flow.read(&headers, never, &mut room));
            let read = futures::FutureExt::now_or_never(reading.as_mut());
            assert_eq!(read.map(|read| read.map_err(code).unwrap_err()), refused, "{announced}");
        }
    }

    #[tokio::test]
    async fn a_body_of_unknown_length_takes_room_as_it_comes() {
        let flow = flow(8 * MAX_BODY_BYTES);
        let none = HeaderMap::new();
        for (size, taken) in [(1, 64 << 10), (100 << 10, 200 << 10), (2 << 20, MAX_BODY_BYTES)] {
            let mut room = flow.admit("a", 0).unwrap();
            let mut reading = Box::pin(flow.read(&none, dripping(size), &mut room));
            assert!(futures::poll!(reading.as_mut()).is_pending());
            assert_eq!(flow.bytes_in_flight(), taken, "{size}");
        }
        let mut room = flow.admit("a", 0).unwrap();
        let body = flow.read(&none, chunked(&[3, 0, 4, 5]), &mut room).await.unwrap();
        assert_eq!((body.len(), flow.bytes_in_flight()), (12, 12));
        let empty = Full::new(Bytes::new());
        assert!(flow.read(&announcing(0), empty, &mut room).await.unwrap().is_empty());
        drop(room);
        assert_eq!(flow.bytes_in_flight(), 0);
    }

    #[tokio::test]
    async fn a_body_that_grows_too_large_is_refused() {
        let flow = flow(MAX_BODY_BYTES);
        let none = HeaderMap::new();
        let mut room = flow.admit("a", 0).unwrap();
        let exact = flow.read(&none, chunked(&[MAX_BODY_BYTES - 1, 1]), &mut room).await;
        assert_eq!(exact.unwrap().len(), MAX_BODY_BYTES);
        let over = flow.read(&none, chunked(&[MAX_BODY_BYTES, 1]), &mut room).await;
        assert_eq!(over.map_err(code).unwrap_err(), 413);
    }

    #[tokio::test]
    async fn a_body_that_does_not_arrive_ends_the_request() {
        let body_timeout = Duration::from_millis(20);
        let flow = Flow::new(FlowConfig {
            body_timeout,
            ..FlowConfig::default()
        });
        let mut room = flow.admit("a", 0).unwrap();
        let fault = flow.read(&announcing(5), dripping(1), &mut room).await;
        assert_eq!(fault.map_err(code).unwrap_err(), 400);
    }

    #[test]
    fn without_a_rate_tokens_do_not_end() {
        let flow = flow(0);
        assert!((0..10_000).all(|_| flow.take_token("a", "one").is_ok()));
    }
}
