# SPDX-License-Identifier: Apache-2.0
"""What a tenant controls holds no worker and no place in a lane: slow uploads, archives, long calls, receivers of webhooks."""

import concurrent.futures
import contextlib
import io
import json
import os
import resource
import socket
import tarfile
import threading
import time

import pytest

import atoll
from test_fairness import Tenant, agent_of, metric, stopped

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
TEMPLATES = "/api/sandbox/templates"
BACKUPS = "/api/sandbox/backups"
SNAPSHOTS = "/api/sandbox/snapshots"
BYTES = {"Content-Type": "application/octet-stream"}
HASH = "0123456789abcdef" * 4
SLOW = 600  # seconds that a slow upload may go on, in the tests that need some


@pytest.fixture(scope="module")
def patient():
    """A server that gives up no upload while a test runs."""
    running = atoll.Server(flags=["--upload-idle", f"{SLOW}s", "--uploads-per-project-max", "12"]).start()
    yield running
    running.remove_all()


@pytest.fixture
def loud(patient):
    return Tenant(patient, "loud")


@pytest.fixture
def quiet(patient):
    return Tenant(patient, "quiet")


@pytest.fixture(scope="module")
def image():
    """A tar of a root filesystem with a single file."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        member = tarfile.TarInfo("etc/os-release")
        member.size = 8
        tar.addfile(member, io.BytesIO(b"ID=test\n"))
    return content.getvalue()


class Upload:
    """A request whose body never comes to its end."""

    def __init__(self, tenant, method, path, *headers):
        self.connection = socket.create_connection(("127.0.0.1", tenant.server.port), timeout=60)
        lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {tenant.key}",
                 "Content-Type: application/octet-stream", "Content-Length: 1000000", *headers]
        self.connection.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())

    def answer(self):
        response = atoll.http.client.HTTPResponse(self.connection)
        response.begin()
        body = response.read()
        return response.status, body.decode()


PLACES = [("POST", TEMPLATES + "/import?name=slow-%d&format=tar"), ("PUT", BACKUPS + "/slow-%d"),
          ("PUT", TEMPLATES + f"/builds/files/{HASH}?number=%d")]


@contextlib.contextmanager
def slow_uploads(tenant, places):
    """Uploads to these places, each of which brings a byte a second."""
    uploads, ends = [Upload(tenant, method, path % i) for i, (method, path) in enumerate(places)], threading.Event()

    def trickle():
        while not ends.wait(1):
            for upload in uploads:
                with contextlib.suppress(OSError):
                    upload.connection.send(b"x")
    thread = threading.Thread(target=trickle, daemon=True)
    thread.start()
    try:
        atoll.wait_for(lambda: metric(tenant.server, "atoll_uploads ") >= len(uploads), 30, "uploads under way")
        yield uploads
    finally:
        ends.set()
        thread.join()
        for upload in uploads:
            upload.connection.close()


def timed(call):
    """Seconds that it takes."""
    start = time.monotonic()
    call()
    return time.monotonic() - start


def import_template(tenant, name, image):
    tenant.api.call("POST", f"{TEMPLATES}/import?name={name}&format=tar", image, BYTES)
    tenant.api.delete(f"{TEMPLATES}/{name}")


def bring_a_snapshot(tenant, box):
    """Exports a snapshot, fetches the file, and brings and imports it again."""
    api = tenant.api
    snapshot = api.post(f"{PATH}/{box}/snapshot", {})["id"]
    backup = api.post(f"{SNAPSHOTS}/{snapshot}/export", {})["id"]
    atoll.wait_for(lambda: api.get(f"{BACKUPS}/{backup}")["state"] == "ready", 60, "the backup")
    content = api.raw("GET", f"{BACKUPS}/{backup}/content").body
    brought = api.call("PUT", f"{BACKUPS}/brought-{snapshot}", content, BYTES)["id"]
    again = api.post(f"{SNAPSHOTS}/import", {"backup": brought})["id"]
    for path in (f"{SNAPSHOTS}/{again}", f"{BACKUPS}/{brought}", f"{BACKUPS}/{backup}", f"{SNAPSHOTS}/{snapshot}"):
        api.delete(path)


@pytest.mark.parametrize("place", range(len(PLACES)), ids=["import", "backup", "files"])
def test_8_slow_uploads_of_a_project_do_not_hold_up_others(loud, quiet, image, place):
    with quiet.api.sandbox(internet=False) as box, slow_uploads(loud, [PLACES[place]] * 8):
        # They go on for ten minutes.
        assert timed(lambda: import_template(quiet, "usual", image)) < 60
        assert timed(lambda: import_template(loud, "own", image)) < 60
        if place == 0:
            assert timed(lambda: bring_a_snapshot(quiet, box)) < 60
        assert timed(lambda: quiet.api.remove(quiet.api.create(internet=False)["id"])) < 30
        assert metric(quiet.server, 'atoll_workers{lane="slow",state="running"}') <= 1
        assert metric(quiet.server, "atoll_builds_running ") == 0 == metric(quiet.server, "atoll_backups_running ")


def open_files(server):
    """Descriptors of the api process that have a file without a name."""
    folder, found = f"/proc/{server.pid_of('api')}/fd", []
    for name in os.listdir(folder):
        with contextlib.suppress(OSError):
            path = os.readlink(f"{folder}/{name}")
            found += [path] if "(deleted)" in path and str(server.data) in path else []
    return found


def test_a_client_that_leaves_in_the_middle_leaves_nothing(loud, patient):
    before = open_files(patient)
    with slow_uploads(loud, PLACES * 2):
        assert len(open_files(patient)) > len(before)
        assert loud.api.get(BACKUPS)["items"][0]["state"] == "making"
    atoll.wait_for(lambda: metric(patient, "atoll_uploads ") == 0, 30, "the end of the uploads")
    atoll.wait_for(lambda: open_files(patient) == before, 10, "files that are closed")
    atoll.wait_for(lambda: loud.api.get(BACKUPS)["items"] == [], 10, "rows that are gone")
    assert not [t for t in loud.api.get(TEMPLATES)["items"] if t["name"].startswith("slow")]


def test_uploads_past_the_share_of_a_project_are_refused_before_their_bodies(loud, quiet, image):
    with slow_uploads(loud, [PLACES[0]] * 12):
        status, body = Upload(loud, "PUT", PLACES[1][1] % 99).answer()
        assert status == 429 and "12 uploads of this project" in body
        import_template(quiet, "usual", image)


def test_an_image_that_is_too_large_is_refused_before_its_body(loud):
    upload = socket.create_connection(("127.0.0.1", loud.server.port), timeout=60)
    upload.sendall((f"POST {TEMPLATES}/import?name=x&format=tar HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {loud.key}\r\n"
                    f"Expect: 100-continue\r\nContent-Length: {64 << 30}\r\n\r\n").encode())
    assert upload.recv(64).startswith(b"HTTP/1.1 413 ")
    upload.close()


def test_an_upload_without_pace_is_given_up(private_server, image):
    private_server.flags += ["--upload-idle", "2s"]
    server = private_server.start()
    tenant = Tenant(server, "slow")
    with slow_uploads(tenant, PLACES[:2]) as uploads:
        for upload in uploads:
            status, body = upload.answer()
            assert status == 504 and "are fewer than 1024 a second" in body, body
    silent = Upload(tenant, "POST", PLACES[0][1] % 99)
    status, body = silent.answer()
    assert status == 504 and "nothing has come for 2 s" in body, body
    assert metric(server, "atoll_uploads_given_up_total ") == 3
    import_template(tenant, "usual", image)


def test_a_server_that_is_killed_in_the_middle_of_uploads_leaves_nothing(private_server, image):
    server = private_server.start()
    tenant = Tenant(server, "cut")
    with slow_uploads(tenant, PLACES):
        server.kill9("api")
        server.wait_ready()
    assert tenant.open().get(BACKUPS)["items"] == []
    assert not [t for t in tenant.open().get(TEMPLATES)["items"] if t["name"].startswith("slow")]
    assert open_files(server) == [] and metric(server, "atoll_uploads ") == 0
    assert not any(p.is_file() for p in (server.data / "blobs").rglob("*"))
    assert list((server.data / "tmp").iterdir()) == [] == list((server.data / "builds").iterdir())
    tenant.api = tenant.open()
    import_template(tenant, "slow-0", image)


def at_once(tenant, calls):
    """The statuses of these calls, made together."""
    def call(method_and_path):
        api = tenant.open(timeout=120)
        try:
            return api.raw(*method_and_path).status
        finally:
            api.close()
    with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(call, calls))


def test_archives_and_their_starts_take_turns(loud, quiet):
    boxes = [loud.api.create(internet=False)["id"] for _ in range(6)]
    for box in boxes:
        loud.api.exec(box, "head -c 1000000 /dev/urandom > /var/tmp/data")
    assert at_once(loud, [("POST", f"{PATH}/{box}/stop") for box in boxes]) == [200] * 6
    assert at_once(loud, [("POST", f"{PATH}/{box}/archive") for box in boxes]) == [200] * 6
    assert {loud.api.get(f"{PATH}/{box}")["state"] for box in boxes} == {"archived"}
    # Two callers of one start await the same work.
    assert at_once(loud, [("POST", f"{PATH}/{box}/start") for box in boxes * 2]) == [200] * 12
    for box in boxes:
        assert loud.api.exec(box, "stat -c %s /var/tmp/data")["stdout"] == "1000000\n"
        loud.api.remove(box)
    assert metric(quiet.server, "atoll_requests_parked ") == 0


def test_an_archive_that_fails_tells_each_of_its_callers(loud):
    with loud.api.sandbox(internet=False) as box:
        answer = loud.api.raw("POST", f"{PATH}/{box}/archive")
        assert answer.status == 409 and "is started and cannot be archived" in answer.json()["error"]["message"]
        assert loud.api.exec(box, "echo well")["stdout"] == "well\n"


def call_tool(tenant, box, command, seconds=120):
    api = tenant.open(timeout=seconds)
    try:
        return api.raw("POST", "/v1/tools/bash", {"sandboxId": box, "input": {"command": command}})
    finally:
        api.close()


def call_mcp(tenant, box, command, seconds=120):
    api = tenant.open(timeout=seconds)
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "bash", "arguments": {"command": command}}}
    try:
        return api.raw("POST", f"/mcp?sandbox={box}&stdio=true", message, {"Accept": "application/json, text/event-stream"})
    finally:
        api.close()


@pytest.mark.parametrize("call", [call_tool, call_mcp], ids=["tools", "mcp"])
def test_a_sandbox_whose_agent_stands_still_leaves_long_calls_to_others(private_server, call):
    private_server.flags += ["--tool-calls-max", "6", "--tool-calls-per-sandbox-max", "2", "--agent-timeout", "60s"]
    tenant = Tenant(private_server.start(), "tenant")
    with tenant.api.sandbox(internet=False) as hung, tenant.api.sandbox(internet=False) as well:
        assert "usual" in call(tenant, well, "echo usual").body.decode()
        with stopped(agent_of(tenant.api, hung)):
            callers = [threading.Thread(target=quietly, args=(call, tenant, hung), daemon=True)
                       for _ in range(12)]
            for caller in callers:
                caller.start()
            atoll.wait_for(lambda: metric(private_server, 'atoll_long_calls{state="waiting"}') >= 10, 30, "long calls that wait")
            assert metric(private_server, 'atoll_long_calls{state="running"}') <= 2
            for _ in range(3):
                assert timed(lambda: call(tenant, well, "true")) < 30
        tenant.api.remove(hung)
        for caller in callers:
            caller.join(60)


def quietly(call, tenant, box):
    with contextlib.suppress(OSError):
        call(tenant, box, "true")


class Hole:
    """Takes connections, and never answers."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/hook"


class Ear:
    """Answers each request, and counts them."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/hook"
        self.heard = 0
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                connection.close()
                self.heard += 1


def test_receivers_of_a_project_that_do_not_answer_do_not_delay_anothers(private_server):
    private_server.flags += ["--webhook-allow-private", "true"]
    server = private_server.start()
    louds, quiet = [Tenant(server, f"loud-{i}") for i in range(2)], Tenant(server, "quiet")
    hole, ear = Hole(), Ear()
    for tenant in louds:
        for _ in range(20):
            tenant.api.post("/v1/webhooks", {"url": hole.url})
    quiet.api.post("/v1/webhooks", {"url": ear.url, "events": ["sandbox.started"]})
    for tenant in louds:
        tenant.api.remove(tenant.api.create(internet=False)["id"])
    hole.listener.accept()  # a delivery has begun
    with quiet.api.sandbox(internet=False):
        # By turns of 8 that last 10 s each it would come after 50 s.
        assert timed(lambda: atoll.wait_for(lambda: ear.heard > 0, 120, "the delivery")) < 25
    hole.listener.close()
    ear.listener.close()


def read_events(tenant):
    """A stream of the project's events, of which nothing is read but the head."""
    connection = socket.create_connection(("127.0.0.1", tenant.server.port), timeout=60)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.sendall((f"GET /v1/events?after=0 HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {tenant.key}\r\n"
                        "Accept: text/event-stream\r\n\r\n").encode())
    assert connection.recv(12) == b"HTTP/1.1 200"
    return connection


def test_readers_of_events_that_read_nothing_do_not_delay_another(loud, quiet):
    stuck = [read_events(loud) for _ in range(40)]
    reader = read_events(quiet)
    for _ in range(3):
        loud.api.remove(loud.api.create(internet=False)["id"])
    with quiet.api.sandbox(internet=False) as box:
        def read_until_told():
            told = b""
            while box.encode() not in told:
                told += reader.recv(65536)
        assert timed(read_until_told) < 15
    for connection in [*stuck, reader]:
        connection.close()


def test_a_thousand_connections_that_stand_still_do_not_hold_up_others(loud, quiet, image):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    kinds = [PLACES[0], PLACES[1], PLACES[2], ("POST", PATH + "?number=%d")]
    held = []
    try:
        with quiet.api.sandbox(internet=False) as box:
            for i in range(1000):
                method, path = kinds[i % len(kinds)]
                held.append(Upload(loud, method, path % i, *(["Expect: 100-continue"] if i % 8 >= 4 else [])))
            assert metric(quiet.server, "atoll_uploads ") <= 12
            assert timed(lambda: quiet.api.get(f"{PATH}/{box}/files?path=/etc")) < 15
            assert timed(lambda: quiet.api.exec(box, "true")) < 15
            assert timed(lambda: import_template(quiet, "usual", image)) < 60
            assert timed(lambda: quiet.api.remove(quiet.api.create(internet=False)["id"])) < 30
    finally:
        for upload in held:
            upload.connection.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    atoll.wait_for(lambda: metric(quiet.server, "atoll_uploads ") == 0, 60, "the end of the uploads")
    atoll.wait_for(lambda: metric(quiet.server, "atoll_requests_waiting ") == 0, 60, "no request that waits")
    # Their places are free again.
    import_template(loud, "after", image)
    assert json.loads(loud.api.raw("GET", BACKUPS).body)["items"] == []
