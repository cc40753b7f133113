# SPDX-License-Identifier: Apache-2.0
"""Health, metrics, the OpenAPI document, keys and projects, limits, hostile HTTP."""

import json
import socket
import subprocess
import threading
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"


def talk(server, data, wait=2.0):
    with socket.create_connection(("127.0.0.1", server.port), timeout=wait) as raw:
        raw.sendall(data)
        out = b""
        try:
            while piece := raw.recv(65536):
                out += piece
        except (TimeoutError, ConnectionResetError):
            pass
        return out


def test_health_readiness_metrics(server, api):
    anonymous = atoll.Api("127.0.0.1", server.port)
    assert anonymous.raw("GET", "/healthz").status == 200
    assert anonymous.raw("GET", "/readyz").status == 200
    text = anonymous.raw("GET", "/metrics").body.decode()
    for name in ("atoll_http_requests_total", "atoll_sandboxes"):
        assert name in text
    for line in text.splitlines():
        assert line.startswith("#") or len(line.rsplit(" ", 1)) == 2


def test_the_openapi_document_is_served_and_committed(server, api):
    served = api.get("/openapi.json")
    printed = json.loads(subprocess.run([atoll.BUILD / "atolld", "--openapi"], capture_output=True, check=True).stdout)
    committed = json.loads((atoll.ROOT / "docs" / "api" / "openapi.json").read_text())
    assert served == printed == committed
    assert served["openapi"].startswith("3.1")
    for path, item in served["paths"].items():
        for method, operation in item.items():
            if method in ("get", "post", "put", "patch", "delete"):
                assert operation["summary"] and operation["responses"], (method, path)


@pytest.mark.parametrize("header", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic eDp5"},
                                    {"Authorization": "Bearer atoll_" + "a" * 40}, {"X-API-Key": "x" * 9000}])
def test_without_a_good_key_nothing_is_said(server, header):
    answer = atoll.Api("127.0.0.1", server.port).raw("GET", PATH, headers=header)
    assert answer.status in (401, 431)
    if answer.status == 401:
        assert answer.json()["error"]["code"] == "unauthenticated"
        assert answer.json()["error"]["request_id"]


def test_keys_with_fewer_scopes_do_less(server, api):
    made = api.post("/api/sandbox/keys", {"name": "reader", "scopes": ["sandbox:read"]})
    reader = server.api(made["key"])
    assert "items" in reader.get(PATH)
    with pytest.raises(atoll.ApiError) as failure:
        reader.create()
    assert failure.value.status == 403
    api.delete(f"/api/sandbox/keys/{made['id']}")
    with pytest.raises(atoll.ApiError) as failure:
        reader.get(PATH)
    assert failure.value.status == 401


def test_the_key_is_stored_nowhere_in_clear(server, api):
    made = api.post("/api/sandbox/keys", {"name": "hidden"})
    for path in server.data.glob("atoll.db*"):
        assert made["key"].encode() not in path.read_bytes()
    assert made["key"] not in server.log_text() and server.key not in server.log_text()
    assert (server.data / "admin.key").stat().st_mode & 0o777 == 0o600


SMUGGLES = {
    "two lengths": b"Content-Length: 5\r\nContent-Length: 6\r\n",
    "length and chunked": b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
    "odd coding": b"Transfer-Encoding: xchunked\r\n",
    "folded": b"X-A: b\r\n c\r\n",
    "space before colon": b"Content-Length : 5\r\n",
    "signed length": b"Content-Length: +5\r\n",
    "two hosts": b"Host: other\r\n",
    "bare cr": b"X-A: b\rc\r\n",
    "nul": b"X-A: b\0c\r\n",
    "chunked twice": b"Transfer-Encoding: chunked, chunked\r\n",
}


@pytest.mark.parametrize("name", SMUGGLES)
def test_requests_that_two_parsers_could_read_apart_are_refused(server, name):
    out = talk(server, b"POST /healthz HTTP/1.1\r\nHost: localhost\r\n" + SMUGGLES[name] + b"\r\nhelloGET /metrics HTTP/1.1\r\n\r\n")
    assert out.startswith(b"HTTP/1.1 400") and out.count(b"HTTP/1.1") == 1, out[:200]


def test_sizes_are_limited(server, api):
    assert b" 431 " in talk(server, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 100000 + b"\r\n\r\n")[:20]
    assert talk(server, b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")[9:12] in (b"414", b"431")
    with pytest.raises(atoll.ApiError) as failure:
        api.post(PATH, {"name": "x" * (3 << 20)})
    assert failure.value.status == 413
    api.close()


def test_pipelined_requests_are_answered_in_order(server):
    out = talk(server, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 5 + b"GET /none HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert out.count(b"HTTP/1.1 200") == 5 and out.count(b"HTTP/1.1 404") == 1
    assert out.rindex(b"404") > out.rindex(b"200 OK")


def test_wrong_methods_and_types(api):
    answer = api.raw("PATCH", "/healthz")
    assert answer.status == 405 and "GET" in answer.headers["Allow"]
    answer = api.raw("POST", PATH, "<xml/>", {"Content-Type": "text/xml"})
    assert answer.status == 415
    answer = api.raw("POST", PATH, "{not json", {"Content-Type": "application/json"})
    assert answer.status == 400


def test_too_many_requests_at_once_are_told_to_wait():
    server = atoll.Server(flags=["--requests-per-key-max", "4", "--request-wait", "1s"]).start()
    try:
        api = server.api()
        box = api.create(internet=False)["id"]
        statuses, other = [], server.api(api.post("/api/sandbox/keys", {"name": "other"})["key"])

        def wait():
            command = "while [ ! -e /tmp/go ]; do sleep 0.1; done"
            statuses.append(server.api().raw("POST", f"{PATH}/{box}/exec", {"command": command}).status)
        threads = [threading.Thread(target=wait) for _ in range(8)]
        for thread in threads:
            thread.start()
        atoll.wait_for(lambda: len(statuses) == 4, 30, lambda: f"four refusals: {statuses}")
        other.write(box, "/tmp/go", b"")
        for thread in threads:
            thread.join()
        assert statuses.count(200) == 4 and statuses.count(429) == 4, statuses
    finally:
        server.remove_all()


def test_the_number_of_sandboxes_is_limited():
    server = atoll.Server(flags=["--sandboxes-max", "3"]).start()
    try:
        api = server.api()
        made = [api.create(internet=False) for _ in range(3)]
        with pytest.raises(atoll.ApiError) as failure:
            api.create(internet=False)
        assert failure.value.status == 429 and failure.value.code == "limit_exceeded"
        api.remove(made[0]["id"])
        api.create(internet=False)
    finally:
        server.remove_all()


def test_a_slow_head_is_cut_off(server):
    with socket.create_connection(("127.0.0.1", server.port)) as raw:
        raw.settimeout(30)
        raw.sendall(b"GET /healthz HTTP/1.1\r\nHo")
        started = time.monotonic()
        assert raw.recv(1000)[:12] in (b"HTTP/1.1 408", b"")
        assert time.monotonic() - started < 25


def test_projects_do_not_see_each_other(server, api):
    other = api.post("/api/sandbox/projects", {"name": "other"})
    key = api.call("POST", "/api/sandbox/keys", {"name": "k", "scopes": ["sandbox:read", "sandbox:write"]},
                   {"X-Atoll-Project": other["id"]})["key"]
    with api.sandbox(internet=False) as sandbox:
        with pytest.raises(atoll.ApiError) as failure:
            server.api(key).get(f"{PATH}/{sandbox}")
        assert failure.value.status == 404
