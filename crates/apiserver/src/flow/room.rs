//! What one request takes of what all may take together.

use ephemeral_shares::{Full, Taken};

use crate::fault::{ClientFault, Fault, PlatformFault};

/// What one request holds: a place among the requests of its consumer, and the memory that it is counted with at the
/// moment. Dropping it makes room.
#[derive(Debug)]
#[must_use]
pub struct Room {
    _place: Taken,
    bytes: Taken,
    /// What the request itself takes, whatever becomes of its body.
    request: usize,
    /// Most that one request is counted with.
    most: usize,
}

/// Room for a part of an answer, which is on its way by itself.
#[derive(Debug)]
#[must_use]
pub(crate) struct PartOfRoom(#[allow(dead_code, reason = "held for its drop")] Taken);

impl Room {
    /// Room for a request of this size that has no body yet.
    ///
    /// A request that takes more than `most`, the whole share of its consumer, is counted with that: where the bound is
    /// small, an object that is allowed must find room when nothing else is under way.
    pub(super) fn new(place: Taken, mut bytes: Taken, request: usize, most: usize) -> Result<Self, Full> {
        bytes.resize(request.min(most))?;
        Ok(Self {
            _place: place,
            bytes,
            request,
            most,
        })
    }

    /// Counts the request with so many bytes from now on, beside itself; 429 where there is no room for them. Then
    /// nothing changes.
    pub fn resize(&mut self, bytes: usize) -> Result<(), Fault> {
        let bytes = self.request.saturating_add(bytes).min(self.most);
        self.bytes.resize(bytes).map_err(no_room)
    }

    /// The request has been answered, and is counted with its answer alone.
    pub(crate) fn answered(&mut self, bytes: usize) -> Result<(), Fault> {
        self.request = 0;
        self.resize(bytes)
    }

    /// The room of a part of the answer.
    pub(crate) fn part(&mut self, bytes: usize) -> PartOfRoom {
        PartOfRoom(self.bytes.split(bytes))
    }
}

/// 429, by whose fault it is.
pub(super) fn no_room(full: Full) -> Fault {
    match full {
        Full::Whole => PlatformFault::Overloaded.into(),
        Full::Share => ClientFault::TooManyRequests {
            message: "too many requests of this workspace are under way, please try again later",
            retry_after: 1,
        }
        .into(),
    }
}
