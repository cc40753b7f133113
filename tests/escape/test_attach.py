# SPDX-License-Identifier: Apache-2.0
"""A sandbox that runs while a volume comes into it, or leaves it, works against that: what it moves about stays its own."""

import contextlib
import os
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/volumes"
INSTANCES = "/api/sandbox/instances"

# Swaps the folder above the place with a link that leads to what holds the sandbox together.
SWAP = r"""
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def exchange(a, b):
    libc.syscall(316, -100, a.encode(), -100, b.encode(), 2)
target, until = sys.argv[1], time.time() + float(sys.argv[2])
os.makedirs("/srv/a/b", exist_ok=True)
if os.path.lexists("/srv/link"):
    os.unlink("/srv/link")
os.symlink(target, "/srv/link")
while time.time() < until:
    exchange("/srv/a", "/srv/link")
    exchange("/srv/a", "/srv/link")
"""
MOVE = r"""
import os, sys, time
until = time.time() + float(sys.argv[1])
while time.time() < until:
    for a, b in (("/srv/a", "/srv/c"), ("/srv/c", "/srv/a")):
        try:
            os.rename(a, b)
        except OSError:
            pass
"""


@pytest.fixture
def volume(api):
    api.post(PATH, {"name": "restless"})
    yield "restless"
    with contextlib.suppress(atoll.ApiError):
        api.delete(f"{PATH}/restless")


def mounts_of(api, sandbox):
    """Where mounts are, by what a command sees."""
    return sorted(line.split()[4] for line in api.exec(sandbox, "cat /proc/self/mountinfo")["stdout"].splitlines())


def put(api, sandbox, path, text):
    api.call("PUT", f"{INSTANCES}/{sandbox}/files/content?path={path}", text, {"Content-Type": "application/octet-stream"})


def take_out(api, sandbox):
    """Whatever state it is left in: out again by a stop, if need be."""
    with contextlib.suppress(atoll.ApiError):
        api.delete(f"{INSTANCES}/{sandbox}/volume?force=true")


@pytest.mark.parametrize("target", ["/proc", "/etc", "/", "/proc/self/root", "/proc/1/root/etc", "/dev", "../../../../etc"])
def test_a_link_at_the_place_or_above_is_not_followed(api, volume, target):
    with api.sandbox(internet=False) as sandbox:
        before = mounts_of(api, sandbox)
        api.exec(sandbox, f"rm -rf /workspace; ln -s {target} /workspace; ln -s {target} /srv/up", user="root")
        for path in ("/workspace", "/srv/up", "/srv/up/deep", "/workspace/x/y"):
            with pytest.raises(atoll.ApiError) as refusal:
                api.post(f"{INSTANCES}/{sandbox}/volume", {"volume": volume, "path": path})
            assert refusal.value.status == 409, refusal.value
        assert mounts_of(api, sandbox) == before
        assert not os.path.exists("/etc/deep") and not os.path.exists("/deep")


@pytest.mark.parametrize("target", ["/proc", "/etc", "/dev", "/usr"])
def test_a_place_that_is_swapped_meanwhile_leads_nowhere_else(server, api, volume, target):
    """Either it is where it was asked for, or it is refused and nowhere: no mount appears, or goes, anywhere else."""
    outside = atoll.host_mounts(server.data)
    done = 0
    with api.sandbox(internet=False) as sandbox:
        before = mounts_of(api, sandbox)
        put(api, sandbox, "/tmp/swap.py", SWAP)
        api.exec(sandbox, f"mkdir -p /srv/a/b; (exec python3 /tmp/swap.py {target} 2) >/dev/null 2>&1 &", user="root")
        until = time.monotonic() + 1.5
        while time.monotonic() < until:
            try:
                api.post(f"{INSTANCES}/{sandbox}/volume", {"volume": volume, "path": "/srv/a/b"})
                done += 1
            except atoll.ApiError as failure:
                assert failure.status == 409, failure
            with contextlib.suppress(atoll.ApiError):
                api.delete(f"{INSTANCES}/{sandbox}/volume")
        # However it ended: what held the sandbox together still does.
        atoll.wait_for(lambda: api.exec(sandbox, "pgrep -f '[s]wap.py'", user="root")["exit_code"] == 1, 30, "the end of the exchanges")
        take_out(api, sandbox)
        after = mounts_of(api, sandbox)
        assert [m for m in after if not m.startswith("/srv/")] == before
        assert api.exec(sandbox, "echo x > /proc/sys/kernel/hostname", user="root")["exit_code"] != 0
    assert atoll.host_mounts(server.data) == outside


def test_a_place_that_is_moved_while_it_leaves_is_not_mistaken(api, volume):
    with api.sandbox(internet=False) as sandbox:
        before = mounts_of(api, sandbox)
        put(api, sandbox, "/tmp/move.py", MOVE)
        for _ in range(4):
            api.exec(sandbox, "rm -rf /srv/c; mkdir -p /srv/a/b", user="root")
            api.post(f"{INSTANCES}/{sandbox}/volume", {"volume": volume, "path": "/srv/a/b"})
            api.exec(sandbox, "(exec python3 /tmp/move.py 0.5) >/dev/null 2>&1 &", user="root")
            for _ in range(50):
                try:
                    api.delete(f"{INSTANCES}/{sandbox}/volume")
                    break
                except atoll.ApiError as failure:
                    assert failure.status == 409 and "moved" in failure.message, failure
            else:
                api.exec(sandbox, "sleep 0.6; [ -d /srv/a ] || mv /srv/c /srv/a", user="root")
                api.delete(f"{INSTANCES}/{sandbox}/volume")
            assert api.get(f"{INSTANCES}/{sandbox}/volume")["items"] == []
            assert mounts_of(api, sandbox) == before
            api.exec(sandbox, "pkill -f move.py", user="root")


def test_one_that_was_moved_is_found_and_refused(api, volume):
    with api.sandbox(internet=False) as sandbox:
        api.post(f"{INSTANCES}/{sandbox}/volume", {"volume": volume, "path": "/srv/a/b"})
        api.exec(sandbox, "mv /srv/a /srv/elsewhere; mkdir -p /srv/a; ln -s /proc /srv/a/b", user="root")
        for query in ("", "?force=true"):
            with pytest.raises(atoll.ApiError) as refusal:
                api.delete(f"{INSTANCES}/{sandbox}/volume{query}")
            assert refusal.value.status == 409 and "moved" in refusal.value.message
        assert api.exec(sandbox, "ls /proc/self/status")["exit_code"] == 0
        api.exec(sandbox, "rm -r /srv/a; mv /srv/elsewhere /srv/a", user="root")
        assert api.delete(f"{INSTANCES}/{sandbox}/volume")["items"] == []


@pytest.mark.parametrize("kind", [{}, {"size_mb": 32}], ids=["folder", "image"])
@pytest.mark.parametrize("whole_path", [False, True])
def test_a_folder_that_is_named_as_another_volume_is_none(server, api, volume, whole_path, kind):
    """Who writes in a volume names its folders as the server names those of others: that keeps nobody from attaching, or detaching, these."""
    files = f"{api.get(f'{PATH}/{volume}')['id']}/files"
    alike = f"{server.data}/volumes/{files}".strip("/") if whole_path else files
    api.post(PATH, {"name": "alike", **kind})
    try:
        with api.sandbox(internet=False) as sandbox:
            path = f"{INSTANCES}/{sandbox}/volume"
            try:
                api.post(path, {"volume": "alike", "path": "/srv/alike", "subpath": alike})
            except atoll.ApiError as old:
                assert kind and old.status == 501 and "6.15" in old.message
                pytest.skip(old.message)
            api.exec(sandbox, "echo alike > /srv/alike/file")
            api.post(path, {"volume": volume, "path": "/srv/v"})
            assert api.exec(sandbox, "ls -A /srv/v; cat /srv/alike/file")["stdout"] == "alike\n"
            assert [row["path"] for row in api.delete(f"{path}?volume={volume}")["items"]] == ["/srv/alike"]
            mounts = mounts_of(api, sandbox)
            assert "/srv/alike" in mounts and "/srv/v" not in mounts
            assert api.exec(sandbox, "cat /srv/alike/file")["stdout"] == "alike\n"
            api.post(path, {"volume": volume, "path": "/srv/v"})
            assert [row["path"] for row in api.delete(f"{path}?volume=alike")["items"]] == ["/srv/v"]
            assert "/srv/v" in mounts_of(api, sandbox)
    finally:
        api.delete(f"{PATH}/alike")


def test_a_folder_that_is_given_another_volumes_name_inside_is_none(api, volume):
    files = f"{api.get(f'{PATH}/{volume}')['id']}/files"
    api.post(PATH, {"name": "alike"})
    try:
        with api.sandbox(internet=False) as sandbox:
            path = f"{INSTANCES}/{sandbox}/volume"
            api.post(path, {"volume": "alike", "path": "/srv/alike"})
            rename = f"while ! [ -e /tmp/go ]; do sleep 0.05; done; mv x {files}; touch /tmp/done"
            api.exec(sandbox, f"cd /srv/alike && mkdir -p x {files.split('/')[0]} && {{ ({rename}) >/dev/null 2>&1 & }}")
            api.delete(f"{path}?force=true")
            api.post(path, {"volume": "alike", "path": "/srv/alike", "subpath": "x"})
            api.exec(sandbox, "touch /tmp/go")
            atoll.wait_for(lambda: api.exec(sandbox, "test -e /tmp/done")["exit_code"] == 0, 15, "the folder is renamed")
            assert f"/{files} " in api.exec(sandbox, "grep ' /srv/alike ' /proc/self/mountinfo")["stdout"]
            api.post(path, {"volume": volume, "path": "/srv/v"})
            assert api.delete(f"{path}?volume={volume}")["items"][0]["path"] == "/srv/alike"
            assert api.delete(path)["items"] == []
    finally:
        api.delete(f"{PATH}/alike")


def test_who_comes_in_with_it_is_seen_by_nobody_inside(api, volume):
    """The child that does it has the ids of the sandbox's root: nothing inside may find it, or stop it."""
    with api.sandbox(internet=False) as sandbox:
        watch = "for i in $(seq 100); do ls /proc | grep -E '^[0-9]+$' | while read p; do cat /proc/$p/comm; done; done " \
                "2>/dev/null | sort -u > /tmp/seen"
        api.exec(sandbox, f"({watch}) >/dev/null 2>&1 &", user="root")
        for _ in range(20):
            api.post(f"{INSTANCES}/{sandbox}/volume", {"volume": volume, "path": "/srv/place"})
            api.delete(f"{INSTANCES}/{sandbox}/volume")
        atoll.wait_for(lambda: api.exec(sandbox, "cat /tmp/seen")["stdout"], 60, "what was seen")
        assert "broker" not in api.exec(sandbox, "cat /tmp/seen")["stdout"]


def test_it_gains_nothing_over_a_volume_that_came_later(api, volume):
    with api.sandbox(internet=False) as sandbox:
        api.post(f"{INSTANCES}/{sandbox}/volume", {"volume": volume, "path": "/srv/v", "read_only": True})
        for attempt in ("umount /srv/v", "umount -l /srv/v", "mount -o remount,rw /srv/v", "mount --move /srv/v /mnt",
                        "mount --bind /srv/v /mnt", "rmdir /srv/v", "mv /srv/v /srv/w", "touch /srv/v/x", "mknod /srv/v/z c 1 5"):
            assert api.exec(sandbox, attempt, user="root")["exit_code"] != 0, attempt
        options = api.exec(sandbox, "grep ' /srv/v ' /proc/self/mounts")["stdout"].split()[3].split(",")
        assert {"ro", "nosuid", "nodev"} <= set(options)
