#!/usr/bin/env node
import { fromRoman } from "./roman.js";

try {
  for (const text of process.argv.slice(2)) console.log(fromRoman(text));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
