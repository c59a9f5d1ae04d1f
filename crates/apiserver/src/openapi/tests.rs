use http::StatusCode;
use http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, EXPIRES, IF_NONE_MATCH, LOCATION, VARY,
};
use prost::Message as _;

use super::schema::{definition, model_name};
use super::*;
use crate::discovery::fixture::{body, export, parts, resource, value, version};

const SCHEMA: &str = r##"{
    "type": "object", "description": "Counts.", "required": ["spec"], "unknown": 1, "$ref": "#/x",
    "properties": {
        "spec": {"type": "object", "required": ["name", "maybe"], "properties": {
            "name": {"type": "string", "minLength": 3, "pattern": "^a", "description": "which <one>"},
            "maybe": {"type": "string", "nullable": true},
            "list": {"type": "array", "items": {"type": "integer", "format": "int64"}, "x-kubernetes-list-type": "set"},
            "any": {"x-kubernetes-preserve-unknown-fields": true, "type": "object", "properties": {"a": {"type": "string"}}},
            "port": {"x-kubernetes-int-or-string": true},
            "size": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
            "map": {"type": "object", "additionalProperties": {"type": "number", "maximum": 1.5}},
            "template": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "object"}}},
            "either": {"type": "string", "oneOf": [{"format": "date"}, {"pattern": "x"}], "default": "d", "enum": ["d", 1]},
            "odd": {"type": "none", "minLength": "3", "items": [{}]},
            "loose": {"type": "array"}
        }},
        "metadata": {"type": "object", "properties": {"name": {"type": "string"}}}
    },
    "x-kubernetes-validations": [{"rule": "true"}]
}"##;

fn catalog(schema: &str) -> Catalog {
    let mut cluster = resource("s3.example.com", "Region", vec![version("v1", "{}")]);
    cluster.scope = ephemeral_index::Scope::Cluster;
    let export = export(
        "e",
        vec![
            resource("s3.example.com", "BucketInfo", vec![version("v1", schema)]),
            cluster,
        ],
    );
    Catalog::new(export.resources.iter().map(|nomination| &**nomination))
}

/// What is published of the property of the spec.
fn property(name: &str, dialect: Dialect) -> Value {
    let catalog = catalog(SCHEMA);
    let group = &catalog.groups[0];
    let definition = definition(group, &group.versions[0].resources[0], dialect);
    let spec = definition
        .get("properties")
        .and_then(|properties| properties.get("spec")?.get("properties"));
    spec.and_then(|properties| properties.get(name)).unwrap().clone()
}

fn text(value: &Value) -> String {
    let mut json = Vec::new();
    json::encode(value, &mut json);
    String::from_utf8(json).unwrap()
}

#[test]
fn a_definition_has_what_every_object_has() {
    let catalog = catalog(SCHEMA);
    let group = &catalog.groups[0];
    let resource = &group.versions[0].resources[0];
    let v2 = definition(group, resource, Dialect::V2);
    for (key, expected) in [
        ("description", "\"Counts.\""),
        ("type", "\"object\""),
        ("required", "[\"spec\"]"),
        ("x-kubernetes-validations", "[{\"rule\":\"true\"}]"),
        (
            "x-kubernetes-group-version-kind",
            "[{\"group\":\"s3.example.com\",\"kind\":\"BucketInfo\",\"version\":\"v1\"}]",
        ),
    ] {
        assert_eq!(text(v2.get(key).unwrap()), expected);
    }
    assert!(v2.get("$ref").is_none() && v2.get("unknown").is_none());
    let properties = v2.get("properties").unwrap();
    let keys: Vec<_> = properties.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["apiVersion", "kind", "metadata", "spec"]);
    assert_eq!(
        properties.get("metadata").unwrap().get("$ref").unwrap().as_str(),
        Some("#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")
    );
    let v3 = definition(group, resource, Dialect::V3);
    assert_eq!(
        text(
            v3.get("properties")
                .unwrap()
                .get("metadata")
                .unwrap()
                .get("allOf")
                .unwrap()
        ),
        "[{\"$ref\":\"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta\"}]"
    );
    assert_eq!(
        model_name("s3.example.com", "v1", "BucketInfo"),
        "com.example.s3.v1.BucketInfo"
    );
}

/// As `openapi-gen` writes fields that are never left out.
#[test]
fn what_kubernetes_own_types_require_is_empty_by_default() {
    for dialect in [Dialect::V2, Dialect::V3] {
        let definitions = meta::definitions(dialect);
        let owner = definitions
            .get("io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference")
            .expect("a definition");
        let required = owner.get("required").and_then(Value::as_array).expect("a list");
        for field in required.iter() {
            let name = field.as_str().expect("a name");
            let property = owner.get("properties").and_then(|properties| properties.get(name));
            let default = property.and_then(|property| property.get("default"));
            assert_eq!(default.and_then(Value::as_str), Some(""), "{dialect:?} {name}");
        }
    }
}

#[test]
fn properties_are_told_as_each_dialect_can() {
    for (name, v2, v3) in [
        (
            "name",
            r#"{"description":"which \u003cone\u003e","minLength":3,"pattern":"^a","type":"string"}"#,
            r#"{"description":"which \u003cone\u003e","minLength":3,"pattern":"^a","type":"string"}"#,
        ),
        ("maybe", "{}", r#"{"nullable":true,"type":"string"}"#),
        (
            "list",
            r#"{"items":{"format":"int64","type":"integer"},"type":"array","x-kubernetes-list-type":"set"}"#,
            r#"{"items":{"format":"int64","type":"integer"},"type":"array","x-kubernetes-list-type":"set"}"#,
        ),
        (
            "any",
            r#"{"x-kubernetes-preserve-unknown-fields":true}"#,
            r#"{"properties":{"a":{"type":"string"}},"type":"object","x-kubernetes-preserve-unknown-fields":true}"#,
        ),
        (
            "port",
            r#"{"x-kubernetes-int-or-string":true}"#,
            r#"{"anyOf":[{"type":"integer"},{"type":"string"}],"x-kubernetes-int-or-string":true}"#,
        ),
        (
            "size",
            r#"{"x-kubernetes-int-or-string":true}"#,
            r#"{"anyOf":[{"type":"integer"},{"type":"string"}],"x-kubernetes-int-or-string":true}"#,
        ),
        (
            "map",
            r#"{"additionalProperties":{"maximum":1.5,"type":"number"},"type":"object"}"#,
            r#"{"additionalProperties":{"maximum":1.5,"type":"number"},"type":"object"}"#,
        ),
        (
            "either",
            r#"{"default":"d","enum":["d",1],"type":"string"}"#,
            r#"{"default":"d","enum":["d",1],"oneOf":[{"format":"date"},{"pattern":"x"}],"type":"string"}"#,
        ),
        ("odd", "{}", "{}"),
        ("loose", "{}", r#"{"type":"array"}"#),
    ] {
        assert_eq!(text(&property(name, Dialect::V2)), v2, "{name}");
        assert_eq!(text(&property(name, Dialect::V3)), v3, "{name}");
    }
    let template = property("template", Dialect::V2);
    assert_eq!(text(template.get("required").unwrap()), "[\"kind\",\"apiVersion\"]");
    assert!(template.get("properties").unwrap().get("metadata").is_some());
}

#[test]
fn what_the_server_or_the_webhook_fills_in_is_not_asked_of_kubectl() {
    let catalog = catalog(
        r#"{"type":"object","required":["spec","status"],"properties":{
            "spec":{"type":"object","required":["a","b"],"properties":{"a":{"type":"string","default":"x"},"b":{"type":"string"}}},
            "status":{"type":"object","required":["s"],"properties":{"s":{"type":"string"}}}}}"#,
    );
    let group = &catalog.groups[0];
    for (dialect, root, spec) in [
        (Dialect::V2, r#"["spec"]"#, r#"["b"]"#),
        (Dialect::V3, r#"["spec","status"]"#, r#"["a","b"]"#),
    ] {
        let definition = definition(group, &group.versions[0].resources[0], dialect);
        let nested = definition.get("properties").and_then(|all| all.get("spec")).unwrap();
        assert_eq!(text(definition.get("required").unwrap()), root);
        assert_eq!(text(nested.get("required").unwrap()), spec);
    }
}

#[test]
fn a_schema_that_takes_anything_has_no_properties_in_v2() {
    let catalog = catalog(r#"{"type":"object","x-kubernetes-preserve-unknown-fields":true}"#);
    let group = &catalog.groups[0];
    let v2 = definition(group, &group.versions[0].resources[0], Dialect::V2);
    let keys: Vec<_> = v2.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["type", "x-kubernetes-group-version-kind"]);
}

#[test]
fn a_deep_schema_ends_in_anything() {
    let mut schema = value(r#"{"type":"string"}"#);
    for _ in 0..4_000 {
        let properties: Map = [("a", schema)].into_iter().collect();
        let level: Map = [("type", Value::from("object")), ("properties", properties.into())]
            .into_iter()
            .collect();
        schema = level.into();
    }
    let catalog = catalog(&text(&schema));
    let (v2, v3) = (V2::new(&catalog), V3::new(&catalog));
    assert!(v2.json.body.len() < 20_000 && v2.protobuf.len() < 20_000);
    assert!(v3.documents[0][0].body.len() < 20_000);
}

#[test]
fn only_the_creation_is_a_path() {
    let catalog = catalog("{}");
    for dialect in [Dialect::V2, Dialect::V3] {
        let paths: Map = paths::paths(&catalog.groups[0], &catalog.groups[0].versions[0], dialect).collect();
        let names: Vec<_> = paths.keys().collect();
        assert_eq!(
            names,
            [
                "/apis/s3.example.com/v1/namespaces/{namespace}/bucketinfos",
                "/apis/s3.example.com/v1/regions"
            ]
        );
        for (_, item) in paths.iter() {
            let keys: Vec<_> = item.as_object().unwrap().keys().collect();
            assert_eq!(keys, ["parameters", "post"]);
        }
        let operation = paths.get(names[0]).unwrap().get("post").unwrap();
        assert_eq!(
            operation.get("operationId").unwrap().as_str(),
            Some("createS3ExampleComV1NamespacedBucketInfo")
        );
    }
}

/// Reads what was written, as a client with gnostic's messages does.
#[test]
fn the_protobuf_form_says_the_same() {
    let v2 = V2::new(&catalog(SCHEMA));
    let decoded = protobuf::Document::decode(&*v2.protobuf).unwrap();
    let json = json::decode(&v2.json.body).unwrap().value;
    assert_eq!(decoded, protobuf::Document::from(&json));
    assert_eq!(decoded.swagger, "2.0");
}

#[test]
fn v2_is_answered_in_what_is_asked_for() {
    let openapi = OpenApi::default();
    let catalog = catalog(SCHEMA);
    let ask = |accept| {
        let parts = parts("/openapi/v2", &[(ACCEPT, accept)]);
        openapi.v2(&catalog, &Responder::new(&parts), &parts)
    };
    let old = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    for (accept, content_type) in [
        ("", JSON),
        ("*/*", JSON),
        ("application/json", JSON),
        (old, V2_PROTOBUF),
        (V2_PROTOBUF, V2_PROTOBUF),
        (
            "application/com.github.proto-openapi.spec.v2@v1.0+protobuf;q=0.9,application/json;q=0.5",
            V2_PROTOBUF,
        ),
    ] {
        let response = ask(accept).unwrap();
        assert_eq!(response.headers()[CONTENT_TYPE], content_type, "{accept}");
        let vary: Vec<_> = response.headers().get_all(VARY).iter().collect();
        assert_eq!(vary, ["Accept-Encoding", "Accept"]);
        assert_eq!(response.headers()[ETAG].len(), 130);
    }
    assert!(matches!(
        ask("text/html"),
        Err(Fault::Client(ClientFault::NotAcceptable(V2_ACCEPTED)))
    ));
}

#[test]
fn a_document_of_v3_never_changes_under_its_hash() {
    let openapi = OpenApi::default();
    let catalog = catalog(SCHEMA);
    let index = openapi.index(&catalog, &Responder::new(&parts("/openapi/v3", &[])));
    let index = json::decode(&body(index)).unwrap().value;
    let url = index
        .get("paths")
        .unwrap()
        .get("apis/s3.example.com/v1")
        .unwrap()
        .get("serverRelativeURL")
        .unwrap();
    let url = url.as_str().unwrap();
    assert!(url.starts_with("/openapi/v3/apis/s3.example.com/v1?hash="), "{url}");

    let ask = |url: &str, headers: &[_]| {
        let parts = parts(url, headers);
        openapi.version(&catalog, ("s3.example.com", "v1"), &Responder::new(&parts), &parts)
    };
    let right = ask(url, &[(http::header::ACCEPT_ENCODING, "gzip")]).unwrap();
    assert_eq!(right.status(), StatusCode::OK);
    assert_eq!(right.headers()[CACHE_CONTROL], "public, immutable");
    assert_eq!(right.headers()[CONTENT_ENCODING], "gzip");
    assert!(right.headers()[EXPIRES].to_str().unwrap().ends_with(" GMT"));

    let wrong = ask("/openapi/v3/apis/s3.example.com/v1?hash=AB", &[]).unwrap();
    assert_eq!(wrong.status(), StatusCode::MOVED_PERMANENTLY);
    assert_eq!(wrong.headers()[LOCATION], url[url.find('?').unwrap()..]);
    assert_eq!(wrong.headers()[CONTENT_TYPE], "application/json");
    assert_eq!(wrong.headers()[ETAG].len(), 130);

    let plain = ask("/openapi/v3/apis/s3.example.com/v1", &[]).unwrap();
    assert_eq!(plain.headers()[CACHE_CONTROL], "no-cache, private");
    let document = json::decode(&body(plain)).unwrap().value;
    assert_eq!(document.get("openapi").unwrap().as_str(), Some("3.0.0"));

    let protobuf = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";
    assert!(matches!(
        ask(url, &[(ACCEPT, protobuf)]),
        Err(Fault::Client(ClientFault::NotAcceptable(JSON)))
    ));
    let known = ask(url, &[(IF_NONE_MATCH, "*")]).unwrap();
    assert_eq!(known.status(), StatusCode::NOT_MODIFIED);
}

/// No reference leads nowhere: kubectl refuses a whole document for one that does.
#[test]
fn every_reference_is_defined() {
    let catalog = catalog(SCHEMA);
    let (v2, v3) = (V2::new(&catalog), V3::new(&catalog));
    for (document, prefix, at) in [
        (&v2.json.body, "#/definitions/", vec!["definitions"]),
        (
            &v3.documents[0][0].body,
            "#/components/schemas/",
            vec!["components", "schemas"],
        ),
    ] {
        let text = std::str::from_utf8(document).unwrap();
        let document = json::decode(document).unwrap().value;
        let definitions = at.iter().fold(&document, |value, key| value.get(key).unwrap());
        let mut found = 0;
        for reference in text.split("\"$ref\":\"").skip(1) {
            let name = reference.split('"').next().unwrap().strip_prefix(prefix).unwrap();
            assert!(definitions.get(name).is_some(), "{name}");
            found += 1;
        }
        assert!(found > 5);
    }
}
