// SPDX-License-Identifier: Apache-2.0
// csv.ts: the shown events as a file.
import type { Event } from "../../api/generated";
import { csvCell } from "../../parts/safe";

export function eventsAsCsv(events: readonly Event[]): string {
  const rows = events.map((e) => [e.sequence, e.at, e.kind, e.sandbox, e.reason, e.text, e.detail === undefined ? "" : JSON.stringify(e.detail)].map(csvCell).join(","));
  return ["sequence,at,kind,sandbox,reason,text,detail", ...rows, ""].join("\r\n");
}

export function downloadCsv(events: readonly Event[]): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([eventsAsCsv(events)], { type: "text/csv" }));
  link.download = "events.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
