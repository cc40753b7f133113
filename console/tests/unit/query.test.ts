// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { dropPart, matchesQuery, parseAmount, parseQuery, splitQuery, toggleValue } from "../../src/objects/sandbox_query";
import { arrange, compareKeys } from "../../src/parts/view";
import { signal } from "@preact/signals";
import type { Sandbox } from "../../src/store/sandboxes";

const sandbox = (change: Record<string, unknown> = {}): Sandbox =>
  ({
    id: "abc", name: "web-1", state: "started", template: "base", provider: "native", isolation: "namespaces", region: "", network: "internet", persistent: false, reason: "none",
    labels: { team: "a", "owner name": "Jo Doe", __proto__x: "1" }, resources: { cpu: 2, memory_mb: 2048, disk_mb: 1024 }, last_activity_at: new Date(Date.now() - 700_000).toISOString(),
    started_at: new Date(Date.now() - 7_200_000).toISOString(), created_at: new Date(Date.now() - 7_200_000).toISOString(), volumes: [], ...change,
  }) as unknown as Sandbox;
const fits = (text: string, change?: Record<string, unknown>): boolean => matchesQuery(sandbox(change), parseQuery(text));

test("words match name, id and labels", () => {
  for (const text of ["", "web", "WEB-1", "abc", "team=a", "web abc"]) assert.ok(fits(text), text);
  assert.ok(!fits("web nothing"));
});

test("tokens", () => {
  for (const text of ["state:started", "state:failed,started", "template:base label:team=a", 'label:"owner name=Jo Doe"', "label:team", "persistent:no", "state:"]) assert.ok(fits(text), text);
  for (const text of ["state:failed", "label:team=b", "label:none", "label:constructor", "label:__proto__", "template:base state:stopped"]) assert.ok(!fits(text), text);
});

test("numbers with units", () => {
  for (const text of ["cpu>1", "cpu>=2", "memory>1g", "memory<=2048", "idle>10m", "uptime>1h", "age<1d"]) assert.ok(fits(text), text);
  for (const text of ["cpu>2", "memory>2g", "idle<10m", "uptime>3h"]) assert.ok(!fits(text), text);
  assert.ok(!fits("uptime>1h", { state: "stopped" }));
  assert.equal(parseAmount("idle", "90"), 90_000);
  assert.equal(parseAmount("memory", "512m"), 512 * 1024 ** 2);
  assert.equal(parseAmount("cpu", "2g"), null);
});

test("what looks like a token of no field is kept apart and filters nothing", () => {
  assert.deepEqual(parseQuery("nothing:x web").unknown, ["nothing:x"]);
  assert.ok(fits("nothing:x web"));
});

test("menus write tokens", () => {
  assert.equal(toggleValue("web", "state", "failed"), "web state:failed");
  assert.equal(toggleValue("web state:failed", "state", "paused"), "web state:failed,paused");
  assert.equal(toggleValue("web state:failed,paused", "state", "failed"), "web state:paused");
  assert.equal(toggleValue("web state:paused", "state", "paused"), "web");
  assert.equal(toggleValue("", "label", "team=a"), "label:team=a");
  assert.equal(toggleValue("label:team=a x", "label", "team=a"), "x");
  assert.equal(dropPart("a state:failed b", "state:failed"), "a b");
  assert.deepEqual(splitQuery('a label:"x y" b'), ["a", 'label:"x y"', "b"]);
});

test("unknown values come last in both directions", () => {
  const keys = [3, null, 1, undefined, 2];
  assert.deepEqual([...keys].sort((a, b) => compareKeys(a, b, false)).map((k) => k ?? 0), [1, 2, 3, 0, 0]);
  assert.deepEqual([...keys].sort((a, b) => compareKeys(a, b, true)).map((k) => k ?? 0), [3, 2, 1, 0, 0]);
});

test("10,000 rows are filtered and sorted quickly", () => {
  const rows = new Map(Array.from({ length: 10_000 }, (_, i) => [String(i), signal(sandbox({ id: String(i), name: `box-${(i * 7919) % 10_000}` }))]));
  const ids = signal([...rows.keys()]);
  const source = { ids, row: (id: string) => rows.get(id) };
  const query = parseQuery("state:started box-1");
  arrange(source, (s) => matchesQuery(s, query), { key: (s) => s.name, isDown: false });
  const start = performance.now();
  const found = arrange(source, (s) => matchesQuery(s, query), { key: (s) => s.name, isDown: false });
  const took = performance.now() - start;
  assert.ok(found.length > 1000);
  assert.ok(took < 200, `${took} ms`);
});
