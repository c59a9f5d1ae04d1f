//! The sample webhook: counts the objects of a bucket in a real object store.
