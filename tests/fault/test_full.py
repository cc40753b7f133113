# SPDX-License-Identifier: Apache-2.0
"""A full disk and too little memory: errors that say so, nothing lost, and all well again afterwards."""

import errno
import os
import pathlib
import subprocess
import tempfile

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
MIB = 1 << 20
SIZE = 700 * MIB


@pytest.fixture
def small_disk():
    """A data folder on a filesystem of 700 MiB. Its image has all its blocks: the disk below has room for each write."""
    image = tempfile.NamedTemporaryFile(prefix="atoll-disk-", suffix=".img", delete=False)
    folder = tempfile.mkdtemp(prefix="atoll-small-")
    try:
        try:
            os.posix_fallocate(image.fileno(), 0, SIZE)
        except OSError as failure:
            if failure.errno != errno.ENOSPC:
                raise
            pytest.skip(f"the disk of {image.name} has no room for an image of {SIZE // MIB} MiB")
        finally:
            image.close()
        subprocess.run(["mkfs.ext4", "-q", "-F", "-E", "nodiscard", image.name], check=True)
        if subprocess.run(["mount", "-o", "loop", image.name, folder], capture_output=True).returncode != 0:
            pytest.skip("this machine cannot mount a loop device")
        yield pathlib.Path(folder)
    finally:
        subprocess.run(["umount", "-l", folder], capture_output=True)
        os.unlink(image.name)
        os.rmdir(folder)


def free_bytes(folder):
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def fill(path):
    """To the last block, also those that only root gets. Nothing is written: the blocks are taken at once, and no write waits for the disk."""
    with open(path, "wb") as out:
        size, step = 0, 64 * MIB
        while step >= 4096:
            try:
                os.posix_fallocate(out.fileno(), size, step)
                size += step
            except OSError as failure:
                if failure.errno != errno.ENOSPC:
                    raise
                step //= 2
    assert free_bytes(path.parent) == 0, f"{free_bytes(path.parent)} bytes are free beside {size} of {path}"


def test_a_full_disk_is_said_and_survived(small_disk):
    server = atoll.Server(data=small_disk).start()
    filler = small_disk / "filler"
    try:
        api = server.api()
        kept = api.create(internet=False, persistent=True)["id"]
        api.write(kept, "/home/user/kept", b"kept")
        fill(filler)
        with pytest.raises(atoll.ApiError) as refused:
            made = api.create(internet=False)
            pytest.fail(f"made {made} with {free_bytes(small_disk)} bytes free; filler: {os.stat(filler)}")
        assert (refused.value.status, refused.value.code) == (507, "no_space") and refused.value.message
        with pytest.raises(atoll.ApiError) as refused:
            api.write(kept, "/home/user/more", b"y" * (4 << 20))
        assert (refused.value.status, refused.value.code) == (507, "no_space"), refused.value
        assert api.raw("GET", "/healthz").status == 200
        os.unlink(filler)
        assert api.read(kept, "/home/user/kept") == b"kept"
        made = api.create(internet=False)
        assert api.exec(made["id"], "echo well again")["stdout"] == "well again\n"
    finally:
        filler.unlink(missing_ok=True)
        for row in server.rows(server.api()):
            api.remove(row["id"])
        atoll.wait_for(lambda: not atoll.Host(small_disk).files(), 30, "no files left")
        server.stop()


def test_an_agent_without_memory_ends_with_its_reason(private_server):
    api = private_server.start().api()
    made = api.create(internet=False, resources={"memory_mb": 32, "pids": 64})["id"]
    script = "x=; while :; do x=\"$x$x$(head -c 1000000 /dev/zero | tr '\\0' x)\"; done"
    try:
        api.exec(made, script, timeout_ms=15000)
    except atoll.ApiError as failure:
        assert failure.status in (409, 502, 503)
    row = api.get(f"{PATH}/{made}")
    assert row["state"] in ("started", "stopped", "failed")
    if row["state"] != "started":
        assert row["reason"] in ("oom", "exit")
    else:
        assert api.exec(made, "echo lives")["stdout"] == "lives\n"
    api.remove(made)
    atoll.Host(private_server.data).wait_clean()
