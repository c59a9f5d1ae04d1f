//! What kcp's and this server's refusals mean. The words are those that were observed on a running kcp, and this
//! server's own.

use ephemeral_apiserver::identity::{LOST_CALLER, UNLISTED_SHARD};
use ephemeral_kcp::RequestError;
use http::StatusCode;

use super::report::{HopName, Outcome};
use crate::errors::one_line;

/// A refusal of something that was asked through kcp, and the hop that it gives away.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Symptom {
    /// Where the way is broken.
    pub(super) hop: HopName,
    /// What is to be said of it.
    pub(super) outcome: Outcome,
}

impl Symptom {
    /// What the refusal means, where it is known.
    pub(super) fn of(error: &RequestError) -> Option<Self> {
        let RequestError::Refused { code, message } = error else {
            return None;
        };
        let (hop, finding, fix) = of_forwarding(*code, message).or_else(|| of_server(message))?;
        Some(Self {
            hop,
            outcome: Outcome::broken(finding, fix),
        })
    }
}

/// What else to say of a refusal.
pub(super) fn unknown(error: &RequestError) -> String {
    format!("refused for a reason that is not known here: {}", one_line(error))
}

type Meaning = (HopName, String, String);

fn meaning(hop: HopName, finding: &str, fix: &str) -> Meaning {
    (hop, finding.to_owned(), fix.to_owned())
}

/// What the consumer's shard says when it cannot forward a request, and what the server says of how it arrived.
fn of_forwarding(code: StatusCode, message: &str) -> Option<Meaning> {
    if message.contains(LOST_CALLER) {
        return Some(meaning(
            HopName::Endpoint,
            "the published endpoint leads through the front-proxy or another shard, where the caller's identity is lost",
            "start the server with the --external-url under which shards reach it directly, and remove entries that are not \
             the server's",
        ));
    }
    if message.contains(UNLISTED_SHARD) {
        return Some(meaning(
            HopName::Discovery,
            "the server does not know the shard that asks",
            "add the name in the shard's client certificate to --shard-client-names, and its CA to --shard-client-ca-file",
        ));
    }
    match code {
        StatusCode::UNAUTHORIZED if message == "Unauthorized" => Some(meaning(
            HopName::Discovery,
            "the server does not accept the certificate of the shard that asks, or the shard presents none",
            "give every shard --shard-client-cert-file and --shard-client-key-file, their CA to the server's \
             --shard-client-ca-file, and their names to --shard-client-names",
        )),
        // kcp says nothing then; a provider who denies with such a code says something.
        StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT if message.is_empty() => Some(meaning(
            HopName::Discovery,
            "the shard does not reach the server under the published endpoint",
            "start the server; where it runs, let --shard-virtual-workspace-ca-file of every shard verify its \
             certificate, and the network let shards through to --external-url",
        )),
        StatusCode::INTERNAL_SERVER_ERROR if message.contains("equally well") => Some(meaning(
            HopName::Endpoint,
            "several entries of the slice match this shard equally well",
            "leave one: withdraw the entry of the publisher that is gone, or give each publisher a --shard-selector of \
             its own; --orphans lists them",
        )),
        StatusCode::INTERNAL_SERVER_ERROR if message.contains("no matches for kind") => Some(meaning(
            HopName::Reference,
            "storage.virtual.reference is to a kind that this shard does not know",
            "refer to an APIExportEndpointSlice (apiGroup apis.kcp.io), which resolves on every shard",
        )),
        StatusCode::INTERNAL_SERVER_ERROR
            if message.contains("apiexportendpointslices") && message.contains("not found") =>
        {
            Some(meaning(
                HopName::Slice,
                "the APIExportEndpointSlice that storage.virtual.reference names does not exist",
                "create it in the export's workspace: kcp-ephemeral manifests nomination prints it",
            ))
        }
        // Of kcp's own entries the one of this shard is taken where no other is there, and leads back to it.
        StatusCode::INTERNAL_SERVER_ERROR
            if message.contains("error resolving resource") || message.contains("without being served") =>
        {
            Some(meaning(
                HopName::Endpoint,
                "the slice has no entry for this shard",
                "the server publishes it as soon as an EphemeralWebhook nominates the resource: look at its conditions, and \
             whether the server runs",
            ))
        }
        _ => None,
    }
}

/// What this server says of a nomination and its webhook.
fn of_server(message: &str) -> Option<Meaning> {
    if let Some((_, problem)) = message.split_once("cannot be served at the moment: ") {
        let (reason, fix) = problem.split_once(": ").unwrap_or((problem, problem));
        return Some((
            HopName::Nomination,
            format!("it cannot be used: {reason}"),
            fix.to_owned(),
        ));
    }
    if message.contains("could not be reached in time") {
        return Some(meaning(
            HopName::Webhook,
            "the server could not reach it in time",
            "check that it runs, that its certificate verifies under spec.caBundle, that spec.url is right and allowed, \
             and that it answers within spec.timeoutSeconds; the server's log has the cause",
        ));
    }
    if message.contains("did not answer with a valid EphemeralReview") {
        return Some(meaning(
            HopName::Webhook,
            "it answered, but not with an EphemeralReview for this request",
            "answer 200 with the review's apiVersion and kind and the uid of the request; the server's log has the cause",
        ));
    }
    if let Some((_, what)) = message.split_once("breaks its contract: ") {
        return Some((
            HopName::Webhook,
            format!("its answer breaks the contract: {what}"),
            "answer an object of the same apiVersion, kind, name and namespace that is valid by the schema; the server's \
             log has the fields"
                .to_owned(),
        ));
    }
    if message.contains("has not read all resources yet") {
        return Some(meaning(
            HopName::Server,
            "it has not read everything yet",
            "wait; /readyz?verbose of the server says what is missing",
        ));
    }
    if message.contains("authorization of this request cannot be checked") {
        return Some(meaning(
            HopName::Server,
            "it cannot ask kcp whether callers may",
            "check that --authorization-kubeconfig reaches kcp, and apply what kcp-ephemeral manifests shard prints to \
             every shard",
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use ephemeral_apiserver::fault::{PlatformFault, ProviderFault};

    use super::*;

    fn hop(code: u16, message: &str) -> Option<HopName> {
        let error = RequestError::Refused {
            code: StatusCode::from_u16(code).unwrap(),
            message: message.to_owned(),
        };
        Symptom::of(&error).map(|symptom| symptom.hop)
    }

    #[test]
    fn what_kcp_says_names_the_hop() {
        for (code, message, expected) in [
            (502, "", Some(HopName::Discovery)),
            (401, "Unauthorized", Some(HopName::Discovery)),
            (
                500,
                "Internal error occurred: request for r.g has been forwarded 4 times without being served: the virtual \
                 workspace advertised for it delegates it back to this shard.",
                Some(HopName::Endpoint),
            ),
            (
                500,
                "Internal error occurred: error resolving resource s.g; please contact APIExport owner to resolve",
                Some(HopName::Endpoint),
            ),
            (
                500,
                "error resolving resource: 2 endpoints select a shard labelled name=root equally well, out of [a b]",
                Some(HopName::Endpoint),
            ),
            (
                500,
                "error resolving resource: no matches for kind \"Mine\" in group \"g\"",
                Some(HopName::Reference),
            ),
            (
                500,
                "error resolving resource: apiexportendpointslices.apis.kcp.io \"s\" not found",
                Some(HopName::Slice),
            ),
            (500, "something else", None),
            (502, "the store is down", None),
            (401, "who are you?", None),
            (403, "bucketinfos is forbidden: User \"ada\" cannot list", None),
        ] {
            assert_eq!(hop(code, message), expected, "{code} {message}");
        }
    }

    #[test]
    fn what_the_server_says_names_the_hop() {
        let resource = || "bucketinfos.s3.example.com".to_owned();
        for (message, expected) in [
            (LOST_CALLER.to_owned(), HopName::Endpoint),
            (UNLISTED_SHARD.to_owned(), HopName::Discovery),
            (
                ProviderFault::Unreachable { resource: resource() }.to_string(),
                HopName::Webhook,
            ),
            (
                ProviderFault::BadAnswer {
                    resource: resource(),
                    why: "",
                }
                .to_string(),
                HopName::Webhook,
            ),
            (
                ProviderFault::BrokenContract {
                    resource: resource(),
                    what: "no object",
                    fields: Vec::new(),
                }
                .to_string(),
                HopName::Webhook,
            ),
            (
                ProviderFault::NotUsable {
                    resource: resource(),
                    reason: "CABundleInvalid",
                    message: "Mend it.".into(),
                }
                .to_string(),
                HopName::Nomination,
            ),
            (PlatformFault::NotRead.to_string(), HopName::Server),
            (PlatformFault::AuthorizationUnavailable.to_string(), HopName::Server),
        ] {
            assert_eq!(hop(503, &message), Some(expected), "{message}");
        }
    }
}
