use base64::engine::general_purpose::STANDARD;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::crypto::aws_lc_rs;

use super::*;

const HOUR: Duration = Duration::from_hours(1);

fn store() -> TrustStore {
    TrustStore::new(aws_lc_rs::default_provider().signature_verification_algorithms)
}

fn params(names: &[&str], is_ca: bool) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    if is_ca {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }
    let now = SystemTime::now();
    (params.not_before, params.not_after) = ((now - HOUR).into(), (now + HOUR).into());
    params
}

fn self_signed(params: CertificateParams) -> CertifiedIssuer<'static, KeyPair> {
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn issued(params: &CertificateParams, issuer: &CertifiedIssuer<'_, KeyPair>) -> CertificateDer<'static> {
    let key = KeyPair::generate().unwrap();
    params.signed_by(&key, issuer).unwrap().der().clone()
}

fn bundle(pems: &[String]) -> String {
    STANDARD.encode(pems.concat())
}

fn verify(verifier: &Verifier, leaf: &CertificateDer<'_>, name: &str) -> Result<(), rustls::Error> {
    let name = ServerName::try_from(name).unwrap();
    verifier
        .verify_server_cert(leaf, &[], &name, &[], UnixTime::now())
        .map(|_| ())
}

#[test]
fn a_leaf_verifies_under_any_authority_of_the_bundle() {
    let (one, two, other) = (
        self_signed(params(&[], true)),
        self_signed(params(&[], true)),
        self_signed(params(&[], true)),
    );
    let text = bundle(&[one.pem(), two.pem()]);
    let verifier = store().verifier(Some(&text), SystemTime::now()).unwrap();
    let leaf = params(&["webhook.example.com", "10.0.0.1"], false);
    for (issuer, passes) in [(&one, true), (&two, true), (&other, false)] {
        let leaf = issued(&leaf, issuer);
        assert_eq!(verify(&verifier, &leaf, "webhook.example.com").is_ok(), passes);
        assert_eq!(verify(&verifier, &leaf, "10.0.0.1").is_ok(), passes);
        assert!(verify(&verifier, &leaf, "other.example.com").is_err());
        assert!(verify(&verifier, &leaf, "10.0.0.2").is_err());
    }
}

#[test]
fn a_certificate_of_the_bundle_itself_is_trusted_whatever_it_says_of_authority() {
    for is_ca in [true, false] {
        let leaf = self_signed(params(&["webhook.example.com"], is_ca));
        let text = bundle(&[leaf.pem()]);
        let verifier = store().verifier(Some(&text), SystemTime::now()).unwrap();
        verify(&verifier, leaf.der(), "webhook.example.com").unwrap();
        assert!(verify(&verifier, leaf.der(), "other.example.com").is_err());

        let other = self_signed(params(&["webhook.example.com"], is_ca));
        assert!(verify(&verifier, other.der(), "webhook.example.com").is_err());
    }
}

#[test]
fn a_certificate_of_the_bundle_itself_must_be_valid_and_for_servers() {
    let now = SystemTime::now();
    let mut late = params(&["a.example"], false);
    (late.not_before, late.not_after) = ((now - 2 * HOUR).into(), (now - HOUR).into());
    let mut early = params(&["a.example"], false);
    (early.not_before, early.not_after) = ((now + HOUR).into(), (now + 2 * HOUR).into());
    let mut client = params(&["a.example"], false);
    client.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
    let nameless = params(&[], false);
    let fine = self_signed(params(&["b.example"], false));
    for (params, expected) in [
        (late, CertificateError::Expired),
        (early, CertificateError::NotValidYet),
        (client, CertificateError::InvalidPurpose),
        (nameless, CertificateError::NotValidForName),
    ] {
        let leaf = self_signed(params);
        let text = bundle(&[leaf.pem(), fine.pem()]);
        let verifier = store().verifier(Some(&text), now).unwrap();
        let error = verify(&verifier, leaf.der(), "a.example").unwrap_err();
        let rustls::Error::InvalidCertificate(error) = error else {
            panic!("{error:?}");
        };
        let is_expected = match &error {
            CertificateError::NotValidForNameContext { .. } => expected == CertificateError::NotValidForName,
            error => *error == expected,
        };
        assert!(is_expected, "{error:?} for {expected:?}");
    }
}

#[test]
fn an_authority_counts_only_while_it_is_valid() {
    let now = SystemTime::now();
    let mut expired = params(&[], true);
    (expired.not_before, expired.not_after) = ((now - 2 * HOUR).into(), (now - HOUR).into());
    let (expired, valid) = (self_signed(expired), self_signed(params(&[], true)));
    let leaf = params(&["a.example"], false);

    let text = bundle(&[expired.pem()]);
    let error = store().verifier(Some(&text), now).unwrap_err();
    assert!(matches!(error, EndpointProblem::CaBundleExpired), "{error:?}");

    let text = bundle(&[expired.pem(), valid.pem()]);
    let verifier = store().verifier(Some(&text), now).unwrap();
    assert!(verify(&verifier, &issued(&leaf, &expired), "a.example").is_err());
    verify(&verifier, &issued(&leaf, &valid), "a.example").unwrap();
}

#[test]
fn an_unusable_bundle_is_named_and_never_the_systems_trust_store() {
    let good = self_signed(params(&[], true)).pem();
    let hollow = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n";
    let public_key = "-----BEGIN PUBLIC KEY-----\n\
                      MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n\
                      -----END PUBLIC KEY-----\n";
    let damaged = good.replacen('M', "*", 1);
    let cut = &good[..good.len() / 2];
    for (text, expected) in [
        ("   \n\n".to_owned(), "Base64"),
        ("\n".to_owned(), "NoCertificate"),
        ("this is not PEM".to_owned(), "Base64"),
        (good.clone(), "Base64"),
        (STANDARD.encode("   \n\n"), "NoCertificate"),
        (STANDARD.encode("this is not PEM"), "NoCertificate"),
        (STANDARD.encode(STANDARD.encode(&good)), "NoCertificate"),
        (STANDARD.encode(public_key), "NoCertificate"),
        (STANDARD.encode(hollow), "Certificate { number: 1"),
        (STANDARD.encode(format!("{good}{hollow}")), "Certificate { number: 2"),
        (STANDARD.encode(damaged), "Pem"),
        (STANDARD.encode(cut), "Pem"),
    ] {
        let problem = store().verifier(Some(&text), SystemTime::now()).unwrap_err();
        let EndpointProblem::CaBundleInvalid(invalid) = problem else {
            panic!("{problem:?}");
        };
        assert!(format!("{invalid:?}").starts_with(expected), "{expected}: {invalid:?}");
    }
}

#[test]
fn what_is_beside_the_certificates_does_no_harm() {
    let ca = self_signed(params(&[], true));
    let key = KeyPair::generate().unwrap().serialize_pem();
    let wrapped = STANDARD.encode(format!("# our CA\n{key}\n{}", ca.pem()));
    let text = format!("{}\r\n{}\n", &wrapped[..64], &wrapped[64..]);
    let verifier = store().verifier(Some(&text), SystemTime::now()).unwrap();
    verify(&verifier, &issued(&params(&["a.example"], false), &ca), "a.example").unwrap();
}

#[test]
fn the_same_bundle_is_parsed_once_and_forgotten_with_its_last_user() {
    let store = store();
    let now = SystemTime::now();
    let text = bundle(&[self_signed(params(&[], true)).pem()]);
    let one = store.verifier(Some(&text), now).unwrap();
    let two = store.verifier(Some(&text), now).unwrap();
    assert!(Arc::ptr_eq(&one, &two));

    for _ in 0..100 {
        let text = bundle(&[self_signed(params(&[], true)).pem()]);
        store.verifier(Some(&text), now).unwrap();
    }
    assert!(store.bundles.lock().unwrap().len() < 20);
    assert!(Arc::ptr_eq(&one, &store.verifier(Some(&text), now).unwrap()));
}

#[test]
fn no_bundle_means_the_systems_trust_store_once_for_all() {
    let store = store();
    let now = SystemTime::now();
    let (absent, empty) = (
        store.verifier(None, now).unwrap(),
        store.verifier(Some(""), now).unwrap(),
    );
    assert!(Arc::ptr_eq(&absent, &empty));
}
