// SPDX-License-Identifier: Apache-2.0
// operation.ts: one operation of the API as generated.ts lists it. The type arguments exist at compile time only.

export interface Operation<Path, Query, Body, Answer> {
  readonly method: string;
  /** "/api/sandbox/instances/{id}" */
  readonly path: string;
  /** The scopes that a caller needs; empty: any caller. */
  readonly scopes: readonly string[];
  readonly types?: (path: Path, query: Query, body: Body) => Answer;
}

/** One member of a request body, for forms. */
export interface SchemaField {
  type?: string;
  description?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  maxItems?: number;
  maxProperties?: number;
  pattern?: string;
  format?: string;
  enum?: readonly (string | number | boolean | null)[];
  example?: unknown;
}
export type Schema = Record<string, SchemaField>;
