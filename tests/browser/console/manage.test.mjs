// SPDX-License-Identifier: Apache-2.0
// Keys, members, approvals, events, webhooks, usage, settings, server and profile.
import assert from "node:assert/strict";
import { api, checkAxe, createSandbox, eventually, journey, KEY, loaded, PHONE, screenshot, SERVER } from "./harness.mjs";

const HOSTILE = ['<img src=x onerror="window.hurt=1">', "<script>window.hurt=1</script>", "javascript:window.hurt=1", "\u202egnp.exe", "{{7*7}}", "'\"><svg onload=window.hurt=1>"];

async function asKey(key, method, path, body) {
  const answer = await fetch(SERVER + path, { method, headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" }, body: JSON.stringify(body) });
  return { status: answer.status, body: await answer.json() };
}

/** A call of another key that waits for approval. */
async function waitingCall(command, { tool = "bash", input = { command }, files = {} } = {}) {
  const sandbox = await createSandbox();
  for (const [path, text] of Object.entries(files)) {
    const address = `${SERVER}/api/sandbox/instances/${sandbox.id}/files/content?path=${encodeURIComponent(path)}`;
    assert.ok((await fetch(address, { method: "PUT", headers: { Authorization: `Bearer ${KEY}` }, body: text })).ok);
  }
  const agent = await api("POST", "/api/sandbox/keys", { name: "agent", scopes: ["sandbox:read", "sandbox:write"] });
  const config = await api("POST", "/accounts/me/sandboxes", { name: `ask-${Date.now()}`, config: { template: "host", permissionMode: "ask" } });
  const again = () => asKey(agent.key, "POST", `/v1/tools/${tool}`, { sandboxId: sandbox.id, config: config.id, approvalWaitMs: 0, input });
  const first = await again();
  assert.ok(first.body.approvalId, JSON.stringify(first));
  const clean = async () => {
    await api("DELETE", `/accounts/me/sandboxes/${config.id}`);
    await api("DELETE", `/api/sandbox/keys/${agent.id}`);
  };
  return { again, clean, id: first.body.approvalId };
}

for (const name of ["keys", "members", "members?tab=invitations", "members?tab=users", "approvals", "approvals?tab=decided", "events", "webhooks", "usage", "settings", "providers", "server", "profile"]) {
  journey(`${name} opens, and axe finds nothing`, async ({ page, open }) => {
    await open(name);
    await loaded(page);
    const alerts = await page.getByRole("main").getByRole("alert").allInnerTexts();
    assert.deepEqual(alerts, []);
    await checkAxe(page, name);
    await screenshot(page, name.replace("?tab=", "-"));
  });
}

journey("on a phone no page is wider than the screen", async ({ page, open }) => {
  for (const name of ["keys", "members", "approvals", "events", "webhooks", "usage", "settings", "providers", "server", "profile", "playground"]) {
    await open(name);
    await loaded(page);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${name}: ${wide} px too wide`);
    await screenshot(page, `phone-${name}`, ["light"]);
  }
}, { viewport: PHONE });

journey("a key is made, works, is rotated and revoked", async ({ page, open }) => {
  await open("keys");
  await loaded(page); // the key has a meaning once the list is there
  await page.keyboard.press("c");
  const form = page.getByRole("dialog", { name: "Create key" });
  await form.getByRole("button", { name: "Create" }).click();
  await form.getByText("This is needed.").waitFor();
  await form.getByRole("textbox", { name: "Name" }).fill("from-console");
  await form.getByText("Read only").click();
  await checkAxe(page, "create a key");
  await screenshot(page, "keys-create");
  await form.getByRole("button", { name: "Create" }).click();
  const once = page.getByRole("dialog", { name: "Key from-console" });
  const text = await once.getByRole("region", { name: "Atoll" }).innerText();
  const key = /ATOLL_API_KEY=(\S+)/.exec(text)[1];
  assert.match(await once.getByRole("region", { name: "E2B SDK" }).innerText(), /E2B_API_KEY=e2b_/);
  await checkAxe(page, "a key shown once");
  await once.getByRole("button", { name: "I have copied it" }).click();
  assert.equal((await page.content()).includes(key), false, "the key is nowhere on the page");
  assert.equal((await asKey(key, "POST", "/api/sandbox/keys", { name: "more" })).status, 403);
  const row = page.getByRole("row").filter({ hasText: "from-console" });
  await row.getByText("Read only").waitFor();
  await row.getByRole("button", { name: "Actions for from-console" }).click();
  await page.getByRole("menuitem", { name: "Rotate" }).click();
  const rotate = page.getByRole("dialog", { name: "Rotate from-console?" });
  await rotate.getByRole("combobox").selectOption({ label: "No longer" });
  await rotate.getByRole("button", { name: "Rotate" }).click();
  await page.getByRole("button", { name: "I have copied it" }).click();
  assert.equal((await fetch(`${SERVER}/accounts/me`, { headers: { Authorization: `Bearer ${key}` } })).status, 401);
  await page.getByRole("row").filter({ hasText: "from-console" }).getByRole("button", { name: "Actions for from-console" }).click();
  await page.getByRole("menuitem", { name: "Revoke" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await row.waitFor({ state: "detached" });
});

journey("a waiting call is approved by a key, another one is refused with a reason, in two tabs", async ({ page, context, open }) => {
  await open("approvals");
  await page.getByText("Nothing waits").waitFor();
  const first = await waitingCall("echo '<i>one'");
  const other = await context.newPage();
  await other.goto(page.url());
  await page.getByRole("heading", { level: 2, name: "bash" }).waitFor();
  await page.getByRole("region", { name: "command" }).getByText("echo '<i>one'").waitFor();
  await checkAxe(page, "an approval");
  await screenshot(page, "approvals-open");
  await other.getByRole("heading", { level: 2, name: "bash" }).waitFor();
  await page.bringToFront();
  await page.keyboard.press("a");
  await page.getByText("Nothing waits").waitFor();
  await other.getByText("Nothing waits").waitFor();
  assert.equal((await first.again()).status, 200);
  const second = await waitingCall("rm -rf build");
  await page.getByRole("region", { name: "command" }).getByText("rm -rf build").waitFor();
  await page.keyboard.press("r");
  const refuse = page.getByRole("dialog", { name: "Refuse bash?" });
  await refuse.getByRole("textbox", { name: "Reason" }).fill("not today");
  await refuse.getByRole("button", { name: "Refuse" }).click();
  await page.getByText("Nothing waits").waitFor();
  const refused = await api("GET", `/v1/approvals/${second.id}`);
  assert.deepEqual([refused.state, refused.note], ["refused", "not today"]);
  await page.getByRole("navigation", { name: "Approvals by state" }).getByRole("link", { name: "Decided" }).click();
  await page.getByRole("row").filter({ hasText: "refused" }).first().click();
  await page.getByText("not today").first().waitFor();
  await screenshot(page, "approvals-decided");
  await first.clean();
  await second.clean();
});

journey("a waiting edit and a waiting write show the change as a diff, and the sidebar counts them", async ({ page, open }) => {
  await open("overview");
  const files = { "notes.txt": "one\ntwo\nthree\n" };
  const edit = await waitingCall("", { tool: "edit", input: { path: "notes.txt", old_string: "two\nthree", new_string: "2\nthree" }, files });
  await page.getByRole("link", { name: "Approvals, 1 waiting" }).click();
  const change = page.getByRole("region", { name: "Change of notes.txt" });
  await change.getByRole("row").filter({ hasText: "removed" }).getByText("two", { exact: true }).waitFor();
  await change.getByRole("row").filter({ hasText: "added" }).getByText("2", { exact: true }).last().waitFor();
  await checkAxe(page, "an edit that waits");
  await screenshot(page, "approvals-edit");
  await page.keyboard.press("a");
  await page.getByText("Nothing waits").waitFor();
  const write = await waitingCall("", { tool: "write", input: { path: "notes.txt", content: "one\n<b>2</b>\nthree\n" }, files });
  await change.getByRole("row").filter({ hasText: "added" }).getByText("<b>2</b>").waitFor();
  await change.getByRole("row").filter({ hasText: "removed" }).getByText("two", { exact: true }).waitFor();
  await page.keyboard.press("a");
  await page.getByText("Nothing waits").waitFor();
  const made = await waitingCall("", { tool: "write", input: { path: "new.txt", content: "fresh\n" } });
  await page.getByText("The call makes a new file.").waitFor();
  await page.getByRole("region", { name: "Change of new.txt" }).getByText("fresh").waitFor();
  await page.keyboard.press("a");
  await page.getByRole("link", { name: "Approvals", exact: true }).waitFor();
  for (const call of [edit, write, made]) await call.clean();
});

journey("events come by themselves, wait while paused, and are filtered by the address", async ({ page, open }) => {
  await open("events");
  const one = await createSandbox({ name: "event-one" });
  const grid = page.getByRole("grid", { name: "Events" });
  await grid.getByRole("row").filter({ hasText: one.id.slice(0, 8) }).first().waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await createSandbox({ name: "event-two" });
  await page.getByText(/Paused · [1-9]\d* new/).waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("combobox", { name: "Kind" }).fill("sandbox.created");
  await eventually(() => page.url().includes("kind=sandbox.created"), "the filter in the address");
  await eventually(async () => (await grid.getByRole("row").filter({ hasText: "sandbox.started" }).count()) === 0, "other kinds leave");
  await grid.getByRole("row").filter({ hasText: "sandbox.created" }).first().click();
  const sheet = page.getByRole("dialog", { name: "sandbox.created" });
  await sheet.getByRole("region", { name: "As JSON" }).waitFor();
  await checkAxe(page, "an event");
  await screenshot(page, "events-open");
});

journey("an event between the first answer and the start of the stream is shown", async ({ page, open }) => {
  let release;
  const made = new Promise((resolve) => { release = resolve; });
  const isNewest = (url) => url.pathname === "/v1/events" && url.searchParams.get("last") === "1";
  await page.route(isNewest, async (route) => {
    await made;
    await route.continue();
  });
  const answered = page.waitForResponse((answer) => answer.url().includes("/v1/events?last=500"));
  await open("events");
  await answered;
  const sandbox = await createSandbox({ name: "between" });
  release();
  await page.getByRole("grid", { name: "Events" }).getByRole("row").filter({ hasText: sandbox.id.slice(0, 8) }).first().waitFor();
});

journey("a webhook is made, its secret is shown once, it is switched off and deleted", async ({ page, open }) => {
  await open("webhooks");
  await page.getByRole("button", { name: "Create webhook" }).first().click();
  const form = page.getByRole("dialog", { name: "Create webhook" });
  await form.getByRole("textbox", { name: "Address" }).fill("https://example.com/hook");
  await form.getByRole("textbox", { name: "Kinds of events" }).fill("sandbox.*");
  await form.getByRole("button", { name: "Create" }).click();
  await page.getByRole("dialog", { name: "The webhook's secret" }).getByRole("button", { name: "I have copied it" }).click();
  await page.getByRole("link", { name: "https://example.com/hook" }).click();
  await page.getByRole("heading", { level: 1, name: "https://example.com/hook" }).waitFor();
  await page.getByText("No event was sent yet").waitFor();
  // This server sends to no receiver of the test: only the count of dead deliveries is made up.
  const isOne = (url) => /^\/v1\/webhooks\/[^/]+$/.test(url.pathname);
  await page.route(isOne, async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, json: { ...(await answer.json()), dead: 2 } });
  });
  await page.reload();
  await page.getByRole("button", { name: "Send 2 failed again" }).click();
  await page.getByText("0 events are sent again").waitFor();
  await page.unroute(isOne);
  await page.reload();
  await page.getByRole("button", { name: "Disable" }).click();
  await page.getByRole("button", { name: "Enable" }).waitFor();
  await checkAxe(page, "a webhook");
  await screenshot(page, "webhook");
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("No webhook yet").waitFor();
});

journey("a budget of a run or a label names it, and a wrong name is told at its field", async ({ page, open }) => {
  await open("usage");
  await page.getByRole("button", { name: "Create budget" }).click();
  const form = page.getByRole("dialog", { name: "Create budget" });
  await form.getByRole("spinbutton", { name: "Limit" }).fill("3");
  await form.getByRole("combobox", { name: "Covers" }).selectOption({ label: "A label" });
  await form.getByRole("textbox", { name: "Label of sandboxes, as name=value" }).fill("team");
  await form.getByRole("button", { name: "Create" }).click();
  await form.getByText("is no NAME=VALUE").first().waitFor();
  await form.getByRole("combobox", { name: "Covers" }).selectOption({ label: "A run" });
  await form.getByRole("textbox", { name: "Run, as calls name it in Atoll-Run" }).fill("nightly/42");
  await form.getByRole("button", { name: "Create" }).click();
  const grid = page.getByRole("grid", { name: "Budgets" });
  await grid.getByText("nightly/42").waitFor();
  const [made] = (await api("GET", "/v1/budgets")).items;
  assert.deepEqual([made.scope, made.subject, made.limit_usd], ["run", "nightly/42", 3]);
  await api("DELETE", `/v1/budgets/${made.id}`);
});

journey("a budget is made, changed and deleted; usage has the same numbers as a table", async ({ page, open }) => {
  await open("usage");
  await page.getByRole("button", { name: "Create budget" }).click();
  const form = page.getByRole("dialog", { name: "Create budget" });
  await form.getByRole("spinbutton", { name: "Limit" }).fill("25");
  await form.getByRole("button", { name: "Create" }).click();
  const grid = page.getByRole("grid", { name: "Budgets" });
  await grid.getByText("of $25.00").waitFor();
  await screenshot(page, "usage-budget");
  await grid.getByRole("button", { name: "Actions for The project" }).click();
  await page.getByRole("menuitem", { name: "Edit" }).click();
  await page.getByRole("dialog", { name: "Edit" }).getByRole("spinbutton", { name: "Limit" }).fill("30");
  await page.getByRole("dialog", { name: "Edit" }).getByRole("button", { name: "Save" }).click();
  await grid.getByText("of $30.00").waitFor();
  await grid.getByRole("button", { name: "Actions for The project" }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("No budget yet").waitFor();
  await page.getByRole("combobox", { name: "Group by" }).selectOption("label");
  await page.getByText("Give the name of a label.").waitFor();
  await page.getByRole("textbox", { name: "Name of the label" }).fill("team");
  await page.keyboard.press("Enter");
  await page.getByText("Give the name of a label.").waitFor({ state: "detached" });
  assert.equal(new URL(page.url()).searchParams.get("group"), "label:team");
  await checkAxe(page, "usage by a label");
});

journey("settings are saved by Ctrl+S, and a wrong value is said at its field", async ({ page, open }) => {
  const before = (await api("GET", "/api/sandbox/settings")).terminal_ttl_seconds;
  await open("settings");
  const field = (of) => of.getByRole("spinbutton", { name: "Terminal closes after silence of" });
  await field(page).fill("99999999");
  await page.getByRole("region", { name: "You have changes that are not saved." }).waitFor();
  await page.keyboard.press("Control+s");
  await page.getByText("Give 2,592,000 or less.").waitFor();
  await checkAxe(page, "settings with an error");
  await screenshot(page, "settings-error");
  await field(page).fill("1234");
  await page.keyboard.press("Control+s");
  await page.getByText("The settings are saved").waitFor();
  assert.equal((await api("GET", "/api/sandbox/settings")).terminal_ttl_seconds, 1234);
  await api("PUT", "/api/sandbox/settings", { terminal_ttl_seconds: before });
});

journey("providers show their health, are checked, and a failing one is told on every page", async ({ page, open }) => {
  await open("providers");
  const row = (name) => page.getByRole("grid", { name: "Providers" }).getByRole("row").filter({ hasText: name });
  await row("bare").getByText("host", { exact: true }).waitFor();
  await row("bare").getByText("of 20").waitFor();
  await row("native").getByText("primary").waitFor();
  await page.getByRole("button", { name: "Check bare" }).click();
  await page.getByText(/bare made a sandbox and ended it in/).waitFor();
  await page.route("**/v1/providers", async (route) => {
    const answer = await route.fetch();
    const body = await answer.json();
    Object.assign(body.items[1], { healthy: false, last_error: HOSTILE[0], failed_at: new Date().toISOString() });
    body.items[0].warm = { ready: 1, starting: 0, wanted: 2, hits: 3, misses: 1 };
    await route.fulfill({ response: answer, json: body });
  });
  await open("keys");
  const banner = page.getByRole("status").filter({ hasText: "No sandboxes are made by: bare." });
  await banner.getByText(HOSTILE[0]).waitFor();
  await checkAxe(page, "the banner of a provider");
  await banner.getByRole("link", { name: "Providers" }).click();
  await row("bare").getByText("unhealthy").waitFor();
  const size = page.viewportSize();
  await page.setViewportSize({ width: 2200, height: 900 });
  await row("native").getByText("1 of 2", { exact: true }).waitFor();
  await page.setViewportSize(size);
  await page.unroute("**/v1/providers");
  await page.getByRole("button", { name: "Check bare" }).click();
  await banner.waitFor({ state: "detached" });
  await row("bare").getByText("healthy", { exact: true }).waitFor();
});

journey("a sandbox is made by the chosen provider, and found by it", async ({ page, open }) => {
  await createSandbox({ name: "of-native" });
  await open("sandboxes?new=1");
  const form = page.getByRole("dialog");
  await form.getByRole("combobox", { name: "Provider" }).selectOption("bare");
  await form.getByText(/It cannot: .*take snapshots/).waitFor();
  await form.getByRole("textbox", { name: "Name" }).first().fill("of-bare");
  await form.getByText('"provider": "bare"').waitFor();
  await form.getByRole("button", { name: /^Create/ }).click();
  const made = await eventually(async () => (await api("GET", "/api/sandbox/instances?name=of-bare&provider=bare")).items[0], "the sandbox is made");
  try {
    assert.equal(made.isolation, "none");
    await open("sandboxes");
    await page.getByRole("button", { name: "Provider" }).first().click();
    await page.getByRole("menuitemcheckbox", { name: "bare" }).click();
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "of-bare" }).waitFor();
    await page.getByRole("link", { name: "of-native" }).waitFor({ state: "detached" });
  } finally {
    await api("DELETE", `/api/sandbox/instances/${made.id}`);
  }
});

journey("a person is invited, the link is shown once, and the invitation is withdrawn", async ({ page, open }) => {
  await open("members?tab=invitations");
  await page.getByRole("button", { name: "Invite", exact: true }).click();
  const form = page.getByRole("dialog", { name: "Invite to this project" });
  await form.getByRole("textbox", { name: "Email" }).fill("ann@example.com");
  await form.getByRole("combobox", { name: "Role" }).selectOption({ label: "Admin" }); // the first member is one
  await form.getByRole("button", { name: "Invite", exact: true }).click();
  const once = page.getByRole("dialog", { name: "Invitation for ann@example.com" });
  await once.getByText("/console/join#").waitFor();
  await once.getByRole("button", { name: "I have copied it" }).click();
  await page.getByRole("button", { name: "Actions for ann@example.com" }).click();
  await page.getByRole("menuitem", { name: "Withdraw" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Withdraw" }).click();
  await page.getByText("No invitation is open").waitFor();
});

journey("theme, rows and shortcuts are kept; another session is ended", async ({ page, open }) => {
  const second = await fetch(`${SERVER}/v1/session`, { method: "POST", headers: { "Content-Type": "application/json", "User-Agent": "second-browser" }, body: JSON.stringify({ key: KEY }) });
  assert.equal(second.status < 300, true);
  await open("profile");
  await page.getByText("second-browser").first().waitFor();
  await page.getByText("Dark", { exact: true }).click();
  await page.locator("html[data-theme=dark]").waitFor();
  await page.getByRole("switch", { name: "Single-key shortcuts" }).uncheck();
  await page.keyboard.press("?");
  assert.equal(await page.getByRole("dialog").count(), 0);
  await page.getByRole("listitem").filter({ hasText: "second-browser" }).first().getByRole("button", { name: "End session" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "End session" }).click();
  await eventually(async () => (await fetch(`${SERVER}/v1/session`, { headers: { Cookie: second.headers.get("set-cookie").split(";")[0] } })).status === 401, "the session ends");
});

journey("names that are markup are shown as text", async ({ page, open }) => {
  const keys = [];
  for (const name of HOSTILE) keys.push(await api("POST", "/api/sandbox/keys", { name, scopes: ["sandbox:read"] }));
  await open("keys");
  for (const name of HOSTILE.slice(0, 3)) await page.getByRole("grid").getByText(name, { exact: true }).waitFor();
  await page.getByText("⟨202E⟩gnp.exe").waitFor();
  const member = await api("POST", "/v1/projects/default/members", { user: HOSTILE[0], role: "viewer" }).catch(() => null);
  if (member) {
    await open("members");
    await page.getByRole("grid").getByText(HOSTILE[0]).waitFor();
    await api("DELETE", `/v1/projects/default/members/${encodeURIComponent(HOSTILE[0])}`);
  }
  assert.equal(await page.evaluate(() => window.hurt), undefined);
  await Promise.all(keys.map((key) => api("DELETE", `/api/sandbox/keys/${key.id}`)));
});

journey("a viewer sees what it lacks, and no button that fails", async ({ page, context, open }) => {
  const key = await api("POST", "/api/sandbox/keys", { name: "viewer", scopes: ["sandbox:read"] });
  await context.clearCookies();
  const answer = await context.request.post(`${SERVER}/v1/session`, { data: { key: key.key } });
  assert.equal(answer.ok(), true);
  await open("keys");
  await page.getByText("Your role does not allow this page").waitFor();
  await checkAxe(page, "forbidden");
  await screenshot(page, "forbidden");
  await open("settings");
  await page.getByText("You may look only").waitFor();
  await open("webhooks");
  await page.getByText("Your role does not allow this page").waitFor();
  await api("DELETE", `/api/sandbox/keys/${key.id}`);
}, { isOwn: true });
