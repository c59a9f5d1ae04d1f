//! Helpers that several tests use.

pub mod create;
