# SPDX-License-Identifier: Apache-2.0
"""A server that never comes back: its sandboxes end by themselves. One that comes back in time finds them."""

import math
import os
import shutil
import signal
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
LEAST_S = 2
STARTS = 6  # a server that is back "in time" has as many times what its start takes here


@pytest.fixture
def mortal():
    begun = time.monotonic()
    server = atoll.Server().start()
    server.orphan_s = max(LEAST_S, math.ceil(STARTS * (time.monotonic() - begun)))
    server.stop()
    server.flags += ["--orphan-timeout", f"{server.orphan_s}s"]
    yield server.start()
    if server.process is None or server.process.poll() is not None:
        server.process = None
        server.start()
    server.remove_all()


def kill_server(server):
    """The supervisor first, so that it starts nothing again."""
    pids = [server.process.pid, *(pid for pid, line in server.descendants().items() if "atoll-agent" not in line)]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    server.process.wait()
    atoll.wait_for(lambda: all(atoll.is_dead(pid) for pid in pids), 10, "the end of the server")


def started(api, before="", **options):
    """(sandbox, pid of its process 1)"""
    sandbox = api.create(internet=False, **options)["id"]
    marker = f"sleep 5{time.monotonic_ns()}"
    api.exec(sandbox, f"{before}{marker}", background=True)
    return sandbox, atoll.wait_for(lambda: atoll.first_process(marker), 15, "a process of the sandbox")


def test_sandboxes_end_when_their_server_never_comes_back(mortal):
    api = mortal.api()
    # The agent of a busy sandbox has to find the time for its own end.
    agents = [started(api)[1], started(api, "while :; do :; done & ", resources={"cpu": 0.25})[1]]
    kill_server(mortal)
    assert not any(atoll.is_dead(pid) for pid in agents)
    atoll.wait_for(lambda: all(atoll.is_dead(pid) for pid in agents), mortal.orphan_s + 10, "the end of the sandboxes")
    mortal.process = None
    mortal.start()  # and its next start finds nothing that runs, and cleans up
    api = mortal.api()
    assert not api.get(f"{PATH}?state=started")["items"]


def test_sandboxes_end_when_server_and_data_folder_are_gone(mortal):
    pid = started(mortal.api())[1]
    kill_server(mortal)
    shutil.rmtree(mortal.data)
    atoll.wait_for(lambda: atoll.is_dead(pid), mortal.orphan_s + 10, "the end of the sandbox")
    # A new server at the same place cleans up what the old one has left of cgroups and networks.
    mortal.data.mkdir()
    mortal.process = None
    mortal.start()
    assert mortal.api().get(PATH)["items"] == []


def test_a_server_that_lives_or_comes_back_in_time_keeps_its_sandboxes(mortal):
    api = mortal.api()
    sandbox, pid = started(api)
    time.sleep(1.5 * mortal.orphan_s)  # nothing is called meanwhile
    assert not atoll.is_dead(pid)
    for _ in range(2):
        mortal.kill9("broker")
        time.sleep(0.4 * mortal.orphan_s)
    kill_server(mortal)
    mortal.process = None
    mortal.start()
    time.sleep(1.5 * mortal.orphan_s)
    assert not atoll.is_dead(pid)
    assert mortal.api().exec(sandbox, "echo here")["stdout"] == "here\n"


def test_a_paused_sandbox_does_not_age(mortal):
    api = mortal.api()
    sandbox, pid = started(api)
    api.post(f"{PATH}/{sandbox}/pause")
    kill_server(mortal)
    time.sleep(1.5 * mortal.orphan_s)
    mortal.process = None
    mortal.start()
    api = mortal.api()
    api.post(f"{PATH}/{sandbox}/resume")
    assert api.exec(sandbox, "echo here")["stdout"] == "here\n"
    time.sleep(mortal.orphan_s)
    assert not atoll.is_dead(pid)
