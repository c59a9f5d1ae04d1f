//! The wire types of EphemeralReview, in both of its API groups.
