//! The server's question, as kcp is asked it.

use ephemeral_apiserver::Authorizer;
use ephemeral_apiserver::authorize::{Attributes, Decision, Undecided};
use ephemeral_apiserver::identity::Via;
use ephemeral_kcp::access::{Access, Answer, Question, Unanswered};
use futures::FutureExt as _;
use futures::future::BoxFuture;

/// Asks kcp.
pub(crate) struct AskKcp(pub(crate) Access);

/// The group of everybody whom kcp has authenticated. kcp adds it to those that come through it; whoever comes with a
/// certificate of their own is as well known.
const AUTHENTICATED: &str = "system:authenticated";

impl Authorizer for AskKcp {
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> BoxFuture<'a, Result<Decision, Undecided>> {
        async move {
            match self.0.review(&question(attributes)).await {
                Ok(Answer::Allowed { schema }) => Ok(Decision::Allowed { schema: Some(schema) }),
                Ok(Answer::Denied) => Ok(denied("access denied")),
                Ok(Answer::NotBound) => Ok(denied("no APIBinding in the workspace is bound to it")),
                Err(Unanswered::Unavailable) => Err(Undecided::Unavailable),
                Err(Unanswered::TooMany) => Err(Undecided::TooMany),
            }
        }
        .boxed()
    }
}

fn denied(reason: &str) -> Decision {
    Decision::Denied { reason: reason.into() }
}

fn question<'a>(attributes: &'a Attributes<'a>) -> Question<'a> {
    let user = attributes.user;
    let mut groups: Vec<_> = user.groups.iter().map(String::as_str).collect();
    if *attributes.via == Via::Direct && !groups.contains(&AUTHENTICATED) {
        groups.push(AUTHENTICATED);
    }
    Question {
        user: &user.username,
        uid: &user.uid,
        groups,
        extra: &user.extra,
        cluster: attributes.consumer,
        verb: attributes.verb,
        group: attributes.group,
        version: attributes.version,
        resource: attributes.resource,
        namespace: attributes.namespace,
        name: attributes.name,
        provider: attributes.provider,
        export: attributes.export,
    }
}

#[cfg(test)]
mod tests {
    use ephemeral_review::UserInfo;

    use super::*;

    #[test]
    fn whoever_comes_directly_is_authenticated_and_nothing_else_is_added() {
        let user = UserInfo {
            username: "ada".to_owned(),
            uid: "1".to_owned(),
            groups: vec!["team".to_owned()],
            extra: [("scopes".to_owned(), vec!["cluster:a".to_owned()])].into(),
        };
        let of = |via: &Via| {
            let attributes = Attributes {
                user: &user,
                via,
                consumer: "consumer",
                provider: "provider",
                export: "export",
                verb: "create",
                group: "g",
                version: "v1",
                resource: "rs",
                namespace: Some("default"),
                name: None,
            };
            let question = question(&attributes);
            assert_eq!((question.user, question.uid, question.extra), ("ada", "1", &user.extra));
            assert_eq!(
                (question.cluster, question.provider, question.export),
                ("consumer", "provider", "export")
            );
            question.groups.into_iter().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(of(&Via::Direct), ["team", AUTHENTICATED]);
        assert_eq!(of(&Via::Shard("kcp-shard-0".into())), ["team"]);
        assert_eq!(of(&Via::FrontProxy("kcp-front-proxy".into())), ["team"]);
    }
}
