//! The way of a request: listener, identity, request info, negotiation, discovery, flow control and the create.
