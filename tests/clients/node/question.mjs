// A consumer with @kubernetes/client-node; ../README.md says what it asks.

import assert from "node:assert/strict";
import { ApiException, CustomObjectsApi, KubeConfig, KubernetesObjectApi } from "@kubernetes/client-node";

const group = "clients.example.org";
const version = "v1";
const namespace = "default";

const question = (text, spec = {}) => ({
  apiVersion: `${group}/${version}`,
  kind: "Question",
  metadata: { generateName: "node-", namespace },
  spec: { text, ...spec },
});

const config = new KubeConfig();
config.loadFromDefault();
const custom = config.makeApiClient(CustomObjectsApi);
// Finds the resource of a kind by discovery.
const objects = KubernetesObjectApi.makeApiClient(config);

const answer = await objects.create(question("ping"));
assert.deepEqual([answer.status.answer, answer.status.count], ["pong", 1]);
assert.ok(answer.metadata.name.startsWith("node-"));

const { resources } = await custom.getAPIResources({ group, version });
const [resource] = resources;
assert.deepEqual(
  [resource.name, resource.kind, resource.shortNames, resource.verbs],
  ["questions", "Question", ["qn"], ["create"]],
);

// The Status of a call that must fail as the client's own error.
const refused = async (code, call) => {
  try {
    await call;
  } catch (error) {
    assert.ok(error instanceof ApiException, String(error));
    assert.equal(error.code, code);
    return typeof error.body === "string" ? JSON.parse(error.body) : error.body;
  }
  assert.fail(`not refused with ${code}`);
};
const create = (body, more = {}) =>
  custom.createNamespacedCustomObject({ group, version, namespace, plural: "questions", body, ...more });

let status = await refused(422, create(question(5)));
assert.deepEqual([status.reason, status.details.causes[0].field], ["Invalid", "spec.text"]);
status = await refused(403, create(question("denied")));
assert.equal(status.message, "ask somebody else");
status = await refused(503, create(question("garbage")));
assert.equal(status.reason, "ServiceUnavailable");
status = await refused(500, create(question("contract")));
assert.equal(status.reason, "InternalError");
status = await refused(400, create(question("ping", { more: 1 }), { fieldValidation: "Strict" }));
assert.match(status.message, /unknown field "spec.more"/);

const read = { group, version, namespace, plural: "questions" };
assert.deepEqual((await custom.listNamespacedCustomObject(read)).items, []);
status = await refused(404, custom.getNamespacedCustomObject({ ...read, name: "nobody" }));
assert.equal(status.reason, "NotFound");
