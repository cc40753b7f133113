// SPDX-License-Identifier: Apache-2.0
// many.mjs COUNT SECONDS: the table with so many sandboxes, scrolled while others change their states. Prints one JSON line of figures.
import { addressOf, api, closeBrowser, newContext } from "./driver.mjs";
import { Sandboxes } from "./pages.mjs";

const [count, seconds] = process.argv.slice(2).map(Number);
const { context, faults } = await newContext();
const page = await context.newPage();
const sandboxes = new Sandboxes(page);
const began = Date.now();
await page.goto(await addressOf("sandboxes"));
await page.getByText(`${count.toLocaleString("en")} sandboxes`).waitFor({ timeout: 60000 });
await sandboxes.grid().getByRole("row").nth(5).waitFor();
const shownMs = Date.now() - began;
const rows = await sandboxes.grid().getByRole("row").count();

const { items } = await api("GET", "/api/sandbox/instances?limit=200");
let changes = 0;
let isOver = false;
const change = async (box) => {
  for (let n = 0; !isOver; n += 1) {
    await api("POST", `/api/sandbox/instances/${box.id}/${n % 2 ? "start" : "stop"}`).catch(() => undefined);
    changes += 1;
  }
};
// The processor time of the page's thread: the time by the clock depends on what else the machine does.
const devtools = await context.newCDPSession(page);
await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
const cpuMs = async () => (await devtools.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration").value * 1000;
const cpuBefore = await cpuMs();
const changing = Promise.all(items.slice(0, 4).map(change));
const frames = await page.evaluate(async (ms) => {
  const grid = document.querySelector("[role=grid]");
  const end = performance.now() + ms;
  const times = [];
  let last = performance.now();
  let direction = 1;
  while (performance.now() < end) {
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    times.push(now - last);
    last = now;
    if (grid.scrollTop + grid.clientHeight >= grid.scrollHeight - 2) direction = -1;
    else if (grid.scrollTop === 0) direction = 1;
    grid.scrollTop += 90 * direction;
  }
  const sorted = times.sort((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return { frames: times.length, median: at(0.5), p95: at(0.95), p99: at(0.99), longest: at(1) };
}, seconds * 1000);
const cpuPerFrame = ((await cpuMs()) - cpuBefore) / frames.frames;
isOver = true;
await changing;
const memory = await page.evaluate(() => performance.memory?.usedJSHeapSize ?? 0);
console.log(JSON.stringify({ count, shownMs, rows, changes, seconds, ...frames, cpuPerFrame, heapMb: Math.round(memory / 1048576), faults }));
await context.close();
await closeBrowser();
process.exit(0);
