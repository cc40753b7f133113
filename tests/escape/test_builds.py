# SPDX-License-Identifier: Apache-2.0
"""What a build could be talked into: files that leave their folder, other projects' layers and files."""

import hashlib
import io
import os
import tarfile
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
BUILDS = "/api/sandbox/templates/builds"


def tar_of(*entries):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, link, text in entries:
            entry = tarfile.TarInfo(name)
            if link:
                entry.type, entry.linkname = tarfile.SYMTYPE, link
            entry.size = 0 if link else len(text)
            tar.addfile(entry, None if link else io.BytesIO(text))
    return out.getvalue()


def build(api, name, *steps):
    made = api.post(BUILDS, {"name": name, "from": "host", "internet": False, "steps": list(steps)})["id"]
    atoll.wait_for(lambda: api.get(f"{BUILDS}/{made}")["status"] not in ("waiting", "building"), 20, "the build's end")
    return api.get(f"{BUILDS}/{made}")


def put(api, body):
    digest = hashlib.sha256(body).hexdigest()
    api.call("PUT", f"{BUILDS}/files/{digest}", body, {"Content-Type": "application/x-tar"})
    return digest


@pytest.mark.parametrize("entries", [
    [("../escaped", None, b"x")],
    [("/etc/escaped", None, b"x")],
    [("hole", "/etc", b""), ("hole/escaped", None, b"x")],
    [("hole", "../../../../../../etc", b""), ("hole/escaped", None, b"x")],
])
def test_files_do_not_leave_the_folder_that_they_go_to(api, entries):
    done = build(api, "escape", {"type": "copy", "files": put(api, tar_of(*entries)), "path": "/srv/in"})
    assert done["status"] == "error" and done["template"] is None, done
    assert not os.path.exists("/etc/escaped") and not os.path.exists("/srv/escaped")


def test_what_is_no_archive_is_refused_by_the_agent_alone(api):
    for body in (b"", os.urandom(4096), b"\x1f\x8b" + bytes(1000)):
        done = build(api, "noise", {"type": "copy", "files": put(api, body), "path": "/srv/in"})
        if body:
            assert done["status"] == "error", done
        else:
            api.delete("/api/sandbox/templates/noise")
    assert api.raw("GET", "/readyz").status == 200


def test_a_path_of_links_leads_nowhere_but_into_the_sandbox(api):
    """The step before has made the target a link to the host's own folders: it is the sandbox's root that is meant."""
    for link in ("/proc/1/root/etc", "/proc/self/cwd/../../../../etc", "/../../../etc"):
        done = build(api, "link", {"type": "run", "command": f"ln -s {link} /srv-in"},
                     {"type": "copy", "files": put(api, tar_of(("escaped", None, b"x"))), "path": "/srv-in"})
        assert not os.path.exists("/etc/escaped"), done
        if done["status"] == "ready":
            api.delete("/api/sandbox/templates/link")


def from_stage(name, hostile, paths, target, *before):
    return {"name": name, "from": "host", "internet": False,
            "stages": [{"name": "hostile", "from": "host", "steps": [{"type": "run", "command": hostile}]}],
            "steps": [*before, {"type": "copy", "from": "hostile", "paths": paths, "path": target}]}


@pytest.mark.parametrize("hostile, path", [
    ("ln -s /proc/1/root/root/.bashrc-of-host /file", "/file"),
    ("ln -s ../../../../../../../../proc/self/root /file", "/file/etc/canary-of-host"),
    ("mkdir /d && ln -s /etc /d/link", "/d/link/canary-of-host"),
    ("mkfifo /file", "/file"),
    ("mkdir /d && mkfifo /d/fifo && ln -s /etc/canary-of-host /d/link && ln -s . /d/loop", "/d"),
])
def test_a_stage_gives_no_file_but_its_own(api, hostile, path):
    with open("/etc/canary-of-host", "w", encoding="ascii") as canary:
        canary.write("of the host")
    try:
        made = api.post(BUILDS, from_stage("canary", hostile, [path], "/opt/got"))["id"]
        atoll.wait_for(lambda: api.get(f"{BUILDS}/{made}")["status"] in ("ready", "error"), 20, "the build's end")
        if api.get(f"{BUILDS}/{made}")["status"] == "ready":
            with api.sandbox(template="canary", internet=False) as box:
                found = api.exec(box, "timeout 5 find /opt/got -type f -exec cat {} +")
                assert "of the host" not in found["stdout"], found
            api.delete("/api/sandbox/templates/canary")
    finally:
        os.unlink("/etc/canary-of-host")


@pytest.mark.parametrize("link", ["/proc/1/root/etc", "/proc/sys/kernel", "/../../../../etc", "/sys/fs/cgroup"])
def test_files_of_a_stage_go_nowhere_but_into_the_sandbox(api, link):
    name = "domainname-of-host"
    for target in ("/srv-in/", "/srv-in"):
        spec = from_stage("target", f"mkdir /d; echo x > /d/{name}", ["/d"] if target == "/srv-in" else [f"/d/{name}"],
                          target, {"type": "run", "command": f"ln -s {link} /srv-in"})
        made = api.post(BUILDS, spec)["id"]
        atoll.wait_for(lambda: api.get(f"{BUILDS}/{made}")["status"] in ("ready", "error"), 20, "the build's end")
        assert not os.path.exists(f"/etc/{name}") and not os.path.exists(f"/sys/fs/cgroup/{name}")
        api.raw("DELETE", "/api/sandbox/templates/target")


def test_mounts_of_a_step_lead_only_into_the_sandbox(api):
    """Binds, secrets and caches at a path that is a link by then."""
    for mount in ({"type": "secret", "id": "s", "path": "/srv-in/secret-of-build"},
                  {"type": "cache", "id": "c", "path": "/srv-in/cache"},
                  {"type": "tmpfs", "path": "/srv-in/secret-of-build"}):
        made = api.post(BUILDS, {"name": "mounts", "from": "host", "internet": False, "secrets": {"s": "hidden text"},
                                 "steps": [{"type": "run", "command": "ln -s /proc/1/root/etc /srv-in"},
                                           {"type": "run", "command": "true", "mounts": [mount]}]})["id"]
        atoll.wait_for(lambda: api.get(f"{BUILDS}/{made}")["status"] in ("ready", "error"), 20, "the build's end")
        assert not os.path.exists("/etc/secret-of-build") and not os.path.exists("/etc/cache")
        api.raw("DELETE", "/api/sandbox/templates/mounts")


def test_projects_share_neither_files_nor_layers_nor_logs(api, server):
    project = api.post("/v1/projects", {"name": f"neighbour-{time.time_ns()}"})["id"]
    key = api.call("POST", "/api/sandbox/keys", {"name": "stranger"}, {"X-Atoll-Project": project})["key"]
    stranger = server.api().clone(key)
    digest = put(api, tar_of(("mine", None, b"secret")))
    step = {"type": "copy", "files": digest, "path": "/srv/in"}
    own = build(api, "own", step)
    assert own["status"] == "ready"
    assert stranger.get(f"{BUILDS}/files/{digest}")["present"] is False
    theirs = build(stranger, "own", step)
    assert theirs["status"] == "error" and theirs["cached_count"] == 0, theirs
    for path in (f"{BUILDS}/{own['id']}", f"{BUILDS}/{own['id']}/logs"):
        with pytest.raises(atoll.ApiError) as hidden:
            stranger.get(path)
        assert hidden.value.status == 404
    with pytest.raises(atoll.ApiError) as hidden:
        stranger.post(f"{BUILDS}/{own['id']}/cancel")
    assert hidden.value.status == 404
    # A layer is no snapshot that anybody can ask for.
    for layer in os.listdir(server.data / "snapshots"):
        for method in ("GET", "DELETE"):
            answer = api.raw(method, f"/api/sandbox/snapshots/{layer}")
            assert answer.status == 404, answer.body
        with pytest.raises(atoll.ApiError):
            stranger.create(template="host", snapshot=layer)
    api.delete("/api/sandbox/templates/own")
    # A project goes with its layers, and with templates that were built on each other.
    run = {"type": "run", "command": "echo x > /opt-x"}
    assert build(stranger, "a", run)["status"] == "ready"
    made = stranger.post(BUILDS, {"name": "b", "from": "a", "internet": False, "steps": [run]})["id"]
    atoll.wait_for(lambda: stranger.get(f"{BUILDS}/{made}")["status"] == "ready", 20, "the second build")
    before = len(os.listdir(server.data / "snapshots"))
    api.delete(f"/v1/projects/{project}?force=true")
    atoll.wait_for(lambda: len(os.listdir(server.data / "snapshots")) <= before - 2, 30, "its layers' end")
