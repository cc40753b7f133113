// SPDX-License-Identifier: Apache-2.0
// The table of sandboxes and the create dialog.
import assert from "node:assert/strict";
import { api, checkAxe, createSandbox, eventually, journey, PHONE, screenshot } from "./harness.mjs";
import { CreateDialog, Sandboxes } from "./pages.mjs";

journey("a sandbox is made in the dialog, stopped, started and deleted in its row", async ({ page, open }) => {
  const sandboxes = new Sandboxes(page);
  const dialog = new CreateDialog(page);
  await open("sandboxes");
  await page.getByRole("button", { name: "New sandbox" }).first().click();
  await dialog.field("Name").fill("from-dialog");
  await dialog.box.getByText("Blocked").click();
  assert.match(await dialog.code().innerText(), /"name": "from-dialog",\s+"internet": false/);
  await dialog.box.getByText("Python", { exact: true }).click();
  assert.match(await dialog.code().innerText(), /Sandbox\.create\(\s+name="from-dialog",\s+internet=False,\s+\)/);
  await checkAxe(page, "the create dialog");
  await screenshot(page, "create");
  await dialog.submit();
  const progress = page.getByRole("dialog", { name: "from-dialog" });
  await progress.getByText("Started", { exact: true }).waitFor();
  await progress.getByRole("button", { name: "Close" }).click();
  await sandboxes.state("from-dialog", "started").waitFor();
  await sandboxes.act("from-dialog", "Stop");
  await sandboxes.state("from-dialog", "stopped").waitFor();
  await sandboxes.act("from-dialog", "Start");
  await sandboxes.state("from-dialog", "started").waitFor();
  await sandboxes.menu("from-dialog", "Delete");
  const question = page.getByRole("dialog", { name: "Delete from-dialog?" });
  await question.getByText("Snapshots of it stay").waitFor();
  await question.getByRole("button", { name: "Delete" }).click();
  await sandboxes.row("from-dialog").waitFor({ state: "detached" });
});

journey("a name that is taken is said at its field", async ({ page, open }) => {
  await createSandbox({ name: "taken" });
  const dialog = new CreateDialog(page);
  await open("sandboxes?new=1");
  await dialog.field("Name").fill("taken");
  await dialog.submit();
  await eventually(async () => (await dialog.field("Name").getAttribute("aria-invalid")) === "true", "the name is marked");
});

journey("tokens and menus filter, the address keeps them, and Clear all takes them away", async ({ page, open }) => {
  await Promise.all(["red", "blue"].map((team) => createSandbox({ name: `filter-${team}`, labels: { team } })));
  const sandboxes = new Sandboxes(page);
  await open("sandboxes");
  await sandboxes.row("filter-red").waitFor();
  await sandboxes.search().fill("label:team=red");
  await sandboxes.row("filter-blue").waitFor({ state: "detached" });
  assert.equal(new URL(page.url()).searchParams.get("q"), "label:team=red");
  await page.reload();
  await sandboxes.row("filter-red").waitFor();
  assert.equal(await sandboxes.row("filter-blue").count(), 0);
  await sandboxes.filter("State");
  await page.getByRole("menuitemcheckbox", { name: "failed" }).click();
  await page.getByRole("heading", { name: "No sandbox matches" }).waitFor();
  await checkAxe(page, "no match");
  await page.getByRole("button", { name: "Clear all" }).first().click();
  await sandboxes.row("filter-blue").waitFor();
});

journey("several are selected and stopped at once, and Undo starts them again", async ({ page, open }) => {
  await Promise.all([1, 2, 3].map((n) => createSandbox({ name: `bulk-${n}` })));
  const sandboxes = new Sandboxes(page);
  await open("sandboxes?q=bulk-");
  for (const n of [1, 2, 3]) await sandboxes.select(`bulk-${n}`);
  await page.getByText("All 3 matching selected").waitFor();
  await screenshot(page, "sandboxes-selected");
  await sandboxes.selection().getByRole("button", { name: "Stop" }).click();
  for (const n of [1, 2, 3]) await sandboxes.state(`bulk-${n}`, "stopped").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  for (const n of [1, 2, 3]) await sandboxes.state(`bulk-${n}`, "started").waitFor();
});

journey("two tabs update each other, and what others do arrives", async ({ page, context, open }) => {
  const other = await context.newPage();
  await open("sandboxes");
  await other.goto(page.url());
  const { id } = await createSandbox({ name: "seen-twice" });
  await new Sandboxes(page).state("seen-twice", "started").waitFor();
  await new Sandboxes(other).state("seen-twice", "started").waitFor();
  await new Sandboxes(page).act("seen-twice", "Stop");
  await new Sandboxes(other).state("seen-twice", "stopped").waitFor();
  await api("DELETE", `/api/sandbox/instances/${id}`);
  await new Sandboxes(other).row("seen-twice").waitFor({ state: "detached" });
});

journey("the main path goes by keyboard alone", async ({ page, open }) => {
  const { id } = await createSandbox({ name: "by-keyboard" });
  const sandboxes = new Sandboxes(page);
  await open("overview");
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  await sandboxes.row("by-keyboard").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("by-keyboard");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("j");
  await page.keyboard.press("e");
  await sandboxes.state("by-keyboard", "stopped").waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(new RegExp(`/sandboxes/${id}`));
  await page.getByRole("heading", { level: 1, name: /by-keyboard/ }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: /^Search/ }).fill("overview");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  await checkAxe(page, "the sheet of shortcuts");
  await page.keyboard.press("Escape");
});

/** Sandboxes in several states, as a small team has them. */
async function makeSome() {
  const names = ["web-frontend", "checkout-api", "nightly-report", "agent-refactor-41", "agent-refactor-42", "data-import", "eval-run-7", "docs-preview"];
  const boxes = await Promise.all(names.map((name, i) => createSandbox({ name, persistent: i % 3 === 0, labels: i % 2 ? { team: "agents", run: String(i) } : { team: "web" }, resources: { cpu: 1 + (i % 2), memory_mb: 512 * (1 + (i % 3)) } })));
  await api("POST", `/api/sandbox/instances/${boxes[2].id}/pause`);
  await api("POST", `/api/sandbox/instances/${boxes[5].id}/stop`);
  await api("POST", `/api/sandbox/instances/${boxes[6].id}/pause`);
  const busy = "end=$(($(date +%s)+20)); while [ $(date +%s) -lt $end ]; do :; done";
  await api("POST", `/v1/tools/bash`, { sandbox: boxes[1].id, command: busy, background: true }).catch(() => undefined);
  return names;
}

journey("axe finds nothing, with rows, with a menu open and on a phone", async ({ page, open }) => {
  const names = await makeSome();
  const sandboxes = new Sandboxes(page);
  await open("overview");
  await page.getByRole("grid", { name: "Recent sandboxes" }).getByRole("link", { name: names[0] }).waitFor();
  await sandboxes.live().waitFor();
  await screenshot(page, "overview");
  await open("sandboxes");
  for (const name of names) await sandboxes.row(name).waitFor();
  await sandboxes.state("data-import", "stopped").waitFor();
  await sandboxes.live().waitFor();
  await checkAxe(page, "sandboxes");
  await screenshot(page, "sandboxes");
  await sandboxes.row(names[0]).getByRole("button", { name: `Actions for ${names[0]}` }).click();
  await checkAxe(page, "the menu of a row");
  await page.keyboard.press("Escape");
  await page.setViewportSize(PHONE);
  await checkAxe(page, "sandboxes on a phone");
  await screenshot(page, "sandboxes-phone");
});
