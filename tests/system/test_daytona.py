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
        done = subprocess.run([clients.node("@daytona/sdk", since=clients.DAYTONA), PROGRAM], cwd=NODE, env=environment, capture_output=True, text=True, timeout=300)
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


def test_the_token_of_a_browser_is_not_there(api, box):
    assert refusal(api, "GET", f"/daytona/api/sandbox/{box}/ports/1/preview-url")[0] == 403


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


def send_form(api, path, *parts):
    """Each part is its name, its file's name or None, and its content."""
    body = "".join(f'--b\r\nContent-Disposition: form-data; name="{name}"' + (f'; filename="{file}"' if file else "") + f"\r\n\r\n{content}\r\n"
                   for name, file, content in parts)
    return api.raw("POST", path, body + "--b--\r\n", {"Content-Type": "multipart/form-data; boundary=b"})


def test_files_of_a_form_are_written_to_the_paths_before_them(api, box):
    bulk = f"/daytona/toolbox/{box}/files/bulk-upload"
    path, file = "files[{}].path".format, "files[{}].file".format
    made = send_form(api, bulk, (path(0), None, "bulk/one"), (file(0), "x", "1\r\n"), ("other", "y", "passed over"),
                     (path(1), None, "/tmp/two"), (file(1), None, ""))
    assert made.json() == {"files": [{"path": "/home/user/project/bulk/one", "bytes": 3}, {"path": "/tmp/two", "bytes": 0}]}
    assert api.read(box, "bulk/one") == b"1\r\n" and api.read(box, "/tmp/two") == b""
    large = "x" * 3_000_000
    assert send_form(api, bulk, (path(0), None, "bulk/large"), (file(0), "x", large)).json()["files"][0]["bytes"] == len(large)
    assert api.read(box, "bulk/large") == large.encode()
    for parts, word in (([], "no part"), ([(file(0), "x", "1")], "must come before"), ([("other", "y", "")], "files[0].file"),
                        ([(path(0), None, "x"), (file(1), "x", "1")], "must come before"), ([(path(0), None, ""), (file(0), "x", "1")], "must come before"),
                        ([(path(0), None, "x" * 5000), (file(0), "x", "1")], "longer than"),
                        ([(path(0), None, "\0"), (file(0), "x", "1")], "")):
        answer = send_form(api, bulk, *parts)
        assert answer.status == 400 and word in answer.json()["message"], (parts, answer.body)
    assert send_form(api, bulk, (path(0), None, "/proc/nosuch"), (file(0), "x", "1")).status >= 400
    many = [(path(i), None, f"many/{i}") if odd == 0 else (file(i), "x", str(i)) for i in range(1001) for odd in (0, 1)]
    assert len(send_form(api, bulk, *many[:1000]).json()["files"]) == 500 and api.read(box, "many/499") == b"499"
    answer = send_form(api, bulk, *many)
    assert answer.status == 429, answer.body


def test_one_file_of_a_form_is_written_to_the_path_of_the_address(api, box):
    single = f"/daytona/toolbox/{box}/files/upload-v2?path=single/one"
    answer = send_form(api, single, ("note", None, "passed over"), ("any", "its-own-name", "content"))
    assert answer.json() == {"name": "one", "path": "/home/user/project/single/one", "type": "file"}
    assert api.read(box, "single/one") == b"content"
    for parts, word in (([("a", "a", "1"), ("b", "b", "2")], "only one file"), ([("a", None, "1")], "no part")):
        answer = send_form(api, single, *parts)
        assert answer.status == 400 and word in answer.json()["message"], answer.body


def test_a_terminal_without_a_size_has_the_usual_one(api, box):
    path = f"/daytona/toolbox/{box}/process/pty"
    api.post(path, {"id": "unsized", "cols": 0, "rows": 0})
    made = api.get(f"{path}/unsized")
    assert (made["cols"], made["rows"]) == (80, 24)
    api.delete(f"{path}/unsized")


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


@pytest.mark.skipif(not os.path.exists("/usr/bin/pylsp"), reason="the host's /usr has no pylsp (python3-pylsp)")
def test_the_language_server_of_debian(api):
    """It is what the template base has for Python."""
    made = api.post("/daytona/api/sandbox", {"networkBlockAll": True, "env": {"HOME": "/home/user"}})
    toolbox, project = f"/daytona/toolbox/{made['id']}", {"languageId": "python", "pathToProject": "src"}
    try:
        api.exec(made["id"], "mkdir -p ~/project/src && printf 'import os\\n\\n\\nclass Outer:\\n    inner = 1\\n\\n\\nos.getcw\\n' >~/project/src/a.py")
        api.post(f"{toolbox}/lsp/start", project)
        document = {**project, "uri": f"file://{api.get(f'{toolbox}/work-dir')['dir']}/src/a.py"}
        api.post(f"{toolbox}/lsp/did-open", document)
        symbols = api.get(f"{toolbox}/lsp/document-symbols?{urllib.parse.urlencode(document)}")
        assert ("Outer", 5) in [(one["name"], one["kind"]) for one in symbols], symbols
        found = api.post(f"{toolbox}/lsp/completions", {**document, "position": {"line": 7, "character": 8}})
        assert any(item["label"].startswith("getcwd") for item in found["items"]), found
        api.post(f"{toolbox}/lsp/did-close", document)
        api.post(f"{toolbox}/lsp/stop", project)
    finally:
        api.delete(f"/daytona/api/sandbox/{made['id']}")


# ---- all that was said, against Daytona's own specifications, where they are at hand ----

# A path of a specification, and why it is not here: each answers 404, or 501 where a client's method asks for it.
NOT_HERE = {
    r"/(api-keys|organizations|users|admin|audit|webhooks|shared-regions|regions)\b": "Daytona's own console: `atoll key`, `atoll project`, `atoll webhook`",
    r"/(runners|jobs|docker-registry|preview)\b|/sandbox/for-runner|/sandbox/{sandboxId}/(state|organization|region-quota|secrets)$|/init$":
        "what Daytona's own machines tell each other",
    r"/health\b": "/healthz and /readyz of this server",
    r"/sandbox/paginated$|/sandbox/{sandboxIdOrName}/(backup|build-logs)$": "deprecated: the list, archives and build-logs-url are in their place",
    r"/snapshots/{id}/deactivate$": "a template that nobody uses costs its files alone",
    r"/sandbox/{sandboxId}/telemetry/(logs|traces)": "OpenTelemetry of what runs inside: the server keeps metrics alone",
    r"/sandbox/({sandboxIdOrName}/)?ssh-access|/computeruse/|/object-storage/": "refused by name",
}
# Their messages are WebSocket's, which the client's own tests are for.
SOCKETS = {("GET", "/process/interpreter/execute"), ("GET", "/process/pty/{sessionId}/connect")}
# The client's signed addresses, and what the answer of a secret without hosts says, which the specification does not know.
NEWER = {"expires", "signature", "warning"}


class Surface(specifications.OpenApi):
    def check_failure(self, said, status, where):
        assert said["statusCode"] == status and said["message"] and said["timestamp"] and said["path"], f"{where} {status}: {said}"

    def check_exchange(self, method, target, body, status, answer):
        """What is refused may have been nonsense."""
        return super().check_exchange(method, target, body if status < 400 else b"", status, answer)


def is_here(path):
    return not any(re.match(pattern, path) for pattern in NOT_HERE)


@pytest.fixture(scope="module")
def surfaces():
    return {"api": Surface(specifications.load("daytona/api.json"), newer=NEWER),
            "toolbox": Surface(specifications.of_swagger(specifications.load("daytona/toolbox.json")), newer=NEWER)}


@pytest.fixture(scope="module")
def by_hand(server):
    """What is said here, to every operation whose answer needs no program inside."""
    tap = specifications.Tap(server.port)
    api = atoll.Api("127.0.0.1", tap.port, server.key)
    made = api.post("/daytona/api/sandbox", {"name": "spec", "labels": {"a": "b"}, "env": {"A": "b"}, "ttlMinutes": 60})
    box, toolbox = f"/daytona/api/sandbox/{made['id']}", f"/daytona/toolbox/{made['id']}"
    api.exec(made["id"], "git init -q spec && cd spec && git -c user.name=A -c user.email=a@b commit -q --allow-empty -m one && echo x > x")
    volume, fork = api.post("/daytona/api/volumes", {"name": "spec"}), api.post(f"{box}/fork", {"name": "fork"})
    for method, path, body in [
            ("GET", "/daytona/api/sandbox", None), ("GET", box, None), ("PUT", f"{box}/labels", {"labels": {"c": "d"}}),
            ("POST", f"{box}/autostop/5", None), ("POST", f"{box}/public/true", None), ("POST", f"{box}/snapshot", {"name": "spec"}),
            ("GET", f"{box}/forks", None), ("GET", f"/daytona/api/sandbox/{fork['id']}/parent", None),
            ("GET", f"/daytona/api/sandbox/{fork['id']}/ancestors", None), ("GET", "/daytona/api/snapshots", None),
            ("GET", "/daytona/api/snapshots/spec", None), ("GET", "/daytona/api/snapshots/host", None), ("GET", "/daytona/api/volumes", None),
            ("GET", f"/daytona/api/volumes/{volume['id']}", None), ("GET", "/daytona/api/volumes/by-name/spec", None),
            ("GET", f"{box}/toolbox-proxy-url", None), ("GET", f"{box}/telemetry/metrics?from=2026-01-01T00:00:00Z&to=2100-01-01T00:00:00Z", None), ("GET", f"{box}/ports/3000/preview-url", None),
            ("GET", f"{box}/ports/3000/signed-preview-url", None), ("GET", "/daytona/api/warm-pools", None), ("GET", "/daytona/api/secret", None),
            ("GET", "/daytona/api/config", None), ("POST", f"{toolbox}/process/session", {"sessionId": "spec"}),
            ("POST", f"{toolbox}/process/execute", {"command": "echo x"}),
            ("POST", f"{toolbox}/process/code-run", {"code": "print(1)", "language": "python"}),
            ("POST", f"{toolbox}/process/session/spec/exec", {"command": "echo x"}), ("GET", f"{toolbox}/process/session", None),
            ("GET", f"{toolbox}/process/session/spec", None), ("POST", f"{toolbox}/process/pty", {"id": "spec"}),
            ("GET", f"{toolbox}/process/pty", None), ("POST", f"{toolbox}/process/interpreter/context", {}),
            ("GET", f"{toolbox}/process/interpreter/context", None), ("GET", f"{toolbox}/files?path=spec", None),
            ("GET", f"{toolbox}/files/info?path=spec/x", None), ("GET", f"{toolbox}/files/find?path=spec&pattern=x", None),
            ("GET", f"{toolbox}/files/search?path=spec&pattern=x", None),
            ("POST", f"{toolbox}/files/replace", {"files": ["spec/x", "nosuch"], "pattern": "x", "newValue": "y"}),
            ("GET", f"{toolbox}/git/status?path=spec", None), ("GET", f"{toolbox}/git/branches?path=spec", None),
            ("GET", f"{toolbox}/git/history?path=spec", None), ("GET", f"{toolbox}/git/remotes?path=spec", None),
            ("GET", f"{toolbox}/git/config?key=user.name&path=spec", None), ("GET", f"{toolbox}/port", None), ("GET", f"{toolbox}/port/3000/in-use", None),
            ("GET", f"{toolbox}/system/metrics", None), ("GET", f"{toolbox}/user-home-dir", None), ("GET", f"{toolbox}/work-dir", None),
            ("GET", f"{toolbox}/version", None), ("DELETE", f"{toolbox}/process/session/spec", None), ("DELETE", f"{toolbox}/process/pty/spec", None),
            ("POST", f"{box}/stop", None), ("POST", f"{box}/start", None),
            ("DELETE", f"/daytona/api/sandbox/{fork['id']}", None), ("DELETE", box, None), ("DELETE", f"/daytona/api/volumes/{volume['id']}", None),
            ("DELETE", "/daytona/api/snapshots/spec", None)]:
        answer = api.raw(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
        assert answer.status < 300, (path, answer.body)
    api.close()
    tap.close()
    return list(tap.exchanges())


def seen_in(surfaces, exchanges):
    """The operations of all that was said, which is as the specifications say."""
    seen, wrong = set(), set()
    for method, target, headers, body, status, answer in exchanges:
        found = re.match(r"/daytona/(api|toolbox)(?:(?<=toolbox)/[^/]+)?(/.*)", target)
        # Its socket of events, and the PTY that its own document does not have.
        if not found or found[2].startswith(("/socket.io", "/process/pty/create-connect")):
            continue
        try:
            name = surfaces[found[1]].check_exchange(method, found[2], body if "json" in headers.get("content-type", "") else b"", status, answer)
            if status < 400:
                seen.add((found[1], method, name))
        except AssertionError as mistake:
            wrong.add(str(mistake))
    assert not wrong, "\n".join(sorted(wrong))
    return seen


def test_what_is_answered_by_hand_is_as_specified(surfaces, by_hand):
    assert len(seen_in(surfaces, by_hand)) > 50


def test_every_operation_was_seen_and_is_as_specified(surfaces, by_hand, results):
    seen = seen_in(surfaces, by_hand) | seen_in(surfaces, results[2])
    wanted = {(which, *row) for which, surface in surfaces.items() for row in surface.operations() - SOCKETS if is_here(row[1])}
    unseen = sorted(wanted - seen)
    assert not unseen, unseen


def test_what_is_not_here_says_so(surfaces, api, box):
    for which, surface in surfaces.items():
        base = "/daytona/api" if which == "api" else f"/daytona/toolbox/{box}"
        for method, path in surface.operations():
            if is_here(path):
                continue
            really = base + re.sub(r"{\w+}", lambda name: box if name[0].startswith("{sandboxId") else "x", path)
            status, _, _, _, message = refusal(api, method, really, {})
            is_nowhere = status in (404, 405) and re.search("nothing at this path|no sandbox '(paginated|for-runner)'|method", message)
            assert status == 501 or is_nowhere, (method, path, status, message)


def test_a_description_leaves_a_secrets_value_and_what_e2bs_clients_say_of_it(api):
    made = api.post("/secrets", {"name": "shared", "value": "one", "metadata": {"team": "core", "empty": ""}})
    secret = "/daytona/api/secret/" + made["secretID"].removeprefix("sec_")
    assert api.call("PATCH", secret, {"description": "ours", "hosts": ["*.example.com"]})["hosts"] == ["*.example.com"]
    assert api.call("PATCH", secret, {"value": "two"})["description"] == "ours"
    now = api.get(f"/secrets/{made['secretID']}")
    assert now["metadata"] == {"description": "ours", "hosts": "*.example.com", "team": "core", "empty": ""}
    assert now["currentVersion"] == 2, "the value has changed once"
    api.delete(secret)
