# SPDX-License-Identifier: Apache-2.0
"""Files that outlive their sandboxes: kept, fetched by signed address, limited, metered, expired, and after kill -9."""

import contextlib
import hashlib
import json
import os
import socket
import sqlite3
import subprocess
import time
import urllib.parse

import pytest

import atoll

pytestmark = pytest.mark.needs_root
WORK = "/home/user/project"
BASE = "/api/sandbox/artifacts"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)


def keep(api, sandbox, path, **more):
    return api.post(f"/api/sandbox/instances/{sandbox}/artifacts", {"path": path, **more})


def fetch(api, url, headers=None):
    """Without a key."""
    return api.clone(key="").raw("GET", url, headers={"Authorization": "", **(headers or {})})


def test_a_file_outlives_its_sandbox(api):
    data = os.urandom(300_000)
    with api.sandbox(internet=False) as sandbox:
        api.write(sandbox, "out/data.bin", data)
        made = keep(api, sandbox, "out/data.bin")
    assert made["path"] == "/home/user/project/out/data.bin" and made["name"] == "data.bin"
    assert (made["size"], made["sha256"]) == (len(data), hashlib.sha256(data).hexdigest())
    assert made["media_type"] == "application/octet-stream" and made["sandbox"] == sandbox
    assert api.get(f"{BASE}/{made['id']}")["sha256"] == made["sha256"]
    assert [one["id"] for one in api.get(f"{BASE}?sandbox={sandbox}")["items"]] == [made["id"]]
    assert api.raw("GET", f"{BASE}/{made['id']}/content").body == data
    answer = fetch(api, made["url"])
    assert answer.status == 200 and answer.body == data
    part = fetch(api, made["url"], {"Range": "bytes=100000-100009"})
    assert (part.status, part.body) == (206, data[100_000:100_010])
    assert part.headers["Content-Range"] == "bytes 100000-100009/300000"
    behind = fetch(api, made["url"], {"Range": "bytes=300000-"})
    assert (behind.status, behind.headers["Content-Range"]) == (416, "bytes */300000")
    api.delete(f"{BASE}/{made['id']}")
    with pytest.raises(atoll.ApiError) as caught:
        api.get(f"{BASE}/{made['id']}")
    assert caught.value.status == 404
    assert fetch(api, made["url"]).status == 403
    kinds = [event["kind"] for event in api.get(f"/v1/events?sandbox={sandbox}&kind=artifact.*")["items"]]
    assert kinds == ["artifact.created", "artifact.deleted"]


def test_an_address_opens_one_file_for_so_long(api, box):
    api.write(box, "one.txt", b"one")
    api.write(box, "two.txt", b"two")
    one, two = keep(api, box, "one.txt"), keep(api, box, "two.txt")
    other = one["url"].replace(one["id"], two["id"])
    assert fetch(api, other).status == 403
    query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(one["url"]).query))
    later = one["url"].replace(query["expires"], str(int(query["expires"]) + 1))
    assert fetch(api, later).status == 403
    assert fetch(api, one["url"][:-1]).status == 403
    assert fetch(api, f"{BASE}/{one['id']}/content").status == 401
    short = api.post(f"{BASE}/{one['id']}/url", {"expires_in_seconds": 3})["url"]
    assert fetch(api, short).body == b"one"
    expired = atoll.wait_for(lambda: (lambda answer: answer.status == 403 and answer)(fetch(api, short)), 30, "an expired address")
    assert "expired" in expired.json()["error"]["message"]
    assert fetch(api, one["url"]).body == b"one"
    for made in (one, two):
        api.delete(f"{BASE}/{made['id']}")


def test_a_hostile_file_is_an_attachment_of_a_harmless_type(api, box):
    name = 'we"ird\r\nX-Evil: 1;ü.html'
    api.write(box, name, b"<script>alert(1)</script>")
    made = keep(api, box, name)
    answer = fetch(api, made["url"])
    assert answer.headers["Content-Disposition"] == (
        "attachment; filename*=UTF-8''we%22ird%0D%0AX-Evil%3A%201%3B%C3%BC.html")
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert answer.headers["X-Content-Type-Options"] == "nosniff" and "X-Evil" not in answer.headers
    cases = {"plot.png": (PNG, "image/png"), "not.png": (b"plain", "text/plain"), "really.txt": (PNG, "image/png"),
             "data.json": (b"{}", "application/json"), "noname": (b"\xff\xfe\x00", "application/octet-stream"),
             "cut": ("é".encode() * 3000, "text/plain"), "empty.csv": (b"", "text/csv")}
    for name, (data, media_type) in cases.items():
        api.write(box, name, data)
        kept = keep(api, box, name)
        assert kept["media_type"] == media_type, name
        assert fetch(api, kept["url"]).body == data
        api.delete(f"{BASE}/{kept['id']}")
    api.delete(f"{BASE}/{made['id']}")


def test_the_host_never_follows_what_a_sandbox_names(api, box):
    """The agent reads as the sandbox's user, in its mounts: nothing of the host, no device, no pipe that never ends."""
    api.exec(box, "ln -sf /etc/shadow shadow; ln -sf ../../../../../../../../proc/1/environ environ; mkfifo pipe; mkdir folder")
    for path in ("shadow", "environ", "pipe", "folder", "/dev/zero", "none", "/proc/self/mem"):
        with pytest.raises(atoll.ApiError) as caught:
            keep(api, box, path)
        assert caught.value.status in (400, 403, 404, 409), (path, caught.value)
    assert api.get(f"{BASE}?sandbox={box}")["items"] == []


def exec_events(api, sandbox, body, operation="exec"):
    answer = api.raw("POST", f"/api/sandbox/instances/{sandbox}/{operation}?stream=ndjson", body)
    assert answer.status == 200, answer.body
    return [json.loads(line) for line in answer.body.splitlines()]


def test_what_a_command_made_is_kept_and_told_before_its_end(api, box):
    api.exec(box, "mkdir -p out/deep; echo old >out/old; sleep .05")
    # What is changed within 10 ms of a command's start counts as its own: the kernel's clock for files is that coarse.
    line = "echo made >out/new.csv; cp out/new.csv 'out/deep/b ü.txt'; ln -s /etc/passwd out/link; echo elsewhere >other; sleep .05; exit 3"
    result = api.exec(box, line, artifacts="out")
    assert result["exit_code"] == 3
    assert sorted(one["path"] for one in result["artifacts"]) == [f"{WORK}/out/deep/b ü.txt", f"{WORK}/out/new.csv"]
    assert {one["process"] for one in result["artifacts"]} == {result["process"]}
    for one in result["artifacts"]:
        assert fetch(api, one["url"]).body == b"made\n"
    events = exec_events(api, box, {"command": "echo said; touch out/again; sleep .05", "artifacts": "out"})
    assert [event["event"] for event in events] == ["started", "stdout", "artifact", "exit"]
    assert events[2]["artifact"]["path"] == f"{WORK}/out/again" and events[2]["artifact"]["process"] == events[0]["process"]
    events = exec_events(api, box, {"language": "python", "code": "open('out/code.json', 'w').write('{}'); import time; time.sleep(.05)", "artifacts": "out"}, "code")
    assert [event["artifact"]["media_type"] for event in events if event["event"] == "artifact"] == ["application/json"]
    assert [event["event"] for event in exec_events(api, box, {"command": "true", "artifacts": "out"})] == ["started", "exit"]
    # A folder that is not there has nothing in it, and a command that does not exist made nothing.
    assert api.exec(box, "true", artifacts="nowhere")["artifacts"] == []
    assert api.exec(box, cmd="no-such-program", artifacts="out")["exit_code"] == 127
    assert len(api.exec(box, "for i in $(seq 40); do echo $i >out/many$i; done", artifacts="out")["artifacts"]) == 32
    for one in api.get(f"{BASE}?sandbox={box}")["items"]:
        api.delete(f"{BASE}/{one['id']}")


def job_ended(api, job):
    return atoll.wait_for(lambda: (lambda row: row["status"] != "running" and row)(api.get(f"/v1/jobs/{job}")), 20, f"the end of job {job}")


def test_what_a_job_left_is_kept_at_its_end_and_listed_with_it(api):
    def start(command, **more):
        return api.exec(box, command, background=True, **more)["resultId"]
    with api.sandbox(internet=False) as box:
        api.exec(box, "mkdir -p out; echo old >out/old; ln -s /etc/passwd out/link; sleep .05")
        job = start("echo made >out/new.csv; echo elsewhere >other; sleep .05; exit 3", artifacts="out")
        row = job_ended(api, job)
        [one] = row["artifacts"]
        assert (row["status"], row["exitCode"], one["path"]) == ("failed", 3, f"{WORK}/out/new.csv")
        assert (one["resultId"], one["process"]) == (job, row["process"])
        # It is told as the job's, and before the end is.
        events = [event for event in api.get(f"/v1/events?sandbox={box}")["items"] if event.get("detail", {}).get("resultId") == job]
        assert [event["kind"] for event in events] == ["artifact.created", "job.failed"]
        assert events[0]["detail"] == {"artifact": one["id"], "process": row["process"], "resultId": job}
        stopped = start("echo half >out/half; sleep 600", artifacts="out")
        atoll.wait_for(lambda: "half" in api.exec(box, "cat out/half; true")["stdout"], 15, "half of the work")
        ended = api.post(f"/v1/jobs/{stopped}/stop")
        assert (ended["status"], [left["path"] for left in ended["artifacts"]]) == ("stopped", [f"{WORK}/out/half"])
        # Nothing was asked for, or nothing is there.
        assert "artifacts" not in job_ended(api, start("touch out/more"))
        assert not job_ended(api, start("true", artifacts="nowhere")).get("artifacts")
    assert [left["id"] for left in api.get(f"{BASE}?job={job}")["items"]] == [one["id"]]
    assert fetch(api, job_ended(api, job)["artifacts"][0]["url"]).body == b"made\n"
    for left in api.get(f"{BASE}?sandbox={box}")["items"]:
        api.delete(f"{BASE}/{left['id']}")
    assert not job_ended(api, job).get("artifacts")


def test_what_an_agents_tool_left_is_kept_and_told_with_its_result(api, server):
    def call(name, body):
        answer = api.call("POST", f"/v1/tools/{name}", body, {"Atoll-Run": "night"})
        return answer["structuredContent"], answer["content"][-1]["text"]

    def tool(name, **given):
        return call(name, {"sandboxId": made["id"], "input": given})

    def tool_of_none(name, **given):
        return call(name, {"input": given})
    made, here = api.create(), f"http://127.0.0.1:{server.port}"
    try:
        line = "mkdir -p out; echo a,b >out/t.csv; ln -s /etc/passwd out/link; echo elsewhere >other; sleep .05; exit 3"
        done, told = tool("bash", command=line, artifacts="out")
        [one] = done["artifacts"]
        assert done["exit_code"] == 3 and one["path"] == "out/t.csv" and one["size"] == 4
        assert one["url"] in told and one["url"].startswith(here)
        assert [row["path"] for row in tool("bash", command="touch here; sleep .05", artifacts=".")[0]["artifacts"]] == ["here"]
        done, told = tool("run_code", code="open('out/code.json', 'w').write('{}'); import time; time.sleep(.05)", artifacts="out")
        assert [row["media_type"] for row in done["artifacts"]] == ["application/json"] and "out/code.json" in told
        # In a window the call that sees the end keeps what was made since the begin, whoever typed it.
        assert tool("execute_command", command="true", artifacts="out")[0].get("artifacts") in (None, [])
        for seconds in (1, 10):
            with contextlib.suppress(atoll.ApiError):  # on a machine so slow that it has ended before the second call
                done, told = tool("execute_command", command=f"touch out/early; sleep {seconds}; echo late >out/late; sleep .05",
                                  artifacts="out", wait_ms=100)
                assert done["running"] and not done.get("artifacts")
                done, told = tool("execute_command", artifacts="out", wait_ms=30000)
                break
        assert sorted(row["path"] for row in done["artifacts"]) == ["out/early", "out/late"] and done["artifacts"][0]["url"] in told
        # Nothing was asked for, nothing was made, there is no such folder: nothing is said.
        for given in ({}, {"artifacts": ""}, {"artifacts": "nowhere"}):
            done, told = tool("bash", command="touch out/more; sleep .05", **given)
            assert not done.get("artifacts") and told == "[no output]\n"
        # So does one in the background, at its end.
        job = tool("bash", command="echo {} >out/job.json; sleep .05", artifacts="out", background=True)[0]["resultId"]
        job_ended(api, job)
        done, told = tool_of_none("async_status", resultId=job)
        assert [row["path"] for row in done["artifacts"]] == ["out/job.json"] and done["artifacts"][0]["url"] in told
        for bad in ({"artifacts": "/etc"}, {"artifacts": "../x"}, {"artifacts": "..", "background": True}, {"artifacts": "..", "window": "w"}):
            with pytest.raises(atoll.ApiError) as caught:
                tool("execute_command" if "window" in bad else "bash", command="touch not-run", **bad)
            assert caught.value.status == 400, bad
        # A folder that leads out of the workspace is none of it.
        done, told = tool("bash", command="mkdir /tmp/o && ln -s /tmp/o led && touch /tmp/o/f && test ! -e not-run && sleep .05", artifacts="led")
        assert done["exit_code"] == 0 and not done.get("artifacts")
    finally:
        api.remove(made["id"])
    listed = {row["id"]: row for row in api.get(f"{BASE}?sandbox={made['id']}&run=night")["items"]}
    assert sorted(row["path"] for row in listed.values()) == [
        f"{WORK}/{path}" for path in ("here", "out/code.json", "out/early", "out/job.json", "out/late", "out/t.csv")]
    assert listed[one["id"]]["process"] > 0
    assert fetch(api, one["url"].removeprefix(here)).body == b"a,b\n"
    for id in listed:
        api.delete(f"{BASE}/{id}")


def test_who_leaves_while_files_are_kept_harms_nobody(api, server, box):
    before = set(blobs(server))
    api.exec(box, "mkdir -p big")
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", server.port)) as raw:
            body = json.dumps({"command": "head -c 3000000 /dev/urandom >big/x", "artifacts": "big"})
            raw.sendall((f"POST /api/sandbox/instances/{box}/exec?stream=sse HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {api.key}\r\n"
                         f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode())
            raw.recv(100)
            time.sleep(0.03)  # the client leaves while the file is made or copied
    assert api.exec(box, "echo alive")["stdout"] == "alive\n"
    atoll.wait_for(lambda: {one["id"] for one in api.get(f"{BASE}?sandbox={box}")["items"]} == set(blobs(server)) - before, 30, "rows and blobs agree")
    for one in api.get(f"{BASE}?sandbox={box}")["items"]:
        api.delete(f"{BASE}/{one['id']}")


def test_projects_and_scopes_see_only_their_own(api, box):
    api.write(box, "mine", b"mine")
    made = keep(api, box, "mine")
    project = api.post("/v1/projects", {"name": "other-artifacts"})["id"]
    key = api.call("POST", "/api/sandbox/keys", {"name": "other", "scopes": ["sandbox:read", "sandbox:write"]},
                   {"X-Atoll-Project": project})["key"]
    other = api.clone(key=key)
    for method, path in (("GET", f"{BASE}/{made['id']}"), ("DELETE", f"{BASE}/{made['id']}"), ("GET", f"{BASE}/{made['id']}/content")):
        with pytest.raises(atoll.ApiError) as caught:
            other.call(method, path)
        assert caught.value.status == 404
    assert other.get(BASE)["items"] == []
    reader = api.clone(key=api.post("/api/sandbox/keys", {"name": "r", "scopes": ["sandbox:read"]})["key"])
    assert reader.raw("GET", f"{BASE}/{made['id']}/content").body == b"mine"
    with pytest.raises(atoll.ApiError) as caught:
        reader.delete(f"{BASE}/{made['id']}")
    assert caught.value.status == 403
    api.delete(f"{BASE}/{made['id']}")
    api.delete(f"/v1/projects/{project}")


def test_a_project_keeps_so_much_for_so_long(api):
    project = api.post("/v1/projects", {"name": "small-artifacts"})["id"]
    key = api.call("POST", "/api/sandbox/keys", {"name": "k", "scopes": ["sandbox:read", "sandbox:write", "admin"]},
                   {"X-Atoll-Project": project})["key"]
    mine = api.clone(key=key)
    assert mine.call("PUT", "/api/sandbox/settings", {"artifacts_max_mb": 1, "artifacts_keep_seconds": 3600})["artifacts_max_mb"] == 1
    with mine.sandbox(internet=False) as sandbox:
        mine.write(sandbox, "half", bytes(600_000))
        first = keep(mine, sandbox, "half")
        lasts = (atoll_time(first["expires_at"]) - atoll_time(first["created_at"]))
        assert 3599 <= lasts <= 3601
        with pytest.raises(atoll.ApiError) as caught:
            keep(mine, sandbox, "half")
        assert (caught.value.status, caught.value.code) == (429, "limit_exceeded")
        mine.delete(f"{BASE}/{first['id']}")
        assert keep(mine, sandbox, "half", keep_seconds=60)["id"]
        listed = mine.get(BASE)["items"]
        assert len(listed) == 1
    api.call("DELETE", f"/v1/projects/{project}?force=true")
    with pytest.raises(atoll.ApiError):
        mine.get(BASE)


def atoll_time(text):
    return time.mktime(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S"))


def blobs(server):
    folder = server.data / "blobs/artifacts"
    return sorted(os.listdir(folder)) if folder.exists() else []


def change(server, sql):
    with sqlite3.connect(server.data / "store/atoll.db", timeout=10) as db:
        db.execute(sql)
    db.close()


def test_time_and_kills_leave_nothing_and_lose_nothing(private_server):
    server = private_server.start()
    api = server.api()
    with api.sandbox(internet=False) as sandbox:
        api.write(sandbox, "kept", b"kept")
        api.write(sandbox, "old", b"old")
        kept, old = keep(api, sandbox, "kept"), keep(api, sandbox, "old")
    server.kill9("api")
    atoll.wait_for(lambda: server.api().raw("GET", "/readyz").status == 200, 20, "a new api process")
    api = server.api()
    assert fetch(api, kept["url"]).body == b"kept"
    # An hour has passed for the meter; the other one is over its time; a third was being made when somebody died.
    change(server, f"UPDATE artifacts SET metered_at = metered_at - 7200000 WHERE id = '{kept['id']}'")
    change(server, f"UPDATE artifacts SET expires_at = 1 WHERE id = '{old['id']}'")
    (server.data / "blobs/artifacts/half").write_bytes(b"x")
    os.chown(server.data / "blobs/artifacts/half", os.stat(server.data / "blobs/artifacts").st_uid, -1)
    change(server, f"INSERT INTO artifacts SELECT 'half', project_id, key_id, sandbox_id, sandbox_name, run, node, path, media_type,"
                   f" sha256, secret, 'making', process, 5, created_at, 0, metered_at, 0, '' FROM artifacts WHERE id = '{kept['id']}'")
    assert [one["id"] for one in api.get(BASE)["items"] if one["id"] == "half"] == []
    server.kill9("api")
    atoll.wait_for(lambda: server.api().raw("GET", "/readyz").status == 200, 20, "a new api process")
    api = server.api()
    atoll.wait_for(lambda: blobs(server) == [kept["id"]], 30, "what has expired and what was left half done to be gone")
    assert [one["id"] for one in api.get(BASE)["items"]] == [kept["id"]]
    used = atoll.wait_for(lambda: [row for row in api.get("/v1/usage?group_by=sandbox")["items"] if row["storage_gib_months"] > 0],
                          30, "the hours of an artifact")
    assert used[0]["group"] == sandbox


# ---- from a shell ----


def cli(server, api, *words, **more):
    environment = {**os.environ, "ATOLL_API_URL": f"http://127.0.0.1:{server.port}", "ATOLL_API_KEY": api.key}
    return subprocess.run([atoll.ATOLL, *words], capture_output=True, timeout=60, env=environment, **more)


def test_atoll_artifact_keeps_lists_fetches_and_removes(api, server, box, tmp_path):
    hostile = "evil\x1b[2J.bin"
    api.exec(box, cmd="sh", args=["-c", "printf '\\0\\1raw' > \"$1\"", "sh", hostile])
    kept = cli(server, api, "artifact", "keep", "--for", "2h", box, hostile)
    assert kept.returncode == 0, kept.stderr
    id = kept.stdout.decode().strip()
    listed = cli(server, api, "artifact", "ls", "--sandbox", box)
    assert id.encode() in listed.stdout and b"\x1b" not in listed.stdout and b"evil?[2J.bin" in listed.stdout
    assert id in [one["id"] for one in json.loads(cli(server, api, "--json", "artifact", "ls", "-s", box).stdout)]
    assert cli(server, api, "artifact", "get", id).stdout == b"\0\1raw"
    # Only the name that the user gave is written to.
    done = cli(server, api, "artifact", "get", id, "mine.bin", cwd=tmp_path)
    assert done.returncode == 0 and os.listdir(tmp_path) == ["mine.bin"]
    assert (tmp_path / "mine.bin").read_bytes() == b"\0\1raw"
    for words, said in ((("get", "nosuch"), b"nosuch"), (("get",), b""), (("keep", box, "missing"), b"missing"),
                        (("keep", "--for", "x", box, hostile), b"for"), (("rm",), b"")):
        done = cli(server, api, "artifact", *words)
        assert done.returncode not in (0, 139) and said in done.stderr, words
    assert cli(server, api, "artifact", "rm", id).returncode == 0
    assert cli(server, api, "artifact", "get", id).returncode != 0


def test_a_sandboxs_file_is_not_for_a_terminal(api, server, box):
    master, slave = os.openpty()
    try:
        environment = {**os.environ, "ATOLL_API_URL": f"http://127.0.0.1:{server.port}", "ATOLL_API_KEY": api.key}
        done = subprocess.run([atoll.ATOLL, "artifact", "get", "any"], stdout=slave, stderr=subprocess.PIPE, timeout=60,
                              env=environment)
        assert done.returncode != 0 and b"not written to a terminal" in done.stderr
    finally:
        os.close(master)
        os.close(slave)
