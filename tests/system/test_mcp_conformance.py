# SPDX-License-Identifier: Apache-2.0
"""The Model Context Protocol's own judges: its conformance suite and its inspector, which wants a newer Node.js than Debian's."""

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

MODULES = clients.CONFORMANCE / "node_modules"
SUITE = MODULES / "@modelcontextprotocol/conformance/dist/index.js"
INSPECTOR = MODULES / ".bin/mcp-inspector"
PACKAGES = ["@modelcontextprotocol/conformance", "@modelcontextprotocol/inspector"]


def run(*words, **environment):
    node = clients.node(*PACKAGES, since=clients.INSPECTOR, folder=clients.CONFORMANCE)
    return subprocess.run([node, *map(str, words)], capture_output=True, text=True, timeout=120, env={**os.environ, **environment})


# The suite calls tools and reads resources of its own server's. Those that a server of sandboxes can stand in for are
# named anew on their way; how the call is answered is what is judged.
FILES = {"fixture.txt": b"some text\n", "123.txt": b"the data of 123\n", "fixture.png": b"\x89PNG\r\n\x1a\n" + bytes(32), "fixture.pdf": b"%PDF-1.4 and more"}
TOOLS = {
    "test_simple_text": ("bash", {"command": "cat fixture.txt"}),
    "test_image_content": ("read", {"path": "fixture.png"}),
    "test_embedded_resource": ("read", {"path": "fixture.pdf"}),
    "test_error_handling": ("read", {"path": "missing"}),
    "test_tool_with_progress": ("bash", {"command": "sleep 4.5"}),  # it is told each second, and has to be three times
}
RESOURCES = {"test://static-text": "fixture.txt", "test://static-binary": "fixture.png", "test://template/123/data": "123.txt"}


def renamed(body, box):
    message = json.loads(body) if body else {}
    given = message.get("params", {})
    if message.get("method") == "tools/call" and given["name"] in TOOLS:
        given["name"], given["arguments"] = TOOLS[given["name"]]
    elif message.get("method") == "resources/read" and given["uri"] in RESOURCES:
        given["uri"] = f"atoll://sandbox/{box}/files/{RESOURCES[given['uri']]}"
    else:
        return body
    return json.dumps(message).encode()


def bearer(server, box):
    """The suite knows of no keys: what it says goes on as it is but for names, Host and all, with one."""
    class Forward(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            body = renamed(self.rfile.read(int(self.headers.get("Content-Length", 0))), box)
            for name, value in [*self.headers.items(), ("Authorization", f"Bearer {server.key}")]:
                if name.lower() not in ("connection", "content-length"):
                    connection.putheader(name, value)
            if body:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            body = answer.read()
            connection.close()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "content-length", "connection"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_DELETE = forward

        def log_message(self, *arguments):
            pass

    return http.server.ThreadingHTTPServer(("127.0.0.1", 0), Forward)


def test_the_conformance_suite_passes_where_a_server_of_sandboxes_has_what_it_asks_for(server, api, box):
    for name, data in FILES.items():
        api.write(box, f"/home/user/project/{name}", data)
    with bearer(server, box) as between:
        threading.Thread(target=between.serve_forever, daemon=True).start()
        done = run(SUITE, "server", "--url", f"http://127.0.0.1:{between.server_port}/mcp?sandbox={box}",
                   "--expected-failures", clients.CONFORMANCE / "baseline.yml")
        between.shutdown()
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    passed = set(re.findall(r"^\S+ ([\w-]+): [1-9]\d* passed, 0 failed", done.stdout, re.MULTILINE))
    assert {"server-initialize", "ping", "tools-list", "resources-list", "server-sse-multiple-streams",
            "dns-rebinding-protection", "tools-call-simple-text", "tools-call-image", "tools-call-embedded-resource", "tools-call-error",
            "tools-call-with-progress", "resources-read-text", "resources-read-binary", "resources-templates-read"} <= passed, done.stdout[-4000:]


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
