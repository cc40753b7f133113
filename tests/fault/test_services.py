# SPDX-License-Identifier: Apache-2.0
"""kill -9 at every named step of a service: it is neither lost nor doubled, and what was removed is gone."""

import contextlib
import http.client
import json

import pytest

import atoll
from test_kills import named_steps

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
STEPS = [step for step in named_steps("fleet", r'fault_point\("api", ') if step.startswith("service-")]
# That the agent dies ends its sandbox, as after any end of process 1: what comes after it is a start.
AGENT_STEPS = [step for step in named_steps("agent", r'fault_point\("agent", ') if step.startswith("service-")]
BODY = {"command": "exec sleep 8001", "restart_delay_ms": 10}


def once(server, method, path, body=None):
    """Api asks again when a connection breaks; this does not."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    with contextlib.suppress(OSError, http.client.HTTPException):
        connection.request(method, path, json.dumps(body or {}),
                           {"Authorization": f"Bearer {server.key}", "Content-Type": "application/json"})
        connection.getresponse().read()
    connection.close()


def running(api, box):
    """How many there are; one that is just executing another program has no command line for a moment."""
    line = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -o '[s]leep 8001' | wc -l"
    return max(int(api.exec(box, line)["stdout"]) for _ in range(4))


def runs_once(api, box):
    """A service is 'running' a moment before its program is executed."""
    atoll.wait_for(lambda: running(api, box) > 0, 15, "its program")
    return running(api, box) == 1


def again(server, step=None):
    server.environment.pop("ATOLL_FAULT", None)
    server.stop()
    if step:
        server.environment["ATOLL_FAULT"] = f"api:{step}:kill"
    server.start()
    return server.api(timeout=20)


def test_the_steps_are_known():
    assert set(STEPS) == {"service-recorded", "service-told", "service-changed", "service-copied"}
    assert set(AGENT_STEPS) == {"service-begun", "service-ended"}


@pytest.mark.parametrize("step", ["service-recorded", "service-told"])
def test_one_that_is_being_made_runs_once(private_server, step):
    server = private_server
    server.start()
    box = server.api().create(internet=False, persistent=True)["id"]
    again(server, step)
    once(server, "PUT", f"{PATH}/{box}/services/web", BODY)
    api = again(server)
    atoll.wait_for(lambda: [i["state"] for i in api.get(f"{PATH}/{box}/services")["items"]] == ["running"], 15, "it runs")
    assert runs_once(api, box)
    # Said again it is the same one.
    pid = api.get(f"{PATH}/{box}/services/web")["pid"]
    assert api.call("PUT", f"{PATH}/{box}/services/web", BODY)["pid"] == pid


@pytest.mark.parametrize("step", ["service-changed", "service-told"])
def test_one_that_is_being_removed_goes(private_server, step):
    server = private_server
    server.start()
    api = server.api()
    box = api.create(internet=False, persistent=True)["id"]
    api.call("PUT", f"{PATH}/{box}/services/web", BODY)
    again(server, step)
    once(server, "DELETE", f"{PATH}/{box}/services/web")
    api = again(server)
    assert api.get(f"{PATH}/{box}/services")["items"] == []
    atoll.wait_for(lambda: running(api, box) == 0, 15, "it has ended")
    # The name is free again.
    atoll.wait_for(lambda: api.call("PUT", f"{PATH}/{box}/services/web", BODY)["state"] == "running", 15, "another one")
    assert runs_once(api, box)


def test_a_sandbox_whose_start_dies_has_them_after_the_next_one(private_server):
    server = private_server
    server.start()
    api = server.api()
    box = api.create(internet=False, persistent=True)["id"]
    api.call("PUT", f"{PATH}/{box}/services/web", BODY)
    api.post(f"{PATH}/{box}/stop")
    again(server, "service-told")
    once(server, "POST", f"{PATH}/{box}/start")
    api = again(server)
    atoll.wait_for(lambda: api.get(f"{PATH}/{box}")["state"] in ("stopped", "started"), 15, "it rests")
    api.post(f"{PATH}/{box}/start")
    atoll.wait_for(lambda: api.get(f"{PATH}/{box}/services/web")["state"] == "running", 15, "it runs")
    assert runs_once(api, box)


def test_a_fork_that_dies_leaves_each_with_its_own(private_server):
    server = private_server
    server.start()
    api = server.api()
    box = api.create(internet=False, persistent=True)["id"]
    api.call("PUT", f"{PATH}/{box}/services/web", BODY)
    again(server, "service-copied")
    once(server, "POST", f"{PATH}/{box}/fork")
    api = again(server)
    rows = [row["id"] for row in server.rows(api)]
    assert len(rows) == 2
    for row in rows:
        assert runs_once(api, row), row


@pytest.mark.parametrize("step", AGENT_STEPS)
def test_an_agent_that_dies_takes_them_along_and_the_next_start_brings_them(private_server, step):
    server = private_server
    server.environment["ATOLL_FAULT"] = f"agent:{step}:kill"
    server.start()
    api = server.api(timeout=20)
    box = api.create(internet=False, persistent=True)["id"]
    once(server, "PUT", f"{PATH}/{box}/services/web", BODY)
    if step == "service-ended":
        atoll.wait_for(lambda: running(api, box) > 0, 15, "the program that is killed")
        with contextlib.suppress(atoll.ApiError, OSError):
            api.exec(box, "pkill -f '[s]leep 8001' || kill -9 $(grep -l 8001 /proc/[0-9]*/cmdline | cut -d/ -f3)")
    atoll.wait_for(lambda: api.get(f"{PATH}/{box}")["state"] == "stopped", 15, "it has gone down")
    api = again(server)
    assert [item["state"] for item in api.get(f"{PATH}/{box}/services")["items"]] == ["down"]
    api.post(f"{PATH}/{box}/start")
    atoll.wait_for(lambda: api.get(f"{PATH}/{box}/services/web")["state"] == "running", 15, "it runs")
    assert runs_once(api, box)
