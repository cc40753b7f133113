# SPDX-License-Identifier: Apache-2.0
"""Requests that wait for a template hold no thread, tell how far it is, and end with their client."""

import concurrent.futures
import contextlib
import json
import random
import signal
import socket
import sqlite3
import struct
import subprocess
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
BOXES = "/api/sandbox/instances"
WAITERS = 20


class Slow:
    """A template that another server seems to build, until the test says that it is ready."""

    def __init__(self, server, name):
        self.server, self.name = server, name
        server.api().post("/api/sandbox/templates", {"name": name, "from": "host"})
        self.set("building", "0 % begins")

    def set(self, state, text=""):
        with contextlib.closing(sqlite3.connect(self.server.data / "store" / "atoll.db", timeout=20)) as db, db:
            db.execute("UPDATE templates SET state = ?, state_text = ?, updated_at = ? WHERE name = ?",
                       (state, text, int(time.time() * 1000), self.name))


@pytest.fixture
def slow(server, request):
    name = f"slow-{random.getrandbits(32):x}"
    template = Slow(server, name)
    yield template
    template.set("ready")
    with contextlib.suppress(atoll.ApiError):
        server.api().delete(f"/api/sandbox/templates/{name}")


def parked(server):
    text = server.api().raw("GET", "/metrics").body.decode()
    return int(next(line.split()[1] for line in text.splitlines() if line.startswith("atoll_requests_parked ")))


def start(server, path, body, headers=None, key=None):
    """Sends a POST and does not read the answer."""
    text = json.dumps(body)
    lines = [f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{server.port}", f"Authorization: Bearer {key or server.key}",
             "Content-Type: application/json", f"Content-Length: {len(text)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    connection.sendall(("\r\n".join(lines) + "\r\n\r\n" + text).encode())
    return connection


def answer_of(connection):
    response = atoll.http.client.HTTPResponse(connection)
    response.begin()
    body = response.read()
    connection.close()
    return response.status, json.loads(body)


def names(api):
    return [box["name"] for box in api.get(f"{BOXES}?limit=1000")["items"]]


def test_creates_that_wait_for_a_template_do_not_hold_up_others(server, api, slow):
    waiting = [start(server, BOXES, {"template": slow.name, "name": f"w{i}-{slow.name}", "internet": False})
               for i in range(WAITERS)]
    waiting += [start(server, "/v1/leases/acquire", {"template": slow.name, "key": f"k{i % 2}-{slow.name}"})
                for i in range(4)]
    atoll.wait_for(lambda: parked(server) == WAITERS + 4, 20, "parked requests")
    began = time.monotonic()
    box = api.create(internet=False)["id"]
    api.post("/v1/leases/acquire", {"key": f"quick-{slow.name}"})
    api.post(f"{BOXES}/{box}/pause")
    api.post(f"{BOXES}/{box}/resume")
    api.post(f"{BOXES}/{box}/snapshot", {})
    api.remove(box)
    assert time.monotonic() - began < 10
    slow.set("ready")
    made = [answer_of(connection) for connection in waiting]
    assert [status for status, _ in made[:WAITERS]] == [201] * WAITERS
    assert sorted(status for status, _ in made[WAITERS:]) == [200, 200, 201, 201]
    assert parked(server) == 0
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda one: server.api().remove(one[1]["id"]), made[:WAITERS]))
    for key in (f"k0-{slow.name}", f"k1-{slow.name}", f"quick-{slow.name}"):
        api.delete(f"/v1/leases/{key}")


def test_a_create_that_prefers_an_asynchronous_response_is_answered_at_once(server, api, slow):
    answer = api.raw("POST", BOXES, {"template": slow.name, "internet": False},
                     {"Prefer": "wait=5, Respond-Async"})
    made = answer.json()
    assert answer.status == 202 and made["state"] == "pending"
    assert answer.headers["Preference-Applied"] == "respond-async"
    assert answer.headers["Location"] == f"{BOXES}/{made['id']}"
    gone = api.raw("POST", BOXES, {"template": slow.name, "internet": False}, {"Prefer": "respond-async"}).json()
    api.remove(gone["id"])
    slow.set("ready")
    atoll.wait_for(lambda: api.get(answer.headers["Location"])["state"] == "started", 30, "the sandbox")
    api.remove(made["id"])
    assert gone["id"] not in [box["id"] for box in api.get(f"{BOXES}?limit=1000")["items"]]


def events_of(stream):
    """(event, data) of each event as it comes, until the stream ends."""
    while line := stream.readline().decode().strip():
        yield line.removeprefix("event: "), json.loads(stream.readline().decode().removeprefix("data: "))
        assert stream.readline() in (b"\n", b"")


def test_a_create_tells_how_far_its_template_is(server, slow):
    connection = start(server, BOXES, {"template": slow.name, "internet": False}, {"Accept": "text/event-stream"})
    response = atoll.http.client.HTTPResponse(connection)
    response.begin()
    assert response.status == 200 and response.headers["Content-Type"] == "text/event-stream"
    events = events_of(response)
    told = [next(events)]
    slow.set("building", "34 % unpacks")
    told.append(next(events))
    slow.set("ready")
    told += events
    assert [name for name, _ in told] == ["progress", "progress", "result"]
    assert [data.get("percent") for _, data in told[:2]] == [0, 34]
    assert "34 % unpacks" in told[1][1]["message"]
    assert told[2][1]["state"] == "started"
    server.api().remove(told[2][1]["id"])


def test_a_template_that_fails_ends_the_wait(server, slow):
    connection = start(server, BOXES, {"template": slow.name, "internet": False})
    atoll.wait_for(lambda: parked(server) == 1, 20, "the parked request")
    slow.set("failed", "the disk is full")
    status, body = answer_of(connection)
    assert status == 503 and "the disk is full" in body["error"]["message"]


def test_a_caller_that_loses_access_while_it_waits_gets_nothing(server, api, slow):
    made = api.post("/api/sandbox/keys", {"name": "waits", "scopes": ["sandbox:read", "sandbox:write"]})
    waiting = [start(server, BOXES, {"template": slow.name, "internet": False}, key=made["key"]),
               start(server, "/v1/leases/acquire", {"template": slow.name, "key": f"lost-{slow.name}"}, key=made["key"])]
    atoll.wait_for(lambda: parked(server) == 2, 20, "parked requests")
    async_made = server.api(made["key"]).raw("POST", BOXES, {"template": slow.name, "internet": False}, {"Prefer": "respond-async"}).json()
    api.delete(f"/api/sandbox/keys/{made['id']}")
    slow.set("ready")
    for connection in waiting:
        status, body = answer_of(connection)
        assert status == 401 and "revoked" in body["error"]["message"]
    atoll.wait_for(lambda: api.get(f"{BOXES}/{async_made['id']}")["state"] == "failed", 20, "the end of the pending create")
    assert "revoked" in json.dumps(api.get(f"{BOXES}/{async_made['id']}"))
    api.remove(async_made["id"])
    assert api.get(f"{BOXES}?template={slow.name}")["items"] == []
    assert f"lost-{slow.name}" not in json.dumps(api.get("/v1/leases"))


def cut(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def test_a_client_that_leaves_while_it_waits_leaves_nothing(server, api, slow):
    waiting = [start(server, BOXES, {"template": slow.name, "internet": False}) for _ in range(8)]
    atoll.wait_for(lambda: parked(server) == 8, 20, "parked requests")
    for number, connection in enumerate(waiting):
        cut(connection) if number % 2 else connection.close()
    atoll.wait_for(lambda: parked(server) == 0, 10, "the end of the wait")
    slow.set("ready")
    assert api.get(f"{BOXES}?template={slow.name}")["items"] == []


@pytest.mark.parametrize("arguments", [["run", "--keep", "--no-internet", "-t", "TEMPLATE", "--", "true"],
                                       ["run", "--no-internet", "-t", "TEMPLATE", "--", "true"],
                                       ["template", "build", "TEMPLATE"]])
def test_ctrl_c_cancels_a_create_that_waits(server, api, slow, arguments):
    def waiting():
        return api.get(f"{BOXES}?template={slow.name}")["items"]

    process = subprocess.Popen([atoll.ATOLL, *(slow.name if word == "TEMPLATE" else word for word in arguments)],
                               env=server.cli_environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, start_new_session=True)
    atoll.wait_for(waiting, 20, "the sandbox")
    box = waiting()[0]["id"]
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=20)
    assert process.returncode == 128 + signal.SIGINT
    assert f"interrupted: the create is cancelled and sandbox '{box}' deleted" in told.decode().splitlines()[-1]
    assert waiting() == []
    slow.set("ready")
    with api.sandbox(template=slow.name, internet=False):
        assert len(waiting()) == 1


def leave_at_random(server, template):
    """Whether the reply had come when the client left: then the sandbox is the client's to remove."""
    connection = start(server, BOXES, {"template": template, "internet": False})
    time.sleep(random.uniform(0, 0.25))
    connection.shutdown(socket.SHUT_WR)
    received = b""
    with contextlib.suppress(OSError):
        while piece := connection.recv(65536):
            received += piece
    connection.close()
    if b"\r\n\r\n{" in received:
        made = json.loads(received.split(b"\r\n\r\n", 1)[1])
        server.api().remove(made["id"])
        return True
    return False


def folders_of(server):
    """The ids of what the provider has of sandboxes: their files."""
    return {entry.name for entry in (server.data / "sandboxes").iterdir()}


def test_a_storm_of_cut_connections_leaves_no_sandbox(server, api):
    api.post("/api/sandbox/templates", {"name": "storm", "from": "host"})
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        heard = list(pool.map(lambda _: leave_at_random(server, "storm"), range(100)))
    assert not all(heard), "every client heard of its sandbox: nothing was cut"
    atoll.wait_for(lambda: api.get(f"{BOXES}?template=storm")["items"] == [], 20, "an empty list")
    known = {box["id"] for box in api.get(f"{BOXES}?limit=1000")["items"]}
    atoll.wait_for(lambda: folders_of(server) <= known, 20, "the provider to have none of them")
    api.delete("/api/sandbox/templates/storm")


def test_a_create_with_an_idempotency_key_stays_for_its_repetition(server, api):
    headers = {"Idempotency-Key": f"once-{random.getrandbits(40):x}"}
    body = {"internet": False, "name": f"kept-{random.getrandbits(32):x}"}
    connection = start(server, BOXES, body, headers)
    connection.close()
    atoll.wait_for(lambda: body["name"] in names(api), 20, "the sandbox")
    answer = api.raw("POST", BOXES, json.dumps(body), {**headers, "Content-Type": "application/json"})
    assert answer.headers["Idempotent-Replayed"] == "true"
    api.remove(answer.json()["id"])


def test_a_server_that_is_killed_while_creates_wait_leaves_nothing(private_server):
    server = private_server.start()
    slow = Slow(server, "slow")
    waiting = [start(server, BOXES, {"template": "slow", "internet": False}) for _ in range(5)]
    late = server.api().raw("POST", BOXES, {"template": "slow", "internet": False}, {"Prefer": "respond-async"}).json()
    atoll.wait_for(lambda: parked(server) == 5, 20, "parked requests")
    server.kill9("api")
    server.wait_ready()
    for connection in waiting:
        connection.close()
    slow.set("ready")
    api = server.api()
    rows = api.get(f"{BOXES}?template=slow")["items"]
    assert [(row["id"], row["state"]) for row in rows] == [(late["id"], "failed")]
    with api.sandbox(template="slow", internet=False) as box:
        assert api.exec(box, "echo well")["stdout"] == "well\n"


def test_templates_that_are_made_at_once_wait_for_their_turn(server):
    names = [f"turn-{i}" for i in range(12)]
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        made = list(pool.map(lambda name: server.api().raw("POST", "/api/sandbox/templates", {"name": name, "from": "host"}),
                             names))
    assert [answer.status for answer in made] == [201] * len(names)
    for name in names:
        server.api().delete(f"/api/sandbox/templates/{name}")
