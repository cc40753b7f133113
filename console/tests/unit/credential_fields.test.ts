// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { environmentOf, fieldNamesOf, hasProblem, isSameEnvironment, variableProblems, variablesOf, type EnvironmentForm } from "../../src/pages/credentials/fields";
import { isoOfLocal, localOfIso } from "../../src/parts/format";

const form = (more: Partial<EnvironmentForm>): EnvironmentForm => ({ kind: "basic", consent: "conversation", variables: [], stored: [], values: {}, ...more });
const one = (name: string, field = "password"): EnvironmentForm => form({ variables: [{ name, field }] });

test("a variable has an upper-case name of its own and a field", () => {
  for (const name of ["PGPASSWORD", "A", "A_1"]) assert.equal(hasProblem(variableProblems(one(name))), false, name);
  for (const name of ["", "pgpassword", "1A", "_A", "A-B", "A B", "A".repeat(65)]) assert.ok(variableProblems(one(name)).rows[0]?.name, name);
  assert.ok(variableProblems(one("A", "")).rows[0]?.field);
  const twice = variableProblems(form({ variables: [{ name: "A", field: "username" }, { name: "A", field: "password" }] }));
  assert.deepEqual(twice.rows.map((row) => row.name !== null), [false, true]);
});

test("a value that cannot be masked is refused, one that is not typed is the server's to check", () => {
  const of = (password: string): boolean => hasProblem(variableProblems({ ...one("A"), values: { password } }));
  assert.deepEqual([of("1234567"), of("12345678"), of("x".repeat(1024)), of("x".repeat(1025)), of("")], [true, false, false, true, false]);
});

test("only a credential for conversations has variables", () => {
  for (const more of [{ consent: "project" }, { consent: "sandbox" }, { kind: "client" }, { kind: "oauth" }]) {
    assert.ok(variableProblems({ ...one("A"), ...more }).whole, JSON.stringify(more));
    assert.equal(variableProblems(form(more)).whole, null, "without variables nothing is wrong");
  }
});

test("fields of an own kind are those that are stored and those that are typed", () => {
  assert.deepEqual(fieldNamesOf(form({ kind: "custom", stored: ["a", "b"], values: { b: "1", c: "2", "": "3" } })), ["a", "b", "c"]);
  assert.deepEqual(fieldNamesOf(form({})), ["username", "password"]);
});

test("an environment is the same in any order", () => {
  assert.ok(isSameEnvironment({ A: "x", B: "y" }, { B: "y", A: "x" }));
  assert.equal(isSameEnvironment({ A: "x" }, { A: "y" }), false);
  assert.equal(isSameEnvironment({ A: "x" }, {}), false);
  assert.deepEqual(environmentOf(variablesOf({ A: "x", B: "y" })), { A: "x", B: "y" });
});

test("a time of an input is the reader's own, there and back", () => {
  assert.equal(localOfIso(isoOfLocal("2099-01-02T03:04")), "2099-01-02T03:04");
  assert.equal(isoOfLocal("soon"), undefined);
  assert.equal(localOfIso(null), "");
});
