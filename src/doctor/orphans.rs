//! Endpoint entries that nothing nominates any longer: left behind by a server that is gone for good.

use ephemeral_index::kinds::{APIExport, APIExportEndpointSlice, Endpoint, EphemeralWebhook};

use super::provider::{Provider, published, refers_to};
use super::report::{Line, Outcome};
use super::seen::Seen;

/// A line for each entry of this server's kind in the slices of a workspace.
pub(super) fn find(provider: &Provider) -> Vec<Line<String>> {
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
    let lines = slices.iter().flat_map(|slice| {
        let entries = published(slice).filter(|entry| entry.url.contains(PATH));
        entries.map(|entry| Line {
            name: slice.meta.name.to_string(),
            outcome: judge(provider, slice, entry),
        })
    });
    lines.collect()
}

/// What endpoints of this server's kind have in their path.
const PATH: &str = "/services/ephemeral/";

fn judge(provider: &Provider, slice: &APIExportEndpointSlice, entry: &Endpoint) -> Outcome {
    let orphaned = |why: &str| Outcome::broken(format!("{}: {why}", entry.url), removal(slice, entry));
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
        Seen::Found(webhooks) if webhooks.iter().any(nominates) => {
            Outcome::good(format!("{} belongs to an EphemeralWebhook", entry.url))
        }
        Seen::Found(_) | Seen::Missing => orphaned("no EphemeralWebhook nominates a resource of the export"),
    }
}

/// How to remove an entry. A server-side apply without entries, as its own manager, takes that manager's entries alone.
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
