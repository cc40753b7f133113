// SPDX-License-Identifier: Apache-2.0
// Credentials in variables of terminal windows: the form, its errors at the fields, and what a person reads before the consent.
import assert from "node:assert/strict";
import { api, checkAxe, createSandbox, journey, loaded, PHONE, screenshot, SERVER } from "./harness.mjs";

const PASSWORD = "pa55word-of-the-page";

/** The text that a screen reader tells with an input. */
const describedBy = (input) => input.evaluate((e) => (e.getAttribute("aria-describedby") ?? "").split(" ").map((id) => document.getElementById(id)?.textContent ?? "").join(" "));
const openMenu = async (page, name, item) => {
  await page.getByRole("row").filter({ hasText: name }).getByRole("button", { name: `Actions for ${name}` }).click();
  await page.getByRole("menuitem", { name: item }).click();
};

journey("variables are given at the create; what is wrong stands at its field", async ({ page, open }) => {
  await open("credentials");
  await loaded(page);
  await page.keyboard.press("c");
  const form = page.getByRole("dialog", { name: "Create credential" });
  const create = form.getByRole("button", { name: "Create", exact: true });
  await form.getByRole("textbox", { name: "Name" }).first().fill("database");
  await form.getByRole("textbox", { name: "Hosts" }).fill("not a host!");
  await form.getByRole("combobox", { name: "Kind" }).selectOption({ label: "User name and password" });
  await form.getByRole("textbox", { name: "User name" }).fill("app");
  await form.getByLabel(/^Password/).fill("short");
  const variables = form.getByRole("group", { name: "Variables of terminal windows" });
  await variables.getByRole("button", { name: "Add a variable" }).click();
  const name = variables.getByRole("textbox", { name: "Variable 1" });
  assert.equal(await name.evaluate((e) => e === document.activeElement), true, "the new row has the focus");
  assert.equal(await name.getAttribute("aria-invalid"), null, "nothing is wrong yet");
  await create.click();
  assert.match(await describedBy(name), /Give the variable a name/);
  const field = variables.getByRole("combobox", { name: "Value of variable 1" });
  assert.match(await describedBy(field), /Choose a value/);
  await name.fill("lower");
  assert.match(await describedBy(name), /Upper-case letters/);
  await field.selectOption({ label: "Password" });
  assert.match(await describedBy(field), /8 to 1024 characters/);
  await form.getByLabel(/^Password/).fill(PASSWORD);
  await name.fill("LD_PRELOAD");
  await variables.getByRole("button", { name: "Add a variable" }).click();
  await variables.getByRole("textbox", { name: "Variable 2" }).fill("LD_PRELOAD");
  await variables.getByText("There is a variable with this name already.").waitFor();
  await variables.getByRole("button", { name: "Remove LD_PRELOAD" }).last().click();
  // What the server alone knows stands at the fields, too, and the form stays as it is.
  await create.click();
  const hosts = form.getByRole("textbox", { name: "Hosts" });
  await form.getByText("'not' is no host name", { exact: false }).or(form.getByText("is no host name")).first().waitFor();
  assert.match(await describedBy(hosts), /no host name/);
  assert.equal(await hosts.evaluate((e) => e === document.activeElement), true, "the wrong field has the focus");
  await hosts.fill("db.example.com");
  await create.click();
  await variables.getByText("'LD_PRELOAD' decides what programs run or trust").waitFor();
  assert.equal(await form.locator(".note.bad").count(), 0, "the error stands once, at its field");
  await checkAxe(page, "variables that are refused");
  await name.fill("PGPASSWORD");
  await variables.getByText("'LD_PRELOAD' decides what programs run or trust").waitFor({ state: "detached" });
  await form.getByRole("combobox", { name: "Consent" }).selectOption({ label: "Each sandbox" });
  await variables.getByText("Variables need the consent").waitFor();
  await create.click();
  await form.getByRole("combobox", { name: "Consent" }).selectOption({ label: "Each conversation" });
  await variables.getByText("Variables need the consent").waitFor({ state: "detached" });
  await screenshot(page, "credentials-environment");
  await create.click();
  await page.getByText("Credential database is stored").waitFor();
  assert.deepEqual((await api("GET", "/v1/credentials/database")).environment, { PGPASSWORD: "password" });
  await page.getByRole("row").filter({ hasText: "database" }).getByText("PGPASSWORD").waitFor();
  await api("DELETE", "/v1/credentials/database");
});

journey("other variables take the values again, none take nothing; an expiry is moved", async ({ page, open }) => {
  await api("POST", "/v1/credentials", { name: "mail", kind: "basic", hosts: ["mail.example.com"], environment: { SMTP_PASSWORD: "password" }, fields: { username: "application", password: PASSWORD } });
  await open("credentials");
  await loaded(page);
  await openMenu(page, "mail", "Change");
  const form = page.getByRole("dialog", { name: "Change mail" });
  const name = form.getByRole("textbox", { name: "Variable 1" });
  assert.equal(await name.inputValue(), "SMTP_PASSWORD");
  assert.equal(await form.getByLabel(/^Password/).count(), 0, "nothing has changed yet");
  await form.getByLabel("Expires").fill("2099-01-02T03:04");
  await form.getByRole("button", { name: "Save" }).click();
  await page.getByText("mail is changed").waitFor();
  const before = await api("GET", "/v1/credentials/mail");
  assert.equal(before.version, 1, "the same variables are no other version");
  assert.equal(new Date(before.expires_at).getTime(), new Date("2099-01-02T03:04").getTime());
  await openMenu(page, "mail", "Change");
  await name.fill("MAIL_PASSWORD");
  await form.getByText("other variables take the values again").waitFor();
  await form.getByRole("button", { name: "Save" }).click();
  await form.getByText("User name: this is needed.").waitFor();
  await form.getByRole("textbox", { name: "User name" }).fill("application");
  await form.getByLabel(/^Password/).fill(PASSWORD);
  await checkAxe(page, "a credential with other variables");
  await form.getByRole("button", { name: "Save" }).click();
  await form.waitFor({ state: "detached" });
  const changed = await api("GET", "/v1/credentials/mail");
  assert.deepEqual(changed.environment, { MAIL_PASSWORD: "password" });
  assert.ok(changed.version > before.version);
  await openMenu(page, "mail", "Change");
  await form.getByRole("button", { name: "Remove MAIL_PASSWORD" }).click();
  await form.getByLabel("Expires").fill("");
  await form.getByRole("button", { name: "Save" }).click();
  await form.getByText("Give a time: an expiry can be moved").waitFor();
  await form.getByLabel("Expires").fill("2098-01-02T03:04");
  assert.equal(await form.getByLabel(/^Password/).count(), 0, "no variables take no values");
  await form.getByRole("button", { name: "Save" }).click();
  await form.waitFor({ state: "detached" });
  assert.deepEqual((await api("GET", "/v1/credentials/mail")).environment, {});
  assert.equal((await page.content()).includes(PASSWORD), false, "the value is nowhere on the page");
  await api("DELETE", "/v1/credentials/mail");
});

journey("the request says that programs can read the value; what is allowed is in the conversation's window", async ({ page, open }) => {
  await api("POST", "/v1/credentials", { name: "db", kind: "basic", hosts: ["db.test"], environment: { PGPASSWORD: "password" }, fields: { username: "application", password: PASSWORD } });
  const sandbox = await createSandbox();
  const agent = await api("POST", "/api/sandbox/keys", { name: "agent", scopes: ["sandbox:read", "sandbox:write"] });
  const tool = async (name, input) => {
    const answer = await fetch(`${SERVER}/v1/tools/${name}`, {
      method: "POST", headers: { Authorization: `Bearer ${agent.key}`, "Content-Type": "application/json" },
      body: JSON.stringify({ sandboxId: sandbox.id, conversationId: "talk-db", approvalWaitMs: 0, input }),
    });
    const text = await answer.text();
    assert.ok(answer.ok || answer.status === 202, text);
    return JSON.parse(text);
  };
  await open("credentials?tab=consents&conversation=talk-db");
  await loaded(page);
  await tool("activate_credential", { name: "db", why: "to run the migration" });
  await page.getByRole("heading", { name: "An agent asks for db" }).waitFor();
  await page.getByText("Programs in this sandbox can read the values: new terminal windows of this conversation have PGPASSWORD=password").waitFor();
  await checkAxe(page, "a request that shows values");
  await page.getByRole("button", { name: "Allow" }).click();
  await page.getByRole("row").filter({ hasText: "talk-db" }).getByText("active").waitFor();
  const shown = JSON.stringify(await tool("execute_command", { window: "migration", command: "echo \"it has ${#PGPASSWORD} letters\"; echo $PGPASSWORD" }));
  assert.ok(shown.includes(`it has ${PASSWORD.length} letters`), shown);
  assert.equal(shown.includes(PASSWORD), false, "the output is masked");
  await api("DELETE", `/api/sandbox/keys/${agent.id}`);
  await api("DELETE", "/v1/credentials/db");
});

journey("without an application no login begins: the form leads to it and back", async ({ page, open }) => {
  await open("credentials?tab=connects");
  await loaded(page);
  await page.keyboard.press("c");
  const login = page.getByRole("dialog", { name: "Log in at a service" });
  await login.getByText("A login needs an application").waitFor();
  assert.equal(await login.getByRole("button", { name: "Begin" }).getAttribute("aria-disabled"), "true");
  await checkAxe(page, "a login without an application");
  await login.getByRole("button", { name: "Store the application" }).click();
  const form = page.getByRole("dialog", { name: "Create credential" });
  await form.getByText(`${SERVER}/v1/connects/callback`).waitFor();
  assert.equal(await form.getByRole("group", { name: "Variables of terminal windows" }).count(), 0, "a window gets no values of an application");
  await form.getByRole("textbox", { name: "Name" }).first().fill("own-app");
  await form.getByRole("textbox", { name: "Hosts" }).fill("github.com api.github.com");
  await form.getByRole("textbox", { name: "Client id" }).fill("Iv1.0123");
  await form.getByRole("button", { name: "Create", exact: true }).click();
  await login.getByRole("combobox", { name: "Application" }).waitFor();
  assert.equal(await login.getByRole("combobox", { name: "Application" }).inputValue(), "own-app");
  assert.equal(await login.getByRole("button", { name: "Begin" }).getAttribute("aria-disabled"), null);
  await api("DELETE", "/v1/credentials/own-app");
});

journey("on a phone the form with variables is not wider than the screen", async ({ page, open }) => {
  await open("credentials");
  await loaded(page);
  await page.getByRole("button", { name: "Create credential" }).first().click();
  const form = page.getByRole("dialog", { name: "Create credential" });
  await form.getByRole("button", { name: "Add a variable" }).click();
  await form.getByRole("textbox", { name: "Variable 1" }).fill("A_VERY_LONG_NAME_OF_A_VARIABLE_THAT_IS_FINE");
  const wide = await form.evaluate((e) => [...e.querySelectorAll("*")].filter((part) => part.getBoundingClientRect().right > innerWidth + 0.5).map((part) => part.outerHTML.slice(0, 80)));
  assert.deepEqual(wide, []);
}, { viewport: PHONE });
