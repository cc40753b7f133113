// SPDX-License-Identifier: Apache-2.0
// The tabs of a sandbox: preview, network, activity, snapshots, cost.
import assert from "node:assert/strict";
import { api, checkAxe, createSandbox, eventually, journey, KEY, loaded, PHONE, projectId, screenshot, SERVER } from "./harness.mjs";
import { BuildShell } from "./build_pages.mjs";
import { readQr, withoutDecoder } from "./qr.mjs";

const HOSTILE = `<img src=x onerror="window.broken=1">"'\`\u202e&lt;`;

/** No text of a program or user became markup or ran. */
async function checkText(page) {
  assert.equal(await page.evaluate(() => window.broken), undefined);
  assert.equal(await page.locator("main img").count(), 0);
}

const exec = (id, command) => api("POST", `/api/sandbox/instances/${id}/exec`, { command });

/** Serves a page at port 8123. */
const serve = (html) => `mkdir -p /tmp/w && cd /tmp/w && cat > index.html <<'END'\n${html}\nEND\n(setsid python3 -m http.server 8123 >/dev/null 2>&1 &); until (exec 3<>/dev/tcp/127.0.0.1/8123) 2>/dev/null; do sleep 0.05; done`;

journey("network rules are edited and hold", async ({ page, open }) => {
  const sandbox = await createSandbox({ name: "net" });
  const shell = new BuildShell(page);
  await open(`sandboxes/${sandbox.id}/network`);
  await shell.choice("Mode", "Only what is allowed");
  await page.getByText("Nothing is allowed yet").waitFor();
  await page.getByLabel("Allow an address, range or name").fill("*.example.com, 203.0.113.0/24");
  await shell.button("Add").click();
  await page.getByLabel("Allow an address, range or name").fill("two words");
  await shell.button("Add").click();
  await page.getByText("A rule has no spaces").waitFor();
  await checkAxe(page);
  await screenshot(page, "sandbox-network");
  await shell.button("Apply").click();
  await page.getByText("The rules hold from now on").waitFor();
  const stored = await api("GET", `/api/sandbox/instances/${sandbox.id}`);
  assert.deepEqual(stored.egress, { allow: ["*.example.com", "203.0.113.0/24"], deny: ["0.0.0.0/0"] });
  await page.getByLabel("Allow an address, range or name").fill("not-a-name!");
  await shell.button("Add").click();
  await shell.button("Apply").click();
  await page.getByRole("main").getByRole("alert").waitFor();
  await shell.button("Discard").click();
  await shell.choice("Mode", "Everything");
  await page.getByText("1 host name in the list").waitFor();
});

journey("a port that listens is opened, shown and shared, and all links end", async ({ page, context, open }) => {
  const sandbox = await createSandbox({ name: "web", previewPublic: true });
  const shell = new BuildShell(page);
  await open(`sandboxes/${sandbox.id}/preview`);
  await page.getByText("No program listens yet").waitFor();
  // The list follows what begins and ends inside, without a reload.
  await exec(sandbox.id, serve("hello-from-inside"));
  const ports = page.getByRole("list", { name: "Ports that listen" });
  await ports.getByText("8123", { exact: true }).waitFor({ timeout: 10000 });
  await exec(sandbox.id, "kill $(pidof -x python3 || pidof python3)");
  await page.getByText("No program listens yet").waitFor({ timeout: 10000 });
  await exec(sandbox.id, serve("hello-from-inside"));
  await page.getByLabel("Another port").fill("8123");
  await shell.button("Show it").click();
  await ports.getByText("8123", { exact: true }).waitFor();
  await checkAxe(page);
  // The console at 127.0.0.1 and the previews are different sites: previews refuse to be framed, so there is a link.
  await page.getByRole("main").getByRole("link", { name: "Open in a new tab" }).last().waitFor();
  const [tab] = await Promise.all([context.waitForEvent("page"), ports.getByRole("button", { name: "Open", exact: true }).click()]);
  await tab.getByText("hello-from-inside").waitFor();
  assert.equal(await tab.evaluate(() => window.opener), null);
  await tab.close(); // a page behind another one has few frames
  await ports.getByRole("button", { name: "Share…" }).click();
  const share = shell.dialog("Share port 8123");
  await share.getByLabel("The link works for").selectOption({ label: "1 hour" });
  await share.getByRole("button", { name: "Make the link" }).click();
  await share.getByRole("img", { name: "QR code of the link" }).waitFor();
  const link = (await share.locator("code").innerText()).trim();
  assert.match(link, /^https?:\/\//);
  await share.getByRole("button", { name: "Close" }).first().click();
  await shell.button("End all links").click();
  await shell.dialog("End all links?").getByRole("button", { name: "End all links" }).click();
  await page.getByText("All links have ended").waitFor();
  await page.getByRole("switch", { name: "Previews" }).click();
  await eventually(async () => (await api("GET", `/api/sandbox/instances/${sandbox.id}/preview`)).enabled === false, "the switch");
});

journey("the QR code of a link is the link, in light and dark", async ({ page, open }) => {
  const sandbox = await createSandbox({ name: "code", previewPublic: true });
  await exec(sandbox.id, serve("by-camera"));
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await open(`sandboxes/${sandbox.id}/preview?port=8123`);
    await page.getByRole("list", { name: "Ports that listen" }).getByRole("button", { name: "Share…" }).first().click();
    const share = new BuildShell(page).dialog("Share port 8123");
    await share.getByRole("button", { name: "Make the link" }).click();
    const code = share.getByRole("img", { name: "QR code of the link" });
    await code.waitFor();
    const link = (await share.locator("code").innerText()).trim();
    const read = await readQr(code);
    assert.equal(read, link, colorScheme);
    const tab = await page.context().newPage();
    await tab.goto(read);
    await tab.getByText("by-camera").waitFor();
    await tab.close();
  }
}, { test: { skip: withoutDecoder } });

journey("a port is shown in a frame on an origin of its own", async ({ page }) => {
  const sandbox = await createSandbox({ name: "framed" });
  const { domain } = await api("GET", `/api/sandbox/instances/${sandbox.id}/preview`);
  assert.match(domain ?? "", /^p\.atoll\.localhost/, "the server of the tests has a preview domain");
  await exec(sandbox.id, serve("<title>in</title><h1>hello-from-inside</h1><script>try { document.title = parent.document.title; } catch { document.title = 'refused'; }</script>"));
  const host = SERVER.replace("127.0.0.1", "atoll.localhost");
  await page.goto(`${host}/console/sign-in`);
  await page.evaluate((key) => fetch("/v1/session", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ key }) }), KEY);
  await page.goto(`${host}/console/p/${await projectId()}/sandboxes/${sandbox.id}/preview?port=8123`);
  const shell = new BuildShell(page);
  const frame = page.frameLocator('iframe[title="Preview of port 8123"]');
  await frame.getByRole("heading", { name: "hello-from-inside" }).waitFor();
  const inner = page.frames().find((f) => f.url().includes("p.atoll.localhost"));
  assert.equal(await inner.title(), "refused", "what a sandbox serves cannot read the console");
  await shell.choice("Width", "390 px");
  assert.equal((await page.locator("iframe").boundingBox()).width, 390);
  await checkAxe(page);
  await screenshot(page, "sandbox-preview");
});

journey("a snapshot is taken, compared, and restored after a question", async ({ page, open }) => {
  const sandbox = await createSandbox({ name: "snap" });
  const shell = new BuildShell(page);
  await open(`sandboxes/${sandbox.id}/snapshots`);
  await page.getByRole("heading", { name: "No snapshot of this sandbox yet" }).waitFor();
  await checkAxe(page);
  await shell.button("Take a snapshot…").click();
  await shell.dialog("Take a snapshot").getByLabel("Name").fill("before");
  await shell.dialog("Take a snapshot").getByRole("button", { name: "Take it" }).click();
  const tree = page.getByRole("tree", { name: "Lineage" });
  await tree.getByText("before").waitFor();
  await exec(sandbox.id, "echo changed > later.txt");
  await tree.getByText("This sandbox now").click();
  await tree.getByText("before").click();
  await page.getByText("later.txt").waitFor();
  await checkAxe(page);
  await screenshot(page, "sandbox-snapshots");
  await shell.menu("before", "Restore");
  await shell.dialog("Restore before into its sandbox?").getByRole("button", { name: "Restore" }).click();
  await page.getByText("Restored", { exact: true }).waitFor();
  await shell.button("Fork…").click();
  await shell.dialog("Fork this sandbox").getByLabel("How many").fill("2");
  await shell.dialog("Fork this sandbox").getByRole("button", { name: "Fork" }).click();
  await page.getByText("Made 2 forks").waitFor();
  const all = await api("GET", "/api/sandbox/instances?limit=100");
  for (const made of all.items.filter((s) => s.id !== sandbox.id)) await api("DELETE", `/api/sandbox/instances/${made.id}`);
});

journey("cost says what there is, and a budget is set, changed and removed", async ({ page, open }) => {
  const sandbox = await createSandbox({ name: "cost" });
  const shell = new BuildShell(page);
  await open(`sandboxes/${sandbox.id}/cost`);
  await page.getByText("No budget limits this sandbox alone").waitFor();
  await checkAxe(page);
  await shell.button("Set a budget").click();
  await shell.dialog("Set a budget for this sandbox").getByLabel("Limit").fill("5");
  await shell.dialog("Set a budget for this sandbox").getByRole("button", { name: "Set a budget" }).click();
  await page.getByText("$0.00 of $5.00, each month").waitFor();
  await shell.button("Change").click();
  await shell.dialog("Change the budget").getByLabel("Limit").fill("7");
  await shell.dialog("Change the budget").getByRole("button", { name: "Save" }).click();
  await page.getByText("$0.00 of $7.00, each month").waitFor();
  await checkAxe(page);
  await screenshot(page, "sandbox-cost");
  await shell.button("Remove").click();
  await shell.dialog("Remove this budget?").getByRole("button", { name: "Remove" }).click();
  await page.getByText("No budget limits this sandbox alone").waitFor();
});

journey("activity lists calls, also hostile ones, as text", async ({ page, open }) => {
  const sandbox = await createSandbox({ name: "act" });
  await exec(sandbox.id, "ls -l /usr/lib | head -n 20");
  await exec(sandbox.id, "grep -c processor /proc/cpuinfo");
  await exec(sandbox.id, "test -f results.json || exit 3").catch(() => undefined);
  await open(`sandboxes/${sandbox.id}/activity`);
  const hasActivity = await api("GET", `/api/sandbox/instances/${sandbox.id}/activity`).then(() => true, () => false);
  if (!hasActivity) {
    await page.getByRole("heading", { name: "This server keeps no activity" }).waitFor();
    await checkAxe(page);
    return;
  }
  const grid = page.getByRole("grid", { name: "Activity" });
  await grid.getByText("exit 3", { exact: true }).waitFor();
  await exec(sandbox.id, "echo came-live");
  await grid.getByText("echo came-live").waitFor();
  await checkAxe(page);
  await screenshot(page, "sandbox-activity");
  await exec(sandbox.id, `echo '${HOSTILE.replaceAll("'", "")}'; exit 4`).catch(() => undefined);
  await grid.getByText("exit 4", { exact: true }).waitFor();
  await page.getByLabel("Only failed").click();
  await grid.getByText("echo came-live").waitFor({ state: "detached" });
  await grid.getByRole("button", { name: "Call" }).first().click();
  const sheet = page.getByRole("dialog");
  await sheet.getByRole("region", { name: "Output" }).waitFor();
  assert.match(await sheet.innerText(), /onerror=/);
  await checkText(page);
  await checkAxe(page, "a call");
  await page.keyboard.press("Escape");
  await sheet.waitFor({ state: "detached" });
});

journey("the tabs fit a phone", async ({ page, open }) => {
  const sandbox = await createSandbox({ name: "phone-tabs" });
  for (const tab of ["preview", "network", "activity", "snapshots", "cost"]) {
    await open(`sandboxes/${sandbox.id}/${tab}`);
    await loaded(page);
    await screenshot(page, `phone-${tab}`, ["light"]);
    const width = await page.evaluate(() => document.scrollingElement.scrollWidth);
    assert.ok(width <= PHONE.width, `${tab} is ${width} px wide`);
  }
}, { viewport: PHONE });
