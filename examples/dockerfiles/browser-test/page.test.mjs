import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

let browser;
before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-quic", "--disable-background-networking"],
  });
});
after(() => browser?.close());

test("a task is added and shown as text", async () => {
  const page = await browser.newPage();
  await page.goto(new URL("page.html", import.meta.url).href);
  await page.fill("[name=task]", "<b>bread</b>");
  await page.click("text=Add");
  assert.deepEqual(await page.locator("li").allTextContents(), ["<b>bread</b>"]);
  assert.equal(await page.inputValue("[name=task]"), "");
  await page.screenshot({ path: "page.png" });
});

test("an empty task is not added", async () => {
  const page = await browser.newPage();
  await page.goto(new URL("page.html", import.meta.url).href);
  await page.click("text=Add");
  assert.equal(await page.locator("li").count(), 0);
});
