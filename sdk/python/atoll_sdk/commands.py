# SPDX-License-Identifier: Apache-2.0
"""Commands: their output while they run, and their result. A broken stream is continued."""

import base64
import codecs
import dataclasses
import json
import time

from .errors import ConflictError, ConnectionLostError, NotFoundError, error_of_event
from .http import path, without_none

OUTPUT_LIMIT = 16 << 20
RESUME_SECONDS = 60.0
RESUME_WAIT = 0.1
RESUME_WAIT_MAX = 2.0


@dataclasses.dataclass
class CommandResult:
    ok: bool
    exit_code: int
    stdout: str
    stderr: str
    signal: str | None
    timed_out: bool
    duration_ms: int
    process: int
    truncated: bool
    artifacts: list
    # exit, signal, timeout, oom, file_size, disk, process_limit, canceled or sandbox_ended
    cause: str = "exit"
    # what network rules refused in the sandbox while it ran: dicts of types.NetworkRefusal
    network: list = dataclasses.field(default_factory=list)
    # with record=True: the id of the recording, at /api/sandbox/recordings a moment later
    recording: str | None = None


class Kept:
    """The first and the last bytes of a stream, as the server keeps them for a collected result."""

    def __init__(self, limit):
        self.half, self.head, self.tail, self.cut = (limit + 1) // 2, bytearray(), bytearray(), 0

    def add(self, data):
        room = self.half - len(self.head)
        self.head += data[:room]
        self.tail += data[room:]
        over = len(self.tail) - self.half
        # Not at every piece: taking from the front moves the rest.
        if over > self.half or over > 0 and len(data) > self.half:
            del self.tail[:over]
            self.cut += over

    def bytes(self):
        over = max(0, len(self.tail) - self.half)
        cut = self.cut + over
        marker = f"\n[{cut} bytes of output were cut here]\n".encode() if cut else b""
        return bytes(self.head) + marker + bytes(self.tail[over:]), cut > 0


class CommandHandle:
    """A command that runs, or has ended."""

    def __init__(self, sandbox, process=None, on_stdout=None, on_stderr=None, on_artifact=None,
                 output_limit_bytes=OUTPUT_LIMIT):
        self.sandbox, self.process, self.pid, self.since = sandbox, process, None, "0.0"
        self.result_id = None  # of one that was started in the background: its job, for Atoll().jobs
        self.recording = None  # of one that was started in the background with record=True: the id of its recording
        self.tell = {"stdout": on_stdout, "stderr": on_stderr, "artifact": on_artifact}
        self.kept = {"stdout": Kept(output_limit_bytes), "stderr": Kept(output_limit_bytes)}
        self.told = {"stdout": 0, "stderr": 0}
        self.decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in self.kept}
        self.artifacts, self.ended = [], None

    def _address(self, rest=""):
        return path("/api/sandbox/instances/{}/processes/{}", self.sandbox.id, self.process) + rest

    def wait(self):
        """Waits for the end and returns the result. Calls on_stdout and on_stderr meanwhile; continues a broken stream."""
        return self.ended or self._follow(None)

    def _follow(self, source):
        broken, wait = None, RESUME_WAIT
        try:
            while True:
                try:
                    source = source or self.sandbox.transport.events(
                        "GET", self._address("/stream"), query={"stream": "sse", "follow": True, "since": self.since})
                    for event, data, _ in source:
                        broken, wait = None, RESUME_WAIT
                        if self._take(event, json.loads(data)):
                            return self.ended
                    raise ConnectionLostError("the stream ended before the command", code="connection")
                except Exception as error:
                    resumable = isinstance(error, ConnectionLostError) or getattr(error, "status", None) in (502, 503)
                    broken = broken or time.monotonic()
                    if not resumable or self.process is None or time.monotonic() - broken > RESUME_SECONDS:
                        raise
                time.sleep(wait)
                wait, source = min(wait * 2, RESUME_WAIT_MAX), None
        except KeyboardInterrupt:
            self.kill()
            raise

    def _take(self, event, told):
        self.since = told.get("since", self.since)
        if event == "started":
            self.process, self.pid = told["process"], told["pid"]
        elif event in self.kept:
            data = base64.b64decode(told["data"]) if told.get("encoding") == "base64" else told["data"].encode()
            self.kept[event].cut += max(0, told["offset"] - self.told[event])
            self.told[event] = told["offset"] + len(data)
            self.kept[event].add(data)
            text = self.decoders[event].decode(data)
            if self.tell[event] and text:
                self.tell[event](text)
        elif event == "artifact":
            self.artifacts.append(told[event])
            if self.tell[event]:
                self.tell[event](told[event])
        elif event == "error":
            raise error_of_event(told)
        elif event == "exit":
            stdout, cut_stdout = self.kept["stdout"].bytes()
            stderr, cut_stderr = self.kept["stderr"].bytes()
            self.ended = CommandResult(
                ok=told["ok"], exit_code=told["exit_code"], stdout=stdout.decode("utf-8", "replace"),
                stderr=stderr.decode("utf-8", "replace"), signal=told["signal"], timed_out=told["timed_out"],
                duration_ms=told["duration_ms"], process=self.process, truncated=cut_stdout or cut_stderr,
                artifacts=self.artifacts, cause=told.get("cause", "exit"), network=told.get("network", []),
                recording=told.get("recording"))
        return self.ended

    def kill(self, signal="SIGKILL"):
        """Sends a signal to the command and its child processes; False if it had ended."""
        if self.process is None:
            return False
        try:
            self.sandbox.transport.request("POST", self._address("/signal"), json={"signal": signal, "tree": True})
            return True
        except (ConflictError, NotFoundError):
            return False

    def send_stdin(self, data, end=False):
        """Writes bytes or text to the standard input of a command that was started with stdin=True."""
        data = data.encode() if isinstance(data, str) else data
        self.sandbox.transport.request("POST", self._address("/stdin"), query={"end": end or None}, body=data,
                                       headers={"Content-Type": "application/octet-stream"})

    def close_stdin(self):
        self.send_stdin(b"", end=True)

    def info(self):
        return self.sandbox.transport.request("GET", self._address())


def _start(sandbox, operation, what, *, cwd=None, env=None, user=None, stdin=None, timeout=None, background=False,
           tty=None, rows=None, columns=None, label=None, artifacts=None, record=None, conversation=None, origin=None,
           handle=None, **follow):
    """Starts a command and waits for its result, or returns its handle. `timeout` is in seconds."""
    handle = handle or CommandHandle(sandbox, **follow)
    body = without_none({
        **what, "cwd": cwd, "env": env, "user": user, "tty": tty, "rows": rows, "columns": columns, "label": label,
        "stdin": stdin if isinstance(stdin, str) else None, "stdin_open": True if stdin is True else None,
        "stdin_base64": base64.b64encode(stdin).decode() if isinstance(stdin, bytes) else None,
        "timeout_ms": None if timeout is None else max(1, int(timeout * 1000)), "artifacts": artifacts, "record": record,
        "conversation": conversation, "origin": origin})
    where = path("/api/sandbox/instances/{}", sandbox.id) + operation
    if background:
        started = sandbox.transport.request("POST", where, json={**body, "background": True})
        handle.process, handle.pid, handle.result_id = started["process"], started["pid"], started.get("resultId")
        handle.recording = started.get("recording")
        return handle
    return handle._follow(sandbox.transport.events("POST", where, query={"stream": "sse"}, json=body))


def _exec_of(command):
    if isinstance(command, str):
        return {"command": command}
    return {"cmd": command[0], "args": [str(argument) for argument in command[1:]]}


class Commands:
    def __init__(self, sandbox):
        self.sandbox = sandbox

    def run(self, command, **options):
        """Runs a command: a text is a line for the shell, a list is a program with its arguments and needs no shell."""
        return _start(self.sandbox, "/exec", _exec_of(command), **options)

    def list(self):
        where = path("/api/sandbox/instances/{}/processes", self.sandbox.id)
        return self.sandbox.transport.request("GET", where)["items"]

    def connect(self, process, **follow):
        """Returns the handle of a running command. Its output is read from the beginning."""
        handle = CommandHandle(self.sandbox, process, **follow)
        handle.pid = handle.info()["pid"]
        return handle

    def kill(self, process, signal="SIGKILL"):
        return CommandHandle(self.sandbox, process).kill(signal)
