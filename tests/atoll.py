# SPDX-License-Identifier: Apache-2.0
"""A real Atoll server for the tests, and what it may leave behind on the host.

Server starts `build/atoll serve` on a free loopback port with a data folder of its own; Api speaks
HTTP to it with the standard library only; Host lists every kind of resource that Atoll makes, so
that a test can say: afterwards nothing of ours is left.
"""

import contextlib
import glob
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("ATOLL_BUILD", ROOT / "build"))
ATOLL = BUILD / "atoll"
PORTS = range(20000, 32000)
PORT_BLOCK = 40
SLOTS = 1024  # of a chunk, which one server claims at a time
# What a server of the tests has otherwise than one of an operator: hundreds are started, and each makes fewer sandboxes ahead. A probe of
# /readyz would also meet a fault (ATOLL_FAULT) before the request that it is meant for. A stop waits for no call.
DEFAULTS = {"ATOLL_CELLS": "2", "ATOLL_READY_PROBE_EVERY": "0s", "ATOLL_DRAIN": "0s"}


# An assertion, or a signal of a fault: not the signals by which tests end processes.
# Of the suites of their own name (tests/conftest.py): the whole of what `./dev test` runs a part of.
IS_SLOW = bool(os.environ.get("ATOLL_SLOW"))
CRASH = re.compile(r"Assertion `|process killed, .* signal=(4|6|7|8|11)\b")


class ApiError(Exception):
    """An answer that is not a success: status, code, message, hint, request_id."""

    def __init__(self, status, body):
        self.status = status
        self.body = body
        error = body.get("error", {}) if isinstance(body, dict) else {}
        self.code = error.get("code")
        self.message = error.get("message", "")
        self.hint = error.get("hint", "")
        self.request_id = error.get("request_id")
        super().__init__(f"{status} {self.code}: {self.message} ({self.hint})")


class Answer:
    def __init__(self, response, body):
        self.status = response.status
        self.headers = response.headers
        self.body = body

    def json(self):
        return json.loads(self.body)


class Api:
    """One keep-alive connection. Not for several threads."""

    def __init__(self, host, port, key=None, timeout=60):
        self.host, self.port, self.key, self.timeout = host, port, key, timeout
        self.connection = None

    def clone(self, key=None):
        return Api(self.host, self.port, key or self.key, self.timeout)

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def open(self, method, path, body=None, headers=None):
        """Sends a request and returns the raw http.client response, for streams."""
        headers = dict(headers or {})
        if self.key and "Authorization" not in headers:
            headers["Authorization"] = f"Bearer {self.key}"
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        for attempt in (1, 2):
            if not self.connection:
                self.connection = http.client.HTTPConnection(self.host, self.port, timeout=self.timeout)
            try:
                self.connection.request(method, path, body=body, headers=headers)
                return self.connection.getresponse()
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
                self.close()
                if attempt == 2 or method == "POST" and body is not None and not isinstance(body, str):
                    raise
        raise AssertionError("unreachable")

    def raw(self, method, path, body=None, headers=None):
        response = self.open(method, path, body, headers)
        answer = Answer(response, response.read())
        if response.headers.get("Connection", "").lower() == "close":
            self.close()
        return answer

    def call(self, method, path, body=None, headers=None):
        answer = self.raw(method, path, body, headers)
        is_json = "json" in (answer.headers.get("Content-Type") or "")
        value = json.loads(answer.body) if is_json and answer.body else answer.body
        if answer.status >= 400:
            raise ApiError(answer.status, value)
        return value

    def get(self, path):
        return self.call("GET", path)

    def post(self, path, body=None):
        return self.call("POST", path, {} if body is None else body)

    def delete(self, path):
        return self.call("DELETE", path)

    # ---- the calls that most tests make ----

    def create(self, **options):
        options.setdefault("template", "host")
        return self.post("/api/sandbox/instances", options)

    def exec(self, sandbox, command=None, **options):
        if command is not None:
            options["command"] = command
        return self.post(f"/api/sandbox/instances/{sandbox}/exec", options)

    def remove(self, sandbox):
        return self.delete(f"/api/sandbox/instances/{sandbox}")

    @contextlib.contextmanager
    def sandbox(self, **options):
        made = self.create(**options)
        try:
            yield made["id"]
        finally:
            with contextlib.suppress(ApiError):
                self.remove(made["id"])

    def write(self, sandbox, path, data, mode=None):
        query = {"path": path}
        if mode is not None:
            query["mode"] = mode
        return self.call("PUT", f"/api/sandbox/instances/{sandbox}/files/content?" + urllib.parse.urlencode(query),
                         data, {"Content-Type": "application/octet-stream"})

    def read(self, sandbox, path):
        query = urllib.parse.urlencode({"path": path})
        answer = self.raw("GET", f"/api/sandbox/instances/{sandbox}/files/content?{query}")
        if answer.status >= 400:
            raise ApiError(answer.status, answer.json())
        return answer.body


def own_ports():
    """None that the kernel hands out by itself, and in blocks that only one run has: the name of a socket says so, and ends with
    the run. Who is started again finds its port as it was left."""
    claims = []
    for first in random.SystemRandom().sample(PORTS[::PORT_BLOCK], len(PORTS) // PORT_BLOCK):
        claims.append(socket.socket(socket.AF_UNIX))
        with contextlib.suppress(OSError):
            claims[-1].bind(f"\0atoll-test-ports-{first}")
            yield from range(first, first + PORT_BLOCK)


ports = own_ports()


def free_port():
    for port in ports:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


def wait_for(condition, seconds=30, what="condition"):
    """Polls until condition() is true; its last value is returned. what: a text, or a function that makes it in the end. The longer it takes, the
    less often it asks: each question costs what it waits for a part of the processors."""
    begun = time.monotonic()
    end = begun + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what() if callable(what) else what}: not within {seconds} s")
        time.sleep(min(max(0.01, (time.monotonic() - begun) / 20), 0.05))


def sample(cases, always):
    """The cases of a test, as pytest's parameters: `./dev test` runs those of `always`, and the suite "full" all of them."""
    import pytest

    missing = [case for case in always if case not in cases]
    assert not missing, f"no such cases: {missing}"
    return [case if case in always else pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow) for case in cases]


def proc_files(name):
    """/proc/PID/NAME of every process. Path.glob fails when a process ends meanwhile."""
    return map(pathlib.Path, glob.glob(f"/proc/[0-9]*/{name}"))


def processes_below(pid):
    """The children of the process, their children and so on."""
    found = []
    with contextlib.suppress(OSError):
        for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            found += [int(child), *processes_below(int(child))]
    return found


class Server:
    """`atoll serve`, with kill -9 for each of its processes."""

    begun = {}  # of this process, by data folder

    def __init__(self, data=None, provider="native", environment=None, flags=(), before=()):
        """before: words of a command that runs the server in a world of its own and replaces itself by it: ["unshare", "-m", …]."""
        self.own_data = data is None
        self.data = pathlib.Path(data or tempfile.mkdtemp(prefix="atoll-test-"))
        self.provider, self.flags, self.before = provider, list(flags), list(before)
        self.environment = {**os.environ, **(environment or {})}
        for name in ("ATOLL_API_URL", "ATOLL_API_KEY"):
            self.environment.pop(name, None)
        self.port = free_port()
        self.process = None
        self.log = None
        Server.begun[str(self.data)] = self

    def start(self, wait=True):
        self.log = open(self.data / "serve.log", "ab")
        self.process = subprocess.Popen(
            [*self.before, ATOLL, "serve", "--data", self.data, "--listen", f"127.0.0.1:{self.port}",
             "--provider", self.provider, "--default-template", "host", *self.flags],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env={**DEFAULTS, **self.environment},
            start_new_session=True)
        if wait:
            self.wait_ready()
        return self

    def wait_ready(self, seconds=30):
        def ready():
            if self.process.poll() is not None:
                raise AssertionError(f"atoll serve ended with {self.process.returncode}:\n{self.log_text()}")
            try:
                return Api("127.0.0.1", self.port, timeout=5).raw("GET", "/readyz").status == 200
            except OSError:
                return False
        try:
            wait_for(ready, seconds, "server readiness")
        except AssertionError as late:
            raise AssertionError(f"{late}\n{self.log_text()}") from None

    def log_text(self):
        with contextlib.suppress(OSError):
            return (self.data / "serve.log").read_text(errors="replace")[-6000:]
        return ""

    @property
    def key(self):
        return (self.data / "admin.key").read_text().strip()

    def api(self, key=None, timeout=60):
        return Api("127.0.0.1", self.port, key or self.key, timeout)

    def cli_environment(self):
        return {**self.environment, "ATOLL_API_URL": f"http://127.0.0.1:{self.port}", "ATOLL_API_KEY": self.key}

    def cli(self, *arguments, **options):
        options.setdefault("timeout", 60)
        options.setdefault("stdin", subprocess.DEVNULL if "input" not in options else None)
        if options["stdin"] is None:
            del options["stdin"]
        return subprocess.run([ATOLL, *map(str, arguments)], env=self.cli_environment(),
                              capture_output=True, **options)

    def descendants(self):
        """{pid: command line} of the supervisor's own children. It has one thread."""
        found = {}
        with contextlib.suppress(OSError, AttributeError):
            children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
            before, listed = None, children.read_text()
            while listed != before:  # the kernel may leave a child out while another ends
                before, listed = listed, children.read_text()
            for child in listed.split():
                with contextlib.suppress(OSError):
                    found[int(child)] = pathlib.Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        return found

    def pid_of(self, role):
        """The pid of 'broker', 'api', 'names' or 'credentials'."""
        mark = {"broker": "atoll-broker", "api": "--role api", "names": "--role names",
                "credentials": "--role credentials"}[role]
        for pid, line in self.descendants().items():
            if mark in line:
                return pid
        return None

    def kill9(self, role):
        pid = wait_for(lambda: self.pid_of(role), 30, f"a {role} process")
        os.kill(pid, signal.SIGKILL)
        return pid

    def crashes(self):
        """Lines of the log that tell of a process that ended itself. The supervisor starts it again, so that a test may see no more of it than
        a connection that breaks."""
        with contextlib.suppress(OSError):
            lines = (self.data / "serve.log").read_text(errors="replace").splitlines()
            return [line for line in lines if CRASH.search(line)]
        return []

    def stop(self):
        """Ends the server; sandboxes go on."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
                raise AssertionError("atoll serve did not end on SIGTERM:\n" + self.log_text()) from None
        self.process = None
        if self.log:
            self.log.close()
        assert not self.crashes(), f"a process of the server ended itself: {self.crashes()}"

    @staticmethod
    def rows(api):
        """Every sandbox that there is."""
        found, query = [], {"limit": 1000, "builds": "true"}
        while query:
            page = api.get("/api/sandbox/instances?" + urllib.parse.urlencode(query))
            found += page["items"]
            query = page["next_page"] and {**query, "page": page["next_page"]}
        return found

    def remove_all(self):
        """Deletes every sandbox, ends the server, removes its data folder."""
        try:
            if self.process and self.process.poll() is None:
                api = self.api()
                for row in self.rows(api):
                    with contextlib.suppress(ApiError):
                        api.remove(row["id"])
                api.close()
                Host(self.data).wait_clean()
        finally:
            try:
                self.stop()
            finally:
                if self.own_data:
                    shutil.rmtree(self.data, ignore_errors=True)


def host_mounts(data):
    """Lines of what is mounted on the host, without what servers of other data folders and networks have, which come and go."""
    return [line for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
            if str(data) in line or not re.search(" (/var)?/tmp/(atoll-|pytest-)| /run/netns", line)]


def agents():
    """{pid: slot} of the agents of every server on this machine."""
    found = {}
    for comm in glob.glob("/proc/[0-9]*/comm"):
        with contextlib.suppress(OSError):
            if pathlib.Path(comm).read_text().startswith("atoll-agent"):
                slot = re.search("/atoll/s([0-9]+)", pathlib.Path(comm).with_name("cgroup").read_text())
                found[int(comm.split("/")[2])] = int(slot[1]) if slot else None
    return found


def first_process(marker):
    """pid of process 1 of the sandbox in which something with this command line runs; None: it does not run yet."""
    for line in glob.glob("/proc/[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # all the others come and go
            if marker.encode() not in pathlib.Path(line).read_bytes().replace(b"\0", b" "):
                continue
            pid = int(line.split("/")[2])
            while pid > 1:
                status = dict(row.split(":\t", 1) for row in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines())
                inside = status["NSpid"].split()
                if len(inside) > 1 and inside[-1] == "1":
                    return pid
                pid = int(status["PPid"])
    return None


def is_dead(pid):
    """Also one that nobody has asked about yet."""
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    return True


def kill_and_wait(pids):
    """Those that are gone already are fine. A kill is answered before its process has come to its end."""
    pids = list(pids)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_for(lambda: all(is_dead(pid) for pid in pids), what=lambda: f"the end of {[p for p in pids if not is_dead(p)]}")


def process_state(pid):
    """What it does at this moment, as far as the kernel tells."""
    with contextlib.suppress(OSError, StopIteration):
        folder = pathlib.Path(f"/proc/{pid}")
        state = next(line for line in (folder / "status").read_text().splitlines() if line.startswith("State:"))
        slot = re.search("/atoll/([sk][0-9]+)", (folder / "cgroup").read_text())
        return f"{pid} {state[7:]} in {(folder / 'wchan').read_text()}, slot {slot and slot[1]}, {len(os.listdir(folder / 'fd'))} descriptors"
    return f"{pid} gone"


def end_abandoned():
    """Ends the sandboxes that servers of this process have left behind, and tells of them: {data folder: their agents}. Nothing
    else would end them, and no other server takes over their slots."""
    ended = [data for data, server in Server.begun.items() if server.process is None or server.process.poll() is not None]

    def living():
        found = {data: [pid for pid in Host(data).agents() if not is_dead(pid)] for data in ended}
        return {data: pids for data, pids in found.items() if pids}
    # Agents of prewarmed sandboxes end a moment after their broker. What is left behind lives for ever.
    with contextlib.suppress(AssertionError):
        wait_for(lambda: not living(), 30)
    found = living()
    told = {data: [process_state(pid) for pid in pids] for data, pids in found.items()}
    for data in ended:
        kill_and_wait(found.get(data, ()))
        del Server.begun[data]
    return told


class Host:
    """What a server with this data folder has made on the host: everything of it must go again."""

    def __init__(self, data):
        self.data = str(data)

    def chunks(self):
        """Of slots: those that this data folder's server has claimed, or was the last to claim."""
        found = set()
        for claim in pathlib.Path("/run/atoll/chunks").glob("*"):
            with contextlib.suppress(OSError):
                if claim.read_text() == self.data:
                    found.add(int(claim.name))
        return found

    def agents(self):
        """pids of the agents of this data folder's sandboxes, and of those that wait for one."""
        found = agents()
        # Looked at last: another server that takes a chunk over says so before it has agents there.
        chunks = self.chunks()
        return [pid for pid, slot in found.items() if slot is not None and slot // SLOTS in chunks]

    def runs(self):
        return sorted(p for p in os.listdir(f"{self.data}/run/sandboxes")) \
            if os.path.isdir(f"{self.data}/run/sandboxes") else []

    def files(self):
        return sorted(os.listdir(f"{self.data}/sandboxes")) if os.path.isdir(f"{self.data}/sandboxes") else []

    def mounts(self):
        return [line for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
                if self.data in line]

    def leftovers(self):
        """Named lists of what is left of sandboxes; cells that wait for use are not counted."""
        return {name: value for name, value in
                {"run folders": self.runs(), "files": self.files(), "mounts": self.mounts()}.items() if value}

    def wait_clean(self, seconds=30):
        wait_for(lambda: not self.leftovers(), seconds, lambda: f"clean host, left: {self.leftovers()}")


def global_resources():
    """Everything of any Atoll on this machine, for before and after: cgroups, interfaces, agents."""
    cgroups = glob.glob("/sys/fs/cgroup/*/atoll/[sk]*/") + glob.glob("/sys/fs/cgroup/atoll/s*/")
    links = [name for name in os.listdir("/sys/class/net") if name.startswith("atoll") and name[5:].isdigit()]
    return {"cgroups": sorted(cgroups), "interfaces": sorted(links), "agents": sorted(agents())}
