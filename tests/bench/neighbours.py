# SPDX-License-Identifier: Apache-2.0
"""Hostile neighbours for fairness.py: each function loads a server from one project until its process is ended.

A neighbour is prepared in the benchmark's own process, so that its sandboxes are there before anything is measured, and returns the
loads that then run in processes of their own. Those run at the lowest priority: a real neighbour's clients are on another machine,
and what they cost here must not be taken for what the server costs.
"""

import contextlib
import json
import os
import pathlib
import selectors
import signal
import socket
import threading
import time
import urllib.parse

import atoll

INSTANCES = "/api/sandbox/instances"
BUILDS = "/api/sandbox/templates/builds"
PLAIN = {"template": "host", "internet": False}
TRUE = {"cmd": "/bin/true"}


class Project:
    """The neighbour's project: its key, and what it has made."""

    def __init__(self, server, key):
        self.server, self.key = server, key
        self.api = server.api(key, timeout=300)

    def make(self, **options):
        return self.api.create(**{**PLAIN, **options})["id"]

    def start(self, sandbox, command, **options):
        """A command that goes on in the background."""
        return self.api.exec(sandbox, command, background=True, **options)


def repeat(project, calls, threads):
    """`calls` in turn, by so many connections, without end. Refusals are part of it."""
    def work(first):
        api = project.server.api(project.key, timeout=120)
        turn = first
        while True:
            method, path, body = calls[turn % len(calls)]
            turn += 1
            try:
                api.raw(method, path, body)
            except OSError:
                api.close()
                time.sleep(0.01)
    workers = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def request_bytes(project, method, path, body=None, accept="*/*"):
    text = json.dumps(body) if body is not None else ""
    return (f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{project.server.port}\r\nAuthorization: Bearer {project.key}\r\n"
            f"Accept: {accept}\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n{text}").encode()


def connect(project, receive_bytes=None):
    connection = socket.socket()
    if receive_bytes:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    connection.connect(("127.0.0.1", project.server.port))
    return connection


def keep_in_flight(project, request, count):
    """`count` connections, each of which asks again as soon as it has its answer."""
    selector = selectors.DefaultSelector()
    for _ in range(count):
        connection = connect(project)
        connection.sendall(request)
        selector.register(connection, selectors.EVENT_READ)
    while True:
        for key, _ in selector.select():
            try:
                data = key.fileobj.recv(1 << 16)
            except OSError:
                data = b""
            selector.unregister(key.fileobj)
            connection = key.fileobj
            if not data:
                connection.close()
                connection = connect(project)
            connection.sendall(request)
            selector.register(connection, selectors.EVENT_READ)


def read_streams(project, request, count, reads):
    """`count` streams that are read as fast as they come, or never."""
    connections = [connect(project, None if reads else 4096) for _ in range(count)]
    for connection in connections:
        connection.sendall(request)
    if not reads:
        signal.pause()
    selector = selectors.DefaultSelector()
    for connection in connections:
        selector.register(connection, selectors.EVENT_READ)
    while selector.get_map():
        for key, _ in selector.select():
            if not key.fileobj.recv(1 << 18):
                selector.unregister(key.fileobj)


# ---- the twelve: each returns (function, arguments…) rows, which run in processes of their own ----


def fork_bomb(project):
    sandbox = project.make()
    bomb = "while :; do (b() { b | b & }; b) 2>/dev/null; sleep 0.2; done"
    return [(repeat, project, [("POST", f"{INSTANCES}/{sandbox}/exec", {"command": bomb, "background": True}),
                               ("GET", f"{INSTANCES}/{sandbox}/processes", None)], 40)]


def busy_loops(project):
    for _ in range(4):
        sandbox = project.make()
        for _ in range(8):
            project.start(sandbox, "while :; do :; done")
    return []


def stopped_agent(project):
    """Process 1 of the sandbox does not run: what code that has taken it over can do."""
    sandbox = project.make()
    marker = f"sleep 86399.{os.getpid()}"
    project.start(sandbox, marker)
    os.kill(atoll.wait_for(lambda: atoll.first_process(marker), what="the agent's process"), signal.SIGSTOP)
    path = f"{INSTANCES}/{sandbox}"
    return [(repeat, project, [("GET", f"{path}/processes", None), ("GET", f"{path}/files?path=/", None),
                               ("POST", f"{path}/exec", TRUE)], 40)]


def full_disk(project):
    for _ in range(2):
        sandbox = project.make(resources={"disk_mb": 256})
        project.start(sandbox, "while :; do dd if=/dev/zero of=$HOME/full bs=1M count=2048; rm -f $HOME/full; done 2>/dev/null")
    return []


def endless_output(project):
    sandbox = project.make()
    request = request_bytes(project, "POST", f"{INSTANCES}/{sandbox}/exec", {"command": "yes"}, "text/event-stream")
    return [(read_streams, project, request, 8, True)]


def requests_at_once(project):
    sandbox = project.make()
    return [(keep_in_flight, project, request_bytes(project, "POST", f"{INSTANCES}/{sandbox}/exec", TRUE), 128),
            (keep_in_flight, project, request_bytes(project, "GET", f"{INSTANCES}?limit=100"), 128)]


def slow_readers(project):
    sandbox = project.make()
    project.api.exec(sandbox, "head -c 64M /dev/zero > $HOME/big")
    query = urllib.parse.urlencode({"path": "/home/user/big"})
    return [(read_streams, project, request_bytes(project, "GET", f"{INSTANCES}/{sandbox}/files/content?{query}"), 64, False),
            (read_streams, project,
             request_bytes(project, "POST", f"{INSTANCES}/{sandbox}/exec", {"command": "yes"}, "text/event-stream"), 64, False)]


def ten_builds(project):
    work = "python3 -c 'import time; end = time.monotonic() + 120\nwhile time.monotonic() < end: pass'"
    for i in range(10):
        project.api.post(BUILDS, {"name": f"neighbour-{i}", "from": "host", "internet": False,
                                  "steps": [{"type": "run", "command": f"{work} {i}"}]})
    return []


def delete_all(project, ids, threads):
    def work(part):
        api = project.server.api(project.key, timeout=120)
        for one in part:
            api.raw("DELETE", f"{INSTANCES}/{one}")
    workers = [threading.Thread(target=work, args=(ids[i::threads],)) for i in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def thousand_deletes(project):
    ids = [project.make(resources={"cpu": 0.1, "memory_mb": 64}) for _ in range(1000)]
    return [(delete_all, project, ids, 64)]


def huge_listings(project):
    sandbox = project.make(resources={"cpu": 2})
    project.api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", "import os\nos.mkdir('/tmp/many')\nfor i in range(50000): "
                                                            "open(f'/tmp/many/{i}', 'w').close()"], timeout_ms=120000)
    return [(repeat, project, [("GET", f"{INSTANCES}/{sandbox}/files?path=/tmp/many", None)], 16)]


def egress_flood(project):
    """Datagrams to the sandbox's own gateway, which is an address of this machine."""
    code = ("import socket,struct\nrow=[l.split() for l in open('/proc/net/route')][1:]\n"
            "gate=[socket.inet_ntoa(struct.pack('<I', int(r[2], 16))) for r in row if r[1] == '00000000'][0]\n"
            "s=socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nport=0\n"
            "while True:\n    port = port % 60000 + 1\n    try: s.sendto(b'x' * 1200, (gate, port))\n    except OSError: pass")
    sandbox = project.make(internet=True)
    for _ in range(4):
        project.api.post(f"{INSTANCES}/{sandbox}/exec", {"cmd": "/usr/bin/python3", "args": ["-c", code], "background": True})
    return []


def log_flood(project):
    """Requests that fail, each with a line in the server's log, and processes whose output is kept."""
    sandbox = project.make()
    for _ in range(4):
        project.start(sandbox, "while :; do echo a line of output that somebody may want to read later; done")
    return [(repeat, project, [("POST", INSTANCES, {"template": "no-such-template"}),
                               ("POST", INSTANCES, {"template": "host", "resources": {"cpu": 10000}}),
                               ("GET", f"{INSTANCES}/{'a' * 20}", None)], 16)]


ALL = {"fork bomb": fork_bomb, "busy loops": busy_loops, "stopped agent": stopped_agent, "full disk": full_disk,
       "endless output": endless_output, "256 requests at once": requests_at_once, "slow readers": slow_readers,
       "10 builds": ten_builds, "1000 deletes": thousand_deletes, "huge listings": huge_listings,
       "egress flood": egress_flood, "log flood": log_flood}


def run_load(function, *arguments):
    """Nice processes of a session stand back only behind others of that session; the session itself has to be nice, too."""
    os.nice(19)
    os.setsid()
    with contextlib.suppress(OSError):  # a kernel without automatic groups
        pathlib.Path("/proc/self/autogroup").write_text("19")
    function(*arguments)


def cancel_builds(project):
    for row in project.api.get(f"{BUILDS}?limit=100")["items"]:
        if row["status"] in ("waiting", "building"):
            project.api.raw("POST", f"{BUILDS}/{row['id']}/cancel", {})


def continue_agents(server):
    """Stopped agents go on, so that they can be ended."""
    for pid in atoll.Host(server.data).agents():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            if "T (stopped)" in pathlib.Path(f"/proc/{pid}/status").read_text():
                os.kill(pid, signal.SIGCONT)
