//! Which CAs and names stand for which kind of client, and the verdict on one certificate.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use ephemeral_review::UserInfo;
use futures::future::join_all;
use rustls_pki_types::{CertificateDer, UnixTime};
use tokio_util::sync::CancellationToken;
use x509_parser::x509::X509Name;

use super::anchors::{at, validity_of};
use crate::certificates::{CertificateError, Watched, WatchedAnchors};

/// The CA files and names of the flags. What is `None` is no way in.
#[derive(Clone, Debug, Default)]
pub struct TrustConfig {
    /// `--shard-client-ca-file`, `--shard-client-names`.
    pub shard: Option<NamedCa>,
    /// `--requestheader-client-ca-file`, `--requestheader-allowed-names`.
    pub front_proxy: Option<NamedCa>,
    /// `--client-ca-file`.
    pub user: Option<PathBuf>,
}

/// A CA file with the common names that count. On kcp the same CA issues certificates to users, so that a CA without
/// names would let any of them pass for a shard.
#[derive(Clone, Debug)]
pub struct NamedCa {
    file: PathBuf,
    names: BTreeSet<String>,
}

/// A CA without names.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("at least one name must be given with a client CA")]
pub struct NoNames;

impl NamedCa {
    /// The CA in `file`, for certificates with one of `names`, which match whole.
    pub fn new(file: PathBuf, names: impl IntoIterator<Item = String>) -> Result<Self, NoNames> {
        let names: BTreeSet<_> = names.into_iter().filter(|name| !name.is_empty()).collect();
        if names.is_empty() {
            Err(NoNames)
        } else {
            Ok(Self { file, names })
        }
    }
}

/// What a connection is, by its certificate.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Peer {
    /// A shard of kcp, by its name.
    Shard(Arc<str>),
    /// A front-proxy, by its name.
    FrontProxy(Arc<str>),
    /// A user.
    User(Arc<UserInfo>),
    /// No certificate, or none that is trusted.
    Anonymous {
        /// Whether there was a certificate.
        presented: bool,
    },
}

/// What a chain was found to be, and how long that holds.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// What it is.
    pub peer: Peer,
    generation: u64,
    from: UnixTime,
    until: UnixTime,
}

/// The CAs of all kinds of clients, as they are in their files.
#[derive(Debug)]
pub struct Trust {
    shard: Option<Role>,
    front_proxy: Option<Role>,
    user: Option<WatchedAnchors>,
}

#[derive(Debug)]
struct Role {
    anchors: WatchedAnchors,
    names: BTreeSet<String>,
}

impl Trust {
    /// Reads all CA files.
    pub fn load(config: TrustConfig) -> Result<Self, CertificateError> {
        let role = |name, ca: Option<NamedCa>| {
            ca.map(|ca| {
                Ok(Role {
                    anchors: WatchedAnchors::anchors(name, ca.file)?,
                    names: ca.names,
                })
            })
            .transpose()
        };
        Ok(Self {
            shard: role("shard-client-ca", config.shard)?,
            front_proxy: role("requestheader-client-ca", config.front_proxy)?,
            user: config
                .user
                .map(|file| WatchedAnchors::anchors("client-ca", file))
                .transpose()?,
        })
    }

    /// Follows all CA files until `stop`.
    pub async fn follow(&self, stop: CancellationToken) {
        join_all(self.bundles().map(|anchors| anchors.follow(stop.clone()))).await;
    }

    /// The CA bundles, for metrics and `readyz?verbose`.
    pub fn bundles(&self) -> impl Iterator<Item = &WatchedAnchors> {
        let named = [&self.shard, &self.front_proxy]
            .into_iter()
            .flatten()
            .map(|role| &role.anchors);
        named.chain(&self.user)
    }

    /// Whether `name` is that of a shard.
    pub fn is_shard_name(&self, name: &str) -> bool {
        self.shard.as_ref().is_some_and(|role| role.names.contains(name))
    }

    /// Says what `chain`, the certificate itself first, is at `now`.
    ///
    /// The kinds may share a CA. So a listed name decides first, and a certificate that has one is never a user's, even
    /// if its chain does not hold for the kind that lists it.
    pub fn judge(&self, chain: &[CertificateDer<'_>], now: UnixTime) -> Verdict {
        // Read first: a CA that is replaced meanwhile leaves a verdict that is already out of date.
        let generation = self.generation();
        let peer = self.peer(chain, now).unwrap_or(Peer::Anonymous {
            presented: !chain.is_empty(),
        });
        let until = self
            .boundaries(chain)
            .filter(|&boundary| boundary > now.as_secs())
            .min();
        Verdict {
            peer,
            generation,
            from: now,
            until: at(until.unwrap_or(u64::MAX)),
        }
    }

    /// Whether a verdict would be the same if it were made at `now`.
    pub fn still_holds(&self, verdict: &Verdict, now: UnixTime) -> bool {
        verdict.generation == self.generation() && verdict.from <= now && now < verdict.until
    }

    /// Each part only grows, so equal sums mean that nothing was replaced.
    fn generation(&self) -> u64 {
        self.bundles().map(Watched::generation).sum()
    }

    fn peer(&self, chain: &[CertificateDer<'_>], now: UnixTime) -> Option<Peer> {
        let (_, certificate) = x509_parser::parse_x509_certificate(chain.first()?).ok()?;
        let name = common_name(certificate.subject())?;
        let mut listed = false;
        for (role, peer) in [
            (&self.shard, Peer::Shard as fn(Arc<str>) -> Peer),
            (&self.front_proxy, Peer::FrontProxy),
        ] {
            let Some(role) = role.as_ref().filter(|role| role.names.contains(name)) else {
                continue;
            };
            listed = true;
            match role.anchors.current().verify(chain, now) {
                Ok(()) => return Some(peer(name.into())),
                Err(error) => tracing::debug!(%name, source = %error.0, "a listed name without a trusted certificate"),
            }
        }
        let user = self.user.as_ref().filter(|_| !listed)?;
        user.current().verify(chain, now).ok()?;
        Some(Peer::User(Arc::new(user_info(name, certificate.subject()))))
    }

    /// The moments at which the verdict on `chain` may change by the clock alone.
    fn boundaries(&self, chain: &[CertificateDer<'_>]) -> impl Iterator<Item = u64> {
        let mut boundaries: Vec<_> = self
            .bundles()
            .flat_map(|anchors| anchors.current().boundaries().collect::<Vec<_>>())
            .collect();
        for certificate in chain {
            if let Ok((_, certificate)) = x509_parser::parse_x509_certificate(certificate) {
                let validity = validity_of(&certificate);
                boundaries.extend([validity.start, validity.end]);
            }
        }
        boundaries.into_iter()
    }
}

/// Of several common names Go's `pkix.Name` keeps the last.
fn common_name<'a>(subject: &'a X509Name<'_>) -> Option<&'a str> {
    let name = subject.iter_common_name().last()?.as_str().ok()?;
    (!name.is_empty()).then_some(name)
}

/// As `x509.CommonNameUserConversion`, without the groups that only kcp itself may give.
fn user_info(name: &str, subject: &X509Name<'_>) -> UserInfo {
    let organizations = subject
        .iter_organization()
        .filter_map(|organization| organization.as_str().ok());
    let groups = organizations
        .filter(|group| !is_dropped(group))
        .map(str::to_owned)
        .collect();
    UserInfo {
        username: name.to_owned(),
        groups,
        ..UserInfo::default()
    }
}

/// The groups that kcp's front-proxy drops (the default of its `--authentication-drop-groups`): those that skip
/// authorization, and those that kcp's own proxies add once they have authorized a request.
fn is_dropped(group: &str) -> bool {
    matches!(group, "system:masters" | "system:kcp:logical-cluster-admin")
        || group.starts_with("system:kcp:initializer:")
        || group.starts_with("system:kcp:terminator:")
}

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;
