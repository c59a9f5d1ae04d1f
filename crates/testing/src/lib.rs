//! Certificates, webhooks and clients for this project's tests. Production code never depends on this crate.
//!
//! * [`pki`] makes authorities and certificates, good and bad.
//! * [`webhook`] is a TLS webhook that can be told to misbehave in every way the network allows.
//! * [`kcp`] is a kcp of several shards, as this project's server and its consumers see it; or a real one.
//! * [`process`] is a child process that ends with the test, whatever ends the test.
//! * [`client`] is a small HTTPS client with a certificate, arbitrary headers, HTTP/1.1 and HTTP/2.
//!
//! A helper that cannot do its work panics: that is how a test fails.

pub mod client;
pub mod json;
pub mod kcp;
pub mod pki;
pub mod process;
pub mod webhook;

mod tls;
