// SPDX-License-Identifier: Apache-2.0
// The audit: rows, filters, pages, what a row changed, the export, and the state of the chain.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { api, checkAxe, createSandbox, eventually, journey, loaded, PHONE, screenshot } from "./harness.mjs";

const rows = (page) => page.getByRole("grid", { name: "Audit" }).getByRole("row");

journey("a change has a row with before and after, found by its action and its target", async ({ page, open }) => {
  const sandbox = await createSandbox({ name: "audited" });
  await api("PATCH", `/api/sandbox/instances/${sandbox.id}`, { labels: { colour: "<i>red</i>" } });
  await api("POST", `/api/sandbox/instances/${sandbox.id}/exec`, { cmd: "true" });
  await eventually(async () => (await api("GET", `/v1/audit?target=${sandbox.id}`)).items.length >= 2, "the rows");
  await open(`audit?target=${sandbox.id}`);
  await loaded(page);
  await rows(page).filter({ hasText: "instances.exec" }).waitFor();
  await page.getByRole("textbox", { name: "Action" }).fill("instances.upd*");
  await rows(page).filter({ hasText: "instances.exec" }).waitFor({ state: "detached" });
  await checkAxe(page, "audit");
  await screenshot(page, "audit");
  await rows(page).filter({ hasText: "instances.update" }).first().getByRole("button", { name: "Open" }).click();
  const sheet = page.getByRole("dialog", { name: "instances.update" });
  await sheet.getByRole("region", { name: "What it changed" }).getByText("<i>red</i>").waitFor();
  await checkAxe(page, "a row of the audit");
  await screenshot(page, "audit-row");
  await page.keyboard.press("Escape");
  await page.getByRole("combobox", { name: "Result" }).selectOption({ label: "refused" });
  await page.getByText("No row matches").waitFor();
});

journey("older rows are on further pages, and the export verifies the same rows", async ({ page, open }) => {
  for (let i = 0; i < 102; i++) await api("POST", "/api/sandbox/keys", { name: `k${i}`, scopes: ["sandbox:read"] }).then((key) => i > 0 && api("DELETE", `/api/sandbox/keys/${key.id}`));
  await eventually(async () => (await api("GET", "/v1/audit?action=keys.create&limit=1000")).items.length >= 102, "the rows");
  await open("audit?action=keys.create");
  await loaded(page);
  await page.getByRole("button", { name: "Older" }).click();
  await page.getByText(/^Rows before /).waitFor();
  await loaded(page);
  await page.getByRole("button", { name: "Newest" }).click();
  await page.getByText(/^Rows before /).waitFor({ state: "detached" });
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Export as JSONL" }).click()]);
  const lines = readFileSync(await file.path(), "utf8").trim().split("\n").map((line) => JSON.parse(line));
  assert.ok(lines.length > 102, `${lines.length} lines`);
  assert.ok(JSON.stringify(lines).includes("keys.create"));
  await page.getByText("State of the chain").first().click();
  await page.getByText("atoll audit verify --all --key").waitFor();
  await checkAxe(page, "the state of the chain");
});

journey("on a phone the audit is not wider than the screen", async ({ page, open }) => {
  await open("audit");
  await loaded(page);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `${wide} px too wide`);
}, { viewport: PHONE });
