// SPDX-License-Identifier: Apache-2.0
// rules.ts: the two lists of the API as a mode and lists, and back.
import type { SandboxEgress } from "../../../api/generated";
import { sandboxNetwork as t } from "../../../text/en";

export type Mode = "open" | "only" | "none";
export type Refusal = "enforce" | "ask" | "watch";
export interface Rules {
  mode: Mode;
  allow: string[];
  deny: string[];
  /** What happens to what is refused. */
  refusal: Refusal;
}

const ALL = new Set(["0.0.0.0/0", "::/0"]);

export function rulesOf(egress: SandboxEgress | null | undefined): Rules {
  const allow = egress?.allow ?? [];
  const deny = egress?.deny ?? [];
  const isAll = deny.some((rule) => ALL.has(rule));
  return { mode: !isAll ? "open" : allow.length ? "only" : "none", allow, deny: deny.filter((rule) => !ALL.has(rule)), refusal: egress?.mode ?? "enforce" };
}

export function bodyOf(rules: Rules): { allow: string[]; deny: string[]; mode?: Refusal } {
  const refusal = rules.refusal === "enforce" ? {} : { mode: rules.refusal };
  if (rules.mode === "open") return { allow: rules.allow, deny: rules.deny, ...refusal };
  return { allow: rules.mode === "only" ? rules.allow : [], deny: ["0.0.0.0/0", ...rules.deny], ...refusal };
}

export const isSameRules = (a: Rules, b: Rules): boolean => JSON.stringify([a.mode, a.allow, a.deny, a.refusal]) === JSON.stringify([b.mode, b.allow, b.deny, b.refusal]);

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
