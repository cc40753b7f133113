# SPDX-License-Identifier: Apache-2.0
"""Paths that change while they are used: the workspace contract must hold against symlinks and renames."""

import pytest

import atoll

pytestmark = pytest.mark.needs_root

SWAPPER = """
import os, sys
os.chdir('/home/user/project')
while True:
    for target in ('real', '/etc', '/'):
        try: os.unlink('link.new')
        except FileNotFoundError: pass
        os.symlink(target, 'link.new')
        os.rename('link.new', 'link')
"""


@pytest.fixture
def session(api):
    made = {"tenant_id": "races", "session_id": "one"}
    api.post("/v1/sandbox/bash", {**made, "command": "mkdir -p real && ln -sfn real link && echo inside > real/file"})
    yield made
    api.delete("/v1/sandbox/sessions/races/one")


def refused_or_inside(api, path, body, allowed):
    try:
        answer = api.post(path, body)
    except atoll.ApiError as failure:
        assert failure.status in (400, 403, 404), failure
        return
    assert allowed(answer), answer


@pytest.mark.parametrize("path", ["/etc/passwd", "../../etc/passwd", "a/../../b", "nul\0byte", "..", "a/..", "~/x/../..",
                                  "/proc/self/environ"])
def test_bad_paths_are_refused(api, session, path):
    for operation, rest in (("read", {}), ("read_binary", {}), ("write", {"content": "x"}), ("glob", {"pattern": "*"}),
                            ("grep", {"pattern": "x"})):
        with pytest.raises(atoll.ApiError) as failure:
            api.post(f"/v1/sandbox/{operation}", {**session, **rest, "path": path})
        assert failure.value.status == 400, operation


def test_symlinks_out_of_the_workspace_are_refused(api, session):
    api.post("/v1/sandbox/bash", {**session, "command": "ln -s /etc out; ln -s /etc/passwd passwd; ln -s ../../.. up"})
    for path in ("out/passwd", "passwd", "up/etc/passwd"):
        with pytest.raises(atoll.ApiError) as failure:
            api.post("/v1/sandbox/read", {**session, "path": path})
        assert failure.value.status in (400, 403)
    for path in ("out/new", "up/tmp/new"):
        with pytest.raises(atoll.ApiError) as failure:
            api.post("/v1/sandbox/write", {**session, "path": path, "content": "x"})
        assert failure.value.status in (400, 403)


def test_swapped_symlinks_never_lead_out(api, session):
    sandbox = next(s["sandbox_id"] for s in api.get("/v1/sandbox/sessions")["items"]
                   if s["tenant_id"] == "races" and s["session_id"] == "one")
    api.post(f"/api/sandbox/instances/{sandbox}/exec",
             {"cmd": "/usr/bin/python3", "args": ["-c", SWAPPER], "background": True})
    for _ in range(150):
        refused_or_inside(api, "/v1/sandbox/read", {**session, "path": "link/passwd"}, lambda a: False)
        refused_or_inside(api, "/v1/sandbox/read", {**session, "path": "link/file"},
                          lambda a: "inside" in a["content"])
        refused_or_inside(api, "/v1/sandbox/write", {**session, "path": "link/written", "content": "x"},
                          lambda a: True)
    check = api.exec(sandbox, "ls /etc/written /written 2>/dev/null; true", user="root")
    assert check["stdout"] == ""


def test_a_hostile_tar_stays_in_its_folder(api, session, tmp_path):
    import io
    import tarfile
    sandbox = next(s["sandbox_id"] for s in api.get("/v1/sandbox/sessions")["items"]
                   if s["tenant_id"] == "races" and s["session_id"] == "one")
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        link = tarfile.TarInfo("exit")
        link.type, link.linkname = tarfile.SYMTYPE, "/tmp"
        tar.addfile(link)
        for name in ("exit/through-link", "../climbed", "/tmp/absolute", "a/../../climbed2"):
            entry = tarfile.TarInfo(name)
            entry.size = 1
            tar.addfile(entry, io.BytesIO(b"x"))
    api.raw("POST", f"/api/sandbox/instances/{sandbox}/files/tar?path=/home/user/project/in", raw.getvalue(),
            {"Content-Type": "application/x-tar"})
    found = api.exec(sandbox, "ls /tmp/through-link /home/user/project/climbed /tmp/absolute "
                     "/home/user/project/climbed2 /home/user/climbed 2>/dev/null; true", user="root")
    assert found["stdout"] == ""
