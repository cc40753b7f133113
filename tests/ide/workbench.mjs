// SPDX-License-Identifier: Apache-2.0
// workbench.mjs CHROMIUM URL: in code-server's workbench, types "typed " into readme.txt, saves it, and copies it in the terminal to a file that
// comes to be seen in the explorer. Says "shown ORIGIN".
import { chromium } from "playwright-core";

const [executablePath, url] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
try {
  const page = await browser.newPage({ viewport: { width: 1200, height: 800 } });
  page.setDefaultTimeout(60000);
  page.on("console", (message) => console.error(`console: ${message.text().slice(0, 500)}`));
  page.on("requestfailed", (request) => console.error(`failed: ${request.url()} ${request.failure()?.errorText}`));
  await page.goto(url, { waitUntil: "commit" });

  const file = (name) => page.locator(`.explorer-folders-view .monaco-list-row[aria-label^="${name}"]`);
  await file("readme.txt").dblclick();
  await page.locator(".editor-instance .view-line", { hasText: "one" }).click();
  await page.keyboard.press("Control+Home");
  await page.keyboard.type("typed ");
  await page.locator(".editor-instance .view-line", { hasText: /^typed\sone$/ }).waitFor();
  await page.keyboard.press("Control+s");
  await page.locator(".tab.active.dirty").waitFor({ state: "detached" });

  await page.keyboard.press("Control+`");
  await page.locator(".terminal.xterm textarea").waitFor({ state: "attached" });
  // Before its shell has come up it drops what is typed.
  for (let tries = 0; tries < 5 && !(await file("made-42.txt").count()); tries++) {
    await page.locator(".terminal.xterm .xterm-screen").click();
    await page.keyboard.type("cp readme.txt made-$((6*7)).txt\n");
    await file("made-42.txt").waitFor({ timeout: 15000 }).catch(() => {});
  }
  await file("made-42.txt").waitFor();
  console.log(`shown ${await page.evaluate(() => self.origin)}`);
} finally {
  await browser.close();
}
