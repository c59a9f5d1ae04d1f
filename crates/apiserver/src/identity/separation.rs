//! The webhook client certificate must be good for webhooks only.

use rustls_pki_types::{CertificateDer, UnixTime};

use super::anchors::{Anchors, Untrusted, at, validity_of};
use super::trust::Trust;

/// Why a certificate must not be presented to webhooks.
#[derive(Debug, thiserror::Error)]
pub enum SeparationError {
    /// There is no certificate, or it cannot be read.
    #[error("the webhook client certificate cannot be read")]
    Unreadable,
    /// Whoever receives a call could not use the certificate itself, but one of the same CA opens kcp.
    #[error("the webhook client certificate verifies under {0}: it must have a CA of its own")]
    SharedCa(&'static str),
    /// A group that means something to Kubernetes.
    #[error("the webhook client certificate carries the group {0:?}: it must have no system: group")]
    SystemGroup(String),
    /// Webhooks are told another CA than the one that issued it.
    #[error("the webhook client certificate does not chain to --webhook-client-ca-file")]
    WrongCa(#[source] Untrusted),
}

/// Checks the certificate that the server presents to webhooks: it chains to `webhook_ca`, which providers are told,
/// and to no CA that lets anybody in here, and names no `system:` group.
///
/// Times do not count: a certificate that is not valid yet, or no longer, is of the same CA all the same.
pub fn check_webhook_client(
    chain: &[CertificateDer<'_>],
    webhook_ca: &Anchors,
    trust: &Trust,
    now: UnixTime,
) -> Result<(), SeparationError> {
    let leaf = chain.first().ok_or(SeparationError::Unreadable)?;
    let (_, certificate) = x509_parser::parse_x509_certificate(leaf).map_err(|_| SeparationError::Unreadable)?;
    let organizations = certificate
        .subject()
        .iter_organization()
        .filter_map(|group| group.as_str().ok());
    if let Some(group) = organizations.into_iter().find(|group| group.starts_with("system:")) {
        return Err(SeparationError::SystemGroup(group.to_owned()));
    }
    let validity = validity_of(&certificate);
    let then = at(now
        .as_secs()
        .clamp(validity.start, validity.end.saturating_sub(1).max(validity.start)));
    for anchors in trust.bundles() {
        if anchors.current().verify_at_any_time(chain, then).is_ok() {
            return Err(SeparationError::SharedCa(anchors.name()));
        }
    }
    webhook_ca
        .verify_at_any_time(chain, then)
        .map_err(SeparationError::WrongCa)
}

#[cfg(test)]
mod tests {
    use ephemeral_testing::pki::{Authority, Leaf, Validity};

    use super::super::trust::{NamedCa, TrustConfig};
    use super::*;

    struct Setup {
        client_ca: Authority,
        webhook_ca: Authority,
        trust: Trust,
    }

    fn setup() -> Setup {
        let (client_ca, webhook_ca) = (Authority::new("client-ca"), Authority::new("webhook-client-ca"));
        let dir = tempfile::tempdir().unwrap();
        let shard = NamedCa::new(client_ca.write(dir.path(), "ca"), ["shard-0".to_owned()]).unwrap();
        let trust = Trust::load(TrustConfig {
            shard: Some(shard),
            ..TrustConfig::default()
        })
        .unwrap();
        Setup {
            client_ca,
            webhook_ca,
            trust,
        }
    }

    fn check(setup: &Setup, issuer: &Authority, leaf: &Leaf) -> Result<(), SeparationError> {
        let webhook_ca = Anchors::from_pem(setup.webhook_ca.cert_pem().as_bytes()).unwrap();
        check_webhook_client(&issuer.issue(leaf).chain(), &webhook_ca, &setup.trust, UnixTime::now())
    }

    #[test]
    fn a_certificate_of_its_own_ca_passes() {
        let setup = setup();
        check(&setup, &setup.webhook_ca, &Leaf::client("kcp-ephemeral", &["webhooks"])).unwrap();
    }

    #[test]
    fn the_ca_of_a_shard_is_refused_whatever_the_time() {
        let setup = setup();
        for validity in [Validity::Current, Validity::Expired, Validity::NotYet] {
            let leaf = Leaf::client("kcp-ephemeral", &[]).validity(validity);
            match check(&setup, &setup.client_ca, &leaf) {
                Err(SeparationError::SharedCa("shard-client-ca")) => {}
                other => panic!("{validity:?}: {other:?}"),
            }
        }
    }

    #[test]
    fn system_groups_and_other_cas_are_refused() {
        let setup = setup();
        let masters = Leaf::client("kcp-ephemeral", &["a", "system:masters"]);
        assert!(matches!(
            check(&setup, &setup.webhook_ca, &masters),
            Err(SeparationError::SystemGroup(_))
        ));
        let other = check(&setup, &Authority::new("other"), &Leaf::client("kcp-ephemeral", &[]));
        assert!(matches!(other, Err(SeparationError::WrongCa(_))), "{other:?}");
        let webhook_ca = Anchors::from_pem(setup.webhook_ca.cert_pem().as_bytes()).unwrap();
        let none = check_webhook_client(&[], &webhook_ca, &setup.trust, UnixTime::now());
        assert!(matches!(none, Err(SeparationError::Unreadable)));
    }
}
