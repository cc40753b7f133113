# SPDX-License-Identifier: Apache-2.0
"""A volume that is made with a size holds so much and no more, whoever writes to it; and grows when asked."""

import contextlib
import pathlib

import pytest

import atoll
from test_volumes import INSTANCES, PATH, put, refused, take, volume

pytestmark = pytest.mark.needs_root
MIB = 1 << 20


def loops_of(server):
    """Loop devices whose file is this server's."""
    found = []
    for file in pathlib.Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):
            if str(server.data) in file.read_text():
                found.append(file.parent.parent.name)
    return found


def fill(api, sandbox, path="/workspace/filler", mib=1000):
    """What dd says, and how much there is of it."""
    done = api.exec(sandbox, f"dd if=/dev/zero of={path} bs=64k count={mib * 16} 2>&1; stat -c %s {path}")
    *said, size = done["stdout"].splitlines()
    return "\n".join(said), int(size)


def test_a_full_volume_says_so_and_nothing_else_suffers(api, server):
    with volume(api, "tight", size_mb=32) as made:
        assert made["size_mb"] == 32 and made["size_advisory"] is False
        with api.sandbox(internet=False, volume="tight") as sandbox:
            said, size = fill(api, sandbox)
            assert "No space left on device" in said and 20 * MIB < size < 32 * MIB
            assert "No space" in api.exec(sandbox, "head -c 1M /dev/zero > /workspace/more", user="root")["stderr"]
            assert api.exec(sandbox, "echo fine > ~/project/elsewhere")["exit_code"] == 0
            assert size <= api.get(f"{PATH}/tight")["used_bytes"] <= 32 * MIB
            assert api.exec(sandbox, "rm /workspace/filler && head -c 10M /dev/zero > /workspace/less")["exit_code"] == 0
            assert api.exec(sandbox, "ls -A /workspace; stat -c '%u %a' /workspace")["stdout"] == "less\nmore\n1000 755\n"
            fill(api, sandbox)
        assert "No space" in refused(507, put, api, "tight", "uploaded", b"x" * 100000).message
    atoll.wait_for(lambda: not loops_of(server), 30, "no loop device is left")


def test_without_a_size_it_is_a_folder(api, server):
    with volume(api, "loose") as made:
        assert made["size_advisory"] is True
        assert (server.data / "volumes" / made["id"] / "files").is_dir()
        message = refused(501, api.call, "PATCH", f"{PATH}/loose", {"size_mb": 20480}).message
        assert "loose" in message and "no limit" in message


@pytest.mark.parametrize("size_mb", [1, 3, 8, 17])
def test_small_ones_work(api, size_mb):
    with volume(api, "small", size_mb=size_mb), api.sandbox(internet=False, volume="small") as sandbox:
        said, size = fill(api, sandbox)
        assert "No space left on device" in said and size_mb * MIB * 0.25 < size < size_mb * MIB


def test_files_keep_their_owners_and_outlive_sandboxes(api):
    with volume(api, "owned", size_mb=64):
        with api.sandbox(internet=False, volume="owned") as first:
            api.exec(first, "echo mine > /workspace/mine")
            api.exec(first, "echo roots > /workspace/roots; chmod 600 /workspace/roots; cp /bin/sh /workspace/sh; "
                            "chmod 4755 /workspace/sh", user="root")
        # At once: the last mount may be on its way out.
        with api.sandbox(internet=False, volume="owned") as second:
            assert api.exec(second, "cat /workspace/mine; stat -c '%u %a' /workspace/roots")["stdout"] == "mine\n0 600\n"
            assert api.exec(second, "cat /workspace/roots")["exit_code"] != 0
            assert api.exec(second, "/workspace/sh -p -c 'id -u'")["stdout"] == "1000\n"
        assert take(api, "owned", "mine") == b"mine\n"


def test_many_read_one_image(api, server):
    with volume(api, "library", size_mb=32) as made, contextlib.ExitStack() as stack:
        put(api, "library", "book", b"words")
        mounts = [{"volume": made["id"], "path": "/data", "read_only": True}]
        readers = [stack.enter_context(api.sandbox(internet=False, volumes=mounts)) for _ in range(4)]
        for reader in readers:
            assert api.exec(reader, "cat /data/book")["stdout"] == "words"
            assert "Read-only" in api.exec(reader, "echo x > /data/book", user="root")["stderr"]
        assert len(loops_of(server)) == 1
        assert take(api, "library", "book") == b"words"


def test_it_grows_when_no_sandbox_uses_it(api, server):
    def grow(size):
        return api.call("PATCH", f"{PATH}/growing", {"size_mb": size})
    with volume(api, "growing", size_mb=16):
        with api.sandbox(internet=False, volume="growing", name="grower", persistent=True) as sandbox:
            _, before = fill(api, sandbox)
            held = refused(409, grow, 64)
            assert "grower" in held.message and "stop it" in held.hint
            api.post(f"{INSTANCES}/{sandbox}/stop")
            assert grow(64)["size_mb"] == 64
            last = api.get("/v1/events?last=1&kind=volume.*")["items"][0]
            assert (last["kind"], last["text"], last["sandbox"]) == ("volume.grown", "growing", None)
            api.post(f"{INSTANCES}/{sandbox}/start")
            assert api.exec(sandbox, "stat -c %s /workspace/filler")["stdout"] == f"{before}\n"
            said, after = fill(api, sandbox)
            assert "No space" in said and 45 * MIB < after < 64 * MIB and before < 16 * MIB
        assert take(api, "growing", "filler") == bytes(after)
        assert grow(64)["size_mb"] == 64, "those who look at its files are no sandbox"
        assert grow(300)["size_mb"] == 300
        assert api.get(f"{PATH}/growing")["size_mb"] == 300
        with api.sandbox(internet=False, volume="growing") as sandbox:
            assert api.exec(sandbox, "stat -c %s /workspace/filler")["stdout"] == f"{after}\n"
            assert 240 * MIB < fill(api, sandbox)[1] < 300 * MIB
        assert "shrink" in refused(400, grow, 299).message
        for body in ({}, {"size_mb": 0}, {"size_mb": 1 << 40}, {"size_mb": 400, "name": "other"}):
            refused(400, api.call, "PATCH", f"{PATH}/growing", body)
    refused(404, api.call, "PATCH", f"{PATH}/growing", {"size_mb": 400})
    assert "GiB" in refused(413, api.post, PATH, {"name": "endless", "size_mb": 1 << 28}).message
    refused(404, api.get, f"{PATH}/endless")
    atoll.wait_for(lambda: not loops_of(server), 30, "no loop device is left")


def test_room_that_is_freed_goes_back_to_the_host(api, server):
    with volume(api, "breathing", size_mb=256) as made, api.sandbox(internet=False, volume="breathing") as sandbox:
        image = server.data / "volumes" / made["id"] / "files.img"
        api.exec(sandbox, "head -c 100M /dev/urandom > /workspace/large; sync")
        assert image.stat().st_blocks * 512 > 100 * MIB
        api.exec(sandbox, "rm /workspace/large; sync")
        atoll.wait_for(lambda: image.stat().st_blocks * 512 < 20 * MIB, 15, "the host has its room back")


def test_a_persistent_home_has_its_size(api):
    try:
        with api.sandbox(internet=False, persistentHome="zoe", persistentDiskGb=1) as sandbox:
            assert api.exec(sandbox, "pwd")["stdout"] == "/home/user/project\n"
            size = int(api.exec(sandbox, "df --output=size -B1M ~ | tail -1")["stdout"])
            assert 900 < size <= 1024
        assert api.get(f"{PATH}/home-zoe")["size_advisory"] is False
        with api.sandbox(internet=False, persistentHome="zoe") as sandbox:
            assert api.exec(sandbox, "ls -A ~")["stdout"] == "project\n"
    finally:
        api.delete(f"{PATH}/home-zoe")


def test_the_home_of_a_lease_outlives_its_sandboxes_and_has_its_size(api):
    lease = {"key": "homely", "template": "host", "internet": False, "persistentHome": "homely", "persistentDiskGb": 1}
    run = lambda command: api.post("/v1/leases/homely/exec", {"command": command})["stdout"]  # noqa: E731
    try:
        first = api.post("/v1/leases/acquire", lease)["sandbox_id"]
        assert 900 < int(run("echo kept > ~/note; df --output=size -B1M ~ | tail -1")) <= 1024
        again = api.post("/v1/leases/acquire", {**lease, "continue": False})
        assert again["sandbox_id"] != first and run("cat ~/note") == "kept\n"
        api.delete("/v1/leases/homely")
        api.post("/v1/leases/acquire", lease)
        assert run("cat ~/note") == "kept\n"
        refused(400, api.post, "/v1/leases/acquire", {"key": "x", "persistentDiskGb": 1})
    finally:
        api.delete("/v1/leases/homely")
        api.delete(f"{PATH}/home-homely")


def test_it_survives_a_broker_that_is_killed_while_sandboxes_use_it(private_server):
    private_server.start()
    api = private_server.api()
    api.post(PATH, {"name": "held", "size_mb": 32})
    with api.sandbox(internet=False, volume="held") as sandbox:
        api.exec(sandbox, "echo 1 > /workspace/file")
        old = private_server.pid_of("broker")
        private_server.kill9("broker")
        atoll.wait_for(lambda: private_server.pid_of("broker") not in (None, old), 30, "another broker")
        assert api.exec(sandbox, "cat /workspace/file; echo 2 >> /workspace/file")["stdout"] == "1\n"
        assert len(loops_of(private_server)) == 1
    with api.sandbox(internet=False, volume="held") as sandbox:
        assert api.exec(sandbox, "cat /workspace/file")["stdout"] == "1\n2\n"
    assert api.call("PATCH", f"{PATH}/held", {"size_mb": 64})["size_mb"] == 64
    api.delete(f"{PATH}/held")
    atoll.wait_for(lambda: not loops_of(private_server), 30, "no loop device is left")
    atoll.Host(private_server.data).wait_clean()


def test_the_command_line_grows_one(api, server):
    with volume(api, "cli-grown", size_mb=16):
        assert server.cli("volume", "grow", "--size", "1g", "cli-grown").returncode == 0
        assert api.get(f"{PATH}/cli-grown")["size_mb"] == 1024
        assert b"shrink" in server.cli("volume", "grow", "--size", "16m", "cli-grown").stderr
        assert server.cli("volume", "grow", "--size", "much", "cli-grown").returncode != 0
