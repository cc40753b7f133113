// SPDX-License-Identifier: Apache-2.0
// Metrics: figures of now, charts with their tables, ranges in the address.
import assert from "node:assert/strict";
import { checkAxe, createSandbox, eventually, journey, screenshot } from "./harness.mjs";

journey("metrics show figures of now and charts", async ({ page, api, open }) => {
  const { id } = await createSandbox({ name: "measured" });
  await api("POST", `/api/sandbox/instances/${id}/exec`, { command: "head -c 20000000 /dev/zero | sha256sum" });
  await open(`sandboxes/${id}/metrics`);
  await eventually(async () => /\d/.test(await page.getByText("Memory now").locator("..").innerText()), "the memory of now", 30000);
  await page.getByRole("figure", { name: /^CPU/ }).or(page.locator("figure", { hasText: "CPU (cores)" })).first().waitFor();
  await page.locator("figure", { hasText: "Disk" }).first().waitFor();
  await checkAxe(page, "metrics");
  await screenshot(page, "metrics");
  await page.getByText("15 min", { exact: true }).click();
  assert.match(page.url(), /range=15m/);
  await page.locator("figure", { hasText: "Memory" }).first().getByRole("button", { name: "Show as table" }).click();
  await page.getByRole("region", { name: "Memory" }).getByRole("row").nth(1).waitFor();
  await checkAxe(page, "metrics as a table");
});

journey("a stopped sandbox says that there are no figures of now", async ({ page, api, open }) => {
  const { id } = await createSandbox({ name: "unmeasured", persistent: true });
  await api("POST", `/api/sandbox/instances/${id}/stop`);
  await open(`sandboxes/${id}/metrics`);
  await page.getByText("It does not run: there are no figures of now.").waitFor();
  await checkAxe(page, "metrics of a stopped sandbox");
});
