//! Flow control: how much is under way at once, and how often one consumer may ask one webhook.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota};
use http::HeaderMap;
use http::header::CONTENT_LENGTH;
use http_body::Body;
use http_body_util::BodyExt;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::fault::{ClientFault, Fault, MAX_BODY_BYTES, PlatformFault};

/// Most pairs of consumer and webhook whose rate is remembered; of more, the least recently used start anew.
const MAX_BUCKETS: u64 = 100_000;

/// The limits.
#[derive(Clone, Debug)]
pub struct FlowConfig {
    /// Requests under way in the whole server.
    pub max_requests: usize,
    /// Bytes of bodies in memory in the whole server, at least [`MAX_BODY_BYTES`].
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

/// A token bucket.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Rate {
    /// Tokens that come back each second.
    pub per_second: NonZeroU32,
    /// Tokens of a full bucket.
    pub burst: NonZeroU32,
}

impl Default for Rate {
    /// 100 a second, 200 at once.
    fn default() -> Self {
        const DEFAULT: (NonZeroU32, NonZeroU32) = (NonZeroU32::new(100).unwrap(), NonZeroU32::new(200).unwrap());
        Self {
            per_second: DEFAULT.0,
            burst: DEFAULT.1,
        }
    }
}

/// Counts what is under way.
#[derive(Debug)]
pub struct Flow {
    requests: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    buckets: Option<Buckets>,
    config: FlowConfig,
}

/// One request under way; dropping it makes room.
#[derive(Debug)]
#[must_use]
pub struct InFlight(#[allow(dead_code, reason = "held for its drop")] OwnedSemaphorePermit);

/// Room for a body that was not read yet; dropping it makes room.
#[derive(Debug)]
#[must_use]
pub struct Reservation {
    permit: OwnedSemaphorePermit,
    expected: Option<usize>,
}

/// A body in memory, with the room that it takes; dropping it makes room.
#[derive(Debug)]
pub struct RequestBody {
    bytes: Bytes,
    _room: OwnedSemaphorePermit,
}

impl RequestBody {
    /// The body. A clone of it outlives the room, so borrow.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

impl Flow {
    /// Nothing under way.
    pub fn new(config: FlowConfig) -> Self {
        Self {
            requests: Arc::new(Semaphore::new(config.max_requests.min(Semaphore::MAX_PERMITS))),
            bytes: Arc::new(Semaphore::new(
                config.max_bytes.clamp(MAX_BODY_BYTES, Semaphore::MAX_PERMITS),
            )),
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

    /// Takes a token of `consumer`'s bucket for `webhook`, or 429 with the time until there is one.
    pub fn take_token(&self, consumer: &str, webhook: &str) -> Result<(), ClientFault> {
        self.buckets
            .as_ref()
            .map_or(Ok(()), |buckets| buckets.take(consumer, webhook))
    }

    /// Makes room for the body that `headers` announce, before a byte of it is read: what `Content-Length` says, or as
    /// much as a body may have. 413 for one that says it is too large, 429 where there is no room.
    pub fn reserve(&self, headers: &HeaderMap) -> Result<Reservation, Fault> {
        let expected = content_length(headers);
        let size = expected.unwrap_or(MAX_BODY_BYTES);
        if size > MAX_BODY_BYTES {
            return Err(ClientFault::BodyTooLarge.into());
        }
        let permits = u32::try_from(size).map_err(|_| ClientFault::BodyTooLarge)?;
        match Arc::clone(&self.bytes).try_acquire_many_owned(permits) {
            Ok(permit) => Ok(Reservation { permit, expected }),
            Err(_) => Err(PlatformFault::Overloaded.into()),
        }
    }

    /// Reads a body into its reservation: 413 for one that turns out larger than 3 MiB, 400 for one that breaks off or
    /// takes too long.
    ///
    /// `Content-Encoding` is not looked at, as in kube-apiserver: a body is what it is.
    pub async fn read<B>(&self, reservation: Reservation, body: B) -> Result<RequestBody, Fault>
    where
        B: Body<Data = Bytes> + Unpin,
    {
        let Reservation { mut permit, expected } = reservation;
        let read = tokio::time::timeout(self.config.body_timeout, read(body, expected)).await;
        let bytes = read.unwrap_or_else(|_| Err(unreadable("the body of the request did not arrive in time")))?;
        // What was reserved for a body of unknown size and not needed is room for others at once.
        drop(permit.split(permit.num_permits().saturating_sub(bytes.len())));
        Ok(RequestBody { bytes, _room: permit })
    }

    /// Requests under way.
    pub fn requests_in_flight(&self) -> usize {
        self.config
            .max_requests
            .saturating_sub(self.requests.available_permits())
    }

    /// Bytes of bodies that are in memory or reserved.
    pub fn bytes_in_flight(&self) -> usize {
        self.config
            .max_bytes
            .max(MAX_BODY_BYTES)
            .saturating_sub(self.bytes.available_permits())
    }
}

/// hyper has refused requests whose values differ or are no numbers.
fn content_length(headers: &HeaderMap) -> Option<usize> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn unreadable(what: &'static str) -> Fault {
    ClientFault::BadRequest(what.into()).into()
}

/// A body of one frame is not copied.
async fn read<B>(mut body: B, expected: Option<usize>) -> Result<Bytes, Fault>
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut first = Bytes::new();
    let mut all = BytesMut::new();
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| unreadable("the body of the request broke off"))?;
        let Ok(data) = frame.into_data() else { continue };
        length += data.len();
        if length > MAX_BODY_BYTES {
            return Err(ClientFault::BodyTooLarge.into());
        }
        if first.is_empty() {
            first = data;
            continue;
        }
        if all.is_empty() {
            all.reserve(expected.unwrap_or_default().max(length));
            all.extend_from_slice(&first);
        }
        all.extend_from_slice(&data);
    }
    Ok(if all.is_empty() { first } else { all.freeze() })
}

/// One bucket for each consumer and webhook.
#[derive(Debug)]
struct Buckets {
    quota: Quota,
    by_key: Cache<String, Arc<DefaultDirectRateLimiter>>,
    clock: DefaultClock,
}

impl Buckets {
    fn new(rate: Rate) -> Self {
        // An untouched bucket is full again after this time, and then no different from a new one.
        let refill = Duration::from_secs(u64::from(rate.burst.get().div_ceil(rate.per_second.get())) + 1);
        let by_key = Cache::builder()
            .max_capacity(MAX_BUCKETS)
            .eviction_policy(EvictionPolicy::lru())
            .time_to_idle(refill)
            .build();
        Self {
            quota: Quota::per_second(rate.per_second).allow_burst(rate.burst),
            by_key,
            clock: DefaultClock::default(),
        }
    }

    fn take(&self, consumer: &str, webhook: &str) -> Result<(), ClientFault> {
        // The name of a logical cluster has no slash, so two pairs never make one key.
        let key = format!("{consumer}/{webhook}");
        let bucket = self
            .by_key
            .get_with(key, || Arc::new(DefaultDirectRateLimiter::direct(self.quota)));
        bucket.check().map_err(|until| ClientFault::TooManyRequests {
            message: "too many requests of this workspace to this resource, please try again later",
            retry_after: whole_seconds(until.wait_time_from(self.clock.now())),
        })
    }
}

/// Rounded up, and at least one: `Retry-After` has no fractions.
fn whole_seconds(wait: Duration) -> u32 {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    u32::try_from(seconds).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures::stream;
    use http::HeaderValue;
    use http_body::Frame;
    use http_body_util::{Full, StreamBody};

    use super::*;

    fn flow(max_bytes: usize) -> Flow {
        Flow::new(FlowConfig {
            max_requests: 2,
            max_bytes,
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
    fn room_is_taken_before_a_byte_is_read() {
        let flow = flow(MAX_BODY_BYTES + 10);
        let unknown = flow.reserve(&HeaderMap::new()).unwrap();
        assert_eq!(flow.bytes_in_flight(), MAX_BODY_BYTES);
        assert_eq!(flow.reserve(&announcing(11)).map_err(code).unwrap_err(), 429);
        assert!(flow.reserve(&announcing(10)).is_ok());
        drop(unknown);
        assert_eq!(flow.bytes_in_flight(), 0);
        assert_eq!(
            flow.reserve(&announcing(MAX_BODY_BYTES + 1)).map_err(code).unwrap_err(),
            413
        );
        assert!(flow.reserve(&announcing(MAX_BODY_BYTES)).is_ok());
    }

    #[tokio::test]
    async fn a_body_keeps_the_room_of_its_own_size() {
        let flow = flow(MAX_BODY_BYTES);
        let reservation = flow.reserve(&HeaderMap::new()).unwrap();
        let body = flow.read(reservation, chunked(&[3, 0, 4, 5])).await.unwrap();
        assert_eq!((body.bytes().len(), flow.bytes_in_flight()), (12, 12));
        drop(body);
        assert_eq!(flow.bytes_in_flight(), 0);
        let empty = flow
            .read(flow.reserve(&announcing(0)).unwrap(), Full::new(Bytes::new()))
            .await
            .unwrap();
        assert!(empty.bytes().is_empty());
    }

    #[tokio::test]
    async fn a_body_that_grows_too_large_is_refused() {
        let flow = flow(MAX_BODY_BYTES);
        let exact = flow
            .read(
                flow.reserve(&HeaderMap::new()).unwrap(),
                chunked(&[MAX_BODY_BYTES - 1, 1]),
            )
            .await;
        assert_eq!(exact.unwrap().bytes().len(), MAX_BODY_BYTES);
        let over = flow
            .read(flow.reserve(&HeaderMap::new()).unwrap(), chunked(&[MAX_BODY_BYTES, 1]))
            .await;
        assert_eq!(over.map_err(code).unwrap_err(), 413);
        assert_eq!(flow.bytes_in_flight(), 0);
    }

    #[tokio::test]
    async fn a_body_that_does_not_arrive_ends_the_request() {
        let body_timeout = Duration::from_millis(20);
        let flow = Flow::new(FlowConfig {
            body_timeout,
            ..FlowConfig::default()
        });
        let never = StreamBody::new(stream::pending::<Result<Frame<Bytes>, Infallible>>());
        let fault = flow
            .read(flow.reserve(&announcing(5)).unwrap(), never)
            .await
            .map_err(code)
            .unwrap_err();
        assert_eq!((fault, flow.bytes_in_flight()), (400, 0));
    }

    #[test]
    fn a_bucket_is_one_consumers_for_one_webhook() {
        let rate = Rate {
            per_second: NonZeroU32::MIN,
            burst: NonZeroU32::new(2).unwrap(),
        };
        let flow = Flow::new(FlowConfig {
            rate: Some(rate),
            ..FlowConfig::default()
        });
        for consumer in ["a", "b"] {
            for webhook in ["one", "two"] {
                assert!(
                    (0..2).all(|_| flow.take_token(consumer, webhook).is_ok()),
                    "{consumer} {webhook}"
                );
                match flow.take_token(consumer, webhook) {
                    Err(ClientFault::TooManyRequests { retry_after: 1, .. }) => {}
                    other => panic!("{consumer} {webhook}: {other:?}"),
                }
            }
        }
        let unlimited = Flow::new(FlowConfig {
            rate: None,
            ..FlowConfig::default()
        });
        assert!((0..10_000).all(|_| unlimited.take_token("a", "one").is_ok()));
    }

    #[test]
    fn waits_are_rounded_up() {
        let rows = [(0, 1), (1, 1), (1_000, 1), (1_001, 2), (2_500, 3)];
        for (millis, seconds) in rows {
            assert_eq!(whole_seconds(Duration::from_millis(millis)), seconds, "{millis}");
        }
    }
}
