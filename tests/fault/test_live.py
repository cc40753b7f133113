# SPDX-License-Identifier: Apache-2.0
"""kill -9 while somebody is at work in a sandbox: streams break, and nothing that is inside or kept is lost or left over."""

import base64
import contextlib
import http.client
import json
import os
import socket
import threading

import pytest

import atoll

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not os.path.exists("/usr/bin/python3"), reason="the host's /usr has no python3")]
PATH = "/api/sandbox/instances"
PROGRAM = (atoll.ROOT / "tests/preview_server.py").read_bytes()
FILES = 30
BROKEN = (OSError, http.client.HTTPException, atoll.ApiError, json.JSONDecodeError)


class Work:
    """What goes on at once, each on a thread and a connection of its own, until its server dies."""

    def __init__(self, server, is_cut):
        # Who is cut off asks again, and is not waited for; who is not has its answer whenever that comes.
        self.patience_s = 5 if is_cut else 120
        self.server, self.threads, self.answers, self.sockets = server, [], {}, []

    def begin(self, name, act):
        def run():
            api = self.server.api(timeout=self.patience_s)
            with contextlib.suppress(*BROKEN):
                self.answers[name] = act(api)
            api.close()
        self.threads.append(threading.Thread(target=run))
        self.threads[-1].start()

    def hold(self, path, *lines, method="GET", body=b""):
        """A connection that stays open."""
        sock = socket.create_connection(("127.0.0.1", self.server.port), timeout=30)
        self.sockets.append(sock)
        sock.sendall("\r\n".join([f"{method} {path} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {self.server.key}",
                                  *lines, "", ""]).encode() + body)
        return sock

    def upgrade(self, path):
        sock = self.hold(path, "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                         "Sec-WebSocket-Key: " + base64.b64encode(os.urandom(16)).decode())
        assert b" 101 " in sock.recv(4096)

    def end(self, is_cut):
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive(), "a call outlives its server"
        for sock in self.sockets:
            # Each is told that it is over.
            with contextlib.suppress(ConnectionError):
                while is_cut and sock.recv(65536):
                    pass
            sock.close()


def serve(api, box):
    api.write(box, "/tmp/server.py", PROGRAM)
    api.exec(box, "setsid python3 /tmp/server.py 8000 >/tmp/log 2>&1 </dev/null & "
             "for i in $(seq 600); do grep -q ':1F40 .* 0A' /proc/net/tcp && exit; sleep 0.05; done; exit 1")


def preview(box, path):
    return f"{PATH}/{box}/preview/8000{path}"


def keep_skill(api):
    files = [{"path": f"part-{i}/file", "content": base64.b64encode(b"x" * 20000).decode()} for i in range(FILES)]
    api.call("PUT", "/v1/skills/big", {"files": [{"path": "SKILL.md", "content": "eA=="}, *files]})


def call(api, box, tool, config=None, wait=60000, **arguments):
    return api.call("POST", f"/v1/tools/{tool}", {"sandboxId": box, "input": arguments, "approvalWaitMs": wait,
                                                  **({"config": config} if config else {})})


@pytest.mark.parametrize("roles", [("api",), ("broker",), ("broker", "api")], ids="+".join)
def test_everything_that_is_live_survives_or_is_told(private_server, roles):
    server = private_server
    server.start()
    api = server.api()
    box = api.create(internet=True, persistent=True)["id"]
    sleeper = api.create(internet=True, persistent=True)["id"]
    for one in (box, sleeper):
        serve(api, one)
    keep_skill(api)
    api.post("/accounts/me/sandboxes", {"name": "asks", "config": {"permissionMode": "ask"}})
    other = api.post("/api/sandbox/keys", {"name": "other", "scopes": ["sandbox:read", "sandbox:write"]})
    api.exec(box, "head -c 60000000 /dev/urandom > large")
    since = api.exec(box, "cut -d' ' -f22 /proc/1/stat")["stdout"]

    window = api.post(f"{PATH}/{box}/terminal", {"name": "main", "record": True})
    assert api.post(f"{PATH}/{box}/windows/main/run", {"command": "echo before-it"})["exit_code"] == 0
    api.post(f"{PATH}/{box}/windows/main/run", {"command": "cat", "wait_ms": 1})
    job = api.exec(box, "sleep 2; echo done >> job.txt; exit 4", background=True)["resultId"]
    api.post(f"{PATH}/{sleeper}/pause")

    work = Work(server, is_cut="api" in roles)
    for _ in range(2):
        work.upgrade(api.post(f"{PATH}/{box}/terminal", {"name": "main"})["path"])
    work.upgrade(preview(box, "/ws"))
    work.hold(preview(box, "/sse?1000"))
    work.hold(preview(box, "/upload"), "Content-Length: 1000000", method="POST", body=b"u" * 300000)
    work.begin("ask", lambda api: call(api, box, "bash", "asks", command="echo asked >> asked.txt"))
    atoll.wait_for(lambda: api.get("/v1/approvals")["items"], what="the call waits")
    api.close()
    work.begin("wake", lambda api: api.raw("GET", preview(sleeper, "/x")).status)
    work.begin("skill", lambda api: call(api, box, "load_skill", name="big"))
    work.begin("artifact", lambda api: api.post(f"{PATH}/{box}/artifacts", {"path": "large"}))
    for role in roles:
        server.kill9(role)
    if "api" in roles:
        work.end(is_cut=True)
    server.wait_ready()

    api = server.api()
    assert atoll.wait_for(lambda: ran(api, box, "cut -d' ' -f22 /proc/1/stat"), 20, "the sandbox takes commands") == since
    # The window, and what is typed into it.
    screen = api.post(f"{PATH}/{box}/windows/main/keys", {"keys": ["after-it", "Enter"], "wait_text": "after-it\nafter-it"})
    assert "before-it" in json.dumps(screen)
    assert api.get(f"{PATH}/{box}/windows/main")["process"] == window["process"]
    # The job has ended, and its end is known.
    atoll.wait_for(lambda: api.get(f"/v1/jobs/{job}")["status"] != "running", 20, "the job's end")
    assert api.get(f"/v1/jobs/{job}")["exitCode"] == 4 and api.exec(box, "cat job.txt")["stdout"] == "done\n"
    # What waits for somebody's word still waits, and goes on, once.
    [pending] = api.get("/v1/approvals")["items"]
    api.clone(other["key"]).post(f"/v1/approvals/{pending['id']}/approve")
    if "api" in roles:
        assert call(api, box, "bash", "asks", command="echo asked >> asked.txt")["structuredContent"]["exit_code"] == 0
    else:
        work.end(is_cut=False)
    assert api.exec(box, "cat asked.txt")["stdout"] == "asked\n"
    # Previews, and the one whose sandbox was being woken.
    for one in (box, sleeper):
        assert atoll.wait_for(lambda one=one: api.raw("GET", preview(one, "/x")).status == 200, 20, "the preview")
    # A skill is staged again over what there is of it, and no part of a file is left behind.
    call(api, box, "load_skill", name="big")
    there = api.exec(box, "find .claude -type f | wc -l; find .claude -type f -size 20000c | wc -l")["stdout"].split()
    assert there == [str(FILES + 1), str(FILES)]
    # What is listed is whole, and nothing else is kept.
    blobs = server.data / "blobs/artifacts"
    atoll.wait_for(lambda: {path.name for path in blobs.glob("*")} == {one["id"] for one in artifacts(api)}, 20, "blobs and rows agree")
    for one in artifacts(api):
        assert len(api.raw("GET", f"/api/sandbox/artifacts/{one['id']}/content").body) == one["size"] == 60000000
        api.delete(f"/api/sandbox/artifacts/{one['id']}")
    for one in (box, sleeper):
        api.remove(one)
    for recording in api.get("/api/sandbox/recordings")["items"]:
        head = api.raw("GET", f"/api/sandbox/recordings/{recording['id']}").body.split(b"\n")[0]
        assert json.loads(head)["version"] == 2
    assert not [row for row in api.get(f"{PATH}?limit=100")["items"] if row["state"] not in ("deleted", "deleting")]
    api.close()
    atoll.Host(server.data).wait_clean()


def artifacts(api):
    return api.get("/api/sandbox/artifacts")["items"]


def ran(api, box, command):
    with contextlib.suppress(*BROKEN):
        return api.exec(box, command)["stdout"]
    return None
