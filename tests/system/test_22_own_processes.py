# SPDX-License-Identifier: Apache-2.0
"""Inside, programs adjust and debug their own processes; only process 1, the agent, is out of reach."""

import shutil

import pytest

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
