# SPDX-License-Identifier: Apache-2.0
"""Ephemeral calls: a command, a block of code or a tool call without a sandbox makes one and ends it."""

import json
import re
import socket
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
INSTANCES = "/api/sandbox/instances"
EXEC, CODE, TOOLS = "/v1/ephemeral/exec", "/v1/ephemeral/code", "/v1/tools"
HOST = {"template": "host", "internet": False}


def ephemeral(api):
    return [row for row in api.get(f"{INSTANCES}?limit=1000")["items"] if row["labels"].get("atoll.ephemeral") == "true"]


def all_gone(api, seconds=20):
    atoll.wait_for(lambda: not ephemeral(api), seconds, "the end of all ephemeral sandboxes")


@pytest.fixture(autouse=True)
def nothing_is_left(api):
    yield
    all_gone(api)


@pytest.fixture
def config(api, request):
    name = "e-" + request.node.name[5:50].replace("_", "-").split("[")[0]
    made = {}

    def make(**members):
        made["id"] = api.post("/accounts/me/sandboxes", {"name": name, "config": {"template": "host", "internet": False, **members}})["id"]
        return name
    yield make
    if made:
        api.delete(f"/accounts/me/sandboxes/{name}")


def refused(status, call, *arguments, **options):
    with pytest.raises(atoll.ApiError) as refusal:
        call(*arguments, **options)
    assert refusal.value.status == status, refusal.value
    return str(refusal.value)


def count_made(api):
    text = api.raw("GET", "/metrics").body.decode()
    return int(re.search(r"^atoll_ephemeral_sandboxes_total (\d+)$", text, re.M).group(1))


def test_metrics_count_sandboxes_of_one_call(api, config):
    name = config()
    before = count_made(api)
    api.post(EXEC, {"config": name, "command": "true"})
    refused(404, api.post, EXEC, {"config": "no-such-config", "command": "true"})
    assert count_made(api) == before + 1
    all_gone(api)
    atoll.wait_for(lambda: "\natoll_ephemeral_sandboxes_ending 0\n" in api.raw("GET", "/metrics").body.decode(), 10, "the last delete is counted")


def test_a_command_gets_a_sandbox_by_its_config(api, config):
    name = config(envVars={"FROM": "config"}, memoryLimit=96)
    answer = api.raw("POST", EXEC, json.dumps({"config": name, "command": "echo $FROM; touch /tmp/left; exit 3"}),
                     {"Content-Type": "application/json"})
    result = answer.json()
    assert result["stdout"] == "config\n" and result["exit_code"] == 3
    box = answer.headers["Atoll-Sandbox"]
    all_gone(api)
    refused(404, api.exec, box, "true")
    again = api.post(EXEC, {"config": name, "command": "ls /tmp"})
    assert "left" not in again["stdout"]
    # metering and activity know the call, whose sandbox is gone
    atoll.wait_for(lambda: "echo $FROM" in json.dumps(api.get(f"/v1/activity?sandbox={box}&last=10")), 10, "the activity of the call")
    assert box in json.dumps(api.get("/v1/usage?group_by=sandbox"))


def test_code_and_settings_of_the_sandbox(api):
    result = api.post(CODE, {"language": "bash", "code": "echo $A $((6 * 7))", "sandbox": {**HOST, "env": {"A": "b"}}})
    assert result["stdout"] == "b 42\n"
    kept = api.post(CODE, {"language": "python", "code": "40 + 2", "contextId": "default", "sandbox": HOST})
    assert "42" in json.dumps(kept)


def test_its_output_is_streamed_and_limited(api, config):
    answer = api.raw("POST", EXEC + "?stream=ndjson", json.dumps({"sandbox": HOST, "command": "echo one; echo two >&2"}),
                     {"Content-Type": "application/json"})
    events = [json.loads(line) for line in answer.body.splitlines()]
    assert events[-1]["type" if "type" in events[-1] else "event"] == "exit"
    name = config(outputLimitBytes=1024, timeout=1)
    assert len(api.post(EXEC, {"config": name, "command": "head -c 100000 /dev/zero | tr '\\0' x"})["stdout"]) < 1200
    late = api.post(EXEC, {"config": name, "command": "sleep 30"})
    assert late["timed_out"]


@pytest.mark.parametrize("body, status, names", [
    ({"command": "true", "config": "no-such-config"}, 404, "no-such-config"),
    ({"command": "true", "background": True, "sandbox": HOST}, 400, "stays"),
    ({"command": "true", "config": "a", "sandbox": {"config": "b"}}, 400, "config"),
    ({"command": "true", "sandbox": {**HOST, "persistent": True}}, 400, "workspace"),
    ({"command": "true", "sandbox": {**HOST, "template": "no-such"}}, 404, "no-such"),
    ({"sandbox": HOST}, 400, "command"),
    ({"command": "true", "sandbox": {**HOST, "isolation": "microvm"}}, 501, "microvm"),
])
def test_mistakes_leave_nothing(api, body, status, names):
    with pytest.raises(atoll.ApiError) as refusal:
        api.post(EXEC, body)
    assert refusal.value.status in (status, 400, 503), refusal.value
    assert names in str(refusal.value)


def test_a_client_that_leaves_ends_it(server, api):
    body = json.dumps({"sandbox": HOST, "command": "sleep 600"}).encode()
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(f"POST {EXEC} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.key}\r\nContent-Type: application/json\r\n"
                       f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        atoll.wait_for(lambda: any(row["state"] == "started" for row in ephemeral(api)), 20, "a sandbox")
        time.sleep(0.3)
        assert len(ephemeral(api)) == 1
    begun = time.monotonic()
    all_gone(api)
    assert time.monotonic() - begun < 5


def test_a_tool_client_that_leaves_ends_it(server, api, config):
    body = json.dumps({"config": config(), "input": {"command": "sleep 100"}}).encode()
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(f"POST {TOOLS}/bash HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {server.key}\r\nContent-Type: application/json\r\n"
                       f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        atoll.wait_for(lambda: any(row["state"] == "started" for row in ephemeral(api)), 20, "a sandbox")
        time.sleep(0.3)
    begun = time.monotonic()
    all_gone(api)
    assert time.monotonic() - begun < 5


def test_tools_without_a_workspace_are_bash(api, config):
    name = config()
    assert api.post(f"{TOOLS}/bash", {"config": name, "input": {"command": "echo hi"}})["structuredContent"]["exit_code"] == 0
    assert "workspace" in refused(400, api.post, f"{TOOLS}/read", {"config": name, "input": {"path": "a"}})
    assert "lease" in refused(400, api.post, f"{TOOLS}/snapshot", {"config": name, "input": {}})
    assert "stays" in refused(400, api.post, f"{TOOLS}/bash", {"config": name, "input": {"command": "true", "background": True}})
    assert [tool["name"] for tool in api.get(f"{TOOLS}?ephemeral=true")["tools"]] == ["bash"]
    with_files = [tool["name"] for tool in api.get(f"{TOOLS}?workspace=x")["tools"]]
    assert set(with_files) == {"bash", "read", "write", "edit", "glob", "grep", "async_status"}
    assert len(api.get(TOOLS)["tools"]) > len(with_files)


def test_files_of_a_workspace_are_those_of_every_call(api, config):
    name = config()
    where = {"config": name, "workspace": "of-tools"}
    try:
        api.post(f"{TOOLS}/write", {**where, "input": {"path": "notes/a.txt", "content": "one\n"}})
        api.post(f"{TOOLS}/edit", {**where, "input": {"path": "notes/a.txt", "old_string": "one", "new_string": "two"}})
        assert "two" in json.dumps(api.post(f"{TOOLS}/read", {**where, "input": {"path": "notes/a.txt"}}))
        assert api.post(EXEC, {**where, "command": "cat notes/a.txt; pwd"})["stdout"] == "two\n/mnt/workspaces/of-tools\n"
        assert api.post(CODE, {**where, "language": "bash", "code": "ls"})["stdout"] == "notes\n"
        refused(403, api.post, f"{TOOLS}/bash", {**where, "input": {"command": "cat /etc/passwd"}})
    finally:
        all_gone(api)
        api.delete("/v1/workspaces/of-tools")


def test_a_persistent_config_reserves_a_sandbox_for_the_workspace(api, config):
    name = config(persistent=True)
    where = {"config": name, "workspace": "reserved"}
    first = api.post(EXEC, {**where, "command": "echo kept > /tmp/outside; hostname"})["stdout"]
    assert api.post(EXEC, {**where, "command": "cat /tmp/outside; hostname"})["stdout"] == "kept\n" + first
    assert [row["key"] for row in api.get("/v1/leases?prefix=reserved:")["items"]] == ["reserved:reserved"]
    api.delete("/v1/workspaces/reserved")
    assert api.get("/v1/leases?prefix=reserved:")["items"] == []


def test_an_approval_is_for_the_call_not_for_its_sandbox(api, server, config):
    name = config(permissionMode="ask")
    call = {"config": name, "approvalWaitMs": 0, "input": {"command": "echo approved"}}
    waits = api.post(f"{TOOLS}/bash", call)
    all_gone(api)
    approver = server.api(api.post("/api/sandbox/keys", {"name": "approver"})["key"])
    approver.post(f"/v1/approvals/{waits['approvalId']}/approve", {})
    assert "approved" in json.dumps(api.post(f"{TOOLS}/bash", call))


def test_mcp_offers_and_ends(api, config):
    name = config()

    def post(query, method, params, session=None):
        headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        if session:
            headers["Mcp-Session-Id"] = session
        answer = api.raw("POST", f"/mcp?{query}", json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}), headers)
        assert answer.status == 200, answer.body
        return answer

    def session(query):
        begun = post(query, "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}})
        return begun.headers["Mcp-Session-Id"], begun.json()["result"]["instructions"]
    alone = f"ephemeral=true&config={name}"
    id, instructions = session(alone)
    assert "deleted after the call" in instructions
    listed = post(alone, "tools/list", {}, id).json()["result"]["tools"]
    assert [tool["name"] for tool in listed] == ["bash"] and "sandbox" not in listed[0]["inputSchema"]["properties"]
    for _ in range(2):
        done = post(alone, "tools/call", {"name": "bash", "arguments": {"command": "ls -A . ; touch here"}}, id).json()["result"]
        assert "here" not in done["content"][0]["text"], done
    failed = post(alone, "tools/call", {"name": "write", "arguments": {"path": "a", "content": "b"}}, id).json()["result"]
    assert failed["isError"] and "workspace" in failed["content"][0]["text"]
    shared = f"config={name}&workspace=of-mcp"
    id, _ = session(shared)
    post(shared, "tools/call", {"name": "write", "arguments": {"path": "a", "content": "mine"}}, id)
    assert "mine" in json.dumps(post(shared, "tools/call", {"name": "read", "arguments": {"path": "a"}}, id).json())
    all_gone(api)
    assert not [row for row in api.get("/v1/leases?prefix=mcp:")["items"] if row["sandbox_id"]]
    api.delete("/v1/workspaces/of-mcp")


def test_calls_at_a_projects_limit_wait_for_the_deletes_before_them(api, server):
    project = api.post("/v1/projects", {"name": f"narrow-{time.time_ns()}"})["id"]
    api.call("PATCH", f"/v1/projects/{project}", {"sandboxes_max": 1})
    narrow = server.api(api.call("POST", "/api/sandbox/keys", {"name": "narrow"}, {"X-Atoll-Project": project})["key"])
    for number in range(5):
        assert narrow.post(EXEC, {"sandbox": HOST, "command": f"echo {number}"})["stdout"] == f"{number}\n"
        said = narrow.post(f"{TOOLS}/bash", {"ephemeral": True, "input": {"command": f"echo {number}"}})
        assert said["structuredContent"]["exit_code"] == 0, said
    atoll.wait_for(lambda: not ephemeral(narrow), 20, "the end")
    api.delete(f"/v1/projects/{project}?force=true")


def test_a_warm_call_takes_milliseconds(api):
    times = []
    for _ in range(12):
        begun = time.monotonic()
        api.post(EXEC, {"sandbox": HOST, "command": "true"})
        times.append(time.monotonic() - begun)
    assert sorted(times)[len(times) // 2] < 0.5, times


def test_the_command_line(server, api, tmp_path):
    assert server.cli("tool", "--ephemeral", "bash", "command=echo from the tool").stdout == b"from the tool\n"
    assert server.cli("tool", "--ephemeral", "read", "path=a").returncode != 0
    assert server.cli("tool", "--workspace", "of-cli", "write", "path=a", "content=kept").returncode == 0
    assert server.cli("run", "--no-internet", "--workspace", "of-cli", "--", "cat", "a").stdout == b"kept"
    (tmp_path / "block.sh").write_text("cat a; echo; pwd")
    done = server.cli("code", "--ephemeral", "--workspace", "of-cli", "-l", "bash", tmp_path / "block.sh")
    assert done.stdout.split() == [b"kept", b"/mnt/workspaces/of-cli"], done
    assert server.cli("code", "--workspace", "x", "box", "-").returncode == 122
    all_gone(api)
    atoll.wait_for(lambda: not api.get("/v1/workspaces/of-cli")["sandboxes"], 10, "its sandboxes have ended")
    assert b"of-cli" in server.cli("workspace", "ls").stdout
    assert server.cli("workspace", "rm", "of-cli").stdout == b"1 removed\n"
    assert b"of-cli" not in server.cli("workspace", "ls").stdout


def test_the_python_sdk(server, api):
    import sys
    sys.path.insert(0, str(atoll.ROOT / "sdk/python"))
    from atoll_sdk import Atoll
    client = Atoll(f"http://127.0.0.1:{server.port}", server.key)
    try:
        assert client.ephemeral.run("echo hi > a; pwd", workspace="of-sdk", sandbox=HOST)["stdout"] == "/mnt/workspaces/of-sdk\n"
        assert client.ephemeral.run_code("print(open('a').read())", workspace="of-sdk", sandbox=HOST)["stdout"] == "hi\n\n"
        assert "hi" in json.dumps(client.ephemeral.tool("read", path="a", workspace="of-sdk", sandbox=HOST))
        assert [row["name"] for row in client.workspaces.list()] == ["of-sdk"]
    finally:
        all_gone(api)
        client.workspaces.delete("of-sdk")
