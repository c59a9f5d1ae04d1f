//! The sample webhook over folders, from HTTP to the file system.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::{Extension, Router};
use bucketinfo::{Buckets, PATH};
use ephemeral_webhook::{Export, VerifiedClient};
use http::StatusCode;
use object_store::aws::AmazonS3Builder;
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt as _;

/// Buckets `photos`, with five objects, and `empty`; beside them a secret.
fn buckets() -> TempDir {
    let directory = TempDir::new().unwrap();
    let root = directory.path();
    write(root, "secret.txt", "secret");
    fs::create_dir_all(root.join("buckets/empty/folder")).unwrap();
    write(root, "buckets/photos/a.jpg", "1");
    write(root, "buckets/photos/logs/2023.txt", "22");
    write(root, "buckets/photos/logs/2024.txt", "333");
    write(root, "buckets/photos/logs/2024/june 1.txt", "4444");
    write(root, "buckets/photos/logs2/x.txt", "55555");
    directory
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

async fn ask(directory: &TempDir, spec: Value) -> Value {
    ask_about(Buckets::Folders(directory.path().join("buckets")), spec).await
}

async fn ask_about(buckets: Buckets, spec: Value) -> Value {
    let review = json!({
        "apiVersion": "apis.kcp.io/v1alpha1", "kind": "EphemeralReview",
        "request": {
            "uid": "u1", "cluster": "consumer", "export": {"cluster": "provider", "name": "s3.example.com"},
            "resource": {"group": "s3.example.com", "version": "v1alpha1", "resource": "bucketinfos"},
            "kind": {"group": "s3.example.com", "version": "v1alpha1", "kind": "BucketInfo"},
            "namespace": "default", "userInfo": {"username": "alice"},
            "object": {"apiVersion": "s3.example.com/v1alpha1", "kind": "BucketInfo", "spec": spec},
        },
    });
    let webhook = bucketinfo::webhook(buckets, [Export::new("provider", "s3.example.com")].into());
    let app = webhook.route(PATH).layer(Extension(VerifiedClient::asserted()));
    let request = http::Request::post(PATH).header("content-type", "application/json");
    let response = app
        .oneshot(request.body(Body::from(review.to_string())).unwrap())
        .await
        .unwrap();
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let mut answer: Value = serde_json::from_slice(&body).unwrap();
    answer["response"].take()
}

async fn count(directory: &TempDir, prefix: &str) -> (i64, i64) {
    let answer = ask(directory, json!({"bucketName": "photos", "prefix": prefix})).await;
    let status = &answer["object"]["status"];
    (
        status["objectCount"].as_i64().unwrap(),
        status["sizeBytes"].as_i64().unwrap(),
    )
}

#[tokio::test]
async fn the_objects_of_a_bucket_are_counted() {
    let directory = buckets();
    let newest = SystemTime::UNIX_EPOCH + Duration::from_millis(4_000_000_000_500);
    let file = fs::File::options()
        .append(true)
        .open(directory.path().join("buckets/photos/a.jpg"))
        .unwrap();
    file.set_modified(newest).unwrap();
    let answer = ask(&directory, json!({"bucketName": "photos"})).await;
    assert_eq!(
        answer["object"],
        json!({
            "apiVersion": "s3.example.com/v1alpha1", "kind": "BucketInfo", "spec": {"bucketName": "photos"},
            "status": {"objectCount": 5, "sizeBytes": 15, "lastModified": "2096-10-02T07:06:40Z"},
        })
    );
}

#[tokio::test]
async fn a_bucket_without_objects_was_never_modified() {
    let answer = ask(&buckets(), json!({"bucketName": "empty"})).await;
    assert_eq!(answer["object"]["status"], json!({"objectCount": 0, "sizeBytes": 0}));
}

#[tokio::test]
async fn a_prefix_is_text_and_not_a_folder() {
    let directory = buckets();
    let cases = [
        ("", (5, 15)),
        ("a", (1, 1)),
        ("logs", (4, 14)),
        ("logs/", (3, 9)),
        ("logs/2", (3, 9)),
        ("logs/2024", (2, 7)),
        ("logs/2024.", (1, 3)),
        ("logs/2024/june 1.txt", (1, 4)),
        ("logs/2024/june 1.txt/", (0, 0)),
        ("Logs", (0, 0)),
    ];
    for (prefix, expected) in cases {
        assert_eq!(count(&directory, prefix).await, expected, "{prefix:?}");
    }
}

#[tokio::test]
async fn a_missing_bucket_is_not_found_as_kubernetes_words_it() {
    let directory = buckets();
    write(directory.path(), "buckets/file.txt", "no folder, no bucket");
    for name in ["missing", "file.txt"] {
        let answer = ask(&directory, json!({"bucketName": name})).await;
        assert_eq!(
            answer,
            json!({"uid": "u1", "allowed": false, "status": {
                "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound",
                "message": format!("buckets.s3.example.com {name:?} not found"),
                "details": {"name": name, "group": "s3.example.com", "kind": "buckets"},
            }})
        );
    }
}

#[tokio::test]
async fn a_name_that_is_no_name_is_invalid() {
    let directory = buckets();
    let absolute = directory.path().join("buckets/photos").display().to_string();
    let names = [
        "",
        "..",
        "../buckets",
        "photos/logs",
        "./photos",
        "%2e%2e",
        "..%2f",
        "PHOTOS",
        "ph\0tos",
        "photos ",
        "ab",
        &absolute,
    ];
    for name in names
        .into_iter()
        .chain(["-photos", "photos.", "a\u{301}bc", &"x".repeat(64)])
    {
        let answer = ask(&directory, json!({"bucketName": name})).await;
        assert_eq!(
            (&answer["allowed"], &answer["status"]["code"]),
            (&json!(false), &json!(422)),
            "{name:?}"
        );
    }
}

#[tokio::test]
async fn no_prefix_leads_out_of_the_bucket() {
    let directory = buckets();
    for prefix in [
        "../",
        "..",
        "../../secret.txt",
        "/",
        "/etc/",
        "logs/../../empty",
        "%2e%2e/",
        "./",
        "\0",
    ] {
        assert_eq!(count(&directory, prefix).await, (0, 0), "{prefix:?}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn symbolic_links_are_no_buckets_and_no_objects() {
    use std::os::unix::fs::symlink;

    let directory = buckets();
    let root = directory.path();
    symlink(root, root.join("buckets/outside")).unwrap();
    symlink(root.join("secret.txt"), root.join("buckets/photos/link.txt")).unwrap();
    symlink(root, root.join("buckets/photos/link")).unwrap();
    symlink(root.join("buckets/photos"), root.join("buckets/photos/logs/loop")).unwrap();
    symlink(root.join("nowhere"), root.join("buckets/photos/broken")).unwrap();

    let answer = ask(&directory, json!({"bucketName": "outside"})).await;
    assert_eq!(answer["status"]["code"], 404);
    assert_eq!(count(&directory, "").await, (5, 15));
    for prefix in ["link", "link/", "link/secret.txt", "logs/loop/a"] {
        assert_eq!(count(&directory, prefix).await, (0, 0), "{prefix:?}");
    }
}

/// A store that holds `photos` and fails for `broken`.
async fn s3() -> Buckets {
    let answer = |request: Request| async move {
        let query = request.uri().query().unwrap_or_default();
        match request.uri().path().trim_end_matches('/') {
            "/photos" if query.contains("prefix=logs%2F&") || query.ends_with("prefix=logs%2F") => {
                (StatusCode::OK, LISTING.to_owned())
            }
            "/broken" => (StatusCode::BAD_REQUEST, "<Error><Code>Secret</Code></Error>".to_owned()),
            _ => (
                StatusCode::NOT_FOUND,
                "<Error><Code>NoSuchBucket</Code></Error>".to_owned(),
            ),
        }
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let store = AmazonS3Builder::new()
        .with_endpoint(format!("http://{}", listener.local_addr().unwrap()))
        .with_allow_http(true)
        .with_region("nowhere")
        .with_access_key_id("id")
        .with_secret_access_key("secret");
    tokio::spawn(axum::serve(listener, Router::new().fallback(answer)).into_future());
    Buckets::S3(Arc::new(store))
}

const LISTING: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult><Name>photos</Name><Prefix>logs/</Prefix><KeyCount>3</KeyCount><IsTruncated>false</IsTruncated>
<Contents><Key>logs/1999.txt</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><Size>1</Size></Contents>
<Contents><Key>logs/2023.txt</Key><LastModified>2024-01-02T03:04:05.678Z</LastModified><Size>22</Size></Contents>
<Contents><Key>logs/2024.txt</Key><LastModified>2023-01-02T03:04:05.678Z</LastModified><Size>333</Size></Contents>
</ListBucketResult>"#;

#[tokio::test]
async fn an_s3_compatible_store_is_counted_alike() {
    let answer = ask_about(s3().await, json!({"bucketName": "photos", "prefix": "logs/2"})).await;
    let expected = json!({"objectCount": 2, "sizeBytes": 355, "lastModified": "2024-01-02T03:04:05Z"});
    assert_eq!(answer["object"]["status"], expected);
    let answer = ask_about(s3().await, json!({"bucketName": "missing"})).await;
    assert_eq!(
        answer["status"]["message"],
        r#"buckets.s3.example.com "missing" not found"#
    );
}

#[tokio::test]
async fn a_failing_store_keeps_its_reasons_to_itself() {
    let answer = ask_about(s3().await, json!({"bucketName": "broken"})).await;
    assert_eq!(answer["status"]["code"], 500);
    for secret in ["127.0.0.1", "Secret", "broken"] {
        assert!(!answer.to_string().contains(secret), "{answer}");
    }
}

#[test]
fn the_manifests_are_those_of_the_webhook() {
    for (file, text) in bucketinfo::MANIFESTS {
        assert!(text.contains("s3.example.com"), "{file}");
    }
    let (_, nomination) = bucketinfo::MANIFESTS[2];
    assert!(nomination.contains(PATH));
}
