# SPDX-License-Identifier: Apache-2.0
"""The inside of a sandbox as E2B's SDK uses it, by that SDK and byte by byte."""

import base64
import contextlib
import gzip
import http.client
import json
import os
import pathlib
import re
import struct
import subprocess
import time

import pytest

import atoll
import clients
import specifications

pytestmark = pytest.mark.needs_root
DOMAIN = "e2b.localhost"
MADE = {"templateID": "host", "timeout": 600, "allow_internet_access": False}


@pytest.fixture(scope="module")
def server():
    running = atoll.Server(environment={"SANDBOX_PREVIEW_DOMAIN": DOMAIN}).start()
    yield running
    running.remove_all()


@pytest.fixture(scope="module")
def made(server):
    with contextlib.closing(server.api()) as api:
        yield api.call("POST", "/v2/sandboxes", MADE)


@pytest.fixture(scope="module")
def tap(server):
    listening = specifications.Tap(server.port)
    yield listening
    listening.close()


@pytest.fixture(scope="module")
def outcomes(server, made, tap):
    origin = f"http://127.0.0.1:{tap.port}"
    return clients.outcomes("envd.mjs", made["sandboxID"], made["envdAccessToken"], E2B_API_KEY=server.key, E2B_API_URL=origin, E2B_SANDBOX_URL=origin)


@pytest.mark.parametrize("check", clients.checks("envd.mjs"))
def test_the_sdk(outcomes, check):
    clients.succeeded(outcomes[check])


# ---- byte by byte ----


class Envd:
    """What an SDK sends to a sandbox."""

    def __init__(self, port, made):
        self.port, self.id, self.token = port, made["sandboxID"], made["envdAccessToken"]

    def open(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        own = {"E2b-Sandbox-Id": self.id, "E2b-Sandbox-Port": "49983", "X-Access-Token": self.token}
        own.update({name.replace("_", "-"): value for name, value in headers.items()})
        connection.request(method, path, body, {name: value for name, value in own.items() if value is not None})
        return connection.getresponse()

    def call(self, method, path, body=None, **headers):
        answer = self.open(method, path, body, **headers)
        return answer.status, answer.read(), answer.headers

    def rpc(self, name, message=None, **headers):
        status, body, _ = self.call("POST", "/" + name, json.dumps(message or {}), Content_Type="application/json", **headers)
        return status, json.loads(body)

    def stream(self, name, message, **headers):
        body = json.dumps(message).encode()
        return self.open("POST", "/" + name, struct.pack(">BI", 0, len(body)) + body, Content_Type="application/connect+json", **headers)

    def run(self, line, **headers):
        return list(frames(self.stream("process.Process/Start", {"process": {"cmd": "/bin/bash", "args": ["-c", line]}, "stdin": False}, **headers)))


def frames(answer):
    """(flags, message) of each envelope, as they come."""
    while head := answer.read(5):
        flags, size = struct.unpack(">BI", head)
        yield flags, json.loads(answer.read(size))


@pytest.fixture(scope="module")
def envd(server, made):
    return Envd(server.port, made)


def gone(id):
    return {"sandboxId": id, "message": "The sandbox was not found", "code": 502}


def test_a_sandbox_that_is_not_there_is_told_as_the_sdk_expects(envd):
    for id in ("nosuchsandbox", "i234567890abcdefghij", "aaaaaaaaaaaaaaaaaaaa"):
        status, body, _ = envd.call("GET", "/health", E2b_Sandbox_Id=id)
        assert (status, json.loads(body)) == (502, gone(id))
    status, body, _ = envd.call("POST", "/process.Process/List", "{}", E2b_Sandbox_Id="nosuchsandbox", Content_Type="application/json")
    assert (status, json.loads(body)) == (502, gone("nosuchsandbox"))


def test_health_needs_no_token_and_all_else_does(envd):
    assert envd.call("GET", "/health", X_Access_Token=None)[:2] == (204, b"")
    for token in (None, "", "x", envd.token[:-1], envd.token + "0", envd.token.upper()):
        for method, path in (("GET", "/envs"), ("POST", "/process.Process/List"), ("POST", "/process.Process/Start"),
                             ("POST", "/filesystem.Filesystem/ListDir"), ("POST", "/filesystem.Filesystem/WatchDir"),
                             ("POST", "/process.Process/StreamInput")):
            assert envd.call(method, path, X_Access_Token=token)[0] == 401, (token, path)
    assert envd.call("GET", "/files?path=/etc/passwd", X_Access_Token=None)[:2] == \
        (401, b'{"code":401,"message":"missing signature query parameter"}')
    assert envd.call("GET", "/files?path=/etc/passwd&signature=v1_x", X_Access_Token=None)[0] == 401
    assert envd.call("GET", "/files?path=/etc/passwd&signature=v1_x", E2b_Sandbox_Id=None, X_Access_Token=None)[0] == 401


def test_one_sandbox_token_opens_no_other(server, envd):
    with contextlib.closing(server.api()) as api:
        other = api.call("POST", "/v2/sandboxes", MADE)
        assert other["envdAccessToken"] != envd.token
        assert envd.call("GET", "/envs", E2b_Sandbox_Id=other["sandboxID"])[0] == 401
        api.call("DELETE", f"/sandboxes/{other['sandboxID']}")


def test_headers_that_do_not_fit_are_refused(envd):
    for headers, word in (({"E2b_Sandbox_Port": None}, "E2b-Sandbox-Port"), ({"E2b_Sandbox_Port": "x"}, "port"), ({"E2b_Sandbox_Port": "0"}, "port"),
                          ({"E2b_Sandbox_Port": "65536"}, "port")):
        status, body, _ = envd.call("GET", "/health", **headers)
        assert status == 400 and json.loads(body)["code"] == 400 and word in body.decode(), headers


def test_the_host_says_the_sandbox_too_and_must_not_say_another_one(server, envd):
    host = f"49983-{envd.id}.{DOMAIN}:{server.port}"
    plain = {"E2b_Sandbox_Id": None, "E2b_Sandbox_Port": None}
    assert envd.call("GET", "/health", Host=host, **plain)[0] == 204
    assert envd.call("GET", "/health", Host=host)[0] == 204
    assert envd.call("GET", "/envs", Host=host, X_Access_Token=None, **plain)[0] == 401
    assert envd.call("GET", "/health", Host=f"49983-aaaaaaaaaaaaaaaaaaaa.{DOMAIN}", **plain)[0] == 502
    for other in (f"49983-aaaaaaaaaaaaaaaaaaaa.{DOMAIN}", f"8000-{envd.id}.{DOMAIN}"):
        status, body, _ = envd.call("GET", "/health", Host=other)
        assert status == 400 and b"different sandboxes" in body
    assert envd.call("GET", "/health", Host="evil.example")[0] == 421
    # The server itself, below the same domain.
    for name in ("api", "sandbox"):
        assert envd.call("GET", "/healthz", Host=f"{name}.{DOMAIN}", **plain)[0] == 200
        assert envd.call("GET", "/health", Host=f"{name}.{DOMAIN}")[0] == 204


def test_streams_begin_with_a_pid_and_end_with_a_frame(envd):
    got = envd.run("echo hi; exit 3")
    assert got[0][1]["event"]["start"]["pid"] > 0
    assert got[1] == (0, {"event": {"data": {"stdout": "aGkK"}}})
    assert got[2] == (0, {"event": {"end": {"exited": True, "exitCode": 3, "status": "exit status 3", "error": "exit status 3"}}})
    assert got[3] == (2, {}) and len(got) == 4
    assert envd.run("kill -9 $$")[-2][1] == {"event": {"end": {"exitCode": -1, "status": "signal: killed", "error": "signal: killed"}}}


def test_a_stream_that_fails_has_status_200_and_says_why_at_its_end(envd):
    def end(message, **headers):
        answer = envd.stream("process.Process/Start", message, **headers)
        assert answer.status == 200 and answer.headers["Content-Type"] == "application/connect+json"
        (flags, last), = frames(answer)
        assert flags == 2
        return last["error"]["code"]
    assert end({}) == "invalid_argument"
    assert end({"process": {"cmd": "/bin/bash", "envs": {"A=B": "c"}}}) == "invalid_argument"
    assert end({"process": {"cmd": "/bin/bash"}, "pty": {"size": {"cols": 10001, "rows": 24}}}) == "invalid_argument"
    assert end({"process": {"cmd": "/bin/bash"}}, Connect_Timeout_Ms="x") == "invalid_argument"
    assert end({"process": {"cmd": "/bin/bash"}}, Authorization="Basic " + base64.b64encode(b"no-such-user:").decode()) == "unauthenticated"
    for body in (b"", b"{}", struct.pack(">BI", 0, 3) + b"{}", struct.pack(">BI", 1, 2) + b"{}", struct.pack(">BI", 0, 2**31)):
        (flags, last), = frames(envd.open("POST", "/process.Process/Start", body, Content_Type="application/connect+json"))
        assert flags == 2 and last["error"]["code"] in ("invalid_argument", "unimplemented", "resource_exhausted"), body


def test_a_quiet_stream_shows_that_it_lives(envd):
    watched = frames(envd.stream("filesystem.Filesystem/WatchDir", {"path": "/mnt"}, Keepalive_Ping_Interval="1"))
    answer = envd.stream("process.Process/Start", {"process": {"cmd": "/bin/sleep", "args": ["2.5"]}}, Keepalive_Ping_Interval="1")
    got = [message for _, message in frames(answer)]
    assert got.count({"event": {"keepalive": {}}}) >= 2
    assert [next(watched)[1] for _ in range(2)] == [{"start": {}}, {"keepalive": {}}]


def test_a_time_ends_the_process_and_one_who_connects_only_his_stream(envd):
    begun = time.monotonic()
    assert envd.run("sleep 30", Connect_Timeout_Ms="300")[-1][1]["error"]["code"] == "deadline_exceeded"
    first = frames(envd.stream("process.Process/Start", {"process": {"cmd": "/bin/sleep", "args": ["30"]}}))
    pid = next(first)[1]["event"]["start"]["pid"]
    connected = time.monotonic()
    second = list(frames(envd.stream("process.Process/Connect", {"process": {"pid": pid}}, Connect_Timeout_Ms="100")))
    assert 0.1 <= time.monotonic() - connected < 0.6
    assert second[0][1] == {"event": {"start": {"pid": pid}}} and second[-1][1]["error"]["code"] == "deadline_exceeded"
    assert envd.rpc("process.Process/SendSignal", {"process": {"pid": pid}, "signal": 9}) == (200, {})
    assert next(first)[1]["event"]["end"]["status"] == "signal: killed"
    assert time.monotonic() - begun < 25


def test_an_ended_process_can_be_connected_to_and_a_tag_is_a_name(envd):
    message = {"process": {"cmd": "/bin/true"}, "tag": "my-tag"}
    pid = list(frames(envd.stream("process.Process/Start", message)))[0][1]["event"]["start"]["pid"]
    for selector in ({"pid": pid}, {"tag": "my-tag"}):
        got = list(frames(envd.stream("process.Process/Connect", {"process": selector})))
        assert [list(message.get("event", {})) for _, message in got] == [["start"], ["end"], []]
    assert envd.rpc("process.Process/SendSignal", {"process": {"tag": "my-tag"}, "signal": "SIGNAL_SIGTERM"})[1]["code"] == "not_found"


def test_input_is_streamed_in_order(envd):
    def envelope(message):
        text = json.dumps(message).encode()
        return struct.pack(">BI", 0, len(text)) + text
    started = frames(envd.stream("process.Process/Start", {"process": {"cmd": "/bin/cat"}, "stdin": True}))
    pid = next(started)[1]["event"]["start"]["pid"]
    pieces = [b"one\n", b"two\n" * 50000, b"three\n"]
    def body():
        yield envelope({"start": {"process": {"pid": pid}}})
        for piece in pieces:
            yield envelope({"data": {"input": {"stdin": base64.b64encode(piece).decode()}}})
            yield envelope({"keepalive": {}})
    got = list(frames(envd.open("POST", "/process.Process/StreamInput", body(), Content_Type="application/connect+json")))
    assert got == [(0, {}), (2, {})]
    assert envd.rpc("process.Process/CloseStdin", {"process": {"pid": pid}}) == (200, {})
    out = b"".join(base64.b64decode(message["event"]["data"]["stdout"]) for flags, message in started if "data" in message.get("event", {}))
    assert out == b"".join(pieces)
    for bad in ([{"data": {"input": {"stdin": "aGkK"}}}], [{"start": {"process": {"pid": 999999}}}], [{"start": {}}]):
        got = list(frames(envd.open("POST", "/process.Process/StreamInput", b"".join(map(envelope, bad)), Content_Type="application/connect+json")))
        assert got[-1][0] == 2 and got[-1][1]["error"]["code"] in ("invalid_argument", "not_found"), got


def test_input_that_nobody_reads_keeps_no_worker(server, envd):
    started = frames(envd.stream("process.Process/Start", {"process": {"cmd": "/bin/sleep", "args": ["60"]}, "stdin": True}))
    pid = next(started)[1]["event"]["start"]["pid"]
    message = json.dumps({"process": {"pid": pid}, "input": {"stdin": base64.b64encode(b"x" * 3_000_000).decode()}})
    waiting = []
    for _ in range(20):  # more than there are workers
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.request("POST", "/process.Process/SendInput", message, {
            "E2b-Sandbox-Id": envd.id, "E2b-Sandbox-Port": "49983", "X-Access-Token": envd.token, "Content-Type": "application/json"})
        waiting.append(connection)
    begun = time.monotonic()
    assert envd.run("echo still here")[1][1] == {"event": {"data": {"stdout": "c3RpbGwgaGVyZQo="}}}
    assert time.monotonic() - begun < 20
    for connection in waiting:
        connection.close()
    assert envd.rpc("process.Process/SendSignal", {"process": {"pid": pid}, "signal": "SIGNAL_SIGKILL"})[0] == 200


def test_unary_errors_are_in_connects_words(envd):
    assert envd.rpc("filesystem.Filesystem/Stat", {"path": "/no/such"})[1]["code"] == "not_found"
    assert envd.rpc("filesystem.Filesystem/Stat", {}) == (400, {"code": "invalid_argument", "message": "path is missing"})
    assert envd.rpc("filesystem.Filesystem/ListDir", {"path": "/", "depth": 65})[1]["code"] == "invalid_argument"
    assert envd.rpc("filesystem.Filesystem/MakeDir", {"path": "/tmp"})[1]["code"] == "already_exists"
    assert envd.rpc("process.Process/SendSignal", {"process": {"pid": 1}, "signal": "SIGNAL_SIGKILL"})[1]["code"] == "not_found"
    assert envd.rpc("process.Process/SendInput", {"process": {"pid": 999}, "input": {"stdin": "!"}})[0] == 404
    assert envd.rpc("process.Process/Update", {})[1]["code"] == "invalid_argument"
    assert envd.call("POST", "/filesystem.Filesystem/Stat", "{}", Content_Type="application/proto")[0] == 400
    assert envd.call("POST", "/filesystem.Filesystem/Nothing", "{}")[0] == 404
    # Unknown members are let pass, as JSON of protocol buffers wants it.
    assert envd.rpc("filesystem.Filesystem/Stat", {"path": "/tmp", "newer": {"x": 1}})[0] == 200


def test_files_are_read_in_ranges_and_written_in_all_forms(envd):
    put = {"Content_Type": "application/octet-stream"}
    assert envd.call("POST", "/files?path=/tmp/raw", b"0123456789", **put)[0] == 200
    status, body, headers = envd.call("GET", "/files?path=/tmp/raw", Range="bytes=2-4")
    assert (status, body, headers["Content-Range"]) == (206, b"234", "bytes 2-4/10")
    status, _, headers = envd.call("GET", "/files?path=/tmp/raw", Range="bytes=10-")
    assert (status, headers["Content-Range"]) == (416, "bytes */10")
    status, body, _ = envd.call("POST", "/files?path=zip", gzip.compress(b"packed" * 1000), Content_Encoding="gzip", X_Metadata_Key="v", **put)
    assert (status, json.loads(body)) == (200, [{"path": "/home/user/zip", "name": "zip", "type": "file", "metadata": {"key": "v"}}])
    assert envd.call("GET", "/files?path=~/zip")[1] == b"packed" * 1000
    form = {"Content_Type": "multipart/form-data; boundary=XX"}
    part = '--XX\r\nContent-Disposition: form-data; name="file"; filename="{}"\r\n\r\n{}\r\n'
    body = (part.format("/tmp/form/a", "A") + part.format("form-b", "B") + "--XX--\r\n").encode()
    assert [one["path"] for one in json.loads(envd.call("POST", "/files", body, **form)[1])] == ["/tmp/form/a", "/home/user/form-b"]
    assert envd.call("POST", "/files?path=x", body, **form)[0] == 400  # two files, one path
    one = (part.format("ignored", "C") + "--XX--\r\n").encode()
    assert json.loads(envd.call("POST", "/files?path=/tmp/chosen&username=root", one, **form)[1])[0]["path"] == "/tmp/chosen"
    assert envd.rpc("filesystem.Filesystem/Stat", {"path": "/tmp/chosen"})[1]["entry"]["owner"] == "root"


def test_who_asks_for_gzip_alone_gets_it(envd):
    data = os.urandom(100_000) + b"x" * 3_000_000
    assert envd.call("POST", "/files?path=/tmp/pack", data, Content_Type="application/octet-stream")[0] == 200
    for accept, packed in (("gzip", True), ("gzip;q=0.5, identity;q=0", True), ("*, identity;q=0.0", True), ("gzip, deflate", False),
                           ("*", False), ("identity", False), ("br;q=1.0, gzip;q=0.8, *;q=0.1", False)):
        status, body, headers = envd.call("GET", "/files?path=/tmp/pack", Accept_Encoding=accept)
        assert status == 200 and (headers["Content-Encoding"] == "gzip") == packed, accept
        assert (gzip.decompress(body) if packed else body) == data
    assert envd.call("POST", "/files?path=/tmp/empty", b"", Content_Type="application/octet-stream")[0] == 200
    assert gzip.decompress(envd.call("GET", "/files?path=/tmp/empty", Accept_Encoding="gzip")[1]) == b""
    assert envd.call("GET", "/files?path=/no/such", Accept_Encoding="gzip")[0] == 404
    for accept in ("identity;q=0", "br, *;q=0", "gzip;q=0, identity;q=0"):
        assert envd.call("GET", "/files?path=/tmp/pack", Accept_Encoding=accept)[0] == 406, accept


def test_bodies_that_are_not_right_are_refused(envd):
    put = {"Content_Type": "application/octet-stream"}
    assert envd.call("POST", "/files", b"x", **put)[0] == 400  # no path
    assert envd.call("POST", "/files?path=/tmp/x", b"x", Content_Type="text/plain")[0] == 400
    assert envd.call("POST", "/files?path=/tmp/x", b"x", Content_Type="multipart/form-data")[0] == 400
    assert envd.call("POST", "/files?path=/tmp/x", b"x", Content_Encoding="br", **put)[0] == 400
    assert envd.call("POST", "/files?path=/tmp/x", gzip.compress(b"x" * 1000)[:-4], Content_Encoding="gzip", **put)[0] == 400
    assert envd.call("POST", "/files?path=/tmp/x", b"x", X_Metadata_K="v\xe9", **put)[0] == 400
    assert envd.call("POST", "/files?path=/tmp/x", b"x", X_Metadata_K="v" * 4096, **put)[0] == 400
    assert envd.call("POST", "/files?path=/tmp/x&username=a%7Croot", b"x", **put)[0] == 401
    assert envd.call("GET", "/files?path=/dev/null")[0] == 400
    assert envd.call("GET", "/files")[0] == 400


def test_a_killed_sandbox_ends_its_streams_and_only_its_own(server, envd):
    with contextlib.closing(server.api()) as api:
        victim = Envd(server.port, api.call("POST", "/v2/sandboxes", MADE))
        own = frames(envd.stream("process.Process/Start", {"process": {"cmd": "/bin/sleep", "args": ["3"]}}))
        doomed = frames(victim.stream("process.Process/Start", {"process": {"cmd": "/bin/sleep", "args": ["60"]}}))
        watch = frames(victim.stream("filesystem.Filesystem/WatchDir", {"path": "/tmp"}))
        next(own), next(doomed), next(watch)
        assert api.raw("DELETE", f"/sandboxes/{victim.id}").status == 204
        for stream in (doomed, watch):
            (flags, last), = stream
            assert flags == 2 and last["error"]["code"] == "unavailable" and "was killed or reached its end of life" in last["error"]["message"]
        assert victim.call("GET", "/health")[0] == 502
        assert victim.rpc("process.Process/List") == (502, gone(victim.id))
        assert [list(message.get("event", {})) for _, message in own] == [["end"], []]


def test_a_paused_sandbox_is_gone_until_it_is_resumed(server):
    with contextlib.closing(server.api()) as api:
        made = api.call("POST", "/v2/sandboxes", MADE)
        box = Envd(server.port, made)
        assert box.call("GET", "/health")[0] == 204
        assert api.raw("POST", f"/sandboxes/{box.id}/pause", {}).status == 204
        assert box.call("GET", "/health")[0] == 502
        assert box.rpc("process.Process/List")[0] == 502
        api.call("POST", f"/v2/sandboxes/{box.id}/connect", {"timeout": 60})
        assert box.call("GET", "/health")[0] == 204
        api.raw("DELETE", f"/sandboxes/{box.id}")
        waking = Envd(server.port, api.call("POST", "/v2/sandboxes", {**MADE, "autoPause": True, "autoResume": {"enabled": True}}))
        assert api.raw("POST", f"/sandboxes/{waking.id}/pause", {}).status == 204
        assert waking.run("echo awake")[1][1] == {"event": {"data": {"stdout": "YXdha2UK"}}}
        api.raw("DELETE", f"/sandboxes/{waking.id}")


def test_a_restart_of_the_server_ends_streams_and_nothing_else(private_server):
    running = private_server.start()
    with contextlib.closing(running.api()) as api:
        box = Envd(running.port, api.call("POST", "/v2/sandboxes", MADE))
        streams = [frames(box.stream("process.Process/Start", {"process": {"cmd": "/bin/sleep", "args": ["60"]}})) for _ in range(20)]
        pids = [next(stream)[1]["event"]["start"]["pid"] for stream in streams]
        old = running.kill9("api")
        for stream in streams:
            with pytest.raises((http.client.HTTPException, OSError)):
                list(stream)
        atoll.wait_for(lambda: running.pid_of("api") not in (None, old), 30, "another api process")
        running.wait_ready()
        assert box.call("GET", "/health")[0] == 204  # the same token, too
        listed = {one["pid"] for one in box.rpc("process.Process/List")[1]["processes"]}
        assert set(pids) <= listed
        again = frames(box.stream("process.Process/Connect", {"process": {"pid": pids[0]}}))
        assert next(again)[1] == {"event": {"start": {"pid": pids[0]}}}
        assert box.rpc("process.Process/SendSignal", {"process": {"pid": pids[0]}, "signal": "SIGNAL_SIGKILL"}) == (200, {})
        assert next(again)[1]["event"]["end"]["status"] == "signal: killed"
        api.close()
        running.api().raw("DELETE", f"/sandboxes/{box.id}")


# ---- watchers that are asked ----


def test_a_watcher_is_asked_for_what_it_has_seen(envd):
    envd.rpc("filesystem.Filesystem/MakeDir", {"path": "asked"})
    status, made = envd.rpc("filesystem.Filesystem/CreateWatcher", {"path": "asked", "recursive": True, "includeEntry": True})
    assert status == 200 and made["watcherId"]
    def events():
        status, got = envd.rpc("filesystem.Filesystem/GetWatcherEvents", made)
        assert status == 200
        return got["events"]
    assert events() == []
    envd.call("POST", "/files?path=asked/x", b"x", Content_Type="application/octet-stream")
    seen = []
    atoll.wait_for(lambda: seen.extend(events()) or {"CREATE", "WRITE"} <= {event["type"][11:] for event in seen}, 30, "events")
    assert all(event["name"] == "x" and event["entry"]["path"] == "/home/user/asked/x" for event in seen)
    assert envd.run("for i in $(seq 2000); do echo > /home/user/asked/$i; done")[-1] == (2, {})
    seen = []
    atoll.wait_for(lambda: seen.extend(events()) or sum(event["type"] == "EVENT_TYPE_CREATE" for event in seen) == 2000, 30, "many events")
    assert envd.rpc("filesystem.Filesystem/RemoveWatcher", made) == (200, {})
    assert envd.rpc("filesystem.Filesystem/GetWatcherEvents", made)[1]["code"] == "not_found"
    assert envd.rpc("filesystem.Filesystem/RemoveWatcher", made)[1]["code"] == "not_found"
    assert envd.rpc("filesystem.Filesystem/CreateWatcher", {"path": "/no/such"})[1]["code"] == "not_found"
    assert envd.rpc("filesystem.Filesystem/CreateWatcher", {"path": "/etc/passwd"})[1]["code"] == "invalid_argument"
    made = [envd.rpc("filesystem.Filesystem/CreateWatcher", {"path": "asked"}) for _ in range(33)]
    assert [status for status, _ in made] == [200] * 32 + [429]
    for _, one in made[:32]:
        assert envd.rpc("filesystem.Filesystem/RemoveWatcher", one)[0] == 200


def test_what_was_written_before_a_watcher_is_asked_is_in_its_answer(envd):
    envd.rpc("filesystem.Filesystem/MakeDir", {"path": "/tmp/asked"})
    watcher = envd.rpc("filesystem.Filesystem/CreateWatcher", {"path": "/tmp/asked", "recursive": True})[1]["watcherId"]

    def names():
        return {event["name"] for event in envd.rpc("filesystem.Filesystem/GetWatcherEvents", {"watcherId": watcher})[1]["events"]}

    for number in range(100):
        path = f"folder{number}/file{number}"
        assert envd.call("POST", f"/files?path=/tmp/asked/{path}", b"x", Content_Type="application/octet-stream")[0] == 200
        assert path in names(), path
    envd.rpc("filesystem.Filesystem/RemoveWatcher", {"watcherId": watcher})
    envd.rpc("filesystem.Filesystem/Remove", {"path": "/tmp/asked"})


def test_metrics_are_those_of_the_sandbox(envd):
    status, body, _ = envd.call("GET", "/metrics")
    got = json.loads(body)
    assert status == 200 and got["mem_total"] > got["mem_used"] > 0 and got["cpu_count"] >= 1 and got["cpu_used_pct"] >= 0
    assert abs(got["ts"] - time.time()) < 10
    assert json.loads(envd.call("GET", "/envs")[1]).get("ATOLL_PROJECT_DIR")


def test_files_are_composed_and_gone(envd):
    def put(path, data):
        assert envd.call("POST", f"/files?path={path}", data, Content_Type="application/octet-stream")[0] == 200
    def compose(**body):
        status, answer, _ = envd.call("POST", "/files/compose", json.dumps(body), Content_Type="application/json")
        return status, json.loads(answer)
    put("part/1", b"one "), put("/tmp/part-2", b"two "), put("part/3", b"three")
    made = compose(source_paths=["part/1", "/tmp/part-2", "part/3"], destination="whole/file")
    assert made == (200, {"path": "/home/user/whole/file", "name": "file", "type": "file"})
    assert envd.call("GET", "/files?path=whole/file")[1] == b"one two three"
    assert envd.rpc("filesystem.Filesystem/Stat", {"path": "whole/file"})[1]["entry"]["owner"] == "user"
    for gone_path in ("part/1", "/tmp/part-2", "part/3"):
        assert envd.call("GET", f"/files?path={gone_path}")[0] == 404
    # Into one of them; and what fails leaves all as it was.
    put("part/4", b"!")
    assert compose(source_paths=["whole/file", "part/4"], destination="~/whole/file")[0] == 200
    assert envd.call("GET", "/files?path=whole/file")[1] == b"one two three!"
    put("part/5", b"five")
    assert compose(source_paths=["part/5", "part/no-such"], destination="whole/file")[0] == 404
    assert envd.call("GET", "/files?path=part/5")[1] == b"five" and envd.call("GET", "/files?path=whole/file")[1] == b"one two three!"
    assert [one["name"] for one in envd.rpc("filesystem.Filesystem/ListDir", {"path": "whole"})[1]["entries"]] == ["file"]
    for bad in ({}, {"source_paths": [], "destination": "x"}, {"source_paths": ["part/5"]}, {"source_paths": [""], "destination": "x"},
                {"source_paths": ["part"], "destination": "x"}, {"source_paths": ["part/5"], "destination": "/tmp"}):
        assert compose(**bad)[0] == 400, bad


# ---- other ports ----

ECHO = pathlib.Path(__file__).parent.parent / "preview_server.py"
needs_python = pytest.mark.skipif(not os.path.exists("/usr/bin/python3"), reason="the host's /usr has no python3")


def serve(box, port=8123):
    box.call("POST", "/files?path=/tmp/server.py", ECHO.read_bytes(), Content_Type="application/octet-stream")
    got = box.run(f"setsid python3 /tmp/server.py {port} >/tmp/log 2>&1 </dev/null & "
                  f"for i in $(seq 600); do grep -q ':{port:04X} .* 0A' /proc/net/tcp && exit; sleep 0.05; done; exit 1")
    assert got[-2][1]["event"]["end"]["status"] == "exit status 0"


@needs_python
def test_a_port_is_open_to_who_knows_the_sandbox(server, envd):
    serve(envd)
    plain = {"E2b_Sandbox_Id": None, "E2b_Sandbox_Port": None, "X_Access_Token": None}
    for headers in ({"E2b_Sandbox_Port": "8123", "X_Access_Token": None}, {"E2b_Sandbox_Port": "8123"},
                    {"Host": f"8123-{envd.id}.{DOMAIN}:{server.port}", **plain}):
        status, body, _ = envd.call("GET", "/echo", **headers)
        assert status == 200, body
        for secret in (envd.token, "sandbox-id", "X-Access-Token"):
            assert secret.lower() not in body.decode().lower(), secret
        status, body, _ = envd.call("GET", "/", **{**headers, **({"Host": f"8124-{envd.id}.{DOMAIN}"} if "Host" in headers else {"E2b_Sandbox_Port": "8124"})})
        assert (status, json.loads(body)) == (502, {"sandboxId": envd.id, "message": "The sandbox is running but port is not open",
                                                    "port": 8124, "code": 502})
    assert envd.call("GET", "/", E2b_Sandbox_Port="8123", X_Access_Token="wrong")[0] == 401
    status, body, _ = envd.call("GET", "/", E2b_Sandbox_Port="8123", E2b_Sandbox_Id="aaaaaaaaaaaaaaaaaaaa", X_Access_Token=None)
    assert (status, json.loads(body)) == (502, gone("aaaaaaaaaaaaaaaaaaaa"))


@needs_python
def test_guarded_ports_want_the_traffic_token(server):
    with contextlib.closing(server.api()) as api:
        made = api.call("POST", "/v2/sandboxes", {**MADE, "network": {"allowPublicTraffic": False, "maskRequestHost": "app.example:${PORT}"}})
        box = Envd(server.port, made)
        serve(box)
        for where in ({"E2b_Sandbox_Port": "8123"}, {"Host": f"8123-{box.id}.{DOMAIN}", "E2b_Sandbox_Id": None, "E2b_Sandbox_Port": None}):
            where["X_Access_Token"] = None
            for token in (None, "", "x", box.token):
                status, body, _ = box.call("GET", "/echo", E2b_Traffic_Access_Token=token, **where)
                assert status == 403 and json.loads(body)["code"] == 403, (token, body)
            status, body, _ = box.call("GET", "/echo", E2b_Traffic_Access_Token=made["trafficAccessToken"], **where)
            assert status == 200 and made["trafficAccessToken"] not in body.decode() and "app.example:8123" in body.decode(), body
        assert box.call("GET", "/files?path=/etc/hostname", X_Access_Token=made["trafficAccessToken"])[0] == 401
        api.raw("DELETE", f"/sandboxes/{box.id}")


def test_sandboxes_of_our_own_api_stay_as_private_as_they_were(server, envd):
    with contextlib.closing(server.api()) as api, api.sandbox(internet=False) as own:
        assert envd.call("GET", "/", E2b_Sandbox_Id=own, E2b_Sandbox_Port="8123", X_Access_Token=None)[0] == 401
        assert envd.call("GET", "/", Host=f"8123-{own}.{DOMAIN}", E2b_Sandbox_Id=None, E2b_Sandbox_Port=None, X_Access_Token=None)[0] == 401


# ---- against the specification ----


def say_what_the_sdk_does_not(envd):
    """The calls that E2B's daemon has and its SDK for JavaScript does not use."""
    def envelope(message):
        text = json.dumps(message).encode()
        return struct.pack(">BI", 0, len(text)) + text
    for path in ("/metrics", "/envs"):
        assert envd.call("GET", path)[0] == 200
    for name in ("said-1", "said-2"):
        assert envd.call("POST", f"/files?path=/tmp/{name}", b"x", Content_Type="application/octet-stream", X_Metadata_Key="v")[0] == 200
    assert envd.call("POST", "/files/compose", json.dumps({"source_paths": ["/tmp/said-1", "/tmp/said-2"], "destination": "/tmp/said"}),
                     Content_Type="application/json")[0] == 200
    assert envd.rpc("filesystem.Filesystem/MakeDir", {"path": "/tmp/said-folder"})[0] == 200
    status, watcher = envd.rpc("filesystem.Filesystem/CreateWatcher", {"path": "/tmp/said-folder", "recursive": True, "includeEntry": True})
    assert status == 200
    assert envd.call("POST", "/files?path=/tmp/said-folder/x", b"x", Content_Type="application/octet-stream")[0] == 200
    atoll.wait_for(lambda: envd.rpc("filesystem.Filesystem/GetWatcherEvents", watcher)[1]["events"], 15, "an event")
    assert envd.rpc("filesystem.Filesystem/RemoveWatcher", watcher)[0] == 200
    started = frames(envd.stream("process.Process/Start", {"process": {"cmd": "/bin/cat"}, "stdin": True, "tag": "said"}))
    pid = next(started)[1]["event"]["start"]["pid"]
    body = b"".join(map(envelope, [{"start": {"process": {"tag": "said"}}}, {"data": {"input": {"stdin": "aGkK"}}}, {"keepalive": {}}]))
    assert list(frames(envd.open("POST", "/process.Process/StreamInput", body, Content_Type="application/connect+json")))[-1] == (2, {})
    assert envd.rpc("process.Process/CloseStdin", {"process": {"pid": pid}})[0] == 200
    assert list(started)[-1] == (2, {})


def test_all_that_was_said_is_as_specified(made, tap, outcomes):
    files = specifications.OpenApi(specifications.load("e2b/envd/envd.yaml"))
    calls = specifications.Protocol("e2b/envd/process/process.proto", "e2b/envd/filesystem/filesystem.proto")
    say_what_the_sdk_does_not(Envd(tap.port, made))
    seen = set()
    for method, target, headers, body, status, answer in tap.exchanges():
        if headers.get("e2b-sandbox-port") != "49983" and not target.startswith("/files?"):
            continue
        if target in calls.methods:
            calls.check_exchange(target, headers, body, status, answer)
            seen.add(("POST", target))
        elif headers.get("content-type", "application/json") == "application/json" or status < 400:
            # A part is a download, too.
            seen.add((method, files.check_exchange(method, target, body, 200 if status == 206 else status, answer)))
    assert {("POST", path) for path in calls.methods} | files.operations() <= seen
