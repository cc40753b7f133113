// SPDX-License-Identifier: Apache-2.0
// fields.ts: which values a credential of each kind has, and which variables of terminal windows can get them.
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

export const VARIABLES_MAX = 4;
const VARIABLE_NAME = /^[A-Z][A-Z0-9_]{0,63}$/;
/** Bytes of a value that output can be masked for. */
const VALUE_MIN = 8;
const VALUE_MAX = 1024;

export interface Variable {
  name: string;
  field: string;
}
export interface EnvironmentForm {
  kind: string;
  consent: string;
  variables: readonly Variable[];
  /** Fields that are stored already. */
  stored: readonly string[];
  /** Values that the form sends; empty ones are not sent. */
  values: Record<string, string>;
}

/** The value of an application or a login is for the service's own calls. */
export const canHaveVariables = (kind: string): boolean => kind !== "client" && kind !== "oauth";

export function fieldNamesOf({ kind, stored, values }: EnvironmentForm): string[] {
  return fieldsOf(kind)?.map((f) => f.name) ?? [...new Set([...stored, ...Object.keys(values).filter(Boolean)])];
}

function nameProblem(name: string, others: readonly string[]): string | null {
  if (!name) return t.variableNoName;
  if (!VARIABLE_NAME.test(name)) return t.variableBadName;
  return others.includes(name) ? t.variableTwice : null;
}

function fieldProblem(field: string, value: string | undefined): string | null {
  if (!field) return t.chooseField;
  return value && (value.length < VALUE_MIN || value.length > VALUE_MAX) ? t.variableValue(VALUE_MIN, VALUE_MAX) : null;
}

export interface VariableProblems {
  rows: { name: string | null; field: string | null }[];
  whole: string | null;
}

/** What is wrong with each variable, and with having any. */
export function variableProblems(form: EnvironmentForm): VariableProblems {
  const { variables, values, kind, consent } = form;
  const rows = variables.map((v, i) => ({
    name: nameProblem(v.name, variables.slice(0, i).map((other) => other.name)),
    field: fieldProblem(v.field, values[v.field]),
  }));
  const isRefused = variables.length > 0 && (consent !== "conversation" || !canHaveVariables(kind));
  return { rows, whole: isRefused ? t.environmentRefused : null };
}

export const hasProblem = ({ rows, whole }: VariableProblems): boolean => whole !== null || rows.some((row) => row.name ?? row.field);

export const variablesOf = (environment: Record<string, string>): Variable[] => Object.entries(environment).map(([name, field]) => ({ name, field }));
export const environmentOf = (variables: readonly Variable[]): Record<string, string> => Object.fromEntries(variables.map((v) => [v.name, v.field]));

/** Whether both say the same, in any order. */
export function isSameEnvironment(a: Record<string, string>, b: Record<string, string>): boolean {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}
