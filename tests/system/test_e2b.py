# SPDX-License-Identifier: Apache-2.0
"""E2B's control plane: by E2B's own SDK in two generations, and byte by byte."""

import http.client
import http.server
import json
import os
import re
import statistics
import subprocess
import threading
import time

import pytest

import atoll
import clients
import specifications
from test_templates import as_tar, import_file

pytestmark = pytest.mark.needs_root
PACKAGES = ["e2b", "e2b-2-45"]


@pytest.fixture(scope="module")
def key(server):
    made = server.api().post("/api/sandbox/keys", {"name": "e2b"})
    assert re.fullmatch("e2b_[0-9a-f]+", made["e2b_key"])
    return made["e2b_key"]


class Recorder(http.server.ThreadingHTTPServer):
    """A proxy that remembers what went through: (method, path, body, status, answer)."""

    daemon_threads = True
    request_queue_size = 128  # the SDK connects many times at once

    def __init__(self, port):
        super().__init__(("127.0.0.1", 0), Passer)
        self.port, self.exchanges = port, []
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Passer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        text = b""
        while size := int(self.rfile.readline(), 16):
            text += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return text

    def serve(self):
        body = self.body()
        headers = {k: v for k, v in self.headers.items() if k.lower() not in ("host", "connection", "transfer-encoding", "content-length", "accept-encoding")}
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        connection.request(self.command, self.path, body or None, headers)
        response = connection.getresponse()
        answer = response.read()
        connection.close()
        if "E2b-Sandbox-Id" not in self.headers:  # not what goes on inside
            self.server.exchanges.append((self.command, self.path, body, response.status, answer))
        self.send_response(response.status)
        for name in ("Content-Type", "x-next-token"):
            if response.headers[name]:
                self.send_header(name, response.headers[name])
        if response.status != 204:
            self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def recorder(server):
    recording = Recorder(server.port)
    yield recording
    recording.shutdown()
    recording.server_close()


@pytest.fixture(scope="module")
def outcomes(recorder, key):
    origin = f"http://127.0.0.1:{recorder.server_port}"
    return {package: clients.outcomes("e2b.mjs", package, packages=PACKAGES, E2B_API_KEY=key, E2B_API_URL=origin, E2B_SANDBOX_URL=origin,
                                      E2B_VOLUME_API_URL=origin) for package in PACKAGES}


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize("check", clients.checks("e2b.mjs"))
def test_the_sdk(outcomes, check, package):
    clients.succeeded(outcomes[package][check])


# ---- against the specification ----

# The same in the generation that the specification does not have.
SAME = {("POST", "/v2/sandboxes"): "/sandboxes", ("POST", "/v2/sandboxes/{sandboxID}/connect"): "/sandboxes/{sandboxID}/connect"}
# What the newest clients send, and the specification does not know yet.
NEWER = {"minFreeDiskMb", "forceUpload", "resolveSymlinks", "gzip", "memory"}
# What E2B's own console uses; Atoll's has its own API.
NOT_HERE = re.compile(r"/(nodes|admin|access-tokens|api-keys)\b")
# Of an older generation of builds, which no SDK since 2.0 uses.
OLD = {("POST", "/templates"), ("POST", "/templates/{templateID}"), ("POST", "/templates/{templateID}/builds/{buildID}")}


def test_all_that_was_said_is_as_specified(recorder, outcomes, e2b):
    specification = specifications.OpenApi(specifications.load("e2b/openapi.yml"), SAME, NEWER)
    content = specifications.OpenApi(specifications.load("e2b/openapi-volumecontent.yml"))
    sandbox = e2b("POST", "/sandboxes", {"templateID": "host", "allow_internet_access": False})[1]["sandboxID"]
    announced = e2b("POST", "/v2/templates", {"alias": "announced"})[1]
    team = e2b("GET", "/teams")[1][0]["teamID"]
    for method, path, body in [
            ("POST", "/v2/templates", {"alias": "announced"}),
            ("GET", f"/templates/{announced['templateID']}/builds/{announced['buildID']}/logs", None),
            ("GET", f"/sandboxes/{sandbox}/logs", None), ("GET", f"/v2/sandboxes/{sandbox}/logs?direction=backward&limit=1", None),
            ("POST", f"/sandboxes/{sandbox}/connect", {"timeout": 60}), ("PUT", f"/sandboxes/{sandbox}/network", {"allow_internet_access": False}),
            ("POST", f"/sandboxes/{sandbox}/pause", {}), ("POST", f"/sandboxes/{sandbox}/resume", {"timeout": 60}),
            ("GET", f"/sandboxes/{sandbox}/metrics?start=0&end=4000000000", None), ("PATCH", "/templates/host", {"public": True}),
            ("GET", "/sandboxes?metadata=a%3Db", None), ("GET", f"/sandboxes/metrics?sandbox_ids={sandbox},gone", None),
            ("GET", "/templates", None), ("GET", "/v2/templates", None), ("GET", "/templates/host", None),
            ("POST", f"/sandboxes/{sandbox}/refreshes", {"duration": 1}),
            ("PATCH", "/v2/templates/host", {"public": True}), ("GET", "/templates/aliases/host", None),
            ("GET", "/health", None), ("GET", "/teams", None), ("GET", f"/teams/{team}/metrics?start=0&end=4000000000", None),
            ("GET", f"/teams/{team}/metrics/max?metric=concurrent_sandboxes", None), ("GET", f"/teams/{team}/metrics/max?metric=sandbox_start_rate", None),
            ("DELETE", f"/sandboxes/{sandbox}", None)]:
        status, answer, _ = e2b(method, path, body)
        assert status < 300, (path, answer)
        recorder.exchanges.append((method, path, json.dumps(body).encode() if body else b"", status, json.dumps(answer).encode()))
    seen = set()
    for method, path, body, status, answer in recorder.exchanges:
        if path.startswith("/volumecontent/"):
            seen.add((method, content.check_exchange(method, path, body, status, answer)))
        elif method + path[:10] != "PUT/templates" and not path.startswith("/api/"):
            seen.add((method, specification.check_exchange(method, path, body, status, answer)))
    wanted = {row for row in specification.operations() if not NOT_HERE.match(row[1])} - OLD
    assert not (wanted | content.operations()) - seen


# ---- byte by byte ----


class Client:
    """What an SDK sends: chunked JSON and the key in its own header."""

    def __init__(self, port, key):
        self.port, self.key = port, key

    def __call__(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        if self.key:
            headers["X-API-KEY"] = self.key
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, path, iter([json.dumps(body).encode()]) if body is not None else None, headers,
                           encode_chunked=body is not None)
        response = connection.getresponse()
        text = response.read()
        connection.close()
        return response.status, json.loads(text) if text else None, response.headers


@pytest.fixture(scope="module")
def e2b(server, key):
    return Client(server.port, key)


@pytest.mark.parametrize("generation", ["", "/v2"])
def test_both_generations_of_paths(e2b, generation):
    status, made, _ = e2b("POST", f"{generation}/sandboxes", {"templateID": "host", "allow_internet_access": False, "secure": True,
                                                              "metadata": {"made": "here"}, "somethingNew": {"a": 1}, "mcp": None})
    assert status == 201
    assert re.fullmatch("[a-z0-9]+", made["sandboxID"]) and re.fullmatch("[0-9a-f]{64}", made["envdAccessToken"])
    assert re.fullmatch("[0-9a-f]{64}", made["trafficAccessToken"]) and made["envdVersion"] == "0.6.13"
    sandbox = made["sandboxID"]
    status, listed, _ = e2b("GET", f"{generation}/sandboxes?metadata=made%3Dhere")
    assert status == 200 and sandbox in [item["sandboxID"] for item in listed]
    status, connected, _ = e2b("POST", f"{generation}/sandboxes/{sandbox}/connect", {"timeout": 60})
    assert status == 200 and connected == made
    assert e2b("POST", f"/sandboxes/{sandbox}/pause")[0] == 204
    assert e2b("POST", f"{generation}/sandboxes/{sandbox}/connect", {"timeout": 60})[:2] == (201, made)
    assert e2b("DELETE", f"/sandboxes/{sandbox}")[0] == 204


def test_errors_have_the_status_as_their_code(e2b, server):
    for method, path, body, status in [
            ("GET", "/sandboxes/nosuchsandbox", None, 404),
            ("DELETE", "/sandboxes/nosuchsandbox", None, 404),
            ("POST", "/sandboxes/nosuchsandbox/timeout", {"timeout": 1}, 404),
            ("POST", "/sandboxes/nosuchsandbox/timeout", {"timeout": -1}, 400),
            ("POST", "/v2/sandboxes", {}, 400),
            ("POST", "/v2/sandboxes", {"templateID": "host", "timeout": "long"}, 400),
            ("POST", "/v2/sandboxes", {"templateID": "host", "timeout": 365 * 24 * 3600 + 1}, 400),
            ("POST", "/v2/sandboxes", {"templateID": "host", "metadata": {f"k{i}": "v" for i in range(65)}}, 400),
            ("POST", "/v2/sandboxes", {"templateID": "host", "metadata": {"k" * 129: "v"}}, 400),
            ("POST", "/v2/sandboxes", {"templateID": "host", "metadata": {"k": "v" * 257}}, 400),
            ("POST", "/v2/sandboxes", {"templateID": "host", "network": {"allowOut": [f"198.51.100.{i}" for i in range(101)]}}, 400),
            ("POST", "/v2/sandboxes", {"templateID": "host", "autoPause": True, "autoPauseMemory": False, "autoResume": {"enabled": True}}, 400),
            ("POST", "/v2/sandboxes", {"templateID": "host", "network": {"allowOut": ["example.com"]}}, 400),
            ("POST", "/v2/sandboxes", {"templateID": "host", "network": {"denyOut": ["example.com"]}}, 400),
            ("GET", "/v2/sandboxes?state=dreaming", None, 400),
            ("GET", "/v2/sandboxes?metadata=%25zz", None, 400),
            ("GET", "/teams/some/metrics", None, 403), ("GET", "/teams/some/metrics/max?metric=concurrent_sandboxes", None, 403),
            ("GET", "/teams/some/metrics?start=-1", None, 400), ("GET", "/teams/some/metrics?end=9223372036854775807", None, 400),
            ("GET", "/teams/some/metrics/max", None, 400), ("GET", "/teams/some/metrics/max?metric=love", None, 400)]:
        found, answer, _ = e2b(method, path, body)
        assert (found, answer["code"]) == (status, status), (path, answer)
        assert answer["message"] and set(answer) == {"code", "message"}
    for name, said in [("iam", {"iam": {"tokens": []}}), *((f"network.{name}", {"network": {name: value}}) for name, value in {
            "egressProxy": {"address": "1.2.3.4:1"}, "httpsPorts": [3000]}.items())]:
        status, answer, _ = e2b("POST", "/v2/sandboxes", {"templateID": "host", **said})
        assert (status, answer["code"]) == (501, 501) and name in answer["message"], answer
    for strange in [None, "e2b_00", "e2b_" + "0" * 50]:
        for path in ("/v2/sandboxes", "/teams", "/teams/some/metrics"):
            status, answer, _ = Client(server.port, strange)("GET", path)
            assert (status, answer["code"]) == (401, 401), path
        assert Client(server.port, strange)("GET", "/health")[:2] == (204, None)


def test_what_the_specification_has_and_atoll_not_is_refused_by_name(e2b, server):
    specification = specifications.OpenApi(specifications.load("e2b/openapi.yml"), SAME, NEWER)
    absent = {row for row in specification.operations() if NOT_HERE.match(row[1])} | OLD
    assert len(absent) >= 17, absent
    for method, name in sorted(absent):
        path = re.sub(r"{\w+}", "some", name)
        body = {"name": "x"} if method in ("POST", "PATCH") else None
        status, answer, _ = e2b(method, path, body)
        assert (status, answer["code"]) == (501, 501), (method, path, answer)
        assert re.search("atoll|/v3/templates", answer["message"]), (method, path, answer)
        specification.check_exchange(method, path, b"", status, json.dumps(answer).encode())
        assert Client(server.port, None)(method, path, body)[0] == 401, (method, path)


def test_timeouts_end_at_their_time(e2b):
    """Rounds of the fleet are two seconds apart: at most one of these would end near one."""
    late = []
    for number in range(10):
        sandbox = e2b("POST", "/v2/sandboxes", {"templateID": "host", "allow_internet_access": False, "timeout": 600})[1]["sandboxID"]
        assert e2b("POST", f"/sandboxes/{sandbox}/timeout", {"timeout": 1})[0] == 204
        begun = time.monotonic()
        while e2b("GET", f"/sandboxes/{sandbox}")[0] != 404:
            assert time.monotonic() - begun < 10
        late.append(time.monotonic() - begun - 1)
    assert -0.1 < min(late) and statistics.median(late) < 0.1, late


def test_a_paused_one_is_resumed_once(e2b):
    sandbox = e2b("POST", "/sandboxes", {"templateID": "host", "allow_internet_access": False, "timeout": 60})[1]["sandboxID"]
    assert e2b("POST", f"/sandboxes/{sandbox}/resume", {})[:2][1]["code"] == 409
    assert e2b("POST", f"/sandboxes/{sandbox}/pause", {})[0] == 204
    status, answer, _ = e2b("POST", f"/sandboxes/{sandbox}/pause", {})
    assert (status, answer["code"]) == (409, 409)
    assert e2b("POST", f"/sandboxes/{sandbox}/resume", {"timeout": 30, "autoPause": False})[0] == 201
    assert e2b("POST", f"/sandboxes/{sandbox}/refreshes", {"duration": 600})[0] == 204
    assert e2b("DELETE", f"/sandboxes/{sandbox}")[0] == 204


def test_without_its_memory_it_begins_anew_from_its_files(e2b, api):
    sandbox = e2b("POST", "/sandboxes", {"templateID": "host", "allow_internet_access": False, "timeout": 60})[1]["sandboxID"]
    api.exec(sandbox, "echo kept > kept; (sleep 1000 &)")
    assert e2b("POST", f"/sandboxes/{sandbox}/pause", {"memory": False})[0] == 204
    assert e2b("GET", f"/sandboxes/{sandbox}")[1]["state"] == "paused"
    assert e2b("POST", f"/sandboxes/{sandbox}/connect", {"timeout": 60})[0] == 201
    assert api.exec(sandbox, "cat kept; pgrep -c sleep")["stdout"] == "kept\n0\n"
    # This start is the one that the API reports, and that a list compares.
    started = e2b("GET", f"/sandboxes/{sandbox}")[1]["startedAt"]
    assert sandbox in [row["sandboxID"] for row in e2b("GET", f"/v2/sandboxes?startedAfter={started}")[1]]
    assert e2b("DELETE", f"/sandboxes/{sandbox}")[0] == 204


def test_a_sound_sleeper_is_not_woken_by_a_command(e2b, api):
    sandbox = e2b("POST", "/sandboxes", {"templateID": "host", "allow_internet_access": False, "timeout": 60})[1]["sandboxID"]
    light = e2b("POST", "/sandboxes", {"templateID": "host", "allow_internet_access": False, "timeout": 60, "autoPause": True,
                                       "autoResume": {"enabled": True}})[1]["sandboxID"]
    for each in (sandbox, light):
        assert e2b("POST", f"/sandboxes/{each}/pause", {})[0] == 204
    with pytest.raises(atoll.ApiError, match="is paused"):
        api.exec(sandbox, "true")
    assert api.exec(light, "echo awake")["stdout"] == "awake\n"
    for each in (sandbox, light):
        assert e2b("DELETE", f"/sandboxes/{each}")[0] == 204


def test_logs_tell_what_happened(e2b, api):
    sandbox = e2b("POST", "/sandboxes", {"templateID": "host", "allow_internet_access": False, "timeout": 60})[1]["sandboxID"]
    lines = e2b("GET", f"/sandboxes/{sandbox}/logs")[1]
    assert [entry["fields"]["event"] for entry in lines["logEntries"]] == ["sandbox.created", "sandbox.started"]
    assert [json.loads(line["line"])["message"] for line in lines["logs"]] == [entry["message"] for entry in lines["logEntries"]]
    newest = e2b("GET", f"/v2/sandboxes/{sandbox}/logs?direction=backward&limit=1")[1]["logs"]
    assert [entry["fields"]["event"] for entry in newest] == ["sandbox.started"]
    assert e2b("GET", f"/v2/sandboxes/{sandbox}/logs?search=STARTED%20in")[1]["logs"] == newest
    assert e2b("GET", f"/v2/sandboxes/{sandbox}/logs?level=error")[1]["logs"] == []
    assert api.exec(sandbox, cmd="sh", args=["-c", "exit 3"])["exit_code"] == 3
    shown = e2b("GET", f"/v2/sandboxes/{sandbox}/logs?search=process")[1]["logs"]
    assert [entry["fields"]["event"] for entry in shown] == ["process.started", "process.exited"]
    assert shown[0]["message"].endswith("started: sh -c exit 3") and shown[1]["message"].endswith("ended with exit code 3")
    everything = e2b("GET", f"/sandboxes/{sandbox}/logs")[1]["logEntries"]
    assert [entry["timestamp"] for entry in everything] == sorted(entry["timestamp"] for entry in everything)
    assert e2b("POST", f"/sandboxes/{sandbox}/pause", {})[0] == 204  # looking wakes nobody
    assert e2b("GET", f"/v2/sandboxes/{sandbox}/logs?search=process")[1]["logs"] == []
    assert e2b("GET", f"/sandboxes/{sandbox}")[1]["state"] == "paused"
    e2b("DELETE", f"/sandboxes/{sandbox}")
    # They outlive it.
    assert [entry["fields"]["event"] for entry in e2b("GET", f"/v2/sandboxes/{sandbox}/logs")[1]["logs"]][-1] == "sandbox.deleted"
    assert e2b("GET", "/v2/sandboxes/nosuchsandbox/logs")[0] == 404


def test_the_command_line_of_e2b_shows_logs(e2b, server, key, api):
    sandbox = e2b("POST", "/sandboxes", {"templateID": "host", "allow_internet_access": False, "timeout": 60})[1]["sandboxID"]
    assert api.exec(sandbox, cmd="sh", args=["-c", "exit 3"])["exit_code"] == 3

    def logs(*options):
        done = run_cli(server, key, "sandbox", "logs", sandbox, "--format", "json", *options)
        assert done.returncode == 0 and not done.stderr, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines() if line]

    shown = logs()
    assert [line["event"] for line in shown] == ["sandbox.created", "sandbox.started", "process.started", "process.exited"]
    assert {line["level"] for line in shown} == {"info"}
    e2b("DELETE", f"/sandboxes/{sandbox}")
    assert [line["event"] for line in logs("--loggers", "sandbox")] == ["sandbox.created", "sandbox.started", "sandbox.deleting", "sandbox.deleted"]
    assert logs("--level", "warn") == []


def run_cli(server, key, *words):
    """E2B's own command line."""
    return subprocess.run([clients.node("@e2b/cli", since=clients.E2B), clients.program("node_modules/@e2b/cli/dist/index.js"), *words], capture_output=True,
                          text=True, timeout=60, env={**os.environ, "E2B_API_KEY": key, "E2B_API_URL": f"http://127.0.0.1:{server.port}", "FORCE_COLOR": "0"})


def test_a_published_template_is_used_by_another_project(e2b, server, key, api):
    made = api.post("/api/sandbox/templates", {"name": "shown", "from": "host", "env": {"SHOWN": "yes"}})
    project = api.post("/v1/projects", {"name": "readers", "owner": "reader"})["id"]
    reader = Client(server.port, api.call("POST", "/api/sandbox/keys", {"name": "reader"}, {"X-Atoll-Project": project})["key"])
    wanted = {"templateID": made["id"], "allow_internet_access": False, "timeout": 60}
    assert made["public"] is False and reader("POST", "/sandboxes", wanted)[0] == 404
    done = run_cli(server, key, "template", "publish", "-y", "shown")
    assert done.returncode == 0 and made["id"] in done.stdout, done
    assert e2b("GET", "/templates/aliases/shown")[1] == {"templateID": "shown", "public": True}
    assert reader("GET", f"/templates/aliases/{made['id']}")[1] == {"templateID": made["id"], "public": True}
    status, box, _ = reader("POST", "/sandboxes", wanted)
    assert status == 201, box
    # Its name resolves for nobody else, and only its own project changes or removes it.
    assert reader("POST", "/sandboxes", {**wanted, "templateID": "shown"})[0] == 404
    assert reader("PATCH", f"/v2/templates/{made['id']}", {"public": False})[0] == 403
    assert reader("DELETE", f"/templates/{made['id']}")[0] == 403
    assert made["id"] not in [row["templateID"] for row in reader("GET", "/templates")[1]]
    assert run_cli(server, key, "template", "unpublish", "-y", "shown").returncode == 0
    # What was made from it goes on, also after a new start.
    path = f"/sandboxes/{box['sandboxID']}"
    assert reader("POST", f"{path}/pause", {"memory": False})[0] == 204
    assert reader("POST", f"{path}/connect", {"timeout": 60})[0] == 201
    assert api.call("POST", f"/api/sandbox/instances/{box['sandboxID']}/exec", {"command": "echo $SHOWN"}, {"X-Atoll-Project": project})["stdout"] == "yes\n"
    assert reader("DELETE", path)[0] == 204
    assert reader("POST", "/sandboxes", wanted)[0] == 404
    api.delete("/api/sandbox/templates/shown")
    api.delete(f"/v1/projects/{project}?force=true")


def test_sandboxes_of_builds_are_in_no_list_unless_asked(e2b, api):
    build = api.post("/api/sandbox/templates/builds", {"name": "hidden", "from": "host", "internet": False, "steps": [{"type": "run", "command": "sleep 60"}]})["id"]
    path = f"/api/sandbox/templates/builds/{build}"
    box = atoll.wait_for(lambda: api.get(path)["sandbox"], 30, "the sandbox of the build")
    lists = {
        "native": lambda query: [row["id"] for row in api.get(f"/api/sandbox/instances{query}")["items"]],
        "daytona": lambda query: [row["id"] for row in api.get(f"/daytona/api/sandbox{query}")["items"]],
        "e2b": lambda query: [row["sandboxID"] for row in e2b("GET", f"/v2/sandboxes{query}")[1]]}
    assert [name for name, ids in lists.items() if box in ids("")] == []
    for name, query in (("native", "?builds=true"), ("native", f"?label=atoll.build={build}"), ("e2b", f"?metadata=atoll.build%3D{build}")):
        assert box in lists[name](query), query
    assert api.post(f"{path}/cancel")["status"] == "cancelled"
    api.delete(path)


def test_an_upload_address_is_for_one_thing(e2b):
    build = e2b("POST", "/v3/templates", {"name": "uploads"})[1]
    url = e2b("GET", f"/templates/{build['templateID']}/files/{'a' * 64}")[1]["url"]
    path = url[url.index("/templates/"):]
    stranger = Client(e2b.port, None)
    for wrong in [path.replace("a" * 64, "b" * 64), path.replace("expires=", "expires=9"), path[:-1] + ("0" if path[-1] != "0" else "1")]:
        assert stranger("PUT", wrong)[1]["code"] == 403
    assert e2b("GET", "/templates/x/files/zz")[1]["code"] == 400


def test_the_steps_of_a_template_are_checked(e2b, server):
    # What the image "of/an:image" would be called.
    server.api().post("/api/sandbox/templates", {"name": "of-an-image", "from": "host"})
    for start, status in [
            ({"steps": [{"type": "RUN"}]}, 400), ({"steps": [{"type": "ENV", "args": ["A"]}]}, 400), ({"steps": [{"type": "COPY", "args": ["a", "b"]}]}, 400),
            ({"steps": [{"type": "DANCE"}]}, 501), ({"fromImageRegistry": {"type": "aws"}}, 501), ({"fromImageRegistry": {"type": "registry", "username": "a"}}, 400), ({"fromImage": "No Such"}, 400), ({"fromImage": "of/an:image"}, 409),
            ({"fromTemplate": "no-such"}, 404)]:
        build = e2b("POST", "/v3/templates", {"name": "checked"})[1]
        path = f"/templates/{build['templateID']}/builds/{build['buildID']}"
        assert e2b("GET", f"{path}/status")[1]["status"] == "waiting"
        found, answer, _ = e2b("POST", f"/v2{path}", {"fromTemplate": "host", **start} if "fromImage" not in start and "fromImageRegistry" not in start else start)
        assert (found, answer["code"]) == (status, status), answer
    assert e2b("POST", f"/v2/templates/x/builds/{'0' * 8}-0000-0000-0000-{'0' * 12}", {})[1]["code"] == 404
    for name in ["", "no name", "a" * 70]:
        assert e2b("POST", "/v3/templates", {"name": name})[1]["code"] == 400


def test_a_template_stays_on_its_base_and_copies_take_two_layers(e2b, api, tmp_path):
    (tmp_path / "root/etc").mkdir(parents=True)
    (tmp_path / "root/etc/os-release").write_text("ID=other\n")
    import_file(api, "other-base", "tar", as_tar(tmp_path / "root", tmp_path / "root.tar"))
    copies = [{"type": "COPY", "args": ["a", "/a"], "filesHash": f"{i:064x}"} for i in range(13)]
    def build(**start):
        made = e2b("POST", "/v3/templates", {"name": "on-host"})[1]
        path = f"/templates/{made['templateID']}/builds/{made['buildID']}"
        status, answer, _ = e2b("POST", f"/v2{path}", start)
        if status >= 300:
            return answer["message"]
        atoll.wait_for(lambda: e2b("GET", f"{path}/status")[1]["status"] in ("ready", "error"), 30, "the build's end")
        told = e2b("GET", f"{path}/status")[1]
        return told["status"] if told["status"] == "ready" else told["reason"]["message"]
    assert build(fromTemplate="host", steps=[{"type": "ENV", "args": ["A", "b"]}]) == "ready"
    assert "is not that of 'other-base'" in build(fromTemplate="other-base", steps=[{"type": "ENV", "args": ["A", "b"]}])
    assert "step 1 of 26 (COPY" in build(fromTemplate="host", steps=copies)
    for name in ("on-host", "other-base"):
        assert e2b("DELETE", f"/templates/{name}")[0] == 204


def test_the_token_of_a_volume_opens_that_volume_alone(e2b):
    one, other = (e2b("POST", "/volumes", {"name": name})[1] for name in ("token-one", "token-other"))
    content = Client(e2b.port, None)
    good = {"Authorization": f"Bearer {one['token']}"}
    path = f"/volumecontent/{one['volumeID']}/dir?path=/"
    assert content("GET", path, **good)[:2] == (200, [])
    assert content("GET", path.replace(one["volumeID"], other["volumeID"]), **good)[1]["code"] == "401"
    assert content("GET", path)[1]["code"] == "401"
    assert e2b("GET", path)[1]["code"] == "401"
    assert content("PUT", f"/volumecontent/{one['volumeID']}/file?path=/x&uid=5", **good)[1]["code"] == "501"
    assert content("GET", f"/volumecontent/{one['volumeID']}/file?path=/none", **good)[1]["code"] == "404"
    for volume in (one, other):
        assert e2b("DELETE", f"/volumes/{volume['volumeID']}")[0] == 204


def test_a_restart_changes_no_token(private_server):
    private_server.start()
    made_key = private_server.api().post("/api/sandbox/keys", {"name": "e2b"})["e2b_key"]
    client = Client(private_server.port, made_key)
    made = client("POST", "/v2/sandboxes", {"templateID": "host", "allow_internet_access": False, "timeout": 600})[1]
    volume = client("POST", "/volumes", {"name": "kept"})[1]
    private_server.stop()
    private_server.start()
    client = Client(private_server.port, made_key)
    assert client("POST", f"/v2/sandboxes/{made['sandboxID']}/connect", {"timeout": 10})[:2] == (200, made)
    assert client("GET", f"/volumes/{volume['volumeID']}")[1] == volume
    assert client("DELETE", f"/sandboxes/{made['sandboxID']}")[0] == 204
