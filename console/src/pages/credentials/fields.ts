// SPDX-License-Identifier: Apache-2.0
// fields.ts: which values a credential of each kind has.
import type { CredentialCreate } from "../../api/generated";
import { credentials as t } from "../../text/en";

export type Kind = NonNullable<CredentialCreate["kind"]>;
export interface ValueField {
  name: string;
  isRequired: boolean;
  /** Shown while it is typed: a user name is no secret. */
  isPlain?: boolean;
}

/** custom: the user names the fields. */
export const FIELDS: Record<Exclude<Kind, "custom">, readonly ValueField[]> = {
  token: [{ name: "token", isRequired: true }],
  basic: [{ name: "username", isRequired: true, isPlain: true }, { name: "password", isRequired: true }],
  aws: [{ name: "access_key_id", isRequired: true, isPlain: true }, { name: "secret_access_key", isRequired: true }, { name: "session_token", isRequired: false }, { name: "region", isRequired: false, isPlain: true }],
  client: [{ name: "client_id", isRequired: true, isPlain: true }, { name: "client_secret", isRequired: false }],
};

export const fieldsOf = (kind: string): readonly ValueField[] | null => (kind in FIELDS ? FIELDS[kind as keyof typeof FIELDS] : null);

/** "a.com, b.com" and lines: a list. */
export const listOf = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);

/** The first thing that is wrong with the values, or null. */
export function valuesProblem(kind: string, values: Record<string, string>): string | null {
  const fields = fieldsOf(kind);
  if (!fields) return Object.values(values).some(Boolean) ? null : t.noValues;
  const missing = fields.find((f) => f.isRequired && !values[f.name]);
  return missing ? t.valueMissing(t.fieldNames[missing.name] ?? missing.name) : null;
}

/** Without those that are empty. */
export const givenValues = (values: Record<string, string>): Record<string, string> => Object.fromEntries(Object.entries(values).filter(([name, value]) => name && value));
