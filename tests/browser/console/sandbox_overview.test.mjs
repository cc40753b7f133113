// SPDX-License-Identifier: Apache-2.0
// Overview of a sandbox: facts and life, live; name, times and labels changed in place.
import assert from "node:assert/strict";
import { checkAxe, createSandbox, eventually, journey, PHONE, screenshot } from "./harness.mjs";

journey("facts, life and events follow the sandbox", async ({ page, api, open }) => {
  const { id } = await createSandbox({ name: "facts", labels: { team: "<b>research</b>" }, persistent: true });
  await open(`sandboxes/${id}/overview`);
  await page.getByText(id).first().waitFor();
  await page.getByText("<b>research</b>").first().waitFor();
  await page.getByText("sandbox.started").first().waitFor();
  await checkAxe(page, "overview of a sandbox");
  await screenshot(page, "sandbox-overview");
  await api("POST", `/api/sandbox/instances/${id}/pause`);
  await page.getByText("sandbox.paused").first().waitFor();
  await page.setViewportSize(PHONE);
  await checkAxe(page, "overview of a sandbox on a phone");
});

journey("where a sandbox runs, and why, is told as text", async ({ page, open }) => {
  const { id } = await createSandbox({ name: "placed" });
  await page.route(`**/api/sandbox/instances/${id}*`, async (route) => {
    const answer = await route.fetch();
    const body = await answer.json();
    Object.assign(body, { placed: "rule 2: <b>provider pods</b>", place: { node: "worker-<i>7</i>", object: "atoll-warm-x", region: null } });
    await route.fulfill({ response: answer, json: body });
  });
  await open(`sandboxes/${id}/overview`);
  await page.getByText("rule 2: <b>provider pods</b>").waitFor();
  await page.getByText("node worker-<i>7</i> · atoll-warm-x").waitFor();
  await checkAxe(page, "overview of a placed sandbox");
});

journey("name, times and labels are changed in place", async ({ page, api, open }) => {
  const { id } = await createSandbox({ name: "before", labels: { team: "a" } });
  await open(`sandboxes/${id}/overview`);
  await page.getByRole("button", { name: "Edit" }).nth(1).click();
  const dialog = page.getByRole("dialog", { name: "Name and times" });
  await checkAxe(page, "name and times");
  await dialog.getByLabel("Pause when idle for").fill("-1");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText("Give a number of minutes, 0 or more.").waitFor();
  await dialog.getByLabel("Pause when idle for").fill("7");
  await dialog.getByLabel("Name", { exact: true }).fill("after");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { level: 1, name: /after/ }).waitFor();
  const found = await api("GET", `/api/sandbox/instances/${id}`);
  assert.equal(found.autoPauseMs, 420000);
  assert.equal(found.name, "after");
  await page.getByRole("button", { name: "Edit" }).first().click();
  await page.getByRole("textbox", { name: /value 1/i }).fill("b");
  await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await eventually(async () => (await api("GET", `/api/sandbox/instances/${id}`)).labels.team === "b", "the label");
});

journey("a virtual machine is paused to disk from its menu; other sandboxes lack the entry", async ({ page, open }) => {
  const { id } = await createSandbox({ name: "to-disk" });
  const entry = page.getByRole("menuitem", { name: "Pause to disk" });
  const openMenu = async () => {
    await open(`sandboxes/${id}/overview`);
    await page.getByText("sandbox.started").first().waitFor();
    await page.getByRole("button", { name: "Actions", exact: true }).click();
    await page.getByRole("menuitem", { name: "Pause", exact: true }).waitFor();
  };
  await openMenu();
  assert.equal(await entry.count(), 0);
  // The provider of this server keeps no memory on disk: only the row says that it does, so the server refuses the call.
  await page.route((url) => url.pathname === `/api/sandbox/instances/${id}`, async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...(await answer.json()), unsupported: [] } });
  });
  await openMenu();
  const sent = page.waitForRequest((request) => request.url().endsWith(`/api/sandbox/instances/${id}/pause`));
  await entry.click();
  assert.deepEqual((await sent).postDataJSON(), { disk: true });
  await page.getByText(/keep memory on disk/).first().waitFor();
});
