# SPDX-License-Identifier: Apache-2.0
"""kill -9 at every step of an ephemeral call: afterwards no sandbox is left, and the files of its workspace are."""

import contextlib
import http.client
import json
import subprocess
import threading
import time

import pytest

import atoll
from test_kills import named_steps

pytestmark = pytest.mark.needs_root
INSTANCES = "/api/sandbox/instances"
API_STEPS = [step for step in named_steps("fleet", r'fault_point\("api", ') if step.startswith("ephemeral-")]
OTHER_API_STEPS = ["create-recorded", "create-made", "delete-recorded", "delete-destroyed"]
BROKER_STEPS = ["overlay", "plan", "state", "destroy-files"]
CASES = [(place, step, workspace) for place, steps in (("api", API_STEPS + OTHER_API_STEPS), ("broker", BROKER_STEPS))
         for step in steps for workspace in (None, "kept")]
SOME = [("api", "ephemeral-ending", "kept"), ("api", "create-made", None), ("broker", "state", "kept")]
CALLS = [("/v1/ephemeral/exec", {"command": "echo $((1 + 1)) >> a", "sandbox": {"template": "host", "internet": False}}),
         ("/v1/tools/bash", {"input": {"command": "echo 2 >> a"}, "sandbox": {"template": "host", "internet": False}})]


def clean_after(server):
    server.environment.pop("ATOLL_FAULT", None)
    server.stop()
    server.start()
    api = server.api()
    atoll.wait_for(lambda: api.get(f"{INSTANCES}?limit=1000")["items"] == [], 25, "no sandbox is left")
    atoll.Host(server.data).wait_clean()
    return api


def test_the_steps_are_known():
    assert sorted(API_STEPS) == ["ephemeral-ending", "ephemeral-made"]


@pytest.mark.parametrize("place, step, workspace", atoll.sample(CASES, SOME))
def test_a_kill_leaves_nothing(private_server, place, step, workspace):
    private_server.start()
    private_server.api().post("/v1/ephemeral/exec", {"command": "echo first > a", "workspace": "kept"})
    private_server.stop()
    private_server.environment["ATOLL_FAULT"] = f"{place}:{step}:kill"
    private_server.start()
    for where, body in CALLS:
        with contextlib.suppress(atoll.ApiError, OSError, http.client.HTTPException):
            private_server.api(timeout=5).post(where, {**body, **({"workspace": workspace} if workspace else {})})
    api = clean_after(private_server)
    kept = api.post("/v1/ephemeral/exec", {"command": "head -1 a", "workspace": "kept"})
    assert kept["stdout"] == "first\n"
    atoll.wait_for(lambda: api.get(f"{INSTANCES}?limit=1000")["items"] == [], 25, "no sandbox is left")
    api.delete("/v1/workspaces/kept")


def test_a_server_that_dies_during_a_command_and_a_run_that_is_killed(private_server):
    private_server.start()
    body = {"command": "sleep 600", "sandbox": {"template": "host", "internet": False}}

    def call():
        with contextlib.suppress(atoll.ApiError, OSError, http.client.HTTPException):
            private_server.api(timeout=5).post("/v1/ephemeral/exec", body)
    calls = [threading.Thread(target=call) for _ in range(6)]
    for one in calls:
        one.start()
    api = private_server.api()
    atoll.wait_for(lambda: sum(row["state"] == "started" for row in api.get(INSTANCES)["items"]) == 6, 20, "six sandboxes")
    private_server.kill9("api")
    for one in calls:
        one.join()
    clean_after(private_server)
    run = subprocess.Popen([atoll.ATOLL, "run", "--no-internet", "--", "sleep", "5"], env=private_server.cli_environment(),
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    api = private_server.api()
    atoll.wait_for(lambda: [row["state"] for row in api.get(INSTANCES)["items"]] == ["started"], 20, "the sandbox of a run")
    time.sleep(0.5)
    run.kill()
    run.wait()
    atoll.wait_for(lambda: api.get(INSTANCES)["items"] == [], 60, "the end of the sandbox of a killed run")
    assert json.dumps(api.get("/v1/leases")["items"]) == "[]"
