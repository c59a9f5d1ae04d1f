//! Certificates, webhooks, vectors and fixtures for this project's tests.
