// SPDX-License-Identifier: Apache-2.0
import { count } from "../en";

export const t = {
  tabs: {
    overview: "Overview", metrics: "Metrics", processes: "Processes", terminal: "Terminal", files: "Files", preview: "Preview", network: "Network",
    activity: "Activity", snapshots: "Snapshots", cost: "Cost",
  } as Record<string, string>,
  tabsLabel: "Sandbox",
  actions: {
    start: "Start", resume: "Resume", pause: "Pause", stop: "Stop", archive: "Archive", delete: "Delete", snapshot: "Snapshot", fork: "Fork",
    terminal: "Terminal", files: "Files", preview: "Preview", keepAwake: "Keep awake for 1 hour", copyId: "Copy the id", copyLink: "Copy the link",
    copyCurl: "Copy as curl",
  },
  doing: { start: "starting…", resume: "resuming…", pause: "pausing…", stop: "stopping…", archive: "archiving…", delete: "deleting…", snapshot: "taking a snapshot…", fork: "forking…" } as Record<string, string>,
  done: { stop: "Stopped", pause: "Paused", start: "Started", resume: "Resumed" } as Record<string, string>,
  reasons: {
    user: "on request", idle: "it was idle", lifetime: "its lifetime ended", oom: "it ran out of memory", exit: "its process ended", host_lost: "its server went away", error: "an error",
    budget: "a budget is spent", disk: "its disk is full",
  } as Record<string, string>,
  notFound: "No such sandbox",
  notFoundText: "This project has no sandbox with this id or name, and never had one that is still remembered.",
  deletedBanner: "This sandbox is deleted. What is left of it is shown.",
  wrongAgent: "The agent inside does not answer. Calls that need it are refused until it does.",
  tabMissing: "This tab does not exist",
  snapshotDone: (name: string) => `Took the snapshot ${name}`,
  forkDone: (n: number) => `Made ${count(n, "fork", "forks")}`,
  showFork: "Show",
  deleteTitle: (names: string[]) => (names.length === 1 ? `Delete ${names[0]}?` : `Delete ${count(names.length, "sandbox", "sandboxes")}?`),
  deleteText: "Its files and processes are gone afterwards. Snapshots of it stay.",
  deleteMany: "Their files and processes are gone afterwards. Snapshots stay.",
  snapshotFirst: "Snapshot first",
  more: (n: number) => `and ${n} more`,
  cannot: (action: string, state: string) => `${action} is not possible while it is ${state}.`,
  labels: "Labels",
  labelName: "Name",
  labelValue: "Value",
  labelsTitle: (n: number) => (n === 1 ? "Labels" : `Labels of ${count(n, "sandbox", "sandboxes")}`),
  labelsAdded: "These are added; labels with the same name are replaced.",
  awake: "It stays awake for 1 hour",
};
