//! `doctor`: follows a resource hop by hop, and says where the way is broken and what mends it.
//!
//! First all is looked at, each thing with the credentials of whoever may see it; then it is judged, without asking
//! anybody. What cannot be seen is no fault.

mod binding;
mod discovery;
mod orphans;
mod provider;
mod report;
mod seen;
mod server;
mod symptom;

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use ephemeral_kcp::{Base, Login};
use futures::future::join_all;
use indicatif::{ProgressBar, ProgressStyle};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use serde::Serialize;
use structural_schema::Value;

use crate::cli::{DoctorArgs, OutputFormat, ProviderViewArgs, ResourceName};
use crate::output;
use binding::Binding;
use discovery::{Attempt, Discovery, dry_run, judge_dry_run};
use provider::{Provider, Trail, published};
use report::{HopName, Line, Outcome, Report};
use server::Roots;
use symptom::Symptom;

/// Where a hop is broken.
const BROKEN: u8 = 1;
/// Where the command was used wrongly: a file that cannot be read, an object of another group.
const WRONG_USE: u8 = 2;

/// Looks, prints, and tells by the exit code whether a hop is broken. An error is wrong use.
pub(crate) async fn doctor(args: DoctorArgs) -> ExitCode {
    match examine(args).await {
        Ok(healthy) => ExitCode::from(if healthy { 0 } else { BROKEN }),
        Err(error) => {
            crate::logging::fatal(&error);
            ExitCode::from(WRONG_USE)
        }
    }
}

async fn examine(args: DoctorArgs) -> Result<bool> {
    let consumer = Login::load(args.consumer.kubeconfig.as_deref(), args.consumer.context.as_deref()).await?;
    let named = args.consumer.workspace.as_deref().or(consumer.workspace());
    let workspace = named
        .context("no workspace: give --workspace, or a kubeconfig whose URL has one")?
        .to_owned();
    let eyes = Eyes {
        consumer: consumer.base()?,
        provider: provider_login(&args.provider).await?,
        workspace,
    };
    let roots = match &args.endpoint_ca_file {
        Some(file) => Roots::only(certificates(file)?),
        None => Roots::and_system(consumer.root_certificates().iter().cloned().map(CertificateDer::from)),
    };
    let Some(resource) = &args.resource else {
        return find_orphans(&eyes, &args, &roots).await;
    };
    let attempt = args
        .object
        .as_deref()
        .map(|path| attempt(path, resource, &args.namespace))
        .transpose()?;
    let facts = Facts::gather(&eyes, &args, resource, attempt.as_ref(), &roots).await;
    print(
        &Report {
            resource: Some(resource.to_string()),
            workspace: eyes.workspace,
            hops: facts.judge(resource),
        },
        args.output,
    )
}

/// Who looks.
struct Eyes {
    consumer: Base,
    /// The provider's, where a kubeconfig of theirs was given, and the workspace in it.
    provider: Option<(Base, Option<String>)>,
    /// The consumer's workspace.
    workspace: String,
}

impl Eyes {
    /// The provider's workspace, through whoever's eyes there are.
    fn provider(&self, workspace: &str) -> ephemeral_kcp::Cluster {
        let base = self.provider.as_ref().map_or(&self.consumer, |(base, _)| base);
        base.cluster(workspace)
    }
}

async fn provider_login(args: &ProviderViewArgs) -> Result<Option<(Base, Option<String>)>> {
    let Some(kubeconfig) = &args.provider_kubeconfig else {
        return Ok(None);
    };
    let login = Login::load(Some(kubeconfig), args.provider_context.as_deref()).await?;
    Ok(Some((login.base()?, login.workspace().map(str::to_owned))))
}

async fn find_orphans(eyes: &Eyes, args: &DoctorArgs, roots: &Roots) -> Result<bool> {
    let of_kubeconfig = eyes.provider.as_ref().and_then(|(_, workspace)| workspace.as_deref());
    let workspace = args.provider.provider_workspace.as_deref().or(of_kubeconfig);
    let workspace = workspace.unwrap_or(&eyes.workspace);
    let progress = Progress::start();
    progress.says("the slices of the workspace");
    let provider = Provider::read(&eyes.provider(workspace), workspace).await;
    progress.says("the servers under their entries");
    let entries = provider.slices.found().into_iter().flatten().flat_map(published);
    let servers = join_all(entries.map(|entry| server::probe(&entry.url, roots))).await;
    drop(progress);
    print(
        &Report {
            resource: None,
            workspace: workspace.to_owned(),
            hops: orphans::find(&provider, servers),
        },
        args.output,
    )
}

/// All that was looked at.
struct Facts {
    /// Those of the consumer's workspace, or what is to be said instead of them.
    bindings: Result<Vec<Binding>, Outcome>,
    provider: Provider,
    /// Whether the provider's workspace is the one that the user named, not the one that the binding leads to.
    is_provider_given: bool,
    /// kcp's base URL.
    front: String,
    /// What the servers under the published endpoints say, one for each region.
    servers: Vec<Outcome>,
    discovery: Discovery,
    dry_run: Option<Result<(), ephemeral_kcp::RequestError>>,
}

impl Facts {
    async fn gather(
        eyes: &Eyes,
        args: &DoctorArgs,
        resource: &ResourceName,
        attempt: Option<&Attempt>,
        roots: &Roots,
    ) -> Self {
        let progress = Progress::start();
        let workspace = eyes.consumer.cluster(&eyes.workspace);
        progress.says("the bindings of the consumer's workspace");
        let bindings = binding::read(&workspace).await.map_err(|error| binding::unread(&error));
        let binding = bindings
            .as_ref()
            .ok()
            .and_then(|bindings| binding::choose(bindings, resource));

        progress.says("the provider's workspace");
        let given = args.provider.provider_workspace.as_deref();
        let of_kubeconfig = eyes.provider.as_ref().and_then(|(_, workspace)| workspace.as_deref());
        let found = given.or(binding.and_then(Binding::provider)).or(of_kubeconfig);
        let provider = match found {
            Some(name) => Provider::read(&eyes.provider(name), name).await,
            None => Provider::unseen("the provider's workspace is not known: give --provider-workspace"),
        };

        let export = binding.map(Binding::export);
        let endpoints = Trail::follow(&provider, export, resource).endpoints();
        progress.says("the server");
        let probes = endpoints.iter().map(|endpoint| server::probe(&endpoint.url, roots));
        let servers = join_all(probes).await;
        progress.says("what kcp tells the consumer");
        let discovery = Discovery::ask(&workspace, resource).await;
        let dry_run = match attempt {
            Some(attempt) => {
                progress.says("the webhook, by a dry run");
                Some(dry_run(&workspace, resource, &discovery, attempt).await)
            }
            None => None,
        };
        Self {
            bindings,
            provider,
            is_provider_given: given.is_some(),
            front: eyes.consumer.url(),
            servers,
            discovery,
            dry_run,
        }
    }

    /// A line for each hop. What a refusal gives away of a hop that nothing else is known of, or that seemed good,
    /// is said there.
    fn judge(&self, resource: &ResourceName) -> Vec<Line<HopName>> {
        let binding = self
            .bindings
            .as_ref()
            .ok()
            .and_then(|bindings| binding::choose(bindings, resource));
        let export = binding.map(Binding::export);
        let trail = Trail::follow(&self.provider, export, resource);
        let endpoint = trail.judge_endpoint(&self.front);
        let is_reached = self.is_reached() && !endpoint.is_broken();
        let tried = self.dry_run.as_ref().map(judge_dry_run);
        let symptoms: Vec<Symptom> = self
            .discovery
            .symptom()
            .into_iter()
            .chain(tried.as_ref().and_then(|tried| tried.as_ref().err().cloned()))
            // Where kcp itself does not answer, its refusals say nothing of what is behind it.
            .filter(|_| !self.is_kcp_away())
            .collect();
        let lines = HopName::ALL.map(|name| {
            let seen = match name {
                HopName::Binding => self.judge_binding(binding, resource),
                HopName::BoundResource => match binding {
                    Some(binding) => binding.judge_resource(resource),
                    None => Outcome::not_visible("it depends on the binding"),
                },
                HopName::Export => trail.judge_export(export),
                HopName::Reference => trail.judge_reference(),
                HopName::Slice => trail.judge_slice(),
                HopName::Endpoint => endpoint.clone(),
                HopName::Server => self.judge_server(),
                HopName::Discovery | HopName::Webhook if self.is_kcp_away() => {
                    Outcome::not_visible("it depends on the binding")
                }
                HopName::Discovery => self.discovery.judge(resource),
                HopName::Nomination => trail.judge_nomination(is_reached),
                HopName::Webhook => match &tried {
                    // A dry run does not show whether it knows who asks.
                    Some(Ok(outcome)) if outcome.is_good() && trail.asks_nobody_for_a_certificate() => {
                        trail.judge_calls()
                    }
                    Some(Ok(outcome)) => outcome.clone(),
                    Some(Err(_)) => Outcome::not_visible("it was not asked: the way to it is broken"),
                    None => trail.judge_calls(),
                },
            };
            let given_away = symptoms.iter().find(|symptom| symptom.hop == name && !seen.is_broken());
            Line {
                name,
                outcome: given_away.map_or(seen, |symptom| symptom.outcome.clone()),
            }
        });
        lines.into()
    }

    fn judge_binding(&self, binding: Option<&Binding>, resource: &ResourceName) -> Outcome {
        let binding = match (&self.bindings, binding) {
            (Err(outcome), _) => return outcome.clone(),
            (Ok(_), None) => return binding::none(resource),
            (Ok(_), Some(binding)) => binding,
        };
        let expected = self.provider.cluster().filter(|_| self.is_provider_given);
        match (expected, binding.provider_cluster()) {
            (Some(expected), Some(bound)) if expected != bound => Outcome::broken(
                format!(
                    "the binding is to export {} of logical cluster {bound}, not of {expected}",
                    binding.export()
                ),
                "delete the binding, and bind the export of the right workspace",
            ),
            _ => binding.judge(),
        }
    }

    /// Whether not even the consumer's own bindings could be read, because of kcp.
    fn is_kcp_away(&self) -> bool {
        self.bindings.as_ref().is_err_and(Outcome::is_broken)
    }

    /// Where the endpoint cannot be seen, an answer through kcp shows that the server runs.
    fn judge_server(&self) -> Outcome {
        let broken = self.servers.iter().find(|outcome| outcome.is_broken());
        match broken.or(self.servers.first()) {
            Some(outcome) => outcome.clone(),
            None if self.is_reached() => Outcome::good("kcp reaches it"),
            None => Outcome::not_visible("its endpoint is not known"),
        }
    }

    /// Whether the server answers through kcp. Discovery alone does not show that: without an endpoint of this server's
    /// kcp may take one of its own, which tells of the resource too, and leads in a circle.
    fn is_reached(&self) -> bool {
        self.discovery.serves() && self.discovery.symptom().is_none()
    }
}

/// The object of a file, as `kubectl create -f` takes it.
fn attempt(path: &Path, resource: &ResourceName, namespace: &str) -> Result<Attempt> {
    let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let object = structural_schema::yaml::decode(&text).with_context(|| format!("cannot read {}", path.display()))?;
    let object = object.value;
    let api_version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    let Some((_, version)) = api_version
        .split_once('/')
        .filter(|(group, _)| *group == resource.group)
    else {
        bail!(
            "{} has apiVersion {api_version:?}, not one of group {}",
            path.display(),
            resource.group
        );
    };
    let own = object
        .get("metadata")
        .and_then(|metadata| metadata.get("namespace"))
        .and_then(Value::as_str);
    Ok(Attempt {
        version: version.to_owned(),
        namespace: own.unwrap_or(namespace).to_owned(),
        object,
    })
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let unusable = || format!("cannot use {}", path.display());
    let certificates: Vec<_> = CertificateDer::pem_file_iter(path)
        .with_context(unusable)?
        .collect::<Result<_, _>>()
        .with_context(unusable)?;
    if certificates.is_empty() {
        bail!("{} holds no certificate", path.display());
    }
    Ok(certificates)
}

/// Prints a report and tells whether it is healthy.
fn print<N: fmt::Display + Serialize>(report: &Report<N>, output: OutputFormat) -> Result<bool> {
    let text = match output {
        OutputFormat::Text => report.text(),
        OutputFormat::Json => report.json()?,
    };
    output::print(&text)?;
    Ok(report.is_healthy())
}

/// What is being looked at, on a terminal; in a pipe nothing.
struct Progress(ProgressBar);

impl Progress {
    fn start() -> Self {
        let bar = ProgressBar::new_spinner();
        bar.set_style(ProgressStyle::default_spinner());
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(bar)
    }

    fn says(&self, what: &'static str) {
        self.0.set_message(what);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
