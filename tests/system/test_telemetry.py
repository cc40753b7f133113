# SPDX-License-Identifier: Apache-2.0
"""Traces and metrics as a collector gets them; metrics, rules and the dashboard as Prometheus' own tool reads them; ids of requests."""

import http.server
import json
import pathlib
import re
import shutil
import subprocess
import threading
import time

import pytest

import atoll
import clients

pytestmark = pytest.mark.needs_root
DEPLOY = atoll.ROOT / "deploy"
PATH = "/api/sandbox/instances"
TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


def traceparent(trace=TRACE, flags="01"):
    return {"traceparent": f"00-{trace}-{PARENT}-{flags}", "Content-Type": "application/json"}


class Receiver:
    """A collector that decodes by the message types of OpenTelemetry's package."""

    def __init__(self):
        program = clients.TELEMETRY / "receiver.mjs"
        node = clients.node("@opentelemetry/otlp-transformer", folder=clients.TELEMETRY)
        self.process = subprocess.Popen([node, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = json.loads(self.process.stdout.readline())["port"]
        self.exports = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.exports.append(json.loads(line))

    def close(self):
        self.process.stdin.close()
        self.process.wait(20)
        self.reader.join(20)
        self.process.stdout.close()

    def mistakes(self):
        return [seen["mistake"] for seen in self.exports if "mistake" in seen]

    def spans(self, trace=None):
        found = [span for seen in list(self.exports) if seen.get("path") == "/v1/traces" and "export" in seen
                 for resource in seen["export"]["resourceSpans"] for scope in resource["scopeSpans"] for span in scope["spans"]]
        return [span for span in found if trace in (None, span["traceId"])]

    def metrics(self):
        """The newest export: {name: metric}."""
        for seen in reversed(list(self.exports)):
            if seen.get("path") == "/v1/metrics" and "export" in seen:
                return {metric["name"]: metric for metric in seen["export"]["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]}
        return {}


def attributes(item):
    return {entry["key"]: next(iter(entry["value"].values())) for entry in item["attributes"]}


@pytest.fixture(scope="module")
def receiver():
    running = Receiver()
    yield running
    running.close()


@pytest.fixture(scope="module")
def traced(receiver):
    running = atoll.Server(environment={
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{receiver.port}/", "OTEL_SERVICE_NAME": "island",
        "OTEL_EXPORTER_OTLP_HEADERS": "x-tenant=a%20b,authorization=Bearer%20t", "OTEL_TRACES_SAMPLER_ARG": "0",
        "ATOLL_OTLP_METRICS_INTERVAL": "1s", "ATOLL_LOG_FORMAT": "json"}).start()
    yield running
    running.remove_all()


@pytest.fixture(scope="module")
def api(traced):
    return traced.api()


def test_a_create_and_a_command_are_traces_with_each_layer(api, receiver):
    made = api.raw("POST", PATH, json.dumps({"template": "host", "internet": False}), traceparent())
    box = made.json()["id"]
    ran = api.raw("POST", f"{PATH}/{box}/exec", json.dumps({"command": "echo hi"}), traceparent(TRACE[::-1]))
    assert ran.status == 200, ran.body
    api.raw("GET", f"{PATH}/{box}/files/list?path=/", headers=traceparent("1" * 32))
    api.raw("DELETE", f"{PATH}/{box}", headers=traceparent("2" * 32))
    roots = atoll.wait_for(lambda: {span["traceId"]: span for span in receiver.spans() if span["kind"] == 2}
                           if {TRACE, TRACE[::-1], "1" * 32, "2" * 32} <= {span["traceId"] for span in receiver.spans() if span["kind"] == 2}
                           else None, 30, "four spans of requests")
    assert not receiver.mistakes()
    create = receiver.spans(TRACE)
    layers = {attributes(span)["atoll.layer"] for trace in (TRACE, TRACE[::-1], "1" * 32, "2" * 32) for span in receiver.spans(trace)}
    assert layers == {"http", "store", "broker", "provider", "agent"}
    assert {"provider create", "broker create", "store change", "store sandbox_insert"} <= {span["name"] for span in create}
    # A tree: each parent is a span of the trace, or that of the client.
    for trace in roots:
        spans = receiver.spans(trace)
        ids = {span["spanId"] for span in spans}
        assert len(ids) == len(spans)
        assert {span["parentSpanId"] for span in spans} - ids == {PARENT}, trace
        for span in spans:
            assert int(roots[trace]["startTimeUnixNano"]) - 1e6 <= int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]) \
                <= int(roots[trace]["endTimeUnixNano"]) + 1e6
    root = roots[TRACE]
    assert root["name"] == f"POST {PATH}" and root["status"] == {}
    said = attributes(root)
    assert said["http.response.status_code"] == "201" and said["atoll.request.id"] == made.headers["X-Request-Id"]
    assert said["atoll.project.id"] and said["atoll.key.id"]
    assert attributes(roots["2" * 32])["atoll.target.id"] == box
    first = receiver.exports[0]
    assert first["headers"]["x-tenant"] == "a b" and first["headers"]["authorization"] == "Bearer t"
    resource = attributes(first["export"][next(iter(first["export"]))][0]["resource"])
    assert resource["service.name"] == "island" and resource["service.instance.id"]


def test_a_failed_request_says_so(api, receiver):
    trace = "3" * 32
    assert api.raw("GET", f"{PATH}/none", headers=traceparent(trace)).status == 404
    root = atoll.wait_for(lambda: [span for span in receiver.spans(trace) if span["kind"] == 2], 30, "a span")[0]
    assert attributes(root)["http.response.status_code"] == "404"
    assert root["status"] == {}  # a refused request is no failure of the server


def test_requests_that_are_not_sampled_have_no_spans(api, receiver):
    before = len(receiver.spans())
    for headers in (traceparent("4" * 32, "00"), {"traceparent": "00-nonsense"}, {}):
        assert api.raw("GET", PATH, headers=headers).status == 200
    api.raw("GET", PATH, headers=traceparent("5" * 32))
    atoll.wait_for(lambda: receiver.spans("5" * 32), 30, "the sampled span")
    assert {span["traceId"] for span in receiver.spans()[before:]} == {"5" * 32}


def test_the_collector_has_the_metrics_of_prometheus(api, receiver):
    def names(text):
        return set(re.findall(r"^# TYPE (\S+)", text, re.M))

    text = api.raw("GET", "/metrics").body.decode()
    metrics = atoll.wait_for(lambda: receiver.metrics() if names(text) <= set(receiver.metrics()) else None, 30,
                             lambda: f"metrics {names(text) - set(receiver.metrics())}")
    assert not receiver.mistakes()
    started = metrics["atoll_sandboxes"]["gauge"]["dataPoints"]
    assert {attributes(point)["state"] for point in started} >= {"started", "deleted"}
    for point in metrics["atoll_store_call_seconds"]["histogram"]["dataPoints"]:
        assert sum(map(int, point["bucketCounts"])) == int(point["count"]) > 0
        assert len(point["bucketCounts"]) == len(point["explicitBounds"]) + 1
    assert metrics["atoll_http_requests_total"]["sum"]["isMonotonic"]
    assert metrics["atoll_http_received_bytes_total"]["unit"] == "By"


def test_lines_of_the_log_are_json(traced, api):
    answer = api.raw("POST", PATH, json.dumps({"template": "host", "internet": False}), {"Content-Type": "application/json"})
    api.raw("DELETE", f"{PATH}/{answer.json()['id']}")
    lines = [json.loads(line) for line in (traced.data / "serve.log").read_text().splitlines() if line.startswith("{")]
    assert {line["program"] for line in lines} >= {"atolld", "atoll-broker"}
    moved = [line for line in lines if line.get("request") == answer.headers["X-Request-Id"]]
    assert moved and moved[0]["sandbox"] == answer.json()["id"] and moved[0]["level"] == "info"


class Silent(http.server.BaseHTTPRequestHandler):
    """Takes a request and never answers, or answers 503."""

    answers = None

    def do_POST(self):
        self.server.calls += 1
        if self.answers is None:
            self.server.stopped.wait()
        else:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(self.answers)
            self.send_header("Retry-After", "1")
            self.end_headers()

    def log_message(self, *_):
        pass


@pytest.mark.parametrize("answers", [None, 503], ids=["silent", "busy"])
def test_a_collector_that_takes_nothing_costs_no_request(answers):
    collector = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Silent,), {"answers": answers}))
    collector.calls, collector.stopped = 0, threading.Event()
    thread = threading.Thread(target=collector.serve_forever, daemon=True)
    thread.start()
    own = atoll.Server(provider="null", environment={
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.server_port}", "ATOLL_OTLP_SPANS_MAX": "64", "ATOLL_OTLP_TIMEOUT": "30s",
        "ATOLL_OTLP_METRICS_INTERVAL": "1s"}).start()
    try:
        own_api = own.api()
        atoll.wait_for(lambda: own_api.raw("GET", PATH).status == 200 and collector.calls, 30, "a call of the collector")
        begun = time.monotonic()
        for _ in range(300):
            assert own_api.raw("GET", PATH).status == 200
        assert time.monotonic() - begun < 10
        text = own_api.raw("GET", "/metrics").body.decode()
        assert int(re.search(r"^atoll_trace_spans_dropped_total (\d+)", text, re.M)[1]) > 100
        assert int(re.search(r"^atoll_trace_queue (\d+)", text, re.M)[1]) <= 64
        if answers:
            def failed():
                found = own_api.raw("GET", "/metrics").body.decode()
                return int(re.search(r'^atoll_otlp_failed_calls_total{signal="traces"} (\d+)', found, re.M)[1])
            atoll.wait_for(failed, 30, "a counted failure")
        begun = time.monotonic()
        own.stop()
        assert time.monotonic() - begun < 15
        assert own.log_text().count("collector does not take") <= 1
    finally:
        collector.stopped.set()
        collector.shutdown()
        collector.server_close()
        own.stop()
        shutil.rmtree(own.data, ignore_errors=True)


def test_a_wrong_option_is_refused_without_its_secret():
    for name, value, what in (("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317", "is not the URL of a collector"),
                              ("OTEL_EXPORTER_OTLP_HEADERS", "secretvalue", "headers for the collector are malformed"),
                              ("OTEL_TRACES_SAMPLER_ARG", "1.5", "expected a number from 0 to 1")):
        done = subprocess.run([atoll.ATOLL, "config"], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", "HOME": "/root", name: value})
        assert done.returncode and what in done.stderr and "secretvalue" not in done.stderr, done.stderr


def promtool(*arguments, **options):
    if not shutil.which("promtool"):
        pytest.skip("promtool is not installed: apt-get install prometheus")
    return subprocess.run(["promtool", *map(str, arguments)], capture_output=True, text=True, timeout=60, **options)


def test_promtool_accepts_the_metrics(api):
    done = promtool("check", "metrics", input=api.raw("GET", "/metrics").body.decode())
    assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_accepts_the_rules():
    folder = DEPLOY / "prometheus"
    for arguments in (("check", "rules", "alerts.yml"), ("check", "config", "prometheus.yml"), ("test", "rules", "alerts_test.yml")):
        done = promtool(*arguments, cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr


def used_metrics(text):
    found = set(re.findall(r"\b((?:atoll|process)_[a-z0-9_]+)", text))
    return {re.sub(r"_(bucket|sum|count)$", "", name) if name.endswith(("_bucket", "_sum")) else name for name in found}


@pytest.mark.parametrize("file", ["grafana/atoll.json", "prometheus/alerts.yml"])
def test_what_dashboard_and_rules_ask_for_exists(api, file):
    text = (DEPLOY / file).read_text()
    existing = set(re.findall(r"^# TYPE (\S+)", api.raw("GET", "/metrics").body.decode(), re.M))
    assert used_metrics(text) <= existing, used_metrics(text) - existing
    pages = set(re.findall(r"runbook: (\S+)", text))
    assert all((atoll.ROOT / page).exists() for page in pages), pages


def test_the_dashboard_is_one_that_grafana_imports():
    board = json.loads((DEPLOY / "grafana/atoll.json").read_text())
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids) and board["uid"] == "atoll" and board["schemaVersion"] >= 36
    places = [(p["gridPos"]["x"] + dx, p["gridPos"]["y"] + dy) for p in board["panels"] for dx in range(p["gridPos"]["w"])
              for dy in range(p["gridPos"]["h"])]
    assert len(places) == len(set(places)), "panels overlap"
    queries = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
    assert len(queries) > 30
    for query in queries:
        # promtool has no check of a query alone: a rule is one.
        rule = {"groups": [{"name": "g", "rules": [{"record": "r", "expr": query.replace("$__rate_interval", "5m")}]}]}
        path = pathlib.Path("/dev/stdin")
        done = promtool("check", "rules", path, input=json.dumps(rule))
        assert done.returncode == 0, query + done.stderr


ERRORS = [("GET", "/api/sandbox/instances/none", None), ("POST", "/api/sandbox/instances", "{"), ("GET", "/nowhere", None),
          ("DELETE", "/healthz", None), ("GET", "/v1/projects/none", None), ("POST", "/sandboxes", "{"), ("GET", "/sandboxes/none", None),
          ("GET", "/daytona/api/sandbox/none", None), ("POST", "/mcp", "{"), ("GET", "/v1/tools/none", None), ("GET", "/p/none/80/", None)]


@pytest.mark.parametrize("method,path,body", ERRORS, ids=[f"{method} {path}" for method, path, _ in ERRORS])
def test_each_answer_has_the_id_of_its_request(api, method, path, body):
    own = f"id-{time.time_ns()}"
    answer = api.raw(method, path, body, {"X-Request-Id": own, "Content-Type": "application/json"})
    assert answer.status >= 400 and answer.headers["X-Request-Id"] == own, answer.body
    error = answer.json() if "json" in (answer.headers.get("Content-Type") or "") else {}
    if isinstance(error.get("error"), dict) and "request_id" in error["error"]:
        assert error["error"]["request_id"] == own
    for bad in ("", "a b", "x" * 65, "ä"):
        made = api.raw(method, path, body, {"X-Request-Id": bad.encode(), "Content-Type": "application/json"})
        assert re.fullmatch(r"[a-z0-9]{8,64}", made.headers["X-Request-Id"]), bad
