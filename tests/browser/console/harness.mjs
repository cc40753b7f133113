// SPDX-License-Identifier: Apache-2.0
// harness.mjs: tests of the console in a browser. tests/system/test_console.py starts the server and runs each *.test.mjs by Node's own
// test runner, with ATOLL_URL, ATOLL_API_KEY and CHROMIUM in the environment.
//
// journey(name, fn) is one test: fn gets {page, context, api, open} of a browser that is signed in. It fails on any violation of the
// page's policy and on any exception of the page.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { addressOf, api, closeBrowser, newContext, removeMade } from "./driver.mjs";

export * from "./driver.mjs";
after(closeBrowser);

export function journey(name, run, options = {}) {
  test(name, { timeout: 90000, ...options.test }, async () => {
    const { context, faults } = await newContext(options);
    try {
      const page = await context.newPage();
      const open = async (path) => {
        await page.goto(await addressOf(path), { waitUntil: "domcontentloaded" });
        await page.getByRole("heading", { level: 1 }).waitFor();
      };
      await run({ page, context, api, open });
      assert.deepEqual(faults, []);
    } catch (error) {
      if (faults.length) error.message += `\n${faults.join("\n")}`;
      throw error;
    } finally {
      await context.close();
      await removeMade();
    }
  });
}
