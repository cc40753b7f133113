// SPDX-License-Identifier: Apache-2.0
import { count } from "../en";

export const t = {
  title: "Events",
  about: "Everything that happens in this project, as it happens.",
  kind: "Kind",
  kindHelp: "sandbox.started, or sandbox.* for all of a subject",
  sandbox: "Sandbox",
  search: "Search in these events",
  at: "When",
  text: "What",
  reason: "Reason",
  sequence: "Number",
  detail: "Detail",
  pause: "Pause",
  resume: "Resume",
  paused: (n: number) => `Paused · ${n.toLocaleString("en")} new`,
  shown: (n: number) => count(n, "event", "events"),
  none: "No event matches",
  noneText: "New events appear here by themselves. The server keeps old ones for some weeks.",
  copyLink: "Copy a link to this event",
  openSandbox: "Open the sandbox",
  raw: "As JSON",
  export: "Download as CSV",
};
