# SPDX-License-Identifier: Apache-2.0
"""The program atoll-task, which works on files for the broker: what it may do, and kill -9 of it at every step."""

import concurrent.futures
import contextlib
import os
import pathlib
import signal

import pytest

import atoll
from test_kills import PATH, clean_after, named_steps, use

pytestmark = pytest.mark.needs_root
# Those of layers that are merged are in system/test_flatten.py, of images that grow in test_volumes.py.
STEPS = [step for step in named_steps("task", r'fault_point\("task", ') if not step.startswith(("flatten-", "volume-"))]
LAYER_CAPABILITIES = {"dac_override": 1, "chown": 0, "fowner": 3, "fsetid": 4, "sys_admin": 21, "mknod": 27, "setfcap": 31}


def test_the_steps_are_known():
    assert len(STEPS) >= 5


def tasks(server):
    """The processes atoll-task of this server's broker and of its children."""
    found = []
    for pid in atoll.processes_below(server.pid_of("broker")):
        with contextlib.suppress(OSError):
            if pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"atoll-task\0"):
                found.append(pid)
    return found


def stopped_task(server):
    for pid in tasks(server):
        with contextlib.suppress(OSError):
            if pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T":
                return pid
    return None


def sandbox_to_copy(api):
    """A sandbox whose snapshot copies its files: a process has one of them open."""
    made = api.create(internet=False, persistent=True)["id"]
    api.exec(made, "echo kept > kept; exec 9>open; sleep 1000", background=True)
    atoll.wait_for(lambda: api.exec(made, "test -e open")["exit_code"] == 0, 30, "an open file")
    return made


@pytest.fixture
def copying(private_server):
    """A server, a sandbox, and the task that copies its files and is stopped before it begins."""
    private_server.environment["ATOLL_FAULT"] = "task:copy-begun:stop"
    private_server.start()
    api = private_server.api(timeout=30)
    made = sandbox_to_copy(api)
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        taken = threads.submit(private_server.api(timeout=30).post, f"{PATH}/{made}/snapshot")
        task = atoll.wait_for(lambda: stopped_task(private_server), 20, "a task that copies")
        yield private_server, made, task, taken
        with contextlib.suppress(OSError):
            os.kill(task, signal.SIGKILL)
        with contextlib.suppress(atoll.ApiError):
            taken.result()
    clean_after(private_server)


def test_a_task_has_little_privilege_and_sees_only_the_data_folder(copying):
    server, _, task, _ = copying
    proc, broker = pathlib.Path(f"/proc/{task}"), pathlib.Path(f"/proc/{server.pid_of('broker')}")
    status = dict(line.split(":\t", 1) for line in (proc / "status").read_text().splitlines())
    wanted = sum(1 << bit for bit in LAYER_CAPABILITIES.values())
    for which in ("CapEff", "CapPrm", "CapBnd"):
        assert int(status[which], 16) == wanted, (which, status[which])
    assert int(status["CapInh"], 16) == int(status["CapAmb"], 16) == 0
    assert (status["Seccomp"], status["NoNewPrivs"]) == ("2", "1")
    assert os.readlink(proc / "ns/mnt") != os.readlink(broker / "ns/mnt")
    mounts = (proc / "mountinfo").read_text().splitlines()
    assert [line.split()[4] for line in mounts] == ["/"], mounts
    assert {"nosuid", "nodev", "noexec"} <= set(mounts[0].split()[5].split(","))
    assert set(os.listdir(proc / "root")) == set(os.listdir(server.data))


def test_a_task_has_no_descriptor_but_its_report_and_its_folders(copying):
    server, made, task, _ = copying
    targets = {int(fd): os.readlink(f"/proc/{task}/fd/{fd}") for fd in os.listdir(f"/proc/{task}/fd")}
    sockets = [fd for fd, target in targets.items() if target.startswith("socket:") and fd > 2]
    assert sockets == [3], targets
    assert {target for fd, target in targets.items() if fd > 3} <= {
        f"/sandboxes/{made}/upper", *(f"/snapshots/{name}/upper" for name in os.listdir(server.data / "snapshots"))}, targets


def test_a_copy_that_is_killed_fails_alone(copying):
    server, made, task, taken = copying
    api, broker = server.api(timeout=30), server.pid_of("broker")
    os.kill(task, signal.SIGKILL)
    with pytest.raises(atoll.ApiError) as failed:
        taken.result()
    assert "task ended without a report" in failed.value.message
    assert server.pid_of("broker") == broker
    assert api.exec(made, "cat kept")["stdout"] == "kept\n"
    atoll.wait_for(lambda: not os.listdir(server.data / "snapshots"), 20, "the end of half a copy")


@pytest.mark.parametrize("step", STEPS)
def test_tasks_die_at_a_step(private_server, step):
    private_server.environment["ATOLL_FAULT"] = f"task:{step}:kill"
    private_server.start()
    api, broker = private_server.api(timeout=20), private_server.pid_of("broker")
    use(api)
    made = sandbox_to_copy(api)
    with contextlib.suppress(atoll.ApiError):
        api.post(f"{PATH}/{made}/snapshot")
    assert api.exec(made, "cat kept")["stdout"] == "kept\n"
    assert private_server.pid_of("broker") == broker
    assert not tasks(private_server) or atoll.wait_for(lambda: not tasks(private_server), 20, "the end of tasks")
    clean_after(private_server)
