// SPDX-License-Identifier: Apache-2.0
// sandbox_events.ts: the kept events of one sandbox, oldest first.
import { call } from "../api/call";
import { getApiSandboxInstancesIdEvents, type Event } from "../api/generated";

const PAGE = 1000;
const PAGES_MAX = 10;

export async function readEvents(id: string, signal?: AbortSignal): Promise<Event[]> {
  const events: Event[] = [];
  let after = 0;
  for (let page = 0; page < PAGES_MAX; page++) {
    const answer = await call(getApiSandboxInstancesIdEvents, { path: { id }, query: { after, limit: PAGE }, signal });
    events.push(...answer.items);
    if (answer.items.length < PAGE) break;
    after = answer.after;
  }
  return events;
}
