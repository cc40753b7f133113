# SPDX-License-Identifier: Apache-2.0
"""The api process is killed while a person allows a host: nothing is lost, and the same call does the rest."""

import contextlib

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
RULES = {"allow": ["allowed.test"], "deny": ["0.0.0.0/0"]}


@pytest.mark.parametrize("step", ["access-approved", "access-allowed"])
def test_a_host_is_allowed_by_the_next_call(private_server, step):
    private_server.environment["ATOLL_FAULT"] = f"api:{step}:kill"
    private_server.start()
    victim = private_server.pid_of("api")
    api = private_server.api(timeout=20)
    made = api.create(internet=True, egress=RULES)["id"]
    answer = api.raw("POST", "/v1/tools/request_access", {"sandboxId": made, "approvalWaitMs": 0, "input": {"host": "other.test"}})
    request = answer.json()["approvalId"]
    key = api.post("/api/sandbox/keys", {"name": "person", "scopes": ["sandbox:read", "sandbox:write"]})["key"]
    path = f"{PATH}/{made}/egress/requests/{request}/allow"
    with contextlib.suppress(atoll.ApiError, OSError, ConnectionError):
        api.clone(key).post(path)
    atoll.wait_for(lambda: private_server.pid_of("api") not in (None, victim), 20, f"{step} kills the api process")
    private_server.wait_ready()
    api = private_server.api()
    assert api.get(f"/v1/approvals/{request}")["state"] == "approved"
    assert ("other.test" in api.get(f"{PATH}/{made}")["egress"]["allow"]) == (step == "access-allowed")
    private_server.environment.pop("ATOLL_FAULT")
    private_server.stop()
    private_server.start()
    api = private_server.api()
    assert api.clone(key).post(path)["state"] == "used"
    assert api.get(f"{PATH}/{made}")["egress"]["allow"] == ["allowed.test", "other.test"]
    api.remove(made)
