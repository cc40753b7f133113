// SPDX-License-Identifier: Apache-2.0
// types.ts: unions that the OpenAPI document has as plain strings. A value outside of a union is shown as it is.

export const SANDBOX_STATES = [
  "pending", "creating", "started", "paused", "stopping", "stopped", "archived", "deleting", "deleted", "failed",
] as const;
export type SandboxState = (typeof SANDBOX_STATES)[number];

/** The states that a sandbox leaves by itself. */
export const MOVING_STATES: ReadonlySet<string> = new Set(["pending", "creating", "stopping", "deleting"]);

/** The state that an event of a sandbox says; kinds that are not here change no state. */
export const STATE_OF_KIND: Readonly<Record<string, SandboxState>> = {
  "sandbox.created": "pending",
  "sandbox.starting": "creating",
  "sandbox.started": "started",
  "sandbox.resumed": "started",
  "sandbox.paused": "paused",
  "sandbox.stopping": "stopping",
  "sandbox.stopped": "stopped",
  "sandbox.archived": "archived",
  "sandbox.deleting": "deleting",
  "sandbox.deleted": "deleted",
  "sandbox.failed": "failed",
};
