// SPDX-License-Identifier: Apache-2.0
// call.ts: one request of the API. The session cookie says the caller; every write sends the session's CSRF token, and every request
// names its project.
import { ApiError, asApiError, errorOfBody, isAbort } from "./errors";
import type { Operation } from "./operation";

export interface Credentials {
  csrfToken: string | null;
  project: string | null;
}

const credentials: Credentials = { csrfToken: null, project: null };
let onSignedOut: () => void = () => undefined;
/** Server clock minus this computer's, in ms; from the Date header of the answers. */
let clockOffset = 0;

export function setCredentials(change: Partial<Credentials>): void {
  Object.assign(credentials, change);
}

/** `handler` runs when the server no longer knows the session. */
export function handleSignedOut(handler: () => void): void {
  onSignedOut = handler;
}

/** The server's time in ms since 1970. */
export function serverNow(): number {
  return Date.now() + clockOffset;
}

function noteClock(answer: Response): void {
  const date = Date.parse(answer.headers.get("Date") ?? "");
  // The header has whole seconds: a small difference is none.
  if (!Number.isNaN(date)) clockOffset = Math.abs(date - Date.now()) < 2000 ? 0 : date - Date.now();
}

type QueryValues = Record<string, string | number | boolean | readonly string[] | undefined | null>;

export function addressOf(path: string, params?: Record<string, string>, query?: QueryValues): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params?.[name] ?? ""));
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query ?? {})) {
    if (value !== undefined && value !== null && value !== "") search.set(key, String(value));
  }
  const text = search.toString();
  return text ? `${filled}?${text}` : filled;
}

/** An address for links, images and downloads, which send the cookie but no headers. */
export function linkOf(path: string, params?: Record<string, string>, query?: QueryValues): string {
  return addressOf(path, params, { ...query, project: credentials.project });
}

export function headersOf(method: string): Record<string, string> {
  const headers: Record<string, string> = {};
  if (credentials.project) headers["X-Atoll-Project"] = credentials.project;
  if (method !== "GET" && credentials.csrfToken) headers["X-Atoll-CSRF"] = credentials.csrfToken;
  return headers;
}

function bodyOf(body: unknown, headers: Record<string, string>): BodyInit | undefined {
  if (body === undefined) return undefined;
  if (typeof body === "string" || body instanceof Blob || body instanceof ArrayBuffer || body instanceof FormData || body instanceof URLSearchParams) {
    headers["Content-Type"] ??= body instanceof Blob && body.type ? body.type : "application/octet-stream";
    if (body instanceof FormData) delete headers["Content-Type"];
    return body;
  }
  if (ArrayBuffer.isView(body)) {
    headers["Content-Type"] ??= "application/octet-stream";
    return body as BodyInit;
  }
  headers["Content-Type"] = "application/json";
  return JSON.stringify(body);
}

export interface RawOptions {
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | null;
}

/** The answer itself, when it is 2xx; else throws ApiError. An abort throws the browser's AbortError. */
export async function fetchRaw(method: string, address: string, options: RawOptions = {}): Promise<Response> {
  const headers = { ...headersOf(method), ...options.headers };
  const body = bodyOf(options.body, headers);
  let answer: Response;
  try {
    answer = await fetch(address, { method, headers, body, signal: options.signal ?? null, credentials: "same-origin", cache: "no-store" });
  } catch (thrown) {
    if (isAbort(thrown)) throw thrown;
    throw asApiError(thrown);
  }
  noteClock(answer);
  if (answer.ok) return answer;
  const error = errorOfBody(answer.status, await answer.text().catch(() => ""));
  if (answer.status === 401 && !address.startsWith("/v1/session")) onSignedOut();
  throw error;
}

type Given<Path, Query, Body> = (Path extends undefined ? { path?: undefined } : { path: Path }) &
  { query?: Query } &
  (Body extends undefined ? { body?: undefined } : { body?: Body }) &
  { signal?: AbortSignal | null; headers?: Record<string, string> };

/** Calls an operation of generated.ts. An answer that is not JSON comes as text. */
export async function call<Path, Query, Body, Answer>(
  operation: Operation<Path, Query, Body, Answer>,
  given: Given<NoInfer<Path>, NoInfer<Query>, NoInfer<Body>> = {} as Given<Path, Query, Body>,
): Promise<Answer> {
  const address = addressOf(operation.path, given.path as Record<string, string> | undefined, given.query as QueryValues | undefined);
  const answer = await fetchRaw(operation.method, address, { body: given.body, headers: given.headers, signal: given.signal });
  if (answer.status === 204) return undefined as Answer;
  const text = await answer.text();
  if (!(answer.headers.get("Content-Type") ?? "").includes("json")) return text as Answer;
  try {
    return JSON.parse(text) as Answer;
  } catch {
    throw new ApiError(answer.status, "error", "The answer of the server was cut off.");
  }
}
