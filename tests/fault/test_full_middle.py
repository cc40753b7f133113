# SPDX-License-Identifier: Apache-2.0
"""The disk becomes full in the middle of what writes: each says so, leaves nothing, and works when there is room again."""

import contextlib
import gzip
import io
import os
import pathlib
import subprocess
import tarfile
import tempfile
import threading

import pytest

import atoll

pytestmark = pytest.mark.needs_root
BOXES, SNAPSHOTS, BACKUPS, TEMPLATES = (f"/api/sandbox/{n}" for n in ("instances", "snapshots", "backups", "templates"))
MIB = 1 << 20
ROOM = 290  # MiB that are left: nothing new begins with less than 256
BLOCK = 330  # MiB that are written


@pytest.fixture(scope="module")
def disk():
    """A data folder on a filesystem of its own."""
    image = tempfile.NamedTemporaryFile(prefix="atoll-disk-", suffix=".img", delete=False)
    image.truncate(1300 * MIB)
    image.close()
    folder = tempfile.mkdtemp(prefix="atoll-small-")
    try:
        subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", image.name], check=True)
        if subprocess.run(["mount", "-o", "loop", image.name, folder], capture_output=True).returncode != 0:
            pytest.skip("this machine cannot mount a loop device")
        yield pathlib.Path(folder)
    finally:
        subprocess.run(["umount", "-l", folder], capture_output=True)
        os.unlink(image.name)
        os.rmdir(folder)


@pytest.fixture(scope="module")
def server(disk):
    (disk / "data").mkdir()
    running = atoll.Server(data=disk / "data", flags=("--orphans-keep", "0", "--default-disk-mb", "4096")).start()
    yield running
    running.remove_all()


def free_mib(disk):
    found = os.statvfs(disk)
    return found.f_bavail * found.f_frsize // MIB


@contextlib.contextmanager
def nearly_full(disk, room=ROOM):
    filler = disk / "filler"
    # What is being deleted would make room later.
    atoll.wait_for(lambda: set(os.listdir(disk / "data" / "trash")) <= {"kept"}, 60, "an empty trash")
    done = threading.Event()
    with open(filler, "wb") as out:
        def fill():
            more = free_mib(disk) - room
            if more > 0:
                os.posix_fallocate(out.fileno(), os.fstat(out.fileno()).st_size, more * MIB)

        def keep_full():
            """What an earlier test deleted may be given back later, while a mount still holds it."""
            while not done.wait(0.02):
                with contextlib.suppress(OSError):
                    fill()
        fill()
        keeper = threading.Thread(target=keep_full)
        keeper.start()
        try:
            yield
        finally:
            done.set()
            keeper.join()
            filler.unlink()


def listing(server):
    return {n: sorted(os.listdir(server.data / n)) for n in ("templates", "sandboxes", "snapshots", "blobs/backups") if (server.data / n).is_dir()}


@contextlib.contextmanager
def nothing_left(server):
    before = listing(server)
    yield
    atoll.wait_for(lambda: listing(server) == before, 60, lambda: f"{before}, not {listing(server)}")


def refused(call, *arguments):
    with pytest.raises(atoll.ApiError) as error:
        call(*arguments)
    assert (error.value.status, error.value.code) == (507, "no_space"), error.value


def archive(mib):
    """A root filesystem that compresses about 30 times: the archive fits where its files do not."""
    out, zeros = io.BytesIO(), bytes(MIB - 32768)
    with gzip.open(out, "wb", 1) as packed, tarfile.open(fileobj=packed, mode="w|") as tar:
        for i in range(mib):
            member = tarfile.TarInfo(f"usr/block{i}")
            member.size = MIB
            tar.addfile(member, io.BytesIO(os.urandom(32768) + zeros))
    return out.getvalue()


def bring(api, name, content):
    return api.call("POST", f"{TEMPLATES}/import?name={name}&format=tar", content, {"Content-Type": "application/octet-stream"})


def test_an_import(disk, server, api):
    content = archive(BLOCK)
    with nearly_full(disk), nothing_left(server):
        refused(bring, api, "imported", content)
        assert "imported" not in [t["name"] for t in api.get(TEMPLATES)["items"]]
    assert bring(api, "imported", content)["state"] == "ready"
    api.delete(f"{TEMPLATES}/imported")


def test_an_upload_of_a_backup(disk, server, api):
    with nearly_full(disk), nothing_left(server):
        refused(api.call, "PUT", f"{BACKUPS}/brought", os.urandom(BLOCK * MIB), {"Content-Type": "application/octet-stream"})
        atoll.wait_for(lambda: not api.get(BACKUPS)["items"], 30, "no backup is left")


def test_a_snapshot_that_copies_and_a_backup(disk, server, api):
    with api.sandbox(internet=False) as box:
        # A file that is open keeps the sandbox on its old layer: it has to be copied.
        api.exec(box, f"head -c {BLOCK}M /dev/urandom > block; sync block")
        api.exec(box, "exec 9>>block; touch open; sleep 1000", background=True)
        atoll.wait_for(lambda: api.exec(box, "ls open")["exit_code"] == 0, 30, "the file is open")
        with nearly_full(disk), nothing_left(server):
            refused(api.post, f"{BOXES}/{box}/snapshot", {"name": "copied"})
            assert not api.get(SNAPSHOTS)["items"]
        assert api.exec(box, "wc -c < block")["stdout"].strip() == str(BLOCK * MIB)
        api.post(f"{BOXES}/{box}/stop")
        made = api.post(f"{BOXES}/{box}/snapshot", {"name": "kept"})
        try:
            with nearly_full(disk), nothing_left(server):
                backup = api.post(f"{SNAPSHOTS}/kept/export", {"name": "packed"})["id"]
                row = atoll.wait_for(lambda: (r := api.get(f"{BACKUPS}/{backup}"))["state"] != "making" and r, 120, "the end of the backup")
                assert row["state"] == "failed", row
                assert "space" in row["state_text"], row
            api.delete(f"{BACKUPS}/{backup}")
        finally:
            api.delete(f"{SNAPSHOTS}/{made['id']}")


def test_a_build(disk, server, api):
    def build(name):
        made = api.post(f"{TEMPLATES}/builds", {"name": name, "from": "host", "steps": [
            {"type": "run", "command": f"head -c {BLOCK}M /dev/urandom > /home/user/block"}]})["id"]
        return atoll.wait_for(lambda: (r := api.get(f"{TEMPLATES}/builds/{made}"))["status"] in ("ready", "error", "cancelled") and r, 120, "the end of a build")

    with nearly_full(disk), nothing_left(server):
        failed = build("built")
        assert failed["status"] == "error", failed
        assert "built" not in [t["name"] for t in api.get(TEMPLATES)["items"] if t["state"] == "ready"]
    assert build("built")["status"] == "ready"
    api.delete(f"{TEMPLATES}/built")


def test_a_create_works_when_there_is_room(disk, server, api):
    with nearly_full(disk, 200):
        refused(api.create)
    with api.sandbox(internet=False) as box:
        assert api.exec(box, "echo well")["stdout"] == "well\n"
