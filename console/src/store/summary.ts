// SPDX-License-Identifier: Apache-2.0
// summary.ts: the figures of the project's tiles, from one call, read again while things happen.
import { fetchRaw } from "../api/call";
import { useResource, type Resource } from "./resource";

export interface Summary {
  /** By state. */
  sandboxes: Record<string, number>;
  templates: number;
  builds_running: number;
  volumes: number;
  snapshots: number;
  jobs_running: number;
  approvals_pending: number;
  cost_today: number | null;
  currency?: string;
}

const QUIET_MS = 1000;

export function useSummary(): Resource<Summary> {
  return useResource<Summary>("summary", async (signal) => (await (await fetchRaw("GET", "/v1/summary", { signal })).json()) as Summary, {
    kinds: ["sandbox.*", "template.*", "build.*", "volume.*", "snapshot.*", "job.*", "approval.*", "budget.*"],
    quietMs: QUIET_MS,
    onFocus: true,
  });
}
