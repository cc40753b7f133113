// SPDX-License-Identifier: Apache-2.0
// What must fail: writes without the token of their session, sessions whose key has ended, other projects, and all that a page of a sandbox
// tries against the console.
import assert from "node:assert/strict";
import { api, checkAxe, createSandbox, eventually, journey, KEY, newContext, projectId, SERVER } from "./harness.mjs";
import { Sandboxes } from "./pages.mjs";

const OTHER = "other-team";

async function signInAs(context, key) {
  await context.clearCookies();
  const answer = await context.request.post(`${SERVER}/v1/session`, { data: { key } });
  assert.equal(answer.ok(), true, await answer.text());
  return (await answer.json()).csrf_token;
}

async function asKey(key, method, path, body) {
  const answer = await fetch(SERVER + path, { method, headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" }, body: body && JSON.stringify(body) });
  assert.ok(answer.ok, `${method} ${path}: ${answer.status}`);
  return answer.status === 204 ? null : answer.json();
}

/** A key of a project of its own. */
async function otherProject() {
  const project = await api("POST", "/v1/projects", { name: `${OTHER}-${Date.now()}` });
  const answer = await fetch(`${SERVER}/api/sandbox/keys`, { method: "POST", headers: { Authorization: `Bearer ${KEY}`, "Content-Type": "application/json", "X-Atoll-Project": project.id }, body: JSON.stringify({ name: OTHER }) });
  return { project: project.id, key: (await answer.json()).key };
}

/** Sends a write from the page's own script, with the browser's cookie. */
const write = (page, headers) => page.evaluate(async (given) => (await fetch("/api/sandbox/keys", { method: "POST", headers: { "Content-Type": "application/json", ...given }, body: JSON.stringify({ name: "from-script", scopes: ["sandbox:read"] }) })).status, headers);

journey("a write needs the token of its own session", async ({ page, context, open }) => {
  const own = await signInAs(context, KEY);
  const { context: second } = await newContext({ isSignedOut: true });
  const stolen = await signInAs(second, KEY);
  await second.close();
  await open("sandboxes");
  assert.notEqual(own, stolen);
  assert.equal(await write(page, {}), 403);
  assert.equal(await write(page, { "X-Atoll-CSRF": "" }), 403);
  assert.equal(await write(page, { "X-Atoll-CSRF": stolen }), 403);
  const keys = async () => (await api("GET", "/api/sandbox/keys")).items.filter((key) => key.name === "from-script");
  assert.deepEqual(await keys(), []);
  assert.equal(await write(page, { "X-Atoll-CSRF": own }), 201);
  for (const key of await keys()) await api("DELETE", `/api/sandbox/keys/${key.id}`);
}, { isOwn: true });

for (const [how, end] of [["revoked", (key) => api("DELETE", `/api/sandbox/keys/${key.id}`)], ["rotated", (key) => api("POST", `/api/sandbox/keys/${key.id}/rotate`, { grace_ms: 0 })]]) {
  journey(`a session whose key was ${how} comes to the sign-in page`, async ({ page, context, open }) => {
    const key = await api("POST", "/api/sandbox/keys", { name: `ends-${how}`, scopes: ["sandbox:read", "sandbox:write"] });
    await signInAs(context, key.key);
    await open("sandboxes");
    await end(key);
    // Without a click: the page's event stream ends with the key.
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
    await api("DELETE", `/api/sandbox/keys/${key.id}`).catch(() => undefined);
  }, { isOwn: true });
}

journey("the address of another project shows a refusal and nothing of it", async ({ page, context, open }) => {
  const other = await otherProject();
  const secret = await asKey(other.key, "POST", "/api/sandbox/instances", { template: "host", name: "secret-of-others" });
  const mine = await api("POST", "/api/sandbox/keys", { name: "one-project", scopes: ["sandbox:read", "sandbox:write"] });
  await signInAs(context, mine.key);
  for (const path of ["sandboxes", `sandboxes/${secret.id}`, "keys", "events"]) {
    await page.goto(`${SERVER}/console/p/${other.project}/${path}`);
    await page.getByText("You are not a member of this project").waitFor();
    assert.ok(!(await page.content()).includes("secret-of-others"));
  }
  await checkAxe(page, "another project");
  await open("sandboxes");
  const statuses = await page.evaluate(async ([project, id]) => {
    const read = async (path, headers) => (await fetch(path, { headers })).status;
    return [await read("/api/sandbox/instances", { "X-Atoll-Project": project }), await read(`/api/sandbox/instances/${id}`, {}), await read(`/api/sandbox/instances?project=${project}`, {})];
  }, [other.project, secret.id]);
  assert.ok(statuses.slice(0, 2).every((status) => status === 403 || status === 404), String(statuses));
  assert.notEqual(statuses[2], 200);
  await page.goto(`${SERVER}/console/p/${await projectId()}/sandboxes/${secret.id}`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.getByText(/no sandbox|not found|does not exist/i).first().waitFor();
  assert.ok(!(await page.content()).includes("secret-of-others"));
  await asKey(other.key, "DELETE", `/api/sandbox/instances/${secret.id}`);
  await api("DELETE", `/api/sandbox/keys/${mine.id}`);
}, { isOwn: true });

journey("a project without sandboxes says how to make one", async ({ page, context }) => {
  const other = await otherProject();
  await signInAs(context, other.key);
  await page.goto(`${SERVER}/console/p/${other.project}/sandboxes`);
  await page.getByRole("heading", { name: "No sandbox yet" }).waitFor();
  assert.equal(await new Sandboxes(page).grid().getByRole("checkbox").count(), 1, "only the head has a box");
  await checkAxe(page, "no sandbox");
}, { isOwn: true });

journey("a viewer cannot write: buttons say why, calls are refused", async ({ page, context, open }) => {
  await createSandbox({ name: "looked-at" });
  const key = await api("POST", "/api/sandbox/keys", { name: "viewer-of-sandboxes", scopes: ["sandbox:read"] });
  const csrf = await signInAs(context, key.key);
  const sandboxes = new Sandboxes(page);
  await open("sandboxes");
  await sandboxes.row("looked-at").waitFor();
  const create = page.getByRole("button", { name: "New sandbox" });
  assert.equal(await create.getAttribute("aria-disabled"), "true");
  assert.equal(await sandboxes.row("looked-at").getByRole("button", { name: "Stop looked-at" }).getAttribute("aria-disabled"), "true");
  await create.click({ force: true });
  assert.equal(await page.getByRole("dialog").count(), 0);
  await sandboxes.row("looked-at").getByRole("button", { name: "Actions for looked-at" }).click();
  for (const name of ["Stop", "Delete"]) assert.equal(await page.getByRole("menuitem", { name, exact: true }).getAttribute("aria-disabled"), "true", name);
  await page.keyboard.press("Escape");
  assert.equal(await write(page, { "X-Atoll-CSRF": csrf }), 403);
  await checkAxe(page, "sandboxes of a viewer");
  await api("DELETE", `/api/sandbox/keys/${key.id}`);
}, { isOwn: true });

/** Runs in a page that a sandbox serves: tries everything against the console at `site`, and says what came of it. */
async function attack(site, id) {
  const said = {};
  const attempt = async (name, run) => {
    try {
      said[name] = `got ${await run()}`;
    } catch (error) {
      said[name] = `refused ${error.name}`;
    }
  };
  const within = (ms, run) => new Promise((resolve, reject) => {
    setTimeout(() => reject(new DOMException("no answer", "TimeoutError")), ms);
    run(resolve, reject);
  });
  const loads = (tag, url) => within(4000, (resolve, reject) => {
    const element = Object.assign(document.createElement(tag), { src: url, onload: () => resolve("loaded"), onerror: () => reject(new DOMException("", "LoadError")) });
    document.body.append(element);
  });
  const json = { method: "POST", credentials: "include", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ template: "host", name: "stolen-json" }) };
  await attempt("read the session", async () => (await fetch(`${site}/v1/session`, { credentials: "include" })).text());
  await attempt("read sandboxes", async () => (await fetch(`${site}/api/sandbox/instances`, { credentials: "include" })).text());
  await attempt("write JSON", async () => (await fetch(`${site}/api/sandbox/instances`, json)).status);
  await attempt("write with a token", async () => (await fetch(`${site}/api/sandbox/instances`, { ...json, headers: { ...json.headers, "X-Atoll-CSRF": "0".repeat(32) } })).status);
  await attempt("events", () => within(4000, (resolve, reject) => Object.assign(new EventSource(`${site}/v1/events?stream=sse`, { withCredentials: true }), { onopen: () => resolve("open"), onerror: () => reject(new DOMException("", "EventError")) })));
  await attempt("terminal", () => within(4000, (resolve, reject) => Object.assign(new WebSocket(`${site.replace("http", "ws")}/api/sandbox/instances/${id}/terminal/main/stream`), { onopen: () => resolve("open"), onerror: () => reject(new DOMException("", "SocketError")) })));
  await attempt("script", () => loads("script", `${site}/v1/session`));
  await attempt("picture", () => loads("img", `${site}/console/`));
  await attempt("service worker", () => navigator.serviceWorker.register(`${site}/console/assets/x.js`, { scope: `${site}/console/` }));
  await attempt("page of parent", () => (parent === self ? Promise.reject(new DOMException("", "NoParent")) : parent.document.title));
  await attempt("address of top", () => (top === self ? Promise.reject(new DOMException("", "NoParent")) : top.location.href));
  await attempt("opener", () => (opener ? opener.document.title : Promise.reject(new DOMException("", "NoOpener"))));
  await attempt("frame of the console", async () => {
    const frame = Object.assign(document.createElement("iframe"), { src: `${site}/console/` });
    document.body.append(frame);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    return frame.contentWindow.document.title;
  });
  for (const [name, type] of [["form", "application/x-www-form-urlencoded"], ["text", "text/plain"]]) {
    const target = Object.assign(document.createElement("iframe"), { name: `into-${name}` });
    const form = Object.assign(document.createElement("form"), { method: "post", enctype: type, target: target.name, action: `${site}/api/sandbox/instances` });
    form.append(Object.assign(document.createElement("input"), { name: '{"template":"host","name":"stolen-form","x":"', value: '"}' }));
    document.body.append(target, form);
    form.submit();
  }
  await fetch(`${site}/api/sandbox/instances`, { method: "POST", mode: "no-cors", credentials: "include", body: '{"template":"host","name":"stolen-text"}' }).catch(() => undefined);
  await fetch(`${site}/v1/session`, { method: "DELETE", mode: "no-cors", credentials: "include" }).catch(() => undefined);
  for (const message of [{ type: "event" }, "signed-in", { type: "state", state: "down" }]) parent.postMessage(message, "*");
  new BroadcastChannel("atoll-session").postMessage("signed-out");
  said.cookies = document.cookie;
  said.storage = JSON.stringify({ ...localStorage });
  await new Promise((resolve) => setTimeout(resolve, 500));
  if (top !== self) await attempt("lead the top away", () => (top.location.href = "about:blank#led"));
  document.title = JSON.stringify(said);
}

const page = (site, id) => `<!doctype html><title>in</title><body><h1>attack</h1><script>(${attack})(${JSON.stringify(site)}, ${JSON.stringify(id)})</script></body>`;
const serve = (html) => `mkdir -p /tmp/w && cd /tmp/w && cat > index.html <<'END'\n${html}\nEND\n(setsid python3 -m http.server 8123 >/dev/null 2>&1 &); until (exec 3<>/dev/tcp/127.0.0.1/8123) 2>/dev/null; do sleep 0.05; done`;

function checkSaid(said, where) {
  const { cookies, storage, ...attempts } = said;
  assert.ok(Object.keys(attempts).length >= 13, JSON.stringify(said));
  for (const [name, result] of Object.entries(attempts)) assert.match(result, /^refused /, `${where}: ${name}`);
  assert.ok(!/session/.test(cookies), `${where}: ${cookies}`);
  assert.equal(storage, "{}", where);
}

journey("a page of a sandbox, in the frame and in a tab, reaches nothing of the console", async ({ page: console_, context, faults }) => {
  const site = SERVER.replace("127.0.0.1", "atoll.localhost");
  const sandbox = await createSandbox({ name: "attacker" });
  const before = (await api("GET", "/api/sandbox/instances?limit=1000")).items.length;
  await api("POST", `/api/sandbox/instances/${sandbox.id}/exec`, { command: serve(page(site, sandbox.id)) });
  await console_.goto(`${site}/console/sign-in`);
  await console_.evaluate((key) => fetch("/v1/session", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ key }) }), KEY);
  const address = `${site}/console/p/${await projectId()}/sandboxes/${sandbox.id}/preview?port=8123`;
  await console_.goto(address);
  await console_.frameLocator('iframe[title="Preview of port 8123"]').getByRole("heading", { name: "attack" }).waitFor();
  const inner = console_.frames().find((frame) => frame.parentFrame() === console_.mainFrame() && frame.url().includes("p.atoll.localhost"));
  const titleOf = (of) => eventually(async () => (await of.title()).startsWith("{") && of.title(), "the attempts end", 40000);
  checkSaid(JSON.parse(await titleOf(inner)), "in the frame");
  assert.equal(console_.url(), address, "the page of the console stays");
  const tab = await context.newPage();
  await tab.goto(inner.url());
  checkSaid(JSON.parse(await titleOf(tab)), "in a tab");
  assert.ok(tab.frames().every((frame) => !frame.url().startsWith(`${site}/console`)), "no frame shows the console");
  await tab.close();
  assert.equal(await console_.evaluate(() => fetch("/v1/session").then((answer) => answer.status)), 200, "the session goes on");
  assert.equal((await api("GET", "/api/sandbox/instances?limit=1000")).items.length, before, "nothing was made");
  faults.length = 0; // the policy of the console reports the frames of the attacker
}, { isOwn: true });
