# SPDX-License-Identifier: Apache-2.0
"""Labels that begin with "atoll." are the server's own: no caller sets one, and no copy of a sandbox has that of its lease."""

import json
import time
import urllib.parse

import pytest

import atoll

pytestmark = pytest.mark.needs_root
INSTANCES = "/api/sandbox/instances"
CONFIGS = "/accounts/me/sandboxes"
OWN = {"atoll.lease": "somebody", "team": "a"}


def own(labels):
    return {key: value for key, value in labels.items() if key.startswith("atoll.")}


@pytest.fixture
def key(api, request):
    made = f"labels:{time.time_ns()}"
    yield made
    api.delete(f"/v1/leases?prefix={urllib.parse.quote(made, safe='')}")


@pytest.fixture
def leased(api, key):
    """The sandbox of a lease whose sandboxes are of a config."""
    config = api.post(CONFIGS, {"name": f"own-{time.time_ns()}", "config": {"template": "host", "internet": False, "timeout": 2}})["id"]
    api.post("/v1/tools/bash", {"lease": key, "config": config, "input": {"command": "true"}})
    box = api.get(f"/v1/leases/{urllib.parse.quote(key, safe='')}")["sandbox_id"]
    api.call("PUT", f"/daytona/api/sandbox/{box}/labels", {"labels": {"team": "a"}})
    yield {"box": box, "config": config, "key": key}
    api.delete(f"{CONFIGS}/{config}")


@pytest.mark.parametrize("path,body", [
    (INSTANCES, {"labels": OWN}), ("/sandboxes", {"templateID": "host", "metadata": OWN}), ("/v2/sandboxes", {"templateID": "host", "metadata": OWN}),
    ("/daytona/api/sandbox", {"labels": OWN}), ("/v1/leases/acquire", {"key": "labels:own", "labels": OWN})],
    ids=["native", "e2b", "e2b v2", "daytona", "lease"])
def test_no_caller_sets_one(api, path, body):
    refused = api.raw("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    assert refused.status == 400 and b"atoll.lease" in refused.body, refused.body
    assert not [row for row in api.get(f"{INSTANCES}?label=atoll.lease%3Dsomebody")["items"] if row["state"] != "deleted"]


def test_no_caller_changes_one(api, leased):
    before = api.get(f"{INSTANCES}/{leased['box']}")["labels"]
    assert set(own(before)) == {"atoll.lease", "atoll.config"}
    api.call("PUT", f"/daytona/api/sandbox/{leased['box']}/labels", {"labels": {"team": "b", "atoll.lease": "mine", "atoll.build": "x"}})
    assert api.get(f"{INSTANCES}/{leased['box']}")["labels"] == {**own(before), "team": "b"}


def fork(api, leased):
    return api.post(f"{INSTANCES}/{leased['box']}/fork", {"count": 1})["items"][0]["id"]


def restore_as_another(api, leased):
    taken = api.post(f"{INSTANCES}/{leased['box']}/snapshot", {"sync": False})["id"]
    return api.post(f"/api/sandbox/snapshots/{taken}/restore", {"new": True})["id"]


def fork_of_daytona(api, leased):
    return api.post(f"/daytona/api/sandbox/{leased['box']}/fork", {"name": f"fork-{time.time_ns()}"})["id"]


def fork_of_e2b(api, leased):
    made = api.post(f"/sandboxes/{leased['box']}/fork", {"count": 1})
    made = made[0] if isinstance(made, list) else made
    return made.get("sandboxID") or made["sandbox"]["sandboxID"]


@pytest.mark.parametrize("way", [fork, restore_as_another, fork_of_daytona, fork_of_e2b])
def test_a_copy_has_the_labels_of_callers_and_the_limits_of_the_config_and_no_lease(api, leased, way):
    copy = way(api, leased)
    try:
        labels = api.get(f"{INSTANCES}/{copy}")["labels"]
        assert labels == {"team": "a", "atoll.config": leased["config"]}, labels
        assert api.exec(copy, "sleep 8", timeout_ms=60000)["timed_out"]
        # The lease's sandbox is still the lease's.
        assert api.post("/v1/leases/acquire", {"key": leased["key"]})["sandbox_id"] == leased["box"]
        # The copy lives on when the lease's sandbox is made anew.
        api.remove(leased["box"])
        assert api.post("/v1/leases/acquire", {"key": leased["key"]})["sandbox_id"] not in (copy, leased["box"])
        assert api.get(f"{INSTANCES}/{copy}")["state"] == "started"
    finally:
        api.remove(copy)


def test_the_next_sandbox_of_a_lease_has_its_config_and_labels(api, leased):
    api.remove(leased["box"])
    again = api.post("/v1/leases/acquire", {"key": leased["key"]})["sandbox_id"]
    assert api.get(f"{INSTANCES}/{again}")["labels"] == {"atoll.config": leased["config"], "atoll.lease": leased["key"]}
    with pytest.raises(atoll.ApiError) as refused:
        api.post("/v1/leases/acquire", {"key": leased["key"], "labels": {"team": "b"}})
    assert refused.value.status == 409 and "labels" in str(refused.value)
