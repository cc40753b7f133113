// SPDX-License-Identifier: Apache-2.0
// visit.mjs CHROMIUM URL: opens a page of Vite's, says "one" when it shows that, and "two" when it shows that without
// having been loaded again.
import { chromium } from "playwright-core";

const [executablePath, url] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
try {
  const page = await browser.newPage();
  page.on("console", (message) => console.error(`console: ${message.text()}`));
  page.on("requestfailed", (request) => console.error(`failed: ${request.url()} ${request.failure()?.errorText}`));
  const connected = page.waitForEvent("console", { predicate: (m) => m.text().includes("[vite] connected"), timeout: 30000 });
  await page.goto(url);
  const shows = (text) => page.waitForFunction((t) => document.getElementById("app")?.textContent === t, text, { timeout: 20000 });
  await shows("one");
  await connected;
  const origin = await page.evaluate(() => { window.stays = true; return self.origin; });
  console.log(`one ${origin}`);
  await shows("two");
  if (!(await page.evaluate(() => window.stays))) throw new Error("the page was loaded again");
  console.log("two");
} finally {
  await browser.close();
}
