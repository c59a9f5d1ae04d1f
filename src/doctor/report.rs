//! What was found, hop by hop, as text and as JSON.

use std::fmt::{self, Write as _};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

/// The hops on the way of a create, in their order.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum HopName {
    /// The consumer's APIBinding.
    Binding,
    /// The resource in the binding's `status.boundResources`.
    BoundResource,
    /// The provider's APIExport.
    Export,
    /// `storage.virtual.reference` of the resource in the export.
    Reference,
    /// The APIExportEndpointSlice that the reference names.
    Slice,
    /// The entry of the slice that leads shards to the server.
    Endpoint,
    /// The server itself.
    Server,
    /// What kcp tells the consumer of the resource.
    Discovery,
    /// The EphemeralWebhook.
    Nomination,
    /// The webhook.
    Webhook,
}

impl HopName {
    pub(super) const ALL: [Self; 10] = [
        Self::Binding,
        Self::BoundResource,
        Self::Export,
        Self::Reference,
        Self::Slice,
        Self::Endpoint,
        Self::Server,
        Self::Discovery,
        Self::Nomination,
        Self::Webhook,
    ];

    const fn as_str(self) -> &'static str {
        match self {
            Self::Binding => "binding",
            Self::BoundResource => "bound resource",
            Self::Export => "export",
            Self::Reference => "reference",
            Self::Slice => "slice",
            Self::Endpoint => "endpoint",
            Self::Server => "server",
            Self::Discovery => "discovery",
            Self::Nomination => "nomination",
            Self::Webhook => "webhook",
        }
    }
}

impl fmt::Display for HopName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What is to be said of a hop.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "result", rename_all = "camelCase")]
pub(super) enum Outcome {
    /// It is as it should be.
    Good {
        /// What was found.
        finding: String,
    },
    /// It is not.
    Broken {
        /// What was found.
        finding: String,
        /// What mends it.
        fix: String,
    },
    /// It cannot be seen with these credentials, or not from here.
    NotVisible {
        /// Why not.
        finding: String,
    },
}

impl Outcome {
    pub(super) fn good(finding: impl Into<String>) -> Self {
        Self::Good {
            finding: finding.into(),
        }
    }

    pub(super) fn broken(finding: impl Into<String>, fix: impl Into<String>) -> Self {
        Self::Broken {
            finding: finding.into(),
            fix: fix.into(),
        }
    }

    pub(super) fn not_visible(finding: impl Into<String>) -> Self {
        Self::NotVisible {
            finding: finding.into(),
        }
    }

    pub(super) const fn is_good(&self) -> bool {
        matches!(self, Self::Good { .. })
    }

    pub(super) const fn is_broken(&self) -> bool {
        matches!(self, Self::Broken { .. })
    }
}

/// One line of a report.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub(super) struct Line<N> {
    /// What the line is about.
    #[serde(rename = "hop")]
    pub(super) name: N,
    /// What is to be said of it.
    #[serde(flatten)]
    pub(super) outcome: Outcome,
}

/// All that was found.
#[derive(Debug, Serialize)]
pub(super) struct Report<N> {
    /// The resource, or nothing where all slices of a workspace are looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) resource: Option<String>,
    /// The workspace.
    pub(super) workspace: String,
    /// The lines, in order.
    pub(super) hops: Vec<Line<N>>,
}

impl<N: fmt::Display + Serialize> Report<N> {
    /// Whether no hop is broken.
    pub(super) fn is_healthy(&self) -> bool {
        !self.hops.iter().any(|line| line.outcome.is_broken())
    }

    /// Two lines at most for each hop; colours are taken out again where they are not wanted.
    pub(super) fn text(&self) -> String {
        let width = self.hops.iter().map(|line| line.name.to_string().len()).max();
        let width = width.unwrap_or_default();
        let mut text = String::new();
        for line in &self.hops {
            let (mark, style, finding) = match &line.outcome {
                Outcome::Good { finding } => ("✓", bold(AnsiColor::Green), finding),
                Outcome::Broken { finding, .. } => ("✗", bold(AnsiColor::Red), finding),
                Outcome::NotVisible { finding } => ("–", Style::new().dimmed(), finding),
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{style}{mark} {:width$}{style:#}  {finding}", line.name);
            if let Outcome::Broken { fix, .. } = &line.outcome {
                let _ = writeln!(text, "  {:width$}  fix: {fix}", "");
            }
        }
        text
    }

    /// One JSON object, with a newline at its end.
    pub(super) fn json(&self) -> serde_json::Result<String> {
        #[derive(Serialize)]
        struct WithVerdict<'a, N: fmt::Display + Serialize> {
            healthy: bool,
            #[serde(flatten)]
            report: &'a Report<N>,
        }
        let verdict = WithVerdict {
            healthy: self.is_healthy(),
            report: self,
        };
        Ok(format!("{}\n", serde_json::to_string_pretty(&verdict)?))
    }
}

const fn bold(color: AnsiColor) -> Style {
    color.on_default().bold()
}
