# SPDX-License-Identifier: Apache-2.0
"""AsyncSandbox: the calls of Sandbox for asyncio. Each blocks a thread of its own kind, never the event loop."""

from __future__ import annotations

import asyncio
import functools
import queue
import threading

from .code import _FOLLOW, CodeResult, _as_code, _Block, _body_of, _where_it_runs
from .commands import CommandHandle, _exec_of, _start
from .sandbox import Sandbox

THREADS_MAX = 64


class _Threads:
    """Threads that wait for calls. They keep a connection each, and do not keep the program from ending."""

    def __init__(self, limit):
        self.limit, self.count, self.idle, self.lock = limit, 0, 0, threading.Lock()
        self.calls = queue.SimpleQueue()

    def submit(self, call):
        with self.lock:
            is_new = self.idle == 0 and self.count < self.limit
            self.count += is_new
            self.idle -= not is_new
        self.calls.put(call)
        if is_new:
            threading.Thread(target=self._work, name="atoll-sdk", daemon=True).start()

    def _work(self):
        while True:
            self.calls.get()()
            with self.lock:
                self.idle += 1


_threads = _Threads(THREADS_MAX)


def _settle(future, result, error):
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


def _in_thread(call) -> asyncio.Future:
    loop = asyncio.get_running_loop()
    future = loop.create_future()

    def run():
        result = error = None
        try:
            result = call()
        except StopIteration:
            result = _END
        except BaseException as failure:  # it is the caller's, whatever it is
            error = failure
        try:
            loop.call_soon_threadsafe(_settle, future, result, error)
        except RuntimeError:
            pass  # the loop has ended: nobody waits
    _threads.submit(run)
    return future


_END = object()


class AsyncIterator:
    """Pieces of a stream. aclose() ends it when the piece that is waited for has come."""

    def __init__(self, iterator):
        self.iterator, self.pending = iterator, None

    def __aiter__(self):
        return self

    async def __anext__(self):
        self.pending = _in_thread(functools.partial(next, self.iterator))
        piece = await self.pending
        if piece is _END:
            raise StopAsyncIteration
        return piece

    async def aclose(self):
        if self.pending is None or self.pending.done() and not self.pending.cancelled():
            await _in_thread(self.iterator.close)


def _wrapped(result):
    if isinstance(result, Sandbox):
        return AsyncSandbox(result)
    if isinstance(result, CommandHandle):
        return AsyncCommandHandle(result)
    if isinstance(result, list) and result and isinstance(result[0], Sandbox):
        return [AsyncSandbox(one) for one in result]
    return AsyncIterator(result) if hasattr(result, "__next__") else result


class _Calls:
    """The methods of another object as coroutines; what is no method is read as it is."""

    def __init__(self, target):
        self._target = target

    def __dir__(self):
        return sorted({*super().__dir__(), *(name for name in dir(self._target) if not name.startswith("_"))})

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(self._target, name)
        if not callable(value):
            return value

        @functools.wraps(value)
        async def call(*arguments, **options):
            return _wrapped(await _in_thread(functools.partial(value, *arguments, **options)))
        return call


class AsyncCommandHandle(_Calls):
    """A command that runs, or has ended."""


class _Unwanted(CommandHandle):
    """One that is ended as soon as it has begun, once nobody wants it any more."""

    unwanted = False

    def _take(self, event, told):
        ended = super()._take(event, told)
        if event == "started" and self.unwanted:
            self.kill()
        return ended


class _Runs(_Calls):
    """Commands and code: a run that is cancelled is ended inside, too."""

    def _operation(self, what, language):
        return ("/code", {"language": language, "code": what}) if language else ("/exec", _exec_of(what))

    async def _run(self, what, language, *, background=False, on_stdout=None, on_stderr=None, on_artifact=None, **options):
        loop, sandbox = asyncio.get_running_loop(), self._target.sandbox
        tell = {name: act and functools.partial(loop.call_soon_threadsafe, act)
                for name, act in (("on_stdout", on_stdout), ("on_stderr", on_stderr), ("on_artifact", on_artifact))}
        limit = {name: options.pop(name) for name in ("output_limit_bytes",) if name in options}
        handle = _Unwanted(sandbox, **tell, **limit)
        operation, body = self._operation(what, language)
        try:
            return _wrapped(await _in_thread(functools.partial(_start, sandbox, operation, body, background=background,
                                                               handle=handle, **options)))
        except asyncio.CancelledError:
            handle.unwanted = True
            _threads.submit(functools.partial(_quietly, handle.kill))
            raise


def _quietly(act):
    try:
        act()
    except Exception:
        pass  # nobody waits for it, and it may have ended by itself


class AsyncCommands(_Runs):
    async def run(self, command, **options):
        """A shell line, or a list: a program and its arguments. Callbacks run on the event loop."""
        return await self._run(command, None, **options)


class AsyncCode(_Runs):
    def __init__(self, code):
        super().__init__(code)
        self.contexts = _Calls(code.contexts)

    async def run(self, code, language=None, *, context="default", **options) -> CodeResult:
        """Runs a block of code, see Code.run. Callbacks run on the event loop; a cancelled block is interrupted."""
        language, context = _where_it_runs(language, context)
        if context is None:
            options = {name: value for name, value in options.items() if name not in ("on_result", "on_error")}
            done = await self._run(code, language, **options)
            return done if options.get("background") else _as_code(done)
        loop = asyncio.get_running_loop()
        follow = {name: options.pop(name) for name in _FOLLOW if name in options}
        follow = {name: functools.partial(loop.call_soon_threadsafe, value) if callable(value) else value for name, value in follow.items()}
        block = _Block(self._target.sandbox, **follow)
        body = _body_of(code, language, context, **options)
        try:
            return await _in_thread(functools.partial(block.run, body))
        except asyncio.CancelledError:
            block.kill()
            raise


class AsyncSandbox(_Calls):
    """`async with await AsyncSandbox.create(…) as sandbox:` deletes it at the end.

    Everything that Sandbox has, to be awaited: `await sandbox.commands.run("make")`,
    `await sandbox.files.read("a.txt")`, `async for change in await sandbox.files.watch()`."""

    def __init__(self, sandbox: Sandbox):
        super().__init__(sandbox)
        self.id, self.name = sandbox.id, sandbox.name
        self.commands, self.code = AsyncCommands(sandbox.commands), AsyncCode(sandbox.code)
        self.files = _Calls(sandbox.files)

    @classmethod
    async def create(cls, *, on_progress=None, **options) -> AsyncSandbox:
        if on_progress is not None:
            options["on_progress"] = functools.partial(asyncio.get_running_loop().call_soon_threadsafe, on_progress)
        return cls(await _in_thread(functools.partial(Sandbox.create, **options)))

    @classmethod
    async def connect(cls, id, **options) -> AsyncSandbox:
        return cls(await _in_thread(functools.partial(Sandbox.connect, id, **options)))

    @staticmethod
    async def list(**options):
        return await _in_thread(functools.partial(Sandbox.list, **options))

    @staticmethod
    async def kill_by_id(id, **options) -> bool:
        return await _in_thread(functools.partial(Sandbox.kill_by_id, id, **options))

    @classmethod
    async def undelete(cls, id, **options) -> AsyncSandbox:
        return cls(await _in_thread(functools.partial(Sandbox.undelete, id, **options)))

    @staticmethod
    async def trash(**options):
        return await _in_thread(functools.partial(Sandbox.trash, **options))

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        # Also when what is within was cancelled.
        await asyncio.shield(_in_thread(self._target.kill))
