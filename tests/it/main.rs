//! The product from outside: the binary as a process, real TLS, real kubectl, the fake kcp.
//!
//! One binary, so that it is linked once; `cargo test --test it vectors::` runs a part.

#[path = "../support/mod.rs"]
mod support;

mod addresses;
mod answers;
mod architecture;
mod bad_days;
mod cases;
mod clients;
mod custom_resources;
mod dev;
mod doctor;
mod fuzz;
mod guides;
mod identity;
mod isolation;
mod kcp_attacks;
mod kcp_conditions;
mod kcp_manifests;
mod kcp_rights;
mod kcp_serve;
mod kubectl;
mod memory;
mod shard_requests;
mod threat_model;
mod vectors;
