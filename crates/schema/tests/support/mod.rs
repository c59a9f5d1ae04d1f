//! Helpers that several tests use.

pub(crate) mod create;
