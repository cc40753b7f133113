// SPDX-License-Identifier: Apache-2.0
// sandbox_calls.ts: snapshot and fork, and one sandbox as a page follows it.
import { call } from "../api/call";
import { getApiSandboxInstancesId, postApiSandboxInstancesIdFork, postApiSandboxInstancesIdSnapshot, type Forked, type Snapshot } from "../api/generated";
import { useResource, type Resource } from "./resource";
import { sandboxes, type Sandbox } from "./sandboxes";

export function snapshotSandbox(id: string, body: { name?: string; memory?: boolean; backup?: boolean } = {}): Promise<Snapshot> {
  return call(postApiSandboxInstancesIdSnapshot, { path: { id }, body });
}

/** The ids of the forks. */
export async function forkSandbox(id: string, count = 1, name?: string, memory?: boolean): Promise<string[]> {
  const answer = (await call(postApiSandboxInstancesIdFork, { path: { id }, body: { count, name, memory } })) as Forked;
  return answer.items.map((s) => s.id);
}

/** One sandbox with all members, read again after its events; its state follows at once. `id` may be its name. */
export function useSandbox(id: string): { resource: Resource<Sandbox>; sandbox: Sandbox | undefined } {
  const resource = useResource<Sandbox>(`sandbox ${id}`, (signal) => call(getApiSandboxInstancesId, { path: { id }, signal }), { kinds: ["sandbox.*", "snapshot.*", "volume.*"] });
  const read = resource.data.value;
  const row = read && sandboxes.get(read.id);
  // The list hears of a change first; members that only this read has stay.
  const isNewer = row && row.version >= read.version;
  const sandbox = read && isNewer ? { ...read, state: row.state, reason: row.reason, last_event: row.last_event, desired_state: row.desired_state } : read;
  return { resource, sandbox };
}
