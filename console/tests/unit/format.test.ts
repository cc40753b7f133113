// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { cutMiddle, formatBytes, formatCores, formatCount, formatDuration, formatMib, formatMoney, formatRelative, NOT_KNOWN } from "../../src/parts/format";

test("bytes have three digits", () => {
  assert.equal(formatBytes(0), "0 B");
  assert.equal(formatBytes(1023), "1023 B");
  assert.equal(formatBytes(1024), "1 KiB");
  assert.equal(formatBytes(512 * 1024 * 1024), "512 MiB");
  assert.equal(formatBytes(1.46 * 1024 ** 3), "1.46 GiB");
  assert.equal(formatBytes(1024 ** 3 - 1), "1 GiB");
  assert.equal(formatMib(1536), "1.5 GiB");
});

test("what is not known is never 0", () => {
  for (const format of [formatBytes, formatCores, formatCount, formatDuration, formatMoney, formatMib]) {
    for (const value of [null, undefined, -1, NaN]) assert.equal(format(value), NOT_KNOWN);
  }
});

test("money", () => {
  assert.equal(formatMoney(0), "$0.00");
  assert.equal(formatMoney(0.0042), "$0.0042");
  assert.equal(formatMoney(0.00001), "< $0.0001");
  assert.equal(formatMoney(1234.5), "$1,234.50");
});

test("durations have up to two units", () => {
  assert.equal(formatDuration(340), "340 ms");
  assert.equal(formatDuration(2500), "2.5 s");
  assert.equal(formatDuration(59_999), "59 s");
  assert.equal(formatDuration(200_000), "3 m 20 s");
  assert.equal(formatDuration(3_600_000), "1 h");
  assert.equal(formatDuration(187_200_000), "2 d 4 h");
});

test("relative times", () => {
  const now = Date.parse("2026-11-26T12:00:00Z");
  assert.equal(formatRelative(now - 12_000, now), "12 s");
  assert.equal(formatRelative(now + 240_000, now), "4 min");
  assert.equal(formatRelative(now - 12_000_000, now), "3 h 20 m");
  assert.equal(formatRelative(now - 2 * 86_400_000, now), "2 d");
  assert.match(formatRelative(now - 8 * 86_400_000, now), /^2026-11-1[78]$/);
});

test("ids are cut in the middle", () => {
  assert.equal(cutMiddle("short"), "short");
  assert.equal(cutMiddle("abcdefghijklmnopqrst", 9), "abcd…qrst");
});
