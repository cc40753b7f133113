// SPDX-License-Identifier: Apache-2.0
// many.mjs COUNT SECONDS: the table with so many sandboxes, scrolled while others change their states. Prints one JSON line of figures.
// Each step has a limit of its own, so that a hang names its step.
import assert from "node:assert/strict";
import { addressOf, api, closeBrowser, newContext } from "./driver.mjs";
import { Sandboxes } from "./pages.mjs";

const [count, seconds] = process.argv.slice(2).map(Number);
const CHANGES_PER_SECOND = 60;
const CALLS_AT_ONCE = 8;

async function step(name, ms, work) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error(`${name}: not done within ${ms} ms`)), ms)));
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Stops and starts one sandbox after the other, so many in a second, until `end`. */
class Changer {
  calls = new Set();
  changes = 0;
  failed = [];
  last = null;

  constructor(boxes) {
    this.boxes = boxes;
    this.timer = setInterval(() => this.tick(), 1000 / CHANGES_PER_SECOND);
  }

  tick() {
    if (this.calls.size >= CALLS_AT_ONCE) return;
    const box = this.boxes[this.changes % this.boxes.length];
    const action = Math.floor(this.changes / this.boxes.length) % 2 ? "start" : "stop";
    this.changes += 1;
    this.last = { box, action };
    const call = api("POST", `/api/sandbox/instances/${box.id}/${action}`).catch((error) => this.failed.push(error.message)).finally(() => this.calls.delete(call));
    this.calls.add(call);
  }

  async end() {
    clearInterval(this.timer);
    await Promise.all(this.calls);
  }
}

/** Scrolls by a fixed distance in each frame; returns how long the frames took. */
async function scroll(ms) {
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
}

async function measure() {
  const { context, faults } = await step("a browser with a session", 60000, newContext());
  const page = await context.newPage();
  const sandboxes = new Sandboxes(page);
  const began = Date.now();
  await step("the page", 30000, page.goto(await addressOf("sandboxes")));
  await page.getByText(`${count.toLocaleString("en")} sandboxes`).waitFor({ timeout: 60000 });
  await sandboxes.grid().getByRole("row").nth(5).waitFor();
  const shownMs = Date.now() - began;
  const rows = await sandboxes.grid().getByRole("row").count();
  const { items } = await api("GET", "/api/sandbox/instances?limit=1000");
  await page.getByText("Live", { exact: true }).waitFor();

  // The processor time of the page's thread: the time by the clock depends on what else the machine does.
  const devtools = await context.newCDPSession(page);
  await step("figures of the page", 10000, devtools.send("Performance.enable", { timeDomain: "threadTicks" }));
  const cpuMs = async () => (await step("figures of the page", 20000, devtools.send("Performance.getMetrics"))).metrics.find((m) => m.name === "TaskDuration").value * 1000;
  const cpuBefore = await cpuMs();
  const changer = new Changer(items);
  const frames = await step("scrolling", seconds * 1000 + 60000, page.evaluate(scroll, seconds * 1000));
  const cpuPerFrame = ((await cpuMs()) - cpuBefore) / frames.frames;
  await step("the last calls that change states", 40000, changer.end());
  assert.deepEqual(changer.failed, []);
  const { box, action } = changer.last;
  await sandboxes.search().fill(box.name);
  await sandboxes.state(box.name, action === "stop" ? "stopped" : "started").waitFor();
  const memory = await step("the size of the heap", 10000, page.evaluate(() => performance.memory?.usedJSHeapSize ?? 0));
  await step("the end of the browser", 20000, context.close());
  return { count, shownMs, rows, changes: changer.changes, seconds, ...frames, cpuPerFrame, heapMb: Math.round(memory / 1048576), faults };
}

try {
  console.log(JSON.stringify(await measure()));
  await step("the end of the browser", 20000, closeBrowser());
  process.exit(0);
} catch (error) {
  console.error(error);
  process.exit(1);
}
