# SPDX-License-Identifier: Apache-2.0
"""Open streams end when their caller loses access: a revoked key, an ended session, a removed member, a disabled user."""

import contextlib
import re
import sqlite3
import time

import pytest

import atoll
from test_sign_in import Browser
from test_terminals import PATH
from web_socket import Socket

pytestmark = pytest.mark.needs_root
PASSWORD = "correct horse battery"
WITHIN_S = 3  # the check runs each second; a busy machine gets one more


@pytest.fixture
def person(server, api):
    """A member whose browser is signed in."""
    email = f"bob{time.time_ns()}@example.com"
    api.post("/v1/users", {"email": email, "password": PASSWORD})
    with contextlib.suppress(atoll.ApiError):
        api.post("/v1/projects/default/members", {"user": "first@example.com", "role": "admin"})
    api.post("/v1/projects/default/members", {"user": email, "role": "member"})
    browser = Browser(server)
    browser.email = email
    browser.session = browser.sign_in(email=email, password=PASSWORD)
    yield browser
    with contextlib.suppress(atoll.ApiError):
        api.delete(f"/v1/users/{email}")


@pytest.fixture
def key(api):
    made = api.post("/api/sandbox/keys", {"name": "streams", "scopes": ["sandbox:read", "sandbox:write"]})
    yield made
    with contextlib.suppress(atoll.ApiError):
        api.delete(f"/api/sandbox/keys/{made['id']}")


def is_open(response):
    """Whether the body goes on: reads what has come, waits at most 0.1 s for more."""
    response.fp.raw._sock.settimeout(0.1)
    try:
        return response.fp.raw._sock.recv(65536) != b""
    except TimeoutError:
        return True
    except OSError:
        return False


def assert_ends(response, since):
    while is_open(response):
        assert time.monotonic() - since < WITHIN_S, "the stream goes on"


def assert_goes_on(response, seconds=1.5):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        assert is_open(response)


def cookie_headers(browser):
    return {"Cookie": "; ".join(f"{name}={value}" for name, value in browser.cookies.items()), "Origin": browser.own}


@contextlib.contextmanager
def event_stream(server, headers=None, key=None, path="/v1/events"):
    own = server.api(key=key)
    if headers:
        own.key = None
    answer = own.open("GET", path, headers={"Accept": "text/event-stream", **(headers or {})})
    assert answer.status == 200, answer.read()
    try:
        yield answer
    finally:
        own.close()


ENDLESS = """import socketserver, time
class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.recv(4096)
        self.request.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Type: text/plain\\r\\n\\r\\n")
        while True:
            self.request.sendall(b"on ")
            time.sleep(0.2)
socketserver.ThreadingTCPServer(("127.0.0.1", 8123), Handler).serve_forever()
"""


@pytest.fixture(scope="module")
def endless(server):
    """A sandbox whose port 8123 answers with a body that does not end."""
    api = server.api()
    with api.sandbox(internet=True) as box:
        api.write(box, "/tmp/endless.py", ENDLESS.encode())
        api.exec(box, "cd /tmp && (setsid python3 endless.py >/dev/null 2>&1 </dev/null &); for i in $(seq 200);"
                      " do grep -q ':1FBB .* 0A' /proc/net/tcp && exit; sleep 0.05; done; exit 1")
        yield box
    api.close()


def assert_closed(socket, since, said):
    with pytest.raises(EOFError) as closing:
        while time.monotonic() - since < WITHIN_S:
            socket.receive()
    frame = closing.value.args[0]
    assert frame[:2] == (1008).to_bytes(2, "big") and said in frame.decode(errors="replace"), frame


def test_streams_of_a_revoked_key_end(server, api, endless, key):
    holder, other = server.api(key["key"]), server.api(key["key"])
    command = holder.open("POST", f"{PATH}/{endless}/exec", {"command": "while :; do echo on; sleep 0.2; done"}, {"Accept": "text/event-stream"})
    page = other.open("GET", f"{PATH}/{endless}/preview/8123/")
    assert (command.status, page.status) == (200, 200)
    terminal = Socket(server, holder.clone().post(f"{PATH}/{endless}/terminal", {})["path"])
    with event_stream(server, key=key["key"]) as events, event_stream(server, key=server.key) as admins:
        for stream in (events, command, page):
            assert_goes_on(stream)
        since = time.monotonic()
        api.delete(f"/api/sandbox/keys/{key['id']}")
        for stream in (events, command, page):
            assert_ends(stream, since)
        assert_closed(terminal, since, "revoked")
        assert_goes_on(admins)
    found = re.search(r"^atoll_streams_ended_total (\d+)$", api.raw("GET", "/metrics").body.decode(), re.M)
    assert int(found[1]) >= 4


def test_a_key_that_another_server_revokes_ends_its_streams(server, api, key):
    with event_stream(server, key=key["key"]) as events:
        assert_goes_on(events)
        with contextlib.closing(sqlite3.connect(server.data / "store" / "atoll.db", timeout=10)) as database, database:
            database.execute("UPDATE keys SET revoked_at = 1 WHERE id = ?", (key["id"],))
        assert_ends(events, time.monotonic())


def test_a_stream_ends_with_its_keys_time(server, api):
    made = api.post("/api/sandbox/keys", {"name": "brief", "expires_in_ms": 3000, "scopes": ["sandbox:read"]})
    with event_stream(server, key=made["key"]) as events:
        assert_goes_on(events)
        assert_ends(events, time.monotonic() + 1.5)


def link_of(maker, box, **options):
    """A private link to the endless page, by a browser or a key."""
    return maker.call("POST", f"{PATH}/{box}/preview-tokens", {"port": 8123, "private": True, **options})["path"]


@contextlib.contextmanager
def opened(server, path):
    """The endless page, by a link alone."""
    stranger = server.api()
    stranger.key = None
    answer = stranger.open("GET", path)
    assert answer.status == 200, answer.read()
    try:
        yield answer
    finally:
        stranger.close()


def status_of(server, path):
    stranger = server.api()
    stranger.key = None
    try:
        answer = stranger.open("GET", path)
        return answer.status
    finally:
        stranger.close()


def assert_link_ends(server, path, since):
    while (status := status_of(server, path)) == 200:
        assert time.monotonic() - since < WITHIN_S, "the link goes on"
    assert status == 404


def test_a_private_link_ends_with_the_key_that_made_it_and_a_shared_one_stays(server, api, endless, key):
    holder = server.api(key["key"])
    path = link_of(holder, endless)
    api.call("PATCH", f"{PATH}/{endless}/preview", {"public": True})
    shared = link_of(holder, endless, private=False)
    with opened(server, path) as page, opened(server, shared) as everyones:
        assert_goes_on(page)
        since = time.monotonic()
        api.delete(f"/api/sandbox/keys/{key['id']}")
        assert_ends(page, since)
        assert_link_ends(server, path, since)
        assert_goes_on(everyones)
    assert status_of(server, shared) == 200
    api.call("PATCH", f"{PATH}/{endless}/preview", {"public": False})


def test_a_private_link_ends_with_a_key_that_another_server_revokes(server, api, endless, key):
    path = link_of(server.api(key["key"]), endless)
    with opened(server, path) as page:
        assert_goes_on(page)
        with contextlib.closing(sqlite3.connect(server.data / "store" / "atoll.db", timeout=10)) as database, database:
            database.execute("UPDATE keys SET revoked_at = 1 WHERE id = ?", (key["id"],))
        since = time.monotonic()
        assert_ends(page, since)
        assert_link_ends(server, path, since)


def test_a_private_link_of_an_admin_reaches_another_project_while_it_is_an_admin(server, api, endless, person):
    project = api.post("/v1/projects", {"name": "links-elsewhere"})["id"]
    try:
        made = api.raw("POST", "/api/sandbox/keys", {"name": "elsewhere", "scopes": ["admin"]}, {"X-Atoll-Project": project}).json()
        with contextlib.closing(server.api(made["key"])) as admin:
            answer = admin.raw("POST", f"{PATH}/{endless}/preview-tokens", {"port": 8123, "private": True}, {"X-Atoll-Project": "default"})
        path = answer.json()["path"]
        assert status_of(server, path) == 200
        api.raw("DELETE", f"/api/sandbox/keys/{made['id']}", headers={"X-Atoll-Project": project})
        assert_link_ends(server, path, time.monotonic())
    finally:
        api.delete(f"/v1/projects/{project}")


def leave(person, api):
    api.delete(f"/v1/projects/default/members/{person.email}")


def disable(person, api):
    api.call("PATCH", f"/v1/users/{person.email}", {"is_disabled": True})


def remove(person, api):
    api.delete(f"/v1/users/{person.email}")


def sign_out(person, _):
    assert person.raw("DELETE", "/v1/session").status == 204


def end_all(person, api):
    api.delete(f"/v1/users/{person.email}/sessions")


@pytest.mark.parametrize("lose", [leave, disable, remove, sign_out, end_all])
def test_streams_of_a_person_end(server, api, box, person, lose):
    headers = cookie_headers(person)
    terminal = Socket(server, person.call("POST", f"{PATH}/{box}/terminal", {})["path"])
    assert terminal.status == 101
    with event_stream(server, headers) as events, event_stream(server, key=server.key) as admins:
        assert_goes_on(events)
        since = time.monotonic()
        lose(person, api)
        assert_ends(events, since)
        assert_closed(terminal, since, "")
        assert_goes_on(admins)


@pytest.mark.parametrize("lose", [leave, disable, remove, sign_out, end_all])
def test_private_links_of_a_person_end(server, api, endless, person, lose):
    path = link_of(person, endless)
    with opened(server, path) as page:
        assert_goes_on(page)
        since = time.monotonic()
        lose(person, api)
        assert_ends(page, since)
        assert_link_ends(server, path, since)


def test_a_private_link_of_a_member_who_becomes_a_viewer_ends(server, api, endless, person):
    path = link_of(person, endless)
    with opened(server, path) as page:
        since = time.monotonic()
        api.call("PATCH", f"/v1/projects/default/members/{person.email}", {"role": "viewer"})
        assert_ends(page, since)
        assert_link_ends(server, path, since)


def test_a_demoted_member_keeps_what_the_role_allows(server, api, box, person):
    headers = cookie_headers(person)
    terminal = Socket(server, person.call("POST", f"{PATH}/{box}/terminal", {})["path"])
    with event_stream(server, headers) as events:
        since = time.monotonic()
        api.call("PATCH", f"/v1/projects/default/members/{person.email}", {"role": "viewer"})
        assert_closed(terminal, since, "sandbox:write")
        assert_goes_on(events)
