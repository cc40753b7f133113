# SPDX-License-Identifier: Apache-2.0
"""What a live view is told beside the states of sandboxes: webhooks, windows, recordings, services; and requests that are sent twice."""

import uuid

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"


@pytest.fixture(scope="module")
def box(server):
    with server.api().sandbox(internet=False) as made:
        yield made


def since(api):
    newest = api.get("/v1/events?last=1")["items"]
    return newest[0]["sequence"] if newest else 0


def told(api, after, kind):
    return [(event["kind"].partition(".")[2], event["text"], event["sandbox"])
            for event in api.get(f"/v1/events?after={after}&kind={kind}.*&limit=1000")["items"]]


def test_webhooks_are_told_by_their_ids_alone(api):
    after = since(api)
    hook = api.post("/v1/webhooks", {"url": "https://example.com/?token=secret-of-url", "events": ["*"]})
    api.call("PATCH", f"/v1/webhooks/{hook['id']}", {"enabled": False})
    api.delete(f"/v1/webhooks/{hook['id']}")
    assert told(api, after, "webhook") == [(verb, hook["id"], None) for verb in ("created", "updated", "deleted")]
    assert "secret-of-url" not in str(api.get(f"/v1/events?after={after}"))
    after = since(api)
    with pytest.raises(atoll.ApiError):
        api.call("PATCH", f"/v1/webhooks/{hook['id']}", {"enabled": True})
    assert told(api, after, "webhook") == [], "what did not happen is not told"


def test_windows_and_recordings_are_told(api, box):
    after = since(api)
    api.post(f"{PATH}/{box}/windows/main/run", {"command": "true"})
    api.post(f"{PATH}/{box}/windows/main/run", {"command": "true"})
    api.delete(f"{PATH}/{box}/windows/main")
    assert told(api, after, "window") == [("opened", "main", box), ("closed", "main", box)]
    after = since(api)
    api.call("PUT", "/api/sandbox/settings", {"record_terminals": True})
    try:
        api.post(f"{PATH}/{box}/windows/taped/run", {"command": "true"})
    finally:
        api.call("PUT", "/api/sandbox/settings", {"record_terminals": False})
    api.delete(f"{PATH}/{box}/windows/taped")
    atoll.wait_for(lambda: len(told(api, after, "recording")) == 2, what="the end of the recording")
    started, ready = told(api, after, "recording")
    assert (started[0], ready[0]) == ("started", "ready") and started[1:] == ready[1:]
    assert ready[1] in [item["id"] for item in api.get("/api/sandbox/recordings")["items"]]


def test_a_loop_of_windows_is_told_only_so_often(api):
    with api.sandbox(internet=False) as box:
        after = since(api)
        for _ in range(40):
            api.post(f"{PATH}/{box}/windows/again/run", {"command": "true"})
            api.delete(f"{PATH}/{box}/windows/again")
        assert 60 <= len(told(api, after, "window")) <= 80


def test_services_are_told(api, box):
    after = since(api)
    path = f"{PATH}/{box}/services/web"
    api.call("PUT", path, {"command": "sleep 1000"})
    api.call("PUT", path, {"command": "sleep 1000"})
    api.post(f"{path}/stop")
    api.post(f"{path}/stop")
    api.post(f"{path}/start")
    api.delete(path)
    assert told(api, after, "service") == [(verb, "web", box) for verb in ("started", "stopped", "started", "removed")]


def twice(api, path, body):
    key = uuid.uuid4().hex
    answers = [api.raw("POST", path, body, {"Idempotency-Key": key}) for _ in range(2)]
    assert [answer.status for answer in answers] == [201, 201], answers[1].body
    assert answers[1].headers["Idempotent-Replayed"] == "true"
    with pytest.raises(atoll.ApiError) as failure:
        api.call("POST", path, {**body, "name": "different"}, {"Idempotency-Key": key})
    assert failure.value.status == 409
    return [answer.json() for answer in answers]


def test_a_repeated_snapshot_or_fork_makes_nothing_new(api, box):
    first, second = twice(api, f"{PATH}/{box}/snapshot", {"sync": False})
    assert first["id"] == second["id"]
    assert [item["id"] for item in api.get(f"/api/sandbox/snapshots?sandbox={box}")["items"]] == [first["id"]]
    first, second = twice(api, f"{PATH}/{box}/fork", {"count": 2})
    ids = sorted(item["id"] for item in first["items"])
    assert sorted(item["id"] for item in second["items"]) == ids and len(ids) == 2
    for id in ids:
        api.remove(id)
