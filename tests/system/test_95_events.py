# SPDX-License-Identifier: Apache-2.0
"""Events as pages and as streams, and webhooks with a receiver of our own: order, replay, retries, kill -9."""

import http.client
import json
import threading
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
LIFE = ["sandbox.created", "sandbox.started", "sandbox.deleting", "sandbox.deleted"]


def sse(api, path, headers=None, until=lambda events: False, seconds=10):
    """Reads server-sent events until the condition holds; [(id, event, data)]."""
    connection = http.client.HTTPConnection(api.host, api.port, timeout=seconds)
    connection.request("GET", path, headers={"Authorization": f"Bearer {api.key}", "Accept": "text/event-stream",
                                             **(headers or {})})
    response = connection.getresponse()
    assert response.status == 200, response.read()
    assert response.headers["Content-Type"] == "text/event-stream"
    events, entry, end = [], {}, time.monotonic() + seconds
    try:
        while not until(events):
            assert time.monotonic() < end, f"only {events}"
            line = response.readline().decode().rstrip("\n")
            if line:
                name, _, value = line.partition(":")
                entry[name] = value.strip()
            elif "data" in entry:
                events.append((int(entry.get("id", 0)), entry["event"], json.loads(entry["data"])))
                entry = {}
            else:
                entry = {}
    finally:
        connection.close()
    return events


def newest(api):
    return api.get("/v1/events?last=1")["after"]


def test_a_life_is_told_in_order_with_project_sandbox_and_reason(api):
    before = newest(api)
    made = api.create(internet=False)["id"]
    api.remove(made)
    page = api.get(f"/v1/events?after={before}&sandbox={made}")
    assert [e["kind"] for e in page["items"]] == LIFE
    numbers = [e["sequence"] for e in page["items"]]
    assert numbers == sorted(set(numbers)) and numbers[0] > before and page["after"] == numbers[-1]
    assert all(e["sandbox"] == made and e["project"] for e in page["items"])
    assert page["items"][-1]["reason"] == "user" and page["items"][1]["text"].startswith("started in")
    first = api.get(f"/v1/events?after={before}&sandbox={made}&limit=2")
    rest = api.get(f"/v1/events?after={first['after']}&sandbox={made}&kind=sandbox.*")
    assert [e["kind"] for e in first["items"] + rest["items"]] == LIFE
    assert [e["kind"] for e in api.get(f"/v1/events?sandbox={made}&kind=sandbox.started")["items"]] == LIFE[1:2]


@pytest.mark.parametrize("query, what", [("kind=nosuch.kind", "kind"), ("after=-1", "after"), ("last=0", "last"),
                                         ("last=5&after=1", "last"), ("stream=text", "text"), ("limit=1001", "limit")])
def test_bad_questions_are_refused(api, query, what):
    with pytest.raises(atoll.ApiError) as refused:
        api.get("/v1/events?" + query)
    assert refused.value.status == 400 and what in refused.value.message


def test_a_stream_tells_as_it_happens_and_replays_what_was_missed(api):
    got = []
    reader = threading.Thread(target=lambda: got.extend(
        sse(api, "/v1/events?kind=sandbox.*", until=lambda events: any(e[1] == LIFE[3] for e in events))))
    streams = metric(api, "atoll_http_streams ")
    reader.start()
    atoll.wait_for(lambda: metric(api, "atoll_http_streams ") > streams, 5, "the stream")
    made = api.create(internet=False)["id"]
    api.remove(made)
    reader.join(10)
    mine = [e for e in got if e[2]["sandbox"] == made]
    assert [e[1] for e in mine] == LIFE
    assert all(number == data["sequence"] for number, _, data in mine)
    replayed = sse(api, f"/v1/events?sandbox={made}", {"Last-Event-ID": str(mine[1][0])}, lambda e: len(e) == 2)
    assert replayed == mine[2:]


def metric(api, name):
    for line in api.get("/metrics").decode().splitlines():
        if line.startswith(name) and not line.startswith("#"):
            return float(line.rsplit(" ", 1)[1])
    return 0


def test_a_project_sees_its_own_events_only(api):
    other = "p" + str(time.monotonic_ns())
    api.post("/api/sandbox/projects", {"id": other, "name": other})
    key = api.call("POST", "/api/sandbox/keys", {"name": "other"}, {"X-Atoll-Project": other})["key"]
    theirs = api.clone(key)
    before = newest(api)
    mine, yours = api.create(internet=False)["id"], theirs.create(internet=False)["id"]
    assert {e["sandbox"] for e in theirs.get(f"/v1/events?after={before}")["items"]} == {yours}
    assert {e["sandbox"] for e in api.get(f"/v1/events?after={before}")["items"]} >= {mine, yours}
    seen = api.call("GET", f"/v1/events?after={before}", headers={"X-Atoll-Project": other})["items"]
    assert {e["sandbox"] for e in seen} == {yours}
    stream = sse(theirs, f"/v1/events?after={before}", until=lambda events: len(events) >= 2)
    assert {e[2]["sandbox"] for e in stream} == {yours}
    theirs.remove(yours)
    api.remove(mine)
    theirs.close()


def test_a_stream_goes_on_over_a_restart_of_the_server(private_server):
    api = private_server.start().api()
    first = api.create(internet=False)["id"]
    known = newest(api)
    private_server.kill9("api")
    private_server.wait_ready()
    api = private_server.api()
    api.remove(first)
    second = api.create(internet=False)["id"]
    events = sse(api, "/v1/events", {"Last-Event-ID": str(known)}, lambda e: len(e) >= 4)
    assert [(e[1], e[2]["sandbox"]) for e in events] == [
        (LIFE[2], first), (LIFE[3], first), (LIFE[0], second), (LIFE[1], second)]
    assert all(a[0] < b[0] for a, b in zip(events, events[1:])) and events[0][0] > known


def test_hundreds_of_waiting_streams_cost_no_thread(private_server):
    private_server.flags += ["--requests-per-key-max", "2000"]
    api = private_server.start().api()
    path = f"/proc/{private_server.pid_of('api')}/task"
    import os
    connections = []
    before = None
    for number in range(400):
        connection = http.client.HTTPConnection(api.host, api.port, timeout=10)
        connection.request("GET", "/v1/events", headers={"Authorization": f"Bearer {api.key}",
                                                         "Accept": "text/event-stream"})
        connections.append((connection, connection.getresponse()))
        before = before or len(os.listdir(path))
    assert len(os.listdir(path)) == before
    made = api.create(internet=False)["id"]
    for _, response in connections:
        lines = []
        while len([line for line in lines if line.startswith(b"data:")]) < 2:
            lines.append(response.readline())
        assert made.encode() in b"".join(lines)
    for connection, _ in connections:
        connection.close()
    api.remove(made)


def test_the_command_line_shows_and_follows(server, api):
    before = newest(api)
    made = api.create(internet=False)["id"]
    api.remove(made)
    shown = server.cli("events", "--sandbox", made)
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.decode().splitlines()
    assert [line.split()[2] for line in lines[1:]] == LIFE
    parsed = json.loads(server.cli("events", "--sandbox", made, "--json").stdout)
    assert [e["kind"] for e in parsed] == LIFE
    import subprocess
    following = subprocess.Popen([atoll.ATOLL, "events", "--follow", "--json", "--after", str(before), "--sandbox", made],
                                 env=server.cli_environment(), stdout=subprocess.PIPE)
    got = [json.loads(following.stdout.readline())["kind"] for _ in LIFE]
    following.terminate()
    following.wait(5)
    assert got == LIFE
    assert server.cli("events", "--kind", "nosuch").returncode != 0
