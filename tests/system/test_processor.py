# SPDX-License-Identifier: Apache-2.0
"""A share of a processor: short commands run at full speed after a rest, long work gets its share and no more."""

import pathlib
import re
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
CPU = pathlib.Path("/sys/fs/cgroup/cpu")
needs_burst = pytest.mark.skipif(not (CPU / "atoll/cpu.cfs_burst_us").exists() and not (CPU / "cpu.cfs_burst_us").exists(),
                                 reason="this kernel has no cpu.cfs_burst_us (Linux 5.14, cgroups of version 1)")
# Uses so many milliseconds of a processor, and prints its share of one meanwhile.
BUSY = "import time; a=time.time(); b=time.process_time()\nwhile time.%s()-%s < %s: pass\nprint((time.process_time()-b)/(time.time()-a))"


class Group:
    """The cgroup of a sandbox's processors."""

    def __init__(self, api, sandbox):
        marker = f"sleep 1{time.monotonic_ns()}"
        api.exec(sandbox, marker, background=True)
        pid = atoll.wait_for(lambda: atoll.first_process(marker), 15, "a process of the sandbox")
        self.path = CPU / re.search(":cpu(,cpuacct)?:/(.*)", pathlib.Path(f"/proc/{pid}/cgroup").read_text())[2]

    def read(self, name):
        return int((self.path / name).read_text())

    def saves(self):
        """(quota, burst)"""
        return self.read("cpu.cfs_quota_us"), self.read("cpu.cfs_burst_us")

    def throttled(self):
        return int(re.search("nr_throttled ([0-9]+)", (self.path / "cpu.stat").read_text())[1])


@needs_burst
def test_a_sandbox_saves_one_quota_also_after_a_resize(api):
    with api.sandbox(internet=False) as sandbox:
        group = Group(api, sandbox)
        assert group.saves() == (50000, 50000)
        for cpu, quota in ((0.2, 20000), (1.5, 150000)):
            api.post(f"{PATH}/{sandbox}/resize", {"cpu": cpu})
            assert group.saves() == (quota, quota)


@needs_burst
def test_a_recycled_group_and_a_prepared_sandbox_save_too(api):
    for cpu in (1, 0.25, 0.5):
        for _ in range(3):
            with api.sandbox(internet=False, resources={"cpu": cpu}) as sandbox:
                assert Group(api, sandbox).saves() == (cpu * 100000, cpu * 100000)


@needs_burst
def test_a_sandbox_of_an_older_broker_saves_from_now_on(private_server):
    api = private_server.start().api()
    with api.sandbox(internet=False) as sandbox:
        group = Group(api, sandbox)
        (group.path / "cpu.cfs_burst_us").write_text("0")
        private_server.kill9("broker")
        atoll.wait_for(lambda: group.saves() == (50000, 50000), 30, "the burst of an adopted sandbox")
    api.close()


@needs_burst
def test_a_short_command_after_a_rest_is_not_throttled(api):
    with api.sandbox(internet=False) as sandbox:
        group = Group(api, sandbox)
        time.sleep(0.5)  # the rest that fills the burst
        before = group.throttled()
        for _ in range(5):
            api.exec(sandbox, cmd="python3", args=["-S", "-c", BUSY % ("process_time", "b", 0.06)])
            time.sleep(0.3)  # again
        assert group.throttled() == before


@needs_burst
def test_a_build_gets_what_is_idle_and_its_group_is_no_tenants(api):
    """Its one step looks at nothing inside: the group is seen from the host while it runs."""
    marker = f"sleep 3{time.monotonic_ns() % 10**6}.5"
    build = api.post("/api/sandbox/templates/builds", {"name": "idle-build", "from": "host", "internet": False,
                                              "steps": [{"type": "run", "command": marker}]})["id"]
    try:
        pid = atoll.wait_for(lambda: atoll.first_process(marker), 30, "the build's step")
        path = CPU / re.search(":cpu(,cpuacct)?:/(.*)", pathlib.Path(f"/proc/{pid}/cgroup").read_text())[2]
        assert (path / "cpu.idle").read_text() == "1\n" and int((path / "cpu.cfs_quota_us").read_text()) == -1
    finally:
        api.post(f"/api/sandbox/templates/builds/{build}/cancel")
        atoll.wait_for(lambda: api.get(f"/api/sandbox/templates/builds/{build}")["status"] in ("cancelled", "error"), 30, "its end")
    for _ in range(4):  # those that come next, in groups that were used before
        with api.sandbox(internet=False) as sandbox:
            group = Group(api, sandbox)
            assert group.saves() == (50000, 50000) and group.read("cpu.idle") == 0 and group.read("cpu.shares") == 1024


def test_long_work_gets_its_share_and_no_more(api):
    with api.sandbox(internet=False) as sandbox:
        for _ in range(3):  # other runs use this machine, too
            share = float(api.exec(sandbox, cmd="python3", args=["-S", "-c", BUSY % ("time", "a", 3)])["stdout"])
            assert share < 0.55
            if share > 0.45:
                return
        pytest.skip(f"no processor was free for 3 s: it got {share} of one")
