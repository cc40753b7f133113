# SPDX-License-Identifier: Apache-2.0
"""The errors of calls. `code` is the server's name of the error, and does not change."""

import json


class AtollError(Exception):
    def __init__(self, message, code="internal", hint=None, request_id=None, status=None, retry_after=None, resource=None):
        super().__init__(message)
        self.message, self.code, self.hint, self.resource = message, code, hint, resource
        self.request_id, self.status, self.retry_after = request_id, status, retry_after

    def __str__(self):
        return f"{self.code}: {self.message}" + (f" ({self.hint})" if self.hint else "")


class InvalidRequestError(AtollError):
    pass


class UnauthenticatedError(AtollError):
    pass


class ForbiddenError(AtollError):
    pass


class NotFoundError(AtollError):
    pass


class SandboxNotFoundError(NotFoundError):
    """The sandbox does not exist, or no longer. A missing file in a sandbox is a NotFoundError."""


class ConflictError(AtollError):
    pass


class LimitError(AtollError):
    pass


class BudgetError(AtollError):
    pass


class UnsupportedError(AtollError):
    pass


class UnavailableError(AtollError):
    pass


class TimeoutExceededError(AtollError):
    """A time limit of the server or of the caller has passed."""


class ConnectionLostError(AtollError):
    """The server could not be reached, or its answer did not arrive whole. A call that was sent may have been carried out."""


BY_CODE = {
    "invalid_request": InvalidRequestError, "too_large": InvalidRequestError,
    "range_not_satisfiable": InvalidRequestError, "unauthenticated": UnauthenticatedError,
    "forbidden": ForbiddenError, "not_found": NotFoundError, "sandbox_not_found": SandboxNotFoundError,
    "conflict": ConflictError, "limit_exceeded": LimitError, "no_space": LimitError, "budget_exceeded": BudgetError,
    "timeout": TimeoutExceededError, "unsupported": UnsupportedError, "unavailable": UnavailableError,
}


def error_of(code, message, **details):
    if code == "not_found" and details.get("resource") == "sandbox":
        code = "sandbox_not_found"
    return BY_CODE.get(code, AtollError)(message, code=code, **details)


def error_of_event(told):
    """The error that the last event of a stream tells."""
    error = told.get("error", {})
    return error_of(error.get("code", "internal"), error.get("message", "the stream failed"),
                    resource=error.get("resource"), hint=error.get("hint"), request_id=error.get("request_id"))


def error_of_answer(status, headers, body):
    """The error that an answer tells; its body may be anything when a proxy stands between."""
    try:
        told = json.loads(body)["error"]
    except (ValueError, KeyError, TypeError):
        told = {}
    seconds = headers.get("Retry-After") or ""
    return error_of(told.get("code", f"http_{status}"), told.get("message", f"HTTP {status}"), hint=told.get("hint"),
                    resource=told.get("resource"), request_id=told.get("request_id"), status=status,
                    retry_after=float(seconds) if seconds.isdigit() else None)
