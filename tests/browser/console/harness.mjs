// SPDX-License-Identifier: Apache-2.0
// harness.mjs: tests of the console in a browser. tests/system/test_console.py starts the server and runs each *.test.mjs by Node's own
// test runner, with ATOLL_URL, ATOLL_API_KEY and CHROMIUM in the environment.
//
// journey(name, fn) is one test: fn gets {page, context, api, open} of a browser that is signed in. It fails on any violation of the
// page's policy and on any exception of the page. The journeys of a file share a context, for a new one takes a second; what pages keep
// in the browser is cleared. With options (viewport, isSignedOut, isOwn) a journey has a context of its own.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { addressOf, api, closeBrowser, newContext, removeMade, SERVER } from "./driver.mjs";

export * from "./driver.mjs";
after(closeBrowser);

let shared;
async function takeContext(options) {
  if (Object.keys(options).length) return newContext(options);
  shared ??= await newContext();
  shared.faults.length = 0;
  return shared;
}

async function clear(context) {
  const page = context.pages()[0] ?? (await context.newPage());
  const devtools = await context.newCDPSession(page);
  await devtools.send("Storage.clearDataForOrigin", { origin: SERVER, storageTypes: "local_storage,indexeddb,cache_storage" });
  await Promise.all(context.pages().map((open) => open.close()));
}

export function journey(name, run, options = {}) {
  const { test: limits, ...own } = options;
  test(name, { timeout: 90000, ...limits }, async () => {
    const taken = await takeContext(own);
    const { context, faults } = taken;
    try {
      const page = await context.newPage();
      const open = async (path) => {
        await page.goto(await addressOf(path), { waitUntil: "domcontentloaded" });
        await page.getByRole("heading", { level: 1 }).waitFor();
      };
      await run({ page, context, api, open, faults });
      assert.deepEqual(faults, []);
    } catch (error) {
      if (faults.length) error.message += `\n${faults.join("\n")}`;
      throw error;
    } finally {
      await (taken === shared ? clear(context) : context.close());
      await removeMade();
    }
  });
}
