# SPDX-License-Identifier: Apache-2.0
"""An agent that does not answer any more: which calls count against it, and that its sandbox can still be stopped and deleted."""

import contextlib
import json
import os
import signal
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
BOUND_S = 15 # of a stop or delete, beside other load; each takes less than a second alone


@pytest.fixture(scope="module")
def server():
    running = atoll.Server(flags=["--agent-timeout", "500ms"]).start()
    yield running
    running.remove_all()


@contextlib.contextmanager
def silent(api, box):
    """SIGSTOP of process 1. Yields its number on the host."""
    marker = f"sleep 3{time.monotonic_ns()}"
    api.exec(box, marker, background=True)
    pid = atoll.wait_for(lambda: atoll.first_process(marker), 15, "a process of the sandbox")
    os.kill(pid, signal.SIGSTOP)
    try:
        yield pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def is_marked(api, box):
    return api.get(f"{PATH}/{box}")["agent"] == "unresponsive"


def mark(api, box):
    for _ in range(3):
        assert api.raw("GET", f"{PATH}/{box}/processes").status == 504
    assert is_marked(api, box)


OCTETS = {"Content-Type": "application/octet-stream"}
CALLS = {
    "list files": ("GET", "files?path=/etc", None), "stat": ("GET", "files/stat?path=/etc", None),
    "read": ("GET", "files/content?path=/etc/passwd", None), "write": ("PUT", "files/content?path=/tmp/x", b"x"),
    "tar": ("GET", "files/tar?path=/etc", None), "untar": ("POST", "files/tar?path=/tmp", b"\0" * 10240),
    "make a folder": ("POST", "files/mkdir", {"path": "/tmp/y"}), "exec": ("POST", "exec", {"command": "true"}),
    "exec as events": ("POST", "exec?stream=sse", {"command": "true"}), "background": ("POST", "exec", {"command": "true", "background": True}),
    "processes": ("GET", "processes", None), "logs": ("GET", "logs", None), "wait": ("GET", "processes/1/wait", None),
    "signal": ("POST", "processes/1/signal", {"signal": "TERM"}), "git": ("GET", "git/status", None),
    "read text": ("POST", "files/read", {"path": "/etc/passwd"}),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_an_agent_does_not_begin_to_answer_ends_soon_and_counts(api, name):
    method, path, body = CALLS[name]
    with api.sandbox(internet=False) as box, silent(api, box):
        for _ in range(3):
            begun = time.monotonic()
            answer = api.raw(method, f"{PATH}/{box}/{path}", body, OCTETS if isinstance(body, bytes) else None)
            if name == "exec as events":
                assert answer.status in (200, 504), answer.body
            else:
                assert answer.status == 504, answer.body
            assert time.monotonic() - begun < 10
        assert is_marked(api, box), name


def test_a_long_command_is_no_silence(api):
    with api.sandbox(internet=False) as box:
        assert api.exec(box, "sleep 2; echo done")["stdout"] == "done\n"
        assert api.exec(box, "sleep 2; echo done", user="root")["exit_code"] == 0
        assert not is_marked(api, box)


def test_a_marked_sandbox_is_stopped_and_started_again(api):
    with api.sandbox(internet=False, persistent=True) as box, silent(api, box) as pid:
        mark(api, box)
        begun = time.monotonic()
        row = api.post(f"{PATH}/{box}/stop")
        assert time.monotonic() - begun < BOUND_S and row["state"] == "stopped", row
        assert atoll.is_dead(pid)
        row = api.get(f"{PATH}/{box}")
        assert row["agent"] != "unresponsive" and row["reason"] not in ("oom", "exit"), row
        kinds = [event["kind"] for event in api.get(f"/v1/events?sandbox={box}")["items"]]
        assert kinds.count("sandbox.unresponsive") == 1 and "sandbox.stopped" in kinds, kinds
        assert api.post(f"{PATH}/{box}/start")["state"] == "started"
        assert api.exec(box, "echo again")["stdout"] == "again\n" and not is_marked(api, box)


def test_a_marked_sandbox_is_deleted(server, api):
    box = api.create(internet=False)["id"]
    with silent(api, box) as pid:
        mark(api, box)
        begun = time.monotonic()
        api.remove(box)
        assert time.monotonic() - begun < BOUND_S and atoll.is_dead(pid)
        assert api.raw("GET", f"{PATH}/{box}").status == 404
        kinds = [event["kind"] for event in api.get(f"/v1/events?sandbox={box}")["items"]]
        assert "sandbox.deleted" in kinds, kinds
        text = api.raw("GET", "/metrics").body.decode()
        assert "\natoll_agents_unresponsive 0" in text
        atoll.wait_for(lambda: box not in atoll.Host(server.data).files() + atoll.Host(server.data).runs(), 20, "nothing left")


def test_one_that_is_silent_and_not_marked_yet_is_stopped_and_deleted(api):
    stopped, deleted = (api.create(internet=False)["id"] for _ in range(2))
    with silent(api, stopped), silent(api, deleted):
        begun = time.monotonic()
        assert api.post(f"{PATH}/{stopped}/stop")["state"] == "stopped"
        api.remove(deleted)
        assert time.monotonic() - begun < 2 * BOUND_S
        assert api.raw("GET", f"{PATH}/{deleted}").status == 404
    api.remove(stopped)


def test_an_end_is_called_out_of_memory_only_when_that_was_its_cause(api):
    """An earlier command was killed for memory; process 1 is killed by somebody else, later."""
    hungry = "exec python3 -c \"b = bytearray(400 << 20)\""
    with api.sandbox(internet=False, resources={"memory_mb": 64}) as box:
        assert api.exec(box, hungry)["cause"] == "oom"
        assert api.get(f"{PATH}/{box}/stats")["oom_kills"] >= 1
        with silent(api, box) as pid:
            os.kill(pid, signal.SIGKILL)
            row = atoll.wait_for(lambda: (r := api.get(f"{PATH}/{box}"))["state"] in ("stopped", "failed") and r, 20, "its end")
        assert row["reason"] == "exit", json.dumps(row)
