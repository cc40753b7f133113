# SPDX-License-Identifier: Apache-2.0
"""kill -9 of a sandbox's agent in the middle of each kind of call: the call ends at once with an error that says why, and the server
keeps no descriptor and no busy thread of it."""

import collections
import contextlib
import http.client
import json
import os
import re
import socket
import threading
import time

import pytest

import atoll

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not os.path.exists("/usr/bin/python3"), reason="the host's /usr has no python3")]
PATH = "/api/sandbox/instances"
BOUND_S = 15
OCTETS = {"Content-Type": "application/octet-stream"}
MARK = "echo here; touch /tmp/begun-%s; sleep 300"


def hold(server, method, path, *lines, body=b""):
    """A request that stays open. Nothing of its answer is read."""
    sock = socket.create_connection(("127.0.0.1", server.port), timeout=BOUND_S)
    sock.sendall("\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {server.key}", *lines, "", ""]).encode() + body)
    return sock


def read_to_end(sock):
    """All that comes until the server closes or ends its answer; a time-out is a failure of the test."""
    sock.settimeout(BOUND_S)
    data = b""
    with contextlib.suppress(ConnectionResetError, BrokenPipeError):
        while piece := sock.recv(65536):
            data += piece
            head, _, body = data.partition(b"\r\n\r\n")
            length = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
            if length and len(body) >= int(length[0].split(b":")[1]):
                break
            if b"transfer-encoding: chunked" in head.lower() and body.endswith(b"0\r\n\r\n"):
                break
    return data


def upgrade(server, path):
    sock = hold(server, "GET", path, "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==")
    assert b" 101 " in sock.recv(4096)
    return sock


class Calls:
    """Calls that are under way in one sandbox, each on a thread of its own."""

    def __init__(self, server, box):
        self.server, self.box, self.threads, self.ends, self.sockets = server, box, [], {}, {}

    def begin(self, name, method, path, body=None, headers=None):
        def run():
            api = self.server.api()
            try:
                answer = api.raw(method, f"{PATH}/{self.box}/{path}", body, headers)
                self.ends[name] = (answer.status, answer.body, time.monotonic())
            except (OSError, http.client.HTTPException) as broken:
                self.ends[name] = (0, repr(broken).encode(), time.monotonic())
            api.close()
        self.threads.append(threading.Thread(target=run, name=name, daemon=True))
        self.threads[-1].start()

    def hold(self, name, method, path, *lines, body=b""):
        self.sockets[name] = hold(self.server, method, f"{PATH}/{self.box}/{path}", *lines, body=body)

    def finish(self):
        for thread in self.threads:
            thread.join(BOUND_S)
            assert not thread.is_alive(), f"{thread.name} goes on"
        for name, sock in self.sockets.items():
            data = read_to_end(sock)
            self.ends[name] = (int(data.split(b" ", 2)[1]) if data.startswith(b"HTTP/1.1 ") else 0, data, time.monotonic())
            sock.close()


def begin_all(server, api, box):
    """One of each kind, and waits until each has begun inside."""
    calls = Calls(server, box)
    text = {"Content-Type": "application/json"}
    for name, query in (("exec", ""), ("exec as events", "?stream=sse"), ("exec as lines", "?stream=ndjson")):
        calls.begin(name, "POST", f"exec{query}", json.dumps({"command": MARK % name.replace(" ", "-")}), text)
    calls.begin("code", "POST", "code", json.dumps({"language": "python", "code": "import time; open('/tmp/begun-code', 'w'); time.sleep(300)"}), text)
    calls.begin("kernel", "POST", "code", json.dumps({"language": "python", "contextId": "default",
                                                      "code": "import time; open('/tmp/begun-kernel', 'w'); time.sleep(300)"}), text)
    process = api.exec(box, "cat; sleep 300", background=True)["process"]
    calls.begin("wait", "GET", f"processes/{process}/wait")
    calls.begin("process as events", "GET", f"processes/{process}/stream?stream=sse")
    calls.begin("logs", "GET", f"logs?process={process}&follow=true")
    calls.hold("stdin", "POST", f"processes/{process}/stdin", "Content-Length: 100000", body=b"x" * 1000)
    calls.begin("watch", "GET", "files/watch?path=/tmp&stream=ndjson")
    calls.hold("upload", "PUT", "files/content?path=/tmp/upload", "Content-Length: 10000000", "Content-Type: application/octet-stream", body=b"x" * 100000)
    calls.hold("tar in", "POST", "files/tar?path=/tmp/untar", "Content-Length: 10000000", "Content-Type: application/x-tar", body=b"\0" * 1000)
    # Whoever does not read is not sent everything: the download is under way until the end.
    calls.hold("download", "GET", "files/content?path=/home/user/large")
    calls.hold("tar out", "GET", "files/tar?path=/home/user")
    api.post(f"{PATH}/{box}/terminal", {"name": "main"})
    calls.begin("window", "POST", "windows/main/run", json.dumps({"command": "touch /tmp/begun-window; sleep 300", "wait_ms": 60000}), text)
    calls.sockets["terminal"] = upgrade(server, api.post(f"{PATH}/{box}/terminal", {"name": "other"})["path"])
    calls.begin("clone", "POST", "git/clone", json.dumps({"url": "ext::sh -c 'sleep 300'", "path": "clone"}), text)
    wanted = {"exec", "exec-as-events", "exec-as-lines", "code", "kernel", "window"}

    def are_begun():
        names = {row["path"].rsplit("/", 1)[-1] for row in api.get(f"{PATH}/{box}/files?path=/tmp&limit=1000")["items"]}
        return {f"begun-{name}" for name in wanted} <= names
    atoll.wait_for(are_begun, 60, "all commands run")
    return calls


def kill_agent(api, box):
    """Returns when, and the namespaces that the sandbox had."""
    marker = f"sleep 4{time.monotonic_ns()}"
    api.exec(box, marker, background=True)
    pid = atoll.wait_for(lambda: atoll.first_process(marker), 30, "a process of the sandbox")
    namespaces = {os.readlink(f"/proc/{pid}/ns/{kind}") for kind in ("mnt", "net", "user", "pid", "ipc")}
    atoll.kill_and_wait([pid])
    return time.monotonic(), namespaces


def links(pid):
    """What each descriptor of a process is, by its number."""
    found = {}
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed since the listing
            found[name] = os.readlink(f"/proc/{pid}/fd/{name}")
    return found


def kept_by_server(server):
    """The api's descriptors but those of the store: it opens a connection (database and log) for each reader when several threads read at
    once, keeps it, and has at most eight. How many a round needs is chance."""
    kinds = [re.sub(r"[0-9]+", "N", link) for link in links(server.pid_of("api")).values() if not link.startswith(f"{server.data}/store/")]
    return collections.Counter(kinds)


def kept_by_broker(server, namespaces):
    """The broker's descriptors of these namespaces, and of processes that have been waited for."""
    pid, kept = server.pid_of("broker"), []
    for name, link in links(pid).items():
        with contextlib.suppress(FileNotFoundError), open(f"/proc/{pid}/fdinfo/{name}", encoding="utf-8") as file:
            if link in namespaces or (link == "anon_inode:[pidfd]" and "Pid:\t-1\n" in file.read()):
                kept.append(link)
    return kept


def is_settled(server):
    """What the server keeps, when that has not changed for a second."""
    before = kept_by_server(server)
    for _ in range(10):
        time.sleep(0.1)
        if kept_by_server(server) != before:
            return None
    return before


def busy_threads(api):
    rows = [row for row in api.raw("GET", "/metrics").body.decode().splitlines() if row.startswith("atoll_workers{") and 'state="running"' in row]
    return sum(float(row.rsplit(" ", 1)[1]) for row in rows)


# What has sent its head already can only be cut off: these end without a status of their own.
CUT = {"exec as events", "exec as lines", "process as events", "logs", "watch", "download", "tar out", "terminal"}


def test_every_call_ends_at_once_and_leaves_nothing(private_server):
    server = private_server
    server.start()
    api = server.api()
    pid = server.pid_of("api")
    first = None
    for _ in range(3):
        box = api.create(internet=False)["id"]
        api.exec(box, "head -c 60000000 /dev/urandom > /home/user/large")
        calls = begin_all(server, api, box)
        killed, namespaces = kill_agent(api, box)
        calls.finish()
        row = atoll.wait_for(lambda box=box: (r := api.get(f"{PATH}/{box}"))["state"] != "started" and r, BOUND_S, "its end")
        assert row["state"] in ("stopped", "failed") and row["reason"] == "exit", row
        for name, (status, body, at) in calls.ends.items():
            assert at - killed < BOUND_S, name
            if name in CUT:
                assert status in (0, 101, 200) or status >= 400, (name, status)
            else:
                assert status >= 400 or status == 0 or (name == "clone" and status >= 400), (name, status, body[:300])
                assert status != 0 or name in ("upload", "tar in", "stdin"), (name, body)
            if status >= 500:
                text = body.decode(errors="replace")
                assert box in text or "sandbox" in text, (name, text[-300:])
        atoll.wait_for(lambda: busy_threads(api) <= 1, 30, "no busy thread")
        api.remove(box)
        atoll.wait_for(lambda namespaces=namespaces: not kept_by_broker(server, namespaces), 30, lambda: kept_by_broker(server, namespaces))
        # The first round opens what is kept for all: the folder of blobs, a connection to the broker, threads' descriptors.
        first = first or atoll.wait_for(lambda: is_settled(server), 30, "as many descriptors for a second")
        atoll.wait_for(lambda: not kept_by_server(server) - first, 30, lambda: f"{kept_by_server(server) - first}, not kept after the first round")
    assert server.pid_of("api") == pid
