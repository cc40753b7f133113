# SPDX-License-Identifier: Apache-2.0
"""Create, list, get, start, stop, delete; names, labels, resources, time limits."""

import threading
import time
import urllib.parse

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"


def test_create_answers_when_the_sandbox_is_usable(api):
    made = api.create(name="first-box", labels={"team": "blue"}, internet=False)
    try:
        assert made["state"] == "started"
        assert made["desired_state"] == "started"
        assert made["name"] == "first-box"
        assert made["labels"] == {"team": "blue"}
        assert made["provider"] == "native"
        assert made["resources"]["cpu"] == 0.5
        assert made["resources"]["memory_mb"] == 1024
        assert made["resources"]["disk_mb"] == 1024
        assert made["resources"]["pids"] == 512
        assert isinstance(made["resources"]["disk_advisory"], bool)
        assert api.exec(made["id"], "echo usable")["stdout"] == "usable\n"
    finally:
        api.remove(made["id"])


def test_create_without_waiting_answers_at_once_and_gets_there(api):
    made = api.post(f"{PATH}?wait=false", {"template": "host", "internet": False})
    try:
        assert made["state"] in ("pending", "creating", "started")
        atoll.wait_for(lambda: api.get(f"{PATH}/{made['id']}")["state"] == "started", 30, "started")
        assert api.get(f"{PATH}/{made['id']}")["last_event"]["text"]
    finally:
        api.remove(made["id"])


def test_a_sandbox_is_found_by_id_and_by_name(api):
    with api.sandbox(name="findable", internet=False) as sandbox:
        assert api.get(f"{PATH}/{sandbox}")["id"] == sandbox
        assert api.get(f"{PATH}/findable")["id"] == sandbox
    with pytest.raises(atoll.ApiError) as failure:
        api.get(f"{PATH}/findable")
    assert (failure.value.status, failure.value.code) == (404, "not_found")
    assert failure.value.request_id


def test_names_are_unique_among_the_living(api):
    with api.sandbox(name="only-one", internet=False):
        with pytest.raises(atoll.ApiError) as failure:
            api.create(name="only-one", internet=False)
        assert failure.value.status == 409
    with api.sandbox(name="only-one", internet=False):
        pass


def test_lists_are_filtered_and_paged(api):
    made = [api.create(internet=False, name=f"page-{i}", labels={"page": "yes", "n": str(i)})["id"] for i in range(5)]
    try:
        seen, page = [], None
        while True:
            query = {"limit": 2, "label": "page=yes"}
            if page:
                query["page"] = page
            answer = api.get(f"{PATH}?{urllib.parse.urlencode(query)}")
            seen += [row["id"] for row in answer["items"]]
            assert len(answer["items"]) <= 2
            page = answer.get("next_page")
            if not page:
                break
        assert sorted(seen) == sorted(made)
        assert [r["id"] for r in api.get(f"{PATH}?name=page-3")["items"]] == [made[3]]
        assert all(r["state"] == "started" for r in api.get(f"{PATH}?state=started")["items"])
    finally:
        for sandbox in made:
            api.remove(sandbox)


def test_stop_keeps_the_files_and_start_brings_them_back(api):
    with api.sandbox(internet=False, persistent=True) as sandbox:
        api.exec(sandbox, "echo kept > /home/user/kept; sudo -n true; sleep 300 >/dev/null 2>&1 &")
        stopped = api.post(f"{PATH}/{sandbox}/stop")
        assert stopped["state"] == "stopped"
        with pytest.raises(atoll.ApiError) as failure:
            api.exec(sandbox, "true")
        assert failure.value.status == 409 and "start" in failure.value.message + failure.value.hint
        started = api.post(f"{PATH}/{sandbox}/start")
        assert started["state"] == "started"
        result = api.exec(sandbox, "cat /home/user/kept; stat -c %U /home/user/kept; pgrep -c sleep || true")
        assert result["stdout"].split()[:2] == ["kept", "user"]


def test_stop_and_start_may_be_repeated(api):
    with api.sandbox(internet=False, persistent=True) as sandbox:
        for _ in range(3):
            assert api.post(f"{PATH}/{sandbox}/stop")["state"] == "stopped"
            assert api.post(f"{PATH}/{sandbox}/stop")["state"] == "stopped"
            assert api.post(f"{PATH}/{sandbox}/start")["state"] == "started"
            assert api.post(f"{PATH}/{sandbox}/start")["state"] == "started"
        assert api.exec(sandbox, "echo ok")["stdout"] == "ok\n"


def test_delete_leaves_nothing_on_the_host(api, server):
    made = api.create(internet=False)
    api.exec(made["id"], "sleep 300 & dd if=/dev/zero of=/home/user/f bs=1M count=8 2>/dev/null")
    api.remove(made["id"])
    atoll.wait_for(lambda: made["id"] not in str(atoll.Host(server.data).leftovers()), 30, "clean host")
    with pytest.raises(atoll.ApiError) as failure:
        api.exec(made["id"], "true")
    assert failure.value.status in (404, 409)


def test_delete_at_the_same_time_succeeds_for_all(server, api):
    made = api.create(internet=False)
    results = []

    def remove():
        own = server.api()
        try:
            own.remove(made["id"])
            results.append("ok")
        except atoll.ApiError as failure:
            results.append(failure.status)
        own.close()

    threads = [threading.Thread(target=remove) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(results) <= {"ok", 404}, results
    assert "ok" in results


def test_resources_are_resolved_and_in_the_reply(api):
    with api.sandbox(internet=False, resources={"memory_mb": 256, "pids": 100}) as sandbox:
        effective = api.get(f"{PATH}/{sandbox}")["resources"]
        assert (effective["cpu"], effective["memory_mb"], effective["pids"]) == (0.5, 256, 100)
        stats = api.get(f"{PATH}/{sandbox}/stats")
        assert stats["memory_limit_bytes"] == 256 << 20
        assert stats["pids_limit"] == 100


def test_operator_caps_clamp():
    server = atoll.Server(environment={"SANDBOX_MAX_MEMORY_MB": "512", "SANDBOX_DEFAULT_CPU": "0.25"}).start()
    try:
        api = server.api()
        with api.sandbox(internet=False, resources={"memory_mb": 4096}) as sandbox:
            effective = api.get(f"{PATH}/{sandbox}")["resources"]
            assert effective["memory_mb"] == 512
            assert effective["cpu"] == 0.25
    finally:
        server.remove_all()


@pytest.mark.parametrize("body, word", [
    ({"template": "no-such-template"}, "no-such-template"),
    ({"name": "-bad-"}, "name"),
    ({"name": "x" * 64}, "name"),
    ({"resources": {"memory_mb": -1}}, "memory_mb"),
    ({"resources": {"cpu": "many"}}, "cpu"),
    ({"resources": {"memory_mb": 1}}, "memory"),
    ({"env": {"A=B": "x"}}, "A=B"),
    ({"labels": {str(i): "x" for i in range(100)}}, "labels"),
    ({"unknown_member": 1}, "unknown_member"),
    ([], "object"),
])
def test_bad_creates_say_what_is_wrong(api, body, word):
    if isinstance(body, dict):
        body.setdefault("template", "host")
    with pytest.raises(atoll.ApiError) as failure:
        api.post(PATH, body)
    assert failure.value.status in (400, 404)
    assert word in failure.value.message + failure.value.hint


@pytest.mark.parametrize("member, meant", [
    ("cpu", "resources.cpu"), ("memory", "resources.memory_mb"), ("disk", "resources.disk_mb"),
    ("timeout", "timeout_ms"), ("templateId", "template"), ("labls", "labels"),
])
def test_an_unknown_member_is_answered_with_the_one_that_was_meant(api, member, meant):
    with pytest.raises(atoll.ApiError) as failure:
        api.post(PATH, {member: 1})
    assert failure.value.status == 400 and failure.value.message == f"{member}: unknown member"
    assert failure.value.hint == f"did you mean '{meant}'?"


def test_ephemeral_sandboxes_end_when_idle_and_persistent_ones_do_not(private_server):
    private_server.flags += ["--idle-reap", "4s"]
    api = private_server.start().api()
    ephemeral, kept = api.create(internet=False)["id"], api.create(internet=False, persistent=True)["id"]
    busy = api.create(internet=False)["id"]
    api.post(f"{PATH}/{busy}/exec", {"command": "sleep 30", "background": True})
    attended, viewer = api.create(internet=False)["id"], api.clone()
    opened = api.post(f"{PATH}/{attended}/terminal", {})
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
               "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    assert viewer.open("GET", opened["path"], headers=upgrade).status == 101

    def is_gone():
        try:
            return api.get(f"{PATH}/{ephemeral}")["state"] in ("deleted", "deleting")
        except atoll.ApiError as failure:
            return failure.status == 404
    atoll.wait_for(is_gone, 20, "the idle one deleted")
    assert api.get(f"{PATH}/{kept}")["state"] == "started"
    assert api.get(f"{PATH}/{busy}")["state"] == "started"
    assert api.get(f"{PATH}/{attended}")["state"] == "started"
    viewer.close()


def test_a_timeout_ends_a_sandbox(private_server):
    api = private_server.start().api()
    made = api.create(internet=False, timeout_ms=4000)["id"]
    assert api.exec(made, "echo still")["stdout"] == "still\n"

    def is_gone():
        try:
            return api.get(f"{PATH}/{made}")["state"] in ("deleted", "deleting", "stopped")
        except atoll.ApiError as failure:
            return failure.status == 404
    atoll.wait_for(is_gone, 20, "ended by its timeout")
