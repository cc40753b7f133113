# SPDX-License-Identifier: Apache-2.0
"""GET /v1/server: what an operator sees of the server, and that secrets and other people do not."""

import json
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
SECRET = "a-secret-of-24-characters"


@pytest.fixture(scope="module")
def own():
    running = atoll.Server(environment={"SANDBOX_PREVIEW_SECRET": SECRET, "SANDBOX_DEFAULT_CPU": "0.25"},
                           flags=("--idle-pause", "7m")).start()
    yield running
    running.remove_all()


@pytest.fixture(scope="module")
def api(own):
    return own.api()


def test_version_uptime_readiness_and_node(api):
    api.raw("GET", "/readyz")
    atoll.wait_for(lambda: api.get("/v1/server")["readiness"] == "ready", 30, "readiness")
    about = api.get("/v1/server")
    assert about["version"] == api.get("/healthz")["version"] and about["build"] and about["provider"] == "native"
    assert about["uptime_ms"] > 0 and about["checked_at"] and about["reason"] is None
    (node,) = about["nodes"]
    assert node["self"] and node["state"] == "up" and node["node"] == about["node"] and 0 <= node["heartbeat_age_ms"] < 5000


def test_options_have_their_value_and_source_but_no_secret(api, own):
    answer = api.raw("GET", "/v1/server")
    assert SECRET.encode() not in answer.body
    options = {o["name"]: o for o in answer.json()["configuration"]}
    said = {name: (options[name]["value"], options[name]["source"])
            for name in ("preview_secret", "default_cpu", "idle_pause", "workers", "data")}
    assert said["preview_secret"] == ("****", "env") and said["default_cpu"] == ("0.25", "env")
    assert said["idle_pause"] == ("7m", "flag") and said["workers"][1] == "default"
    assert said["data"] == (str(own.data), "flag")
    assert all(o["needs_restart"] for o in options.values())
    assert options["default_cpu"]["default"] != "0.25"


def test_metrics_count(api):
    before = api.get("/v1/server")["metrics"]
    with pytest.raises(atoll.ApiError):
        api.get("/api/sandbox/instances/no-such")
    after = api.get("/v1/server")["metrics"]
    assert after["requests"]["count"] >= before["requests"]["count"] + 1
    assert after["responses_4xx"] == before["responses_4xx"] + 1 and after["responses_2xx"] > before["responses_2xx"]
    assert after["requests"]["p99_ms"] >= after["requests"]["p50_ms"] > 0
    assert after["connections"] >= 1 and after["broker_calls_waiting"] >= 0
    assert {lane["lane"] for lane in after["lanes"]} >= {"fast", "slow"}
    atoll.wait_for(lambda: api.get("/v1/server")["metrics"]["store"]["count"] > 0, 60, "a call that measures the store")


def test_only_admins_see_it(api, own):
    key = api.post("/api/sandbox/keys", {"name": f"k-{time.monotonic_ns()}", "scopes": ["sandbox:read", "sandbox:write"]})
    with pytest.raises(atoll.ApiError) as caught:
        own.api(key=key["key"]).get("/v1/server")
    assert caught.value.status == 403
    assert own.api(key="atoll_none").raw("GET", "/v1/server").status == 401


def test_the_command_line_shows_it(own):
    ran = own.cli("server")
    assert ran.returncode == 0, ran.stderr
    said = ran.stdout.decode()
    assert "readiness" in said and "idle_pause" in said and "flag" in said and "workers" not in said
    assert b"workers" in own.cli("server", "--all").stdout
    assert json.loads(own.cli("server", "--json").stdout)["nodes"][0]["self"]
