//! `/livez`, `/readyz`, `/healthz` and `/version`, which need no certificate.
//!
//! The texts are those of `k8s.io/apiserver/pkg/server/healthz`, which people and probes know how to read. Everybody may
//! read them, so why a check fails is withheld, as there. Problems are another thing: what is wrong with files that the
//! operator owns and leaves the server working is listed at `readyz?verbose`, without the folders that the files are in:
//! how a host is laid out is for the log to tell.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use http::{Response, StatusCode};
use http_body_util::Full;
use percent_encoding::percent_decode_str;
use tokio_util::sync::CancellationToken;

use crate::request_info::HealthEndpoint;

/// Most problems that are listed; a directory of broken manifests must not make an endless answer.
const MAX_PROBLEMS: usize = 100;

/// Most characters of one problem.
const MAX_PROBLEM_CHARS: usize = 512;

/// What there is to know about whether the server works.
pub struct Health {
    tasks: Arc<Mutex<Vec<TaskState>>>,
    problems: Mutex<Vec<Problems>>,
    shutdown: CancellationToken,
}

struct TaskState {
    name: &'static str,
    pending: usize,
}

type Problems = Box<dyn Fn() -> Vec<String> + Send + Sync>;

/// Something that must be done before the server is ready; dropping it means that it is.
#[must_use = "dropping the guard means that the task is done"]
pub struct Task {
    name: &'static str,
    tasks: Arc<Mutex<Vec<TaskState>>>,
}

impl Drop for Task {
    fn drop(&mut self) {
        let mut tasks = lock(&self.tasks);
        if let Some(task) = tasks.iter_mut().find(|task| task.name == self.name) {
            task.pending -= 1;
        }
    }
}

impl Health {
    /// Ready, as long as no task is registered and `shutdown` has not begun.
    pub fn new(shutdown: CancellationToken) -> Self {
        Self {
            tasks: Arc::default(),
            problems: Mutex::default(),
            shutdown,
        }
    }

    /// Registers something that must be done first, under the name of its check.
    pub fn task(&self, name: &'static str) -> Task {
        let mut tasks = lock(&self.tasks);
        match tasks.iter_mut().find(|task| task.name == name) {
            Some(task) => task.pending += 1,
            None => tasks.push(TaskState { name, pending: 1 }),
        }
        Task {
            name,
            tasks: Arc::clone(&self.tasks),
        }
    }

    /// Adds a source of problems for `readyz?verbose`: one line each, for the operator. It is asked each time.
    pub fn problems(&self, source: impl Fn() -> Vec<String> + Send + Sync + 'static) {
        lock(&self.problems).push(Box::new(source));
    }

    /// Whether `readyz` would say ok.
    pub fn is_ready(&self) -> bool {
        self.checks(HealthEndpoint::Readyz).iter().all(|check| check.passes)
    }

    /// Answers a live check, or nothing for a check that there is not.
    pub fn respond(
        &self,
        endpoint: HealthEndpoint,
        check: Option<&str>,
        query: Option<&str>,
    ) -> Option<Response<Full<Bytes>>> {
        let checks = self.checks(endpoint);
        match check {
            None => Some(self.respond_all(endpoint, &checks, query.unwrap_or_default())),
            Some(name) => checks.iter().find(|check| check.name == name).map(Check::respond),
        }
    }

    fn checks(&self, endpoint: HealthEndpoint) -> Vec<Check> {
        let mut checks = vec![Check {
            name: "ping",
            passes: true,
        }];
        if endpoint != HealthEndpoint::Livez {
            let tasks = lock(&self.tasks);
            checks.extend(tasks.iter().map(|task| Check {
                name: task.name,
                passes: task.pending == 0,
            }));
        }
        if endpoint == HealthEndpoint::Readyz {
            checks.push(Check {
                name: "shutdown",
                passes: !self.shutdown.is_cancelled(),
            });
        }
        checks
    }

    /// As `handleRootHealth`: always verbose on failure.
    fn respond_all(&self, endpoint: HealthEndpoint, checks: &[Check], query: &str) -> Response<Full<Bytes>> {
        let name = match endpoint {
            HealthEndpoint::Livez => "livez",
            HealthEndpoint::Readyz => "readyz",
            HealthEndpoint::Healthz => "healthz",
        };
        let excluded: Vec<_> = parameter_values(query, "exclude").collect();
        let is_excluded = |check: &Check| excluded.iter().any(|name| name == check.name);
        let mut text = String::new();
        for check in checks {
            _ = if is_excluded(check) {
                writeln!(text, "[+]{} excluded: ok", check.name)
            } else if check.passes {
                writeln!(text, "[+]{} ok", check.name)
            } else {
                writeln!(text, "[-]{} failed: reason withheld", check.name)
            };
        }
        let unknown: Vec<_> = excluded
            .iter()
            .filter(|name| checks.iter().all(|check| check.name != **name))
            .map(|name| format!("{name:?}"))
            .collect();
        if !unknown.is_empty() {
            let unknown = unknown.join(",");
            _ = writeln!(
                text,
                "warn: some health checks cannot be excluded: no matches for {unknown}"
            );
        }
        if endpoint == HealthEndpoint::Readyz {
            self.write_problems(&mut text);
        }
        if checks.iter().any(|check| !check.passes && !is_excluded(check)) {
            _ = writeln!(text, "{name} check failed");
            return plain(StatusCode::INTERNAL_SERVER_ERROR, text);
        }
        if parameter_values(query, "verbose").next().is_none() {
            return plain(StatusCode::OK, "ok");
        }
        _ = writeln!(text, "{name} check passed");
        plain(StatusCode::OK, text)
    }

    fn write_problems(&self, text: &mut String) {
        let problems: Vec<_> = lock(&self.problems).iter().flat_map(|source| source()).collect();
        for problem in problems.iter().take(MAX_PROBLEMS) {
            let printable = |character: char| if character.is_control() { ' ' } else { character };
            let line: String = problem.chars().map(printable).collect();
            text.push_str("warn: ");
            text.extend(without_folders(&line).chars().take(MAX_PROBLEM_CHARS));
            text.push('\n');
        }
        if let Some(more) = problems.len().checked_sub(MAX_PROBLEMS).filter(|&more| more > 0) {
            _ = writeln!(text, "warn: and {more} more problems, see the log");
        }
    }
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Health")
            .field("ready", &self.is_ready())
            .finish_non_exhaustive()
    }
}

struct Check {
    name: &'static str,
    passes: bool,
}

impl Check {
    /// One check alone, as `adaptCheckToHandler`.
    fn respond(&self) -> Response<Full<Bytes>> {
        if self.passes {
            plain(StatusCode::OK, "ok")
        } else {
            plain(
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal server error: reason withheld\n",
            )
        }
    }
}

/// `/version`, of the server and of every workspace: what a client needs to know which API conventions hold.
///
/// `kubectl` parses gitVersion as a semantic version; the build metadata says who is really answering, as kcp's does.
pub fn version() -> Response<Full<Bytes>> {
    const VERSION: &str = concat!(
        r#"{"major":"1","minor":"37","gitVersion":"v1.37.0+kcp-ephemeral-v"#,
        env!("CARGO_PKG_VERSION"),
        r#"","gitCommit":"","gitTreeState":"","buildDate":"","goVersion":"","compiler":"rustc","platform":""}"#
    );
    let mut response = Response::new(Full::from(VERSION));
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Shortens absolute paths to the last part of them. URLs stay: a shard is named by one.
fn without_folders(line: &str) -> String {
    let shorten = |word: &str| {
        let quotes = word.len() - word.trim_start_matches(['"', '\'', '(', '[']).len();
        let (quotes, path) = word.split_at(quotes);
        let name = path.strip_prefix('/').and_then(|path| path.rsplit('/').next());
        format!("{quotes}{}", name.unwrap_or(path))
    };
    line.split(' ').map(shorten).collect::<Vec<_>>().join(" ")
}

fn plain(status: StatusCode, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

fn parameter_values<'a>(query: &'a str, name: &'a str) -> impl Iterator<Item = Cow<'a, str>> {
    query.split('&').filter_map(move |parameter| {
        let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        (key == name).then(|| percent_decode_str(value).decode_utf8_lossy())
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use http_body_util::BodyExt;

    use super::*;

    fn whole(body: Full<Bytes>) -> Bytes {
        body.collect().now_or_never().expect("it is whole").unwrap().to_bytes()
    }

    fn health() -> (Health, CancellationToken) {
        let shutdown = CancellationToken::new();
        (Health::new(shutdown.clone()), shutdown)
    }

    fn text(health: &Health, endpoint: HealthEndpoint, check: Option<&str>, query: &str) -> (u16, String) {
        let response = health
            .respond(endpoint, check, Some(query))
            .expect("a check of this name");
        let code = response.status().as_u16();
        let body = whole(response.into_body());
        (code, String::from_utf8(body.to_vec()).unwrap())
    }

    #[test]
    fn without_tasks_everything_is_ok() {
        let (health, _) = health();
        for endpoint in [HealthEndpoint::Livez, HealthEndpoint::Readyz, HealthEndpoint::Healthz] {
            assert_eq!(text(&health, endpoint, None, ""), (200, "ok".to_owned()));
        }
        let verbose = "[+]ping ok\n[+]shutdown ok\nreadyz check passed\n";
        assert_eq!(
            text(&health, HealthEndpoint::Readyz, None, "verbose"),
            (200, verbose.to_owned())
        );
        assert_eq!(
            text(&health, HealthEndpoint::Livez, None, "verbose=1").1,
            "[+]ping ok\nlivez check passed\n"
        );
    }

    #[test]
    fn a_pending_task_fails_readyz_until_all_its_guards_are_gone() {
        let (health, _) = health();
        let guards = (health.task("manifests"), health.task("manifests"));
        let failed = "[+]ping ok\n[-]manifests failed: reason withheld\n[+]shutdown ok\nreadyz check failed\n";
        assert_eq!(
            text(&health, HealthEndpoint::Readyz, None, ""),
            (500, failed.to_owned())
        );
        assert_eq!(text(&health, HealthEndpoint::Livez, None, "").0, 200);
        assert_eq!(text(&health, HealthEndpoint::Readyz, Some("manifests"), "").0, 500);
        assert_eq!(
            text(&health, HealthEndpoint::Readyz, Some("ping"), ""),
            (200, "ok".to_owned())
        );
        drop(guards.0);
        assert!(!health.is_ready());
        drop(guards.1);
        assert!(health.is_ready());
        assert!(health.respond(HealthEndpoint::Readyz, Some("nosuch"), None).is_none());
    }

    #[test]
    fn checks_can_be_excluded() {
        let (health, _) = health();
        let _guard = health.task("informer-sync");
        let query = "verbose&exclude=informer-sync&exclude=no%0Asuch";
        let excluded = "[+]ping ok\n[+]informer-sync excluded: ok\n[+]shutdown ok\n\
                        warn: some health checks cannot be excluded: no matches for \"no\\nsuch\"\nreadyz check passed\n";
        assert_eq!(
            text(&health, HealthEndpoint::Readyz, None, query),
            (200, excluded.to_owned())
        );
    }

    #[test]
    fn a_shutdown_fails_readyz_alone() {
        let (health, shutdown) = health();
        shutdown.cancel();
        assert_eq!(text(&health, HealthEndpoint::Readyz, None, "").0, 500);
        assert_eq!(text(&health, HealthEndpoint::Livez, None, "").0, 200);
        assert_eq!(text(&health, HealthEndpoint::Healthz, None, "").0, 200);
    }

    #[test]
    fn how_a_host_is_laid_out_is_not_told() {
        for (line, told) in [
            ("/etc/manifests/a.yaml: line 2", "a.yaml: line 2"),
            ("ca: reading /etc/pki/ca.crt: gone", "ca: reading ca.crt: gone"),
            ("cannot read \"/a/b/c\" (/d/e)", "cannot read \"c\" (e)"),
            (
                "shard https://kcp:6443/services/x: does not answer",
                "shard https://kcp:6443/services/x: does not answer",
            ),
            ("a and c/d", "a and c/d"),
        ] {
            assert_eq!(without_folders(line), told);
        }
    }

    #[test]
    fn problems_are_listed_and_fail_nothing() {
        let (health, _) = health();
        health.problems(|| {
            (0..MAX_PROBLEMS + 2)
                .map(|n| format!("file{n}.yaml: line\n2"))
                .collect()
        });
        let (code, text) = text(&health, HealthEndpoint::Readyz, None, "verbose");
        assert_eq!(code, 200);
        assert!(text.contains("\nwarn: file0.yaml: line 2\n"), "{text}");
        assert!(
            text.ends_with("\nwarn: and 2 more problems, see the log\nreadyz check passed\n"),
            "{text}"
        );
    }

    #[test]
    fn the_version_is_json_with_a_semantic_version() {
        let body = whole(version().into_body());
        let version: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert!(
            version["gitVersion"].as_str().unwrap().starts_with("v1.37.0+"),
            "{version}"
        );
    }
}
