//! Everything on a real kcp of two shards: only what `manifests` prints, the real `serve` and the real kubectl.
//!
//! Skipped, loudly, without `KCP_BIN_DIR`. One test, since kcp takes a minute to start; its parts run one after another
//! and leave things as they found them.

#[path = "../support/mod.rs"]
mod support;

mod attacks;
mod hops;
mod installation;
mod outages;
mod proofs;

use std::path::PathBuf;
use std::time::Instant;

use installation::Installation;

#[tokio::test(flavor = "multi_thread")]
async fn a_real_kcp() {
    let Some(binaries) = std::env::var_os("KCP_BIN_DIR") else {
        support::skipped("KCP_BIN_DIR is not set, so nothing here was tested on a real kcp");
        return;
    };
    let began = Instant::now();
    let mut installation = Installation::start(&PathBuf::from(binaries)).await;
    passed(began, "set up");
    macro_rules! prove {
        ($($part:expr),* $(,)?) => {$(
            $part.await;
            passed(began, stringify!($part));
        )*};
    }
    prove!(
        proofs::the_answer_is_the_webhooks(&installation),
        proofs::doctor_finds_nothing_wrong(&installation),
        proofs::nothing_is_stored(&installation),
        proofs::a_provider_asks_by_its_own_path(&installation),
        proofs::an_unreachable_webhook_is_unavailable(&installation),
        proofs::a_ca_bundle_is_exchanged_while_it_runs(&installation),
        proofs::claims_that_are_not_accepted_are_named(&installation),
        proofs::nothing_holds_a_namespace_or_a_binding(&installation),
        hops::what_is_wrong_with_the_binding(&installation),
        hops::what_is_wrong_with_the_reference(&installation),
        hops::what_is_wrong_with_the_endpoint(&installation),
        hops::what_is_wrong_with_the_nomination(&installation),
        hops::what_is_wrong_with_the_webhook(&installation),
        attacks::only_what_is_listed_may_connect(&installation),
        attacks::a_front_proxy_may_ask_but_not_without_a_caller(&installation),
        attacks::a_slice_that_leads_elsewhere_gets_nothing(&installation),
        outages::the_entry_follows_the_nomination(&installation),
        outages::a_nomination_that_went_meanwhile_is_withdrawn(&mut installation),
        outages::a_shard_may_go_and_come(&mut installation),
        outages::the_first_shard_may_go_and_come(&mut installation),
        outages::workspaces_can_be_deleted(&installation),
        outages::a_provider_may_leave(&installation),
    );
    drop(installation);
    passed(began, "all gone");
}

/// Says how far it came.
fn passed(began: Instant, part: &str) {
    note(&format!("{:>4} s  {part}", began.elapsed().as_secs()));
}

#[allow(clippy::print_stderr, reason = "it takes minutes, and where it stopped matters")]
fn note(text: &str) {
    eprintln!("{text}");
}
