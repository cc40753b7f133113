// SPDX-License-Identifier: Apache-2.0
// driver.mjs: a browser that is signed in at the server of ATOLL_URL with the key of ATOLL_API_KEY, and what is looked for on its pages.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";

const require = createRequire(import.meta.url);
export const SERVER = process.env.ATOLL_URL;
export const KEY = process.env.ATOLL_API_KEY;
const SHOTS = process.env.ATOLL_SCREENSHOTS;
const SIZE = { width: 1200, height: 750 };
export const PHONE = { width: 390, height: 780 };
const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];

let launched;
export function browser() {
  launched ??= chromium.launch({ executablePath: process.env.CHROMIUM, args: FLAGS });
  return launched;
}
export async function closeBrowser() {
  await (await launched)?.close();
}

const CALL_MS = 30000;
/** The API, by a key: what a test prepares without the browser. */
export async function api(method, path, body) {
  const answer = await fetch(SERVER + path, {
    method,
    signal: AbortSignal.timeout(CALL_MS),
    headers: { Authorization: `Bearer ${KEY}`, ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
    body: body === undefined ? undefined : JSON.stringify(body),
  }).catch((error) => {
    throw new Error(`${method} ${path}: ${error.message}`);
  });
  const text = await answer.text();
  const parsed = text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : text;
  if (!answer.ok) throw Object.assign(new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 300)}`), { status: answer.status });
  return parsed;
}

const made = [];
/** A sandbox that ends with the journey. */
export async function createSandbox(body = {}) {
  const sandbox = await api("POST", "/api/sandbox/instances", { template: "host", ...body });
  made.push(sandbox.id);
  return sandbox;
}

export async function removeMade() {
  await Promise.all(made.splice(0).map((id) => api("DELETE", `/api/sandbox/instances/${id}`).catch(() => undefined)));
}

/** Waits until `check` gives something true. */
export async function eventually(check, what, ms = 15000) {
  const end = Date.now() + ms;
  for (;;) {
    const found = await check();
    if (found) return found;
    if (Date.now() > end) throw new Error(`${what}: not within ${ms} ms`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** What the page has asked for is there. (Its connection for events stays open, so the network is never idle.) */
export function loaded(page) {
  return eventually(async () => (await page.locator("[aria-busy=true]").count()) === 0, "the page is loaded");
}

/** Motion costs a fifth of the processor time of these tests: it is drawn in the suite "full". A context with the session of the key, and a list of all that must not happen in it. */
export async function newContext(options = {}) {
  const context = await (await browser()).newContext({ viewport: SIZE, reducedMotion: process.env.ATOLL_SLOW ? null : "reduce", ...options });
  context.setDefaultTimeout(40000); // a browser that starts beside other tests takes its time
  const faults = [];
  await context.exposeBinding("tellViolation", (_, text) => faults.push(`policy: ${text}`));
  await context.addInitScript(() => {
    addEventListener("securitypolicyviolation", (e) => tellViolation(`${e.effectiveDirective} ${e.blockedURI} ${e.sourceFile}:${e.lineNumber}`));
  });
  context.on("page", (page) => page.on("pageerror", (error) => faults.push(`exception: ${error.stack ?? error.message}`)));
  if (!options.isSignedOut) {
    const answer = await context.request.post(`${SERVER}/v1/session`, { data: { key: KEY } });
    assert.equal(answer.ok(), true, `sign-in by key: ${answer.status()} ${await answer.text()}`);
  }
  return { context, faults };
}

/** The project of the key. */
let project;
export async function projectId() {
  project ??= (await api("GET", "/accounts/me")).project;
  return project;
}

export async function addressOf(path) {
  return `${SERVER}/console/p/${await projectId()}/${path}`;
}

// Half as long as the source, and a document reads it anew.
const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

function listViolations(found) {
  return found.violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 4).map((n) => `${n.target.join(" ")} (${[...n.any, ...n.all, ...n.none][0]?.message ?? ""})`).join(" | ")}`);
}

/** All rules in light; in dark those of colours, for nothing else differs. */
const VIOLATIONS = { resultTypes: ["violations"] };
const RULES = { light: VIOLATIONS, dark: { ...VIOLATIONS, runOnly: ["color-contrast"] } };
const RULES_WITHOUT_COLOURS = { light: { ...VIOLATIONS, rules: { "color-contrast": { enabled: false } } } };

// Contrast takes nine tenths of the time of all rules. It is checked once for each kind of page; with ATOLL_SLOW in each state of it, too.
const coloursSeen = new Set();
function rulesOf(page) {
  const [, kind, , tab] = new URL(page.url()).pathname.split("/").slice(3);
  const key = `${kind} ${tab}`;
  if (coloursSeen.has(key) && !process.env.ATOLL_SLOW) return RULES_WITHOUT_COLOURS;
  coloursSeen.add(key);
  return RULES;
}

async function useTheme(page, colorScheme) {
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" }); // without motion a colour changes at once
  await page.locator(`html[data-theme=${colorScheme}]`).waitFor();
}

/** axe finds nothing on the page as it is now, in light and in dark (rulesOf). */
export async function checkAxe(page, what = page.url()) {
  // As one expression: the page's policy allows no eval. A document keeps it.
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(`${AXE};0`);
  for (const [colorScheme, rules] of Object.entries(rulesOf(page))) {
    await useTheme(page, colorScheme);
    const violations = await page.evaluate(`axe.run(document, ${JSON.stringify(rules)}).then((found) => (${listViolations})(found))`);
    assert.deepEqual(violations, [], `${what} in ${colorScheme}`);
  }
}

/** With ATOLL_SCREENSHOTS=FOLDER: NAME.png and NAME-dark.png of what the page shows. */
export async function screenshot(page, name, colorSchemes = ["light", "dark"]) {
  if (!SHOTS) return;
  mkdirSync(SHOTS, { recursive: true });
  for (const colorScheme of colorSchemes) {
    await useTheme(page, colorScheme);
    await page.waitForTimeout(300); // charts and editors are drawn anew
    await page.screenshot({ path: join(SHOTS, `${name}${colorScheme === "dark" ? "-dark" : ""}.png`) });
  }
}
