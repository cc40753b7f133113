// SPDX-License-Identifier: Apache-2.0
// Credentials, logins at services, consents, and network decisions.
import assert from "node:assert/strict";
import { api, checkAxe, createSandbox, eventually, journey, loaded, PHONE, screenshot, SERVER } from "./harness.mjs";
import { CODE, startOAuth } from "./oauth.mjs";

const SECRET = "s3cr3t-of-the-page";

for (const name of ["credentials", "credentials?tab=connects", "credentials?tab=consents", "network"]) {
  journey(`${name} opens, and axe finds nothing`, async ({ page, open }) => {
    await open(name);
    await loaded(page);
    assert.deepEqual(await page.getByRole("main").getByRole("alert").allInnerTexts(), []);
    await checkAxe(page, name);
  });
}

journey("on a phone the pages are not wider than the screen", async ({ page, open }) => {
  for (const name of ["credentials", "credentials?tab=connects", "credentials?tab=consents", "network"]) {
    await open(name);
    await loaded(page);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${name}: ${wide} px too wide`);
  }
}, { viewport: PHONE });

journey("a credential is stored, gets new values, is changed and deleted; its value is on no page", async ({ page, open }) => {
  await open("credentials");
  await loaded(page); // the key has a meaning once the list is there
  await page.keyboard.press("c");
  const form = page.getByRole("dialog", { name: "Create credential" });
  await form.getByRole("button", { name: "Create" }).click();
  await form.getByText("Token: this is needed.").waitFor();
  await form.getByRole("combobox", { name: "Service" }).selectOption({ label: "GitHub: the API, and git over HTTPS" });
  assert.match(await form.getByRole("textbox", { name: "Hosts" }).inputValue(), /^api\.github\.com/);
  await form.getByRole("textbox", { name: "Name" }).fill("from-console");
  await form.getByLabel("Token").last().fill(SECRET);
  await form.getByRole("textbox", { name: "What it is for" }).fill("reads <b>issues</b>");
  await checkAxe(page, "create a credential");
  await screenshot(page, "credentials-create");
  await form.getByRole("button", { name: "Create" }).click();
  await page.getByText("Credential from-console is stored").waitFor();
  const row = page.getByRole("row").filter({ hasText: "from-console" });
  await row.getByText("never").waitFor();
  assert.equal((await page.content()).includes(SECRET), false, "the value is nowhere on the page");
  await api("POST", "/v1/credentials", { name: "registry", kind: "basic", hosts: ["registry.example.com"], consent: "project", fields: { username: "ci", password: SECRET } });
  await api("POST", "/v1/credentials", { name: "storage", kind: "aws", hosts: ["*.amazonaws.com"], consent: "sandbox", fields: { access_key_id: "AKIAEXAMPLE", secret_access_key: SECRET } });
  await page.reload();
  await page.getByRole("row").filter({ hasText: "storage" }).waitFor();
  await checkAxe(page, "credentials");
  await screenshot(page, "credentials");
  const first = await api("GET", "/v1/credentials/from-console");
  assert.equal(first.preset, "github", "sandboxes can take its rules by its preset");
  await row.getByRole("button", { name: "Actions for from-console" }).click();
  await page.getByRole("menuitem", { name: "Give new values" }).click();
  const rotate = page.getByRole("dialog", { name: "New values for from-console" });
  await rotate.getByLabel("Token").fill(`${SECRET}-2`);
  await rotate.getByRole("button", { name: "Give new values" }).click();
  await page.getByText("from-console has new values").waitFor();
  const second = await api("GET", "/v1/credentials/from-console");
  assert.equal(second.version, first.version + 1);
  assert.notEqual(second.fingerprint, first.fingerprint);
  await row.getByRole("button", { name: "Actions for from-console" }).click();
  await page.getByRole("menuitem", { name: "Change" }).click();
  const change = page.getByRole("dialog", { name: "Change from-console" });
  await change.getByRole("textbox", { name: "Hosts" }).fill("api.github.com other.example.com");
  await change.getByText("take the values again").waitFor();
  await change.getByRole("textbox", { name: "Hosts" }).fill("api.github.com");
  await change.getByText("take the values again").waitFor({ state: "detached" });
  await change.getByRole("button", { name: "Save" }).click();
  await page.getByText("from-console is changed").waitFor();
  assert.deepEqual((await api("GET", "/v1/credentials/from-console")).hosts, ["api.github.com"]);
  await row.getByRole("button", { name: "Actions for from-console" }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await page.getByRole("dialog", { name: "Delete from-console?" }).getByRole("button", { name: "Delete" }).click();
  await row.waitFor({ state: "detached" });
  for (const name of ["registry", "storage"]) await api("DELETE", `/v1/credentials/${name}`);
});

journey("a login by a device code makes a credential, and is ended at the service", async ({ page, context, open }) => {
  const service = await startOAuth();
  try {
    await api("POST", "/v1/credentials", { name: "app", kind: "client", hosts: ["localhost"], fields: { client_id: "app", client_secret: "client-value" } });
    await open("credentials?tab=connects");
    await page.getByRole("button", { name: "Log in at a service" }).first().click();
    const form = page.getByRole("dialog", { name: "Log in at a service" });
    await form.getByRole("combobox", { name: "Service" }).selectOption({ label: "Another service" });
    await form.getByRole("textbox", { name: "Issuer" }).fill(service.issuer);
    await form.getByRole("textbox", { name: "Hosts" }).fill("api.example.com");
    await form.getByText("With a code", { exact: true }).click();
    await form.getByRole("textbox", { name: "Name" }).fill("by-device");
    await checkAxe(page, "a login to begin");
    await form.getByRole("button", { name: "Begin" }).click();
    const login = page.getByRole("dialog", { name: "Login for by-device" });
    await login.getByText(CODE).waitFor();
    await checkAxe(page, "a device code");
    await screenshot(page, "credentials-login");
    const [tab] = await Promise.all([context.waitForEvent("page"), login.getByRole("link", { name: "Open the service's page" }).click()]);
    await tab.getByText("Agreed").first().waitFor();
    await tab.close();
    await page.bringToFront();
    await eventually(async () => (await api("GET", "/v1/connects")).items[0]?.state === "done", "the tokens", 30000);
    await login.getByText("The credential by-device has its tokens.").waitFor();
    assert.equal(/access-value|refresh-value|client-value|device-secret/.test(await page.content()), false);
    await login.getByRole("button", { name: "Close" }).last().click();
    const row = page.getByRole("row").filter({ hasText: "by-device" });
    await row.getByText("done").waitFor();
    await row.getByRole("button", { name: "Actions for by-device" }).click();
    await page.getByRole("menuitem", { name: "Log in again" }).click();
    const again = page.getByRole("dialog", { name: "Log in again for by-device" });
    assert.equal(await again.getByRole("textbox", { name: "Name" }).inputValue(), "by-device");
    assert.equal(await again.getByRole("textbox", { name: "Hosts" }).inputValue(), "api.example.com");
    assert.equal(await again.getByRole("radio", { name: "With a code" }).isChecked(), true);
    await again.getByRole("textbox", { name: "Issuer" }).fill(service.issuer);
    await again.getByRole("button", { name: "Begin" }).click();
    await login.getByText(CODE).waitFor();
    const [once] = await Promise.all([context.waitForEvent("page"), login.getByRole("link", { name: "Open the service's page" }).click()]);
    await once.getByText("Agreed").first().waitFor();
    await once.close();
    await login.getByText("The credential by-device has its tokens.").waitFor();
    await login.getByRole("button", { name: "Close" }).last().click();
    await eventually(async () => (await api("GET", "/v1/connects")).items.length === 1, "the new login to replace the old one");
    await eventually(async () => (await row.count()) === 1, "one row");
    service.isAway = true;
    await row.getByRole("button", { name: "Actions for by-device" }).click();
    await page.getByRole("menuitem", { name: "Disconnect" }).click();
    await page.getByRole("dialog", { name: "Disconnect by-device?" }).getByRole("button", { name: "Disconnect" }).click();
    await page.getByRole("dialog", { name: "Delete by-device without the service?" }).getByRole("button", { name: "Cancel" }).click();
    service.isAway = false;
    await row.getByRole("button", { name: "Actions for by-device" }).click();
    await page.getByRole("menuitem", { name: "Disconnect" }).click();
    await page.getByRole("dialog", { name: "Disconnect by-device?" }).getByRole("button", { name: "Disconnect" }).click();
    await row.waitFor({ state: "detached" });
    assert.ok(service.revoked.some((body) => body.includes("refresh-value")), JSON.stringify(service.revoked));
  } finally {
    service.close();
    await api("DELETE", "/v1/credentials/app");
  }
});

/** A sandbox whose rules use a credential, and an agent's request for it. */
async function askFor(conversation) {
  await api("POST", "/v1/credentials", { name: "asked", hosts: ["api.test"], consent: "conversation", fields: { token: SECRET } });
  const rule = { host: "api.test", action: "inject", inject: [{ kind: "header", name: "authorization", value: "Bearer ${credential.asked.token}" }] };
  const sandbox = await createSandbox({ egress: { allow: ["api.test"], deny: ["0.0.0.0/0"], rules: [rule] } });
  const agent = await api("POST", "/api/sandbox/keys", { name: "agent", scopes: ["sandbox:read", "sandbox:write"] });
  const ask = async () => {
    const answer = await fetch(`${SERVER}/v1/tools/activate_credential`, {
      method: "POST", headers: { Authorization: `Bearer ${agent.key}`, "Content-Type": "application/json" },
      body: JSON.stringify({ sandboxId: sandbox.id, conversationId: conversation, approvalWaitMs: 0, input: { name: "asked", why: "to open <img src=x> the pull request" } }),
    });
    const text = await answer.text();
    assert.ok(answer.ok || answer.status === 202, text);
  };
  const clean = async () => {
    await api("DELETE", `/api/sandbox/keys/${agent.id}`);
    await api("DELETE", "/v1/credentials/asked");
  };
  return { sandbox, ask, clean };
}

journey("an agent's request is denied, another one is allowed and revoked", async ({ page, open }) => {
  const { sandbox, ask, clean } = await askFor("talk-1");
  await open("credentials?tab=consents");
  await loaded(page);
  await ask();
  const request = page.getByRole("heading", { name: "An agent asks for asked" });
  await request.waitFor();
  await page.getByText("to open <img src=x> the pull request").waitFor();
  await checkAxe(page, "a request for a credential");
  await screenshot(page, "credentials-consents");
  await page.getByRole("textbox", { name: "Only this conversation" }).fill("another");
  await page.getByText("No consent matches").waitFor();
  await request.waitFor({ state: "detached" });
  await page.getByRole("textbox", { name: "Only this conversation" }).fill("talk-1");
  await page.getByRole("button", { name: "Deny" }).click();
  await page.getByText("The use of asked is denied").waitFor();
  await request.waitFor({ state: "detached" });
  assert.equal((await api("GET", `/v1/consents?sandbox=${sandbox.id}`)).items.length, 0);
  await ask();
  await page.getByRole("button", { name: "Allow" }).click();
  const row = page.getByRole("row").filter({ hasText: "talk-1" });
  await row.getByText("active").waitFor();
  await row.getByRole("button", { name: "Actions for asked" }).click();
  await page.getByRole("menuitem", { name: "Revoke" }).click();
  await page.getByRole("dialog", { name: "Revoke the use of asked?" }).getByRole("button", { name: "Revoke" }).click();
  await row.getByText("revoked").waitFor();
  assert.equal((await api("GET", `/v1/consents?sandbox=${sandbox.id}`)).items[0].state, "revoked");
  await clean();
});

journey("a refused address appears by itself, and one click allows it", async ({ page, open }) => {
  const sandbox = await createSandbox({ name: "refused-one", egress: { allow: ["203.0.113.0/30"], deny: ["0.0.0.0/0"] } });
  await open("network");
  await loaded(page);
  const code = "import socket; s = socket.socket(); s.settimeout(2); print(s.connect_ex(('198.51.100.7', 8443)))";
  await api("POST", `/api/sandbox/instances/${sandbox.id}/exec`, { cmd: "python3", args: ["-c", code], timeout_ms: 20000 });
  const row = page.getByRole("row").filter({ hasText: "198.51.100.7:8443" });
  await row.getByText("refused", { exact: true }).waitFor();
  await row.getByRole("link", { name: "refused-one" }).waitFor();
  await checkAxe(page, "network decisions");
  await screenshot(page, "network");
  await row.getByRole("button", { name: "Allow this host" }).click();
  await row.getByText("allowed now").waitFor();
  assert.ok((await api("GET", `/api/sandbox/instances/${sandbox.id}`)).egress.allow.includes("198.51.100.7"));
});

journey("a new sandbox gets a preset and a credential, and its network page keeps the rules of both", async ({ page, open }) => {
  await api("POST", "/v1/credentials", { name: "forge", preset: "github", consent: "project", fields: { token: SECRET } });
  await api("POST", "/v1/credentials", { name: "by-hand", hosts: ["api.test"], consent: "project", fields: { token: SECRET } });
  await open("sandboxes");
  await loaded(page);
  await page.getByRole("button", { name: "New sandbox" }).first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name", { exact: true }).fill("with-forge");
  await dialog.getByRole("radio", { name: "Allow-list" }).check({ force: true });
  // Nothing is allowed yet: the form says so, and a chosen preset is enough.
  await dialog.getByRole("button", { name: "Create", exact: true }).click();
  await dialog.locator("[aria-invalid=true]").waitFor();
  await dialog.getByRole("checkbox", { name: "package-registries" }).check({ force: true });
  await dialog.getByRole("checkbox", { name: "forge" }).check({ force: true });
  assert.equal(await dialog.getByRole("checkbox", { name: "by-hand" }).count(), 0, "it has no preset");
  await dialog.getByText('"credentials"').waitFor();
  await checkAxe(page, "a new sandbox with a credential");
  await dialog.getByRole("button", { name: "Create", exact: true }).click();
  await page.getByRole("dialog", { name: "with-forge" }).getByText("Started", { exact: true }).waitFor();
  const made = await api("GET", "/api/sandbox/instances/with-forge");
  assert.ok(made.egress.allow.includes("api.github.com") && made.egress.allow.includes("pypi.org"), JSON.stringify(made.egress));
  const count = made.egress.rules.length;
  assert.ok(count > 2, JSON.stringify(made.egress.rules));
  await open(`sandboxes/${made.id}/network`);
  await loaded(page);
  await page.getByRole("list", { name: "Rules of credentials" }).getByRole("listitem").nth(count - 1).waitFor();
  await page.getByRole("textbox", { name: "Allow an address, range or name" }).fill("example.com");
  await page.getByRole("button", { name: "Add" }).first().click();
  await page.getByRole("checkbox", { name: "ai-apis" }).check({ force: true });
  await checkAxe(page, "rules of credentials");
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByText("The rules hold from now on").first().waitFor();
  const changed = (await api("GET", `/api/sandbox/instances/${made.id}`)).egress;
  assert.ok(changed.allow.includes("example.com") && changed.allow.includes("api.openai.com"), JSON.stringify(changed.allow));
  assert.equal(changed.rules.length, count, "the rules of the credential stay");
  assert.equal(await page.getByRole("checkbox", { name: "ai-apis" }).isChecked(), false, "it is a part of the lists now");
  await page.getByRole("list", { name: "Rules of credentials" }).getByRole("button").first().click();
  await page.getByRole("button", { name: "Apply" }).click();
  await eventually(async () => (await api("GET", `/api/sandbox/instances/${made.id}`)).egress.rules.length === count - 1, "one rule less");
  assert.equal((await page.content()).includes(SECRET), false, "the value is nowhere on the page");
  await api("DELETE", `/api/sandbox/instances/${made.id}`);
  for (const name of ["forge", "by-hand"]) await api("DELETE", `/v1/credentials/${name}`);
});
