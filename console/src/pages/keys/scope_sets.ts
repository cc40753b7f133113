// SPDX-License-Identifier: Apache-2.0
// scope_sets.ts: the scopes of a key in one word, and the scopes that a word stands for.
export const SCOPES = ["sandbox:read", "sandbox:write", "template:write", "key:write", "project:write"] as const;

export type ScopeSet = "full" | "read" | "sandboxes" | "chosen";
/** null: the server's default, all scopes of the caller except admin. */
export const SETS: Readonly<Record<Exclude<ScopeSet, "chosen">, readonly string[] | null>> = {
  full: null,
  read: ["sandbox:read"],
  sandboxes: ["sandbox:read", "sandbox:write"],
};

export function setOf(scopes: readonly string[]): ScopeSet {
  const has = new Set(scopes);
  if (has.has("admin") || SCOPES.every((s) => has.has(s))) return "full";
  if (has.size === 1 && has.has("sandbox:read")) return "read";
  return has.has("sandbox:write") && [...has].every((s) => s.startsWith("sandbox:")) ? "sandboxes" : "chosen";
}
