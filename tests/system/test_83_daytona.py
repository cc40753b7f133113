# SPDX-License-Identifier: Apache-2.0
"""Daytona's own client, unmodified, against the Daytona surface; and what it never says, said by hand."""

import io
import json
import os
import re
import subprocess
import tarfile
import urllib.parse

import pytest

import atoll
import clients
import specifications

pytestmark = pytest.mark.needs_root
NODE = atoll.ROOT / "tests/node"
PROGRAM = clients.program("daytona.mjs")
NAMES = [name for _, name in re.findall(r"^test\((['\"])(.+?)\1,", PROGRAM.read_text(), re.M)]


@pytest.fixture(scope="module")
def results():
    server = atoll.Server().start()
    tap = specifications.Tap(server.port)
    try:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DAYTONA_")}
        environment |= {"DAYTONA_API_URL": f"http://127.0.0.1:{tap.port}/daytona/api", "DAYTONA_API_KEY": server.key}
        done = subprocess.run([clients.node("@daytona/sdk", since=clients.DAYTONA), PROGRAM], cwd=NODE, env=environment, capture_output=True, text=True, timeout=120)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"name"')]
        yield {line["name"]: line for line in lines}, done.stderr, list(tap.exchanges())
    finally:
        tap.close()
        server.remove_all()


@pytest.mark.parametrize("name", NAMES)
def test_the_client(results, name):
    found, complaint, _ = results
    assert name in found, complaint[-2000:]
    assert found[name]["ok"], found[name]["error"]


# ---- by hand ----


def refusal(api, method, path, body=None, headers=None):
    answer = api.raw(method, path, json.dumps(body) if body is not None else None,
                     {"Content-Type": "application/json", **(headers or {})})
    error = answer.json()
    assert error["statusCode"] == answer.status and error["path"] == path.split("?")[0]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", error["timestamp"])
    return answer.status, error["error"], error["code"], error["source"], error["message"]


def test_errors_have_the_form_of_daytona(api, box):
    status, reason, code, source, message = refusal(api, "GET", "/daytona/api/sandbox/nosuch")
    assert (status, reason, code, source) == (404, "Not Found", "NOT_FOUND", "DAYTONA_API") and "nosuch" in message
    assert refusal(api, "GET", "/daytona/api/nothing")[:2] == (404, "Not Found")
    assert refusal(api, "PATCH", "/daytona/api/sandbox")[0] == 405
    assert refusal(api, "POST", "/daytona/api/sandbox", {"cpu": "many"})[:2] == (400, "Bad Request")
    assert refusal(api, "GET", "/daytona/api/sandbox", headers={"Authorization": "Bearer wrong"})[:2] == (401, "Unauthorized")
    toolbox = f"/daytona/toolbox/{box}/process/execute"
    assert refusal(api, "POST", toolbox, {})[3] == "DAYTONA_DAEMON"
    assert refusal(api, "POST", "/daytona/toolbox/nosuch/process/execute", {"command": "true"})[:4] == (
        404, "Not Found", "NOT_FOUND", "DAYTONA_API")
    assert refusal(api, "POST", toolbox, {"command": "sleep 9", "timeout": 1})[:4] == (
        408, "Request Timeout", "PROCESS_EXECUTION_TIMEOUT", "DAYTONA_DAEMON")


def test_a_timeout_is_one_in_a_sandbox_that_had_to_wake_up_for_it(api, box):
    """What waits for a worker is run twice; the first try must leave no word for the second one's failure."""
    api.post(f"/daytona/api/sandbox/{box}/pause")
    assert refusal(api, "POST", f"/daytona/toolbox/{box}/process/execute", {"command": "sleep 9", "timeout": 1})[:4] == (
        408, "Request Timeout", "PROCESS_EXECUTION_TIMEOUT", "DAYTONA_DAEMON")


def test_the_socket_of_events_is_not_there(api):
    assert refusal(api, "GET", "/daytona/api/socket.io/?EIO=4&transport=websocket")[0] == 404


def test_errors_elsewhere_keep_our_form(api):
    assert api.raw("GET", "/api/sandbox/instances/nosuch").json()["error"]["code"] == "not_found"


def test_forks_know_where_they_come_from(api, box):
    base = "/daytona/api/sandbox"
    ids = lambda found: [one["id"] for one in found]
    made, before = [], {one["id"] for one in api.get("/api/sandbox/snapshots")["items"]}
    try:
        for of in (box, box, None):
            made.append(api.post(f"{base}/{of or made[0]}/fork", {})["id"])
        child, other, grandchild = made
        api.post(f"{base}/{box}/snapshot", {"name": "named"})
        made.append(api.post(base, {"snapshot": "named", "networkBlockAll": True})["id"])
        assert ids(api.get(f"{base}/{box}/forks")) == [child, other], "what was made of a snapshot is no fork"
        assert ids(api.get(f"{base}/{grandchild}/ancestors")) == [child, box]
        assert api.get(f"{base}/{grandchild}/parent")["id"] == child
        assert api.get(f"{base}/{box}/ancestors") == [] and api.get(f"{base}/{grandchild}/forks") == []
        for unborn in (box, made[3]):
            assert refusal(api, "GET", f"{base}/{unborn}/parent")[0] == 404
        assert refusal(api, "GET", f"{base}/nosuch/forks")[0] == 404
        api.delete(f"{base}/{child}")
        assert ids(api.get(f"{base}/{box}/forks")) == [other]
        assert ids(api.get(f"{base}/{box}/forks?includeDestroyed=true")) == [child, other]
        assert refusal(api, "GET", f"{base}/{grandchild}/parent")[0] == 404 and api.get(f"{base}/{grandchild}/ancestors") == []
    finally:
        for one in made:
            api.raw("DELETE", f"{base}/{one}")
        for snapshot in api.get("/api/sandbox/snapshots")["items"]:
            if snapshot["id"] not in before:
                api.delete(f"/api/sandbox/snapshots/{snapshot['id']}")


def test_members_that_we_do_not_know_are_passed_over(api):
    made = api.post("/daytona/api/sandbox", {"tomorrow": {"a": 1}, "networkBlockAll": True, "name": "newer"})
    try:
        assert made["name"] == "newer" and made["state"] == "started" and made["desiredState"] == "started"
        assert made["cpu"] > 0 and made["memory"] > 0 and made["disk"] > 0 and made["gpu"] == 0
        assert made["volumes"] == [] and made["organizationId"] and made["target"] == "local"
        assert api.get("/daytona/api/sandbox/newer?verbose=true&tomorrow=1")["id"] == made["id"]
    finally:
        gone = api.delete(f"/daytona/api/sandbox/{made['id']}")
    assert gone["state"] == "destroyed"


def test_intervals_have_limits(api, box):
    base = f"/daytona/api/sandbox/{box}"
    for wrong in ("autostop/-1", "autostop/x", "autopause/99999999", "ttl/-5", "autoarchive/1.5"):
        assert refusal(api, "POST", f"{base}/{wrong}")[0] == 400, wrong
    assert refusal(api, "POST", "/daytona/api/sandbox/nosuch/autostop/1")[0] == 404


def test_who_may_only_read_sees_no_environment(api, server):
    made = api.post("/daytona/api/sandbox", {"env": {"SECRET": "x"}, "networkBlockAll": True})
    try:
        key = api.post("/api/sandbox/keys", {"name": "reader", "scopes": ["sandbox:read"]})["key"]
        reader = server.api(key)
        assert api.get(f"/daytona/api/sandbox/{made['id']}")["env"] == {"SECRET": "x"}
        assert reader.get(f"/daytona/api/sandbox/{made['id']}")["env"] == {}
        assert refusal(reader, "POST", f"/daytona/api/sandbox/{made['id']}/stop")[:2] == (403, "Forbidden")
        reader.close()
    finally:
        api.delete(f"/daytona/api/sandbox/{made['id']}")


# ---- a language server that is none of ours ----


def language_server():
    """typescript-language-server from npm, and as much of TypeScript as it runs, packed; a skip where npm has none."""
    clients.node("typescript-language-server", "typescript")
    modules, packed = NODE / "node_modules", io.BytesIO()
    parts = [modules / "typescript-language-server/package.json", modules / "typescript-language-server/lib/cli.mjs",
             modules / "typescript/package.json", modules / "typescript/lib/tsserver.js"]
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as tar:
        for part in parts:
            tar.add(part, f"node_modules/{part.relative_to(modules)}")
    return packed.getvalue()


def test_a_language_server_from_npm(api):
    packed = language_server()
    made = api.post("/daytona/api/sandbox", {"env": {"PATH": "/home/user/bin:/usr/local/bin:/usr/bin:/bin"}, "networkBlockAll": True})
    toolbox, project = f"/daytona/toolbox/{made['id']}", {"languageId": "typescript", "pathToProject": "src"}
    try:
        if api.exec(made["id"], "node --version")["exit_code"]:
            pytest.skip("sandboxes of this machine have no node")
        api.write(made["id"], "/home/user/server.tgz", packed)
        api.exec(made["id"], "cd /home/user && tar xzf server.tgz && mkdir -p bin project/src && chmod +x node_modules/typescript-language-server/lib/cli.mjs"
                             " && ln -s ../node_modules/typescript-language-server/lib/cli.mjs bin/typescript-language-server"
                             " && printf 'export class Outer { inner = 1 }\\nnew Outer().\\n' >project/src/a.ts")
        api.post(f"{toolbox}/lsp/start", project)
        document = {**project, "uri": f"file://{api.get(f'{toolbox}/work-dir')['dir']}/src/a.ts"}
        query = urllib.parse.urlencode(document)
        api.post(f"{toolbox}/lsp/did-open", document)
        symbols = api.get(f"{toolbox}/lsp/document-symbols?{query}")
        assert [(one["name"], one["kind"]) for one in symbols] == [("Outer", 5), ("inner", 7)]
        found = api.post(f"{toolbox}/lsp/completions", {**document, "position": {"line": 1, "character": 12}})
        assert [item["label"] for item in found["items"]] == ["inner"]
        search = urllib.parse.urlencode({**project, "query": "Oute"})
        assert [one["name"] for one in api.get(f"{toolbox}/lsp/workspacesymbols?{search}")] == ["Outer"]
        api.post(f"{toolbox}/lsp/did-close", document)
        api.post(f"{toolbox}/lsp/stop", project)
        assert refusal(api, "POST", f"{toolbox}/lsp/stop", project)[0] == 404
    finally:
        api.delete(f"/daytona/api/sandbox/{made['id']}")


# ---- answers against Daytona's own specification, where that is at hand ----

SPECS = atoll.ROOT.parent / "shared/reference/specs/daytona"
KINDS = {"string": str, "boolean": bool, "array": list, "object": dict, "integer": int, "number": (int, float)}


class Specification:
    """As much of JSON Schema as Daytona's documents use."""

    def __init__(self, name):
        if not (SPECS / name).exists():
            pytest.skip(f"{SPECS / name} is not there")
        self.document = json.loads((SPECS / name).read_text())

    def schema_of(self, method, path):
        answers = self.document["paths"][path][method.lower()]["responses"]
        answer = next(answers[status] for status in ("200", "201", "202") if status in answers)
        return answer.get("schema") or answer["content"]["application/json"]["schema"]

    def follow(self, schema):
        while "$ref" in schema:
            node = self.document
            for part in schema["$ref"].lstrip("#/").split("/"):
                node = node[part]
            schema = node
        return schema

    def check(self, value, schema, where):
        nullable = schema.get("nullable", False)
        schema = self.follow(schema)
        if value is None and (nullable or schema.get("nullable")):
            return
        for part in schema.get("allOf", []):
            self.check(value, part, where)
        if "type" in schema:
            kind = KINDS[schema["type"]]
            assert isinstance(value, kind) and (schema["type"] == "boolean" or not isinstance(value, bool)), (where, value)
        if "enum" in schema:
            assert value in schema["enum"], (where, value)
        if isinstance(value, dict):
            for name in schema.get("required", []):
                assert name in value, (where, name)
            for name, member in value.items():
                if name in schema.get("properties", {}):
                    self.check(member, schema["properties"][name], f"{where}.{name}")
                elif isinstance(schema.get("additionalProperties"), dict):
                    self.check(member, schema["additionalProperties"], f"{where}.{name}")
        if isinstance(value, list):
            for i, item in enumerate(value):
                self.check(item, schema.get("items", {}), f"{where}[{i}]")


def test_the_control_api_answers_as_its_specification_says(api):
    spec = Specification("api.json")
    made = api.post("/daytona/api/sandbox", {"name": "spec", "labels": {"a": "b"}, "env": {"A": "b"}, "ttlMinutes": 60})
    sandbox, base = "/sandbox/{sandboxIdOrName}", f"/daytona/api/sandbox/{made['id']}"
    try:
        spec.check(made, spec.schema_of("POST", "/sandbox"), "create")
        volume = api.post("/daytona/api/volumes", {"name": "spec"})
        calls = [
            ("GET", "/sandbox", "/daytona/api/sandbox", None),
            ("GET", sandbox, base, None),
            ("PUT", sandbox + "/labels", base + "/labels", {"labels": {"c": "d"}}),
            ("POST", sandbox + "/autostop/{interval}", base + "/autostop/5", None),
            ("POST", sandbox + "/snapshot", base + "/snapshot", {"name": "spec"}),
            ("GET", "/snapshots", "/daytona/api/snapshots", None),
            ("GET", "/snapshots/{id}", "/daytona/api/snapshots/spec", None),
            ("GET", "/snapshots/{id}", "/daytona/api/snapshots/host", None),
            ("GET", "/volumes", "/daytona/api/volumes", None),
            ("GET", "/volumes/{volumeId}", f"/daytona/api/volumes/{volume['id']}", None),
            ("GET", "/volumes/by-name/{name}", "/daytona/api/volumes/spec", None),
            ("GET", "/sandbox/{sandboxId}/toolbox-proxy-url", base + "/toolbox-proxy-url", None),
            ("GET", "/sandbox/{sandboxId}/telemetry/metrics", base + "/telemetry/metrics", None),
            ("GET", sandbox + "/ports/{port}/preview-url", base + "/ports/3000/preview-url", None),
            ("GET", sandbox + "/ports/{port}/signed-preview-url", base + "/ports/3000/signed-preview-url", None),
            ("GET", sandbox + "/forks", base + "/forks", None),
            ("GET", sandbox + "/ancestors", base + "/ancestors", None),
            ("GET", "/warm-pools", "/daytona/api/warm-pools", None),
            ("GET", "/config", "/daytona/api/config", None),
            ("POST", sandbox + "/stop", base + "/stop", None),
            ("POST", sandbox + "/start", base + "/start", None),
        ]
        for method, path, really, body in calls:
            spec.check(api.call(method, really, body), spec.schema_of(method, path), f"{method} {path}")
    finally:
        spec.check(api.delete(base), spec.schema_of("DELETE", sandbox), "delete")
        api.delete("/daytona/api/volumes/spec")
        api.delete("/daytona/api/snapshots/spec")


def test_the_toolbox_answers_as_its_specification_says(api, box):
    spec = Specification("toolbox.json")
    api.exec(box, "git init -q spec && cd spec && git -c user.name=A -c user.email=a@b commit -q --allow-empty -m one && echo x > x")
    api.post(f"/daytona/toolbox/{box}/process/session", {"sessionId": "spec"})
    calls = [
        ("POST", "/process/execute", "", {"command": "echo x"}),
        ("POST", "/process/code-run", "", {"code": "print(1)", "language": "python"}),
        ("POST", "/process/session/{sessionId}/exec", "", {"command": "echo x"}),
        ("GET", "/process/session", "", None),
        ("GET", "/process/session/{sessionId}", "", None),
        ("POST", "/process/pty", "", {"id": "spec"}),
        ("GET", "/process/pty", "", None),
        ("POST", "/process/interpreter/context", "", {}),
        ("GET", "/process/interpreter/context", "", None),
        ("GET", "/files", "?path=spec", None),
        ("GET", "/files/info", "?path=spec/x", None),
        ("GET", "/files/find", "?path=spec&pattern=x", None),
        ("GET", "/files/search", "?path=spec&pattern=x", None),
        ("POST", "/files/replace", "", {"files": ["spec/x", "nosuch"], "pattern": "x", "newValue": "y"}),
        ("GET", "/git/status", "?path=spec", None),
        ("GET", "/git/branches", "?path=spec", None),
        ("GET", "/git/history", "?path=spec", None),
        ("GET", "/git/remotes", "?path=spec", None),
        ("GET", "/git/config", "?key=user.name", None),
        ("GET", "/port", "", None),
        ("GET", "/port/{port}/in-use", "", None),
        ("GET", "/system/metrics", "", None),
        ("GET", "/user-home-dir", "", None),
        ("GET", "/work-dir", "", None),
        ("GET", "/version", "", None),
    ]
    for method, path, query, body in calls:
        really = path.replace("{sessionId}", "spec").replace("{port}", "3000")
        answer = api.call(method, f"/daytona/toolbox/{box}{really}{query}", body)
        spec.check(answer, spec.schema_of(method, path), f"{method} {path}")
    api.delete(f"/daytona/toolbox/{box}/process/session/spec")
    api.delete(f"/daytona/toolbox/{box}/process/pty/spec")


# ---- all that the client said, and what it was told ----

# What this server answers beyond the specification's own kinds.
LOOSE = {("GET", "/process/session/{sessionId}/command/{commandId}/logs"), ("GET", "/process/session/entrypoint/logs")}


class Surface(Specification):
    """Finds the operation of a call, and holds both of its sides against it."""

    def __init__(self, name):
        super().__init__(name)
        rows = [(re.compile(re.sub(r"{\w+}", "[^/]+", path) + "$"), path) for path in self.document["paths"]]
        self.rows = sorted(rows, key=lambda row: row[1].count("{"))

    def operation(self, method, path):
        for pattern, name in self.rows:
            if pattern.match(path) and method.lower() in self.document["paths"][name]:
                return name, self.document["paths"][name][method.lower()]
        raise AssertionError(f"{method} {path} is not in the specification")

    def body_schema(self, operation):
        if "requestBody" in operation:
            return self.follow(operation["requestBody"])["content"].get("application/json", {}).get("schema")
        return next((p["schema"] for p in operation.get("parameters", []) if p.get("in") == "body"), None)

    def check_exchange(self, method, path, headers, body, status, answer):
        name, operation = self.operation(method, path)
        where = f"{method} {name}"
        schema = self.body_schema(operation)
        if status < 400 and schema and body and "json" in headers.get("content-type", ""):
            self.check(json.loads(body), schema, f"{where} body")
        if status >= 400:
            said = json.loads(answer)
            assert said["statusCode"] == status and said["message"] and said["timestamp"], where
        elif (method, name) not in LOOSE:
            answers = operation["responses"]
            said = next((answers[code] for code in ("200", "201", "202") if code in answers), {})
            schema = said.get("schema") or said.get("content", {}).get("application/json", {}).get("schema")
            if schema and self.follow(schema).get("type") in ("object", "array") and answer[:1] in b"{[" and answer:
                self.check(json.loads(answer), schema, f"{where} {status}")
        return method, name


def test_all_that_the_client_said_is_as_specified(results):
    surfaces = {"api": Surface("api.json"), "toolbox": Surface("toolbox.json")}
    heard, seen, wrong = results[2], set(), []
    for method, target, headers, body, status, answer in heard:
        found = re.match(r"/daytona/(api|toolbox/[^/]+)(/[^?]*)", target)
        # Its socket of events, and the PTY that its own document does not have.
        if not found or found[2].startswith("/socket.io") or found[2] == "/process/pty/create-connect" or found[2].endswith("/build-logs"):
            continue
        try:
            seen.add(surfaces[found[1].split("/")[0]].check_exchange(method, found[2], headers, body, status, answer))
        except AssertionError as mistake:
            wrong.append(str(mistake))
    assert not wrong, "\n".join(sorted(set(wrong)))
    assert len(seen) >= 90, sorted(seen)


def test_a_description_leaves_a_secrets_value_and_what_e2bs_clients_say_of_it(api):
    made = api.post("/secrets", {"name": "shared", "value": "one", "metadata": {"team": "core", "empty": ""}})
    secret = "/daytona/api/secret/" + made["secretID"].removeprefix("sec_")
    assert api.call("PATCH", secret, {"description": "ours", "hosts": ["*.example.com"]})["hosts"] == ["*.example.com"]
    assert api.call("PATCH", secret, {"value": "two"})["description"] == "ours"
    now = api.get(f"/secrets/{made['secretID']}")
    assert now["metadata"] == {"description": "ours", "hosts": "*.example.com", "team": "core", "empty": ""}
    assert now["currentVersion"] == 2, "the value has changed once"
    api.delete(secret)
