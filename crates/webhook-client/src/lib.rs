//! One call to a webhook: TLS, address guard, pool, bulkhead and deadline.
