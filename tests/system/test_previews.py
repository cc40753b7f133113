# SPDX-License-Identifier: Apache-2.0
"""Servers inside a sandbox, seen from outside: three ways in, both directions streamed, and nothing that lies gets far."""

import base64
import concurrent.futures
import contextlib
import datetime
import http.client
import json
import os
import pathlib
import signal
import socket
import struct
import threading
import time

import pytest

import atoll

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not os.path.exists("/usr/bin/python3"), reason="the host's /usr has no python3")]
PROGRAM = (pathlib.Path(__file__).parent.parent / "preview_server.py").read_bytes()
DOMAIN = "preview.localhost"
PORT, V6 = 8000, 8080


@pytest.fixture(scope="module")
def shared():
    """A server with a domain for previews, and else without set-up."""
    running = atoll.Server(environment={"SANDBOX_PREVIEW_DOMAIN": DOMAIN}).start()
    yield running
    running.remove_all()


@pytest.fixture(scope="module")
def api(shared):
    with contextlib.closing(shared.api()) as connection:
        yield connection


def start_server(api, box, port, *options):
    api.write(box, "/tmp/server.py", PROGRAM)
    api.exec(box, f"setsid python3 /tmp/server.py {port} {' '.join(options)} >/tmp/log 2>&1 </dev/null & "
             f"for i in $(seq 600); do grep -q ':{port:04X} .* 0A' /proc/net/tcp /proc/net/tcp6 && exit; sleep 0.05; "
             "done; exit 1")


@pytest.fixture(scope="module")
def box(api):
    with api.sandbox(internet=True) as sandbox:
        start_server(api, sandbox, PORT)
        start_server(api, sandbox, V6, "--v6")
        yield sandbox


def below(box, path="/", port=PORT):
    return f"/api/sandbox/instances/{box}/preview/{port}{path}"


def switch(api, box, **change):
    return api.call("PATCH", f"/api/sandbox/instances/{box}/preview", change)


def link(api, box, port=PORT, **options):
    return api.post(f"/api/sandbox/instances/{box}/preview-tokens", {"port": port, **options})


def ask(server, path, method="GET", body=None, **headers):
    """As a stranger: no key."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    with contextlib.closing(connection):
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        return atoll.Answer(response, response.read())


def heard(answer):
    """Headers of the request, as the server inside got them."""
    found = {}
    for line in answer.json()["lines"]:
        name, value = line.split(":", 1)
        found.setdefault(name.lower(), []).append(value.strip())
    return found


# ---- what goes in ----


def test_a_request_arrives_as_if_the_server_were_at_the_root(api, box, shared):
    answer = api.raw("GET", below(box, "/a%20b//c?x=%2F&y"))
    assert answer.status == 200 and answer.json()["target"] == "/a%20b//c?x=%2F&y"
    got = heard(answer)
    assert got["host"] == [f"localhost:{PORT}"]
    assert got["x-forwarded-prefix"] == [below(box, "")]
    assert got["x-forwarded-for"] == ["127.0.0.1"] and got["x-forwarded-proto"] == ["http"]
    assert got["x-forwarded-host"] == [f"127.0.0.1:{shared.port}"]
    assert got["forwarded"] == [f'for=127.0.0.1;proto=http;host="127.0.0.1:{shared.port}"']


def test_keys_and_our_cookies_stay_outside(api, box):
    answer = api.raw("GET", below(box), headers={
        "Cookie": "a=1; atoll_session=secret; __Host-atoll_session=secret; __HOST-atoll_oidc=secret; b=2", "X-Other": "1"})
    got = heard(answer)
    assert got["cookie"] == ["a=1; b=2"] and got["x-other"] == ["1"]
    assert not {"authorization", "x-api-key", "x-atoll-project"} & set(got)
    assert "secret" not in answer.body.decode() and api.key not in answer.body.decode()


def test_a_session_of_a_browser_opens_no_preview(api, box, shared):
    """What the server inside answers would be a page of the console's own origin, with the visitor's rights."""
    begun = ask(shared, "/v1/session", "POST", json.dumps({"key": api.key}), Content_Type="application/json")
    assert begun.status == 201
    headers = {"Cookie": begun.headers["Set-Cookie"].split(";")[0], "Origin": f"http://127.0.0.1:{shared.port}",
               "X_Atoll_CSRF": begun.json()["csrf_token"]}
    assert ask(shared, "/accounts/me", **headers).status == 200
    for path in (below(box), f"/daytona/preview/{box}/{PORT}/"):
        for method in ("GET", "POST"):
            assert ask(shared, path, method, **headers).status == 401, path


def test_a_header_for_one_hop_alone_stays_there(api, box):
    got = heard(api.raw("GET", below(box), headers={"Connection": "X-Hop, keep-alive", "X-Hop": "1", "TE": "trailers",
                                                    "Keep-Alive": "5", "Proxy-Authorization": "x"}))
    assert not {"x-hop", "te", "keep-alive", "proxy-authorization", "connection"} & set(got)


def test_origin_and_referer_are_those_of_the_server_inside(api, box, shared):
    own = f"http://127.0.0.1:{shared.port}"
    got = heard(api.raw("GET", below(box), headers={"Origin": own, "Referer": own + below(box, "/page?q")}))
    assert got["origin"] == [f"http://localhost:{PORT}"]
    assert got["referer"] == [f"http://localhost:{PORT}/page?q"]
    got = heard(api.raw("GET", below(box), headers={"Origin": "http://other", "Referer": own + "/console?token=1"}))
    assert got["origin"] == ["http://other"] and "referer" not in got


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"])
def test_every_method_goes_through_with_its_body(api, box, method):
    answer = api.raw(method, below(box, "/x"), body=b"z" * 100000, headers={"Content-Type": "text/plain"})
    assert (answer.json()["method"], answer.json()["size"]) == (method, 100000)


def test_chunks_come_as_chunks(api, box, shared):
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", shared.port)) as connection:
        connection.request("POST", below(box, "/x"), iter([b"a" * 10, b"b" * 70000, b"c"]),
                           {"Authorization": f"Bearer {api.key}"}, encode_chunked=True)
        answer = atoll.Answer(response := connection.getresponse(), response.read())
    assert answer.json()["size"] == 70011 and heard(answer)["transfer-encoding"] == ["chunked"]


def test_trace_and_connect_are_refused(api, box):
    assert api.raw("TRACE", below(box)).status == 400


def test_a_server_on_ipv6_alone_is_found(api, box):
    assert api.raw("GET", below(box, "/six", V6)).json()["target"] == "/six"


# ---- what comes out ----


def test_answers_without_a_body_have_none(api, box):
    for path, status in (("/empty?204", 204), ("/empty?304", 304)):
        answer = api.raw("GET", below(box, path))
        assert (answer.status, answer.body) == (status, b"")
    answer = api.raw("HEAD", below(box, "/x"))
    assert answer.status == 200 and answer.body == b""
    assert api.raw("GET", below(box, "/x")).status == 200


def test_interim_answers_and_trailers_are_taken_off(api, box):
    assert api.raw("GET", below(box, "/early")).body == b"ok"
    assert api.raw("GET", below(box, "/trailer")).body == b"ok"


def test_trailers_come_to_a_client_that_takes_them(api, box, shared):
    for headers, tail in (("TE: trailers\r\nConnection: TE, close", b"0\r\nX-Sum: 1\r\n\r\n"), ("Connection: close", b"0\r\n\r\n")):
        with contextlib.closing(socket.create_connection(("127.0.0.1", shared.port), timeout=20)) as sock:
            sock.sendall(f"GET {below(box, '/trailer')} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {api.key}\r\n{headers}\r\n\r\n".encode())
            got = b""
            while more := sock.recv(65536):
                got += more
            assert got.endswith(b"2\r\nok\r\n" + tail), got


def test_an_address_that_the_server_gives_leads_back_to_it(api, box):
    for to, expected in (("/x?y", below(box, "/x?y")), (f"http://localhost:{PORT}/z", below(box, "/z")),
                         ("http://other/", "http://other/"), ("rel", "rel"), ("//other/x", "//other/x"),
                         (below(box, "/x"), below(box, "/x"))):
        assert api.raw("GET", below(box, "/away?" + to)).headers["Location"] == expected


def test_a_page_is_made_to_fit_below_its_path(api, box):
    answer = api.raw("GET", below(box, "/page"), headers={"Accept": "text/html", "Accept-Encoding": "gzip"})
    text = answer.body.decode()
    assert f'<base href="{below(box, "/page")}"><script>' in text
    assert f"<script src={below(box, '/a.js')}>" in text and f"<a href='{below(box, '/b')}'>" in text
    assert answer.headers.get_all("Set-Cookie") == [f"s=1; Path={below(box, '/')}"]
    assert answer.headers["ETag"] is None
    assert answer.headers["Content-Security-Policy"].startswith("sandbox ")
    assert "allow-same-origin" not in answer.headers["Content-Security-Policy"]
    # A part of a page gets addresses, nothing else.
    part = api.raw("GET", below(box, "/page"), headers={"Sec-Fetch-Dest": "empty"}).body.decode()
    assert "<base" not in part and below(box, "/b") in part
    # A program says nothing of what it wants: what says that it is a page is one.
    assert f'<base href="{below(box, "/page")}">' in api.raw("GET", below(box, "/page"), headers={"Accept": "*/*"}).body.decode()


def test_a_server_that_always_packs_is_unpacked_or_told_of(api, box):
    wanted = {"Accept": "text/html", "Accept-Encoding": "gzip, br"}
    answer = api.raw("GET", below(box, "/packed?gzip"), headers=wanted)
    text = answer.body.decode()
    assert answer.status == 200 and answer.headers["Content-Encoding"] is None and text.endswith("<p>line</p>" * 20000)
    assert f"<a href='{below(box, '/b')}'>" in text and "<base " in text
    policies = answer.headers.get_all("Content-Security-Policy")
    assert policies[0].startswith("default-src 'self'") and policies[1].startswith("sandbox ")
    refused = api.raw("GET", below(box, "/packed?br"), headers=wanted)
    assert refused.status == 502 and "packed as &#39;br&#39;" in refused.body.decode().replace("'", "&#39;"), refused.body
    # What a script asked for so it can read.
    assert api.raw("GET", below(box, "/packed?br"), headers={"Sec-Fetch-Dest": "empty"}).headers["Content-Encoding"] == "br"


def test_a_style_sheet_finds_its_images(api, box):
    for headers in ({"Sec-Fetch-Dest": "style"}, {"Accept": "text/css,*/*;q=0.1", "Accept-Encoding": "gzip"}, {}):
        answer = api.raw("GET", below(box, "/sheet"), headers=headers)
        assert answer.body.decode() == f"a{{background:url({below(box, '/x.png')})}}" and answer.headers["ETag"] is None


def test_events_come_as_they_happen(api, box):
    response = api.open("GET", below(box, "/sse?8"))  # one in 0.2 s
    times = []
    for _ in range(8):
        assert response.readline().startswith(b"data: ")
        times.append(time.monotonic())
        response.readline()
    response.read()
    assert times[-1] - times[0] > 0.5


class WebSocket:
    def __init__(self, port, path, **headers):
        self.sock = socket.create_connection(("127.0.0.1", port), timeout=60)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET {path} HTTP/1.1", "Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Key: {key}",
                 "Sec-WebSocket-Version: 13", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
        self.sock.sendall("\r\n".join(lines + ["", ""]).encode())
        self.head = b""
        while b"\r\n\r\n" not in self.head:
            more = self.sock.recv(4096)
            assert more, self.head
            self.head += more
        self.status = int(self.head.split(b" ")[1])

    def echo(self, data):
        self.sock.sendall(b"\x82\xfe" + struct.pack(">H", len(data)) + b"\0\0\0\0" + data)
        got = b""
        while len(got) < len(data) + 4:
            got += self.sock.recv(65536)
        return got[4:]

    def close(self):
        self.sock.close()


def test_a_websocket_is_a_tunnel(api, box, shared):
    with contextlib.closing(WebSocket(shared.port, below(box, "/ws"), Host="localhost",
                                      Authorization=f"Bearer {api.key}")) as ws:
        assert ws.status == 101 and b"Sec-WebSocket-Accept" in ws.head
        for size in (126, 1000, 60000):
            assert ws.echo(b"m" * size) == b"m" * size


def rss_kib(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0])


def test_two_gib_go_in_and_out_in_constant_memory(api, box, shared):
    size, block, pid = 2 << 30, b"u" * (1 << 20), shared.pid_of("api")
    before = rss_kib(pid)
    connection = http.client.HTTPConnection("127.0.0.1", shared.port, timeout=60)
    with contextlib.closing(connection):
        connection.putrequest("POST", below(box, "/x"))
        connection.putheader("Authorization", f"Bearer {api.key}")
        connection.putheader("Content-Length", str(size))
        connection.endheaders()
        peak = 0
        for i in range(size >> 20):
            connection.sock.sendall(block)
            if i % 64 == 0:
                peak = max(peak, rss_kib(pid))
        assert atoll.Answer(response := connection.getresponse(), response.read()).json()["size"] == size
        assert peak - before < 8 << 10, "KiB"
        response = api.open("GET", below(box, f"/big?{size >> 2}"))
        got = 0
        while piece := response.read(1 << 20):
            got += len(piece)
        assert got == size >> 2 and rss_kib(pid) - before < 8 << 10


def test_a_slow_reader_holds_the_server_inside_back(api, box, shared):
    pid = shared.pid_of("api")
    before = rss_kib(pid)
    with contextlib.closing(socket.create_connection(("127.0.0.1", shared.port), timeout=60)) as sock:
        sock.sendall(f"GET {below(box, '/big?100000000')} HTTP/1.1\r\nHost: localhost\r\n"
                     f"Authorization: Bearer {api.key}\r\n\r\n".encode())
        assert sock.recv(1000).startswith(b"HTTP/1.1 200")
        time.sleep(0.5)  # the server must not read on during this time
        assert rss_kib(pid) - before < 4 << 10
        assert api.raw("GET", below(box, "/x")).status == 200


# ---- what lies ----


@pytest.mark.parametrize("lie", ["both", "two-lengths", "bare-cr", "bare-lf", "fold", "blank-name", "coding", "status",
                                 "switch", "nothing", "half-head", "huge-head", "not-http", "interim"])
def test_a_lie_in_the_head_is_a_bad_gateway(api, box, lie):
    answer = api.raw("GET", below(box, f"/lie/{lie}"))
    assert answer.status == 502 and answer.json()["error"]["code"] == "unavailable"
    assert answer.headers.get("X-A") is None


@pytest.mark.parametrize("lie", ["short", "bad-chunk", "open-chunk"])
def test_a_body_that_is_not_whole_does_not_look_whole(api, box, lie):
    with pytest.raises((http.client.IncompleteRead, ConnectionError, http.client.RemoteDisconnected)):
        api.open("GET", below(box, f"/lie/{lie}")).read()
    api.close()


def test_what_follows_an_answer_is_nobodys(api, box):
    for _ in range(5):
        assert api.raw("GET", below(box, "/smuggle")).body == b"ok"
        assert api.raw("GET", below(box, "/x")).json()["target"] == "/x"


def test_connections_are_used_again_and_lost_ones_replaced(api, box):
    counts = [api.raw("GET", below(box, "/x")).json()["count"] for _ in range(5)]
    assert counts[-1] > counts[0]
    # The server closes after each answer, whatever it has said.
    for _ in range(20):
        assert api.raw("GET", below(box, "/once")).status == 200


def test_many_at_once_all_get_a_connection(api, box, shared):
    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        made = [pool.submit(ask, shared, below(box, "/x"), Authorization=f"Bearer {api.key}") for _ in range(120)]
        assert {answer.result().status for answer in made} == {200}


@pytest.mark.parametrize("head", ["Content-Length: 4\r\nTransfer-Encoding: chunked", "Content-Length: 4\r\nContent-Length: 5",
                                  "X: a\rb", "X: a\r\n b", "Transfer-Encoding: xchunked", "Transfer-Encoding : chunked"])
def test_a_request_that_could_be_read_in_two_ways_does_not_arrive(api, box, shared, head):
    with contextlib.closing(socket.create_connection(("127.0.0.1", shared.port), timeout=60)) as sock:
        sock.sendall(f"POST {below(box, '/x')} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {api.key}\r\n{head}"
                     "\r\n\r\nabcd".encode())
        assert sock.recv(65536).startswith(b"HTTP/1.1 400")


# ---- who may ----


def test_without_a_key_there_is_nothing(shared, box):
    assert ask(shared, below(box)).status == 401


def test_a_port_that_is_not_shown_is_refused(api, box):
    answer = api.raw("GET", below(box, port=22))
    assert answer.status == 403 and "port 22" in answer.json()["error"]["message"]
    assert api.raw("GET", below(box, port=0)).status == 400
    assert api.raw("GET", below(box, port=65536)).status == 400


def test_where_nobody_listens_people_get_a_page_and_programs_an_error(api, box):
    answer = api.raw("GET", below(box, port=3000))
    assert answer.status == 502 and "nothing listens on port 3000" in answer.json()["error"]["message"]
    page = api.raw("GET", below(box, port=3000), headers={"Accept": "text/html"})
    assert page.status == 502 and 'http-equiv="refresh"' in page.body.decode()
    assert page.headers["Content-Security-Policy"].startswith("default-src 'none'")


def test_while_a_sandbox_is_made_people_get_a_page_that_looks_again(api, shared):
    broker, made = shared.pid_of("broker"), []

    def create():
        with contextlib.closing(shared.api()) as own:
            made.append(own.create(internet=True, name="slow"))
    thread = threading.Thread(target=create)
    os.kill(broker, signal.SIGSTOP)
    try:
        thread.start()
        atoll.wait_for(lambda: api.raw("GET", "/api/sandbox/instances/slow").status == 200, 15, "its row")
        page = api.raw("GET", below("slow"), headers={"Accept": "text/html"})
        program = api.raw("GET", below("slow"))
    finally:
        os.kill(broker, signal.SIGCONT)
        thread.join()
    assert page.status == 503 and page.headers["Retry-After"] == "2"
    assert 'http-equiv="refresh"' in page.body.decode() and "is being made" in page.body.decode()
    assert program.status == 503 and program.json()["error"]["code"] == "unavailable"
    api.remove(made[0]["id"])


def test_a_sandbox_without_network_has_no_previews(api):
    with api.sandbox(internet=False) as sandbox:
        answer = api.raw("GET", below(sandbox))
        assert answer.status == 403 and "no network" in answer.json()["error"]["message"]
        assert api.get(f"/api/sandbox/instances/{sandbox}/preview")["reachable"] is False


def test_a_share_link_opens_one_port_and_ends_with_a_switch(api, box, shared):
    with pytest.raises(atoll.ApiError) as private:
        link(api, box)
    assert private.value.status == 409
    assert switch(api, box, public=True)["public"]
    made = link(api, box)
    expires = datetime.datetime.fromisoformat(made["expiresAt"].replace("Z", "+00:00")).timestamp()
    assert abs(expires - (time.time() + 24 * 3600)) < 120
    assert ask(shared, made["path"] + "x").json()["target"] == "/x"
    assert ask(shared, made["path"][:-1]).headers["Location"] == made["path"]
    # Nothing changes what is signed.
    token = made["token"]
    flipped = token[:20] + ("A" if token[20] != "A" else "B") + token[21:]
    for forged in (flipped, token[:-2], token + "AA", "x", "A" * 100):
        assert ask(shared, f"/api/sandbox/preview/{forged}/").status == 404
    for change in ({"public": False}, {"rotate": True}, {"enabled": False}):
        switch(api, box, public=True, enabled=True)
        fresh = link(api, box)["path"]
        assert ask(shared, fresh).status == 200
        switch(api, box, **change)
        assert ask(shared, fresh).status in (403, 404)
        # And does not come back.
        switch(api, box, public=True, enabled=True)
        assert ask(shared, fresh).status == 404


def test_switching_off_ends_what_runs(api, box, shared):
    switch(api, box, public=True, enabled=True)
    made = link(api, box)
    with contextlib.closing(WebSocket(shared.port, made["path"] + "ws", Host="localhost")) as ws:
        assert ws.echo(b"m" * 200) == b"m" * 200
        switch(api, box, public=False)
        with contextlib.suppress(ConnectionError):
            assert ws.sock.recv(100) == b""


def test_a_private_link_needs_no_public_preview_and_an_expired_one_is_void(api, box, shared):
    switch(api, box, public=False, enabled=True)
    made = link(api, box, private=True, ttlSeconds=3)
    assert ask(shared, made["path"]).status == 200
    atoll.wait_for(lambda: ask(shared, made["path"]).status == 404, 30, "the end of a link")


def test_links_outlive_a_restart_and_end_with_another_secret_or_without_sharing(private_server):
    server = private_server

    def again(**environment):
        server.stop()
        server.environment.update(environment)
        return server.start().api()
    with contextlib.closing(server.start().api()) as api:
        box = api.create(internet=True, persistent=True)["id"]
        start_server(api, box, PORT)
        switch(api, box, public=True)
        shared, private = link(api, box)["path"], link(api, box, private=True)["path"]
        assert [ask(server, path).status for path in (shared, private)] == [200, 200]
    # The key is nowhere in the data folder as it is: it is encrypted with a key of mode 0600.
    assert all(path.stat().st_mode & 0o077 == 0 for path in (server.data / "keys").iterdir())
    again().close()
    assert [ask(server, path).json()["target"] for path in (shared, private)] == ["/", "/"]
    again(SANDBOX_PREVIEW_SECRET="a secret of the tests").close()
    assert [ask(server, path).status for path in (shared, private)] == [404, 200]
    del server.environment["SANDBOX_PREVIEW_SECRET"]
    with contextlib.closing(again(ATOLL_PREVIEW_SHARING="false")) as api:
        assert [ask(server, path).status for path in (shared, private)] == [404, 200]
        with pytest.raises(atoll.ApiError) as refused:
            link(api, box)
        assert refused.value.status == 409 and "--preview-sharing" in refused.value.hint
        assert api.get(f"/api/sandbox/instances/{box}/preview")["sharingEnabled"] is False


# ---- an origin apart ----


def test_links_lead_to_an_origin_apart_where_there_is_nothing_else(private_server):
    server, name = private_server, f"apart.localhost:{private_server.port}"
    server.environment["SANDBOX_PREVIEW_ORIGIN"] = f"http://{name}"
    with contextlib.closing(server.start().api()) as api, api.sandbox(internet=True) as sandbox:
        start_server(api, sandbox, PORT)
        made = link(api, sandbox, private=True)
        assert made["url"] == f"http://{name}{made['path']}"
        # Elsewhere a link only leads there, whatever it is worth; a name like it is not it.
        for host in ("localhost", f"127.0.0.1:{server.port}", "apart.localhost", f"x.{name}", f"apart.localhost.:{server.port}"):
            answer = ask(server, made["path"] + "a%20b?x=1&y", Host=host)
            assert (answer.status, answer.headers["Location"]) == (307, made["url"] + "a%20b?x=1&y"), host
        answer = ask(server, made["path"] + "x", "POST", b"z", Host="localhost")
        assert answer.status == 307 and answer.headers["Location"] == made["url"] + "x"
        # There its pages are in no box; by key, in our own origin, they are in one.
        page = ask(server, made["path"] + "page", Host=name.upper(), Accept="text/html")
        assert page.status == 200 and b"<base" in page.body and page.headers["Content-Security-Policy"] is None
        boxed = api.raw("GET", below(sandbox, "/page"), headers={"Accept": "text/html"})
        assert boxed.headers["Content-Security-Policy"].startswith("sandbox ")
        key = f"Bearer {api.key}"
        for path in ("/", "/console", "/healthz", "/readyz", "/metrics", "/mcp", "/v1/events", "/accounts/me", "/api/sandbox/instances",
                     "/api/sandbox/preview", "/api/sandbox/preview/../instances", "/api/sandbox/preview/%2e%2e/instances",
                     "/api/client/v1/sandbox/instances", "/sandboxes", "/api/sandbox", below(sandbox, "/x")):
            assert ask(server, path, Host=name, Authorization=key).status in (400, 404), path
            assert ask(server, path, Host=name, Authorization=key, E2b_Sandbox_Id=sandbox, E2b_Sandbox_Port=str(PORT)).status in (400, 404), path
        with contextlib.closing(WebSocket(server.port, made["path"] + "ws", Host=name)) as ws:
            assert ws.status == 101 and ws.echo(b"m" * 200) == b"m" * 200


# ---- ports ----


def test_a_key_reaches_every_port_of_its_own_sandboxes_but_the_privileged(api, box, shared):
    port = 31337
    start_server(api, box, port)
    host = f"{port}-{box}.{DOMAIN}"
    assert api.raw("GET", below(box, "/x", port)).json()["target"] == "/x"
    assert ask(shared, "/x", Host=host, Authorization=f"Bearer {api.key}").json()["target"] == "/x"
    assert ask(shared, link(api, box, port, private=True)["path"] + "x").json()["target"] == "/x"
    # Without a key, and with the key of another team.
    assert (ask(shared, below(box, "/x", port)).status, ask(shared, "/x", Host=host).status) == (401, 401)
    team = api.post("/api/sandbox/projects", {"name": "another-team"})["id"]
    key = api.call("POST", "/api/sandbox/keys", {"name": "theirs"}, {"X-Atoll-Project": team})["key"]
    for answer in (ask(shared, below(box, "/x", port), Authorization=f"Bearer {key}"), ask(shared, "/x", Host=host, Authorization=f"Bearer {key}")):
        assert answer.status == 404, answer.body
    for other, word in ((22, "port 22"), (1023, "port 1023"), (49983, "E2B"), (49999, "E2B")):
        answer = api.raw("GET", below(box, "/x", other))
        assert answer.status == 403 and word in answer.json()["error"]["message"]
    assert api.raw("GET", below(box, "/x", 1024)).status == 502, "nobody listens there"


def test_ports_are_listed_ones_ranges_the_templates_or_any(private_server):
    server = private_server
    server.environment["SANDBOX_PREVIEW_PORTS"] = "7000-7002, 4000"
    with contextlib.closing(server.start().api()) as api:
        api.post("/api/sandbox/templates", {"name": "ported", "from": "host", "ports": [9123]})
        with api.sandbox(internet=True, template="ported") as ported, api.sandbox(internet=True) as plain:
            def shown(box, *ports):
                return [api.raw("GET", below(box, port=port)).status != 403 for port in ports]
            assert shown(plain, 4000, 7000, 7001, 7002) == [True] * 4
            assert shown(plain, 3999, 6999, 7003, PORT, 9123) == [False] * 5
            assert shown(ported, 7001, 9122, 9124, PORT) == [True, False, False, False]
            start_server(api, ported, 9123)
            assert api.raw("GET", below(ported, "/x", 9123)).json()["target"] == "/x"
            assert link(api, ported, 9123, private=True)["port"] == 9123
            with pytest.raises(atoll.ApiError) as refused:
                link(api, plain, 9123, private=True)
            assert refused.value.status == 403
            assert api.get(f"/api/sandbox/instances/{ported}/preview")["ports"] == "7000-7002, 4000,9123"
            server.stop()
            server.environment["SANDBOX_PREVIEW_PORTS"] = "any"
            server.start()
            api.close()
            assert shown(plain, 1, 22, PORT, 9123, 65535) == [True] * 5


# ---- by host ----


def test_a_host_of_its_own_is_entered_by_a_link_and_kept_by_a_cookie(api, box, shared):
    made = link(api, box, private=True)
    host = f"{PORT}-{box}.{DOMAIN}"
    assert made["hostUrl"].startswith(f"http://{host}/")
    assert ask(shared, "/", Host=host).status == 401
    entered = ask(shared, f"/a?x=1&atoll_preview={made['token']}&y", Host=host)
    assert entered.status == 302 and entered.headers["Location"] == "/a?x=1&y"
    cookie = entered.headers["Set-Cookie"].split(";")[0]
    assert "HttpOnly" in entered.headers["Set-Cookie"]
    answer = ask(shared, "/api/sandbox/instances", Host=host, Cookie=cookie + "; own=1")
    assert answer.json()["target"] == "/api/sandbox/instances"
    assert heard(answer)["cookie"] == ["own=1"] and "x-forwarded-prefix" not in heard(answer)
    # Its pages are as they are, in an origin that is theirs.
    page = ask(shared, "/page", Host=host, Cookie=cookie, Accept="text/html")
    assert "<base" not in page.body.decode() and page.headers["Content-Security-Policy"] is None
    # A sibling's page may send the cookie, but not as if it came from here.
    for headers in ({"Origin": "http://8000-other." + DOMAIN}, {"Sec_Fetch_Site": "same-site"}):
        assert ask(shared, "/x", Host=host, Cookie=cookie, **headers).status == 403
    assert ask(shared, "/x", Host=host, Cookie=cookie, Origin=f"http://{host}").status == 200
    # It is for one port.
    assert ask(shared, "/x", Host=f"{V6}-{box}.{DOMAIN}", Cookie=cookie).status == 401


def test_a_cookie_of_a_host_ends_with_the_key_that_made_its_link(api, box, shared):
    key = api.post("/api/sandbox/keys", {"name": "host-link", "scopes": ["sandbox:read", "sandbox:write"]})
    with contextlib.closing(shared.api(key["key"])) as holder:
        token = link(holder, box, private=True)["token"]
    host, cookie = f"{PORT}-{box}.{DOMAIN}", f"atoll_preview={token}"
    assert ask(shared, "/x", Host=host, Cookie=cookie).status == 200
    with contextlib.closing(WebSocket(shared.port, "/ws", Host=host, Cookie=cookie, Origin=f"http://{host}")) as ws:
        assert ws.echo(b"m" * 200) == b"m" * 200
        api.delete(f"/api/sandbox/keys/{key['id']}")
        since = time.monotonic()
        ws.sock.settimeout(3)
        with contextlib.suppress(ConnectionError):
            assert ws.sock.recv(100) == b""
        assert time.monotonic() - since < 3
    assert ask(shared, "/x", Host=host, Cookie=cookie).status == 404


def test_a_key_opens_a_host_and_stays_outside(api, box, shared):
    answer = ask(shared, "/k", Host=f"{PORT}-{box}.{DOMAIN}", Authorization=f"Bearer {api.key}")
    assert answer.json()["target"] == "/k" and api.key not in answer.body.decode()
    assert ask(shared, "/", Host=f"{PORT}-{box}.{DOMAIN}", Authorization="Bearer atoll_" + "a" * 40).status == 401


def test_a_host_that_is_none_is_not_found(api, box, shared):
    for host in (f"{PORT}.{DOMAIN}", f"x-{box}.{DOMAIN}", f"{PORT}-nothing.{DOMAIN}", f"70000-{box}.{DOMAIN}"):
        assert ask(shared, "/", Host=host, Authorization=f"Bearer {api.key}").status == 404


@pytest.mark.parametrize("host, status", [
    ("evil.example", 421), ("localhost.evil.example", 421), ("127.0.0.1.evil.example", 421), ("evil.example:7777", 421),
    ("localhost", 200), ("LOCALHOST.:80", 200), ("a.localhost", 200), ("127.0.0.1:1", 200), ("[::1]:1", 200)])
def test_a_name_that_is_not_ours_is_refused(shared, host, status):
    """A page elsewhere can have its name lead to us (DNS rebinding)."""
    answer = ask(shared, "/healthz", Host=host)
    assert answer.status == status
    assert status == 200 or "--hosts" in answer.json()["error"]["hint"]


# ---- a life ----


def test_a_preview_wakes_its_sandbox_and_holds_it(api):
    with api.sandbox(internet=True, autoPauseMs=1500) as sandbox:
        start_server(api, sandbox, PORT)
        state = lambda: api.get(f"/api/sandbox/instances/{sandbox}")["state"]  # noqa: E731
        response = api.clone().open("GET", below(sandbox, "/sse?15"))
        assert len(response.read().split(b"\n\n")) == 16
        atoll.wait_for(lambda: state() == "paused", 15, "a pause")
        assert api.raw("GET", below(sandbox, "/x")).json()["target"] == "/x"
        assert "sandbox.resumed" in [e["kind"] for e in api.get(f"/api/sandbox/instances/{sandbox}/events?limit=1000")["items"]]


def test_an_open_websocket_outlives_a_pause_and_a_byte_on_it_ends_that(api, shared):
    with api.sandbox(internet=True) as sandbox:
        start_server(api, sandbox, PORT)
        state = lambda: api.get(f"/api/sandbox/instances/{sandbox}")["state"]  # noqa: E731
        with contextlib.closing(WebSocket(shared.port, below(sandbox, "/ws"), Host="localhost",
                                          Authorization=f"Bearer {api.key}")) as ws:
            assert ws.echo(b"a" * 200) == b"a" * 200
            api.post(f"/api/sandbox/instances/{sandbox}/pause")
            assert state() == "paused"
            assert ws.echo(b"b" * 200) == b"b" * 200
            # It runs before its row says so.
            atoll.wait_for(lambda: state() == "started", 15, "its row says that it runs")


def test_the_end_of_a_sandbox_ends_its_previews(api, shared):
    with api.sandbox(internet=True) as sandbox:
        start_server(api, sandbox, PORT)
        assert api.raw("GET", below(sandbox)).status == 200
        with contextlib.closing(WebSocket(shared.port, below(sandbox, "/ws"), Host="localhost",
                                          Authorization=f"Bearer {api.key}")) as ws:
            api.remove(sandbox)
            with contextlib.suppress(ConnectionError):
                assert ws.sock.recv(100) == b""
        assert api.raw("GET", below(sandbox)).status == 404


# ---- other ways to ask for one ----


def test_a_sandbox_is_made_with_its_switches(api):
    with api.sandbox(internet=False, previewEnabled=False, previewPublic=True) as sandbox:
        assert api.get(f"/api/sandbox/instances/{sandbox}")["preview"] == {
            "enabled": False, "public": True, "ports": "1024-65535", "sharingEnabled": True}
        assert api.raw("GET", below(sandbox)).status == 403
    with api.sandbox(internet=False) as sandbox:
        assert api.get(f"/api/sandbox/instances/{sandbox}")["preview"] == {
            "enabled": True, "public": False, "ports": "1024-65535", "sharingEnabled": True}


def test_the_command_line_switches_and_gives_links(api, box, shared):
    assert b"enabled  yes" in shared.cli("preview", box, "--on", "--public").stdout
    url = shared.cli("preview", box, PORT, "--share", "--ttl", "10m").stdout.decode().strip()
    assert url.startswith(f"http://{PORT}-{box}.{DOMAIN}/?atoll_preview=")
    assert b"public   no" in shared.cli("preview", box, "--not-public").stdout
    refused = shared.cli("preview", box, PORT, "--share")
    assert refused.returncode == 125 and b"are private" in refused.stderr
    assert shared.cli("preview", box, "x").returncode == 122
    assert shared.cli("preview", box, "--on", "--off").returncode == 122


def test_an_agent_gets_a_link(api, box, shared):
    result = api.post("/v1/tools/preview_url", {"sandboxId": box, "input": {"port": PORT}})
    url = result["content"][0]["text"]
    assert url.startswith(f"http://{PORT}-{box}.{DOMAIN}/?atoll_preview=")
    assert ask(shared, "/api/sandbox/preview/" + url.split("=")[1] + "/x").json()["target"] == "/x"
