//! What happens: the input of the fold.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::kinds::{APIExportEndpointSlice, Kind, Object};

/// Where objects are read from.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Source {
    /// The operator's manifests directory. It wins over every shard, nothing is published for it, and no status is
    /// written.
    Manifests,
    /// A shard of kcp, by a name or URL that stays the same while the shard is known.
    Shard(Arc<str>),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Manifests => f.write_str("manifests"),
            Self::Shard(shard) => write!(f, "shard {shard}"),
        }
    }
}

/// An object's identity within a source.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ObjectRef {
    /// The kind.
    pub kind: Kind,
    /// The logical cluster.
    pub cluster: Arc<str>,
    /// The name.
    pub name: Arc<str>,
}

impl From<&Object> for ObjectRef {
    fn from(object: &Object) -> Self {
        Self {
            kind: object.kind(),
            cluster: object.meta().cluster.clone(),
            name: object.meta().name.clone(),
        }
    }
}

/// One thing that happened.
///
/// Events of one source must arrive in the order in which the source told them; sources may interleave in any way.
#[derive(Clone, Debug)]
pub enum Event {
    /// These are all the sources that there are. The snapshot is complete once each of them was read to its end, or
    /// is away. Says nothing about objects.
    Sources(BTreeSet<Source>),
    /// A source has this object now.
    Apply(Source, Box<Object>),
    /// A source does not have this object any longer.
    Delete(Source, ObjectRef),
    /// A source was listed anew: of this kind it has these objects and no others.
    Reset {
        /// Where.
        source: Source,
        /// What was listed; objects of another kind are passed over.
        kind: Kind,
        /// All of them.
        objects: Vec<Object>,
    },
    /// A source was read to its end once.
    Complete(Source),
    /// A source does not answer. Nothing is dropped, and completeness does not wait for it. What is also read from
    /// another source under the same uid has moved there.
    Away(Source),
    /// A source is gone for good, with everything that only it had.
    Removed(Source),
    /// What came of reading a slice. Slices are read one by one through kcp's base URL and belong to no shard;
    /// those in manifests are passed over.
    Slice {
        /// The logical cluster.
        cluster: Arc<str>,
        /// The name of the slice.
        name: Arc<str>,
        /// What came of it.
        reading: SliceReading,
    },
    /// Whether the APIBinding of a provider accepts the permission claims.
    Claims {
        /// The provider's logical cluster.
        cluster: Arc<str>,
        /// Whether it does.
        accepted: bool,
    },
    /// What creates met lately at a webhook. Each that says anything else than the one before may become a write of a
    /// status: tell it rarely.
    Calls {
        /// The provider's logical cluster.
        cluster: Arc<str>,
        /// The name of the EphemeralWebhook.
        webhook: Arc<str>,
        /// What they met.
        calls: Calls,
    },
    /// Time went by: all endpoints are judged anew, those that could be used and those that could not. A handle that is
    /// still good stays the same.
    JudgeEndpoints,
}

/// What came of reading a slice or writing to it.
#[derive(Clone, Debug, PartialEq)]
pub enum SliceReading {
    /// There it is.
    Found(Box<APIExportEndpointSlice>),
    /// There is none of this name.
    Missing,
    /// The server has no right to read it, or to write its status.
    Forbidden,
}

/// What creates met lately at a webhook; coarse, since its provider reads it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Calls {
    /// Answers.
    Succeeding,
    /// No answers.
    Failing,
    /// Answers of a webhook that does not ask for the client certificate.
    ClientCertificateNotRequested,
}
