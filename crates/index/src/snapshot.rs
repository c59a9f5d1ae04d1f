//! The immutable set of all nominations that requests are answered from.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rpds::HashTrieMapSync;

use crate::kinds::Target;
use crate::problem::Problem;
use crate::resource::ResourceSchema;

/// Values by name within logical clusters: no lookup can cross from one logical cluster into another.
pub(crate) type ByCluster<T> = HashTrieMapSync<Arc<str>, HashTrieMapSync<Arc<str>, Arc<T>>>;

/// All nominations at one time. Cheap to clone; a changed one shares with its predecessor what did not change.
pub struct Snapshot<W> {
    pub(crate) exports: ByCluster<Export<W>>,
    pub(crate) schemas: ByCluster<ResourceSchema>,
    pub(crate) problems: HashTrieMapSync<Subject, Arc<[Problem]>>,
    pub(crate) nominations: usize,
    pub(crate) complete: bool,
    pub(crate) whole: bool,
}

impl<W> Snapshot<W> {
    /// The nominations of an export, by the provider's logical cluster and the export's name.
    pub fn find(&self, cluster: &str, export: &str) -> Option<&Arc<Export<W>>> {
        self.exports.get(cluster)?.get(export)
    }

    /// All exports that have a nomination, in no order.
    pub fn exports(&self) -> impl Iterator<Item = &Arc<Export<W>>> {
        self.exports.values().flat_map(|exports| exports.values())
    }

    /// An APIResourceSchema of a nominated resource, whether or not its export names it now.
    ///
    /// A consumer's binding names the schema that the consumer sees, also while the provider rolls out another.
    pub fn schema(&self, cluster: &str, name: &str) -> Option<&Arc<ResourceSchema>> {
        self.schemas.get(cluster)?.get(name)
    }

    /// Whether every source was read to its end once, or given up on. Once true it stays true.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Whether every source was read to its end once. What is not in a snapshot that is not whole may merely not have
    /// been read, as long as a shard is away that was never reached.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// What is wrong, by what it is wrong with, in no order; for `/readyz?verbose` and the log.
    pub fn problems(&self) -> impl Iterator<Item = (&Subject, &Problem)> {
        self.problems
            .iter()
            .flat_map(|(subject, problems)| problems.iter().map(move |problem| (subject, problem)))
    }

    /// The number of nominations.
    pub fn len(&self) -> usize {
        self.nominations
    }

    /// Whether there is no nomination.
    pub fn is_empty(&self) -> bool {
        self.nominations == 0
    }
}

impl<W> Default for Snapshot<W> {
    /// The snapshot before anything was read: empty and not complete.
    fn default() -> Self {
        Self {
            exports: HashTrieMapSync::default(),
            schemas: HashTrieMapSync::default(),
            problems: HashTrieMapSync::default(),
            nominations: 0,
            complete: false,
            whole: false,
        }
    }
}

impl<W> Clone for Snapshot<W> {
    fn clone(&self) -> Self {
        Self {
            exports: self.exports.clone(),
            schemas: self.schemas.clone(),
            problems: self.problems.clone(),
            nominations: self.nominations,
            complete: self.complete,
            whole: self.whole,
        }
    }
}

/// What a problem is a problem of.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Subject {
    /// The provider's logical cluster.
    pub cluster: Arc<str>,
    /// What nominates there.
    pub origin: Origin,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.origin, self.cluster)
    }
}

/// What nominates a webhook.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Origin {
    /// The EphemeralWebhook of this name.
    Webhook(Arc<str>),
    /// The resource's own entry in an APIExport (`storage.ephemeral`).
    Inline(Target),
}

impl Origin {
    /// A name for logs and metrics: the EphemeralWebhook's, or that of the resource.
    pub fn name(&self) -> Arc<str> {
        match self {
            Self::Webhook(name) => name.clone(),
            Self::Inline(target) => target.resource.to_string().into(),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Webhook(name) => write!(f, "EphemeralWebhook {name}"),
            Self::Inline(target) => write!(f, "APIExport {} with {}", target.export, target.resource),
        }
    }
}

/// An APIExport that has nominations.
#[derive(Debug)]
pub struct Export<W> {
    /// The provider's logical cluster.
    pub cluster: Arc<str>,
    /// The name of the APIExport.
    pub name: Arc<str>,
    /// The nominated resources, sorted by group and resource.
    pub resources: Box<[Arc<Nomination<W>>]>,
}

impl<W> Export<W> {
    /// The nomination of a resource.
    pub fn nomination(&self, group: &str, resource: &str) -> Option<&Arc<Nomination<W>>> {
        self.resources
            .binary_search_by(|nomination| (&*nomination.group, &*nomination.resource).cmp(&(group, resource)))
            .ok()
            .map(|at| &self.resources[at])
    }
}

/// One resource of one APIExport with the webhook that answers it.
#[derive(Debug)]
pub struct Nomination<W> {
    /// The name of the EphemeralWebhook; of one inline in an APIExport `<resource>.<group>`.
    pub webhook_name: Arc<str>,
    /// The provider's logical cluster.
    pub cluster: Arc<str>,
    /// The name of the APIExport.
    pub export: Arc<str>,
    /// The API group of the resource.
    pub group: Arc<str>,
    /// The plural name of the resource.
    pub resource: Arc<str>,
    /// The schema that the export names now, or why there is none. Whether each of its versions can be enforced is
    /// for that version to say. Consumers whose binding names another schema see that one: [`Snapshot::schema`].
    pub schema: Result<Arc<ResourceSchema>, Problem>,
    /// How to call the webhook, or why it cannot be called for anyone.
    pub state: Result<Usable<W>, Problem>,
}

/// A webhook that can be called.
#[derive(Clone, Debug, PartialEq)]
pub struct Usable<W> {
    /// Calls it.
    pub handle: W,
    /// What everything from name resolution to the last byte may take: 1 to 30 seconds.
    pub timeout: Duration,
    /// What to do when it cannot be reached.
    pub failure_policy: FailurePolicy,
    /// The review that it is sent: the first of `reviewVersions` that this server knows.
    pub review_version: ReviewVersion,
    /// Whose spec the consumer gets back.
    pub spec_ownership: SpecOwnership,
    /// Calls that may be in flight at once, where the provider limits them.
    pub max_in_flight: Option<u32>,
}

/// What a create gets when the webhook cannot be reached.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum FailurePolicy {
    /// 503.
    #[default]
    Fail,
    /// 201 with the object as submitted, and a warning.
    Ignore,
}

/// The API group and version of the `EphemeralReview` that a webhook is sent.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ReviewVersion {
    /// `apis.kcp.io/v1alpha1`, as in the enhancement proposal.
    #[default]
    KcpV1alpha1,
    /// `ephemeral.contrib.kcp.io/v1alpha1`.
    ContribV1alpha1,
}

impl ReviewVersion {
    /// The `apiVersion`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::KcpV1alpha1 => "apis.kcp.io/v1alpha1",
            Self::ContribV1alpha1 => "ephemeral.contrib.kcp.io/v1alpha1",
        }
    }

    /// The version with this `apiVersion`, if this server knows it.
    pub fn from_api_version(api_version: &str) -> Option<Self> {
        [Self::KcpV1alpha1, Self::ContribV1alpha1]
            .into_iter()
            .find(|version| version.as_str() == api_version)
    }
}

/// Whose spec a consumer gets back.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum SpecOwnership {
    /// The answer's.
    #[default]
    Provider,
    /// The request's; only status is the provider's.
    User,
}
