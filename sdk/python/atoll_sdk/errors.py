# SPDX-License-Identifier: Apache-2.0
"""What a call can fail with. `code` is the server's own word for it, and stable."""

import json


class AtollError(Exception):
    def __init__(self, message, code="internal", hint=None, request_id=None, status=None, retry_after=None):
        super().__init__(message)
        self.message, self.code, self.hint = message, code, hint
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
    """The sandbox itself is gone, and not only something in it."""


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
    """The server or the caller's own limit said that it took too long."""


class ConnectionLostError(AtollError):
    """No answer came, or not all of it: whether the call was carried out is not known."""


BY_CODE = {
    "invalid_request": InvalidRequestError, "too_large": InvalidRequestError,
    "range_not_satisfiable": InvalidRequestError, "unauthenticated": UnauthenticatedError,
    "forbidden": ForbiddenError, "not_found": NotFoundError, "sandbox_not_found": SandboxNotFoundError,
    "conflict": ConflictError, "limit_exceeded": LimitError, "no_space": LimitError, "budget_exceeded": BudgetError,
    "timeout": TimeoutExceededError, "unsupported": UnsupportedError, "unavailable": UnavailableError,
}


def error_of(code, message, **details):
    return BY_CODE.get(code, AtollError)(message, code=code, **details)


def error_of_answer(status, headers, body):
    """The error that an answer tells; its body may be anything when a proxy stands between."""
    try:
        told = json.loads(body)["error"]
    except (ValueError, KeyError, TypeError):
        told = {}
    seconds = headers.get("Retry-After") or ""
    return error_of(told.get("code", f"http_{status}"), told.get("message", f"HTTP {status}"), hint=told.get("hint"),
                    request_id=told.get("request_id"), status=status,
                    retry_after=float(seconds) if seconds.isdigit() else None)
