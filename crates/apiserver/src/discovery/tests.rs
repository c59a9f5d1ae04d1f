use std::sync::Arc;

use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use http::request::Parts;

use super::fixture::{body, export, parts, resource, version};
use super::*;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                          application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

fn sample() -> Arc<Export<Handle>> {
    let mut buckets = resource(
        "s3.example.com",
        "BucketInfo",
        vec![version("v1alpha1", "{}"), version("v1", "{}")],
    );
    buckets.names.short_names = ["bi".into()].into();
    buckets.names.categories = ["all".into(), "storage".into()].into();
    let mut regions = resource("s3.example.com", "Region", vec![version("v1", "{}")]);
    regions.scope = ephemeral_index::Scope::Cluster;
    export("s3.example.com", vec![buckets, regions])
}

fn published() -> Arc<Published> {
    Documents::new(Some("127.0.0.1:8443")).of_export(&sample())
}

fn asking(accept: &'static str) -> Parts {
    parts("/", &[(ACCEPT, accept)])
}

fn json(published: &Published, asked: &Discovery<'_>) -> String {
    let response = published.answer(asked, &asking("application/json")).unwrap();
    String::from_utf8(body(response).to_vec()).unwrap()
}

#[test]
fn the_lists_are_those_of_kubernetes_with_create_only() {
    let published = published();
    assert_eq!(
        json(&published, &Discovery::Legacy),
        "{\"kind\":\"APIVersions\",\"versions\":[],\"serverAddressByClientCIDRs\":[{\"clientCIDR\":\"0.0.0.0/0\",\
         \"serverAddress\":\"127.0.0.1:8443\"}]}\n"
    );
    assert_eq!(
        json(&published, &Discovery::Groups),
        "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[{\"name\":\"s3.example.com\",\"versions\":[{\
         \"groupVersion\":\"s3.example.com/v1\",\"version\":\"v1\"},{\"groupVersion\":\"s3.example.com/v1alpha1\",\
         \"version\":\"v1alpha1\"}],\"preferredVersion\":{\"groupVersion\":\"s3.example.com/v1\",\"version\":\"v1\"},\
         \"serverAddressByClientCIDRs\":[{\"clientCIDR\":\"0.0.0.0/0\",\"serverAddress\":\"127.0.0.1:8443\"}]}]}\n"
    );
    assert_eq!(
        json(&published, &Discovery::Group("s3.example.com".into())),
        "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",\"name\":\"s3.example.com\",\"versions\":[{\"groupVersion\":\
         \"s3.example.com/v1\",\"version\":\"v1\"},{\"groupVersion\":\"s3.example.com/v1alpha1\",\"version\":\
         \"v1alpha1\"}],\"preferredVersion\":{\"groupVersion\":\"s3.example.com/v1\",\"version\":\"v1\"}}\n"
    );
    assert_eq!(
        json(&published, &Discovery::Version("s3.example.com".into(), "v1".into())),
        "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":\"s3.example.com/v1\",\"resources\":[{\
         \"name\":\"bucketinfos\",\"singularName\":\"bucketinfo\",\"namespaced\":true,\"kind\":\"BucketInfo\",\
         \"verbs\":[\"create\"],\"shortNames\":[\"bi\"],\"categories\":[\"all\",\"storage\"]},{\"name\":\"regions\",\
         \"singularName\":\"region\",\"namespaced\":false,\"kind\":\"Region\",\"verbs\":[\"create\"]}]}\n"
    );
}

#[test]
fn yaml_is_answered_and_what_is_unknown_is_not_found() {
    let published = published();
    let version = Discovery::Version("s3.example.com".into(), "v1".into());
    let yaml = published.answer(&version, &asking("application/yaml")).unwrap();
    assert_eq!(yaml.headers()[CONTENT_TYPE], "application/yaml");
    assert!(body(yaml).starts_with(b"apiVersion: v1\ngroupVersion: s3.example.com/v1\nkind: APIResourceList\n"));
    for unknown in [
        Discovery::Group("nosuch.example.com".into()),
        Discovery::Version("nosuch.example.com".into(), "v1".into()),
        Discovery::Version("s3.example.com".into(), "v9".into()),
        Discovery::OpenApiV3Version("s3.example.com".into(), "v9".into()),
    ] {
        let fault = published.answer(&unknown, &asking("*/*")).unwrap_err();
        assert!(matches!(fault, Fault::Client(ClientFault::NotFound)), "{unknown:?}");
    }
}

#[test]
fn what_cannot_be_represented_is_told_apart_from_what_cannot_be_transformed() {
    let published = published();
    let message = |asked: &Discovery<'_>, accept| published.answer(asked, &asking(accept)).unwrap_err().to_string();
    let version = Discovery::Version("s3.example.com".into(), "v1".into());
    assert!(message(&version, "text/html").starts_with("406: Not Acceptable\n\nAvailable representations: "));
    let aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    assert!(message(&version, aggregated).starts_with("only the following media types are accepted: "));
    assert!(message(&Discovery::Groups, "application/json;as=Table;v=v1;g=meta.k8s.io").starts_with("only the"));
}

#[test]
fn aggregated_discovery_has_everything_in_one_document() {
    let published = published();
    let response = published.answer(&Discovery::Groups, &asking(AGGREGATED)).unwrap();
    assert_eq!(
        response.headers()[CONTENT_TYPE],
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    );
    assert_eq!(response.headers()[VARY], "Accept");
    assert_eq!(response.headers()[CACHE_CONTROL], "public");
    let etag = response.headers()[ETAG].clone();
    assert_eq!(etag.len(), 128 + 2);
    assert_eq!(
        String::from_utf8(body(response).to_vec()).unwrap(),
        "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"metadata\":{},\"items\":[{\
         \"metadata\":{\"name\":\"s3.example.com\"},\"versions\":[{\"version\":\"v1\",\"resources\":[{\"resource\":\
         \"bucketinfos\",\"responseKind\":{\"group\":\"s3.example.com\",\"version\":\"v1\",\"kind\":\"BucketInfo\"},\
         \"scope\":\"Namespaced\",\"singularResource\":\"bucketinfo\",\"verbs\":[\"create\"],\"shortNames\":[\"bi\"],\
         \"categories\":[\"all\",\"storage\"]},{\"resource\":\"regions\",\"responseKind\":{\"group\":\
         \"s3.example.com\",\"version\":\"v1\",\"kind\":\"Region\"},\"scope\":\"Cluster\",\"singularResource\":\
         \"region\",\"verbs\":[\"create\"]}],\"freshness\":\"Current\"},{\"version\":\"v1alpha1\",\"resources\":[{\
         \"resource\":\"bucketinfos\",\"responseKind\":{\"group\":\"s3.example.com\",\"version\":\"v1alpha1\",\"kind\":\
         \"BucketInfo\"},\"scope\":\"Namespaced\",\"singularResource\":\"bucketinfo\",\"verbs\":[\"create\"],\
         \"shortNames\":[\"bi\"],\"categories\":[\"all\",\"storage\"]}],\"freshness\":\"Current\"}]}]}\n"
    );

    let mut again = asking(AGGREGATED);
    again.headers.insert(IF_NONE_MATCH, etag);
    let unchanged = published.answer(&Discovery::Groups, &again).unwrap();
    assert_eq!(unchanged.status(), StatusCode::NOT_MODIFIED);
    assert!(body(unchanged).is_empty());

    let legacy = published.answer(&Discovery::Legacy, &asking(AGGREGATED)).unwrap();
    assert!(
        String::from_utf8(body(legacy).to_vec())
            .unwrap()
            .contains("\"items\":[]")
    );
    let beta = asking("application/yaml;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList");
    let beta = published.answer(&Discovery::Groups, &beta).unwrap();
    assert_eq!(
        beta.headers()[CONTENT_TYPE],
        "application/yaml;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
    );
    assert!(body(beta).starts_with(b"apiVersion: apidiscovery.k8s.io/v2beta1\n"));
}

#[test]
fn documents_are_made_once_for_an_export_and_anew_for_another() {
    let documents = Documents::default();
    let (one, same_name) = (sample(), sample());
    let first = documents.of_export(&one);
    assert!(Arc::ptr_eq(&first, &documents.of_export(&one)));
    assert!(!Arc::ptr_eq(&first, &documents.of_export(&same_name)));

    let snapshot = Arc::new(Snapshot::default());
    let union = documents.of_all(&snapshot);
    assert!(Arc::ptr_eq(&union, &documents.of_all(&snapshot)));
    assert!(!Arc::ptr_eq(&union, &documents.of_all(&Arc::new(Snapshot::default()))));
}

#[test]
fn a_workspace_has_the_legacy_group_that_an_export_leaves_to_the_shard() {
    let documents = Documents::default();
    let union = documents.of_all(&Arc::new(Snapshot::default()));
    assert_eq!(
        json(&union, &Discovery::Legacy),
        "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],\"serverAddressByClientCIDRs\":[]}\n"
    );
    assert_eq!(
        json(&union, &Discovery::LegacyVersion("v1".into())),
        "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":\"v1\",\"resources\":[]}\n"
    );
    let aggregated = union.answer(&Discovery::Legacy, &asking(AGGREGATED)).unwrap();
    assert!(
        String::from_utf8(body(aggregated).to_vec())
            .unwrap()
            .contains("\"items\":[{\"metadata\":{},\"versions\":[{\"version\":\"v1\",\"resources\":[],")
    );
    for (published, version) in [(&union, "v2"), (&documents.of_export(&sample()), "v1")] {
        let asked = Discovery::LegacyVersion(version.into());
        let fault = published.answer(&asked, &asking("*/*")).unwrap_err();
        assert!(matches!(fault, Fault::Client(ClientFault::NotFound)), "{version}");
    }
}

#[test]
fn without_an_address_none_is_told() {
    let published = Documents::default().of_export(&sample());
    assert!(!json(&published, &Discovery::Groups).contains("serverAddress"));
}
