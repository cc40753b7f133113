// SPDX-License-Identifier: Apache-2.0
// client.mjs [--write]: the typed client, src/api/generated.ts and src/api/schemas.ts, from docs/api/openapi.json.
// Without --write it only says whether both files are current.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const HERE = new URL(".", import.meta.url);
const DOCUMENT = new URL("../../docs/api/openapi.json", HERE);
const NOTE = "// Written by console/generate/client.mjs --write from docs/api/openapi.json.";
const HEAD = `// SPDX-License-Identifier: Apache-2.0\n${NOTE}\n`;
const METHODS = ["get", "post", "put", "patch", "delete"];
// The console uses Atoll's own API, not the routes for clients of E2B and Daytona.
const OURS = /^\/(api\/sandbox\/(?!agent\/)|v1\/|accounts\/|healthz$|readyz$)/;

const document = JSON.parse(readFileSync(DOCUMENT, "utf8"));
const schemas = document.components.schemas;
const refName = (ref) => ref.slice(ref.lastIndexOf("/") + 1);

function typeOf(schema) {
  if (!schema) return "unknown";
  if (schema.$ref) return refName(schema.$ref);
  const several = schema.allOf ?? schema.anyOf ?? schema.oneOf;
  if (several) return unique(several.map(typeOf)).join(" | ");
  if (schema.enum) return schema.enum.map((v) => JSON.stringify(v)).join(" | ");
  const kinds = [schema.type ?? []].flat();
  if (kinds.length === 0) return "unknown";
  return unique(kinds.map((kind) => typeOfKind(kind, schema))).join(" | ");
}

function typeOfKind(kind, schema) {
  if (kind === "array") return `(${typeOf(schema.items)})[]`.replace(/^\((\w+)\)/, "$1");
  if (kind === "integer" || kind === "number") return "number";
  if (kind !== "object") return kind;
  if (schema.properties) return membersOf(schema, false, "; ", "{ ", " }");
  const value = schema.additionalProperties;
  return `Record<string, ${value && value !== true ? typeOf(value) : "unknown"}>`;
}

const unique = (list) => [...new Set(list)];
const keyOf = (name) => (/^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name));

function membersOf(schema, isSent, separator, open, close) {
  const required = schema.required ?? [];
  const members = Object.entries(schema.properties ?? {}).map(([name, inner]) => {
    const optional = !required.includes(name) && (isSent || inner["x-omitted-when-empty"]);
    return `${keyOf(name)}${optional ? "?" : ""}: ${typeOf(inner)}`;
  });
  return open + members.join(separator) + close;
}

function* operations() {
  for (const [path, methods] of Object.entries(document.paths)) {
    if (!OURS.test(path)) continue;
    for (const method of METHODS) {
      if (methods[method]) yield { path, method, spec: methods[method] };
    }
  }
}

/** Names of all schemas that `parts` reach. */
function reached(parts) {
  const found = new Set();
  const visit = (part) => {
    if (!part || typeof part !== "object") return;
    if (typeof part.$ref === "string" && !found.has(refName(part.$ref))) {
      found.add(refName(part.$ref));
      visit(schemas[refName(part.$ref)]);
    }
    for (const inner of Object.values(part)) visit(inner);
  };
  parts.forEach(visit);
  return found;
}

const jsonOf = (content) => content?.content?.["application/json"]?.schema;

function answerOf(spec) {
  // A dry run's 200 stands beside the 201 of what is made.
  const status = spec.responses["201"] ? "201" : Object.keys(spec.responses).find((s) => s.startsWith("2"));
  const schema = jsonOf(spec.responses[status]);
  if (schema) return typeOf(schema);
  return status === "204" ? "void" : "unknown";
}

function parametersOf(spec, place) {
  return (spec.parameters ?? []).filter((p) => p.in === place);
}

function operationText({ path, method, spec }) {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map((m) => `${m[1]}: string`);
  const query = parametersOf(spec, "query").map((p) => `${keyOf(p.name)}?: ${typeOf(p.schema)}`);
  const body = jsonOf(spec.requestBody);
  const types = [
    inPath.length ? `{ ${inPath.join("; ")} }` : "undefined",
    query.length ? `{ ${query.join("; ")} }` : "undefined",
    body ? typeOf(body) : spec.requestBody ? "BodyInit" : "undefined",
    answerOf(spec),
  ];
  const scopes = JSON.stringify(spec["x-scopes"] ?? []);
  return `/** ${spec.summary ?? ""} */
export const ${spec.operationId}: Operation<${types.join(", ")}> = { method: "${method.toUpperCase()}", path: "${path}", scopes: ${scopes} };`;
}

function generatedText() {
  const all = [...operations()];
  const sent = reached(all.map((o) => o.spec.requestBody));
  const used = reached(all.map((o) => o.spec));
  const types = [...used].sort().map((name) => {
    const schema = schemas[name];
    if (!schema.properties) return `export type ${name} = ${typeOf(schema)};`;
    return `/** ${schema.description ?? name} */\nexport interface ${name} ${membersOf(schema, sent.has(name), ";\n  ", "{\n  ", ";\n}")}`;
  });
  return `${HEAD}import type { Operation } from "./operation";\n\n${types.join("\n")}\n\n${all.map(operationText).join("\n")}\n`;
}

/** What a form needs of one member: its kind, bounds, choices and description. */
function fieldOf(schema) {
  const inner = schema.allOf?.[0] ?? schema;
  if (inner.$ref) return { type: "object", description: schema.description };
  const keep = {};
  for (const key of ["type", "description", "minimum", "maximum", "maxLength", "minLength", "pattern", "enum", "maxItems", "maxProperties", "format"]) {
    if (inner[key] !== undefined && !(key === "format" && /^int64|double$/.test(inner[key]))) keep[key] = inner[key];
  }
  if (Array.isArray(keep.type)) keep.type = keep.type.find((t) => t !== "null");
  if (inner.examples?.length) keep.example = inner.examples[0];
  return keep;
}

function schemasText() {
  const names = [...reached([...operations()].map((o) => o.spec.requestBody))].sort();
  const consts = names.filter((name) => schemas[name].properties).map((name) => {
    const rows = Object.entries(schemas[name].properties).map(([key, s]) => `  ${keyOf(key)}: ${JSON.stringify(fieldOf(s))},`);
    const constant = name[0].toLowerCase() + name.slice(1);
    return `export const ${constant}Schema = {\n${rows.join("\n")}\n} satisfies Schema;`;
  });
  return `${HEAD}import type { Schema } from "./operation";\n\n${consts.join("\n")}\n`;
}

const OUTPUTS = [["../src/api/generated.ts", generatedText()], ["../src/api/schemas.ts", schemasText()]];
let stale = 0;
for (const [name, text] of OUTPUTS) {
  const file = new URL(name, HERE);
  if (process.argv.includes("--write")) {
    writeFileSync(file, text);
    continue;
  }
  let now = "";
  try {
    now = readFileSync(file, "utf8");
  } catch {
    // A file that is absent is not current.
  }
  if (now !== text) {
    console.error(`${fileURLToPath(file)}: is not what docs/api/openapi.json says; run: node console/generate/client.mjs --write`);
    stale = 1;
  }
}
process.exit(stale);
