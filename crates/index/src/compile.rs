//! From the OpenAPI v3 schema of a version to its compiled form.

/// A compiled schema.
#[derive(Debug)]
pub struct Schema;
