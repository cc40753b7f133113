// SPDX-License-Identifier: Apache-2.0
// lists.ts: the short lists of the project. Each is read once a page asks for it (`ensure`) and again when its events say so.
import { call } from "../api/call";
import {
  getApiSandboxPools, getApiSandboxSnapshots, getApiSandboxTemplates, getApiSandboxTemplatesBuilds, getApiSandboxVolumes, getV1Approvals,
  getV1Budgets, getV1Jobs, type Approval, type Budget, type Build, type JobItem, type Pool, type Snapshot, type Template, type Volume,
} from "../api/generated";
import { Collection } from "./collection";

export const templates = new Collection<Template>({
  list: (_, signal) => call(getApiSandboxTemplates, { signal }),
  id: (t) => t.id,
  kinds: ["template.*", "build.*"],
});
export const builds = new Collection<Build>({
  list: async (_, signal) => ({ items: (await call(getApiSandboxTemplatesBuilds, { query: { limit: 100 }, signal })).items }),
  id: (b) => b.id,
  kinds: ["build.*"],
});
export const volumes = new Collection<Volume>({
  list: (_, signal) => call(getApiSandboxVolumes, { signal }),
  id: (v) => v.id,
  kinds: ["volume.*", "sandbox.created", "sandbox.deleted"],
});
export const snapshots = new Collection<Snapshot>({
  list: (page, signal) => call(getApiSandboxSnapshots, { query: { page, limit: 200 }, signal }),
  id: (s) => s.id,
  kinds: ["snapshot.*", "backup.*"],
});
export const pools = new Collection<Pool>({
  list: (_, signal) => call(getApiSandboxPools, { signal }),
  id: (p) => p.template,
  kinds: ["pool.*", "template.*"],
});
export const approvals = new Collection<Approval>({
  list: (_, signal) => call(getV1Approvals, { query: { state: "pending" }, signal }),
  id: (a) => a.id,
  kinds: ["approval.*"],
});
export const jobs = new Collection<JobItem>({
  list: (_, signal) => call(getV1Jobs, { query: { limit: 200 }, signal }),
  id: (j) => j.resultId,
  kinds: ["job.*"],
});
export const budgets = new Collection<Budget>({
  list: (_, signal) => call(getV1Budgets, { signal }),
  id: (b) => b.id,
  kinds: ["budget.*"],
});
