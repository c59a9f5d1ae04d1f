use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use futures::TryStreamExt as _;
use jiff::Timestamp;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore as _, ObjectStoreExt as _};
use serde::Deserialize;
use tokio::fs;

/// The objects that are looked at for one answer; what has more is not counted.
const MAX_OBJECTS: i64 = 1_000_000;

/// Where the buckets are.
#[derive(Clone, Debug)]
pub enum Buckets {
    /// Each folder in this directory is a bucket, and each file below it an object. Symbolic links are no objects,
    /// neither to files nor to folders, and no buckets, so that everything counted lies in the directory.
    Folders(PathBuf),
    /// An S3-compatible store, as this builder reaches it.
    S3(Arc<AmazonS3Builder>),
}

/// The name of a bucket, by the rules of S3 that keep it a single name: 3 to 63 lower-case letters, digits, dots and
/// hyphens, a letter or digit first and last.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct BucketName(String);

/// A text that cannot be the name of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a bucket's name is 3 to 63 lower-case letters, digits, dots and hyphens, a letter or digit first and last")]
pub struct InvalidBucketName;

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// The number of objects.
    pub objects: i64,
    /// The sum of their sizes, in bytes.
    pub bytes: i64,
    /// When the last of them changed, to the second.
    pub last_modified: Option<Timestamp>,
}

/// Why nothing was counted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CountError {
    /// There is no such bucket.
    #[error("there is no such bucket")]
    NoBucket,
    /// There are more objects than are counted.
    #[error("more than {MAX_OBJECTS} objects to look at; ask for a longer prefix")]
    TooMany,
    /// There is a key that the store's client cannot read, and it ends its listing there.
    #[error("a key of this bucket has a segment that is empty or only dots; ask for a prefix that it does not have")]
    OddKey,
    /// The store failed.
    #[error("the object store failed")]
    Store(#[from] object_store::Error),
}

impl Buckets {
    /// The S3-compatible store that the environment describes, in the `AWS_` variables that `object_store` reads:
    /// `AWS_ENDPOINT`, `AWS_REGION`, `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_ALLOW_HTTP` and more.
    pub fn s3_from_env() -> Self {
        Self::S3(Arc::new(AmazonS3Builder::from_env()))
    }

    /// Counts the objects of a bucket whose key starts with `prefix`, as text: `logs/2` is a prefix of `logs/2024.txt`.
    pub async fn count(&self, bucket: &BucketName, prefix: &str) -> Result<Count, CountError> {
        match self {
            Self::Folders(directory) => count_folder(directory.join(&bucket.0), prefix).await,
            Self::S3(store) => count_s3((**store).clone().with_bucket_name(&bucket.0), prefix).await,
        }
    }
}

impl TryFrom<String> for BucketName {
    type Error = InvalidBucketName;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let bytes = name.as_bytes();
        let is_valid = (3..=63).contains(&bytes.len())
            && bytes
                .iter()
                .all(|&byte| alphanumeric(byte) || byte == b'.' || byte == b'-')
            && alphanumeric(bytes[0])
            && alphanumeric(bytes[bytes.len() - 1]);
        if is_valid {
            Ok(Self(name))
        } else {
            Err(InvalidBucketName)
        }
    }
}

impl AsRef<str> for BucketName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// Walks the folders itself: the store's own listing follows symbolic links, out of the bucket and in circles.
async fn count_folder(bucket: PathBuf, prefix: &str) -> Result<Count, CountError> {
    // Of a symbolic link this is not the folder that it points to.
    if !fs::symlink_metadata(&bucket)
        .await
        .is_ok_and(|metadata| metadata.is_dir())
    {
        return Err(CountError::NoBucket);
    }
    let store = LocalFileSystem::new_with_prefix(&bucket)?;
    let mut tally = Tally::new(prefix);
    let mut folders = vec![(bucket, String::new())];
    while let Some((folder, key)) = folders.pop() {
        let mut entries = fs::read_dir(folder).await.map_err(unreadable)?;
        while let Some(entry) = entries.next_entry().await.map_err(unreadable)? {
            let kind = entry.file_type().await.map_err(unreadable)?;
            // What the store cannot name is no object of it.
            let Some(key) = entry.file_name().to_str().map(|name| format!("{key}{name}")) else {
                continue;
            };
            if kind.is_dir() && tally.may_hold(&key) {
                folders.push((entry.path(), key + "/"));
            } else if kind.is_file()
                && let Ok(location) = Path::parse(&key)
                && tally.look_at(&location)?
            {
                match store.head(&location).await {
                    Ok(object) => tally.add(&object),
                    // It went away while we looked.
                    Err(object_store::Error::NotFound { .. }) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }
    Ok(tally.count)
}

async fn count_s3(store: AmazonS3Builder, prefix: &str) -> Result<Count, CountError> {
    let store = store.build()?;
    let mut tally = Tally::new(prefix);
    // The store lists by whole segments of a path; what that lets through beyond the prefix is sorted out here.
    let folder = prefix.rsplit_once('/').and_then(|(folder, _)| Path::parse(folder).ok());
    let mut objects = store.list(folder.as_ref());
    loop {
        match objects.try_next().await {
            Ok(Some(object)) if tally.look_at(&object.location)? => tally.add(&object),
            Ok(Some(_)) => {}
            Ok(None) => return Ok(tally.count),
            Err(object_store::Error::InvalidPath { .. }) => return Err(CountError::OddKey),
            Err(error) => return Err(why_unlisted(&store, error).await),
        }
    }
}

/// A failed listing does not say whether the bucket exists. A HEAD of the empty key does: on the wire it is a
/// `HeadBucket`.
async fn why_unlisted(store: &AmazonS3, error: object_store::Error) -> CountError {
    match store.head(&Path::default()).await {
        Err(object_store::Error::NotFound { .. }) => CountError::NoBucket,
        _ => error.into(),
    }
}

/// A count in the making.
struct Tally<'a> {
    prefix: &'a str,
    seen: i64,
    count: Count,
}

impl<'a> Tally<'a> {
    fn new(prefix: &'a str) -> Self {
        Self {
            prefix,
            seen: 0,
            count: Count::default(),
        }
    }

    /// Whether a folder may hold objects with the prefix.
    fn may_hold(&self, folder: &str) -> bool {
        let folder = format!("{folder}/");
        folder.starts_with(self.prefix) || self.prefix.starts_with(&folder)
    }

    /// Whether an object is to be counted; every object that is looked at costs, counted or not.
    fn look_at(&mut self, location: &Path) -> Result<bool, CountError> {
        self.seen += 1;
        if self.seen > MAX_OBJECTS {
            Err(CountError::TooMany)
        } else {
            Ok(location.as_ref().starts_with(self.prefix))
        }
    }

    fn add(&mut self, object: &ObjectMeta) {
        let size = i64::try_from(object.size).unwrap_or(i64::MAX);
        let modified = Timestamp::from_second(object.last_modified.timestamp()).ok();
        self.count.objects += 1;
        self.count.bytes = self.count.bytes.saturating_add(size);
        self.count.last_modified = self.count.last_modified.max(modified);
    }
}

fn unreadable(source: io::Error) -> CountError {
    object_store::Error::Generic {
        store: "folders",
        source: source.into(),
    }
    .into()
}
