# SPDX-License-Identifier: Apache-2.0
"""A sandbox sees its own size: processors, memory, time, load and cgroup, whatever happens to it or to its server."""

import json
import os
import pathlib
import re
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
HOST_CPUS = len(os.sched_getaffinity(0))


def run(api, box, command, **options):
    done = api.exec(box, command, **options)
    assert done["exit_code"] == 0, done
    return done["stdout"].strip()


def see(api, box):
    """What programs inside take for the size of their machine."""
    words = run(api, box, "nproc; grep -c ^processor /proc/cpuinfo; grep -c '^cpu[0-9]' /proc/stat;"
                          "awk '/^MemTotal/ {print $2 / 1024} /^SwapTotal/ {print $2}' /proc/meminfo;"
                          "cat /sys/devices/system/cpu/online /proc/sys/kernel/random/boot_id").split()
    assert words[4] == "0"
    count = int(words[0])
    assert words[5] == ("0" if count == 1 else f"0-{count - 1}")
    assert {int(word) for word in words[:3]} == {count}, words
    return {"cpus": count, "memory_mb": int(words[3]), "boot": words[6]}


def resize(api, box, **resources):
    api.post(f"{PATH}/{box}/resize", resources)


def test_programs_take_the_sandbox_for_the_machine(api):
    with api.sandbox(internet=False) as box:
        seen = see(api, box)
        assert (seen["cpus"], seen["memory_mb"]) == (1, 1024)
        assert seen["boot"] != pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        assert re.search(r"^Mem: +1024 ", run(api, box, "free -m"), re.M)
        assert float(run(api, box, "cut -d' ' -f1 /proc/uptime")) < 60
        assert "0.00, 0.00, 0.00" in run(api, box, "uptime")


def test_a_boot_has_its_own_number(api):
    with api.sandbox(internet=False, persistent=True) as one, api.sandbox(internet=False) as other:
        boots = [see(api, one)["boot"], see(api, other)["boot"]]
        api.post(f"{PATH}/{one}/pause")
        api.post(f"{PATH}/{one}/start")
        assert see(api, one)["boot"] == boots[0] != boots[1]
        api.post(f"{PATH}/{one}/stop")
        api.post(f"{PATH}/{one}/start")
        assert see(api, one)["boot"] not in boots


@pytest.mark.skipif(not os.path.exists("/usr/bin/python3"), reason="the host's /usr has no python3")
def test_python_sizes_itself(api):
    with api.sandbox(internet=False) as box:
        count, affinity = json.loads(run(api, box, "python3 -c 'import os; print([os.cpu_count(), len(os.sched_getaffinity(0))])'"))
        assert (count, affinity) == (1, 1)


@pytest.mark.skipif(not os.path.exists("/usr/bin/node"), reason="the host's /usr has no node")
def test_node_sizes_itself(api):
    script = "const o = require('os'); console.log(JSON.stringify([o.totalmem(), o.cpus().length, " \
             "o.availableParallelism ? o.availableParallelism() : 1, process.constrainedMemory()]))"
    with api.sandbox(internet=False) as box:
        total, cpus, parallel, constrained = json.loads(run(api, box, cmd="node", args=["-e", script], command=None))
        assert (total, cpus, parallel) == (1 << 30, 1, 1) and constrained in (1 << 30, 0)


def test_its_cgroup_is_there_to_read_alone(api):
    with api.sandbox(internet=False) as box:
        # Where the JVM, Go and Node look, and of the type by which they know it.
        limits = run(api, box, "cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/cpu/cpu.cfs_quota_us "
                               "2>/dev/null || cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/cpu.max").split()
        assert limits[:2] == [str(1 << 30), "50000"]
        assert re.search(r" - cgroup2? ", run(api, box, "grep ' /sys/fs/cgroup' /proc/self/mountinfo"))
        for name in ("memory/memory.limit_in_bytes", "memory.max", "cpu/cpu.cfs_quota_us", "cpu.max", "cgroup.procs"):
            assert api.exec(box, f"echo 100 > /sys/fs/cgroup/{name}", user="root")["exit_code"] != 0
        assert api.exec(box, "mkdir /sys/fs/cgroup/memory/mine || mkdir /sys/fs/cgroup/mine", user="root")["exit_code"] != 0


def test_they_follow_a_resize_and_so_does_what_runs(api):
    with api.sandbox(internet=False, resources={"cpu": 0.5, "memory_mb": 512}) as box:
        first = see(api, box)
        api.exec(box, "sleep 300", background=True)
        atoll.wait_for(lambda: api.exec(box, "pgrep -o sleep")["exit_code"] == 0, 30, "the command")
        before = run(api, box, "grep -h Cpus_allowed_list /proc/$(pgrep -o sleep)/status")
        assert len(before.split()[1]) == 1
        resize(api, box, cpu=HOST_CPUS, memory_mb=1536)
        seen = see(api, box)
        assert (seen["cpus"], seen["memory_mb"], seen["boot"]) == (HOST_CPUS, 1536, first["boot"])
        if HOST_CPUS > 1:
            assert run(api, box, "grep -h Cpus_allowed_list /proc/$(pgrep -o sleep)/status") != before
        resize(api, box, cpu=1, memory_mb=768)
        seen = see(api, box)
        assert (seen["cpus"], seen["memory_mb"]) == (1, 768)
        assert len(run(api, box, "grep -h Cpus_allowed_list /proc/$(pgrep -o sleep)/status").split()[1]) == 1


def test_use_shows_in_memory_time_and_load(api):
    with api.sandbox(internet=False, resources={"cpu": 1, "memory_mb": 512}) as box:
        api.exec(box, "head -c 100M /dev/zero > /dev/shm/block; while :; do :; done", background=True)

        def shows():
            total, used, load, busy = map(float, run(
                api, box, "awk '/MemTotal/ {t = $2} /MemFree/ {print t / 1024, (t - $2) / 1024}' /proc/meminfo;"
                          "cut -d' ' -f1 /proc/loadavg; awk '/^cpu / {print $2 + $4}' /proc/stat").split())
            return total == 512 and used > 100 and load > 0 and busy > 50
        atoll.wait_for(shows, 20, "use to show")


def test_they_outlive_pause_broker_and_server(private_server):
    private_server.start()
    api = private_server.api()
    with api.sandbox(internet=False) as box:
        first = see(api, box)
        begun = float(run(api, box, "cut -d' ' -f1 /proc/uptime"))
        api.post(f"{PATH}/{box}/pause")
        time.sleep(1.2)  # the time that the uptime must not lose
        api.post(f"{PATH}/{box}/resume")
        assert see(api, box) == first
        private_server.kill9("broker")
        atoll.wait_for(lambda: private_server.pid_of("broker"), 20, "another broker")

        def resized():
            try:
                resize(api, box, memory_mb=900)
                return True
            except atoll.ApiError:
                return False
        atoll.wait_for(resized, 20, "a broker that resizes")
        assert see(api, box) == {**first, "memory_mb": 900}
        run(api, box, "true")
        atoll.wait_for(lambda: float(run(api, box, "cut -d' ' -f1 /proc/uptime")) >= begun + 1.2, 10, "time to go on")


def test_a_fork_and_a_snapshot_get_their_own(api):
    with api.sandbox(internet=False) as box:
        first = see(api, box)
        fork = api.post(f"{PATH}/{box}/fork", {})
        fork = (fork.get("items") or [fork])[0]["id"]
        snapshot = api.post(f"{PATH}/{box}/snapshot", {})["id"]
        assert see(api, box) == first
        with api.sandbox(internet=False, snapshot=snapshot, resources={"memory_mb": 640}) as restored:
            for other, memory in ((fork, 1024), (restored, 640)):
                seen = see(api, other)
                assert seen["boot"] != first["boot"] and (seen["cpus"], seen["memory_mb"]) == (1, memory)
                assert "memory" in run(api, other, "ls /sys/fs/cgroup")
        api.remove(fork)
        api.delete(f"/api/sandbox/snapshots/{snapshot}")


def test_commands_of_many_sandboxes_spread_over_the_processors(api):
    if HOST_CPUS < 2:
        pytest.skip("this host has one processor")
    seen = set()
    with api.sandbox(internet=False) as box:
        for _ in range(40):
            seen.add(run(api, box, "grep Cpus_allowed_list /proc/self/status"))
            if len(seen) > 1:
                break
    assert len(seen) > 1
