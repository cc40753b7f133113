# SPDX-License-Identifier: Apache-2.0
"""Activity: every surface makes a row; rows outlive stop, restart, kill -9 and deletion; only their project sees them."""

import base64
import contextlib
import csv
import http.client
import io
import json
import os
import signal
import struct
import threading
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"


def rows(api, box, **query):
    return api.get(f"{PATH}/{box}/activity?" + "&".join(f"{k}={v}" for k, v in {"last": 1000, **query}.items()))["items"]


def wait_row(api, box, **wanted):
    """The newest row with these members."""
    def found():
        return [row for row in rows(api, box) if all(row[name] == value for name, value in wanted.items())]
    return atoll.wait_for(found, 20, lambda: f"a row with {wanted} among {rows(api, box)[-5:]}")[-1]


def test_a_command_leaves_a_row(api, box):
    api.exec(box, "echo out; echo err >&2; exit 3", env={"TOKEN": "s3cr3t-value"})
    row = wait_row(api, box, arguments="echo out; echo err >&2; exit 3")
    assert (row["kind"], row["operation"], row["ok"], row["outcome"], row["exit_code"]) == ("command", "exec", False, "failed", 3)
    assert sorted(row["head"].split()) == ["err", "out"] and row["tail"] == "" and row["output_bytes"] == 8 and row["encoding"] is None
    assert row["sandbox"] == box and row["project"] == "default" and row["key"] and row["duration_ms"] >= 0 and row["artifacts"] == []
    assert "s3cr3t-value" not in json.dumps(rows(api, box))


def test_how_a_command_ends(api, box):
    api.exec(box, "sleep 30 # timed", timeout_ms=300)
    row = wait_row(api, box, arguments="sleep 30 # timed")
    assert not row["ok"] and "time" in row["error"]
    api.exec(box, "kill -9 $$ # killed")
    row = wait_row(api, box, arguments="kill -9 $$ # killed")
    assert not row["ok"] and row["error"] == "SIGKILL"
    api.post(f"{PATH}/{box}/exec", {"cmd": "no-such-program", "args": ["a b"]})
    row = wait_row(api, box, arguments="no-such-program 'a b'")
    assert row["exit_code"] == 127 and "not found" in row["head"]


def test_output_and_arguments_are_cut(api, box):
    api.exec(box, "head -c 5000 /dev/zero | tr '\\0' x; printf END # " + "é" * 2000)
    row = next(r for r in reversed(rows_after(api, box, "head -c 5000")))
    assert len(row["arguments"].encode()) in (1023, 1024) and row["output_bytes"] == 5003
    assert row["head"] == "x" * 1024 and row["tail"] == "x" * 1021 + "END"
    api.exec(box, "printf '\\000\\377' # bytes")
    row = wait_row(api, box, arguments="printf '\\000\\377' # bytes")
    assert row["encoding"] == "base64" and base64.b64decode(row["head"]) == b"\0\xff"


def rows_after(api, box, begin):
    return atoll.wait_for(lambda: [r for r in rows(api, box) if r["arguments"].startswith(begin)], 20, begin)


def test_streams_and_clients_that_leave(server, api, box):
    answer = api.open("POST", f"{PATH}/{box}/exec?stream=sse", {"command": "echo streamed"})
    answer.read()
    assert wait_row(api, box, arguments="echo streamed")["ok"]
    other = server.api()
    answer = other.open("POST", f"{PATH}/{box}/exec?stream=sse", {"command": "echo gone; sleep 20"})
    answer.readline()
    answer.close()
    other.close()
    row = wait_row(api, box, arguments="echo gone; sleep 20")
    assert row["outcome"] == "unknown" and not row["ok"] and "disconnected" in row["error"] and row["exit_code"] == -1


def test_jobs_leave_a_row_at_their_end(api, box):
    job = api.post(f"{PATH}/{box}/exec", {"command": "sleep 0.5; echo job-done", "background": True, "conversation": "talk-1"})
    assert job["resultId"]
    row = wait_row(api, box, operation="job", arguments="sleep 0.5; echo job-done")
    assert row["ok"] and row["head"] == "job-done\n" and row["conversation"] == "talk-1" and row["duration_ms"] >= 400


def test_blocks_of_code_leave_a_row(api, box):
    api.post(f"{PATH}/{box}/code", {"language": "bash", "code": "echo from-context", "contextId": "default"})
    row = wait_row(api, box, arguments="echo from-context")
    assert (row["kind"], row["operation"], row["ok"], row["head"]) == ("code", "bash", True, "from-context\n")
    api.post(f"{PATH}/{box}/code", {"language": "python", "code": "print(6 * 7)"})
    row = wait_row(api, box, arguments="print(6 * 7)")
    assert (row["kind"], row["operation"], row["head"]) == ("code", "python", "42\n")


def test_file_operations_leave_a_row_and_looks_do_not(api, box):
    api.write(box, "/tmp/act.txt", b"0123456789")
    row = wait_row(api, box, operation="write", arguments="/tmp/act.txt")
    assert row["kind"] == "file" and row["ok"] and row["output_bytes"] == 10 and row["head"] == ""
    api.read(box, "/tmp/act.txt")
    assert wait_row(api, box, operation="read", arguments="/tmp/act.txt")["output_bytes"] == 10
    api.post(f"{PATH}/{box}/files/mkdir", {"path": "/tmp/act-dir"})
    api.post(f"{PATH}/{box}/files/rename", {"path": "/tmp/act.txt", "target": "/tmp/act2.txt"})
    api.get(f"{PATH}/{box}/files?path=/tmp")
    api.get(f"{PATH}/{box}/files/stat?path=/tmp/act2.txt")
    api.post(f"{PATH}/{box}/files/remove", {"path": "/tmp/act2.txt"})
    with pytest.raises(atoll.ApiError):
        api.post(f"{PATH}/{box}/files/remove", {"path": "/tmp/none-such"})
    assert wait_row(api, box, operation="remove", arguments="/tmp/none-such")["outcome"] == "failed"
    found = [(r["operation"], r["arguments"]) for r in rows(api, box, kind="file")]
    assert ("mkdir", "/tmp/act-dir") in found and ("rename", "/tmp/act.txt /tmp/act2.txt") in found
    assert not [operation for operation, _ in found if operation in ("list", "stat")]


def test_tools_leave_a_row_also_by_mcp(api, box):
    api.post("/v1/tools/bash", {"sandboxId": box, "conversationId": "talk-2", "input": {"command": "echo tool; exit 4"}})
    row = wait_row(api, box, kind="tool", operation="bash")
    assert json.loads(row["arguments"]) == {"command": "echo tool; exit 4"} and row["exit_code"] == 4 and not row["ok"]
    assert "tool" in row["head"] and row["conversation"] == "talk-2"
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    for method, params in (("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}),
                           ("tools/call", {"name": "write", "arguments": {"path": "tool.txt", "content": "x"}})):
        call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = api.raw("POST", f"/mcp?sandbox={box}", json.dumps(call), headers)
        assert answer.status == 200, answer.body
        headers["Mcp-Session-Id"] = answer.headers.get("Mcp-Session-Id", headers.get("Mcp-Session-Id"))
    assert wait_row(api, box, kind="tool", operation="write")["ok"]


def test_leases_and_sessions_leave_rows(api):
    held = api.post("/v1/leases/acquire", {"key": "act", "template": "host", "internet": False})["sandbox_id"]
    api.post("/v1/tools/bash", {"lease": "act", "input": {"command": "echo leased"}})
    assert wait_row(api, held, kind="tool")["ok"]
    api.delete("/v1/leases/act")
    ran = api.post("/v1/sandbox/execute", {"sessionId": "act-session", "language": "bash", "code": "echo in-session"})
    assert ran
    page = atoll.wait_for(lambda: [r for r in api.get("/v1/activity?last=50")["items"] if r["arguments"] == "echo in-session"], 20, "a row")
    assert page[-1]["kind"] == "code" and page[-1]["head"] == "in-session\n"
    api.remove(page[-1]["sandbox"])


def test_daytonas_toolbox_leaves_rows(api, box):
    toolbox = f"/daytona/toolbox/{box}"
    api.post(f"{toolbox}/process/execute", {"command": "echo by-daytona"})
    assert wait_row(api, box, arguments="echo by-daytona")["head"] == "by-daytona\n"
    api.post(f"{toolbox}/process/session", {"sessionId": "act"})
    api.post(f"{toolbox}/process/session/act/exec", {"command": "echo in-shell; false"})
    row = wait_row(api, box, arguments="echo in-shell; false")
    assert (row["exit_code"], row["head"]) == (1, "in-shell\n")
    api.post(f"{toolbox}/process/session/act/exec", {"command": "sleep 1", "runAsync": True})
    assert wait_row(api, box, arguments="sleep 1")["outcome"] == "unknown"
    api.delete(f"{toolbox}/process/session/act")
    api.post(f"{toolbox}/files/folder?path=/tmp/daytona-dir&mode=0755")
    assert wait_row(api, box, operation="mkdir", arguments="/tmp/daytona-dir")["ok"]


def test_e2bs_envd_leaves_rows(server, api):
    made = api.call("POST", "/v2/sandboxes", {"templateID": "host", "timeout": 600, "allow_internet_access": False})
    headers = {"E2b-Sandbox-Id": made["sandboxID"], "E2b-Sandbox-Port": "49983", "X-Access-Token": made["envdAccessToken"]}
    start = json.dumps({"process": {"cmd": "/bin/bash", "args": ["-l", "-c", "echo by-e2b"], "envs": {"K": "hidden-env"}}}).encode()
    answer = api.open("POST", "/process.Process/Start", struct.pack(">BI", 0, len(start)) + start,
                      {**headers, "Content-Type": "application/connect+json", "Authorization": ""})
    answer.read()
    row = wait_row(api, made["sandboxID"], arguments="echo by-e2b")
    assert row["ok"] and row["head"] == "by-e2b\n" and row["key"] is None and "hidden-env" not in json.dumps(row)
    answer = api.raw("POST", "/filesystem.Filesystem/MakeDir", json.dumps({"path": "/tmp/e2b-dir"}),
                     {**headers, "Content-Type": "application/json", "Authorization": ""})
    assert answer.status == 200, answer.body
    assert wait_row(api, made["sandboxID"], operation="mkdir", arguments="/tmp/e2b-dir")["ok"]
    api.remove(made["sandboxID"])


def test_git_leaves_rows(api, box):
    api.exec(box, "git init -q /tmp/act-repo && touch /tmp/act-repo/file")
    api.post(f"{PATH}/{box}/git/add", {"path": "/tmp/act-repo", "files": ["file"]})
    api.get(f"{PATH}/{box}/git/status?path=/tmp/act-repo")
    row = wait_row(api, box, operation="git")
    assert (row["kind"], row["ok"], row["arguments"]) == ("command", True, "add --all file")


def test_artifacts_are_in_the_row(api, box):
    ran = api.exec(box, "mkdir -p /tmp/made && echo x > /tmp/made/plot.txt", artifacts="/tmp/made")
    row = wait_row(api, box, arguments="mkdir -p /tmp/made && echo x > /tmp/made/plot.txt")
    assert row["artifacts"] == [{"id": ran["artifacts"][0]["id"], "path": ran["artifacts"][0]["path"]}]


def test_pages_filters_and_bad_queries(api, box):
    for i in range(5):
        api.exec(box, f"true # page {i}")
    wait_row(api, box, arguments="true # page 4")
    first = api.get(f"{PATH}/{box}/activity?limit=2")
    assert len(first["items"]) == 2 and first["after"] == first["items"][-1]["sequence"]
    following = api.get(f"{PATH}/{box}/activity?limit=1000&after={first['after']}")["items"]
    assert [r["sequence"] for r in following] == sorted(r["sequence"] for r in following) and following[0]["sequence"] > first["after"]
    key = following[-1]["key"]
    assert len(api.get(f"/v1/activity?key={key}&sandbox={box}&last=3")["items"]) == 3
    assert api.get("/v1/activity?key=aaaaaaaaaaaaaaaaaaaa&last=3")["items"] == []
    for query in ("kind=none", "last=1&after=1", "last=0", "limit=1001", "format=xml", "stream=text", "after=-1"):
        assert api.raw("GET", f"/v1/activity?{query}").status == 400, query
    assert api.raw("GET", f"{PATH}/aaaaaaaaaaaaaaaaaaaa/activity").status == 404


def test_csv_cells_cannot_be_formulas(api, box):
    for line in ("=1+1", "@SUM(A1)", "+1", "-1", "\t=1", '"quoted",comma\nline'):
        api.exec(box, f"echo '{line}' # csv")
        api.exec(box, line)
    wait_row(api, box, arguments='"quoted",comma\nline')
    answer = api.raw("GET", f"{PATH}/{box}/activity?format=csv&last=12")
    assert answer.status == 200
    table = list(csv.DictReader(io.StringIO(answer.body.decode(), newline="")))
    assert len(table) == 12 and set(table[0]) >= {"at", "sandbox", "arguments", "head", "outcome", "artifacts"}
    texts = [cell for row in table for name, cell in row.items() if name not in ("exit_code",)]
    assert not [text for text in texts if text[:1] in ("=", "+", "-", "@", "\t", "\r")]
    assert {"'=1+1", "'@SUM(A1)", "'+1", "'-1", "'\t=1", '"quoted",comma\nline'} <= {row["arguments"] for row in table}


def test_the_stream_is_live_and_resumes(server, api, box):
    def read(path, count, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        connection.request("GET", path, headers={"Authorization": f"Bearer {server.key}", "Accept": "text/event-stream", **(headers or {})})
        answer, found = connection.getresponse(), []
        assert answer.status == 200 and answer.headers["Content-Type"] == "text/event-stream"
        begun.set()
        while len(found) < count:
            line = answer.readline().decode()
            if line.startswith("data: "):
                found.append(json.loads(line[6:]))
        connection.close()
        return found
    begun, got = threading.Event(), []
    reader = threading.Thread(target=lambda: got.extend(read(f"/v1/activity?sandbox={box}&kind=command", 2)))
    reader.start()
    assert begun.wait(20)
    began = time.monotonic()
    api.exec(box, "echo live-1")
    api.write(box, "/tmp/live.txt", b"x")
    api.exec(box, "echo live-2")
    reader.join(20)
    assert [row["arguments"] for row in got] == ["echo live-1", "echo live-2"] and time.monotonic() - began < 15
    again = read(f"{PATH}/{box}/activity", 1, {"Last-Event-ID": str(got[0]["sequence"])})
    assert again[0]["sequence"] > got[0]["sequence"]


def test_another_project_sees_nothing(server, api, box):
    api.exec(box, "echo of-default")
    wait_row(api, box, arguments="echo of-default")
    project = api.post("/api/sandbox/projects", {"name": "act-other"})["id"]
    key = api.call("POST", "/api/sandbox/keys", {"name": "other", "scopes": ["sandbox:read", "sandbox:write"]},
                   {"X-Atoll-Project": project})["key"]
    with contextlib.closing(server.api(key)) as other:
        assert other.get("/v1/activity?last=1000")["items"] == []
        assert other.get(f"/v1/activity?sandbox={box}&last=1000")["items"] == []
        assert other.raw("GET", f"{PATH}/{box}/activity").status == 404
        assert other.raw("GET", f"{PATH}/{box}/activity?format=csv").status == 404
        with other.sandbox(internet=False) as own:
            other.exec(own, "echo of-other")
            assert wait_row(other, own, arguments="echo of-other")["project"] == project
            assert {r["project"] for r in other.get("/v1/activity?last=1000")["items"]} == {project}
        # An administrator without a project sees all.
        assert {r["project"] for r in api.get("/v1/activity?last=1000")["items"]} >= {project, "default"}
    for scopes, status in ((["sandbox:read"], 200), (["template:write"], 403)):
        limited = api.post("/api/sandbox/keys", {"name": "limited", "scopes": scopes})["key"]
        with contextlib.closing(server.api(limited)) as caller:
            assert caller.raw("GET", "/v1/activity").status == status


def test_stop_start_and_deletion_keep_rows(api):
    made = api.create(internet=False, name="act-kept")["id"]
    api.exec(made, "echo before-stop")
    api.post(f"{PATH}/{made}/stop")
    assert wait_row(api, made, arguments="echo before-stop")
    api.post(f"{PATH}/{made}/start")
    assert wait_row(api, made, arguments="echo before-stop")
    api.remove(made)
    assert wait_row(api, made, arguments="echo before-stop")
    assert [r["arguments"] for r in api.get(f"/v1/activity?sandbox={made}&last=10")["items"]] == ["echo before-stop"]


def test_the_command_line(server, api, box):
    api.exec(box, "echo by-cli")
    wait_row(api, box, arguments="echo by-cli")
    shown = server.cli("activity", box)
    assert shown.returncode == 0 and b"echo by-cli" in shown.stdout and b"ARGUMENTS" in shown.stdout, shown
    assert server.cli("activity", box, "--kind", "none").returncode != 0
    table = server.cli("activity", box, "--csv", "--last", "1000")
    assert table.returncode == 0 and b"echo by-cli" in table.stdout and table.stdout.startswith(b'"at",')
    assert server.cli("activity", "--csv", "--follow").returncode != 0
    assert json.loads(server.cli("activity", box, "--json").stdout)[-1]["sandbox"] == box


def test_metrics_count_rows(api, box):
    api.exec(box, "true # counted")
    wait_row(api, box, arguments="true # counted")
    text = api.raw("GET", "/metrics").body.decode()
    values = dict(line.rsplit(" ", 1) for line in text.splitlines() if line.startswith("atoll_activity"))
    assert int(values["atoll_activity_rows_total"]) > 0 and values["atoll_activity_dropped_total"] == "0"
    assert "atoll_activity_queue" in values


def test_restarts_and_bounds(private_server):
    """A stop flushes; kill -9 loses at most the last interval; each sandbox keeps its newest rows."""
    private_server.environment["SANDBOX_ACTIVITY_MAX"] = private_server.environment["ATOLL_ACTIVITY_MAX"] = "10"
    private_server.start()
    api = private_server.api()
    box = api.create(internet=False)["id"]
    for i in range(40):
        api.exec(box, f"true # {i}")
    private_server.stop()
    private_server.start()
    api = private_server.api()
    kept = [r["arguments"] for r in rows(api, box)]
    assert kept[-1] == "true # 39" and 10 <= len(kept) <= 12, kept
    api.exec(box, "echo before-kill")
    time.sleep(1)
    api.exec(box, "echo maybe-lost")
    os.kill(private_server.pid_of("api"), signal.SIGKILL)
    private_server.wait_ready()
    api = private_server.api()
    assert wait_row(api, box, arguments="echo before-kill")["ok"]
    api.exec(box, "echo after-kill")
    assert wait_row(api, box, arguments="echo after-kill")
    numbers = [r["sequence"] for r in rows(api, box)]
    assert numbers == sorted(set(numbers))
    api.remove(box)
