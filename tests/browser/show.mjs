// SPDX-License-Identifier: Apache-2.0
// show.mjs CHROMIUM [TEXT URL]…: opens all pages, and says "TEXT ORIGIN" of each whose element "app" came to show the text.
import { chromium } from "playwright-core";

const [executablePath, ...words] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });

async function show(text, url) {
  const page = await browser.newPage();
  page.on("console", (message) => console.error(`console: ${message.text()}`));
  page.on("requestfailed", (request) => console.error(`failed: ${request.url()} ${request.failure()?.errorText}`));
  await page.goto(url, { waitUntil: "commit" });
  await page.waitForFunction((t) => document.getElementById("app")?.textContent === t, text, { timeout: 60000 });
  return `${text} ${await page.evaluate(() => self.origin)}`;
}

try {
  const pages = [];
  for (let i = 0; i < words.length; i += 2) pages.push(show(words[i], words[i + 1]));
  console.log((await Promise.all(pages)).join("\n"));
} finally {
  await browser.close();
}
