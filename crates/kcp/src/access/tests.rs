use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;

use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use tokio::sync::Semaphore;

use super::*;

/// A kcp that says what it is told to, once it is let.
struct Script {
    allows: AtomicBool,
    bound: AtomicBool,
    reachable: AtomicBool,
    permissions: AtomicUsize,
    bindings: AtomicUsize,
    under_way: AtomicUsize,
    most: AtomicUsize,
    go: Semaphore,
}

impl Script {
    fn new(go: usize) -> Arc<Self> {
        Arc::new(Self {
            allows: true.into(),
            bound: true.into(),
            reachable: true.into(),
            permissions: 0.into(),
            bindings: 0.into(),
            under_way: 0.into(),
            most: 0.into(),
            go: Semaphore::new(go),
        })
    }

    async fn answer<T>(&self, answer: T) -> Result<T, RequestError> {
        let under_way = self.under_way.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(under_way, Ordering::SeqCst);
        let _go = self.go.acquire().await.expect("never closed");
        tokio::task::yield_now().await;
        self.under_way.fetch_sub(1, Ordering::SeqCst);
        if self.reachable.load(Ordering::SeqCst) {
            Ok(answer)
        } else {
            Err(RequestError::TimedOut)
        }
    }

    fn asked(&self) -> (usize, usize) {
        (
            self.permissions.load(Ordering::SeqCst),
            self.bindings.load(Ordering::SeqCst),
        )
    }
}

impl Ask for Script {
    fn may<'a>(&'a self, _: &'a Question<'_>) -> BoxFuture<'a, Result<bool, RequestError>> {
        async {
            self.permissions.fetch_add(1, Ordering::SeqCst);
            self.answer(self.allows.load(Ordering::SeqCst)).await
        }
        .boxed()
    }

    fn bound_schema<'a>(&'a self, _: &'a Question<'_>) -> BoxFuture<'a, Result<Option<Arc<str>>, RequestError>> {
        async {
            self.bindings.fetch_add(1, Ordering::SeqCst);
            self.answer(self.bound.load(Ordering::SeqCst).then(|| "v1".into()))
                .await
        }
        .boxed()
    }
}

const NO_EXTRA: &BTreeMap<String, Vec<String>> = &BTreeMap::new();

fn question(cluster: &'static str, user: &'static str) -> Question<'static> {
    Question {
        user,
        uid: "",
        groups: Vec::new(),
        extra: NO_EXTRA,
        cluster,
        verb: "create",
        group: "g",
        version: "v1",
        resource: "rs",
        namespace: None,
        name: None,
        provider: "p",
        export: "e",
    }
}

#[allow(clippy::unnecessary_wraps, reason = "what a review gives is compared with it")]
fn allowed() -> Result<Answer, Unanswered> {
    Ok(Answer::Allowed { schema: "v1".into() })
}

/// Answers that hold for a moment, or for good.
fn config(allowed: Duration, denied: Duration, bindings: Duration) -> AccessConfig {
    AccessConfig {
        allowed,
        denied,
        bindings,
        ..AccessConfig::default()
    }
}

const MOMENT: Duration = Duration::from_millis(1);
const FOR_GOOD: Duration = Duration::from_hours(1);

/// Asks until the answer is `expected`: how long a moment is, the machine decides.
async fn eventually(access: &Access, question: &Question<'_>, expected: &Result<Answer, Unanswered>) {
    let asking = async {
        while access.review(question).await != *expected {
            tokio::time::sleep(MOMENT).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), asking)
        .await
        .expect("in time");
}

#[tokio::test]
async fn an_answer_is_remembered_for_the_one_who_asked() {
    let kcp = Script::new(1);
    let access = Access::of(kcp.clone(), config(FOR_GOOD, FOR_GOOD, FOR_GOOD));
    for _ in 0..3 {
        assert_eq!(access.review(&question("c", "ada")).await, allowed());
    }
    assert_eq!(kcp.asked(), (1, 1));
    kcp.allows.store(false, Ordering::SeqCst);
    assert_eq!(access.review(&question("c", "bob")).await, Ok(Answer::Denied));
    assert_eq!(access.review(&question("c", "ada")).await, allowed());
    // Of the binding only those learn that may, and once for all of them.
    assert_eq!(kcp.asked(), (2, 1));
}

#[tokio::test]
async fn each_answer_has_its_own_lifetime() {
    for (allows, bound, config, expected) in [
        (true, true, config(MOMENT, FOR_GOOD, FOR_GOOD), Ok(Answer::Denied)),
        (false, true, config(FOR_GOOD, MOMENT, FOR_GOOD), allowed()),
        (true, true, config(FOR_GOOD, FOR_GOOD, MOMENT), Ok(Answer::NotBound)),
        (true, false, config(FOR_GOOD, MOMENT, FOR_GOOD), allowed()),
    ] {
        let kcp = Script::new(1);
        kcp.allows.store(allows, Ordering::SeqCst);
        kcp.bound.store(bound, Ordering::SeqCst);
        let access = Access::of(kcp.clone(), config);
        let first = access.review(&question("c", "ada")).await;
        assert_ne!(first, expected);
        kcp.allows.store(expected != Ok(Answer::Denied), Ordering::SeqCst);
        kcp.bound.store(expected != Ok(Answer::NotBound), Ordering::SeqCst);
        eventually(&access, &question("c", "ada"), &expected).await;
    }
}

#[tokio::test]
async fn without_kcp_what_is_remembered_holds_and_then_nothing() {
    let kcp = Script::new(1);
    let access = Access::of(kcp.clone(), config(FOR_GOOD, FOR_GOOD, FOR_GOOD));
    assert_eq!(access.review(&question("c", "ada")).await, allowed());
    kcp.reachable.store(false, Ordering::SeqCst);
    assert_eq!(access.review(&question("c", "ada")).await, allowed());
    assert_eq!(access.review(&question("c", "bob")).await, Err(Unanswered::Unavailable));
    // A failure is no answer: it is not remembered.
    kcp.reachable.store(true, Ordering::SeqCst);
    assert_eq!(access.review(&question("c", "bob")).await, allowed());

    let kcp = Script::new(1);
    let access = Access::of(kcp.clone(), config(MOMENT, MOMENT, MOMENT));
    assert_eq!(access.review(&question("c", "ada")).await, allowed());
    kcp.reachable.store(false, Ordering::SeqCst);
    eventually(&access, &question("c", "ada"), &Err(Unanswered::Unavailable)).await;
}

#[tokio::test]
async fn equal_questions_at_one_time_are_asked_once() {
    let kcp = Script::new(0);
    let access = Access::of(kcp.clone(), config(FOR_GOOD, FOR_GOOD, FOR_GOOD));
    let ada = question("c", "ada");
    let (answers, ()) = tokio::join!(join_all((0..100).map(|_| access.review(&ada))), async {
        kcp.go.add_permits(1);
    });
    assert!(answers.iter().all(|answer| *answer == allowed()));
    assert_eq!(kcp.asked(), (1, 1));
}

#[tokio::test]
async fn who_gives_up_does_not_take_the_others_answer_along() {
    let kcp = Script::new(0);
    let access = Access::of(kcp.clone(), config(FOR_GOOD, FOR_GOOD, FOR_GOOD));
    let ada = question("c", "ada");
    let mut first = Box::pin(access.review(&ada));
    assert!(first.as_mut().now_or_never().is_none());
    let second = access.review(&ada);
    drop(first);
    kcp.go.add_permits(1);
    assert_eq!(second.await, allowed());
}

fn tight() -> AccessConfig {
    let limits = Limits {
        in_flight: 8,
        in_flight_per_home: 4,
        waiting_per_home: 2,
        ..Limits::default()
    };
    AccessConfig {
        limits,
        ..config(FOR_GOOD, FOR_GOOD, FOR_GOOD)
    }
}

/// One user floods, and says another logical cluster each time; another user asks once, in one of those.
#[tokio::test]
async fn questions_under_way_are_bounded_and_one_home_leaves_room() {
    let kcp = Script::new(0);
    let access = Access::of(kcp.clone(), tight());
    let clusters: Vec<&'static str> = (0..32).map(|n| &*Box::leak(n.to_string().into_boxed_str())).collect();
    let flood: Vec<_> = clusters.iter().map(|cluster| question(cluster, "mallory")).collect();
    let mut flooding = Box::pin(join_all(flood.iter().map(|question| access.review(question))));
    assert!(flooding.as_mut().now_or_never().is_none());
    let other = question("31", "ada");
    let mut quiet = Box::pin(access.review(&other));
    assert!(quiet.as_mut().now_or_never().is_none());
    assert_eq!(
        kcp.asked().0,
        5,
        "four of the one that floods, and the one of the other"
    );
    kcp.go.add_permits(1);
    let (answers, answer) = tokio::join!(flooding, quiet);
    assert_eq!(answer, allowed());
    assert_eq!(answers.iter().filter(|answer| **answer == allowed()).count(), 6);
    let turned_away = answers.iter().filter(|answer| **answer == Err(Unanswered::TooMany));
    assert_eq!(turned_away.count(), 26);
    assert!(kcp.most.load(Ordering::SeqCst) <= 5);
}

/// Both wait for one answer about a binding; that the one who asked first is turned away is not the other's loss.
#[tokio::test(start_paused = true)]
async fn who_is_turned_away_takes_nobody_along() {
    let kcp = Script::new(0);
    let access = Access::of(kcp.clone(), tight());
    let (mallory, ada) = (question("c", "mallory"), question("c", "ada"));
    let clusters: Vec<&'static str> = (0..4).map(|n| &*Box::leak(n.to_string().into_boxed_str())).collect();
    let flood: Vec<_> = clusters.iter().map(|cluster| question(cluster, "mallory")).collect();
    let mut flooding = Box::pin(join_all(flood.iter().map(|question| access.review(question))));
    assert!(flooding.as_mut().now_or_never().is_none(), "takes all of its places");
    for question in [&mallory, &ada] {
        access.permissions.insert(question.of_permission(), true).await;
    }
    let mut first = Box::pin(access.review(&mallory));
    assert!(first.as_mut().now_or_never().is_none(), "waits for a place");
    let mut second = Box::pin(access.review(&ada));
    assert!(
        second.as_mut().now_or_never().is_none(),
        "waits for the first one's answer"
    );
    assert_eq!(first.await, Err(Unanswered::TooMany));
    drop(flooding);
    kcp.go.add_permits(1);
    assert_eq!(second.await, allowed());
}

#[tokio::test(start_paused = true)]
async fn a_kcp_that_hangs_is_no_kcp() {
    let kcp = Script::new(0);
    let access = Access::of(kcp, AccessConfig::default());
    assert_eq!(access.review(&question("c", "ada")).await, Err(Unanswered::Unavailable));
}
