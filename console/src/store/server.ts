// SPDX-License-Identifier: Apache-2.0
// server.ts: what the server says of itself, for its admins.
import { fetchRaw } from "../api/call";
import { ApiError } from "../api/errors";

export interface ServerNode {
  node: string;
  url: string | null;
  state: string;
  seen_at: string | null;
  heartbeat_age_ms: number;
  self: boolean;
}
export interface ServerOption {
  name: string;
  value: string;
  default: string;
  source: string;
  description: string;
  needs_restart: boolean;
}
export interface ServerTiming {
  count: number;
  failures: number;
  mean_ms: number;
  p50_ms: number;
  p99_ms: number;
}
export interface ServerLane {
  lane: string;
  running: number;
  waiting: number;
  longest_wait_ms: number;
  refused: number;
}
export interface ServerMetrics {
  connections: number;
  streams: number;
  requests_waiting: number;
  bytes_in: number;
  bytes_out: number;
  responses_2xx: number;
  responses_3xx: number;
  responses_4xx: number;
  responses_5xx: number;
  pool_hits: number;
  pool_misses: number;
  pool_ready: number;
  pool_target: number;
  broker_calls_waiting: number;
  requests: ServerTiming;
  store: ServerTiming;
  lanes: ServerLane[];
}
export interface Server {
  version: string;
  build: string;
  provider: string;
  node: string;
  started_at: string | null;
  uptime_ms: number;
  readiness: string;
  checked_at: string | null;
  reason: string | null;
  cure: string | null;
  nodes: ServerNode[];
  configuration: ServerOption[];
  metrics: ServerMetrics;
}

/** null: an atolld that is older than this page does not tell. */
export async function readServer(signal: AbortSignal): Promise<Server | null> {
  try {
    return (await (await fetchRaw("GET", "/v1/server", { signal })).json()) as Server;
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.status === 404) return null;
    throw thrown;
  }
}
