# SPDX-License-Identifier: Apache-2.0
"""Disk limits by quotas of the data folder's filesystem, and what is said where there are none."""

import contextlib
import json
import os
import pathlib
import subprocess
import tempfile

import pytest

import atoll
from small_root import as_tar, busybox

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
MIB = 1 << 20


def test_what_does_not_work_refuses_the_start_with_the_cure():
    """A tmpfs has no quotas of projects on any kernel."""
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="atoll-test-") as folder:
        server = atoll.Server(data=folder, flags=("--disk-quota", "project"))
        server.start(wait=False)
        assert server.process.wait(60) != 0
        said = server.log_text()
        assert "no project quotas" in said and "prjquota" in said and "disk_quota" in said, said


def doctor(folder, quota):
    result = subprocess.run([atoll.ATOLL, "doctor", "--json", "--data", folder], capture_output=True, text=True, timeout=120,
                            env={**os.environ, "ATOLL_DISK_QUOTA": quota})
    return next(c for c in json.loads(result.stdout)["checks"] if c["name"] == "disk limits")


def test_doctor_says_what_holds_for_bytes_and_for_files():
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="atoll-test-") as folder:
        watched, images, wanted = (doctor(folder, quota) for quota in ("auto", "image", "project"))
        assert watched["verdict"] == "ok" and "disk_watch pauses" in watched["found"] and "131072 files" in watched["found"], watched
        assert "host's disk" in watched["found"]
        assert images["verdict"] == "ok" and "image" in images["found"] and "bytes, and files" in images["found"], images
        assert wanted["verdict"] == "less" and "the server refuses to start" in wanted["found"], wanted


@pytest.fixture(scope="module")
def disk():
    """An ext4 with quotas of projects, where the kernel mounts one."""
    image = tempfile.NamedTemporaryFile(prefix="atoll-disk-", suffix=".img", delete=False)
    image.truncate(2048 * MIB)
    image.close()
    folder = tempfile.mkdtemp(prefix="atoll-small-")
    try:
        subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", "-O", "quota,project", "-E", "quotatype=prjquota", image.name], check=True)
        if subprocess.run(["mount", "-o", "loop,prjquota", image.name, folder], capture_output=True).returncode != 0:
            pytest.skip("this kernel mounts no ext4 with quotas (CONFIG_QFMT_V2)")
        yield pathlib.Path(folder)
    finally:
        subprocess.run(["umount", "-l", folder], capture_output=True)
        os.unlink(image.name)
        os.rmdir(folder)


@pytest.fixture(scope="module")
def server(disk, tmp_path_factory):
    """With a template of its own on that disk: the machine's root may be on a filesystem of another kind."""
    folder = tmp_path_factory.mktemp("small")
    root = busybox(folder)
    for name in ("awk", "dd", "df", "head", "sleep", "tail", "touch", "wc"):
        os.symlink("busybox", root / "bin" / name)
    escape = pathlib.Path(__file__).parent.parent / "escape"
    subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-static", "-w", "-o", root / "bin" / "attempts", *sorted(map(str, escape.glob("attempts*.c")))],
                   check=True)
    archive = as_tar(root, folder / "root.tar").read_bytes()
    (disk / "data").mkdir()
    running = atoll.Server(data=disk / "data", flags=("--disk-inodes", "2000", "--default-template", "small", "--ready-probe-every", "0s")).start(wait=False)
    try:
        def bring():
            with contextlib.suppress(OSError, atoll.ApiError), contextlib.closing(running.api()) as own:
                return own.call("POST", "/api/sandbox/templates/import?name=small&format=tar", archive, {"Content-Type": "application/octet-stream"})

        atoll.wait_for(bring, 60, "the template")
        running.wait_ready(60)
        yield running
    finally:
        running.remove_all()


def written(api, box, mib):
    """MiB that a command can write."""
    api.exec(box, f"dd if=/dev/zero of=block bs=1M count={mib}")
    return int(api.exec(box, "wc -c < block")["stdout"]) // MIB


def test_bytes_and_files_end_at_the_limit_and_df_shows_it(server, api):
    with api.sandbox(template="small", internet=False, resources={"disk_mb": 64}) as box:
        row = api.get(f"{PATH}/{box}")
        assert row["resources"]["disk_advisory"] is False
        assert 50 <= written(api, box, 200) <= 64
        assert api.exec(box, "echo more > more")["exit_code"] != 0 or api.exec(box, "wc -c < more")["stdout"] != "5\n"
        size = int(api.exec(box, "df -k / | tail -1 | awk '{print $2}'")["stdout"])
        assert 60 * 1024 <= size <= 64 * 1024, size
        api.exec(box, "rm block")
        made = api.exec(box, "i=0; while [ $i -lt 3000 ] && (: > f$i) 2>/dev/null; do i=$((i+1)); done; echo $i")
        assert 1000 < int(made["stdout"]) < 2000
        assert api.get(f"{PATH}/{box}")["state"] == "started"


def test_root_inside_cannot_leave_its_project(server, api):
    with api.sandbox(template="small", internet=False, resources={"disk_mb": 32}) as box:
        tried = api.exec(box, "attempts leave_the_disk_quota", user="root")
        assert tried["exit_code"] == 0, tried
        assert written(api, box, 100) <= 32


def test_limits_hold_after_a_snapshot_a_fork_a_restart_and_a_kill(server, api):
    with contextlib.ExitStack() as stack:
        box = stack.enter_context(api.sandbox(template="small", internet=False, persistent=True, resources={"disk_mb": 48}))
        api.exec(box, "dd if=/dev/zero of=first bs=1M count=20")
        snapshot = api.post(f"{PATH}/{box}/snapshot", {"name": "kept"})["id"]
        stack.callback(api.delete, f"/api/sandbox/snapshots/{snapshot}")
        assert 30 <= written(api, box, 200) <= 48
        fork = api.post(f"{PATH}/{box}/fork", {})
        fork_id = fork["items"][0]["id"] if "items" in fork else fork["id"]
        stack.callback(api.remove, fork_id)
        api.exec(fork_id, "rm -f block")
        assert 30 <= written(api, fork_id, 200) <= 48
        api.post(f"{PATH}/{box}/stop")
        api.post(f"{PATH}/{box}/start")
        assert api.exec(box, "wc -c < first")["stdout"].strip() == str(20 * MIB)
        assert written(api, box, 200) <= 48
        server.kill9("broker")
        atoll.wait_for(lambda: api.raw("GET", "/readyz").status == 200, 30, "another broker")
        assert written(api, box, 200) <= 48


def test_the_disk_has_its_room_back(server, api, disk):
    before = os.statvfs(disk).f_bfree
    with api.sandbox(template="small", internet=False, resources={"disk_mb": 256}) as box:
        assert written(api, box, 128) == 128
    atoll.wait_for(lambda: os.statvfs(disk).f_bfree * 4096 > before * 4096 - 16 * MIB, 30, "room")
