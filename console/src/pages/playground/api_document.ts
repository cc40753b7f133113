// SPDX-License-Identifier: Apache-2.0
// api_document.ts: the calls of /openapi.json as forms need them.
import { fetchRaw } from "../../api/call";

export interface Param {
  name: string;
  in: "path" | "query";
  isRequired: boolean;
  description: string;
  choices: string[];
}
export interface ApiCall {
  id: string;
  method: string;
  path: string;
  summary: string;
  tag: string;
  scopes: string[];
  params: Param[];
  /** A body to begin with; null: the call has none, or none of JSON. */
  body: string | null;
}

interface RawSchema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  example?: unknown;
  required?: string[];
  properties?: Record<string, RawSchema>;
}
interface RawOperation {
  operationId?: string;
  summary?: string;
  tags?: string[];
  "x-scopes"?: string[];
  parameters?: { name: string; in: string; required?: boolean; schema?: RawSchema }[];
  requestBody?: { content?: Record<string, { schema?: RawSchema }> };
}
interface RawDocument {
  paths: Record<string, Record<string, RawOperation>>;
  components?: { schemas?: Record<string, RawSchema> };
}

const EMPTY: Record<string, unknown> = { string: "", integer: 0, number: 0, boolean: false, array: [], object: {} };

/** The members that the call needs, with their examples. */
function bodyOf(op: RawOperation, schemas: Record<string, RawSchema>): string | null {
  const schema = op.requestBody?.content?.["application/json"]?.schema;
  if (!schema) return null;
  const found = schema.$ref ? schemas[schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1)] : schema;
  const members = (found?.required ?? []).map((name) => {
    const member = found?.properties?.[name];
    const type = Array.isArray(member?.type) ? member.type[0] : member?.type;
    return [name, member?.example ?? member?.enum?.[0] ?? EMPTY[type ?? "object"]];
  });
  return JSON.stringify(Object.fromEntries(members), null, 2);
}

function callOf(path: string, method: string, op: RawOperation, schemas: Record<string, RawSchema>): ApiCall {
  const params = (op.parameters ?? []).filter((p) => p.in === "path" || p.in === "query");
  return {
    id: op.operationId ?? `${method} ${path}`, method: method.toUpperCase(), path, summary: op.summary ?? "", tag: op.tags?.[0] ?? "", scopes: op["x-scopes"] ?? [],
    params: params.map((p) => ({ name: p.name, in: p.in as Param["in"], isRequired: p.required === true, description: p.schema?.description ?? "", choices: (p.schema?.enum ?? []).map(String) })),
    body: bodyOf(op, schemas),
  };
}

const METHODS = ["get", "post", "put", "patch", "delete"];

export function callsOf(document: RawDocument): ApiCall[] {
  const schemas = document.components?.schemas ?? {};
  return Object.entries(document.paths).flatMap(([path, methods]) => METHODS.filter((m) => methods[m]).map((m) => callOf(path, m, methods[m] ?? {}, schemas)));
}

export async function readCalls(signal: AbortSignal): Promise<ApiCall[]> {
  return callsOf((await (await fetchRaw("GET", "/openapi.json", { signal })).json()) as RawDocument);
}
