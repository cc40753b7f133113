// SPDX-License-Identifier: Apache-2.0
// Files: upload, edit, save, download, rename, delete; changes of others; hostile names; pictures, tables, bytes; what has changed.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkAxe, createSandbox, eventually, journey, KEY, screenshot, SERVER } from "./harness.mjs";
import { FilesTab } from "./pages.mjs";

const FOLDER = "/home/user/work";
const HOSTILE = [
  "<img src=x onerror=alert(1)>", "<svg onload=alert(1)>", '"><script>alert(1)<', "javascript:alert(1)", "{{7*7}}", "${7*7}", "%0d%0aSet-Cookie: a=b", "%2e%2e", "..%2f..", "-rf", "=cmd()",
  "a\u202egpj.exe", "zero\u200bwidth", "sep\u2028line", "new\nline", "tab\tname", "\u001b[31mred", "__proto__", "constructor", "con\u0301\u0301\u0301\u0301", "x".repeat(200), "#hash", "?query=1", "a&b;c|d", "'quote'", "back\\slash", "☃.txt", " space ", "semi;colon", "title</title>",
];

const write = (id, path, content) => fetch(`${SERVER}/api/sandbox/instances/${id}/files/content?path=${encodeURIComponent(path)}`, { method: "PUT", headers: { Authorization: `Bearer ${KEY}` }, body: content }).then((answer) => assert.ok(answer.ok, `${path}: ${answer.status}`));
const read = (id, path) => fetch(`${SERVER}/api/sandbox/instances/${id}/files/content?path=${encodeURIComponent(path)}`, { headers: { Authorization: `Bearer ${KEY}` } }).then((answer) => (answer.ok ? answer.text() : null));

journey("upload, edit, save, download, rename and delete a file", async ({ page, api, open }) => {
  const { id } = await createSandbox({ name: "editor" });
  await api("POST", `/api/sandbox/instances/${id}/files/mkdir`, { path: FOLDER });
  await open(`sandboxes/${id}/files${FOLDER}`);
  const tab = new FilesTab(page);
  await page.getByRole("heading", { name: "This folder is empty" }).waitFor();
  await checkAxe(page, "an empty folder");
  await page.locator("input[type=file]").first().setInputFiles({ name: "note.txt", mimeType: "text/plain", buffer: Buffer.from("first\n") });
  await tab.entry("note.txt").waitFor();
  assert.equal(await read(id, `${FOLDER}/note.txt`), "first\n");
  await checkAxe(page, "a folder");
  await tab.openEntry("note.txt");
  const editor = tab.editor("note.txt");
  await editor.click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("second");
  await page.getByText("Not saved").waitFor();
  await page.keyboard.press("Control+s");
  await page.getByText("Saved", { exact: true }).waitFor();
  assert.equal(await read(id, `${FOLDER}/note.txt`), "first\nsecond");
  await checkAxe(page, "a file in the editor");
  await screenshot(page, "files-editor");
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download" }).click()]);
  assert.equal(readFileSync(await download.path(), "utf8"), "first\nsecond");
  await page.getByRole("navigation", { name: "Path" }).getByRole("link", { name: "work" }).click();
  await tab.menu("note.txt", "Rename or move");
  await page.getByLabel("New path").fill(`${FOLDER}/renamed.txt`);
  await page.getByRole("dialog").getByRole("button", { name: "Rename or move" }).click();
  await tab.entry("renamed.txt").waitFor();
  await tab.menu("renamed.txt", "Delete");
  await page.getByRole("dialog", { name: "Delete renamed.txt?" }).getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { name: "This folder is empty" }).waitFor();
  assert.equal(await read(id, `${FOLDER}/renamed.txt`), null);
});

journey("a folder is uploaded with its folders, and asks before it replaces", async ({ page, api, open }) => {
  const { id } = await createSandbox({ name: "folders" });
  await api("POST", `/api/sandbox/instances/${id}/files/mkdir`, { path: FOLDER });
  await open(`sandboxes/${id}/files${FOLDER}`);
  const folder = mkdtempSync(join(tmpdir(), "atoll-console-"));
  try {
    mkdirSync(join(folder, "tree/inner"), { recursive: true });
    writeFileSync(join(folder, "tree/a.txt"), "a\n");
    writeFileSync(join(folder, "tree/inner/b.txt"), "b\n");
    const picker = page.locator("input[type=file][webkitdirectory]");
    await picker.setInputFiles(join(folder, "tree"));
    await new FilesTab(page).entry("tree").waitFor();
    await eventually(async () => (await read(id, `${FOLDER}/tree/inner/b.txt`)) === "b\n", "the inner file");
    assert.equal(await read(id, `${FOLDER}/tree/a.txt`), "a\n");
    writeFileSync(join(folder, "tree/a.txt"), "changed\n");
    await picker.setInputFiles(join(folder, "tree"));
    const question = page.getByRole("dialog", { name: "Replace 1 file?" });
    await question.getByText("Their files replace files of the same name: tree").waitFor();
    await question.getByRole("button", { name: "Replace" }).click();
    await eventually(async () => (await read(id, `${FOLDER}/tree/a.txt`)) === "changed\n", "the replaced file");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

journey("a folder and a file that are dropped are uploaded", async ({ page, context, api, open }) => {
  const { id } = await createSandbox({ name: "dropped" });
  await api("POST", `/api/sandbox/instances/${id}/files/mkdir`, { path: FOLDER });
  await open(`sandboxes/${id}/files${FOLDER}`);
  await page.getByRole("heading", { name: "This folder is empty" }).waitFor();
  const folder = mkdtempSync(join(tmpdir(), "atoll-drop-"));
  try {
    mkdirSync(join(folder, "tree/inner/none"), { recursive: true });
    for (let i = 0; i < 120; i++) writeFileSync(join(folder, `tree/inner/${i}.txt`), `${i}\n`); // a browser gives 100 entries at once
    writeFileSync(join(folder, "alone.txt"), "alone\n");
    const box = await page.locator(".folder").boundingBox();
    const devtools = await context.newCDPSession(page);
    const data = { items: [], files: [join(folder, "tree"), join(folder, "alone.txt")], dragOperationsMask: 1 };
    const drag = (type) => devtools.send("Input.dispatchDragEvent", { type, x: box.x + box.width / 2, y: box.y + box.height / 2, data });
    await drag("dragEnter");
    await drag("dragOver");
    await page.locator(".folder.is-over").waitFor();
    await drag("drop");
    await new FilesTab(page).entry("tree").waitFor();
    await new FilesTab(page).entry("alone.txt").waitFor();
    await page.locator(".folder.is-over").waitFor({ state: "detached" });
    await eventually(async () => (await read(id, `${FOLDER}/tree/inner/119.txt`)) === "119\n", "the last file of the folder");
    assert.equal(await read(id, `${FOLDER}/tree/inner/0.txt`), "0\n");
    assert.equal(await read(id, `${FOLDER}/alone.txt`), "alone\n");
    const inner = await api("GET", `/api/sandbox/instances/${id}/files?path=${encodeURIComponent(`${FOLDER}/tree/inner`)}&limit=1000`);
    assert.equal(inner.items.length, 121, "120 files and an empty folder");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

journey("a file that something else writes is not overwritten unasked", async ({ page, open }) => {
  const { id } = await createSandbox({ name: "conflict" });
  await write(id, `${FOLDER}/shared.txt`, "mine\n");
  await open(`sandboxes/${id}/files${FOLDER}/shared.txt`);
  const tab = new FilesTab(page);
  await tab.editor("shared.txt").getByText("mine").waitFor();
  await write(id, `${FOLDER}/shared.txt`, "followed\n");
  await tab.editor("shared.txt").getByText("followed").waitFor();
  await tab.editor("shared.txt").click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("typed");
  await write(id, `${FOLDER}/shared.txt`, "theirs, and longer\n");
  await page.getByText("This file has changed on disk.").waitFor();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("dialog", { name: "The file has changed meanwhile" }).getByRole("button", { name: "Cancel" }).click();
  assert.equal(await read(id, `${FOLDER}/shared.txt`), "theirs, and longer\n");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("dialog", { name: "The file has changed meanwhile" }).getByRole("button", { name: "Save" }).click();
  await eventually(async () => (await read(id, `${FOLDER}/shared.txt`)) === "followed\ntyped", "the saved text");
});

journey("names that are HTML, scripts or control characters are shown as text, live", async ({ page, open }) => {
  const { id } = await createSandbox({ name: "hostile-files" });
  await write(id, `${FOLDER}/first`, "x");
  await open(`sandboxes/${id}/files${FOLDER}`);
  const tab = new FilesTab(page);
  await tab.entry("first").waitFor();
  for (const name of HOSTILE) await write(id, `${FOLDER}/${name}`, "content of it");
  await eventually(async () => Number(await tab.grid().getAttribute("aria-rowcount")) > HOSTILE.length, "all names in the table");
  assert.equal(await page.locator("main img, main script, main svg[onload]").count(), 0);
  const text = await tab.grid().innerText();
  assert.ok(!/[\u202e\u200b\u2028\u001b]/.test(text), "no hidden character is passed on");
  await checkAxe(page, "hostile names");
  for (const name of ["<img src=x onerror=alert(1)>", "%2e%2e", "#hash", "?query=1"]) {
    await tab.openEntry(name);
    await page.getByText("content of it").waitFor();
    await page.goBack();
    await tab.entry("first").waitFor();
  }
});

journey("pictures, tables and bytes are shown as what they are", async ({ page, open }) => {
  const { id } = await createSandbox({ name: "kinds" });
  const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
  await write(id, `${FOLDER}/dot.png`, png);
  await write(id, `${FOLDER}/page.svg`, '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><script>parent.hacked=1</script><rect width="40" height="40"/></svg>');
  await write(id, `${FOLDER}/data.csv`, 'name,note\nalpha,"a, b"\nbeta,=cmd()\n');
  await write(id, `${FOLDER}/blob.bin`, Buffer.from([0, 1, 2, 255, 65]));
  await write(id, `${FOLDER}/page.html`, "<h1>not rendered</h1>");
  for (const name of ["dot.png", "page.svg"]) {
    await open(`sandboxes/${id}/files${FOLDER}/${name}`);
    const image = page.getByRole("img", { name: `Picture ${name}` });
    await eventually(() => image.evaluate((i) => i.complete && i.naturalWidth > 0), `${name} is drawn`);
    assert.equal(await page.evaluate(() => globalThis.hacked), undefined);
  }
  await checkAxe(page, "a picture");
  await open(`sandboxes/${id}/files${FOLDER}/data.csv`);
  await page.getByRole("cell", { name: "a, b" }).waitFor();
  await checkAxe(page, "a table");
  await open(`sandboxes/${id}/files${FOLDER}/blob.bin`);
  await page.getByText("00000000 00 01 02 ff 41").waitFor();
  await checkAxe(page, "bytes");
  await open(`sandboxes/${id}/files${FOLDER}/page.html`);
  await new FilesTab(page).editor("page.html").getByText("not rendered").waitFor();
  assert.equal(await page.getByRole("heading", { name: "not rendered" }).count(), 0);
});

journey("changes are shown as a diff and taken back", async ({ page, open }) => {
  const { id } = await createSandbox({ name: "changed" });
  await write(id, `${FOLDER}/new.py`, "print('one')\n");
  await open(`sandboxes/${id}/files?view=changes`);
  await page.getByRole("link", { name: /work\/new\.py/ }).click();
  const diff = page.getByRole("region", { name: /^Changes of/ });
  await diff.getByText("print('one')").waitFor();
  await checkAxe(page, "changes");
  await screenshot(page, "files-changes");
  await page.getByRole("button", { name: "Revert", exact: true }).click();
  await page.getByRole("dialog", { name: /^Revert/ }).getByRole("button", { name: "Revert" }).click();
  await eventually(async () => (await read(id, `${FOLDER}/new.py`)) === null, "the new file is gone");
});

journey("a stopped sandbox's files are read, not changed, and stay stopped", async ({ page, api, open }) => {
  const { id } = await createSandbox({ name: "at-rest", persistent: true });
  await write(id, `${FOLDER}/kept.txt`, "kept text\n");
  await api("POST", `/api/sandbox/instances/${id}/stop`);
  await open(`sandboxes/${id}/files${FOLDER}`);
  await page.getByText("The sandbox does not run: its files can be read, not changed.").waitFor();
  const tab = new FilesTab(page);
  await tab.openEntry("kept.txt");
  await tab.editor("kept.txt").getByText("kept text").waitFor();
  await page.getByText("Read only", { exact: true }).waitFor();
  await checkAxe(page, "a file of a stopped sandbox");
  assert.equal((await api("GET", `/api/sandbox/instances/${id}`)).state, "stopped");
});
