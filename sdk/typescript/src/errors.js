// SPDX-License-Identifier: Apache-2.0
// The errors of calls. `code` is the server's name of the error, and does not change.

export class AtollError extends Error {
  constructor(message, { code = 'internal', resource, hint, requestId, status, retryAfterMs, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.code = code;
    this.resource = resource;
    this.hint = hint;
    this.requestId = requestId;
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }

  toString() {
    return `${this.name}: ${this.message}` + (this.hint ? ` (${this.hint})` : '');
  }
}

export class InvalidRequestError extends AtollError {}
export class UnauthenticatedError extends AtollError {}
export class ForbiddenError extends AtollError {}
export class NotFoundError extends AtollError {}
export class ConflictError extends AtollError {}
export class LimitError extends AtollError {}
export class BudgetError extends AtollError {}
export class UnsupportedError extends AtollError {}
export class UnavailableError extends AtollError {}
/** A time limit of the server or of the caller has passed. */
export class TimeoutError extends AtollError {}
/** The sandbox does not exist, or no longer. A missing file in a sandbox is a NotFoundError. */
export class SandboxNotFoundError extends NotFoundError {}
/** The server could not be reached, or its answer did not arrive whole. A call that was sent may have been carried out. */
export class ConnectionError extends AtollError {}

const BY_CODE = {
  invalid_request: InvalidRequestError,
  too_large: InvalidRequestError,
  range_not_satisfiable: InvalidRequestError,
  unauthenticated: UnauthenticatedError,
  forbidden: ForbiddenError,
  not_found: NotFoundError,
  sandbox_not_found: SandboxNotFoundError,
  conflict: ConflictError,
  limit_exceeded: LimitError,
  no_space: LimitError,
  budget_exceeded: BudgetError,
  timeout: TimeoutError,
  unsupported: UnsupportedError,
  unavailable: UnavailableError,
};

export function errorOf(given, message, details) {
  const code = given === 'not_found' && details?.resource === 'sandbox' ? 'sandbox_not_found' : given;
  const Kind = Object.hasOwn(BY_CODE, code) ? BY_CODE[code] : AtollError;
  return new Kind(message, { code, ...details });
}

function toldBy(text) {
  try {
    return JSON.parse(text).error;
  } catch {
    return undefined;
  }
}

/** The error that an event tells. */
export function errorOfEvent(text) {
  const told = toldBy(text);
  return errorOf(told?.code ?? 'internal', told?.message ?? text, {
    resource: told?.resource,
    hint: told?.hint,
    requestId: told?.request_id,
  });
}

/** The error that an answer tells; its body may be anything when a proxy stands between. */
export async function errorOfResponse(response) {
  const told = toldBy(await response.text().catch(() => ''));
  const seconds = Number(response.headers.get('retry-after'));
  return errorOf(told?.code ?? `http_${response.status}`, told?.message ?? `HTTP ${response.status}`, {
    resource: told?.resource,
    hint: told?.hint,
    requestId: told?.request_id ?? response.headers.get('x-request-id') ?? undefined,
    status: response.status,
    retryAfterMs: seconds > 0 ? seconds * 1000 : undefined,
  });
}
