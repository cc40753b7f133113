# SPDX-License-Identifier: Apache-2.0
"""The Model Context Protocol's own judges: its conformance suite and its inspector, which wants a newer Node.js than Debian's."""

import contextlib
import http.client
import http.server
import json
import os
import re
import subprocess
import threading

import pytest

import atoll
import clients
from test_mcp import META, MODERN, Mcp, cancel, events, open_call

MODULES = clients.CONFORMANCE / "node_modules"
SUITE = MODULES / "@modelcontextprotocol/conformance/dist/index.js"
INSPECTOR = MODULES / ".bin/mcp-inspector"
PACKAGES = ["@modelcontextprotocol/conformance", "@modelcontextprotocol/inspector"]


def run(*words, **environment):
    node = clients.node(*PACKAGES, since=clients.INSPECTOR, folder=clients.CONFORMANCE)
    return subprocess.run([node, *map(str, words)], capture_output=True, text=True, timeout=120, env={**os.environ, **environment})


def bearer(server):
    """The suite knows of no keys: its requests go on as they are, with Host and all, and with a key. Bytes go on as they come."""
    class Forward(http.server.BaseHTTPRequestHandler):
        def forward(self):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in [*self.headers.items(), ("Authorization", f"Bearer {server.key}")]:
                if name.lower() != "connection":
                    connection.putheader(name, value)
            connection.endheaders(self.rfile.read(int(self.headers.get("Content-Length", 0))))
            answer = connection.getresponse()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.end_headers()
            with contextlib.suppress(ConnectionError, http.client.IncompleteRead):  # one of the two has left
                while some := answer.read1(65536):
                    self.wfile.write(some)
            connection.close()

        do_GET = do_POST = do_DELETE = forward

        def log_message(self, *arguments):
            pass

    return http.server.ThreadingHTTPServer(("127.0.0.1", 0), Forward)


@pytest.fixture(scope="module")
def fixtures():
    """A server with the tools, resources and prompts that the suite calls."""
    if os.geteuid() != 0:
        pytest.skip("needs root: the native provider's broker makes namespaces")
    running = atoll.Server(flags=["--mcp-fixtures", "true"]).start()
    yield running
    running.remove_all()


def test_every_active_scenario_of_the_conformance_suite_passes(fixtures):
    with bearer(fixtures) as between:
        threading.Thread(target=between.serve_forever, daemon=True).start()
        done = run(SUITE, "server", "--url", f"http://127.0.0.1:{between.server_port}/mcp")
        between.shutdown()
    passed = set(re.findall(r"^\S+ ([\w-]+): [1-9]\d* passed, 0 failed", done.stdout, re.MULTILINE))
    assert done.returncode == 0, (passed, (done.stdout + done.stderr)[-4000:])
    assert len(passed) == 30, (len(passed), sorted(passed))


def ask(api, **capabilities):
    """A call that asks its client: the session, the connection, the stream, and the question."""
    mcp = Mcp(api)
    answer = mcp.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "t", "version": "1"}}})
    mcp.session = answer.headers["Mcp-Session-Id"]
    connection, response = open_call(mcp, 5, "test_sampling", prompt="hello")
    stream = events(response)
    return mcp, connection, stream, next(stream)


def test_a_question_is_answered_by_the_session_that_it_was_put_to(fixtures):
    with contextlib.closing(fixtures.api()) as api:
        mcp, connection, stream, question = ask(api, sampling={})
        assert question["method"] == "sampling/createMessage" and question["params"]["messages"][0]["content"]["text"] == "hello"
        stranger = Mcp(api)
        stranger.initialize()

        def respond(to, text, **more):
            said = {"jsonrpc": "2.0", "id": question["id"], "result": {"role": "assistant", "model": "m", "content": {"type": "text", "text": text}}}
            assert to.post({**said, **more}).status == 202
        respond(stranger, "of another session")
        respond(mcp, "of another question", id="atoll-1")
        respond(mcp, "right")
        respond(mcp, "late")
        answer = next(stream)
        assert answer["id"] == 5 and answer["result"]["content"][0]["text"] == "LLM response: right"
        connection.close()
        # The client may refuse, or not be able to.
        mcp, connection, stream, question = ask(api, sampling={})
        assert mcp.post({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -1, "message": "no model"}}).status == 202
        result = next(stream)["result"]
        assert result["isError"] and "no model" in result["content"][0]["text"]
        connection.close()
        assert "capability 'sampling'" in Mcp.old(stranger, "tools/call", {"name": "test_sampling", "arguments": {"prompt": "x"}})["result"]["content"][0]["text"]


def test_a_stateless_client_answers_by_making_the_call_again(fixtures):
    with contextlib.closing(fixtures.api()) as api:
        mcp = Mcp(api)
        error = mcp.new("tools/call", {"name": "test_sampling", "arguments": {"prompt": "hello"}}, status=400)["error"]
        assert error["code"] == -32021 and error["data"] == {"requiredCapabilities": {"sampling": {}}}
        meta = {META + "protocolVersion": MODERN, META + "clientCapabilities": {"sampling": {}}}

        def call(**more):
            return mcp.new("tools/call", {"name": "test_sampling", "arguments": {"prompt": "hello"}, **more}, meta=meta)["result"]
        given = {"role": "assistant", "model": "m", "content": {"type": "text", "text": "an answer"}}
        for first in (call(), call(inputResponses={"another": given}), call(inputResponses=[])):
            assert first["resultType"] == "input_required" and "content" not in first
            assert first["inputRequests"]["answer"]["method"] == "sampling/createMessage"
            assert first["inputRequests"]["answer"]["params"]["messages"][0]["content"]["text"] == "hello"
        result = call(inputResponses={"answer": given})
        assert result["resultType"] == "complete" and result["content"][0]["text"] == "LLM response: an answer"


def test_a_question_ends_with_its_call(fixtures):
    with contextlib.closing(fixtures.api()) as api:
        mcp, connection, stream, _ = ask(api, sampling={})
        cancel(mcp, 5)
        assert list(stream) == [], "a cancelled call has no answer"
        connection.close()


@pytest.mark.parametrize("flags", [("--listen", "0.0.0.0:0"), ("--tls-listen", "0.0.0.0:0")])
def test_fixtures_are_refused_where_others_could_reach_them(tmp_path, flags):
    done = subprocess.run([atoll.ATOLL, "serve", "--data", tmp_path, "--mcp-fixtures", "true", *flags], capture_output=True, text=True, timeout=30)
    assert done.returncode and "loopback" in done.stderr


def test_fixtures_are_off_by_default(api):
    mcp = Mcp(api)
    assert mcp.new("tools/call", {"name": "test_simple_text"})["error"]["code"] == -32602
    assert mcp.new("resources/read", {"uri": "test://static-text"})["error"]["code"] == -32602
    assert mcp.new("prompts/get", {"name": "test_simple_prompt"})["error"]["code"] == -32602
    for kind in ("tools", "prompts"):
        assert not [each for each in mcp.new(f"{kind}/list")["result"][kind] if each["name"].startswith("test_")]


@pytest.mark.parametrize("way, words, expected", [
    ("http", "tools/list", lambda got: {"bash", "read", "grep"} <= {tool["name"] for tool in got["tools"]}),
    ("http", "tools/call --tool-name bash --tool-arg command=id", lambda got: "uid=" in got["structuredContent"]["stdout"]),
    ("stdio", "resources/list", lambda got: got["resources"][0]["uri"].startswith("atoll://sandbox/")),
], ids=["tools", "call", "stdio"])
def test_the_newer_inspector_works(api, server, box, tmp_path, way, words, expected):
    url, method = f"http://127.0.0.1:{server.port}", ["--method", *words.split()]
    if way == "http":
        said = [f"{url}/mcp?sandbox={box}", "--transport", "http", "--header", f"Authorization: Bearer {api.key}", *method]
    else:
        said = ["-e", f"ATOLL_API_URL={url}", "-e", f"ATOLL_API_KEY={api.key}", *method, "--", atoll.ATOLL, "mcp", "--sandbox", box]
    done = run(INSPECTOR, "--cli", *said, HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr[-2000:]
    assert expected(json.loads(done.stdout)), done.stdout[-2000:]
