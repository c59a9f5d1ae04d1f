//! Calls over loopback, against webhooks good and bad.

#![allow(clippy::unwrap_used, reason = "a helper that cannot do its work fails the test")]

mod support;

mod addresses;
mod bad_days;
mod connections;
mod good_days;
mod limits;
mod tls;
