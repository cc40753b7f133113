# SPDX-License-Identifier: Apache-2.0
"""Starving the host: each bomb must hurt its own sandbox only, and the sandbox must stay manageable."""

import os
import pathlib
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root

SMALL = {"cpu": 0.5, "memory_mb": 128, "disk_mb": 256, "pids": 64}


@pytest.fixture
def victim(api):
    """A neighbour that must not notice."""
    with api.sandbox(internet=False) as sandbox:
        yield sandbox


def neighbour_answers(api, sandbox, seconds=5):
    started = time.monotonic()
    assert api.exec(sandbox, "echo fine")["stdout"] == "fine\n"
    assert time.monotonic() - started < seconds


def agent_is_reachable(api, sandbox):
    """The sandbox is still listed, answers or has ended with a reason, and can be deleted."""
    state = api.get(f"/api/sandbox/instances/{sandbox}")["state"]
    assert state in ("started", "stopped", "failed")
    return state


def test_a_fork_bomb_stays_inside(api, victim):
    with api.sandbox(internet=False, resources=SMALL) as sandbox:
        before = len(os.listdir("/proc"))
        result = api.exec(sandbox, cmd="/bin/bash", args=["-c", "f() { f | f & }; f; sleep 2"], timeout_ms=4000)
        assert len(os.listdir("/proc")) - before < SMALL["pids"] + 40
        neighbour_answers(api, victim)
        assert result["timed_out"] or result["exit_code"] is not None
        agent_is_reachable(api, sandbox)


FORKS = """import os, time
made = 0
try:
    while made < 200:
        if os.fork() == 0:
            os.closerange(0, 3)
            time.sleep(60)
            os._exit(0)
        made += 1
except BlockingIOError:
    print("refused after", made)
"""


def test_no_more_processes_than_the_limit(api):
    with api.sandbox(internet=False, resources=SMALL) as sandbox:
        result = api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", FORKS], timeout_ms=20000)
        words, made = result["stdout"].rsplit(" ", 1)
        assert words == "refused after", result
        assert 0 < int(made) < SMALL["pids"]
        stats = api.get(f"/api/sandbox/instances/{sandbox}/stats")
        assert int(made) < stats["pids"] <= SMALL["pids"], (result, stats)


def test_a_memory_bomb_is_killed_inside(api, victim):
    with api.sandbox(internet=False, resources=SMALL) as sandbox:
        result = api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", "x = bytearray(1 << 30); print(len(x))"],
                          timeout_ms=20000)
        assert result["exit_code"] != 0
        assert "1073741824" not in result["stdout"]
        neighbour_answers(api, victim)
        if agent_is_reachable(api, sandbox) == "started":
            assert api.exec(sandbox, "echo alive")["stdout"] == "alive\n"


def test_tmpfs_counts_as_memory(api, victim):
    with api.sandbox(internet=False, resources=SMALL) as sandbox:
        result = api.exec(sandbox, "head -c 1G /dev/zero > /tmp/fill; head -c 1G /dev/zero > /dev/shm/fill; true",
                          timeout_ms=20000)
        used = api.get(f"/api/sandbox/instances/{sandbox}").get("state")
        neighbour_answers(api, victim)
        assert used in ("started", "stopped"), result


def test_one_file_cannot_exceed_the_disk_limit(api):
    """The file is sparse: a disk that is really full would be paused by the watch while a slow host still writes."""
    limit = SMALL["disk_mb"]
    with api.sandbox(internet=False, resources=SMALL) as sandbox:
        result = api.exec(sandbox, f"dd if=/dev/zero of=/home/user/fill bs=1M count=64 seek={limit - 1}; stat -c %s /home/user/fill",
                          timeout_ms=30000)
        size = int(result["stdout"].strip().splitlines()[-1])
        assert (limit - 1) << 20 < size <= limit << 20


def test_a_disk_bomb_fills_its_own_disk_only(tmp_path):
    """With the disk quota on, the kernel enforces the limit over any number of files."""
    server = atoll.Server(flags=["--disk-quota", "on"]).start()
    try:
        api = server.api()
        made = api.create(internet=False, resources=SMALL)
        if made["resources"]["disk_advisory"]:
            pytest.skip("the data folder's filesystem cannot enforce a disk limit here")
        result = api.exec(made["id"], "for i in $(seq 32); do head -c 64M /dev/zero > /home/user/f$i; done; "
                          "du -sm /home/user | cut -f1; head -c 64M /dev/zero > /home/user/last && echo wrote || echo full",
                          timeout_ms=60000)
        assert int(result["stdout"].split()[0]) <= SMALL["disk_mb"]
        assert "full" in result["stdout"]
        api.remove(made["id"])
    finally:
        server.remove_all()


def test_endless_output_is_bounded(api, victim):
    with api.sandbox(internet=False) as sandbox:
        result = api.exec(sandbox, "yes", timeout_ms=1500)
        assert result["timed_out"] and result["truncated"]
        assert len(result["stdout"]) <= 300 * 1024
        neighbour_answers(api, victim)


def test_many_files_do_not_hang_a_listing(api):
    with api.sandbox(internet=False) as sandbox:
        api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", "import os\nos.mkdir('/home/user/m')\n"
                 "for i in range(20000): open(f'/home/user/m/{i}', 'w').close()"], timeout_ms=60000)
        started = time.monotonic()
        answer = api.raw("GET", f"/api/sandbox/instances/{sandbox}/files?path=/home/user/m")
        assert answer.status in (200, 413, 429)
        assert time.monotonic() - started < 10


def test_a_spinning_sandbox_leaves_cpu_to_others(api, victim):
    with api.sandbox(internet=False, resources={**SMALL, "cpu": 0.2}) as sandbox:
        api.exec(sandbox, "for i in 1 2 3 4; do (while :; do :; done) & done; sleep 1", timeout_ms=5000)
        first = api.get(f"/api/sandbox/instances/{sandbox}/stats")
        time.sleep(1)
        second = api.get(f"/api/sandbox/instances/{sandbox}/stats")
        used = (second["cpu_usage_us"] - first["cpu_usage_us"]) / 1e6
        assert used < 0.45, f"used {used:.2f} CPU seconds in about one second with a limit of 0.2"
        neighbour_answers(api, victim)


def test_the_host_keeps_no_trace_of_a_bomb(server):
    Host = atoll.Host(server.data)
    for mount in Host.mounts():
        assert "overlay" not in mount or "/sandboxes/" in mount
    assert pathlib.Path("/proc/loadavg").exists()
