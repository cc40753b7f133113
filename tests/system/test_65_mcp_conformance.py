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


def bearer(server):
    """The suite knows of no keys: what it says goes on as it is, Host and all, with one."""
    class Forward(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self):
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in [*self.headers.items(), ("Authorization", f"Bearer {server.key}")]:
                if name.lower() != "connection":
                    connection.putheader(name, value)
            connection.endheaders(self.rfile.read(int(self.headers.get("Content-Length", 0))))
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


def test_the_conformance_suite_passes_where_it_needs_no_fixtures(server, box):
    with bearer(server) as between:
        threading.Thread(target=between.serve_forever, daemon=True).start()
        done = run(SUITE, "server", "--url", f"http://127.0.0.1:{between.server_port}/mcp?sandbox={box}",
                   "--expected-failures", clients.CONFORMANCE / "baseline.yml")
        between.shutdown()
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    passed = set(re.findall(r"^\S+ ([\w-]+): [1-9]\d* passed, 0 failed", done.stdout, re.MULTILINE))
    assert {"server-initialize", "ping", "tools-list", "resources-list", "server-sse-multiple-streams",
            "dns-rebinding-protection"} <= passed, done.stdout[-4000:]


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
