// SPDX-License-Identifier: Apache-2.0
// restart.mjs: an open page while tests/system/test_console.py ends the server and starts it again. It says "open", "away" and "back" as
// it sees each, and ends with "fine" or an error.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { addressOf, closeBrowser, createSandbox, newContext } from "./driver.mjs";
import { Sandboxes } from "./pages.mjs";

const commands = createInterface({ input: process.stdin });
const { id } = await createSandbox({ name: "before-restart", persistent: true });
const { context, faults } = await newContext();
const page = await context.newPage();
const sandboxes = new Sandboxes(page);
await page.goto(await addressOf("sandboxes?q=restart"));
await sandboxes.state("before-restart", "started").waitFor();
await sandboxes.select("before-restart");
console.log("open");
await once(commands, "line");
await page.getByText(/^Not live since/).waitFor({ timeout: 60000 });
assert.equal(await sandboxes.row("before-restart").count(), 1, "what was read stays");
console.log("away");
await once(commands, "line");
await page.getByText(/^Not live since/).waitFor({ state: "detached", timeout: 60000 });
// Rows rest while the pointer or the focus is among them.
await page.mouse.move(2, 2);
await page.evaluate(() => document.activeElement instanceof HTMLElement && document.activeElement.blur());
await createSandbox({ name: "after-restart" });
await sandboxes.row("after-restart").waitFor({ timeout: 30000 });
assert.equal(await page.getByText("1 selected").count(), 1, "the selection is kept");
assert.equal(new URL(page.url()).searchParams.get("q"), "restart");
console.log("back");
assert.deepEqual(faults, []);
await context.close();
await closeBrowser();
console.log(`fine ${id}`);
process.exit(0);
