# SPDX-License-Identifier: Apache-2.0
"""The messages of streams and WebSockets are those that the OpenAPI document describes."""

import json

import pytest

from web_socket import Socket

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
NDJSON = {"Accept": "application/x-ndjson"}


@pytest.fixture(scope="module")
def document(server):
    return server.api().get("/openapi.json")


@pytest.fixture(scope="module")
def box(server):
    return server.api().create(internet=False)["id"]


def operations(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if method in ("get", "post", "put", "patch", "delete"):
                yield path, method, operation


def content_of(document, method, path):
    return document["paths"][path][method]["responses"]["200"]["content"]


def described(document, reference):
    return document["components"]["schemas"][reference["$ref"].rsplit("/", 1)[1]]


def mistakes(schema, message):
    """Members that the schema does not know, required ones that are absent, and values that it does not list."""
    found = [f"unknown: {name}" for name in message if name not in schema["properties"]]
    found += [f"absent: {name}" for name in schema.get("required", []) if name not in message]
    for name, value in message.items():
        choices = schema["properties"].get(name, {}).get("enum")
        if choices and value not in choices:
            found.append(f"{name}: {value}")
    return found


def check(document, method, path, messages):
    content = content_of(document, method, path)
    assert content["text/event-stream"]["x-itemSchema"] == content["application/x-ndjson"]["x-itemSchema"]
    item = content["application/x-ndjson"]["x-itemSchema"]
    schemas = [described(document, reference) for reference in item.get("anyOf", [item])]
    assert messages
    for message in messages:
        assert any(not mistakes(schema, message) for schema in schemas), (message, [mistakes(schema, message) for schema in schemas])


def lines(response, count=None):
    """The messages of a stream, all of them or the first."""
    found = []
    while len(found) != count and (line := response.readline()):
        if line.strip():
            found.append(json.loads(line))
    return found


def test_every_stream_and_websocket_has_a_schema(document):
    streams = sockets = 0
    for path, method, operation in operations(document):
        for status, response in operation["responses"].items():
            if "application/x-ndjson" in response.get("content", {}) and not path.endswith(("/activity", "/{job}/events")):
                assert "x-itemSchema" in response["content"]["application/x-ndjson"], f"{method} {path}"
                streams += 1
            if status == "101":
                assert set(response["x-messages"]) == {"server", "client"}, path
                sockets += 1
    assert streams >= 7 and sockets >= 2


def test_a_commands_messages(document, api, box):
    whole = lines(api.open("POST", f"{PATH}/{box}/exec", {"command": "echo out; printf '\\377' >&2; exit 3"}, NDJSON))
    assert {message["event"] for message in whole} == {"started", "stdout", "stderr", "exit"}
    check(document, "post", f"{PATH}/{{id}}/exec", whole)
    process = whole[0]["process"]
    again = lines(api.open("GET", f"{PATH}/{box}/processes/{process}/stream?stream=ndjson"))
    check(document, "get", f"{PATH}/{{id}}/processes/{{process}}/stream", again)
    check(document, "get", f"{PATH}/{{id}}/logs", lines(api.open("GET", f"{PATH}/{box}/logs?process={process}&stream=ndjson")))


@pytest.mark.parametrize("context, code, wanted", [
    (None, "print('out'); 1 / 0", {"started", "stdout", "stderr", "exit"}),
    ("default", "import sys\nprint('out')\nprint('err', file=sys.stderr)\n1 / 0", {"started", "stdout", "stderr", "error", "exit"}),
    ("default", "7 * 6", {"started", "result", "exit"}),
])
def test_codes_messages(document, api, box, context, code, wanted):
    body = {"code": code, "language": "python"} | ({"contextId": context} if context else {})
    messages = lines(api.open("POST", f"{PATH}/{box}/code", body, NDJSON))
    assert {message["event"] for message in messages} == wanted
    check(document, "post", f"{PATH}/{{id}}/code", messages)


def test_a_watchs_messages(document, server, api, box):
    watching = server.api()
    stream = watching.open("GET", f"{PATH}/{box}/files/watch?path=/tmp&stream=ndjson")
    first = lines(stream, 1)
    api.exec(box, "touch /tmp/seen; mkdir /tmp/folder")
    check(document, "get", f"{PATH}/{{id}}/files/watch", first + lines(stream, 2))
    watching.close()


@pytest.mark.parametrize("path", ["/v1/events", "/v1/stats"])
def test_a_projects_messages(document, server, box, path):
    reader = server.api()
    check(document, "get", path, lines(reader.open("GET", f"{path}?stream=ndjson" + ("&after=0" if path == "/v1/events" else "")), 1))
    reader.close()


def test_a_terminals_messages(document, server, api, box):
    opened = api.post(f"{PATH}/{box}/terminal", {"name": "schemas"})
    socket = Socket(server, opened["path"])
    schema = described(document, document["paths"]["/api/sandbox/terminal/{session}/browser"]["get"]["responses"]["101"]["x-messages"]["server"])
    socket.send(json.dumps({"type": "resize", "rows": 30, "cols": 90}).encode(), kind=1)
    socket.send(b"exit 5\n")
    socket.until(lambda s: any(event["type"] == "exit" for event in s.events))
    socket.close()
    for message in socket.events:
        assert not mistakes(schema, message), message
