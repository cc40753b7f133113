// SPDX-License-Identifier: Apache-2.0
// Sign-in, overview, themes, palette, and what happens when the server goes away.
import assert from "node:assert/strict";
import { addressOf, api, checkAxe, createSandbox, journey, KEY, PHONE, screenshot, SERVER } from "./harness.mjs";
import { Shell } from "./pages.mjs";

journey("a stranger signs in by a key, comes to the page that was asked for, and signs out", async ({ page, context }) => {
  await page.goto(await addressOf("sandboxes"));
  await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
  const byKey = page.getByRole("button", { name: "Use an API key" });
  await checkAxe(page, "sign-in");
  await screenshot(page, "sign-in");
  if (await byKey.count()) await byKey.click();
  await page.getByLabel("API key").fill("atoll_wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").first().waitFor();
  await page.getByLabel("API key").fill(KEY);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { level: 1, name: "Sandboxes" }).waitFor();
  const stored = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
  assert.ok(!stored.includes(KEY), "the key is stored nowhere that scripts can read");
  const [cookie] = (await context.cookies()).filter((c) => c.name.endsWith("atoll_session"));
  assert.equal(cookie.httpOnly, true);
  assert.equal(cookie.sameSite, "Lax");
  await page.getByRole("button", { name: "Account" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor();
}, { isSignedOut: true });

journey("overview shows figures, recent sandboxes and the guide", async ({ page, open }) => {
  await createSandbox({ name: "overview-one" });
  await open("overview");
  await page.getByRole("grid", { name: "Recent sandboxes" }).getByRole("link", { name: "overview-one" }).waitFor();
  const running = page.getByRole("link", { name: /^Running/ });
  assert.match(await running.innerText(), /[1-9]/);
  await new Shell(page).live().waitFor();
  await checkAxe(page, "overview");
  await page.getByText("TypeScript", { exact: true }).click();
  await page.getByText('import { Sandbox } from "atoll-sdk"').waitFor();
  await page.setViewportSize(PHONE);
  await checkAxe(page, "overview on a phone");
  await screenshot(page, "overview-phone");
});

journey("the palette finds pages and sandboxes", async ({ page, open }) => {
  const { id } = await createSandbox({ name: "palette-target" });
  await open("overview");
  await new Shell(page).palette();
  const input = page.getByRole("combobox", { name: /^Search/ });
  await checkAxe(page, "the palette");
  await screenshot(page, "palette");
  await input.fill("palette-t");
  await page.getByRole("option", { name: /palette-target/ }).click();
  await page.waitForURL(new RegExp(`/sandboxes/${id}`));
});

journey("an address that is no page says so", async ({ page }) => {
  await page.goto(`${SERVER}/console/nothing/here`);
  await page.getByText("This page does not exist").waitFor();
  await checkAxe(page, "no such page");
  await page.goto(`${SERVER}/console/p/no-such-project/overview`);
  await page.getByText("You are not a member of this project").waitFor();
});

journey("a single sign-on that failed is told in words with the id of its request", async ({ page }) => {
  await page.goto(`${SERVER}/console/sign-in?error=forbidden&request=req_01abc`);
  const alert = page.getByRole("main").getByRole("alert");
  await alert.getByText("no group of yours has a role").waitFor();
  await alert.getByText("req_01abc").waitFor();
  await checkAxe(page, "sign-in with an error");
  await alert.getByRole("button", { name: "Close" }).click();
  await alert.waitFor({ state: "detached" });
  assert.equal(new URL(page.url()).search, "");
  await page.goto(`${SERVER}/console/sign-in?error=constructor&request=${encodeURIComponent("<b>\u202ex")}`);
  await alert.getByText("give the request id to an admin").waitFor();
  assert.equal((await alert.innerText()).includes("\u202e"), false);
}, { isSignedOut: true });

journey("an invitation is told to persons with and without an account", async ({ page, context }) => {
  const email = `joins-${Date.now()}@example.com`;
  const fill = async (link, name) => {
    await page.goto(link);
    await page.getByText("If your email address has an account on this server, enter its password").waitFor();
    await page.getByLabel("Name").fill(name);
    await page.getByLabel("Password").fill("a long password of joins");
    await page.getByRole("button", { name: "Join" }).click();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
  };
  const invite = async (project) => (await api("POST", `/v1/projects/${project}/invitations`, { email, role: "admin" })).link;
  const other = await api("POST", "/v1/projects", { name: `joins-${Date.now()}`, owner: "owner@example.com" });
  await fill(await invite("default"), "Jo");
  await page.goto("about:blank");
  await fill(await invite(other.id), "Another name"); // signed in already: the link counts all the same
  const session = await (await context.request.get(`${SERVER}/v1/session`)).json();
  assert.equal(session.user.name, "Jo");
  assert.deepEqual(session.projects.map((p) => p.id).sort(), ["default", other.id].sort());
}, { isSignedOut: true });

journey("set-up and invitation links without a token say so", async ({ page }) => {
  for (const path of ["setup", "join"]) {
    await page.goto(`${SERVER}/console/${path}`);
    await page.getByText("This link has no token").waitFor();
    await checkAxe(page, path);
  }
}, { isSignedOut: true });
