# SPDX-License-Identifier: Apache-2.0
"""Daytona's own client, unmodified, against the Daytona surface; and what it never says, said by hand."""

import fcntl
import json
import os
import re
import shutil
import subprocess

import pytest

import atoll

pytestmark = pytest.mark.needs_root
NODE = atoll.ROOT / "tests/node"
PROGRAM = NODE / "daytona.mjs"
NAMES = [name for _, name in re.findall(r"^test\((['\"])(.+?)\1,", PROGRAM.read_text(), re.M)]


def install():
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    with open(NODE / "package.json") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (NODE / "node_modules/@daytona/sdk").exists():
            done = subprocess.run(["npm", "ci", "--omit=optional"], cwd=NODE, capture_output=True, text=True, timeout=300)
            if done.returncode:
                pytest.skip(f"npm cannot install @daytona/sdk: {done.stderr.strip()[-200:]}")


@pytest.fixture(scope="module")
def results():
    install()
    server = atoll.Server().start()
    try:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DAYTONA_")}
        environment |= {"DAYTONA_API_URL": f"http://127.0.0.1:{server.port}/daytona/api", "DAYTONA_API_KEY": server.key}
        done = subprocess.run(["node", PROGRAM], cwd=NODE, env=environment, capture_output=True, text=True, timeout=120)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"name"')]
        yield {line["name"]: line for line in lines}, done.stderr
    finally:
        server.remove_all()


@pytest.mark.parametrize("name", NAMES)
def test_the_client(results, name):
    found, complaint = results
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


def test_the_socket_of_events_is_not_there(api):
    assert refusal(api, "GET", "/daytona/api/socket.io/?EIO=4&transport=websocket")[0] == 404


def test_errors_elsewhere_keep_our_form(api):
    assert api.raw("GET", "/api/sandbox/instances/nosuch").json()["error"]["code"] == "not_found"


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
