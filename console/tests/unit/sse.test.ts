// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { SseParser, type SseMessage } from "../../src/api/sse";

const TEXT = ': hello\n\nid: 4\nevent: sandbox.started\ndata: {"a":1}\n\ndata: one\r\ndata: two\r\n\r\n: ping\n\nid:5\ndata:x\n\nevent: lost\n\n';
const WANTED: SseMessage[] = [
  { event: "sandbox.started", data: '{"a":1}', id: "4" },
  { event: "message", data: "one\ntwo", id: "4" },
  { event: "message", data: "x", id: "5" },
  { event: "lost", data: "", id: "5" },
];

test("a text that is cut at any byte gives the same messages", () => {
  for (let at = 0; at <= TEXT.length; at += 1) {
    const parser = new SseParser();
    assert.deepEqual([...parser.feed(TEXT.slice(0, at)), ...parser.feed(TEXT.slice(at))], WANTED, `cut at ${at}`);
  }
});

test("byte by byte", () => {
  const parser = new SseParser();
  assert.deepEqual([...TEXT].flatMap((c) => parser.feed(c)), WANTED);
});
