# SPDX-License-Identifier: Apache-2.0
"""kill -9 at every step of moving a virtual machine's memory: the processes inside go on, and nothing is left."""

import contextlib
import http.client
import os
import signal

import pytest

import atoll
import microvm_parts
from test_kills import named_steps

PATH = "/api/sandbox/instances"
pytestmark = [pytest.mark.providers, pytest.mark.needs_root, pytest.mark.skipif(microvm_parts.reason() is not None, reason=str(microvm_parts.reason()))]
STEPS = named_steps("provider/microvm", r'fault_point\("api", ')
FAILURES = (atoll.ApiError, OSError, http.client.HTTPException, AssertionError)


@pytest.mark.smoke
def test_the_steps_are_known():
    assert set(STEPS) == {"memory-noted", "memory-saved", "memory-kept", "memory-loaded", "memory-used", "memory-continued", "memory-taken"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = atoll.Server(flags=["--providers", "native,vm=microvm", "--microvm-kernel", microvm_parts.KERNEL, "--microvm-accelerator", "tcg"]).start()
    try:
        microvm_parts.template(server, tmp_path_factory.mktemp("small"))
        with contextlib.closing(server.api()) as api:
            box = api.create(template="small", internet=False, provider="vm", persistent=True, resources={"memory_mb": 160, "disk_mb": 64})["id"]
        yield server, box
    finally:
        server.environment.pop("ATOLL_FAULT", None)
        server.remove_all()


def said(api, box, command):
    result = api.exec(box, command, user="root")
    assert result["exit_code"] == 0, result
    return result["stdout"].strip()


def end_machines(server, box):
    """The host loses its processes, too."""
    with contextlib.closing(server.api()) as api:
        name = api.get(f"{PATH}/{box}")["name"]
    server.stop()
    for pid in microvm_parts.machines([name]):
        os.kill(pid, signal.SIGKILL)
        atoll.wait_for(lambda: not os.path.exists(f"/proc/{pid}"), 20, "the end of the machine")


def restart(server, fault=None):
    server.environment.pop("ATOLL_FAULT", None)
    if server.process:
        server.stop()
    if fault:
        server.environment["ATOLL_FAULT"] = f"api:{fault}:kill"
    server.start()


def meet_fault(server, box):
    """Each call that moves memory, until one meets the fault. A client may repeat a call that broke, so the process is looked at."""
    first = server.pid_of("api")
    for path, body in (("pause", {"disk": True}), ("resume", None), ("snapshot", {"memory": True})):
        with contextlib.suppress(*FAILURES), contextlib.closing(server.api(timeout=60)) as api:
            api.post(f"{PATH}/{box}/{path}", body)
        if server.pid_of("api") != first:
            return
    raise AssertionError("no call met the fault")


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_loses_no_process_and_leaves_nothing(server, step):
    server, box = server
    restart(server)
    with contextlib.closing(server.api()) as api:
        api.post(f"{PATH}/{box}/start")
        said(api, box, f"echo {step} > /run/note; (while true; do sleep 1; done) >/dev/null 2>&1 & echo $! > /run/pid")
    restart(server, step)
    meet_fault(server, box)
    restart(server)
    with contextlib.closing(server.api()) as api:
        assert said(api, box, "cat /run/note; kill -0 $(cat /run/pid) && echo runs") == f"{step}\nruns"
        atoll.wait_for(lambda: list((server.data / "microvm/kept").iterdir()) == [], 20, "the end of the notes")
        assert api.get(f"/api/sandbox/snapshots?sandbox={box}")["items"] == []
        assert not list((server.data / "snapshots").glob("[!v]*")), "a snapshot is left"
        assert api.get(f"{PATH}/{box}")["state"] == "started"


def test_a_host_that_ends_after_the_memory_is_on_disk_loses_no_process(server):
    server, box = server
    restart(server)
    with contextlib.closing(server.api()) as api:
        api.post(f"{PATH}/{box}/start")
        said(api, box, "echo whole > /run/note")
    restart(server, "memory-kept")
    meet_fault(server, box)
    server.environment.pop("ATOLL_FAULT")
    server.wait_ready()
    # The server that came back may have settled it already; the memory is on disk in either case, or runs again.
    restart(server)
    with contextlib.closing(server.api()) as api:
        api.post(f"{PATH}/{box}/pause", {"disk": True})
    end_machines(server, box)
    server.start()
    with contextlib.closing(server.api()) as api:
        assert api.get(f"{PATH}/{box}")["state"] == "paused"
        assert said(api, box, "cat /run/note") == "whole"
