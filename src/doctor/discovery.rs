//! What kcp tells the consumer of the resource, and what it does with a request for it.

use ephemeral_kcp::{Cluster, RequestError};
use serde::Deserialize;
use serde::de::IgnoredAny;
use structural_schema::Value;

use super::report::{HopName, Outcome};
use super::symptom::{self, Symptom};
use crate::cli::ResourceName;
use crate::errors::one_line;

/// What was asked through kcp, and what came of it.
#[derive(Debug)]
pub(super) struct Discovery {
    /// The version, and whether the resource is namespaced, where kcp tells of it.
    told: Option<Told>,
    /// The refusal of discovery, or else of a list: lists are answered empty, so that asking does no harm.
    refusal: Option<RequestError>,
}

#[derive(Debug)]
struct Told {
    version: String,
    namespaced: bool,
    creatable: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Group {
    preferred_version: Version,
    versions: Vec<Version>,
}

#[derive(Deserialize)]
struct Version {
    version: String,
}

#[derive(Deserialize)]
struct Resources {
    #[serde(default)]
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
struct Resource {
    name: String,
    namespaced: bool,
    #[serde(default)]
    verbs: Vec<String>,
}

impl Discovery {
    /// Asks for the resource in each version of its group, and for a list of it.
    pub(super) async fn ask(workspace: &Cluster, resource: &ResourceName) -> Self {
        let group: Group = match workspace.get(&format!("/apis/{}", resource.group)).await {
            Ok(group) => group,
            Err(error) => {
                return Self {
                    told: None,
                    refusal: Some(error),
                };
            }
        };
        let preferred = group.preferred_version.version;
        let mut refusal = None;
        let others = group.versions.into_iter().map(|version| version.version);
        let others: Vec<_> = others.filter(|version| *version != preferred).collect();
        for version in std::iter::once(preferred.clone()).chain(others) {
            match told(workspace, resource, version).await {
                Ok(Some(told)) => {
                    let refusal = list(workspace, resource, &told.version).await.err();
                    return Self {
                        told: Some(told),
                        refusal,
                    };
                }
                Ok(None) => {}
                Err(error) => refusal = Some(error),
            }
        }
        // The shard may have left the resource out because it could not ask the server: a list says why.
        let refused = list(workspace, resource, &preferred).await.err();
        Self {
            told: None,
            refusal: refused.or(refusal),
        }
    }

    /// Whether kcp tells the consumer of the resource, as it does only where the server told kcp.
    pub(super) const fn serves(&self) -> bool {
        matches!(&self.told, Some(told) if told.creatable)
    }

    /// What a refusal gives away.
    pub(super) fn symptom(&self) -> Option<Symptom> {
        self.refusal.as_ref().and_then(Symptom::of)
    }

    /// What is to be said where the symptom names no other hop.
    pub(super) fn judge(&self, resource: &ResourceName) -> Outcome {
        if let Some(Symptom {
            hop: HopName::Discovery,
            outcome,
        }) = self.symptom()
        {
            return outcome;
        }
        match (&self.told, &self.refusal) {
            (Some(told), _) if !told.creatable => Outcome::broken(
                format!(
                    "kcp serves {resource} in version {}, but without the verb create",
                    told.version
                ),
                "let storage.virtual of the resource lead to this server",
            ),
            (Some(told), Some(refusal)) if !refusal.is_forbidden() && self.symptom().is_none() => Outcome::broken(
                format!(
                    "{} is served, but a list is {}",
                    told.version,
                    symptom::unknown(refusal)
                ),
                LOOK,
            ),
            (Some(told), _) => Outcome::good(format!("kcp serves it in version {}", told.version)),
            (None, Some(refusal)) if self.symptom().is_none() && !refusal.is_not_found() => {
                if refusal.is_forbidden() {
                    Outcome::not_visible("not visible with these credentials")
                } else if refusal.code().is_none() {
                    Outcome::not_visible(one_line(refusal))
                } else {
                    Outcome::broken(
                        format!("kcp does not answer for {resource}: {}", one_line(refusal)),
                        LOOK,
                    )
                }
            }
            (None, _) => Outcome::broken(
                format!("kcp does not tell of {resource}: kubectl finds no such resource"),
                "mend the other broken hops; kcp needs some seconds to follow",
            ),
        }
    }
}

const LOOK: &str = "look at the logs of the shard and of the server";

async fn told(workspace: &Cluster, resource: &ResourceName, version: String) -> Result<Option<Told>, RequestError> {
    let list: Resources = workspace.get(&format!("/apis/{}/{version}", resource.group)).await?;
    let found = list.resources.into_iter().find(|found| found.name == resource.plural);
    Ok(found.map(|found| Told {
        version,
        namespaced: found.namespaced,
        creatable: found.verbs.iter().any(|verb| verb == "create"),
    }))
}

async fn list(workspace: &Cluster, resource: &ResourceName, version: &str) -> Result<(), RequestError> {
    let path = format!("/apis/{}/{version}/{}?limit=1", resource.group, resource.plural);
    workspace.get::<IgnoredAny>(&path).await.map(drop)
}

/// An object to be tried.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) object: Value,
    pub(super) version: String,
    pub(super) namespace: String,
}

/// Sends an object as a dry run, and tells what came of it.
pub(super) async fn dry_run(
    workspace: &Cluster,
    resource: &ResourceName,
    discovery: &Discovery,
    attempt: &Attempt,
) -> Result<(), RequestError> {
    let namespaced = discovery.told.as_ref().is_none_or(|told| told.namespaced);
    let within = if namespaced {
        format!("/namespaces/{}", attempt.namespace)
    } else {
        String::new()
    };
    let path = format!(
        "/apis/{}/{}{within}/{}?dryRun=All",
        resource.group, attempt.version, resource.plural
    );
    workspace.post::<IgnoredAny>(&path, &attempt.object).await.map(drop)
}

/// What a dry run says of the webhook; a symptom of another hop goes there.
pub(super) fn judge_dry_run(result: &Result<(), RequestError>) -> Result<Outcome, Symptom> {
    let error = match result {
        Ok(()) => return Ok(Outcome::good("it answered a dry run")),
        Err(error) => error,
    };
    if let Some(symptom) = Symptom::of(error) {
        return match symptom.hop {
            HopName::Webhook => Ok(symptom.outcome),
            _ => Err(symptom),
        };
    }
    let RequestError::Refused { code, message } = error else {
        return Ok(Outcome::not_visible(one_line(error)));
    };
    let not_asked = |fix: &str| Outcome::broken(format!("it was not asked: {message}"), fix);
    Ok(match code.as_u16() {
        403 if message.contains("no APIBinding") => not_asked(
            "bind the export in the consumer's workspace; where it is bound, the endpoint leads to another export: mend that",
        ),
        403 if message.contains("is forbidden: User") => {
            not_asked("grant the verb create on the resource in the consumer's workspace")
        }
        404 if message.contains("could not find the requested resource") => {
            Outcome::not_visible("it was not asked: kcp does not serve the resource")
        }
        429 if message.contains("too many requests") => not_asked("try again later; the limits are the operator's"),
        400 | 415 | 422 => Outcome::broken(
            format!("the object is refused: {message}"),
            "correct the object; where it is right, mend the schema or what the webhook denies",
        ),
        _ => Outcome::good(format!("it answered a dry run with a denial: {code}: {message}")),
    })
}
