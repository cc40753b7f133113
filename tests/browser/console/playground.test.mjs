// SPDX-License-Identifier: Apache-2.0
// The playground: cells, figures, interrupts, and calls of the API.
import assert from "node:assert/strict";
import { api, checkAxe, createSandbox, eventually, journey, screenshot } from "./harness.mjs";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
/** An object whose forms a notebook would show. */
const shown = (forms) => `class Shown:\n  def _repr_mimebundle_(self, **kw): return ${JSON.stringify(forms)}\nShown()`;

async function type(page, text, cell = 1) {
  const editor = page.getByRole("textbox", { name: new RegExp(`^Cell ${cell},`) });
  await editor.click();
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText(text);
  await page.keyboard.press("Control+Enter");
}

const output = (page, cell = 1) => page.getByRole("group", { name: new RegExp(`^Output, Cell ${cell},`) });

journey("code runs in a chosen sandbox, keeps its variables, shows figures, tables and errors", async ({ page, open }) => {
  const sandbox = await createSandbox({ name: "play" });
  await open(`playground?sandbox=${sandbox.id}`);
  await type(page, "import sys\nx = 20\nprint('out')\nprint('err', file=sys.stderr)\nx + 1");
  await output(page).getByText("21", { exact: true }).waitFor();
  await output(page).getByText("err", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Add cell" }).click();
  await type(page, "x * 2", 2);
  await output(page, 2).getByText("40", { exact: true }).waitFor();
  await screenshot(page, "playground");
  await type(page, shown({ "image/png": PNG, "text/plain": "a figure" }), 2);
  await eventually(async () => (await output(page, 2).getByRole("img", { name: "a figure" }).evaluate((img) => img.naturalWidth).catch(() => 0)) === 1, "the figure is drawn");
  await page.getByRole("button", { name: "Add cell" }).click();
  await type(page, shown({ "text/html": "<b>bold</b><script>parent.hurt=1</script><img src=x onerror='parent.hurt=1'>", "text/plain": "plain" }), 3);
  const frame = output(page, 3).locator("iframe");
  await frame.waitFor();
  assert.equal(await frame.getAttribute("sandbox"), "");
  await page.getByRole("button", { name: "Add cell" }).click();
  await type(page, "def f(): raise ValueError('<i>no</i>')\nf()", 4);
  await output(page, 4).getByText("ValueError: <i>no</i>").first().waitFor();
  assert.equal(await page.evaluate(() => window.hurt), undefined);
});

journey("a long cell is interrupted, and the context stays", async ({ page, open }) => {
  const sandbox = await createSandbox({ name: "interrupted" });
  await open(`playground?sandbox=${sandbox.id}`);
  await type(page, "kept = 7\nimport time\nprint('sleeps', flush=True)\ntime.sleep(60)");
  await output(page).getByText("sleeps").waitFor();
  await page.getByRole("button", { name: "Interrupt" }).click();
  await output(page).getByText("KeyboardInterrupt").first().waitFor();
  await type(page, "kept");
  await output(page).getByText("7", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Restart context" }).click();
  await page.getByText("The Python context is new").waitFor();
  await type(page, "kept");
  await output(page).getByText(/NameError/).first().waitFor();
});

journey("a sandbox of the page is made by a command and deleted with the page", async ({ page, open }) => {
  await open("playground?mode=shell");
  await page.getByRole("combobox", { name: "Template" }).selectOption("host");
  await type(page, "echo '<u>from a shell</u>'; echo $((6*7)) >&2");
  await output(page).getByText("<u>from a shell</u>").waitFor();
  await output(page).getByText("42", { exact: true }).waitFor();
  await checkAxe(page, "the playground after a run");
  await screenshot(page, "playground-shell");
  const mine = async () => (await api("GET", "/api/sandbox/instances?label=made-by%3Dplayground")).items.filter((s) => !["deleting", "deleted"].includes(s.state));
  assert.equal((await mine()).length, 1);
  await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Keys" }).click();
  await eventually(async () => (await mine()).length === 0, "the sandbox is deleted");
});

journey("a call of the API is sent from its form", async ({ page, open }) => {
  await open("playground?mode=api");
  await page.getByRole("searchbox", { name: "Search calls" }).fill("/healthz");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("region", { name: "Answer" }).getByText('"status"').waitFor();
  await checkAxe(page, "the API form");
  await screenshot(page, "playground-api");
});
