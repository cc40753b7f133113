# SPDX-License-Identifier: Apache-2.0
"""A lease keeps its specification: every path that makes its sandbox again makes it from there."""

import json
import sqlite3
import urllib.parse

import pytest

import atoll

pytestmark = pytest.mark.needs_root
BASE = "/v1/leases"
INSTANCES = "/api/sandbox/instances"
SPEC = {"template": "host", "internet": False, "env": {"TOKEN": "hunter2"}, "labels": {"team": "a"},
        "resources": {"cpu": 1, "memory_mb": 96, "pids": 77}}


def path(key, verb=""):
    return f"{BASE}/{urllib.parse.quote(key, safe='')}{verb}"


@pytest.fixture
def key(api, request):
    made = f"terms:{request.node.name[:80]}"
    yield made
    api.delete(f"{BASE}?prefix={urllib.parse.quote(made, safe='')}")


def acquire(api, key, **options):
    return api.post(f"{BASE}/acquire", {"key": key, **options})


def what_it_is(api, key):
    """What the lease's sandbox was made with, and what a command sees of it."""
    row = api.get(f"{INSTANCES}/{api.get(path(key))['sandbox_id']}")
    env = api.exec(row["id"], "echo -n $TOKEN")["stdout"]
    return {"template": row["template"], "internet": row["network"] == "internet", "env": {"TOKEN": env},
            "labels": {k: v for k, v in row["labels"].items() if k != "atoll.lease"},
            "resources": {k: row["resources"][k] for k in ("cpu", "memory_mb", "pids")}}


def by_exec(api, key):
    api.post(path(key, "/exec"), {"command": "true"})


def by_code(api, key):
    api.post(path(key, "/code"), {"language": "bash", "code": "true"})


def by_files(api, key):
    api.get(path(key, "/files?path=/tmp"))


def by_tool(api, key):
    api.post("/v1/tools/bash", {"lease": key, "input": {"command": "true"}})


def by_mcp(api, key):
    def post(method, params, **headers):
        headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json", **headers}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        answer = api.raw("POST", f"/mcp?lease={urllib.parse.quote(key, safe='')}", body, headers)
        assert answer.status == 200, answer.body
        return answer
    begun = post("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
    post("tools/call", {"name": "bash", "arguments": {"command": "true"}}, **{"Mcp-Session-Id": begun.headers["Mcp-Session-Id"]})


def by_acquire(api, key):
    assert acquire(api, key)["created"]


@pytest.mark.parametrize("way", [by_exec, by_code, by_files, by_tool, by_mcp, by_acquire])
def test_what_makes_it_again_makes_it_the_same(api, key, way):
    first = acquire(api, key, **SPEC)["sandbox_id"]
    assert what_it_is(api, key) == SPEC
    api.remove(first)
    way(api, key)
    assert api.get(path(key))["sandbox_id"] != first
    assert what_it_is(api, key) == SPEC


def test_another_specification_is_refused_and_named_until_it_is_an_update(api, key):
    first = acquire(api, key, **SPEC)["sandbox_id"]
    assert acquire(api, key, env=SPEC["env"], template="host")["sandbox_id"] == first
    with pytest.raises(atoll.ApiError) as refused:
        acquire(api, key, internet=True, env={"TOKEN": "other"}, resources={"memory_mb": 128, "pids": 77})
    assert refused.value.status == 409
    for name in ("internet", "env", "resources.memory_mb"):
        assert name in str(refused.value)
    assert "pids" not in str(refused.value) and "hunter2" not in str(refused.value)
    assert what_it_is(api, key) == SPEC
    updated = acquire(api, key, update=True, env={"TOKEN": "other"})
    assert updated["created"] and updated["sandbox_id"] != first
    # what the update did not name stays
    assert what_it_is(api, key) == {**SPEC, "env": {"TOKEN": "other"}}
    assert acquire(api, key, update=True, env={"TOKEN": "other"})["sandbox_id"] == updated["sandbox_id"]


def test_without_a_sandbox_what_is_given_replaces_and_the_rest_stays(api, key):
    api.remove(acquire(api, key, **SPEC)["sandbox_id"])
    assert acquire(api, key, labels={"team": "b"})["created"]
    assert what_it_is(api, key) == {**SPEC, "labels": {"team": "b"}}


def test_a_sandbox_that_shows_nothing_is_followed_by_one_that_shows_nothing(api, key):
    first = acquire(api, key, template="host", internet=False)["sandbox_id"]
    assert api.get(f"{INSTANCES}/{first}")["preview"]["enabled"]
    api.call("PATCH", f"{INSTANCES}/{first}/preview", {"enabled": False})
    for _ in range(2):
        api.remove(api.get(path(key))["sandbox_id"])
        again = acquire(api, key)
        assert again["created"] and not api.get(f"{INSTANCES}/{again['sandbox_id']}")["preview"]["enabled"]


def test_a_lease_takes_every_member_of_a_create():
    shapes = json.loads((atoll.ROOT / "docs" / "api" / "openapi.json").read_text())["components"]["schemas"]
    create, acquire_ = shapes["SandboxCreate"]["properties"], shapes["LeaseAcquire"]["properties"]
    assert set(create) - set(acquire_) == {"name"}
    assert all(acquire_[name] == create[name] for name in create if name != "name")


def test_config_volumes_rules_and_times_are_those_of_each_sandbox(api, key):
    api.post("/api/sandbox/volumes", {"name": "of-lease"})
    config = api.post("/accounts/me/sandboxes", {"name": "of-lease", "config": {
        "memoryLimit": 128, "envVars": {"FROM": "config"}, "timeout": 5}})
    given = {"template": "host", "config": "of-lease", "internet": True, "egress": {"deny": ["10.0.0.0/8"]},
             "volumes": [{"volume": "of-lease", "path": "/data"}], "timeout_ms": 3600_000, "autoStopMs": 600_000,
             "autoDeleteMs": 900_000, "region": "here", "previewEnabled": False, "isolation": "namespaces"}

    def sees():
        row = api.get(f"{INSTANCES}/{api.get(path(key))['sandbox_id']}")
        return {"memory": row["resources"]["memory_mb"], "deny": row["egress"]["deny"], "region": row["region"],
                "config": row["labels"]["atoll.config"], "stops": row["autoStopMs"],
                "deletes": row["autoDeleteMs"], "preview": row["preview"]["enabled"],
                "ends": bool(row["timeout_at"]), "env": api.exec(row["id"], "echo -n $FROM")["stdout"],
                "volume": api.exec(row["id"], "cat /data/kept 2>/dev/null || echo 1 >/data/kept; ls /data")["stdout"]}
    try:
        first = acquire(api, key, **given)["sandbox_id"]
        made = sees()
        assert made["config"] == config["id"] and made["env"] == "config" and made["memory"] == 128
        assert made["ends"] and made["stops"] == 600_000 and "kept" in made["volume"]
        assert acquire(api, key, **given)["sandbox_id"] == first
        with pytest.raises(atoll.ApiError) as other:
            acquire(api, key, volumes=[{"volume": "of-lease", "path": "/elsewhere"}], region="there")
        assert other.value.status == 409 and "volumes" in str(other.value) and "region" in str(other.value)
        api.remove(first)
        by_exec(api, key)
        assert sees() == {**made, "volume": "1\n" + made["volume"]}
    finally:
        api.delete(path(key))
        api.delete("/api/sandbox/volumes/of-lease")
        api.delete("/accounts/me/sandboxes/of-lease")


def test_network_rules_of_its_sandbox_are_the_next_ones(api, key):
    first = acquire(api, key, template="host", internet=True)["sandbox_id"]
    rules = api.call("PUT", f"{INSTANCES}/{first}/egress", {"deny": ["10.0.0.0/8"]})["egress"]
    assert rules["deny"] == ["10.0.0.0/8"]
    api.remove(first)
    by_exec(api, key)
    assert api.get(f"{INSTANCES}/{api.get(path(key))['sandbox_id']}")["egress"] == rules


def test_it_outlives_the_server_and_rests_sealed(private_server):
    api = private_server.start().api()
    api.remove(acquire(api, "k", **SPEC)["sandbox_id"])
    private_server.stop()
    with sqlite3.connect(private_server.data / "store" / "atoll.db") as db:
        row = str(db.execute("SELECT * FROM leases").fetchall())
    assert "sealed." in row and "hunter2" not in row
    api = private_server.start().api()
    by_exec(api, "k")
    assert what_it_is(api, "k") == SPEC
    api.delete(path("k"))


def test_a_row_of_before_takes_it_from_its_sandbox(private_server):
    api = private_server.start().api()
    first = acquire(api, "k", **SPEC)["sandbox_id"]
    private_server.stop()
    with sqlite3.connect(private_server.data / "store" / "atoll.db") as db:
        assert db.execute("UPDATE leases SET spec_json = '', env_json = ''").rowcount == 1
    api = private_server.start().api()
    assert acquire(api, "k", internet=True)["sandbox_id"] == first
    api.remove(first)
    by_exec(api, "k")
    assert what_it_is(api, "k") == SPEC
    api.delete(path("k"))
