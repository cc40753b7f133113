// SPDX-License-Identifier: Apache-2.0
// Terminals: type, reload, two browsers in one window, take over, titles and clipboard that a program sets, recordings.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { addressOf, checkAxe, createSandbox, eventually, journey, newContext, screenshot } from "./harness.mjs";
import { TerminalTab } from "./pages.mjs";

const screenOf = (api, id, window) => api("GET", `/api/sandbox/instances/${id}/windows/${window}/screen?form=text`);
const shows = (api, id, window, text) => eventually(async () => JSON.stringify(await screenOf(api, id, window)).includes(text), `${text} on the screen of ${window}`);
/** The text of the terminal as a screen reader gets it. */
const readable = (tab, text) => tab.window().getByRole("list").getByText(text).first().waitFor();
const withReader = (page) => page.addInitScript(() => localStorage.setItem("atoll.terminal-screen-reader", "true"));

journey("what is typed runs, and a reload shows it again", async ({ page, api, open }) => {
  const { id } = await createSandbox({ name: "typist" });
  await withReader(page);
  await open(`sandboxes/${id}/terminal`);
  await checkAxe(page, "terminal without windows");
  await screenshot(page, "terminal-empty");
  const tab = new TerminalTab(page);
  await tab.openWindow();
  await tab.connected();
  await tab.type("echo answer-$((40+2))\n");
  await readable(tab, "answer-42");
  const [window] = (await api("GET", `/api/sandbox/instances/${id}/windows`)).items;
  await shows(api, id, window.name, "answer-42");
  await checkAxe(page, "terminal");
  await screenshot(page, "terminal");
  await page.reload();
  await tab.connected();
  await readable(tab, "answer-42");
  await tab.type("echo again-$((1+1))\n");
  await readable(tab, "again-2");
  assert.equal((await api("GET", `/api/sandbox/instances/${id}/windows`)).items.length, 1, "a reload opens no second window");
});

journey("two windows stand side by side, and both are typed in", async ({ page, api, open }) => {
  const { id } = await createSandbox({ name: "pair" });
  await withReader(page);
  await api("POST", `/api/sandbox/instances/${id}/terminal`, { name: "left" });
  await open(`sandboxes/${id}/terminal?w=left`);
  await page.getByRole("button", { name: "Windows" }).click();
  await page.getByRole("menuitem", { name: "New window beside this one" }).click();
  const windows = page.getByRole("region", { name: /^Terminal/ });
  await eventually(async () => (await windows.getByRole("status").getByText("Connected", { exact: true }).count()) === 2, "two connected windows");
  const name = new URL(page.url()).searchParams.get("beside");
  for (const [at, window] of [[0, "left"], [1, name]]) {
    await windows.nth(at).getByRole("textbox", { name: "Terminal input" }).focus();
    await page.keyboard.type(`echo in-${at}-$((20+${at}))\n`);
    await shows(api, id, window, `in-${at}-2${at}`);
  }
  const [left, right] = [await windows.nth(0).boundingBox(), await windows.nth(1).boundingBox()];
  assert.ok(left.x + left.width <= right.x && Math.abs(left.width - right.width) < 2, "the halves are equal");
  await checkAxe(page, "two windows");
  await screenshot(page, "terminal-split");
  await page.getByRole("button", { name: "Windows" }).click();
  await page.getByRole("menuitem", { name: "Show one window" }).click();
  await eventually(async () => (await windows.count()) === 1, "one window");
});

journey("two browsers share a window, and one takes over", async ({ page, api, open }) => {
  const { id } = await createSandbox({ name: "shared" });
  await api("POST", `/api/sandbox/instances/${id}/terminal`, { name: "main" });
  const other = await newContext();
  try {
    const second = await other.context.newPage();
    await withReader(page);
    await withReader(second);
    await open(`sandboxes/${id}/terminal?w=main`);
    await second.goto(await addressOf(`sandboxes/${id}/terminal?w=main`));
    const [one, two] = [new TerminalTab(page), new TerminalTab(second)];
    await one.connected();
    await two.connected();
    await one.type("echo from-one-$((2*3))\n");
    await readable(two, "from-one-6");
    await two.window().getByText(/ types$/).waitFor();
    await two.window().getByRole("button", { name: "Take over" }).click();
    await one.window().getByText(/took over/).waitFor();
    await one.type("echo never-$((1+1))\n");
    await two.type("echo mine-$((4+4))\n");
    await readable(one, "mine-8");
    assert.ok(!JSON.stringify(await screenOf(api, id, "main")).includes("never-"), "who only looks types nothing");
    await one.window().getByRole("button", { name: /viewer/ }).click();
    await page.getByRole("dialog", { name: "Viewers" }).getByRole("row").nth(2).waitFor();
    await checkAxe(page, "viewers");
    assert.deepEqual(other.faults, []);
  } finally {
    await other.context.close();
  }
});

journey("titles, clipboard and hostile sequences of a program stay text", async ({ page, api, open }) => {
  const { id } = await createSandbox({ name: "hostile" });
  await api("POST", `/api/sandbox/instances/${id}/terminal`, { name: "main" });
  await withReader(page);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(`sandboxes/${id}/terminal?w=main`);
  const tab = new TerminalTab(page);
  await tab.connected();
  await page.evaluate(() => navigator.clipboard.writeText("kept"));
  const script = "\\033]0;<img src=x onerror=alert(1)>\\007\\033]52;c;c3RvbGVu\\007\\033]52;c;?\\007\\033[21t\\033P+q544e\\033\\\\\\033_x\\033\\\\\\033]1337;File=x:AA\\007<script>done</script>\\n";
  await api("POST", `/api/sandbox/instances/${id}/windows/main/run`, { command: `printf '${script}'` });
  await readable(tab, "<script>done</script>");
  await api("POST", `/api/sandbox/instances/${id}/windows/main/keys`, { text: "printf '\\033]0;<b>bold</b>\\007'; sleep 2", keys: ["Enter"] });
  await tab.window().getByText("<b>bold</b>").first().waitFor();
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "kept", "OSC 52 writes nothing");
  assert.equal(await page.locator(".window b, .window img, .window script").count(), 0);
  assert.match(await page.title(), /^hostile · Terminal/);
});

journey("several lines are pasted after a question only", async ({ page, api, open }) => {
  const { id } = await createSandbox({ name: "paste" });
  await api("POST", `/api/sandbox/instances/${id}/terminal`, { name: "main", command: "cat" });
  await open(`sandboxes/${id}/terminal?w=main`);
  const tab = new TerminalTab(page);
  await tab.connected();
  await tab.window().getByRole("textbox", { name: "Terminal input" }).evaluate((input) => {
    const data = new DataTransfer();
    data.setData("text/plain", "one\ntwo\n");
    input.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
  });
  await page.getByRole("dialog", { name: "Paste 2 lines?" }).getByRole("button", { name: "Paste" }).click();
  await shows(api, id, "main", "two");
});

journey("a recorded window is replayed", async ({ page, api, open }) => {
  const { id } = await createSandbox({ name: "recorded" });
  await api("POST", `/api/sandbox/instances/${id}/terminal`, { name: "main", record: true });
  await api("POST", `/api/sandbox/instances/${id}/windows/main/run`, { command: "echo recorded-$((5*5))" });
  await api("DELETE", `/api/sandbox/instances/${id}/windows/main`);
  await eventually(async () => (await api("GET", "/api/sandbox/recordings")).items.some((r) => r.sandbox_id === id), "the recording");
  await withReader(page);
  await open(`sandboxes/${id}/terminal?view=recordings`);
  await page.getByRole("button", { name: "Replay" }).click();
  const player = page.getByRole("region", { name: "Replay" });
  await player.getByRole("button", { name: /Play|Pause/ }).waitFor();
  const seek = player.getByRole("slider", { name: "Position" });
  await eventually(() => seek.isEnabled(), "the terminal of the replay");
  await seek.evaluate((input) => {
    input.value = input.max;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await eventually(async () => (await player.innerText()).includes("recorded-25"), "the end of the recording");
  await checkAxe(page, "replay");
  await screenshot(page, "terminal-replay");
});

journey("the list of recordings has windows, commands, code and jobs, and follows them", async ({ page, api, open }) => {
  const { id } = await createSandbox({ name: "films" });
  await withReader(page);
  await open(`sandboxes/${id}/terminal?view=recordings`);
  await page.getByRole("heading", { name: "No recording" }).waitFor();
  await checkAxe(page, "no recording");
  const row = (text) => page.getByRole("region", { name: "Recordings" }).getByRole("row").filter({ hasText: text });
  const calls = [["exec", { command: "echo by-a-command" }], ["code", { language: "python", contextId: "default", code: "print('by-code')\n6 * 7" }], ["exec", { command: "echo by-a-job", background: true }]];
  for (const [call, body] of calls) await api("POST", `/api/sandbox/instances/${id}/${call}`, { ...body, record: true });
  await api("POST", `/api/sandbox/instances/${id}/terminal`, { name: "by-a-window", record: true });
  await api("DELETE", `/api/sandbox/instances/${id}/windows/by-a-window`);
  for (const text of ["echo by-a-command", "print('by-code')", "echo by-a-job", "by-a-window"]) await row(text).waitFor();
  await checkAxe(page, "recordings");
  await screenshot(page, "recordings");
  const [file] = await Promise.all([page.waitForEvent("download"), row("by-code").getByRole("link", { name: "Download the recording of print('by-code')" }).click()]);
  const lines = readFileSync(await file.path(), "utf8").trim().split("\n").map((line) => JSON.parse(line));
  assert.equal(lines[0].version, 2);
  assert.equal(lines.slice(1).map((event) => event[2]).join(""), "by-code\r\n42\r\n");
  await row("by-a-command").getByRole("button", { name: "Delete the recording of echo by-a-command" }).click();
  await page.getByRole("dialog", { name: "Delete this recording?" }).getByRole("button", { name: "Cancel" }).click();
  assert.equal((await api("GET", `/api/sandbox/recordings?sandbox=${id}`)).items.length, 4);
  await row("by-a-command").getByRole("button", { name: "Delete the recording of echo by-a-command" }).click();
  await page.getByRole("dialog", { name: "Delete this recording?" }).getByRole("button", { name: "Delete" }).click();
  await row("by-a-command").waitFor({ state: "detached" });
  assert.deepEqual((await api("GET", `/api/sandbox/recordings?sandbox=${id}`)).items.filter((r) => r.window === "echo by-a-command"), []);
  await row("by-a-job").getByRole("button", { name: "Replay" }).click();
  const player = page.getByRole("region", { name: "Replay" });
  const seek = player.getByRole("slider", { name: "Position" });
  await eventually(() => seek.isEnabled(), "the terminal of the replay");
  await seek.evaluate((input) => {
    input.value = input.max;
    input.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await eventually(async () => (await player.innerText()).includes("by-a-job"), "the end of the recording");
  await page.getByRole("button", { name: "All recordings" }).click();
  await row("by-a-window").waitFor();
});

journey("a paused sandbox is woken after a question only, a stopped one not", async ({ page, api, open }) => {
  const { id } = await createSandbox({ name: "sleeper", persistent: true });
  await api("POST", `/api/sandbox/instances/${id}/pause`);
  await open(`sandboxes/${id}/terminal`);
  await page.getByRole("heading", { name: "The sandbox is paused" }).waitFor();
  await checkAxe(page, "terminal of a paused sandbox");
  assert.equal((await api("GET", `/api/sandbox/instances/${id}`)).state, "paused", "looking wakes nothing");
  await page.getByRole("button", { name: "Wake it and open" }).click();
  const tab = new TerminalTab(page);
  await tab.openWindow();
  await tab.connected();
  assert.equal((await api("GET", `/api/sandbox/instances/${id}`)).state, "started");
  await api("POST", `/api/sandbox/instances/${id}/stop`);
  await page.getByRole("heading", { name: "The sandbox does not run" }).waitFor();
});
