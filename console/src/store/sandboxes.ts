// SPDX-License-Identifier: Apache-2.0
// sandboxes.ts: the sandboxes of the project, kept current by events, and what can be done with them.
import { call } from "../api/call";
import type { LiveEvent } from "../api/events";
import {
  deleteApiSandboxInstancesId, getApiSandboxInstances, getApiSandboxInstancesId, postApiSandboxInstancesIdArchive,
  postApiSandboxInstancesIdFork, postApiSandboxInstancesIdPause, postApiSandboxInstancesIdResume, postApiSandboxInstancesIdSnapshot,
  postApiSandboxInstancesIdStart, postApiSandboxInstancesIdStop, type Pause, type Sandbox as ApiSandbox,
} from "../api/generated";
import { Collection } from "./collection";
import { STATE_OF_KIND } from "./types";

export type Sandbox = ApiSandbox;

const PAGE = 1000;
const DETAILS_MS = 100;
const DETAILS_AT_ONCE = 4;

export const sandboxes = new Collection<Sandbox>({
  list: (page, signal) => call(getApiSandboxInstances, { query: { limit: PAGE, page }, signal }),
  id: (s) => s.id,
  version: (s) => s.version,
  kinds: ["sandbox.*"],
  apply: applyEvent,
});

function applyEvent(event: LiveEvent): boolean {
  const id = event.sandbox;
  if (!id) return true;
  if (event.kind === "sandbox.deleted") {
    sandboxes.remove(id);
    return true;
  }
  if (event.object === null) {
    sandboxes.remove(id); // The row was gone when the event was sent.
    return true;
  }
  if (event.object) {
    sandboxes.put(event.object as Sandbox);
    return true;
  }
  const state = STATE_OF_KIND[event.kind];
  if (sandboxes.peek(id)) {
    const last = { at: event.at, text: event.text };
    sandboxes.patch(id, state ? { state, reason: (event.reason ?? "none") as Sandbox["reason"], last_event: last } : { last_event: last });
  }
  readSoon(id);
  return true;
}

// Details follow an event: collected for 100 ms, four reads at once.
const wanted = new Set<string>();
let timer: ReturnType<typeof setTimeout> | undefined;

function readSoon(id: string): void {
  wanted.add(id);
  timer ??= setTimeout(() => void readWanted(), DETAILS_MS);
}

async function readWanted(): Promise<void> {
  const ids = [...wanted];
  wanted.clear();
  const work = async (): Promise<void> => {
    for (let id = ids.shift(); id !== undefined; id = ids.shift()) await readSandbox(id).catch(() => undefined);
  };
  await Promise.all(Array.from({ length: DETAILS_AT_ONCE }, work));
  timer = undefined;
  if (wanted.size) timer = setTimeout(() => void readWanted(), DETAILS_MS);
}

/** Reads one sandbox into the store. */
export async function readSandbox(id: string, signal?: AbortSignal): Promise<Sandbox> {
  const found: Sandbox = await call(getApiSandboxInstancesId, { path: { id }, signal });
  if (found.state === "deleted") sandboxes.remove(id);
  else sandboxes.put(found);
  return found;
}

export type SandboxAction = "start" | "resume" | "pause" | "stop" | "archive" | "delete";

const CALLS = {
  start: postApiSandboxInstancesIdStart,
  resume: postApiSandboxInstancesIdResume,
  pause: postApiSandboxInstancesIdPause,
  stop: postApiSandboxInstancesIdStop,
  archive: postApiSandboxInstancesIdArchive,
  delete: deleteApiSandboxInstancesId,
} as const;
export const OPERATION_OF_ACTION = { ...CALLS, snapshot: postApiSandboxInstancesIdSnapshot, fork: postApiSandboxInstancesIdFork } as const;

/** The states in which the server takes an action. */
const TAKES: Record<SandboxAction | "snapshot" | "fork" | "exec", readonly string[]> = {
  start: ["stopped", "archived", "failed"],
  resume: ["paused"],
  pause: ["started"],
  stop: ["started", "paused"],
  archive: ["stopped"],
  delete: ["pending", "creating", "started", "paused", "stopped", "archived", "failed"],
  snapshot: ["started", "paused", "stopped"],
  fork: ["started", "paused"],
  exec: ["started", "paused"],
};

export function canTake(sandbox: Pick<Sandbox, "state">, action: keyof typeof TAKES): boolean {
  return TAKES[action].includes(sandbox.state);
}

/** Sends an action; the events and the answer change the row. */
export async function actOnSandbox(id: string, action: SandboxAction, signal?: AbortSignal, body?: Pause): Promise<void> {
  const operation = CALLS[action] as (typeof CALLS)["pause"];
  const answer = (await call(operation, { path: { id }, signal, body })) as Sandbox | undefined;
  if (action === "delete") sandboxes.remove(id);
  else if (answer && typeof answer === "object" && "id" in answer) mergeAnswer(answer);
}

/** Answers of actions leave out members that only reads have. */
export function mergeAnswer(answer: Sandbox): void {
  const old = sandboxes.peek(answer.id);
  sandboxes.put(old ? { ...answer, made_from: answer.made_from ?? old.made_from, volumes: answer.volumes ?? old.volumes } : answer);
}
