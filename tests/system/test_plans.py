# SPDX-License-Identifier: Apache-2.0
"""A create with dry_run: each value with its source and the cap that lowered it; nothing is made."""

import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"


@pytest.fixture(scope="module")
def own():
    running = atoll.Server(environment={"SANDBOX_MAX_MEMORY_MB": "2048"}, flags=("--price-vcpu-second", "0.01")).start()
    yield running
    running.remove_all()


@pytest.fixture(scope="module")
def api(own):
    return own.api()


def plan(api, project=None, **body):
    headers = {"X-Atoll-Project": project} if project else {}
    return api.call("POST", f"{PATH}?dry_run=true", body, headers)


def values(answer):
    return {v["name"]: v for v in answer["values"]}


@pytest.fixture(name="project")
def project_with_limits(api):
    made = api.post("/v1/projects", {"name": f"plans-{time.time_ns()}"})["id"]
    yield made
    api.delete(f"/v1/projects/{made}?force=true")


def test_a_plan_names_the_source_of_each_value_and_makes_nothing(api):
    before = len(api.get(PATH)["items"])
    answer = plan(api, resources={"cpu": 0.25}, autoPauseMs=60000, internet=False)
    found = values(answer)
    assert (found["cpu"]["value"], found["cpu"]["source"], found["cpu"]["lowered_by"]) == (0.25, "request", None)
    assert found["memory_mb"]["source"] in ("template", "platform") and found["memory_mb"]["value"] > 0
    assert (found["idle_pause_ms"]["value"], found["idle_pause_ms"]["source"]) == (60000, "request")
    assert found["idle_reap_ms"]["source"] == "platform"
    chosen = {c["name"]: (c["value"], c["source"]) for c in answer["choices"]}
    assert chosen["network"] == ("blocked", "request") and chosen["template"][1] == "platform"
    assert chosen["provider"] == ("native", "platform") and chosen["isolation"][0] == "namespaces"
    assert answer["price_per_hour_usd"] == pytest.approx(0.01 * 0.25 * 3600)
    assert len(api.get(PATH)["items"]) == before


def test_a_plan_is_what_a_create_makes(api):
    body = {"resources": {"cpu": 0.2, "memory_mb": 300}, "autoStopMs": 3600000}
    planned = values(plan(api, **body))
    with api.sandbox(**body) as made:
        found = api.get(f"{PATH}/{made}")["resources"]
    for name in ("cpu", "memory_mb", "disk_mb", "pids"):
        assert found[name] == planned[name]["value"], name


def test_a_cap_that_lowers_a_value_is_named(api, project):
    api.call("PATCH", f"/v1/projects/{project}", {"maximums": {"cpu": 0.5}})
    found = values(plan(api, project, resources={"cpu": 8, "memory_mb": 100_000_000 // 100}))
    assert (found["cpu"]["value"], found["cpu"]["wanted"], found["cpu"]["lowered_by"]) == (0.5, 8, "project")
    assert found["memory_mb"]["lowered_by"] == "platform" and found["memory_mb"]["value"] < found["memory_mb"]["wanted"]


def test_a_plan_fails_where_a_create_would(api):
    for body in ({"template": "no-such-template"}, {"resources": {"cpu": -1}}, {"snapshot": "no-such"}):
        with pytest.raises(atoll.ApiError) as caught:
            plan(api, **body)
        assert caught.value.status in (400, 404), body


def test_a_reader_cannot_plan(api, own):
    key = api.post("/api/sandbox/keys", {"name": f"k-{time.time_ns()}", "scopes": ["sandbox:read"]})
    with pytest.raises(atoll.ApiError) as caught:
        plan(own.api(key=key["key"]))
    assert caught.value.status == 403
