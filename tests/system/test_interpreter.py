# SPDX-License-Identifier: Apache-2.0
"""E2B's code interpreter: by its own SDK, and byte by byte."""

import contextlib
import http.client
import json
import os
import re

import pytest

import atoll
import clients

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not os.path.exists("/usr/bin/python3"), reason="the host's /usr has no python3")]


@pytest.fixture(scope="module")
def server():
    """One whose default template is at hand: the SDK names another one that it does not have."""
    running = atoll.Server(environment={"ATOLL_DEFAULT_TEMPLATE": "host", "ATOLL_PREVIEW_DOMAIN": "atoll.test"}).start()
    yield running
    running.remove_all()


@pytest.fixture(scope="module")
def key(server):
    return server.api().post("/api/sandbox/keys", {"name": "e2b"})["e2b_key"]


@pytest.fixture(scope="module")
def outcomes(server, key):
    origin = f"http://127.0.0.1:{server.port}"
    return clients.outcomes("interpreter.mjs", packages=("@e2b/code-interpreter", "typescript"), E2B_API_KEY=key, E2B_API_URL=origin, E2B_SANDBOX_URL=origin)


@pytest.mark.parametrize("check", clients.checks("interpreter.mjs"))
def test_the_sdk(outcomes, check):
    clients.succeeded(outcomes[check])


# ---- byte by byte ----


class Port:
    """Port 49999 of a sandbox that E2B's API made."""

    def __init__(self, server, key):
        self.port = server.port
        status, made, _ = self("POST", "/sandboxes", {"templateID": "code-interpreter-v1", "allow_internet_access": False},
                               {"X-API-KEY": key})
        assert status == 201, made
        self.id, self.token, self.traffic = made["sandboxID"], made["envdAccessToken"], made["trafficAccessToken"]

    def open(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = dict(headers or {})
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, path, json.dumps(body) if isinstance(body, dict) else body, headers)
        return connection, connection.getresponse()

    def __call__(self, method, path, body=None, headers=None):
        connection, response = self.open(method, path, body, headers)
        text = response.read()
        connection.close()
        with contextlib.suppress(ValueError):
            return response.status, json.loads(text) if text else None, response.headers
        return response.status, text.decode(), response.headers

    def at(self, method, path, body=None, token="agent", port=49999, **headers):
        tokens = {"agent": {"X-Access-Token": self.token}, "traffic": {"E2B-Traffic-Access-Token": self.traffic}, None: {},
                  "wrong": {"X-Access-Token": "0" * 64, "E2B-Traffic-Access-Token": "0" * 64}}
        return self(method, path, body, {"E2b-Sandbox-Id": self.id, "E2b-Sandbox-Port": str(port), **tokens[token], **headers})


@pytest.fixture(scope="module")
def box(server, key):
    return Port(server, key)


def test_an_execution_is_lines_of_json(box):
    connection, response = box.open("POST", "/execute", {"code": 'print("hi"); "a" * 3', "env_vars": {"A": "b"}},
                                    {"E2b-Sandbox-Id": box.id, "E2b-Sandbox-Port": "49999", "X-Access-Token": box.token})
    assert response.status == 200 and response.headers["Transfer-Encoding"] == "chunked"
    lines = [json.loads(line) for line in response.read().splitlines()]
    connection.close()
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", lines[1].pop("timestamp"))
    assert lines == [{"type": "number_of_executions", "execution_count": 1}, {"type": "stdout", "text": "hi\n"},
                     {"type": "result", "is_main_result": True, "text": "aaa"}, {"type": "end_of_execution"}]


def test_the_port_is_a_host_as_well(box):
    host = {"Host": f"49999-{box.id}.atoll.test"}
    assert box("GET", "/health", None, host)[:2] == (200, "OK")
    assert '"text":"2"' in box("POST", "/execute", {"code": "1 + 1"}, {**host, "X-Access-Token": box.token})[1]
    assert box("POST", "/execute", {"code": "1"}, host)[0] == 401
    # Both, when they do not agree, are refused.
    assert box("GET", "/health", None, {**host, "E2b-Sandbox-Id": box.id, "E2b-Sandbox-Port": "49983"})[0] == 400


def test_health_says_whether_there_is_a_sandbox(box):
    assert box.at("GET", "/health", token=None)[:2] == (200, "OK")
    headers = {"E2b-Sandbox-Id": "gone234567gone234567", "E2b-Sandbox-Port": "49999"}
    status, body, _ = box("GET", "/health", None, headers)
    assert (status, body["code"], body["sandboxId"]) == (502, 502, "gone234567gone234567")


def test_code_wants_the_sandboxs_token_and_contexts_one_of_both(box):
    for token, expected in (("agent", 200), ("traffic", 401), ("wrong", 401), (None, 401)):
        assert box.at("POST", "/execute", {"code": "1"}, token=token)[0] == expected, token
    for token, expected in (("agent", 200), ("traffic", 200), ("wrong", 401), (None, 401)):
        assert box.at("GET", "/contexts", token=token)[0] == expected, token
        assert box.at("POST", "/contexts/none/restart", token=token)[0] == (404 if expected == 200 else 401), token


def test_bad_requests_are_refused(box):
    for body, status, message in (
            ({}, 400, "code: a text is needed"), ("{", 400, "JSON"), ({"code": "1", "language": "perl"}, None, "'perl'"),
            ({"code": "1", "language": "python", "context_id": "a"}, 400, "Only one of"),
            ({"code": "1", "context_id": "a"}, 404, "Context a not found"),
            ({"code": "1", "env_vars": {"A": 1}}, 400, "env_vars"), ({"code": "1", "env_vars": {"A=": "1"}}, 400, "variable"),
            ({"code": "#" * (200 << 10)}, 413, "longer")):
        answer = box.at("POST", "/execute", body)
        assert answer[0] == (status or answer[0]) and 400 <= answer[0] < 600 and message in answer[1]["message"], (body, answer)
    assert box.at("DELETE", "/contexts/none")[1]["message"] == "Context none not found"
    assert box.at("GET", "/nothing")[0] == 404
    assert box.at("POST", "/contexts", {"cwd": "/none"})[0] == 404
    # Null is not given, as Python's SDK says it.
    assert box.at("POST", "/execute", {"code": "1", "context_id": None, "language": None, "env_vars": None})[0] == 200


def test_a_context_begins_in_a_folder_that_only_root_can_enter(box):
    status, made, _ = box.at("POST", "/contexts", {"cwd": "/root"})
    assert (status, made.get("cwd")) == (200, "/root"), made
    code = "import getpass, os\nopen('own', 'w').close()\nprint(os.getcwd(), getpass.getuser(), os.path.exists('/root/own'))"
    for _ in range(2):
        assert "/root root True" in box.at("POST", "/execute", {"code": code, "context_id": made["id"]})[1]
        assert box.at("POST", f"/contexts/{made['id']}/restart")[0] == 204
    # A folder that everybody can enter leaves the user as it is.
    made = box.at("POST", "/contexts", {"cwd": "/etc"})[1]
    assert '"text":"/etc user\\n"' in box.at("POST", "/execute", {"code": "import getpass, os\nprint(os.getcwd(), getpass.getuser())", "context_id": made["id"]})[1]


def test_a_killed_sandbox_ends_its_executions_in_order(server, key):
    box = Port(server, key)
    connection, response = box.open("POST", "/execute", {"code": "import time\nprint('on', flush=True)\ntime.sleep(60)"},
                                    {"E2b-Sandbox-Id": box.id, "E2b-Sandbox-Port": "49999", "X-Access-Token": box.token})
    begun = [json.loads(response.readline())["type"] for _ in range(2)]
    assert begun == ["number_of_executions", "stdout"]
    assert box("DELETE", f"/sandboxes/{box.id}", None, {"X-API-KEY": key})[0] == 204
    error, end = [json.loads(line) for line in response.read().splitlines()]
    connection.close()
    assert (error["type"], error["name"], end) == ("error", "SandboxEnded", {"type": "end_of_execution"})
    assert error["value"] == f"sandbox '{box.id}' ended during the call"


def test_a_native_block_and_an_e2b_one_share_the_default_context(server, box):
    box.at("POST", "/execute", {"code": "shared = 11"})
    with contextlib.closing(server.api()) as api:
        answer = api.post(f"/api/sandbox/instances/{box.id}/code", {"language": "python", "code": "shared", "contextId": "default"})
    assert answer["results"] == [{"is_main": True, "text": "11"}]
