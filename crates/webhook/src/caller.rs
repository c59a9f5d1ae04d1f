use std::collections::BTreeSet;
use std::fmt;

use ephemeral_review::UserInfo;

/// The logical cluster in which kcp authenticated the user, set for what a workspace's own authenticator vouches for.
const CLUSTER_NAME: &str = "authentication.kcp.io/cluster-name";
/// The logical cluster of a service account.
const SERVICE_ACCOUNT_CLUSTER_NAME: &str = "authentication.kubernetes.io/cluster-name";
/// The logical clusters to which the user is limited.
const SCOPES: &str = "authentication.kcp.io/scopes";

/// Who asks.
///
/// A user's name alone says nothing on kcp. The admins of a workspace may impersonate anyone in it and may configure
/// authenticators for it, so `alice` of one logical cluster need not be `alice` of another. kcp marks such an identity
/// with the logical clusters to which it is limited, and [`Caller::identity`] hands out the name only together with
/// that. To log a caller, use its `Display`.
///
/// Warrants (`authorization.kcp.io/warrant`) are not part of it: they let a user act *under the permissions* of
/// another, never *as* the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    cluster: String,
    user: UserInfo,
}

/// What the caller's name means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity<'a> {
    /// kcp itself vouches for the user: the name means the same user in every logical cluster.
    Everywhere(User<'a>),
    /// The name means something in this logical cluster only, because its admins can take any name there: the pair of
    /// both is what identifies. Service accounts are of this kind, and so is everyone who is impersonated.
    Within {
        /// The consumer's logical cluster.
        cluster: &'a str,
        /// The user, as that logical cluster knows it.
        user: User<'a>,
    },
    /// The identity is limited to other logical clusters, and kcp takes it for nobody (`system:anonymous`) in this one.
    Nobody,
}

/// A user's name and groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User<'a> {
    /// The name.
    pub name: &'a str,
    /// The uid; often empty.
    pub uid: &'a str,
    /// The groups, which mean as much as the name and no more.
    pub groups: &'a [String],
}

impl Caller {
    pub(crate) fn new(cluster: String, user: UserInfo) -> Self {
        Self { cluster, user }
    }

    /// The consumer's logical cluster, in which the caller asks.
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// The caller's name and groups, with what they mean.
    pub fn identity(&self) -> Identity<'_> {
        let user = User {
            name: &self.user.username,
            uid: &self.user.uid,
            groups: &self.user.groups,
        };
        let local = self.extra(CLUSTER_NAME).chain(self.extra(SERVICE_ACCOUNT_CLUSTER_NAME));
        if !self.in_scope() || local.clone().any(|cluster| cluster != self.cluster) {
            return Identity::Nobody;
        }
        let is_local = self.user.extra.contains_key(SCOPES)
            || local.count() > 0
            || self.user.username.starts_with("system:serviceaccount:");
        if is_local {
            Identity::Within {
                cluster: &self.cluster,
                user,
            }
        } else {
            Identity::Everywhere(user)
        }
    }

    /// The user as it was sent, extras included. Its name must not be used without [`Caller::identity`].
    pub fn raw(&self) -> &UserInfo {
        &self.user
    }

    /// Whether the scopes leave the consumer's logical cluster: each value lists alternatives, separated by commas, and
    /// all values must agree, as kcp's authorizers read them.
    fn in_scope(&self) -> bool {
        self.extra(SCOPES).all(|scopes| {
            let clusters: BTreeSet<_> = scopes
                .split(',')
                .filter_map(|scope| scope.strip_prefix("cluster:"))
                .collect();
            clusters.contains(self.cluster.as_str())
        })
    }

    fn extra(&self, key: &str) -> impl Iterator<Item = &str> + Clone {
        self.user.extra.get(key).into_iter().flatten().map(String::as_str)
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.identity() {
            Identity::Everywhere(user) => write!(f, "{:?}", user.name),
            Identity::Within { cluster, user } => write!(f, "{:?} of logical cluster {cluster:?}", user.name),
            Identity::Nobody => write!(f, "nobody in logical cluster {:?}", self.cluster),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(name: &str, extra: &[(&str, &[&str])]) -> Caller {
        let extra = extra.iter().map(|(key, values)| {
            let values = values.iter().map(|&value| value.to_owned()).collect();
            ((*key).to_owned(), values)
        });
        let user = UserInfo {
            username: name.to_owned(),
            extra: extra.collect(),
            ..UserInfo::default()
        };
        Caller::new("here".to_owned(), user)
    }

    #[test]
    fn a_name_is_handed_out_with_what_it_means() {
        let alice = |extra: &[(&str, &[&str])]| caller("alice", extra).to_string();
        let cases: [(String, &str); 13] = [
            (alice(&[]), r#""alice""#),
            (alice(&[("example.com/team", &["cluster:there"])]), r#""alice""#),
            (
                alice(&[("authorization.kcp.io/warrant", &[r#"{"user":"bob"}"#])]),
                r#""alice""#,
            ),
            (
                alice(&[(SCOPES, &["cluster:here"])]),
                r#""alice" of logical cluster "here""#,
            ),
            (
                alice(&[(SCOPES, &["cluster:there,cluster:here"])]),
                r#""alice" of logical cluster "here""#,
            ),
            (
                alice(&[(SCOPES, &["cluster:here", "cluster:here"])]),
                r#""alice" of logical cluster "here""#,
            ),
            (
                alice(&[(SCOPES, &["cluster:here", "cluster:there"])]),
                r#"nobody in logical cluster "here""#,
            ),
            (
                alice(&[(SCOPES, &["cluster:there"])]),
                r#"nobody in logical cluster "here""#,
            ),
            (alice(&[(SCOPES, &[""])]), r#"nobody in logical cluster "here""#),
            (alice(&[(SCOPES, &["here"])]), r#"nobody in logical cluster "here""#),
            (
                alice(&[(CLUSTER_NAME, &["here"])]),
                r#""alice" of logical cluster "here""#,
            ),
            (
                alice(&[(SERVICE_ACCOUNT_CLUSTER_NAME, &["there"])]),
                r#"nobody in logical cluster "here""#,
            ),
            (
                caller("system:serviceaccount:default:ci", &[]).to_string(),
                r#""system:serviceaccount:default:ci" of logical cluster "here""#,
            ),
        ];
        for (case, (shown, expected)) in cases.into_iter().enumerate() {
            assert_eq!(shown, expected, "case {case}");
        }
    }
}
