# SPDX-License-Identifier: Apache-2.0
"""kill -9 of our processes: sandboxes and their commands live on, and a restart adopts them."""

import contextlib
import sqlite3
import threading

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"


@pytest.mark.parametrize("role", ["api", "broker"])
def test_commands_survive_kill_9(private_server, role):
    api = private_server.start().api()
    made = api.create(internet=False)["id"]
    process = api.post(f"{PATH}/{made}/exec",
                       {"command": "for i in $(seq 40); do echo tick $i; sleep 0.1; done", "background": True})["process"]
    old = private_server.kill9(role)
    atoll.wait_for(lambda: private_server.pid_of(role) not in (None, old), 15, "a new process")
    private_server.wait_ready()
    api.close()
    result = api.get(f"{PATH}/{made}/processes/{process}/wait?timeout_ms=20000")
    assert result["exit_code"] == 0
    assert result["stdout"] == "".join(f"tick {i}\n" for i in range(1, 41))
    assert api.exec(made, "echo after")["stdout"] == "after\n"
    fresh = api.create(internet=False)["id"]
    assert api.exec(fresh, "echo new")["stdout"] == "new\n"
    api.remove(fresh)
    api.remove(made)


def test_sandboxes_survive_a_whole_restart(private_server):
    api = private_server.start().api()
    made = api.create(internet=True, name="survivor")["id"]
    api.exec(made, "echo kept > /tmp/in-memory")
    private_server.stop()
    private_server.start()
    api = private_server.api()
    assert api.get(f"{PATH}/survivor")["state"] == "started"
    assert api.exec(made, "cat /tmp/in-memory")["stdout"] == "kept\n"


def test_everything_killed_at_once_is_found_again(private_server):
    import os
    import signal
    api = private_server.start().api()
    made = [api.create(internet=False)["id"] for _ in range(3)]
    victims = [private_server.process.pid, *private_server.descendants()]
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    private_server.process.wait()
    private_server.start()
    api = private_server.api()
    for sandbox in made:
        assert api.exec(sandbox, "echo here")["stdout"] == "here\n"


def test_an_agent_that_dies_ends_its_sandbox_with_a_reason(private_server):
    import os
    import signal
    api = private_server.start().api()
    made = api.create(internet=False)["id"]
    marker = f"sleep 86.{os.getpid()}"
    api.post(f"{PATH}/{made}/exec", {"command": marker, "background": True})
    pid = atoll.wait_for(lambda: atoll.first_process(marker), 30, "the command")
    os.kill(pid, signal.SIGKILL)
    row = atoll.wait_for(lambda: (r := api.get(f"{PATH}/{made}"))["state"] not in ("started",) and r, 30, "its end")
    assert row["state"] in ("stopped", "failed") and row["reason"] in ("exit", "oom")
    api.remove(made)
    atoll.Host(private_server.data).wait_clean()


def test_a_second_server_on_the_same_data_is_refused(private_server):
    private_server.start()
    second = atoll.Server(data=private_server.data)
    second.start(wait=False)
    assert second.process.wait(30) != 0
    assert private_server.api().get("/healthz")
    second.process = None


def test_a_look_into_the_database_from_outside_takes_no_commit_away(private_server):
    """SQLite's last user takes the log away when it goes: the server's locks say that it is none."""
    api = private_server.start().api()
    api.post("/api/sandbox/templates", {"name": "before", "from": "host"})
    with contextlib.closing(sqlite3.connect(private_server.data / "store" / "atoll.db", timeout=60)) as database:
        assert database.execute("SELECT count(*) FROM templates WHERE name = 'before'").fetchall() == [(1,)]
    api.post("/api/sandbox/templates", {"name": "after", "from": "host"})
    old = private_server.kill9("api")
    atoll.wait_for(lambda: private_server.pid_of("api") not in (None, old), 15, "a new process")
    private_server.wait_ready()
    api.close()
    assert {"before", "after"} <= {template["name"] for template in api.get("/api/sandbox/templates")["items"]}


@pytest.mark.parametrize("serves", [True, False], ids=["with calls", "that is starting"])
def test_a_stop_does_not_wait_for_a_broker_that_has_died(private_server, serves):
    private_server.start()
    for _ in range(5):  # the next one comes later each time
        old = private_server.kill9("broker")
        atoll.wait_for(lambda: private_server.pid_of("broker") not in (None, old), 30, "another broker")  # noqa: B023
    private_server.wait_ready()
    if not serves:
        private_server.kill9("api")
    private_server.kill9("broker")

    def call():
        with contextlib.suppress(atoll.ApiError, OSError):
            private_server.api(timeout=30).create(internet=False)
    callers = [threading.Thread(target=call) for _ in range(8 if serves else 0)]
    for caller in callers:
        caller.start()
    private_server.stop()
    for caller in callers:
        caller.join(60)
    assert "did not end in time" not in private_server.log_text()
