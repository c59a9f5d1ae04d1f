//! Endpoint entries that nothing nominates any longer: left behind by a server that is gone for good.

use ephemeral_index::kinds::{APIExport, APIExportEndpointSlice, Endpoint, EphemeralWebhook};

use super::provider::{Provider, described, published, refers_to};
use super::report::{Line, Outcome};
use super::seen::Seen;

/// A line for each entry that shards may pick in the slices of a workspace; `servers` is what is found under each, in
/// their order.
pub(super) fn find(provider: &Provider, servers: Vec<Outcome>) -> Vec<Line<String>> {
    let slices = match &provider.slices {
        Seen::Found(slices) => slices,
        Seen::Missing => return Vec::new(),
        Seen::Hidden(why) => {
            return vec![Line {
                name: "slices".to_owned(),
                outcome: Outcome::not_visible(why.as_str()),
            }];
        }
    };
    let entries = slices
        .iter()
        .flat_map(|slice| published(slice).map(move |entry| (slice, entry)));
    let lines = entries.zip(servers).map(|((slice, entry), server)| Line {
        name: slice.meta.name.to_string(),
        outcome: judge(provider, slice, entry, &server),
    });
    lines.collect()
}

/// What endpoints of this server's kind have in their path.
const PATH: &str = "/services/ephemeral/";

fn judge(provider: &Provider, slice: &APIExportEndpointSlice, entry: &Endpoint, server: &Outcome) -> Outcome {
    let orphaned = |why: &str| Outcome::broken(format!("{}: {why}", described(entry)), removal(slice, entry));
    let mut others = published(slice).filter(|other| other.url != entry.url);
    if others.any(|other| other.shards == entry.shards) {
        return orphaned("it selects the same shards as another entry, so that kcp cannot choose");
    }
    if !entry.url.contains(PATH) {
        return Outcome::good(format!("{} is another server's", described(entry)));
    }
    let leads_to = format!("{PATH}{}/{}", slice.meta.cluster, slice.export);
    if !entry.url.ends_with(&leads_to) {
        return orphaned("it leads to another export than the slice is for");
    }
    let export = |export: &&APIExport| export.meta.name == slice.export;
    match &provider.exports {
        Seen::Hidden(why) => return Outcome::not_visible(why.as_str()),
        Seen::Missing => return orphaned("the export does not exist"),
        Seen::Found(exports) => match exports.iter().find(export) {
            None => return orphaned("the export does not exist"),
            Some(export) if !refers_to(export, &slice.meta.name) => {
                return orphaned("the export does not refer to the slice");
            }
            Some(_) => {}
        },
    }
    let nominates = |webhook: &EphemeralWebhook| {
        let target = webhook.target.as_ref();
        target.is_ok_and(|target| target.export == slice.export)
    };
    match &provider.webhooks {
        Seen::Hidden(why) => Outcome::not_visible(why.as_str()),
        Seen::Found(webhooks) if webhooks.iter().any(nominates) => match server {
            Outcome::Broken { finding, .. } => orphaned(finding),
            _ => Outcome::good(format!("{} belongs to an EphemeralWebhook", entry.url)),
        },
        Seen::Found(_) | Seen::Missing => orphaned("no EphemeralWebhook nominates a resource of the export"),
    }
}

/// How to remove an entry, in the workspace that was looked at. A server-side apply without entries, as its own manager, takes that manager's entries alone.
fn removal(slice: &APIExportEndpointSlice, entry: &Endpoint) -> String {
    let name = &slice.meta.name;
    match entry.managers.iter().next() {
        Some(manager) => format!(
            "if its server is gone: echo '{{\"apiVersion\":\"apis.kcp.io/v1alpha1\",\"kind\":\"APIExportEndpointSlice\",\
             \"metadata\":{{\"name\":\"{name}\"}},\"status\":{{}}}}' | kubectl apply --server-side --subresource=status \
             --field-manager={manager} -f -"
        ),
        None => format!("kubectl edit apiexportendpointslice {name} --subresource=status"),
    }
}
