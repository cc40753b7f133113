# SPDX-License-Identifier: Apache-2.0
"""Files of a lease by its key, and of a session: and when their sandbox has died unseen, the call is made once more, once."""

import io
import os
import pathlib
import signal
import tarfile

import pytest

import atoll
from test_leases import INSTANCES, acquire, path

pytestmark = pytest.mark.needs_root
SESSION = {"tenant_id": "t", "session_id": "s"}


def kill_agent(server, sandbox):
    """Who would tell is dead as well: the row says that it runs."""
    server.kill9("broker")
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    state = (server.data / "run" / "sandboxes" / sandbox / "state").read_text()
    pid = int(state.split(boot, 1)[1].split()[0])
    os.kill(pid, signal.SIGKILL)
    atoll.wait_for(lambda: not os.path.exists(f"/proc/{pid}"), 30, "the end of process 1")


def put(api, key, name, data):
    return api.call("PUT", path(key, f"/files/content?path={name}"), data, {"Content-Type": "application/octet-stream"})


def test_the_files_of_a_lease_by_its_key(api):
    key = "files:of/a lease"
    try:
        acquire(api, key)
        assert put(api, key, "notes/a.txt", b"first")["size"] == 5
        assert [row["name"] for row in api.get(path(key, "/files?path=notes"))["items"]] == ["a.txt"]
        assert api.raw("GET", path(key, "/files/content?path=notes/a.txt")).body == b"first"
        assert api.raw("GET", path(key, "/files/content?path=notes/a.txt"), headers={"Range": "bytes=1-2"}).body == b"ir"
        assert api.get(path(key, "/files/stat?path=notes/a.txt"))["size"] == 5
        api.post(path(key, "/files/mkdir"), {"path": "deep/er", "parents": True})
        api.post(path(key, "/files/rename"), {"path": "notes/a.txt", "target": "deep/er/b"})
        assert api.post(path(key, "/files/read"), {"path": "deep/er/b"})["content"] == "first"
        api.post(path(key, "/files/write"), {"path": "deep/c", "content": "two"})
        packed = api.raw("GET", path(key, "/files/tar?path=deep"))
        with tarfile.open(fileobj=io.BytesIO(packed.body)) as tar:
            assert {m.name.lstrip("./") for m in tar.getmembers() if m.isfile()} == {"c", "er/b"}
        api.call("POST", path(key, "/files/tar?path=again"), packed.body, {"Content-Type": "application/x-tar"})
        assert api.post(path(key, "/exec"), {"command": "cat again/er/b again/c"})["stdout"] == "firsttwo"
        assert api.delete(path(key, "/files?path=deep&recursive=true"))["count"] == 4
        with pytest.raises(atoll.ApiError) as missing:
            api.get(path(key, "/files/stat?path=deep"))
        assert missing.value.status == 404
    finally:
        api.delete(path(key))


def test_the_first_call_makes_the_sandbox_and_bad_ones_do_not(api):
    try:
        for call in (lambda: api.get(path("made-by-file", "/files")), lambda: api.get(path("made-by-file", "/files?path=x&mode=9")),
                     lambda: api.post(path("made-by-file", "/files/write"), {"path": "x", "content": "a", "content_base64": "YQ=="})):
            with pytest.raises(atoll.ApiError) as refused:
                call()
            assert refused.value.status == 400
        with pytest.raises(atoll.ApiError):
            api.get(path("made-by-file"))
        put(api, "made-by-file", "x", b"1")
        assert api.get(path("made-by-file"))["status"] == "ready"
    finally:
        api.delete(path("made-by-file"))


# Few at a time: a broker that ends again and again is not started at once again.
CALLS = [{
    "write": lambda api: put(api, "k", "file", b"again"),
    "read": lambda api: api.raw("GET", path("k", "/files/content?path=/etc/hostname")).body,
    "list": lambda api: api.get(path("k", "/files?path=/"))["items"],
    "tar": lambda api: api.raw("GET", path("k", "/files/tar?path=/home")).body,
}, {
    "session bash": lambda api: api.post("/v1/sandbox/bash", {**SESSION, "command": "true"}),
    "session execute": lambda api: api.post("/v1/sandbox/execute", {**SESSION, "code": "1", "language": "bash"}),
    "session write": lambda api: api.post("/v1/sandbox/write", {**SESSION, "path": "f", "content": "x"}),
}, {
    "session glob": lambda api: api.post("/v1/sandbox/glob", {**SESSION, "pattern": "*"}),
    "session grep": lambda api: api.post("/v1/sandbox/grep", {**SESSION, "pattern": "x"}),
    "session copy": lambda api: api.post("/v1/sandbox/sessions/t/s/copy", {"files": [{"path": "g", "content": "y"}]}),
}]


@pytest.mark.parametrize("calls", CALLS, ids=lambda calls: next(iter(calls)))
def test_a_call_whose_sandbox_dies_unseen_is_made_once_more(private_server, calls):
    api = private_server.start().api()
    acquire(api, "k")
    api.post("/v1/sandbox/write", {**SESSION, "path": "f", "content": "x"})
    for name, call in calls.items():
        lease = "session:t/s" if name.startswith("session") else "k"
        kill_agent(private_server, api.get(path(lease))["sandbox_id"])
        assert call(api) != b"", name
    # What is the caller's own fault is not tried again, nor is another's sandbox made for it.
    before = api.get(path("k"))["sandbox_id"]
    with pytest.raises(atoll.ApiError) as missing:
        api.get(path("k", "/files/stat?path=nothing"))
    assert missing.value.status == 404 and api.get(path("k"))["sandbox_id"] == before
    assert len(api.get(INSTANCES)["items"]) == 2
