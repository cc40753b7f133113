// SPDX-License-Identifier: Apache-2.0
// summary.ts: the figures of the project's tiles, from one call, read again while things happen.
import { call } from "../api/call";
import { getV1Summary, type Summary } from "../api/generated";
import { useResource, type Resource } from "./resource";

const QUIET_MS = 1000;

export function useSummary(): Resource<Summary> {
  return useResource<Summary>("summary", (signal) => call(getV1Summary, { signal }), {
    kinds: ["sandbox.*", "template.*", "build.*", "volume.*", "snapshot.*", "job.*", "approval.*", "budget.*"],
    quietMs: QUIET_MS,
    onFocus: true,
  });
}
