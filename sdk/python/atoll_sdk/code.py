# SPDX-License-Identifier: Apache-2.0
"""Blocks of code, in contexts that keep variables (docs/use/code.md) or in processes of their own."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import socket

from . import types
from .commands import OUTPUT_LIMIT, CommandResult, Kept, _start
from .errors import ConnectionLostError, InvalidRequestError, error_of_event
from .http import SILENCE, path, without_none


class Result(dict):
    """One value that a block shows. Each form is a member and an attribute: text, html, markdown, svg, png, jpeg (base64), pdf, latex,
    json, javascript, data, chart, extra; is_main for the last expression's value. A form that the value does not have is None."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self.get(name)


@dataclasses.dataclass
class CodeError:
    """The exception that ended a block."""

    name: str
    value: str
    traceback: str


@dataclasses.dataclass
class CodeResult(CommandResult):
    """The outcome of a block. Without a context, results is empty and error is None: look at exit_code and stderr."""

    results: list[Result] = dataclasses.field(default_factory=list)
    error: CodeError | None = None
    # Number of the block in its context.
    execution_count: int | None = None
    # Id of the context.
    context: str | None = None
    # The interpreter has ended and its variables are lost.
    context_ended: bool = False

    @property
    def text(self) -> str | None:
        """The value of the last expression as text; None if there is none."""
        return next((result.get("text") for result in self.results if result.get("is_main")), None)


class _Block:
    """A block that runs in a context. The connection is its life: the server interrupts a block whose client has gone."""

    def __init__(self, sandbox, *, on_stdout=None, on_stderr=None, on_result=None, on_error=None, on_artifact=None,
                 output_limit_bytes=OUTPUT_LIMIT):
        self.sandbox, self.connection, self.unwanted = sandbox, None, False
        self.tell = {"stdout": on_stdout, "stderr": on_stderr, "result": on_result, "error": on_error, "artifact": on_artifact}
        self.kept = {"stdout": Kept(output_limit_bytes), "stderr": Kept(output_limit_bytes)}
        self.results, self.artifacts, self.error = [], [], None

    def run(self, body) -> CodeResult:
        transport, where = self.sandbox.transport, path("/api/sandbox/instances/{}/code", self.sandbox.id)
        opened = transport.open("POST", where, query={"stream": "sse"}, json=body, headers={"Accept": "text/event-stream"})
        self.connection = opened[0]
        if self.unwanted:
            self.kill()
        with contextlib.closing(transport._events_of(opened, f"POST {where}", SILENCE)) as events:
            for event, data, _ in events:
                told = json.loads(data)
                if event == "exit":
                    return self._ended(told)
                self._take(event, told)
        raise ConnectionLostError("the stream ended before the block of code", code="connection")

    def _take(self, event, told):
        if event in self.kept:
            shown = told["data"]
            self.kept[event].add(shown.encode())
        elif event == "result":
            shown = Result(told["result"])
            self.results.append(shown)
        elif event == "artifact":
            shown = told["artifact"]
            self.artifacts.append(shown)
        elif event == "error" and "name" in told:
            shown = self.error = CodeError(told["name"], told["value"], told["traceback"])
        elif event == "error":
            raise error_of_event(told)
        else:
            return
        if self.tell[event]:
            self.tell[event](shown)

    def _ended(self, told):
        (stdout, cut_stdout), (stderr, cut_stderr) = self.kept["stdout"].bytes(), self.kept["stderr"].bytes()
        return CodeResult(
            ok=told["ok"], exit_code=told["exit_code"], stdout=stdout.decode("utf-8", "replace"),
            stderr=stderr.decode("utf-8", "replace"), signal=told["signal"], timed_out=told["timed_out"], duration_ms=told["duration_ms"],
            process=told["process"], truncated=cut_stdout or cut_stderr, artifacts=self.artifacts, cause=told["cause"],
            results=self.results, error=self.error, execution_count=told["execution_count"], context=told["contextId"],
            context_ended=told["context_ended"], recording=told.get("recording"))

    def kill(self):
        """Interrupts the block, from any thread."""
        self.unwanted = True
        if self.connection and self.connection.sock:
            with contextlib.suppress(OSError):
                self.connection.sock.shutdown(socket.SHUT_RDWR)


# What only a process of its own has, and what to do instead.
_OF_A_PROCESS = {"cwd": "create a context with contexts.create(cwd=…)", "user": None, "stdin": None, "tty": None, "rows": None,
                 "columns": None, "label": None, "background": None, "conversation": None, "origin": None}


def _body_of(code, language, context, *, env=None, timeout=None, artifacts=None, record=None, **others):
    for name, value in others.items():
        if name not in _OF_A_PROCESS:
            raise TypeError(f"code.run has no option '{name}'")
        if value not in (None, False):
            cure = "pass context=None to run the code in a process of its own"
            raise InvalidRequestError(f"{name} cannot be used in a context", code="invalid_request",
                                      hint=" or ".join(filter(None, (cure, _OF_A_PROCESS[name]))))
    return without_none({"code": code, "language": language, "contextId": context, "env": env, "artifacts": artifacts, "record": record,
                         "timeout_ms": None if timeout is None else max(1, int(timeout * 1000))})


def _where_it_runs(language, context):
    """(language, id of the context or None)"""
    if isinstance(context, dict):
        return language or context["language"], context["id"]
    return language or "python", context


def _as_code(result) -> CodeResult:
    return CodeResult(**{field.name: getattr(result, field.name) for field in dataclasses.fields(CommandResult)})


_FOLLOW = ("on_stdout", "on_stderr", "on_result", "on_error", "on_artifact", "output_limit_bytes")


class Contexts:
    """Interpreters of a sandbox that keep variables, functions and folder between blocks."""

    def __init__(self, sandbox):
        self.sandbox = sandbox

    def _call(self, method, *names, **options):
        where = "/api/sandbox/instances/{}/code/contexts" + "/{}" * len(names)
        return self.sandbox.transport.request(method, path(where, self.sandbox.id, *names), **options)

    def create(self, language=None, *, cwd=None) -> types.CodeContext:
        """Starts an interpreter: python (default), javascript, typescript, bash, r or java."""
        return self._call("POST", json=without_none({"language": language, "cwd": cwd}))

    def list(self) -> list[types.CodeContext]:
        """Lists the contexts, oldest first."""
        return self._call("GET")["items"]

    def get(self, context) -> types.CodeContext:
        """Gets a context by its id."""
        return self._call("GET", _id_of(context))

    def interrupt(self, context):
        """Interrupts the block that runs, as Ctrl-C does. Variables are kept."""
        return self._call("POST", _id_of(context), "interrupt")

    def restart(self, context) -> types.CodeContext:
        """Starts the interpreter again. Its variables are lost; its id stays."""
        return self._call("POST", _id_of(context), "restart")

    def remove(self, context):
        """Ends the interpreter and deletes the context."""
        self._call("DELETE", _id_of(context))


def _id_of(context):
    return context["id"] if isinstance(context, dict) else context


class Code:
    def __init__(self, sandbox):
        self.sandbox, self.contexts = sandbox, Contexts(sandbox)

    def run(self, code, language=None, *, context="default", **options) -> CodeResult:
        """Runs a block of python (default), javascript, typescript, bash, r or java.

        Variables, functions and the folder are kept from block to block in the language's default context, or in another
        one that `context` names (an id, or an answer of contexts.create). context=None runs the block in a process of its own
        that keeps nothing; it takes all options of commands.run. java runs in contexts only.
        An exception is not raised here: it is `error` of the answer.

        Options: env, timeout (seconds), artifacts, record, output_limit_bytes, and callbacks that are called while the block runs:
        on_stdout, on_stderr, on_result, on_error, on_artifact."""
        language, context = _where_it_runs(language, context)
        if context is None:
            options = {name: value for name, value in options.items() if name not in ("on_result", "on_error")}
            done = _start(self.sandbox, "/code", {"language": language, "code": code}, **options)
            return _as_code(done) if isinstance(done, CommandResult) else done
        follow = {name: options.pop(name) for name in _FOLLOW if name in options}
        body = _body_of(code, language, context, **options)
        return _Block(self.sandbox, **follow).run(body)
