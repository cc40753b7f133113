// SPDX-License-Identifier: Apache-2.0
// Processes: live output, a signal that ends one, services.
import { checkAxe, createSandbox, eventually, journey, screenshot } from "./harness.mjs";
import { ProcessesTab } from "./pages.mjs";

journey("a command's output comes in live, and a signal ends it", async ({ page, api, open }) => {
  const { id } = await createSandbox({ name: "busy" });
  await api("POST", `/api/sandbox/instances/${id}/exec`, { command: "echo done-before; exit 3" });
  await api("POST", `/api/sandbox/instances/${id}/exec`, { command: "i=0; while sleep 0.3; do i=$((i+1)); echo tick-$i; done", background: true });
  await api("PUT", `/api/sandbox/instances/${id}/services/web`, { command: "sleep 1000" });
  await open(`sandboxes/${id}/processes`);
  const tab = new ProcessesTab(page);
  await tab.row("done-before").getByText("exit 3", { exact: true }).waitFor();
  await page.getByRole("region", { name: "Services" }).getByText("web", { exact: true }).waitFor();
  await checkAxe(page, "processes");
  await screenshot(page, "processes");
  await tab.row("tick-$i").getByText("tick-$i").click();
  const sheet = page.getByRole("dialog", { name: /^Process / });
  await sheet.getByText("tick-2", { exact: true }).waitFor();
  await sheet.getByText("tick-5", { exact: true }).waitFor();
  await checkAxe(page, "a process");
  await sheet.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("dialog", { name: "Stop this command?" }).getByRole("button", { name: "Stop" }).click();
  await eventually(async () => (await api("GET", `/api/sandbox/instances/${id}/processes`)).items.every((p) => p.state !== "running" || !p.args.join(" ").includes("tick-")), "the command ends");
  await page.getByRole("button", { name: "Close" }).first().click();
  await tab.row("tick-$i").getByText("running").waitFor({ state: "detached" });
});

journey("a service is stopped and started", async ({ page, api, open }) => {
  const { id } = await createSandbox({ name: "served" });
  await api("PUT", `/api/sandbox/instances/${id}/services/web`, { command: "sleep 1000" });
  await open(`sandboxes/${id}/processes`);
  const services = page.getByRole("region", { name: "Services" });
  await services.getByRole("button", { name: "Stop" }).click();
  await eventually(async () => (await api("GET", `/api/sandbox/instances/${id}/services/web`)).state === "stopped", "the service stops");
  await services.getByRole("button", { name: "Start", exact: true }).click();
  await eventually(async () => (await api("GET", `/api/sandbox/instances/${id}/services/web`)).state === "running", "the service runs");
});
