// SPDX-License-Identifier: Apache-2.0
// rows.mjs COUNT: the table with so many sandboxes named many-00000 and so on, which come in pages of 1,000: to the last row, search, filter,
// selection. Prints one JSON line of figures.
import assert from "node:assert/strict";
import { addressOf, closeBrowser, eventually, newContext } from "./driver.mjs";
import { Sandboxes } from "./pages.mjs";

const count = Number(process.argv[2]);
const name = (number) => `many-${String(number).padStart(5, "0")}`;
const words = (number) => number.toLocaleString("en");
const { context, faults } = await newContext();
const page = await context.newPage();
const sandboxes = new Sandboxes(page);
const pages = [];
page.on("response", (answer) => answer.url().includes("/api/sandbox/instances?") && pages.push(answer.status()));

const began = Date.now();
await page.goto(await addressOf("sandboxes?sort=name"));
await sandboxes.row(name(0)).waitFor({ timeout: 60000 });
const firstMs = Date.now() - began;
await page.getByText(`${words(count)} sandboxes`, { exact: true }).waitFor({ timeout: 60000 });
const allMs = Date.now() - began;
assert.ok(pages.length >= count / 1000 && pages.every((status) => status === 200), `pages: ${pages}`);
assert.equal(await sandboxes.grid().getAttribute("aria-rowcount"), String(count + 1));

await sandboxes.grid().focus();
await page.keyboard.press("End");
await sandboxes.row(name(count - 1)).waitFor();
const rows = await sandboxes.grid().getByRole("row").count();
assert.ok(rows < 80, `${rows} rows exist`);
await page.keyboard.press("Home");
await sandboxes.row(name(0)).waitFor();

const searchBegan = Date.now();
await sandboxes.search().fill(name(count - 1));
await eventually(async () => (await sandboxes.grid().getAttribute("aria-rowcount")) === "2", "one row is left");
const searchMs = Date.now() - searchBegan;
await sandboxes.row(name(count - 1)).waitFor();
await sandboxes.search().fill("label:team=t3");
const team = Array.from({ length: count }, (_, number) => number % 7).filter((rest) => rest === 3).length;
await page.getByText(new RegExp(`^${words(team)}\\b.*${words(count)}`)).waitFor();
await sandboxes.search().fill("no-such-sandbox");
await page.getByRole("heading", { name: "No sandbox matches" }).waitFor();
await sandboxes.search().fill("");
await sandboxes.grid().getByRole("checkbox", { name: "Select all that match" }).check();
await page.getByText(`All ${words(count)} matching selected`).waitFor();
console.log(JSON.stringify({ count, firstMs, allMs, searchMs, rows, faults }));
await context.close();
await closeBrowser();
process.exit(0);
