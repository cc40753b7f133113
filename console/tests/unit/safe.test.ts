// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { csvCell, safeLink, showHidden, showHiddenLines } from "../../src/parts/safe";
import { lastRewrite, spansOf } from "../../src/parts/ansi";
import { LogLines, LINES_MAX } from "../../src/parts/log_lines";

test("hidden characters become marks", () => {
  assert.equal(showHidden("a\u202Egpj.exe"), "a⟨202E⟩gpj.exe");
  assert.equal(showHidden("a\u200Bb"), "a⟨200B⟩b");
  assert.equal(showHidden("a\u0000\u001b[31m\u007f"), "a␀␛[31m␡");
  assert.equal(showHidden("line\nline"), "line␊line");
  assert.equal(showHidden("\ud800x"), "⟨D800⟩x");
  assert.equal(showHidden("👍 größe"), "👍 größe");
  assert.equal(showHiddenLines("a\n\tb\u2066"), "a\n\tb⟨2066⟩");
});

test("long texts and piled marks are cut", () => {
  assert.equal(showHidden("x".repeat(10_000)).length, 201);
  assert.ok(showHidden(`a${"\u0301".repeat(200)}`, 1000).length < 10);
});

test("only addresses of the web are links", () => {
  assert.equal(safeLink("https://example.com/a b"), "https://example.com/a%20b");
  for (const bad of ["javascript:alert(1)", "data:text/html,x", " javascript:x", "//host/x", "file:///etc/passwd", "vbscript:x"]) assert.equal(safeLink(bad), null);
});

test("no cell is a formula", () => {
  assert.equal(csvCell("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0");
  assert.equal(csvCell('+1,"x"'), `"'+1,""x"""`);
  assert.equal(csvCell(12), "12");
});

test("a log's control sequences are colours or nothing", () => {
  assert.deepEqual(spansOf("\x1b[1;31mred\x1b[0m plain"), [{ text: "red", style: "fg1 bold" }, { text: " plain", style: "" }]);
  assert.deepEqual(spansOf("a\x1b]0;title\x07b\x1b[2Jc"), [{ text: "a", style: "" }, { text: "b", style: "" }, { text: "c", style: "" }]);
  assert.deepEqual(spansOf("x\x1b]52;c;aGk=\x1b\\y").map((s) => s.text).join(""), "xy");
  assert.deepEqual(spansOf("<img src=x onerror=alert(1)>"), [{ text: "<img src=x onerror=alert(1)>", style: "" }]);
  assert.equal(lastRewrite("10%\r50%\r100%\r"), "100%");
});

test("a log keeps a bounded number of lines", () => {
  const log = new LogLines();
  log.append("a\nb");
  log.append("c\nd");
  assert.deepEqual([0, 1, 2].map((i) => log.line(i)), ["a", "bc", "d"]);
  assert.equal(log.find("D", 0), 2);
  assert.equal(log.find("none", 0), -1);
  for (let i = 0; i < LINES_MAX + 10; i += 1) log.appendLine(String(i));
  assert.ok(log.count <= LINES_MAX);
  assert.ok(log.dropped > 0);
  assert.equal(log.line(log.count - 1), String(LINES_MAX + 9));
});
