// SPDX-License-Identifier: Apache-2.0
// The network, with a machine that sandboxes can reach: a refused host that one click allows, the cut by a quota, the source address.
import assert from "node:assert/strict";
import { api, checkAxe, createSandbox, eventually, journey, loaded, PHONE, projectId, screenshot, SERVER } from "./harness.mjs";

const { FAR, NEAR } = process.env;
const PATH = "/api/sandbox/instances";

/** What a program in the sandbox gets from http://allowed.test, which is FAR. */
const ASK = "import urllib.request as u\ntry: print(u.urlopen('http://allowed.test/', timeout=10).read().decode())\nexcept Exception as e: print('failed', e)";
const ask = async (id) => (await api("POST", `${PATH}/${id}/exec`, { cmd: "python3", args: ["-c", ASK], timeout_ms: 30000 })).stdout;
/** Datagrams that nobody answers: about so many MB. */
const send = (id, mb) => api("POST", `${PATH}/${id}/exec`, { cmd: "python3", args: ["-c", `import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nfor _ in range(${mb} * 1049): s.sendto(bytes(1000), ('${FAR}', 9))`], timeout_ms: 60000 });
const setQuota = async (mb) => api("PATCH", `/v1/quotas/project/${await projectId()}`, { egress_mb_per_day: mb });

journey("a click on the page of the sandbox allows a host, and the same command works in the same sandbox", async ({ page, open }) => {
  const sandbox = await createSandbox({ name: "asks", egress: { allow: ["other.test"], deny: ["0.0.0.0/0"] } });
  await open(`sandboxes/${sandbox.id}/network`);
  await page.getByText("Nothing was decided yet.").waitFor();
  assert.match(await ask(sandbox.id), /^failed/);
  const row = page.getByRole("region", { name: "Network decisions" }).getByRole("row").filter({ hasText: "allowed.test" });
  await row.getByText("no rule allows the host").waitFor();
  await page.getByText("Refused", { exact: true }).click();
  await row.first().waitFor();
  await checkAxe(page, "decisions of a sandbox");
  await row.first().getByRole("button", { name: "Allow this host" }).click();
  await page.getByText("The host is allowed from now on").waitFor();
  await row.getByRole("button", { name: "Allow this host" }).first().waitFor({ state: "detached" });
  assert.match(await ask(sandbox.id), new RegExp(`^hello of ${FAR}`));
  await page.getByText("All", { exact: true }).click();
  await row.filter({ hasText: "a rule allows it" }).first().waitFor();
});

journey("on the page of all sandboxes, too, by the keyboard alone", async ({ page, open }) => {
  const sandbox = await createSandbox({ name: "asks-again", egress: { allow: ["other.test"], deny: ["0.0.0.0/0"] } });
  assert.match(await ask(sandbox.id), /^failed/);
  await open("network");
  await loaded(page);
  const row = page.getByRole("grid", { name: "Network" }).getByRole("row").filter({ hasText: "asks-again" });
  await row.getByText("no rule allows the host").waitFor();
  await page.getByRole("searchbox", { name: "Search host, sandbox, reason" }).fill("no rule allows");
  await row.waitFor();
  await page.getByRole("searchbox", { name: "Search host, sandbox, reason" }).fill("nothing of the kind");
  await page.getByText("No decision fits").waitFor();
  await page.getByRole("searchbox", { name: "Search host, sandbox, reason" }).fill("asks-again");
  await row.getByRole("button", { name: "Allow this host" }).focus();
  await page.keyboard.press("Enter");
  await row.getByText("allowed now").waitFor();
  assert.match(await ask(sandbox.id), new RegExp(`^hello of ${FAR}`));
});

journey("a used-up quota takes the network: the open page says so by itself, and when it is back", async ({ page, open }) => {
  const sandbox = await createSandbox({ name: "talks", egress: { allow: ["allowed.test", `${FAR}/32`], deny: ["0.0.0.0/0"] } });
  try {
    await setQuota(2);
    await open(`sandboxes/${sandbox.id}/network`);
    await loaded(page);
    assert.match(await ask(sandbox.id), /^hello/);
    const cut = page.getByText("This sandbox reaches no address, whatever its rules say:");
    assert.equal(await cut.count(), 0);
    await send(sandbox.id, 3);
    await cut.waitFor();
    assert.match(await cut.innerText(), /egress_mb_per_day/);
    await page.getByRole("link", { name: "network cut" }).waitFor();
    assert.match(await ask(sandbox.id), /^failed/);
    const row = page.getByRole("region", { name: "Network decisions" }).getByRole("row").filter({ hasText: "a quota of sent bytes is used up" }).first();
    await row.waitFor();
    assert.equal(await row.getByRole("button", { name: "Allow this host" }).count(), 0, "a rule would change nothing");
    await checkAxe(page, "a sandbox that is cut off");
    await screenshot(page, "sandbox-network-cut");
    await open("usage");
    await loaded(page);
    const quota = page.getByRole("region", { name: "Quotas" }).getByRole("row").filter({ hasText: "Sent per day" });
    await quota.getByText(/of 2 MB/).waitFor();
    assert.notEqual(await quota.getByRole("cell").last().innerText(), "–", "when it begins anew");
    await checkAxe(page, "a used-up quota");
    await open(`sandboxes/${sandbox.id}/network`);
    await cut.waitFor();
    await setQuota(1000);
    await cut.waitFor({ state: "detached" });
    assert.equal(await page.getByRole("link", { name: "network cut" }).count(), 0);
    assert.match(await ask(sandbox.id), /^hello/);
  } finally {
    await setQuota(0);
  }
});

journey("an admin sets quotas of the project, the organisation and a key, and takes them away", async ({ page, open }) => {
  const limitsOf = async (path) => Object.fromEntries((await api("GET", `/v1/quotas/${path}`)).items.map((q) => [q.name, q.limit]));
  const key = await api("POST", "/api/sandbox/keys", { name: "limited", scopes: ["sandbox:read"] });
  await open("usage");
  await loaded(page);
  const card = page.getByRole("region", { name: "Quotas" });
  await page.getByRole("button", { name: "Set quotas" }).click();
  const dialog = page.getByRole("dialog", { name: "Set quotas" });
  await dialog.getByRole("spinbutton", { name: "Running sandboxes" }).fill("-1");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText("Give 0 or more.").waitFor();
  await dialog.getByRole("spinbutton", { name: "Running sandboxes" }).fill("77");
  await dialog.getByRole("spinbutton", { name: "Sent per day" }).fill("5000");
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByText("The quotas hold from now on").first().waitFor();
  const project = `project/${await projectId()}`;
  const set = await limitsOf(project);
  assert.deepEqual([set.sandboxes_running, set.egress_mb_per_day, set.cpu], [77, 5000, 0]);
  await checkAxe(page, "set quotas");
  for (const [scope, path] of [["Organisation", "organization/default"], ["Key", `key/${key.id}`]]) {
    await dialog.getByRole("radio", { name: scope }).check({ force: true });
    if (scope === "Key") await dialog.getByRole("combobox", { name: "Key" }).selectOption({ value: key.id });
    await dialog.getByRole("spinbutton", { name: "CPUs" }).fill("50");
    await dialog.getByRole("button", { name: "Save" }).click();
    await eventually(async () => (await limitsOf(path)).cpu === 50, `the quota of ${path}`);
    await api("PATCH", `/v1/quotas/${path}`, { cpu: 0 });
  }
  await dialog.getByRole("radio", { name: "Project" }).check({ force: true });
  await dialog.getByRole("spinbutton", { name: "Running sandboxes" }).fill("0");
  await dialog.getByRole("spinbutton", { name: "Sent per day" }).fill("0");
  await dialog.getByRole("button", { name: "Save" }).click();
  await eventually(async () => Object.values(await limitsOf(project)).every((limit) => limit === 0), "no quota");
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await api("DELETE", `/api/sandbox/keys/${key.id}`);
});

journey("the source address of the project is set, refused at its field, and taken away", async ({ page, open }) => {
  const project = `/v1/projects/${await projectId()}`;
  await open("settings");
  await loaded(page);
  const field = page.getByRole("textbox", { name: "Source address" });
  const save = page.getByRole("region", { name: "You have changes that are not saved." }).getByRole("button", { name: "Save" });
  const description = () => field.evaluate((e) => (e.getAttribute("aria-describedby") ?? "").split(" ").map((id) => document.getElementById(id)?.textContent ?? "").join(" "));
  await field.fill("not an address");
  await save.click();
  await eventually(async () => (await field.getAttribute("aria-invalid")) === "true", "the error at the field");
  assert.match(await description(), /address/);
  assert.equal((await api("GET", project)).source_address, null);
  await checkAxe(page, "a wrong source address");
  await field.fill(NEAR);
  await save.click();
  await page.getByText("The settings are saved").first().waitFor();
  assert.equal((await api("GET", project)).source_address, NEAR);
  await page.reload();
  await loaded(page);
  assert.equal(await field.inputValue(), NEAR);
  await field.fill("");
  await save.click();
  await eventually(async () => (await api("GET", project)).source_address === null, "the address to be taken away");
});

journey("a caller who may not set the source address reads it", async ({ page, context, open }) => {
  await api("PATCH", `/v1/projects/${await projectId()}`, { source_address: NEAR });
  const key = await api("POST", "/api/sandbox/keys", { name: "member", scopes: ["sandbox:read", "sandbox:write", "project:write"] });
  try {
    assert.ok((await context.request.post(`${SERVER}/v1/session`, { data: { key: key.key } })).ok());
    await open("settings");
    await loaded(page);
    await page.getByText(NEAR, { exact: true }).waitFor();
    assert.equal(await page.getByRole("textbox", { name: "Source address" }).count(), 0);
  } finally {
    await api("PATCH", `/v1/projects/${await projectId()}`, { source_address: "" });
    await api("DELETE", `/api/sandbox/keys/${key.id}`);
  }
}, { isSignedOut: true });

journey("a long list of decisions is read in pages, and on a phone nothing is wider than the screen", async ({ page, open }) => {
  const sandbox = await createSandbox({ name: "noisy", egress: { allow: ["other.test"], deny: ["0.0.0.0/0"] } });
  const hosts = Array.from({ length: 60 }, (_, i) => `host-${i}.refused-by-the-rules-of-this-sandbox.test`);
  const code = `import time as t, urllib.request as u\nfor h in ${JSON.stringify(hosts)}:\n  try: u.urlopen('http://' + h, timeout=5)\n  except Exception: pass\n  t.sleep(0.1)`;
  await api("POST", `${PATH}/${sandbox.id}/exec`, { cmd: "python3", args: ["-c", code], timeout_ms: 60000 });
  const log = `${PATH}/${sandbox.id}/egress/log?last=1000&decision=denied`;
  await eventually(async () => (await api("GET", log)).items.length > 50, "the decisions");
  await open(`sandboxes/${sandbox.id}/network?decisions=denied`);
  await loaded(page);
  const table = page.getByRole("region", { name: "Network decisions" });
  await table.getByRole("row").nth(50).waitFor();
  assert.equal(await table.getByRole("row").count(), 51);
  await page.getByRole("button", { name: "Show older" }).click();
  await eventually(async () => (await table.getByRole("row").count()) > 51, "older decisions");
  for (const name of [`sandboxes/${sandbox.id}/network`, "network", "usage", "settings"]) {
    await open(name);
    await loaded(page);
    // The page scrolls in its frame: the document itself is as large as the screen.
    const more = await page.evaluate(() => [document.documentElement.scrollWidth - innerWidth, document.documentElement.scrollHeight - innerHeight]);
    assert.deepEqual(more.map((px) => Math.max(px, 0)), [0, 0], name);
  }
}, { viewport: PHONE });
