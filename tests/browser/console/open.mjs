// SPDX-License-Identifier: Apache-2.0
// open.mjs TIMES: from the address to a page that can be used, with an empty cache and with a full one. Prints one JSON line of medians in ms.
import { addressOf, closeBrowser, newContext } from "./driver.mjs";

const times = Number(process.argv[2] ?? 10);
const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
const { context } = await newContext();
const page = await context.newPage();
const devtools = await context.newCDPSession(page);
const found = {};

/** A page can be used when its first row or card is there. */
async function open(path, ready, isCold) {
  if (isCold) await devtools.send("Network.clearBrowserCache");
  await page.goto("about:blank");
  const began = performance.now();
  await page.goto(await addressOf(path), { waitUntil: "commit" });
  await ready().first().waitFor();
  return Math.round(performance.now() - began);
}

const pages = {
  overview: () => page.getByRole("link", { name: /^Running/ }),
  sandboxes: () => page.getByRole("grid", { name: "Sandboxes" }).getByRole("link"),
};
for (const [path, ready] of Object.entries(pages)) {
  for (const isCold of [true, false]) {
    const values = [];
    for (let i = 0; i < times; i += 1) values.push(await open(path, ready, isCold));
    found[`${path}, ${isCold ? "first time" : "again"}`] = median(values);
  }
}
console.log(JSON.stringify(found));
await context.close();
await closeBrowser();
process.exit(0);
