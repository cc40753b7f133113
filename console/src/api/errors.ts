// SPDX-License-Identifier: Apache-2.0
// errors.ts: a call that failed, with everything that the API says about it.

export class ApiError extends Error {
  /** 0: no answer came at all. */
  readonly status: number;
  readonly code: string;
  readonly hint: string | null;
  readonly requestId: string | null;

  constructor(status: number, code: string, message: string, hint: string | null = null, requestId: string | null = null) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.hint = hint;
    this.requestId = requestId;
  }

  /** True when a later try of the same call may work. */
  get isTransient(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 502;
  }
}

const text = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);

/** The error of an answer that is not 2xx; its body may be anything. */
export function errorOfBody(status: number, body: string): ApiError {
  try {
    const parsed = JSON.parse(body) as { error?: Record<string, unknown>; message?: unknown };
    const error = parsed.error ?? {};
    const message = text(error["message"]) ?? text(parsed.message);
    if (message) return new ApiError(status, text(error["code"]) ?? "error", message, text(error["hint"]), text(error["request_id"]));
  } catch {
    // Not JSON: a proxy on the way answered.
  }
  const cut = body.trim().slice(0, 200);
  return new ApiError(status, "error", cut && !cut.startsWith("<") ? cut : `The server answered ${status}.`);
}

/** Turns whatever was thrown into an ApiError; an abort stays what it is, see isAbort. */
export function asApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  if (thrown instanceof TypeError) {
    return new ApiError(0, "unreachable", "The server cannot be reached.", "Check that the server runs and that the network is up.");
  }
  return new ApiError(0, "error", thrown instanceof Error ? thrown.message : String(thrown));
}

export function isAbort(thrown: unknown): boolean {
  return thrown instanceof DOMException && thrown.name === "AbortError";
}
