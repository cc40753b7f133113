# SPDX-License-Identifier: Apache-2.0
"""kill -9 at every step of a build: it has failed and says so, and no sandbox, layer or row of it is left."""

import contextlib
import http.client
import os

import pytest

import atoll
from test_kills import named_steps

pytestmark = pytest.mark.needs_root
BUILDS = "/api/sandbox/templates/builds"
STEPS = [step for step in named_steps("fleet", r'fault_point\("api", ') if step.startswith("build-")]
FAILURES = (atoll.ApiError, OSError, http.client.HTTPException, AssertionError)
SPEC = {"name": "app", "from": "host", "internet": False, "start": "sleep 60",
        "stages": [{"name": "made", "from": "host", "steps": [{"type": "run", "command": "echo staged > /opt-staged"}]}],
        "steps": [
            {"type": "run", "command": "echo first > /opt-first",
             "mounts": [{"type": "cache", "id": "kept", "path": "/var/cache/kept"}]},
            {"type": "workdir", "path": "/opt-work"},
            {"type": "copy", "from": "made", "paths": ["/opt-staged"], "path": "second"}]}


def ended(api, build):
    return api.get(f"{BUILDS}/{build}")["status"] not in ("waiting", "building")


def build(api, spec, seconds=60):
    made = api.post(BUILDS, spec)["id"]
    atoll.wait_for(lambda: ended(api, made), seconds, "the build's end")
    return api.get(f"{BUILDS}/{made}")


def test_the_steps_are_known():
    assert len(STEPS) >= 5


@pytest.mark.parametrize("step", STEPS)
def test_the_api_process_dies_at_a_step_of_a_build(private_server, step):
    private_server.environment["ATOLL_FAULT"] = f"api:{step}:kill"
    private_server.start()
    with contextlib.suppress(*FAILURES):
        build(private_server.api(timeout=10), SPEC)  # until it dies
    private_server.environment.pop("ATOLL_FAULT")
    private_server.stop()
    private_server.flags = ["--build-cache-bytes-max", "0"]
    private_server.start()
    api = private_server.api()
    rows = api.get(BUILDS)["items"]
    assert rows
    for row in rows:
        assert row["status"] == "error" and "the server went away" in row["message"], row
        assert row["sandbox"] is None and row["ended_at"], row
    assert api.get(f"{BUILDS}/{rows[0]['id']}/logs")["status"] == "error"
    assert api.get("/api/sandbox/instances?builds=true")["items"] == []
    # A template that was made is whole, and one that was not is not there; both can be built now.
    for row in api.get("/api/sandbox/templates")["items"]:
        assert row["state"] != "building", row
    assert build(api, SPEC)["status"] == "ready"
    with api.sandbox(template="app", internet=False) as box:
        assert api.exec(box, "cat /opt-first second; pwd")["stdout"] == "first\nstaged\n/opt-work\n"
    api.delete("/api/sandbox/templates/app")
    assert build(api, {"name": "none", "from": "host", "steps": []})["status"] == "ready"
    atoll.wait_for(lambda: not os.listdir(private_server.data / "snapshots"), 30, "no layer is left")
    atoll.Host(private_server.data).wait_clean()
