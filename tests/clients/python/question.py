"""A consumer with the Python client's dynamic client; ../README.md says what it asks."""

import json

from kubernetes import config, dynamic
from kubernetes.client import ApiClient
from kubernetes.dynamic import exceptions

NAMESPACE = "default"


def question(text, **spec):
    return {
        "apiVersion": "clients.example.org/v1",
        "kind": "Question",
        "metadata": {"generateName": "python-"},
        "spec": {"text": text, **spec},
    }


def refused(kind, questions, body):
    """The Status of a create that must fail with this error of the client."""
    try:
        answer = questions.create(body=body, namespace=NAMESPACE)
    except kind as error:
        return json.loads(error.body)
    raise AssertionError(f"not refused: {answer}")


def main():
    config.load_kube_config()
    client = dynamic.DynamicClient(ApiClient())

    questions = client.resources.get(api_version="clients.example.org/v1", kind="Question")
    assert questions.name == "questions" and questions.namespaced, questions
    assert questions.verbs == ["create"], questions.verbs
    assert client.resources.get(short_names=["qn"]).kind == "Question"

    answer = questions.create(body=question("ping"), namespace=NAMESPACE)
    assert (answer.status.answer, answer.status.count) == ("pong", 1), answer
    assert answer.metadata.name.startswith("python-") and answer.metadata.namespace == NAMESPACE, answer

    status = refused(exceptions.UnprocessibleEntityError, questions, question(5))
    assert status["reason"] == "Invalid" and status["details"]["causes"][0]["field"] == "spec.text", status
    status = refused(exceptions.ForbiddenError, questions, question("denied"))
    assert status["message"] == "ask somebody else", status
    status = refused(exceptions.ServiceUnavailableError, questions, question("garbage"))
    assert status["code"] == 503, status
    status = refused(exceptions.InternalServerError, questions, question("contract"))
    assert status["reason"] == "InternalError", status
    answer = questions.create(body=question("ping", more=1), namespace=NAMESPACE, dry_run="All")
    assert "more" not in answer.spec.to_dict(), answer

    assert questions.get(namespace=NAMESPACE)["items"] == []
    try:
        questions.get(name="nobody", namespace=NAMESPACE)
        raise AssertionError("found")
    except exceptions.NotFoundError as error:
        assert error.status == 404


if __name__ == "__main__":
    main()
