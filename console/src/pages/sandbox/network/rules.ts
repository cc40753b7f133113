// SPDX-License-Identifier: Apache-2.0
// rules.ts: the two lists of the API as a mode and lists, and back.
import type { CredentialRule, SandboxEgress } from "../../../api/generated";
import { sandboxNetwork as t } from "../../../text/en";

export type Mode = "open" | "only" | "none";
export type Refusal = "enforce" | "ask" | "watch";
export interface Rules {
  mode: Mode;
  allow: string[];
  deny: string[];
  /** What happens to what is refused. */
  refusal: Refusal;
  /** Rules that put credentials into requests; kept unless they are removed. */
  rules: CredentialRule[];
  /** What the next request adds: the server turns it into rules. */
  presets: readonly string[];
  credentials: readonly string[];
}

const ALL = new Set(["0.0.0.0/0", "::/0"]);

export function rulesOf(egress: SandboxEgress | null | undefined): Rules {
  const allow = egress?.allow ?? [];
  const deny = egress?.deny ?? [];
  const isAll = deny.some((rule) => ALL.has(rule));
  return { mode: !isAll ? "open" : allow.length ? "only" : "none", allow, deny: deny.filter((rule) => !ALL.has(rule)), refusal: egress?.mode ?? "enforce", rules: egress?.rules ?? [], presets: [], credentials: [] };
}

/** A request replaces all rules, those of credentials too: they are sent again in every mode, and the server refuses the modes that do not fit them. */
export function bodyOf(rules: Rules): SandboxEgress {
  const more: SandboxEgress = { ...(rules.refusal === "enforce" ? {} : { mode: rules.refusal }), ...(rules.rules.length ? { rules: rules.rules } : {}) };
  if (rules.mode === "open") return { allow: rules.allow, deny: rules.deny, ...more };
  if (rules.mode === "none") return { allow: [], deny: ["0.0.0.0/0", ...rules.deny], ...more };
  if (rules.presets.length) more.presets = [...rules.presets];
  if (rules.credentials.length) more.credentials = [...rules.credentials];
  return { allow: rules.allow, deny: ["0.0.0.0/0", ...rules.deny], ...more };
}

const textOf = (r: Rules): string => JSON.stringify([r.mode, r.allow, r.deny, r.refusal, r.rules, r.presets, r.credentials]);
export const isSameRules = (a: Rules, b: Rules): boolean => textOf(a) === textOf(b);

const isAddress = (rule: string): boolean => /^\d{1,3}(\.\d{1,3}){3}(\/\d{1,2})?$/.test(rule) || (rule.includes(":") && /^[0-9a-f:.]+(\/\d{1,3})?$/i.test(rule));

/** Why a rule cannot be allowed in this mode, or null. The server checks the rest. */
export function allowProblem(rule: string, mode: Mode): string | null {
  if (/\s/.test(rule)) return t.spaces;
  return mode === "open" && !isAddress(rule) ? t.nameNeedsOnly : null;
}

export function denyProblem(rule: string): string | null {
  if (/\s/.test(rule)) return t.spaces;
  return isAddress(rule) ? null : t.denyNoName;
}
