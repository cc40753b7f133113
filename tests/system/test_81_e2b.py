# SPDX-License-Identifier: Apache-2.0
"""E2B's control plane: by E2B's own SDK in two generations, and byte by byte."""

import fcntl
import http.client
import json
import os
import re
import shutil
import subprocess

import pytest

import atoll

pytestmark = pytest.mark.needs_root
NODE = atoll.ROOT / "tests/node"
PROGRAM = NODE / "e2b.mjs"
CHECKS = ["".join(found) for found in re.findall(r"^  async (?:'([^']+)'|(\w+))\(\) {", PROGRAM.read_text(), re.M)]
PACKAGES = ["e2b", "e2b-2-45"]


@pytest.fixture(scope="module")
def key(server):
    made = server.api().post("/api/sandbox/keys", {"name": "e2b"})
    assert re.fullmatch("e2b_[0-9a-f]+", made["e2b_key"])
    return made["e2b_key"]


@pytest.fixture(scope="module")
def packages():
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout
    if tuple(map(int, version.lstrip("v").split(".")[:2])) < (20, 18):
        pytest.skip(f"E2B's SDK wants Node 20.18, this is {version.strip()}")
    with open(NODE / "package.json") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not all((NODE / "node_modules" / name).exists() for name in PACKAGES):
            done = subprocess.run(["npm", "ci", "--omit=optional"], cwd=NODE, capture_output=True, text=True, timeout=300)
            if done.returncode:
                pytest.skip(f"npm cannot install E2B's SDK: {done.stderr.strip()[-200:]}")


@pytest.fixture(scope="module")
def outcomes(server, key, packages):
    origin = f"http://127.0.0.1:{server.port}"
    environment = {**os.environ, "E2B_API_KEY": key, "E2B_API_URL": origin, "E2B_SANDBOX_URL": origin}
    found = {}
    for package in PACKAGES:
        done = subprocess.run(["node", PROGRAM, package], env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr[-2000:]
        found[package] = {outcome["name"]: outcome for outcome in map(json.loads, done.stdout.splitlines())}
    return found


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.parametrize("check", CHECKS)
def test_the_sdk(outcomes, check, package):
    outcome = outcomes[package][check]
    if "skip" in outcome:
        pytest.skip(outcome["skip"])
    assert outcome["ok"], outcome["error"]


# ---- byte by byte ----


class Client:
    """What an SDK sends: chunked JSON and the key in its own header."""

    def __init__(self, port, key):
        self.port, self.key = port, key

    def __call__(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        if self.key:
            headers["X-API-KEY"] = self.key
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, path, iter([json.dumps(body).encode()]) if body is not None else None, headers,
                           encode_chunked=body is not None)
        response = connection.getresponse()
        text = response.read()
        connection.close()
        return response.status, json.loads(text) if text else None, response.headers


@pytest.fixture(scope="module")
def e2b(server, key):
    return Client(server.port, key)


@pytest.mark.parametrize("generation", ["", "/v2"])
def test_both_generations_of_paths(e2b, generation):
    status, made, _ = e2b("POST", f"{generation}/sandboxes", {"templateID": "host", "allow_internet_access": False, "secure": True,
                                                              "metadata": {"made": "here"}, "somethingNew": {"a": 1}, "mcp": None})
    assert status == 201
    assert re.fullmatch("[a-z0-9]+", made["sandboxID"]) and re.fullmatch("[0-9a-f]{64}", made["envdAccessToken"])
    assert re.fullmatch("[0-9a-f]{64}", made["trafficAccessToken"]) and made["envdVersion"] == "0.6.13"
    sandbox = made["sandboxID"]
    status, listed, _ = e2b("GET", f"{generation}/sandboxes?metadata=made%3Dhere")
    assert status == 200 and sandbox in [item["sandboxID"] for item in listed]
    status, connected, _ = e2b("POST", f"{generation}/sandboxes/{sandbox}/connect", {"timeout": 60})
    assert status == 200 and connected == made
    assert e2b("POST", f"/sandboxes/{sandbox}/pause")[0] == 204
    assert e2b("POST", f"{generation}/sandboxes/{sandbox}/connect", {"timeout": 60})[:2] == (201, made)
    assert e2b("DELETE", f"/sandboxes/{sandbox}")[0] == 204


def test_errors_have_the_status_as_their_code(e2b, server):
    for method, path, body, status in [
            ("GET", "/sandboxes/nosuchsandbox", None, 404),
            ("DELETE", "/sandboxes/nosuchsandbox", None, 404),
            ("POST", "/sandboxes/nosuchsandbox/timeout", {"timeout": 1}, 404),
            ("POST", "/sandboxes/nosuchsandbox/timeout", {"timeout": -1}, 400),
            ("POST", "/v2/sandboxes", {}, 400),
            ("POST", "/v2/sandboxes", {"templateID": "host", "timeout": "long"}, 400),
            ("POST", "/v2/sandboxes", {"templateID": "host", "iam": {"tokens": []}}, 501),
            ("POST", "/v2/sandboxes", {"templateID": "host", "network": {"egressProxy": {"address": "1.2.3.4:1"}}}, 501),
            ("POST", "/v2/sandboxes", {"templateID": "host", "autoPause": True, "autoPauseMemory": False, "autoResume": {"enabled": True}}, 400),
            ("GET", "/v2/sandboxes?state=dreaming", None, 400),
            ("GET", "/v2/sandboxes?metadata=%25zz", None, 400)]:
        found, answer, _ = e2b(method, path, body)
        assert (found, answer["code"]) == (status, status), (path, answer)
        assert answer["message"] and set(answer) == {"code", "message"}
    for strange in [None, "e2b_00", "e2b_" + "0" * 50]:
        status, answer, _ = Client(server.port, strange)("GET", "/v2/sandboxes")
        assert (status, answer["code"]) == (401, 401)


def test_a_paused_one_is_resumed_once(e2b):
    sandbox = e2b("POST", "/sandboxes", {"templateID": "host", "allow_internet_access": False, "timeout": 60})[1]["sandboxID"]
    assert e2b("POST", f"/sandboxes/{sandbox}/resume", {})[:2][1]["code"] == 409
    assert e2b("POST", f"/sandboxes/{sandbox}/pause", {})[0] == 204
    status, answer, _ = e2b("POST", f"/sandboxes/{sandbox}/pause", {})
    assert (status, answer["code"]) == (409, 409)
    assert e2b("POST", f"/sandboxes/{sandbox}/resume", {"timeout": 30, "autoPause": False})[0] == 201
    assert e2b("POST", f"/sandboxes/{sandbox}/refreshes", {"duration": 600})[0] == 204
    assert e2b("DELETE", f"/sandboxes/{sandbox}")[0] == 204


def test_without_its_memory_it_begins_anew_from_its_files(e2b, api):
    sandbox = e2b("POST", "/sandboxes", {"templateID": "host", "allow_internet_access": False, "timeout": 60})[1]["sandboxID"]
    api.exec(sandbox, "echo kept > kept; (sleep 1000 &)")
    assert e2b("POST", f"/sandboxes/{sandbox}/pause", {"memory": False})[0] == 204
    assert e2b("GET", f"/sandboxes/{sandbox}")[1]["state"] == "paused"
    assert e2b("POST", f"/sandboxes/{sandbox}/connect", {"timeout": 60})[0] == 201
    assert api.exec(sandbox, "cat kept; pgrep -c sleep")["stdout"] == "kept\n0\n"
    assert e2b("DELETE", f"/sandboxes/{sandbox}")[0] == 204


def test_a_sound_sleeper_is_not_woken_by_a_command(e2b, api):
    sandbox = e2b("POST", "/sandboxes", {"templateID": "host", "allow_internet_access": False, "timeout": 60})[1]["sandboxID"]
    light = e2b("POST", "/sandboxes", {"templateID": "host", "allow_internet_access": False, "timeout": 60, "autoPause": True,
                                       "autoResume": {"enabled": True}})[1]["sandboxID"]
    for each in (sandbox, light):
        assert e2b("POST", f"/sandboxes/{each}/pause", {})[0] == 204
    with pytest.raises(atoll.ApiError, match="is paused"):
        api.exec(sandbox, "true")
    assert api.exec(light, "echo awake")["stdout"] == "awake\n"
    for each in (sandbox, light):
        assert e2b("DELETE", f"/sandboxes/{each}")[0] == 204
