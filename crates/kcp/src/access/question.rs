//! What is asked, and its fingerprint.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

/// May this caller do this, there, with this export's resource?
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The name of the caller.
    pub user: &'a str,
    /// Their uid, empty where there is none.
    pub uid: &'a str,
    /// Their groups.
    pub groups: Vec<&'a str>,
    /// All that is said of them besides; scopes and warrants are in here.
    pub extra: &'a BTreeMap<String, Vec<String>>,
    /// The consumer's logical cluster, by name.
    pub cluster: &'a str,
    /// `create`, `list`, `get`.
    pub verb: &'a str,
    /// The API group of the resource.
    pub group: &'a str,
    /// The API version of the resource.
    pub version: &'a str,
    /// The plural name of the resource.
    pub resource: &'a str,
    /// The namespace, for namespaced requests.
    pub namespace: Option<&'a str>,
    /// The name, where the request has one.
    pub name: Option<&'a str>,
    /// The provider's logical cluster, by name.
    pub provider: &'a str,
    /// The provider's APIExport.
    pub export: &'a str,
}

/// What stands for a question in a cache. As long as nobody finds two texts of one SHA-256, no caller gets the answer
/// to another's question; and a caller with a megabyte of groups takes no more room than any other.
pub(super) type Fingerprint = [u8; 32];

/// The scopes of a caller. Each value is a list of alternatives, and all values hold.
const SCOPES: &str = "authentication.kcp.io/scopes";
/// The logical cluster of a service account.
const ACCOUNT_CLUSTER: &str = "authentication.kcp.io/cluster-name";

impl Question<'_> {
    /// Of where the caller is at home, whose share of questions this one takes.
    ///
    /// Admins of a workspace can act under as many names as they like, by impersonation or with service accounts, and
    /// under anybody's. But kcp then adds the scope of that workspace, as the last one (its
    /// `WithImpersonationScoping`), and says of a service account where it is: all such callers of a workspace are one
    /// home. Everybody else is known to the whole installation by name, which no workspace can give.
    pub(super) fn home(&self) -> Fingerprint {
        let last = |key: &str| self.extra.get(key).and_then(|values| values.last());
        let mut hash = Fields::default();
        match (last(SCOPES), last(ACCOUNT_CLUSTER)) {
            (Some(scope), _) => hash.texts(["scope", scope].into_iter()),
            (None, Some(cluster)) => hash.texts(["account", cluster].into_iter()),
            (None, None) => hash.texts(["user", self.user].into_iter()),
        }
        hash.finish()
    }

    /// Of all that decides whether the caller may.
    pub(super) fn of_permission(&self) -> Fingerprint {
        let mut hash = Fields::default();
        for field in [self.cluster, self.user, self.uid] {
            hash.text(field);
        }
        hash.texts(self.groups.iter().copied());
        hash.count(self.extra.len());
        for (key, values) in self.extra {
            hash.text(key);
            hash.texts(values.iter().map(String::as_str));
        }
        for field in [self.verb, self.group, self.version, self.resource] {
            hash.text(field);
        }
        for field in [self.namespace, self.name] {
            hash.texts(field.into_iter());
        }
        hash.finish()
    }

    /// Of all that decides whether the logical cluster is bound.
    pub(super) fn of_binding(&self) -> Fingerprint {
        let mut hash = Fields::default();
        for field in [self.cluster, self.provider, self.export, self.group, self.resource] {
            hash.text(field);
        }
        hash.finish()
    }
}

/// Hashes texts so that no two sequences of them look alike: each comes after its length, each list after its number.
#[derive(Default)]
struct Fields(Sha256);

impl Fields {
    fn count(&mut self, count: usize) {
        self.0.update((count as u64).to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.update(text);
    }

    fn texts<'a>(&mut self, texts: impl ExactSizeIterator<Item = &'a str>) {
        self.count(texts.len());
        for text in texts {
            self.text(text);
        }
    }

    fn finish(self) -> Fingerprint {
        self.0.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn whatever_differs_has_another_fingerprint() {
        let (none, scoped) = (BTreeMap::new(), extra(&[("scopes", &["cluster:a"])]));
        let (split, joined) = (extra(&[("k", &["a", "b"])]), extra(&[("k", &["a,b"])]));
        let question = Question {
            user: "ada",
            uid: "",
            groups: vec!["a", "b"],
            extra: &none,
            cluster: "consumer",
            verb: "create",
            group: "g",
            version: "v1",
            resource: "rs",
            namespace: Some("default"),
            name: None,
            provider: "provider",
            export: "e",
        };
        let questions = [
            question.clone(),
            changed(&question, |q| q.user = "adab"),
            changed(&question, |q| q.uid = "1"),
            changed(&question, |q| q.groups = vec!["ab"]),
            changed(&question, |q| q.groups = vec!["a"]),
            changed(&question, |q| q.extra = &scoped),
            changed(&question, |q| q.extra = &split),
            changed(&question, |q| q.extra = &joined),
            changed(&question, |q| q.cluster = "other"),
            changed(&question, |q| q.verb = "list"),
            changed(&question, |q| q.group = "h"),
            changed(&question, |q| q.version = "v2"),
            changed(&question, |q| q.resource = "ss"),
            changed(&question, |q| q.namespace = None),
            changed(&question, |q| (q.namespace, q.name) = (None, Some("default"))),
            changed(&question, |q| q.name = Some("n")),
        ];
        let permissions: HashSet<_> = questions.iter().map(Question::of_permission).collect();
        assert_eq!(permissions.len(), questions.len());
        // Who asks, and where in the logical cluster, says nothing of the binding.
        let bindings: HashSet<_> = questions.iter().map(Question::of_binding).collect();
        assert_eq!(bindings.len(), 4, "cluster, group and resource");
        let of_others = [
            changed(&question, |q| q.provider = "x"),
            changed(&question, |q| q.export = "x"),
        ];
        assert!(of_others.iter().all(|other| !bindings.contains(&other.of_binding())));
        // The provider is no part of the permission: kcp does not know of it.
        assert!(
            of_others
                .iter()
                .all(|other| permissions.contains(&other.of_permission()))
        );
    }

    #[test]
    fn a_workspace_has_one_home_whoever_its_admins_pose_as() {
        let none = BTreeMap::new();
        let of = |user: &str, extra: &BTreeMap<String, Vec<String>>, cluster: &str| {
            let question = Question {
                user,
                uid: "",
                groups: Vec::new(),
                extra,
                cluster,
                verb: "create",
                group: "g",
                version: "v1",
                resource: "rs",
                namespace: None,
                name: None,
                provider: "p",
                export: "e",
            };
            question.home()
        };
        let posing = |extra: &[(&str, &[&str])]| of("ada", &self::extra(extra), "c");
        let ada = of("ada", &none, "c");
        assert_eq!(ada, of("ada", &none, "another"), "wherever the path leads");
        assert_ne!(ada, of("bob", &none, "c"));
        let at_m = posing(&[(SCOPES, &["cluster:m"])]);
        assert_ne!(at_m, ada, "who poses as somebody takes nothing of theirs");
        assert_eq!(at_m, of("bob", &extra(&[(SCOPES, &["cluster:m"])]), "c"));
        assert_eq!(
            at_m,
            posing(&[(SCOPES, &["cluster:x", "cluster:m"])]),
            "the last one is kcp's"
        );
        assert_eq!(at_m, posing(&[(SCOPES, &["cluster:m"]), (ACCOUNT_CLUSTER, &["x"])]));
        let account = posing(&[(ACCOUNT_CLUSTER, &["m"])]);
        assert_eq!(account, of("sa", &extra(&[(ACCOUNT_CLUSTER, &["m"])]), "c"));
        assert!(account != at_m && account != ada);
    }

    fn changed<'a>(question: &Question<'a>, change: impl FnOnce(&mut Question<'a>)) -> Question<'a> {
        let mut changed = question.clone();
        change(&mut changed);
        changed
    }

    fn extra(entries: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
        let owned = |values: &[&str]| values.iter().map(|&value| value.to_owned()).collect();
        entries
            .iter()
            .map(|&(key, values)| (key.to_owned(), owned(values)))
            .collect()
    }
}
