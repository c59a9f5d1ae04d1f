//! The manifests directory: objects from files, re-read when they change.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use ephemeral_apiserver::health::Health;
use ephemeral_index::kinds::{Kind, Object};
use ephemeral_index::{Event, ObjectRef, Origin, Subject, manifests};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::errors::one_line;

/// How often the directory is looked at. Looking costs a `stat` for each file, works on every file system, and sees
/// the symlink swap of a mounted `ConfigMap`.
pub(crate) const POLL: Duration = Duration::from_millis(500);

/// Why a directory or one of its files cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// It cannot be listed or read.
    #[error("cannot read {}", .path.display())]
    Read {
        /// The directory or file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file is not YAML, or holds what is none of the known kinds.
    #[error("{}: {reason}", .path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Why; in its own words it tells what caused it too.
        reason: manifests::ManifestError,
    },
    /// An object is in two files; the one in the file that sorts first counts.
    #[error("{}: {kind} {cluster}/{name} is in {} too", .path.display(), .other.display())]
    Repeated {
        /// The file that is passed over.
        path: PathBuf,
        /// The file that counts.
        other: PathBuf,
        /// The kind of the object.
        kind: Kind,
        /// Its logical cluster.
        cluster: String,
        /// Its name.
        name: String,
    },
}

/// A directory of manifests and what was last read of it.
///
/// A file that becomes unreadable keeps its last good objects: a typo must not take resources away.
#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
    files: BTreeMap<PathBuf, File>,
    /// Why the directory itself could not be listed.
    problem: Option<Error>,
    nominated: Nominated,
}

/// The EphemeralWebhooks of a directory, as of now.
pub(crate) type Nominated = Arc<ArcSwap<BTreeSet<Subject>>>;

/// One file.
#[derive(Debug, Default)]
struct File {
    /// As of the last reading.
    stamp: Option<Stamp>,
    /// How many looks since then found something else, and what the last of them found.
    unsettled: Option<(u32, Option<Stamp>)>,
    objects: Vec<Object>,
    problem: Option<Error>,
}

/// What tells that a file changed. The times and the size of what the name leads to now, symlinks followed.
type Stamp = (Option<SystemTime>, u64, u64);

impl Directory {
    /// Reads a directory for the first time; here every problem is an error.
    pub(crate) fn open(path: PathBuf) -> Result<Self, Error> {
        let mut directory = Self {
            path,
            files: BTreeMap::new(),
            problem: None,
            nominated: Nominated::default(),
        };
        // One look to find the files, one to read them.
        directory.refresh();
        directory.refresh();
        directory.note_nominated();
        let problem = directory.problem.take();
        let mut problems = problem
            .into_iter()
            .chain(directory.files.values_mut().filter_map(|file| file.problem.take()));
        if let Some(problem) = problems.next() {
            return Err(problem);
        }
        drop(problems);
        match directory.repeated().pop() {
            Some(repeated) => Err(repeated),
            None => Ok(directory),
        }
    }

    /// What is nominated here.
    pub(crate) fn nominated(&self) -> Nominated {
        Arc::clone(&self.nominated)
    }

    /// Reads what changed and has settled, and tells whether anything did.
    pub(crate) fn refresh(&mut self) -> bool {
        let names = match list(&self.path) {
            Ok(names) => names,
            Err(source) => {
                let news = self.problem.is_none();
                self.problem = Some(Error::Read {
                    path: self.path.clone(),
                    source,
                });
                return news;
            }
        };
        let mut changed = self.problem.take().is_some();
        for path in &names {
            self.files.entry(path.clone()).or_default();
        }
        self.files.retain(|path, file| {
            let is_there = names.contains(path);
            let stamp = stamp(path);
            if !file.is_due(stamp.as_ref()) {
                return true;
            }
            changed |= !is_there || file.read(path);
            file.stamp = stamp;
            is_there
        });
        changed
    }

    /// Everything in the directory, as the events of a source that was read anew.
    pub(crate) fn events(&self) -> Vec<Event> {
        let mut seen = BTreeSet::new();
        let objects = self.files.values().flat_map(|file| &file.objects);
        let objects = objects
            .filter(|object| seen.insert(ObjectRef::from(*object)))
            .cloned()
            .collect();
        manifests::events(objects)
    }

    /// Re-reads the directory until `stop`, and tells `events` what it holds whenever that changed. What is wrong with
    /// it is listed at `readyz?verbose`.
    pub(crate) async fn follow(mut self, health: &Health, events: mpsc::Sender<Vec<Event>>, stop: CancellationToken) {
        let found = self.problems();
        for problem in &found {
            warn!(problem, "a manifest cannot be used");
        }
        let problems = Arc::new(ArcSwap::from_pointee(found));
        health.problems({
            let problems = Arc::clone(&problems);
            move || problems.load().to_vec()
        });
        let mut poll = tokio::time::interval(POLL);
        poll.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while stop.run_until_cancelled(poll.tick()).await.is_some() {
            // Files are read where that holds up no request.
            let refreshed = tokio::task::spawn_blocking(move || {
                let changed = self.refresh();
                (self, changed)
            });
            let changed;
            (self, changed) = match refreshed.await {
                Ok(refreshed) => refreshed,
                Err(error) => return warn!(%error, "the manifests are not followed any longer"),
            };
            if changed {
                self.note_nominated();
                let now = self.problems();
                let before = problems.load_full();
                for problem in now.iter().filter(|problem| !before.contains(problem)) {
                    warn!(problem, "a manifest cannot be used");
                }
                for problem in before.iter().filter(|problem| !now.contains(problem)) {
                    info!(problem, "this problem of a manifest is mended");
                }
                problems.store(Arc::new(now));
                if events.send(self.events()).await.is_err() {
                    return;
                }
            }
        }
    }

    /// What cannot be used at the moment, in words for the operator.
    pub(crate) fn problems(&self) -> Vec<String> {
        let own = self
            .problem
            .iter()
            .chain(self.files.values().filter_map(|file| file.problem.as_ref()));
        own.map(|error| one_line(error))
            .chain(self.repeated().iter().map(|error| one_line(error)))
            .chain(
                self.files
                    .iter()
                    .flat_map(|(path, file)| invalid_exports(path, &file.objects)),
            )
            .collect()
    }

    fn note_nominated(&self) {
        let objects = self.files.values().flat_map(|file| &file.objects);
        let webhooks = objects.filter_map(|object| match object {
            Object::Webhook(webhook) => Some(Subject {
                cluster: Arc::clone(&webhook.meta.cluster),
                origin: Origin::Webhook(Arc::clone(&webhook.meta.name)),
            }),
            _ => None,
        });
        self.nominated.store(Arc::new(webhooks.collect()));
    }

    fn repeated(&self) -> Vec<Error> {
        let mut first: BTreeMap<ObjectRef, &Path> = BTreeMap::new();
        let mut repeated = Vec::new();
        for (path, object) in self
            .files
            .iter()
            .flat_map(|(path, file)| file.objects.iter().map(move |o| (path, o)))
        {
            let key = ObjectRef::from(object);
            if let Some(other) = first.get(&key) {
                repeated.push(Error::Repeated {
                    path: path.clone(),
                    other: other.to_path_buf(),
                    kind: key.kind,
                    cluster: key.cluster.to_string(),
                    name: key.name.to_string(),
                });
            } else {
                first.insert(key, path);
            }
        }
        repeated
    }
}

impl File {
    /// Whether the file is to be read, or forgotten if it is gone: when two looks in a row found it the same, or at the
    /// third if it never rests. There are editors that empty or remove a file before they write it, and what they left in
    /// between is nobody's wish; so nothing is ever taken away that was missing at one look alone.
    fn is_due(&mut self, stamp: Option<&Stamp>) -> bool {
        if stamp.is_some() && stamp == self.stamp.as_ref() {
            self.unsettled = None;
            return false;
        }
        let (looks, last) = self
            .unsettled
            .take()
            .map_or((1, None), |(looks, last)| (looks.saturating_add(1), Some(last)));
        let is_settled = last.is_some_and(|last| last.as_ref() == stamp);
        let is_empty = stamp.is_none_or(|(_, size, _)| *size == 0);
        let is_due = is_settled || (looks > 2 && !is_empty);
        if !is_due {
            self.unsettled = Some((looks, stamp.copied()));
        }
        is_due
    }

    /// Reads the file and tells whether that is news.
    fn read(&mut self, path: &Path) -> bool {
        let read = fs::read_to_string(path)
            .map_err(|source| Error::Read {
                path: path.to_owned(),
                source,
            })
            .and_then(|text| {
                manifests::parse(&text).map_err(|reason| Error::Parse {
                    path: path.to_owned(),
                    reason,
                })
            });
        match read {
            Ok(objects) => {
                self.objects = objects;
                self.problem = None;
                true
            }
            Err(problem) => {
                let news = self.problem.as_ref().map(|error| one_line(error)) != Some(one_line(&problem));
                self.problem = Some(problem);
                news
            }
        }
    }
}

/// What nominates a resource of such an APIExport says so; but there may be nothing that does.
fn invalid_exports(path: &Path, objects: &[Object]) -> impl Iterator<Item = String> {
    objects.iter().filter_map(move |object| match object {
        Object::Export(export) => {
            let (invalid, meta) = (export.invalid?, &export.meta);
            Some(format!(
                "{}: APIExport {}/{}: {invalid}",
                path.display(),
                meta.cluster,
                meta.name
            ))
        }
        _ => None,
    })
}

/// The manifests in a directory: `*.yaml`, `*.yml` and `*.json`, hidden ones left out (`..data` of a `ConfigMap`).
fn list(directory: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let hidden = path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let is_manifest = path
            .extension()
            .is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|e| extension == *e));
        // A name that leads nowhere is read, for the error to be told; a pipe would never be read to its end.
        let is_file = fs::metadata(&path).map_or(true, |metadata| metadata.is_file());
        if is_manifest && !hidden && is_file {
            names.insert(path);
        }
    }
    Ok(names)
}

fn stamp(path: &Path) -> Option<Stamp> {
    use std::os::unix::fs::MetadataExt as _;
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok(), metadata.len(), metadata.ino()))
}
