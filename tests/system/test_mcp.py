# SPDX-License-Identifier: Apache-2.0
"""The Model Context Protocol at /mcp, in both of its eras."""

import base64
import http.client
import json
import os
import subprocess
import threading
import time

import pytest

import atoll
import clients

MODERN = "2026-07-28"
VERSIONS = [MODERN, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
META = "io.modelcontextprotocol/"


class Mcp:
    """Speaks JSON-RPC by hand: what is wrong has to be said wrong."""

    def __init__(self, api, path="/mcp"):
        self.api, self.path, self.session = api, path, None

    def post(self, message, **headers):
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
                   **{name.replace("_", "-"): value for name, value in headers.items()}}
        if self.session and "Mcp-Session-Id" not in headers:
            headers["Mcp-Session-Id"] = self.session
        body = message if isinstance(message, (str, bytes)) else json.dumps(message)
        return self.api.raw("POST", self.path, body, headers)

    def initialize(self, version="2025-11-25"):
        answer = self.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}})
        assert answer.status == 200, answer.body
        self.session = answer.headers["Mcp-Session-Id"]
        assert self.post({"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202
        return answer.json()["result"]

    def old(self, method, params=None, status=200):
        answer = self.post({"jsonrpc": "2.0", "id": 7, "method": method, "params": params or {}})
        assert answer.status == status, answer.body
        return answer.json()

    def new(self, method, params=None, status=200, headers=None, meta=None, id=7):
        params = dict(params or {})
        params["_meta"] = {META + "protocolVersion": MODERN, META + "clientCapabilities": {},
                           META + "clientInfo": {"name": "t", "version": "1"}} if meta is None else meta
        sent = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        for member in ("name", "uri"):
            if member in params and method in ("tools/call", "resources/read", "prompts/get"):
                sent["Mcp-Name"] = params[member]
        sent.update(headers or {})
        sent = {name: value for name, value in sent.items() if value is not None}
        answer = self.post({"jsonrpc": "2.0", "id": id, "method": method, "params": params}, **sent)
        assert answer.status == status, answer.body
        return answer.json()

    def call(self, name, /, **arguments):
        return self.new("tools/call", {"name": name, "arguments": arguments})["result"]


@pytest.fixture
def mcp(api, box):
    return Mcp(api, f"/mcp?sandbox={box}")


def test_a_link_to_a_server_inside_leads_to_where_the_client_came_to(api):
    """Over MCP and over HTTP, plain and behind what speaks TLS."""
    with api.sandbox(internet=True) as sandbox:
        link = Mcp(api, f"/mcp?sandbox={sandbox}").call("preview_url", port=8000)["content"][0]["text"]
        assert link.startswith(f"http://{api.host}:{api.port}/api/sandbox/preview/")
        answer = api.raw("POST", "/v1/tools/preview_url", json.dumps({"sandboxId": sandbox, "input": {"port": 8000}}), {
            "Content-Type": "application/json", "Host": "127.0.0.2:8443", "X-Forwarded-Proto": "https"})
        assert answer.json()["content"][0]["text"].startswith("https://127.0.0.2:8443/api/sandbox/preview/")


# ---- the old era ----


def test_old_clients_begin_a_session(mcp):
    result = mcp.initialize()
    assert result["protocolVersion"] == "2025-11-25" and result["serverInfo"]["name"] == "atoll"
    assert {"tools", "resources"} <= result["capabilities"].keys() and result["instructions"]
    assert mcp.old("ping")["result"] == {}
    tools = {tool["name"]: tool for tool in mcp.old("tools/list")["result"]["tools"]}
    assert "sandbox" in tools["bash"]["inputSchema"]["properties"]
    assert "sandbox" not in tools["list_sandboxes"]["inputSchema"]["properties"]
    result = mcp.old("tools/call", {"name": "bash", "arguments": {"command": "echo hi"}})["result"]
    assert result["content"] == [{"type": "text", "text": "hi\n"}] and result["isError"] is False
    assert result["structuredContent"]["stdout"] == "hi\n"
    assert "resultType" not in result


@pytest.mark.parametrize("asked, given", [("2025-06-18", "2025-06-18"), ("2024-11-05", "2024-11-05"),
                                          ("1999-01-01", "2025-11-25"), (MODERN, "2025-11-25")])
def test_old_versions_are_agreed_on(mcp, asked, given):
    assert mcp.initialize(asked)["protocolVersion"] == given


def test_a_session_ends_and_is_its_keys_own(mcp, api, server):
    mcp.initialize()
    session, mcp.session = mcp.session, None
    assert mcp.old("tools/list", status=400)["error"]["code"] == -32600
    mcp.session = "nosuchsession"
    assert mcp.old("tools/list", status=404)["error"]["code"] == -32001
    other = api.post("/api/sandbox/keys", {"name": "mcp-other", "scopes": ["sandbox:write", "sandbox:read"]})
    stranger = Mcp(api.clone(other["key"]))
    stranger.session = session
    assert stranger.old("ping", status=404)["error"]["code"] == -32001
    mcp.session = session
    assert api.raw("DELETE", "/mcp", headers={"Mcp-Session-Id": session}).status == 200
    assert mcp.old("ping", status=404)["error"]["code"] == -32001
    assert api.raw("DELETE", "/mcp", headers={"Mcp-Session-Id": session}).status == 404
    api.delete(f"/api/sandbox/keys/{other['id']}")


# ---- the modern era ----


def test_modern_clients_need_no_session(mcp):
    found = mcp.new("server/discover")["result"]
    assert found["supportedVersions"] == VERSIONS and found["resultType"] == "complete"
    assert found["ttlMs"] > 0 and found["cacheScope"] == "private"
    assert found["_meta"][META + "serverInfo"]["name"] == "atoll"
    assert mcp.new("tools/list")["result"]["ttlMs"] > 0
    result = mcp.call("bash", command="echo $((6 * 7))")
    assert result["resultType"] == "complete" and result["content"][0]["text"] == "42\n"
    assert result["isError"] is False


def test_modern_requests_say_what_they_are(mcp):
    for headers in ({"MCP-Protocol-Version": None}, {"Mcp-Method": None}, {"Mcp-Method": "tools/call"},
                    {"MCP-Protocol-Version": "2025-11-25"}):
        assert mcp.new("tools/list", status=400, headers=headers)["error"]["code"] == -32020, headers
    call = {"name": "bash", "arguments": {"command": "true"}}
    assert mcp.new("tools/call", call, status=400, headers={"Mcp-Name": "read"})["error"]["code"] == -32020
    assert mcp.new("tools/call", call, status=400, headers={"Mcp-Name": None})["error"]["code"] == -32020
    escaped = "=?base64?" + base64.b64encode(b"bash").decode() + "?="
    assert "result" in mcp.new("tools/call", call, headers={"Mcp-Name": escaped})
    for meta in ({}, {META + "protocolVersion": MODERN}, {META + "clientCapabilities": {}}):
        assert mcp.new("tools/list", status=400, meta=meta)["error"]["code"] == -32602, meta
    future = {META + "protocolVersion": "2099-01-01", META + "clientCapabilities": {}}
    error = mcp.new("tools/list", status=400, meta=future, headers={"MCP-Protocol-Version": "2099-01-01"})["error"]
    assert error["code"] == -32022 and error["data"]["requested"] == "2099-01-01"
    assert error["data"]["supported"] == VERSIONS and MODERN in error["message"]
    for method in ("initialize", "ping", "logging/setLevel", "no/such"):
        assert mcp.new(method, status=404)["error"]["code"] == -32601, method


def test_an_unknown_version_gets_the_list_that_the_server_is_discovered_with(mcp):
    found = mcp.new("server/discover")["result"]["supportedVersions"]
    assert found == VERSIONS

    def refusal(version, **more):
        meta = {META + "protocolVersion": version, META + "clientCapabilities": {}}
        return mcp.new("server/discover", status=400, meta=meta, headers={"MCP-Protocol-Version": version}, **more)["error"]
    for version in ("2099-01-01", "2025-11-25", "x" * 200):
        error = refusal(version)
        assert error["code"] == -32022 and error["data"] == {"supported": found, "requested": version}
    assert "initialize" in refusal("2025-11-25")["message"] and MODERN in refusal("2099-01-01")["message"]
    # Without _meta, by the header alone; and each version of the list works as its era has it.
    mcp.initialize()
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    answer = mcp.post(body, MCP_Protocol_Version="2099-01-01")
    assert answer.status == 400 and answer.json()["error"]["data"]["supported"] == found
    for version in found[1:]:
        assert mcp.initialize(version)["protocolVersion"] == version
        assert mcp.post(body, MCP_Protocol_Version=version).status == 200


# ---- tools ----


def test_a_tool_that_fails_says_so_to_the_model(mcp):
    result = mcp.call("read", path="missing.txt")
    assert result["isError"] and "missing.txt" in result["content"][0]["text"]
    result = mcp.call("read", path="../etc/passwd")
    assert result["isError"] and "hint:" in result["content"][0]["text"]
    result = mcp.call("bash", colour="red")
    assert result["isError"] and "unknown member" in result["content"][0]["text"]
    result = mcp.call("bash", comand="true")
    assert result["isError"] and "did you mean 'command'?" in result["content"][0]["text"]
    result = mcp.call("bash", command="exit 3")
    assert not result["isError"] and result["structuredContent"]["exit_code"] == 3
    assert mcp.new("tools/call", {"name": "no_such"})["error"]["code"] == -32602
    assert mcp.new("tools/call", {"name": "bash", "arguments": {"command": "true", "sandbox": 7}})["error"]["code"] == -32602


def test_what_a_tool_left_is_kept_and_told_to_the_model(mcp, api, box):
    done = mcp.call("bash", command="mkdir -p kept; echo 1,2 >kept/t.csv", artifacts="kept")
    [kept] = done["structuredContent"]["artifacts"]
    assert kept["path"] == "kept/t.csv" and kept["url"] in done["content"][-1]["text"]
    api.delete(f"/api/sandbox/artifacts/{kept['id']}")


def test_a_client_alone_can_work(api):
    """No sandbox is named: there is one all the same, and it is the same the next time."""
    mcp = Mcp(api)
    mcp.initialize()
    own = None
    try:
        call = {"name": "write", "arguments": {"path": "a.txt", "content": "mine"}}
        assert not mcp.old("tools/call", call)["result"]["isError"]
        text = mcp.old("tools/call", {"name": "read", "arguments": {"path": "a.txt"}})["result"]["content"][0]["text"]
        assert text == "     1\tmine\n"
        made = mcp.old("tools/call", {"name": "create_sandbox", "arguments": {"internet": False}})["result"]
        own = made["structuredContent"]["sandbox"]
        there = mcp.old("tools/call", {"name": "bash", "arguments": {"command": "ls a.txt", "sandbox": own}})["result"]
        assert there["structuredContent"]["exit_code"] == 2
        listed = mcp.old("tools/call", {"name": "list_sandboxes"})["result"]["structuredContent"]["sandboxes"]
        assert own in [item["sandbox"] for item in listed]
        gone = mcp.old("tools/call", {"name": "delete_sandbox", "arguments": {"sandbox": own}})["result"]
        assert not gone["isError"]
    finally:
        api.delete(f"/v1/leases/mcp%3A{mcp.session}")


def test_a_key_that_only_reads_calls_nothing(api, box):
    key = api.post("/api/sandbox/keys", {"name": "mcp-reader", "scopes": ["sandbox:read"]})
    reader = Mcp(api.clone(key["key"]), f"/mcp?sandbox={box}")
    assert reader.new("tools/list")["result"]["tools"]
    assert "sandbox:write" in reader.new("tools/call", {"name": "bash", "arguments": {"command": "true"}},
                                         status=403)["error"]["message"]
    api.delete(f"/api/sandbox/keys/{key['id']}")


# ---- resources ----


def test_sandboxes_and_their_files_are_resources(mcp, box):
    listed = mcp.new("resources/list")["result"]
    assert f"atoll://sandbox/{box}" in [item["uri"] for item in listed["resources"]] and listed["ttlMs"] == 0
    templates = mcp.new("resources/templates/list")["result"]["resourceTemplates"]
    assert "atoll://sandbox/{sandbox}/files/{+path}" in [item["uriTemplate"] for item in templates]
    read = mcp.new("resources/read", {"uri": f"atoll://sandbox/{box}"})["result"]["contents"][0]
    assert json.loads(read["text"])["id"] == box and read["mimeType"] == "application/json"
    mcp.call("bash", command="mkdir -p 'a b'; echo text > 'a b/c.txt'; printf '\\0\\1' > raw; ln -sf /etc/passwd out")
    read = mcp.new("resources/read", {"uri": f"atoll://sandbox/{box}/files/a%20b/c.txt"})["result"]["contents"][0]
    assert read["text"] == "text\n" and read["mimeType"] == "text/plain"
    read = mcp.new("resources/read", {"uri": f"atoll://sandbox/{box}/files/raw"})["result"]["contents"][0]
    assert base64.b64decode(read["blob"]) == b"\0\1"
    for bad in ("out", "../x", "%2e%2e/x", "/etc/passwd", "missing"):
        answer = mcp.new("resources/read", {"uri": f"atoll://sandbox/{box}/files/{bad}"})
        assert answer["error"]["code"] == -32602, bad
    for uri in ("file:///etc/passwd", "atoll://sandbox/", "atoll://sandbox/nobody", f"atoll://sandbox/{box}/other", ""):
        assert mcp.new("resources/read", {"uri": uri})["error"]["code"] == -32602, uri
    mcp.initialize()
    assert mcp.old("resources/read", {"uri": "atoll://sandbox/nobody"})["error"]["code"] == -32002


# ---- what is no message, and who may not send one ----


@pytest.mark.parametrize("body, code", [
    ("", -32700), ("{", -32700), ("[1,2", -32700), ("{\"jsonrpc\":\"2.0\",\"jsonrpc\":\"2.0\"}", -32700),
    ("[" * 100 + "]" * 100, -32700), ("[]", -32600), ("7", -32600), ("null", -32600), ("{}", -32600),
    ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600),
    ("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", -32600),
    ("{\"jsonrpc\":\"2.0\",\"id\":1}", -32600), ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", -32600),
    ("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", -32600),
    ("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", -32600),
    ("{\"jsonrpc\":\"2.0\",\"id\":\"" + "x" * 300 + "\",\"method\":\"ping\"}", -32600),
    ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" + "x" * 300 + "\"}", -32600),
    ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[1]}", -32602),
    (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700),
])
def test_what_is_no_message_is_refused(mcp, body, code):
    mcp.initialize()
    answer = mcp.post(body)
    assert answer.status == 400 and answer.json()["error"]["code"] == code, answer.body


def test_ids_come_back_as_they_were(mcp):
    for id in (0, -5, 1.5, "a", "", "\u00fc\"\\", 2 ** 53):
        assert mcp.new("tools/list", id=id)["id"] == id
    answer = mcp.post({"jsonrpc": "2.0", "id": 9, "result": {}})
    assert answer.status in (202, 400)


def test_the_transport_has_its_forms(mcp, api):
    assert api.raw("GET", "/mcp").status == 405
    assert mcp.post("{}", Content_Type="text/plain").status == 415
    assert mcp.post("{}", Accept="text/html").status == 406
    assert mcp.post("", Content_Length=str(17 << 20)).status == 413
    api.close()
    assert api.clone("atoll_" + "a" * 40).raw("POST", "/mcp", "{}", {"Content-Type": "application/json"}).status == 401


def test_a_rebound_name_is_refused(mcp, server):
    ping = {"jsonrpc": "2.0", "id": 1, "method": "server/discover"}
    for headers in ({"Host": "evil.example"}, {"Host": f"evil.example:{server.port}"},
                    {"Origin": "http://evil.example"}, {"Origin": "null"},
                    {"Host": "localhost.evil.example"}, {"Origin": f"http://127.0.0.1.evil.example:{server.port}"}):
        assert mcp.post(ping, **headers).status in (403, 421), headers
    for headers in ({"Host": "localhost"}, {"Origin": f"http://localhost:{server.port}"}, {"Host": "[::1]:80"}):
        assert mcp.post(ping, **headers).status not in (403, 421), headers


# ---- progress, and calls that are not wanted any more ----


def tool_call(mcp, id, name, token=None, era="old", **arguments):
    """The message, and the headers that go with it."""
    params = {"name": name, "arguments": arguments, "_meta": {}}
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if token is not None:
        params["_meta"]["progressToken"] = token
    if era == "old":
        headers["Mcp-Session-Id"] = mcp.session
    else:
        params["_meta"].update({META + "protocolVersion": MODERN, META + "clientCapabilities": {}})
        headers.update({"MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": name})
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}), headers


def open_call(mcp, *words, **more):
    """On a connection of its own, that the caller may close."""
    body, headers = tool_call(mcp, *words, **more)
    api = mcp.api.clone()
    return api, api.open("POST", mcp.path, body, headers)


def events(response):
    """The messages of a stream, as they come."""
    for line in response:
        if line.startswith(b"data: "):
            yield json.loads(line[6:])


def runs(api, box, mark):
    """Whether a command that has the mark in it still runs in there."""
    look = f"for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline 2>/dev/null; echo; done | grep -c '[{mark[0]}]{mark[1:]}'"
    return api.exec(box, look)["stdout"].strip() != "0"


def cancel(mcp, id, session=None):
    headers = {"Mcp_Session_Id": session} if session else {}
    assert mcp.post({"jsonrpc": "2.0", "method": "notifications/cancelled",
                     "params": {"requestId": id, "reason": "not wanted"}}, **headers).status == 202


@pytest.mark.parametrize("era", ["old", "new"])
def test_progress_is_told_while_a_tool_runs(mcp, era):
    if era == "old":
        mcp.initialize()
    steps = "for i in 1 2 3; do echo; printf 'half %s\\rstep %s\\033[1m\\n' $i $i; sleep 0.8; done"
    connection, response = open_call(mcp, 31, "bash", "a token", era, command=steps)
    assert response.status == 200 and response.headers["Content-Type"] == "text/event-stream"
    *told, last = events(response)
    assert last["id"] == 31 and "step 3" in last["result"]["content"][0]["text"] and not last["result"]["isError"]
    assert ("resultType" in last["result"]) == (era == "new")
    assert len(told) >= 2 and all(message["method"] == "notifications/progress" for message in told)
    assert {message["params"]["progressToken"] for message in told} == {"a token"}
    numbers = [message["params"]["progress"] for message in told]
    assert numbers == sorted(set(numbers)) and numbers[0] >= 1
    # A machine that is busy may tell that it runs before it has said anything.
    said = [message["params"]["message"] for message in told if message["params"]["message"] != "running"]
    assert said and all(text.startswith("step ") for text in said) and "\x1b" not in "".join(said)
    # The connection is as good as before.
    body, headers = tool_call(mcp, 32, "bash", None, era, command="echo on")
    assert connection.raw("POST", mcp.path, body, headers).json()["result"]["structuredContent"]["stdout"] == "on\n"


def test_who_takes_no_stream_gets_one_object(mcp):
    mcp.initialize()
    body, headers = tool_call(mcp, 1, "bash", "t", command="echo plain")
    answer = mcp.api.raw("POST", mcp.path, body, {**headers, "Accept": "application/json"})
    assert answer.headers["Content-Type"] == "application/json" and answer.json()["id"] == 1
    body, headers = tool_call(mcp, 2, "bash", command="echo plain")
    assert mcp.api.raw("POST", mcp.path, body, headers).headers["Content-Type"] == "application/json"
    for token in ({"a": 1}, [], True, None, "x" * 300):
        body, headers = tool_call(mcp, 3, "bash", token, command="echo plain")
        assert mcp.api.raw("POST", mcp.path, body, headers).json()["id"] == 3, token
    # What fails before the tool does is told in the stream, too.
    body, headers = tool_call(mcp, 4, "no_such_tool", 5)
    answer = mcp.api.raw("POST", mcp.path, body, headers)
    assert answer.status == 200 and json.loads(answer.body.split(b"data: ")[1])["error"]["code"] == -32602


@pytest.mark.parametrize("token", [None, 7])
def test_a_cancelled_call_ends_what_it_runs(mcp, api, box, token):
    mcp.initialize()
    answers = []
    body, headers = tool_call(mcp, "c-1", "bash", token, command="sleep 31.41")
    waiting = threading.Thread(target=lambda: answers.append(mcp.api.clone().raw("POST", mcp.path, body, headers)))
    waiting.start()
    atoll.wait_for(lambda: runs(api, box, "sleep 31.41"), what="the command runs")
    stranger = Mcp(api.clone(), mcp.path)
    stranger.initialize()
    cancel(stranger, "c-1")  # is another session's
    cancel(mcp, "c-2")  # is another call
    assert runs(api, box, "sleep 31.41") and not answers
    cancel(mcp, "c-1")
    waiting.join(60)
    atoll.wait_for(lambda: not runs(api, box, "sleep 31.41"), what="the command is ended")
    if token is None:
        assert answers[0].json() == {"jsonrpc": "2.0", "id": "c-1",
                                     "error": {"code": -32800, "message": "the call was cancelled"}}
    else:
        assert b"c-1" not in answers[0].body  # who cancelled expects no answer
    cancel(mcp, "c-1")  # nothing to do


def test_a_word_that_overtakes_its_call_counts(mcp, api, box):
    mcp.initialize()
    cancel(mcp, 77)
    body, headers = tool_call(mcp, 77, "bash", command="touch overtaken")
    assert mcp.api.raw("POST", mcp.path, body, headers).json()["error"]["code"] == -32800
    body, headers = tool_call(mcp, 78, "bash", command="ls overtaken")
    assert mcp.api.raw("POST", mcp.path, body, headers).json()["result"]["structuredContent"]["exit_code"] == 2


@pytest.mark.parametrize("tool, arguments, told", [
    ("execute_command", {"command": "echo first; echo at work; sleep 20.25", "wait_ms": 20000}, "at work"),
    ("terminal_operator", {"wait_text": "never", "wait_ms": 20000}, "on the screen")])
def test_waiting_for_a_window_tells_what_it_shows_can_be_cancelled_and_leaves_it_running(mcp, api, box, tool, arguments, told):
    mcp.initialize()
    if tool == "terminal_operator":
        mcp.old("tools/call", {"name": "execute_command", "arguments": {"command": "echo on the screen; sleep 20.25", "wait_ms": 1}})
    start = time.monotonic()
    connection, response = open_call(mcp, 5, tool, "t", **arguments)
    assert told in (message.get("params", {}).get("message") for message in events(response))
    cancel(mcp, 5)
    assert list(events(response)) == [] and time.monotonic() - start < 18
    assert runs(api, box, "sleep 20.25")
    mcp.old("tools/call", {"name": "execute_command", "arguments": {"command": "true"}})


@pytest.mark.parametrize("token", [None, 7])
def test_a_modern_client_cancels_by_going_away(mcp, api, box, token):
    body, headers = tool_call(mcp, 1, "bash", token, "new", command="sleep 27.18")
    client = http.client.HTTPConnection(api.host, api.port, timeout=30)
    client.request("POST", mcp.path, body, {**headers, "Authorization": f"Bearer {api.key}"})
    atoll.wait_for(lambda: runs(api, box, "sleep 27.18"), what="the command runs")
    client.close()
    atoll.wait_for(lambda: not runs(api, box, "sleep 27.18"), what="the command is ended")


@pytest.mark.parametrize("code", ["for (;;);", "await new Promise(() => {})"])
def test_a_block_may_be_cancelled_at_any_moment_and_its_interpreter_stays(mcp, api, code):
    """Node would end by an interrupt that comes before it has begun the block."""
    mcp.initialize()

    def block(text):
        body, headers = tool_call(mcp, 1, "run_code", language="javascript", code=text)
        return mcp.api.raw("POST", mcp.path, body, headers).json()["result"]["structuredContent"]
    assert block("kept = 0")["contextId"]
    for i in range(12):
        body, headers = tool_call(mcp, 2, "run_code", None, "new", language="javascript", code=code)
        client = http.client.HTTPConnection(api.host, api.port, timeout=30)
        client.request("POST", mcp.path, body, {**headers, "Authorization": f"Bearer {api.key}"})
        time.sleep(i * 0.002)
        client.close()
        done = block("++kept")
        assert done["results"] and done["results"][0]["text"] == str(i + 1), done


def test_an_old_client_that_loses_its_connection_has_not_cancelled(mcp, api, box):
    mcp.initialize()
    connection, response = open_call(mcp, 1, "bash", 1, command="sleep 1.5; echo done > outlived.txt")
    next(events(response))
    connection.close()
    response.close()
    atoll.wait_for(lambda: api.exec(box, "cat outlived.txt")["stdout"] == "done\n", what="it goes on")


def test_a_call_that_needs_approval_says_so_meanwhile(mcp, api):
    name = f"mcp-asks-{os.getpid()}"
    made = api.post("/accounts/me/sandboxes", {"name": name, "config": {"permissionMode": "ask"}})
    other = api.post("/api/sandbox/keys", {"name": name, "scopes": ["sandbox:read", "sandbox:write"]})
    asking = Mcp(api, mcp.path + f"&config={name}")
    asking.initialize()
    connection, response = open_call(asking, 1, "bash", 1, command="echo approved")
    stream = events(response)
    said = next(text for text in (message["params"]["message"] for message in stream) if text != "running")
    assert said.startswith("waiting for approval ")
    api.clone(other["key"]).post(f"/v1/approvals/{said.split()[-1]}/approve")
    last = list(stream)[-1]
    assert last["result"]["content"][0]["text"] == "approved\n"
    connection, response = open_call(asking, 2, "bash", 1, command="echo never")
    stream = events(response)
    next(stream)
    cancel(asking, 2)
    assert list(stream) == []
    api.delete(f"/api/sandbox/keys/{other['id']}")
    api.delete(f"/accounts/me/sandboxes/{made['id']}")


# ---- the official clients ----

NODE = clients.FOLDER
PACKAGES = [f"@modelcontextprotocol/{name}" for name in ("client", "sdk", "inspector-cli")]


@pytest.mark.parametrize("era", ["old", "auto", "new"])
def test_the_official_client_works(api, server, box, era):
    node = clients.node(*PACKAGES, since=(18, 0) if era == "old" else (20, 0))
    done = subprocess.run([node, NODE / "mcp.mjs", era, f"http://127.0.0.1:{server.port}/mcp?sandbox={box}", api.key],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-3000:]
    got = json.loads(done.stdout)
    assert got["server"]["name"] == "atoll" and {"bash", "grep", "edit"} <= set(got["tools"])
    assert got["bash"]["content"][0]["text"] == "from the client\n[exit code 2]\n"
    assert got["read"]["content"][0]["text"] == "     1\tone\n     2\ttwo\n"
    assert got["grep"]["structuredContent"]["matches"] == [{"path": "client.txt", "line": 1, "text": "one"}]
    for name in ("bash", "write", "read", "edit", "glob", "grep", "list_files", "list_sandboxes"):
        assert not got[name].get("isError"), got[name]
    assert got["failed"]["isError"] and got["unknown"] == -32602
    assert got["resources"] >= 1 and got["templates"] == 2
    assert "working" in [step["message"] for step in got["progress"]]
    assert got["slow"]["content"][0]["text"] == "working\ndone\n"
    assert "AbortError" in got["aborted"] or "abort" in got["aborted"].lower(), got["aborted"]
    atoll.wait_for(lambda: not runs(api, box, "sleep 16.18"), what="the aborted command is ended")


# The inspector itself needs Node 22; its CLI mode is a package of its own that works with less.
INSPECTOR = NODE / "node_modules/@modelcontextprotocol/inspector-cli/build/cli.js"


@pytest.mark.parametrize("way, words, expected", [
    ("http", "tools/list", lambda got: {"bash", "read", "grep"} <= {tool["name"] for tool in got["tools"]}),
    ("http", "tools/call --tool-name bash --tool-arg command=id", lambda got: "uid=" in got["structuredContent"]["stdout"]),
    ("http", "resources/list", lambda got: got["resources"][0]["uri"].startswith("atoll://sandbox/")),
    ("stdio", "tools/call --tool-name bash --tool-arg command=id", lambda got: not got["isError"]),
], ids=["tools", "call", "resources", "stdio"])
def test_the_inspector_works(api, server, box, way, words, expected):
    url, environment = f"http://127.0.0.1:{server.port}", dict(os.environ)
    if way == "http":
        target = [f"{url}/mcp?sandbox={box}", "--transport", "http", "--header", f"Authorization: Bearer {api.key}"]
    else:
        target = [atoll.ATOLL, "mcp", "--sandbox", box]
        environment.update(ATOLL_API_URL=url, ATOLL_API_KEY=api.key)
    # It looks for its own package.json from the folder that it stands in.
    done = subprocess.run([clients.node(*PACKAGES), INSPECTOR, "--cli", *target, "--method", *words.split()], capture_output=True,
                          text=True, timeout=60, env=environment, cwd=INSPECTOR.parent)
    assert done.returncode == 0, done.stderr[-2000:]
    assert expected(json.loads(done.stdout)), done.stdout


# ---- from a shell ----


def cli(server, api, *words, stdin=None):
    environment = {**os.environ, "ATOLL_API_URL": f"http://127.0.0.1:{server.port}", "ATOLL_API_KEY": api.key}
    return subprocess.run([atoll.ATOLL, *words], input=stdin, capture_output=True, text=True, timeout=60, env=environment)


def test_atoll_mcp_speaks_both_eras_on_stdin(server, api, box):
    meta = {META + "protocolVersion": MODERN, META + "clientCapabilities": {}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "bash", "arguments": {"command": "echo hi"}}},
        {"jsonrpc": "2.0", "id": "x", "method": "tools/list", "params": {"_meta": meta}},
        {"jsonrpc": "2.0", "id": 3, "method": "no/such"},
    ]
    lines = "".join(json.dumps(message) + "\n" for message in messages) + "\n{bad\n"
    done = cli(server, api, "mcp", "--sandbox", box, stdin=lines)
    assert done.returncode == 0, done.stderr
    answers = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}
    assert answers.keys() == {1, 2, "x", 3, None}
    assert answers[1]["result"]["protocolVersion"] == "2025-06-18"
    assert answers[2]["result"]["content"][0]["text"] == "hi\n"
    assert answers["x"]["result"]["resultType"] == "complete"
    assert answers[3]["error"]["code"] == -32601 and answers[None]["error"]["code"] == -32700


def test_each_atoll_mcp_has_a_sandbox_of_its_own_unless_it_names_one(server, api):
    def write_and_list(name, *words):
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                   "params": {"name": "bash", "arguments": {"command": f"touch {name}; ls"}}}
        # Twice: all calls of one process have one sandbox.
        lines = "".join(json.dumps({**message, "id": id}) + "\n" for id in (1, 2))
        done = cli(server, api, "mcp", *words, stdin=lines)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])["result"]["structuredContent"]["stdout"].split()

    def all_boxes():
        return {box["id"] for box in api.get("/api/sandbox/instances?limit=100")["items"]}

    before, lease = all_boxes(), f"own-{os.getpid()}"
    try:
        assert "a" in write_and_list("a")
        assert "a" not in write_and_list("b")
        assert len(all_boxes() - before) == 2
        write_and_list("c", "--lease", lease)
        assert {"c", "d"} <= set(write_and_list("d", "--lease", lease))
        assert len(all_boxes() - before) == 3
    finally:
        for box in all_boxes() - before:
            api.remove(box)


def until_result(lines):
    found = []
    while not found or "result" not in found[-1]:
        found.append(json.loads(lines.readline()))
    return found


def test_atoll_mcp_tells_progress_and_cancels(server, api, box):
    environment = {**os.environ, "ATOLL_API_URL": f"http://127.0.0.1:{server.port}", "ATOLL_API_KEY": api.key}
    bridge = subprocess.Popen([atoll.ATOLL, "mcp", "--sandbox", box], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              text=True, env=environment)

    def send(method, params, **id):
        bridge.stdin.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **id}) + "\n")
        bridge.stdin.flush()

    def call(id, command, **meta):
        send("tools/call", {"name": "bash", "arguments": {"command": command}, "_meta": meta}, id=id)

    try:
        send("initialize", {"protocolVersion": "2025-11-25"}, id=0)
        assert json.loads(bridge.stdout.readline())["result"]["serverInfo"]["name"] == "atoll"
        call(1, "echo first; sleep 2.2", progressToken="t")
        *told, last = until_result(bridge.stdout)
        assert told[-1]["method"] == "notifications/progress" and told[-1]["params"]["message"] == "first"
        assert last["result"]["content"][0]["text"] == "first\n"
        # More calls than there are threads: the word overtakes them, and those that wait are not begun.
        modern = {META + "protocolVersion": MODERN, META + "clientCapabilities": {}}
        for id in range(10, 22):
            call(id, f"touch begun-{id}; sleep 14.14", **(modern if id % 2 else {}))
        atoll.wait_for(lambda: runs(api, box, "sleep 14.14"), what="the calls run")
        for id in reversed(range(10, 22)):
            send("notifications/cancelled", {"requestId": id})
        atoll.wait_for(lambda: not runs(api, box, "sleep 14.14"), what="the calls are ended")
        call(30, "ls begun-*; echo alive")
        answer = json.loads(bridge.stdout.readline())
        assert answer["id"] == 30  # no answer to what was cancelled
        assert "alive" in answer["result"]["content"][0]["text"] and "begun-21" not in answer["result"]["content"][0]["text"]
        # The client ends the program: what it ran ends.
        call(40, "sleep 15.15")
        atoll.wait_for(lambda: runs(api, box, "sleep 15.15"), what="the call runs")
    finally:
        bridge.terminate()
        bridge.wait(30)
        bridge.stdin.close()
        bridge.stdout.close()
    atoll.wait_for(lambda: not runs(api, box, "sleep 15.15"), what="the call is ended")


def test_the_official_client_speaks_over_stdio(api, server, box):
    script = """
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
const [atoll, box] = process.argv.slice(2);
const client = new Client({ name: 't', version: '1' });
await client.connect(new StdioClientTransport({ command: atoll, args: ['mcp', '--sandbox', box], env: process.env }));
const results = await Promise.all([1, 2, 3].map((n) => client.callTool({ name: 'bash', arguments: { command: `echo ${n}` } })));
console.log(results.map((r) => r.content[0].text).join(''));
await client.close();
"""
    path = NODE / f"stdio-{os.getpid()}.mjs"
    path.write_text(script)
    try:
        environment = {**os.environ, "ATOLL_API_URL": f"http://127.0.0.1:{server.port}", "ATOLL_API_KEY": api.key}
        done = subprocess.run([clients.node(*PACKAGES), path, atoll.ATOLL, box], capture_output=True, text=True, timeout=60, env=environment)
    finally:
        path.unlink()
    assert done.returncode == 0 and done.stdout == "1\n2\n3\n\n", done.stderr[-2000:]


def test_atoll_tool_calls_a_tool(server, api, box):
    assert "list_files" in cli(server, api, "tool").stdout
    done = cli(server, api, "tool", "-s", box, "write", "path=cli.txt", "content=a=b")
    assert done.returncode == 0, done.stderr
    assert cli(server, api, "tool", "-s", box, "read", "path=cli.txt", "limit=1").stdout == "     1\ta=b\n"
    done = cli(server, api, "tool", "-s", box, "bash", "command=echo out; exit 4")
    assert done.returncode == 4 and done.stdout.startswith("out\n")
    assert json.loads(cli(server, api, "--json", "tool", "-s", box, "glob", "pattern=cli.*").stdout)["structuredContent"]["total"] == 1
    for words, said in ((("nothing",), "no tool"), (("read", "colour=red"), "not an argument"), (("read", "path"), "not an argument"),
                        (("read", "path=a", "limit=x"), "limit")):
        done = cli(server, api, "tool", "-s", box, *words)
        assert done.returncode not in (0, 4) and said in done.stderr, words
