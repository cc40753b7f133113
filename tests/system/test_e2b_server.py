# SPDX-License-Identifier: Apache-2.0
"""What E2B's clients see of a server's options: its history of metrics, pages of other origins, its limit, its restart."""

import contextlib
import http.client
import json
import os
import struct
import subprocess
import time

import pytest

import atoll
import clients

pytestmark = pytest.mark.needs_root
PAGE = "https://app.example"
MAX = 12
MADE = {"templateID": "host", "timeout": 600, "allow_internet_access": False}


@pytest.fixture(scope="module")
def server():
    running = atoll.Server(environment={"ATOLL_CORS_ORIGINS": f"{PAGE},http://localhost:3000", "ATOLL_METRICS_EVERY": "1s",
                                        "ATOLL_REQUESTS_PER_KEY_MAX": str(MAX), "ATOLL_REQUEST_WAIT": "200ms"}).start()
    yield running
    running.remove_all()


@pytest.fixture
def api(server):
    with contextlib.closing(server.api()) as connection:
        yield connection


@pytest.fixture(scope="module")
def made(server):
    with contextlib.closing(server.api()) as connection:
        yield connection.call("POST", "/v2/sandboxes", MADE)


def ask(server, method, path, body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    return connection.getresponse()


def inside(made, port="49983"):
    return {"E2b_Sandbox_Id": made["sandboxID"], "E2b_Sandbox_Port": port, "X_Access_Token": made["envdAccessToken"]}


def start(server, made):
    body = json.dumps({"process": {"cmd": "/bin/sleep", "args": ["300"]}, "stdin": False}).encode()
    return ask(server, "POST", "/process.Process/Start", struct.pack(">BI", 0, len(body)) + body, **inside(made),
               Content_Type="application/connect+json")


# ---- metrics ----


def test_metrics_are_a_history(api, made):
    path = f"/sandboxes/{made['sandboxID']}/metrics"
    found = []
    atoll.wait_for(lambda: found.clear() or found.extend(api.get(path)) or len(found) >= 2, 30, "two samples")
    times = [sample["timestampUnix"] for sample in found]
    assert times == sorted(times) and len({sample["timestamp"] for sample in found}) == len(found)
    assert all(sample["memTotal"] > sample["memUsed"] > 0 and sample["cpuUsedPct"] >= 0 for sample in found)
    first = times[0]
    atoll.wait_for(lambda: time.time() > first + 2, 15, "time that passes")
    assert {sample["timestampUnix"] for sample in api.get(f"{path}?start={first}&end={first}")} == {first}
    assert api.get(f"{path}?start={first - 60}&end={first - 30}") == []
    assert api.get(f"{path}?start={int(time.time()) + 3600}") == []
    assert api.raw("GET", f"{path}?start=2&end=1").status == 400
    assert api.raw("GET", f"{path}?start=9223372036854775807").status == 400
    many = api.get(f"/sandboxes/metrics?sandbox_ids={made['sandboxID']},gone")["sandboxes"]
    assert list(many) == [made["sandboxID"]] and many[made["sandboxID"]]["timestampUnix"] >= times[-1]


def test_the_native_history_says_the_same(api, made):
    path = f"/api/sandbox/instances/{made['sandboxID']}/stats/history"
    atoll.wait_for(lambda: len(api.get(path)["items"]) >= 2, 30, "two samples")
    found = api.get(path)
    assert found["memory_limit_bytes"] > 0
    assert all(sample["pids"] > 0 and sample["cpu_usage_us"] > 0 for sample in found["items"])
    first = found["items"][0]["at"]
    assert [sample["at"] for sample in api.get(f"{path}?from={first}&until={first}")["items"]] == [first]
    for query in ("from=yesterday", f"from={first}&until=2020-01-01T00:00:00Z"):
        assert api.raw("GET", f"{path}?{query}").status == 400
    assert api.raw("GET", "/api/sandbox/instances/nosuchsandbox/stats/history").status == 404


def test_daytonas_telemetry_is_the_same_history(api, made):
    path = f"/daytona/api/sandbox/{made['sandboxID']}/telemetry/metrics"
    def points(query):
        series = {one["metricName"]: one["dataPoints"] for one in api.get(path + query)["series"]}
        assert len(series) == 6
        return series["daytona.sandbox.memory.usage"]
    atoll.wait_for(lambda: len(points("?from=2020-01-01T00:00:00Z&to=2100-01-01T00:00:00Z")) >= 2, 30, "two points")
    first = points("")[0]
    assert first["value"] > 0 and points(f"?from={first['timestamp']}&to={first['timestamp']}") == [first]
    assert points("?from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z") == []
    assert api.raw("GET", f"{path}?from=yesterday").status == 400


# ---- pages of other origins ----


def test_a_page_of_a_named_origin_may_call_all_that_takes_a_header(server, made):
    names = "x-api-key, e2b-sandbox-id, e2b-sandbox-port, x-access-token, connect-protocol-version, content-type"
    for path in ("/v2/sandboxes", "/process.Process/List", "/execute", "/api/sandbox/instances", "/daytona/api/sandbox"):
        answer = ask(server, "OPTIONS", path, Origin=PAGE, Access_Control_Request_Method="POST", Access_Control_Request_Headers=names)
        assert (answer.status, answer.read()) == (204, b""), path
        assert answer.headers["Access-Control-Allow-Origin"] == PAGE and answer.headers["Access-Control-Allow-Headers"] == names
        assert "POST" in answer.headers["Access-Control-Allow-Methods"]
    for method, path, headers in (("GET", "/v2/sandboxes", {"X_API_KEY": server.key}), ("GET", "/v2/sandboxes", {"X_API_KEY": "no"}),
                                  ("GET", "/health", inside(made)), ("GET", "/health", inside(made, "49999"))):
        answer = ask(server, method, path, Origin=PAGE, **headers)
        assert answer.headers["Access-Control-Allow-Origin"] == PAGE, path
        assert answer.headers["Access-Control-Expose-Headers"] == "*" and answer.headers["Access-Control-Allow-Credentials"] is None
        assert answer.headers["Vary"] == "Origin"


def test_no_other_page_may_and_servers_inside_speak_for_themselves(server, made):
    for origin in (f"{PAGE}.evil", "http://app.example", "null", "*"):
        answer = ask(server, "GET", "/v2/sandboxes", Origin=origin, X_API_KEY=server.key)
        assert answer.status == 200 and answer.headers["Access-Control-Allow-Origin"] is None
        answer = ask(server, "OPTIONS", "/v2/sandboxes", Origin=origin, Access_Control_Request_Method="GET")
        assert answer.headers["Access-Control-Allow-Origin"] is None
    answer = ask(server, "GET", "/", Origin=PAGE, **inside(made, "8123"))
    assert answer.status == 502 and answer.headers["Access-Control-Allow-Origin"] is None


def test_origins_that_are_none_are_refused_at_the_start():
    bad = atoll.Server(environment={"ATOLL_CORS_ORIGINS": "app.example"})
    try:
        with pytest.raises(AssertionError, match="cors_origins|cors-origins|CORS_ORIGINS"):
            bad.start()
    finally:
        bad.remove_all()


# ---- teams ----


def starts(samples):
    step = samples[1]["timestampUnix"] - samples[0]["timestampUnix"] if len(samples) > 1 else 5
    return round(sum(sample["sandboxStartRate"] for sample in samples) * step, 3)


@pytest.fixture
def team(server, api):
    project = api.post("/v1/projects", {"name": "red"})["id"]
    yield project, api.call("POST", "/api/sandbox/keys", {"name": "red"}, {"X-Atoll-Project": project})["key"]
    with contextlib.closing(server.api()) as again:  # the test restarts the server
        again.delete(f"/v1/projects/{project}?force=true")


def test_a_team_is_a_project_and_its_metrics_are_what_ran(server, team):
    project, key = team
    with contextlib.closing(server.api(key)) as red:
        assert red.get("/teams") == [{"teamID": project, "name": "red", "apiKey": key, "isDefault": True}]
        path, begun = f"/teams/{project}/metrics", int(time.time())
        assert [sample["concurrentSandboxes"] for sample in red.get(path)[-1:]] == [0] and starts(red.get(path)) == 0
        boxes = [red.call("POST", "/v2/sandboxes", MADE)["sandboxID"] for _ in range(2)]
        assert red.raw("DELETE", f"/sandboxes/{boxes[0]}").status == 204
        assert red.raw("POST", f"/sandboxes/{boxes[1]}/pause").status == 204
        assert red.call("POST", f"/sandboxes/{boxes[1]}/connect", {"timeout": 600})["sandboxID"] == boxes[1]
        found = red.get(f"{path}?start={begun}")
        times = [sample["timestampUnix"] for sample in found]
        assert times[0] == begun and {later - one for one, later in zip(times, times[1:])} <= {5}
        assert max(sample["concurrentSandboxes"] for sample in found) == 2 and starts(found) == 3
        most = red.get(f"{path}/max?metric=concurrent_sandboxes&start={begun}")
        assert most["value"] == 2 and most["timestampUnix"] in times
        rate = red.get(f"{path}/max?metric=sandbox_start_rate&start={begun}")["value"]
        assert rate == max(sample["sandboxStartRate"] for sample in found) > 0
        # Neither the time before nor that to come has any.
        assert starts(red.get(f"{path}?end={begun - 1}")) == 0 and red.get(f"{path}?start={begun + 3600}") == []
        assert red.get(f"{path}/max?metric=concurrent_sandboxes&start={begun + 3600}")["value"] == 0
        assert red.raw("GET", f"{path}?start=2&end=1").status == 400
        atoll.wait_for(lambda: red.get(f"{path}?start={begun}")[-1]["concurrentSandboxes"] == 1, 15, "a step in which one ran")
        server.stop()
    server.start()
    with contextlib.closing(server.api(key)) as red, contextlib.closing(server.api()) as other:
        after = red.get(f"{path}?start={begun}")
        assert after[-1]["concurrentSandboxes"] == 1 and starts(after) == 3, after
        assert other.raw("GET", path).status == 403  # also to an admin: a key is of one team


# ---- the limit ----


def test_one_sandbox_token_takes_no_more_than_a_key(server, api):
    one, other = (api.call("POST", "/v2/sandboxes", MADE) for _ in range(2))
    streams = [start(server, one) for _ in range(MAX)]
    for stream in streams:
        assert stream.status == 200 and stream.read(5)[0] == 0  # it has begun
    refused = start(server, one)
    flags, _ = struct.unpack(">BI", refused.read(5))
    said = json.loads(refused.read())["error"]
    assert (refused.status, flags, said["code"]) == (200, 2, "resource_exhausted") and "too many requests" in said["message"]
    refused = ask(server, "POST", "/process.Process/List", "{}", Content_Type="application/json", **inside(one))
    assert (refused.status, refused.headers["Retry-After"], json.loads(refused.read())["code"]) == (429, "1", "resource_exhausted")
    assert json.loads(ask(server, "GET", "/files?path=/etc/passwd", **inside(one)).read())["code"] == 429
    assert ask(server, "GET", "/health", **inside(one)).status == 204
    origin = f"http://127.0.0.1:{server.port}"
    told = subprocess.run([clients.node("e2b", since=clients.E2B), clients.program("e2b_limits.mjs"), one["sandboxID"], one["envdAccessToken"]],
                          env={**os.environ, "E2B_API_KEY": server.key, "E2B_API_URL": origin, "E2B_SANDBOX_URL": origin}, capture_output=True, text=True, timeout=60)
    assert told.returncode == 0, told.stderr
    # Nobody else is kept waiting: neither another sandbox nor the key.
    assert ask(server, "GET", "/files?path=/etc/passwd", **inside(other)).status == 200
    assert api.get(f"/sandboxes/{one['sandboxID']}")["state"] == "running"
    streams.pop().close()
    atoll.wait_for(lambda: ask(server, "GET", "/files?path=/etc/passwd", **inside(one)).status == 200, 20, "a place that is free again")
    for stream in streams:
        stream.close()
    for sandbox in (one, other):
        assert api.raw("DELETE", f"/sandboxes/{sandbox['sandboxID']}").status == 204


# ---- a restart ----


def test_an_announced_build_that_is_lost_says_so(server):
    with contextlib.closing(server.api()) as api:
        build = api.call("POST", "/v3/templates", {"name": "lost-one"})
        path = f"/templates/{build['templateID']}/builds/{build['buildID']}"
        assert api.get(f"{path}/status")["status"] == "waiting"
        stranger = api.post("/v1/projects", {"name": "stranger-86"})["id"]
        key = api.call("POST", "/api/sandbox/keys", {"name": "stranger"}, {"X-Atoll-Project": stranger})["key"]
    old = server.kill9("api")
    atoll.wait_for(lambda: server.pid_of("api") not in (None, old), 20, "another api process")
    server.wait_ready()
    with contextlib.closing(server.api()) as api:
        lost = api.get(f"{path}/status")
        assert lost["status"] == "error" and "did not start" in lost["reason"]["message"]
        assert lost["buildID"] == build["buildID"]
        assert api.raw("POST", f"/v2{path}", {"fromTemplate": "host"}).status == 404
        last = "0" if build["buildID"][-1] != "0" else "1"
        assert api.raw("GET", f"{path[:-1]}{last}/status").status == 404
        other = api.clone(key)
        assert other.raw("GET", f"{path}/status").status == 404
        other.close()


# ---- the command line ----


def test_code_is_run_from_the_command_line(server, api, tmp_path):
    if not os.path.exists("/usr/bin/python3"):
        pytest.skip("the host's /usr has no python3")
    with api.sandbox(internet=False) as box:
        first = server.cli("code", box, "--language", "py", input=b"import sys\nx = 6\nprint('out')\nprint('err', file=sys.stderr)\nx * 7\n")
        assert (first.returncode, first.stdout, first.stderr) == (0, b"out\n42\n", b"err\n")
        (tmp_path / "again.py").write_text("class Page:\n  def _repr_html_(self): return f'<b>{x}</b>'\nPage()\n")
        shown = server.cli("code", "--out", tmp_path / "shown", box, tmp_path / "again.py")
        assert shown.returncode == 0, shown.stderr
        assert (tmp_path / "shown/result-1.html").read_text() == "<b>6</b>"
        assert shown.stderr.decode() == f"{tmp_path}/shown/result-1.html\n"
        failed = server.cli("code", box, input=b"1 / 0")
        assert failed.returncode == 1 and b"ZeroDivisionError" in failed.stderr and failed.stdout == b""
        whole = server.cli("code", "--json", "-e", "WHO=me", "-l", "bash", box, input=b"echo $WHO; exit_code() { return 3; }; exit_code")
        assert json.loads(whole.stdout)["stdout"] == "me\n" and whole.returncode == 3
        context = api.post(f"/api/sandbox/instances/{box}/code/contexts", {"language": "bash"})["id"]
        assert server.cli("code", "-c", context, box, input=b"y=5").returncode == 0
        assert server.cli("code", "-c", context, box, input=b"echo $y").stdout == b"5\n"
        assert server.cli("code", "--timeout", "500ms", "-l", "sh", box, input=b"sleep 60").returncode == 124
        assert b"expected one of" in server.cli("code", "-l", "ruby", box, input=b"1").stderr
        assert b"is not a text file" in server.cli("code", box, input=b"a\0b").stderr
        assert server.cli("code", box, tmp_path / "none.py").returncode >= 120
        assert b"exclude each other" in server.cli("code", "--json", "--out", tmp_path, box, input=b"1").stderr
