//! From a connection and the headers of a request to the caller.

use std::sync::Arc;

use ephemeral_review::UserInfo;
use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;

use super::trust::{Peer, Trust};
use crate::fault::{ClientFault, Fault, PlatformFault};

/// Says how often a request was forwarded between kcp's shards and virtual workspaces.
pub const HOPS: HeaderName = HeaderName::from_static("x-kcp-virtual-resource-hops");

const REMOTE_USER: HeaderName = HeaderName::from_static("x-remote-user");
const REMOTE_UID: HeaderName = HeaderName::from_static("x-remote-uid");
const REMOTE_GROUP: HeaderName = HeaderName::from_static("x-remote-group");
const REMOTE_EXTRA: &str = "x-remote-extra-";

/// What a caller is told whose identity was lost: somebody asks in the name of a shard. A shard that forwards a request
/// speaks with its own certificate, so that whatever it does not reach directly, a front-proxy or another shard, takes
/// the shard itself for the caller. A provider who writes the URL of another shard into a slice gets there on purpose,
/// and would ask in any workspace as `system:masters`.
pub const LOST_CALLER: &str = "the identity of the caller was lost: the request comes in the name of a shard, as it does \
     through the front-proxy or another shard; publish the direct URL of this server in the APIExportEndpointSlice";

/// What a caller is told whose shard is not listed.
pub const UNLISTED_SHARD: &str = "the client certificate is not that of a known shard or front-proxy: \
     its issuer must be in --shard-client-ca-file and its common name in --shard-client-names";

/// kcp refuses to forward at this number (`hops.Max`) and sends the number that it received plus one.
const MAX_HOPS: u64 = 4;

/// Who asks.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Identity {
    /// A shard on its own behalf, which may only ask for discovery; by its name.
    ShardItself(Arc<str>),
    /// Somebody.
    Caller(Caller),
}

/// A caller, and who vouches for them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Caller {
    /// The caller.
    pub user: Arc<UserInfo>,
    /// How the request came.
    pub via: Via,
}

/// The connection on which a caller's request came.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Via {
    /// A shard, which has authenticated the caller.
    Shard(Arc<str>),
    /// A front-proxy, which has authenticated the caller.
    FrontProxy(Arc<str>),
    /// The caller's own.
    Direct,
}

/// Says who asks, from what the connection is and what the headers say.
///
/// `X-Remote-*` counts on connections of shards and front-proxies alone; `Impersonate-*` is read nowhere.
pub fn caller(trust: &Trust, peer: &Peer, headers: &HeaderMap) -> Result<Identity, Fault> {
    match peer {
        Peer::Shard(name) => {
            check_hops(headers)?;
            Ok(match remote_user(headers)? {
                Some(user) => Identity::Caller(Caller {
                    user: Arc::new(not_lost(trust, user)?),
                    via: Via::Shard(Arc::clone(name)),
                }),
                None => Identity::ShardItself(Arc::clone(name)),
            })
        }
        Peer::FrontProxy(name) => {
            check_hops(headers)?;
            let user = remote_user(headers)?.ok_or(ClientFault::Unauthorized)?;
            Ok(Identity::Caller(Caller {
                user: Arc::new(not_lost(trust, user)?),
                via: Via::FrontProxy(Arc::clone(name)),
            }))
        }
        Peer::User(_) | Peer::Anonymous { presented: true } if headers.contains_key(&HOPS) => {
            Err(ClientFault::Forbidden(UNLISTED_SHARD.into()).into())
        }
        Peer::User(user) => Ok(Identity::Caller(Caller {
            user: Arc::clone(user),
            via: Via::Direct,
        })),
        Peer::Anonymous { .. } => Err(ClientFault::Unauthorized.into()),
    }
}

/// The user, unless it is a shard: then somebody else asked.
fn not_lost(trust: &Trust, user: UserInfo) -> Result<UserInfo, ClientFault> {
    if trust.is_shard_name(&user.username) {
        Err(ClientFault::Forbidden(LOST_CALLER.into()))
    } else {
        Ok(user)
    }
}

/// As kcp's `hops.FromHeader` and its virtual resource server: the first value counts, an empty one is none, and what
/// is no number counts as too many.
fn check_hops(headers: &HeaderMap) -> Result<(), PlatformFault> {
    let Some(hops) = headers.get(&HOPS).filter(|value| !value.is_empty()) else {
        return Ok(());
    };
    match hops.to_str().ok().and_then(|hops| hops.parse::<u64>().ok()) {
        Some(hops) if hops <= MAX_HOPS => Ok(()),
        Some(_) => Err(PlatformFault::Hops(
            "the request has been forwarded too many times".into(),
        )),
        None => Err(PlatformFault::Hops(
            "X-Kcp-Virtual-Resource-Hops is not a number".into(),
        )),
    }
}

/// The caller in `X-Remote-*`, as kube-apiserver's `headerrequest` authenticator reads them: of several names the first
/// counts, an empty one is none; empty groups are left out; groups and extras repeat and are never split.
fn remote_user(headers: &HeaderMap) -> Result<Option<UserInfo>, ClientFault> {
    let first = |name: &HeaderName| headers.get(name).map_or(Ok(String::new()), text);
    let username = first(&REMOTE_USER)?;
    if username.is_empty() {
        return Ok(None);
    }
    let mut user = UserInfo {
        username,
        uid: first(&REMOTE_UID)?,
        ..UserInfo::default()
    };
    for group in headers.get_all(&REMOTE_GROUP).iter().filter(|group| !group.is_empty()) {
        user.groups.push(text(group)?);
    }
    for (name, value) in headers {
        if let Some(key) = name.as_str().strip_prefix(REMOTE_EXTRA) {
            user.extra.entry(extra_key(key)).or_default().push(text(value)?);
        }
    }
    Ok(Some(user))
}

/// Two names that differ must not become one by repair, so what is no UTF-8 is no identity.
fn text(value: &HeaderValue) -> Result<String, ClientFault> {
    std::str::from_utf8(value.as_bytes())
        .map(str::to_owned)
        .map_err(|_| ClientFault::Unauthorized)
}

/// Unescapes a key once; a broken escape, or one that is no text, is kept as it stands. The name of a header is in
/// lower case already, which leaves letters that are escaped as they are, as in Go.
fn extra_key(key: &str) -> String {
    let escapes_hold = key.split('%').skip(1).all(|rest| {
        rest.as_bytes()
            .get(..2)
            .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    });
    match percent_decode_str(key).decode_utf8() {
        Ok(decoded) if escapes_hold => decoded.into_owned(),
        _ => key.to_owned(),
    }
}

#[cfg(test)]
#[path = "caller_tests.rs"]
mod tests;
