# SPDX-License-Identifier: Apache-2.0
"""A client of the Atoll API: sandboxes, their commands, code and files, leases, events."""

from .aio import AsyncSandbox
from .client import Atoll
from .code import CodeError, CodeResult, Result
from .commands import CommandHandle, CommandResult
from .errors import (AtollError, BudgetError, ConflictError, ConnectionLostError, ForbiddenError, InvalidRequestError,
                     LimitError, NotFoundError, SandboxNotFoundError, TimeoutExceededError, UnauthenticatedError,
                     UnavailableError, UnsupportedError)
from .leases import with_sandbox
from .sandbox import Sandbox

__all__ = [
    "AsyncSandbox", "Atoll", "AtollError", "BudgetError", "CodeError", "CodeResult", "CommandHandle", "CommandResult", "ConflictError", "ConnectionLostError",
    "ForbiddenError", "InvalidRequestError", "LimitError", "NotFoundError", "Result", "Sandbox", "SandboxNotFoundError",
    "TimeoutExceededError", "UnauthenticatedError", "UnavailableError", "UnsupportedError", "with_sandbox",
]
