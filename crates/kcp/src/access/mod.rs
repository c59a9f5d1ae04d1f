//! May the caller, and is the consumer bound to the export? Asked of kcp, and remembered for a few seconds.
//!
//! A request's path proves neither the consumer nor the export: it is text that a provider may have written into a
//! slice. What proves them is a SubjectAccessReview for the caller in the consumer's logical cluster, and an APIBinding
//! there that kcp says is bound to that very export.

mod ask;
mod gate;
mod question;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use moka::Expiry;
use moka::future::Cache;

use crate::base::{Base, RequestError};
use ask::Ask;
use gate::Gate;
use question::Fingerprint;

pub use gate::Limits;
pub use question::Question;

/// How long answers hold, and how many questions there may be.
#[derive(Clone, Debug)]
pub struct AccessConfig {
    /// How long a yes to a caller holds.
    pub allowed: Duration,
    /// How long a no holds, to a caller and about a binding: somebody waits for it to become a yes.
    pub denied: Duration,
    /// How long a binding holds.
    pub bindings: Duration,
    /// What one question may take, waiting for a place included; that half of it at most.
    pub timeout: Duration,
    /// Answers of each kind that are remembered.
    pub capacity: u64,
    /// How many questions are under way.
    pub limits: Limits,
}

impl Default for AccessConfig {
    /// 10, 5 and 30 seconds; 5 seconds for a question; 100,000 answers.
    fn default() -> Self {
        Self {
            allowed: Duration::from_secs(10),
            denied: Duration::from_secs(5),
            bindings: Duration::from_secs(30),
            timeout: Duration::from_secs(5),
            capacity: 100_000,
            limits: Limits::default(),
        }
    }
}

/// The answer to a [`Question`].
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Answer {
    /// The caller may, and the logical cluster is bound.
    Allowed {
        /// The APIResourceSchema that the consumer's binding names.
        schema: Arc<str>,
    },
    /// The caller may not.
    Denied,
    /// The caller might, but the logical cluster is not bound to this resource of this export.
    NotBound,
}

/// There is no answer, and none of before holds any longer.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Unanswered {
    /// kcp could not be asked.
    #[error("kcp cannot be asked at the moment")]
    Unavailable,
    /// Too many questions of the caller's home are under way or wait already; see [`Limits`].
    #[error("too many questions of one home")]
    TooMany,
}

/// Asks, and remembers.
pub struct Access {
    kcp: Arc<dyn Ask>,
    gate: Gate,
    timeout: Duration,
    permissions: Cache<Fingerprint, bool>,
    bindings: Cache<Fingerprint, Option<Arc<str>>>,
    /// Whether kcp was away when it was last asked, so that the log says it once.
    away: AtomicBool,
}

impl Access {
    /// Asks the kcp at `base`.
    pub fn new(base: Base, config: AccessConfig) -> Self {
        Self::of(Arc::new(base), config)
    }

    fn of(kcp: Arc<dyn Ask>, config: AccessConfig) -> Self {
        let AccessConfig {
            allowed,
            denied,
            bindings,
            timeout,
            capacity,
            limits,
        } = config;
        Self {
            kcp,
            gate: Gate::new(limits),
            timeout,
            permissions: cache(capacity, move |allows: &bool| if *allows { allowed } else { denied }),
            bindings: cache(
                capacity,
                move |schema: &Option<_>| {
                    if schema.is_some() { bindings } else { denied }
                },
            ),
            away: AtomicBool::new(false),
        }
    }

    /// Answers from memory, or asks kcp. Equal questions at one time are asked once.
    ///
    /// Whether there is a binding is only asked for callers that may, so that nobody else learns of it.
    pub async fn review(&self, question: &Question<'_>) -> Result<Answer, Unanswered> {
        let permission = || self.ask(question, self.kcp.may(question));
        let allows = self
            .permissions
            .try_get_with(question.of_permission(), async { permission().await });
        if !allows.await.map_err(|unanswered| *unanswered)? {
            return Ok(Answer::Denied);
        }
        Ok(match self.bound_schema(question).await? {
            Some(schema) => Answer::Allowed { schema },
            None => Answer::NotBound,
        })
    }

    async fn bound_schema(&self, question: &Question<'_>) -> Result<Option<Arc<str>>, Unanswered> {
        let (key, asks) = (question.of_binding(), AtomicBool::new(false));
        let asking = async {
            asks.store(true, Ordering::Relaxed);
            self.ask(question, self.kcp.bound_schema(question)).await
        };
        match self
            .bindings
            .try_get_with(key, asking)
            .await
            .map_err(|unanswered| *unanswered)
        {
            // Others ask for the same binding, and it was one of them whose home asks too much.
            Err(Unanswered::TooMany) if !asks.load(Ordering::Relaxed) => {
                let schema = self.ask(question, self.kcp.bound_schema(question)).await?;
                self.bindings.insert(key, schema.clone()).await;
                Ok(schema)
            }
            bound => bound,
        }
    }

    /// Asks one thing, where the limits let it through, within the time that it may take.
    async fn ask<T>(
        &self,
        question: &Question<'_>,
        asking: impl Future<Output = Result<T, RequestError>>,
    ) -> Result<T, Unanswered> {
        let home = self.gate.home(question.home());
        let deadline = tokio::time::Instant::now() + self.timeout;
        // What its home asked before must not leave a question without time, and kcp with the blame.
        let pass = tokio::time::timeout(self.timeout / 2, self.gate.enter(&home)).await;
        let Ok(Some(_pass)) = pass else {
            tracing::debug!(user = question.user, "too many questions of one home");
            return Err(Unanswered::TooMany);
        };
        let answer = match tokio::time::timeout_at(deadline, asking).await {
            Ok(answer) => answer.map_err(|error| self.note_failure(question, &error))?,
            Err(_) => return Err(self.note_failure(question, &RequestError::TimedOut)),
        };
        if self.away.swap(false, Ordering::Relaxed) {
            tracing::info!("kcp answers again whether callers may");
        }
        Ok(answer)
    }

    fn note_failure(&self, question: &Question<'_>, error: &RequestError) -> Unanswered {
        let cluster = question.cluster;
        if self.away.swap(true, Ordering::Relaxed) {
            tracing::debug!(
                cluster,
                error = error as &dyn std::error::Error,
                "kcp does not say whether a caller may"
            );
        } else {
            tracing::warn!(
                cluster,
                error = error as &dyn std::error::Error,
                "kcp does not say whether a caller may"
            );
        }
        Unanswered::Unavailable
    }
}

/// A cache in which a value lives as long as `lifetime` says.
fn cache<V: Clone + Send + Sync + 'static>(
    capacity: u64,
    lifetime: impl Fn(&V) -> Duration + Send + Sync + 'static,
) -> Cache<Fingerprint, V> {
    Cache::builder()
        .max_capacity(capacity)
        .expire_after(Lifetime(lifetime))
        .build()
}

struct Lifetime<F>(F);

impl<K, V, F: Fn(&V) -> Duration> Expiry<K, V> for Lifetime<F> {
    fn expire_after_create(&self, _key: &K, value: &V, _created_at: Instant) -> Option<Duration> {
        Some((self.0)(value))
    }
}

#[cfg(test)]
mod tests;
