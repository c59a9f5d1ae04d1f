use std::future::Future;
use std::time::Duration;

use hyper::rt::Executor;

/// Runs the streams of HTTP/2 connections, each for so long at most. One that is dropped before its answer was taken is
/// reset, which frees what its connection keeps of it.
#[derive(Clone, Debug)]
pub(super) struct Streams(pub(super) Duration);

impl<F> Executor<F> for Streams
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        tokio::spawn(tokio::time::timeout(self.0, stream));
    }
}
