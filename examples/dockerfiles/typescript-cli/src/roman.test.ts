import assert from "node:assert/strict";
import { test } from "node:test";
import { fromRoman } from "./roman.js";

test("numbers are read", () => {
  assert.equal(fromRoman("MCMXCIV"), 1994);
  assert.equal(fromRoman("XLII"), 42);
});

test("other text is refused", () => {
  assert.throws(() => fromRoman("ABC"), RangeError);
});
