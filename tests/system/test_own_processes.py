# SPDX-License-Identifier: Apache-2.0
"""Inside, programs adjust and debug their own processes; only process 1, the agent, is out of reach."""

import pathlib
import shutil
import subprocess
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root


@pytest.mark.parametrize("user", ["user", "root"])
@pytest.mark.parametrize("command", [
    "ulimit -n 100 && test $(ulimit -n) = 100",
    "test $(nice -n 5 nice) = $(($(nice) + 5))",
    "sleep 9 & renice -n 7 $! && test $(ps -o ni= $!) = 7; s=$?; kill $!; exit $s",
    "sleep 9 & prlimit --pid $! --nofile=77:77 && grep -q 'Max open files *77' /proc/$!/limits; s=$?; kill $!; exit $s",
    "prlimit --pid $$ --nofile=88:88 && test $(ulimit -n) = 88",
    "sleep 9 & taskset -p 1 $! && ionice -c 3 -p $! && chrt --batch -p 0 $!; s=$?; kill $!; exit $s",
    "renice -n 3 -u $(id -u nobody); test $? -le 1",
    "echo 500 > /proc/self/oom_score_adj && cat /proc/1/status > /dev/null",
])
def test_own_processes_are_adjusted(api, box, command, user):
    answer = api.exec(box, command, user=user)
    assert answer["ok"], answer


@pytest.mark.parametrize("program", ["strace", "gdb"])
def test_own_processes_are_debugged(api, box, program):
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
    line = {"strace": "strace -o /tmp/trace -f sh -c true && grep -q execve /tmp/trace",
            "gdb": "gdb -batch -ex run -ex 'info inferiors' /bin/true"}[program]
    answer = api.exec(box, line, user="user")
    assert answer["ok"], answer


@pytest.mark.skipif(not shutil.which("sudo"), reason="sudo is not installed")
def test_sudo_works(api):
    with api.sandbox(internet=False) as box:
        answer = api.exec(box, "sudo -n id -u", user="user")
        assert answer["stdout"].strip() == "0", answer


# All of them are there before the first one is busy: they would be in the way of those to come.
CROWD = """import os
begun, end = os.pipe()
for i in range(400):
    if os.fork() == 0:
        os.close(end)
        os.read(begun, 1)
        break
else:
    os.close(end)
while True: pass"""


def nice_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[16])


def test_the_agent_comes_first_in_its_sandbox_and_commands_do_not(api, box):
    """Its file workers have its priority, too. A command has the ordinary one, and cannot get another."""
    if subprocess.run(["nice", "-n", "-1", "true"], capture_output=True).stderr:
        pytest.skip("root of this machine may not raise priorities")
    marker = f"sleep 7{time.monotonic_ns()}"
    api.exec(box, marker, background=True)
    pid = atoll.wait_for(lambda: atoll.first_process(marker), 15, "a process of the sandbox")
    assert nice_of(pid) == -10
    inside = api.exec(box, "nice; renice -n -1 -p $$; nice; ulimit -e", user="root")["stdout"].split()
    assert inside == ["0", "0", "0"], inside


def test_calls_are_answered_beside_hundreds_of_busy_processes(api):
    """The best of some tries: other runs use this machine, too."""
    with api.sandbox(internet=False, resources={"pids": 512}) as crowded:
        api.exec(crowded, cmd="python3", args=["-Sc", CROWD], background=True)
        path = f"/api/sandbox/instances/{crowded}"
        atoll.wait_for(lambda: api.get(f"{path}/stats")["pids"] > 300, 60, "hundreds of processes")
        took = []
        for _ in range(5):
            start = time.monotonic()
            api.get(f"{path}/files?path=/etc")
            api.get(f"{path}/processes")
            took.append(time.monotonic() - start)
        assert sorted(took)[2] < 1, took
