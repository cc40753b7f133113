# SPDX-License-Identifier: Apache-2.0
"""/v1/sandbox: agents by tenant and session."""

import base64
import json
import os
import signal
import threading
import time
import urllib.parse

import pytest

import atoll

pytestmark = pytest.mark.needs_root


@pytest.fixture
def session(api, request):
    made = {"tenant_id": "acme", "session_id": request.node.name[:60].replace("[", "-").replace("]", "")}
    yield made
    try:
        api.delete(f"/v1/sandbox/sessions/{made['tenant_id']}/{made['session_id']}")
    except atoll.ApiError:
        pass


def test_execute_makes_the_session_on_first_use(api, session):
    result = api.post("/v1/sandbox/execute", {**session, "code": "print(42)", "language": "python"})
    assert result["stdout"] == "42\n" and result["exit_code"] == 0
    listed = api.get("/v1/sandbox/sessions")["items"]
    assert any(s["session_id"] == session["session_id"] for s in listed)


def test_files_stay_between_calls(api, session):
    api.post("/v1/sandbox/write", {**session, "path": "notes/a.txt", "content": "one\ntwo\nthree\n"})
    assert api.post("/v1/sandbox/bash", {**session, "command": "cat notes/a.txt"})["stdout"] == "one\ntwo\nthree\n"
    answer = api.post("/v1/sandbox/read", {**session, "path": "notes/a.txt"})
    assert "two" in answer["content"]


def test_read_pages(api, session):
    api.post("/v1/sandbox/write", {**session, "path": "long", "content": "".join(f"line {i}\n" for i in range(1, 5001))})
    first = api.post("/v1/sandbox/read", {**session, "path": "long", "limit": 10})
    assert first["content"].splitlines()[0].endswith("line 1") and first["total_lines"] == 5000
    later = api.post("/v1/sandbox/read", {**session, "path": "long", "offset": 4991, "limit": 10})
    assert later["content"].splitlines()[-1].endswith("line 5000")


def test_read_binary(api, session):
    api.post("/v1/sandbox/bash", {**session, "command": "printf '\\000\\377' > b"})
    answer = api.post("/v1/sandbox/read_binary", {**session, "path": "b"})
    assert base64.b64decode(answer["content"]) == b"\0\xff"


def test_grep_and_glob_build_no_shell_command(api, session):
    api.post("/v1/sandbox/write", {**session, "path": "src/a.py", "content": "needle here\n$(touch /tmp/pwned)\n"})
    api.post("/v1/sandbox/write", {**session, "path": "src/b c.py", "content": "nothing\n"})
    found = api.post("/v1/sandbox/grep", {**session, "pattern": "needle"})
    assert [m["path"].lstrip("./") for m in found["matches"]] == ["src/a.py"] and found["matches"][0]["line"] == 1
    for pattern in ("$(touch /tmp/pwned)", "`touch /tmp/pwned`", "'; touch /tmp/pwned; '", "-e x --pre=touch", "[bad"):
        try:
            api.post("/v1/sandbox/grep", {**session, "pattern": pattern})
            api.post("/v1/sandbox/glob", {**session, "pattern": pattern})
        except atoll.ApiError as failure:
            assert failure.status == 400
    assert api.post("/v1/sandbox/bash", {**session, "command": "ls /tmp/pwned"})["exit_code"] != 0
    names = api.post("/v1/sandbox/glob", {**session, "pattern": "**/*.py"})["paths"]
    assert sorted(n.lstrip("./") for n in names) == ["src/a.py", "src/b c.py"]


def test_the_network_is_blocked_by_default(api, session):
    result = api.post("/v1/sandbox/bash", {**session, "command": "cat /proc/net/dev | tail -n +3 | cut -d: -f1"})
    assert result["stdout"].split() == ["lo"]


def test_many_first_uses_make_one_sandbox(server, api, session):
    seen = []

    def use():
        own = server.api()
        seen.append(own.post("/v1/sandbox/bash", {**session, "command": "cat /proc/sys/kernel/random/boot_id; hostname"}
                             )["stdout"])
        own.close()

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8 and len(set(seen)) == 1, seen


def test_copy_writes_many_files(api, session):
    path = f"/v1/sandbox/sessions/{session['tenant_id']}/{session['session_id']}/copy"
    api.post(path, {"files": [{"path": "x/1", "content": "one"}, {"path": "x/2", "content_base64": base64.b64encode(b"\0").decode()}]})
    result = api.post("/v1/sandbox/bash", {**session, "command": "cat x/1; stat -c %s x/2"})
    assert result["stdout"] == "one1\n"


def test_deleting_a_session_deletes_its_sandbox(api, session):
    api.post("/v1/sandbox/bash", {**session, "command": "true"})
    sandbox = next(s["sandbox_id"] for s in api.get("/v1/sandbox/sessions")["items"]
                   if s["session_id"] == session["session_id"])
    api.delete(f"/v1/sandbox/sessions/{session['tenant_id']}/{session['session_id']}")
    with pytest.raises(atoll.ApiError):
        api.exec(sandbox, "true")
    assert not any(s["session_id"] == session["session_id"] for s in api.get("/v1/sandbox/sessions")["items"])


@pytest.mark.parametrize("body", [{"tenant_id": "x"}, {"tenant_id": "", "session_id": "x"}, {"session_id": ""},
                                  {"tenant_id": "a", "session_id": "x" * 300}, {"session_id": 5}])
def test_bad_names_are_refused(api, body):
    with pytest.raises(atoll.ApiError) as failure:
        api.post("/v1/sandbox/bash", {"command": "true", **body})
    assert failure.value.status == 400


def test_the_number_of_sessions_is_limited():
    server = atoll.Server(environment={"SANDBOX_MAX_SESSIONS": "2"}).start()
    try:
        api = server.api()
        for name in ("a", "b"):
            api.post("/v1/sandbox/bash", {"tenant_id": "t", "session_id": name, "command": "true"})
        with pytest.raises(atoll.ApiError) as failure:
            api.post("/v1/sandbox/bash", {"tenant_id": "t", "session_id": "c", "command": "true"})
        assert failure.value.status == 429
    finally:
        server.remove_all()


def test_a_session_remembers_its_last_use(api, session):
    def used():
        return next(s["last_used_at"] for s in api.get("/v1/sandbox/sessions")["items"]
                    if s["session_id"] == session["session_id"])
    api.post("/v1/sandbox/bash", {**session, "command": "true"})
    before = used()
    api.post("/v1/sandbox/bash", {**session, "command": "sleep 0.01"})
    api.post("/v1/sandbox/bash", {**session, "command": "true"})
    assert used() > before


def test_a_call_tells_what_files_it_made(api, session):
    api.post("/v1/sandbox/write", {**session, "path": "old.txt", "content": "old"})
    api.post("/v1/sandbox/write", {**session, "path": "changed.csv", "content": "a,b\n"})
    time.sleep(0.05)
    result = api.post("/v1/sandbox/bash", {**session, "command":
                      "mkdir -p out; printf 1234 > out/plot.PNG; echo 1,2 >> changed.csv; touch -d 2001-01-01 'odd\"name'"})
    assert {(a["path"], a["size"], a["media_type"]) for a in result["artifacts"]} == {
        ("out/plot.PNG", 4, "image/png"), ("changed.csv", 8, "text/csv"), ('odd"name', 0, "application/octet-stream")}
    time.sleep(0.05)
    assert api.post("/v1/sandbox/execute", {**session, "code": "print(1)"})["artifacts"] == []
    many = api.post("/v1/sandbox/bash", {**session, "command": "mkdir many; cd many; touch $(seq 300)"})
    assert len(many["artifacts"]) == 100 and many["exit_code"] == 0
    gone = api.post("/v1/sandbox/bash", {**session, "command": "rm -rf $PWD; echo well"})
    assert gone["stdout"] == "well\n" and gone["artifacts"] == []


def test_what_a_call_made_is_kept_when_it_says_so(api, session):
    api.post("/v1/sandbox/write", {**session, "path": "out/old", "content": "old"})
    time.sleep(0.05)
    body = {**session, "command": "echo made > out/new.csv; echo elsewhere > other", "artifacts": "out"}
    result = api.post("/v1/sandbox/bash", body)
    [kept] = result["artifacts"]
    assert (kept["name"], kept["media_type"], kept["size"], kept["process"]) == ("new.csv", "text/csv", 5, result["process"])
    time.sleep(0.05)
    code = {**session, "code": "open('page.json', 'w').write('{}')\nprint('drawn')", "artifacts": "."}
    answer = api.raw("POST", "/v1/sandbox/execute", code, {"Accept": "text/event-stream"})
    told = [json.loads(line[6:]) for line in answer.body.decode().splitlines() if line.startswith("data: ")]
    assert [event["event"] for event in told] == ["started", "stdout", "artifact", "exit"]
    assert told[2]["artifact"]["name"] == "page.json" and told[2]["artifact"]["process"] == told[0]["process"]
    for wrong, word in (({"artifacts": "/etc"}, "artifacts"), ({"artifacts": "../x"}, "artifacts"),
                        ({"artifacts": "../x", "background": True}, "artifacts")):
        answer = api.raw("POST", "/v1/sandbox/bash", {**session, "command": "touch ran", **wrong})
        assert answer.status == 400 and word in answer.json()["error"]["message"], answer.body
    assert "ran" not in api.post("/v1/sandbox/bash", {**session, "command": "ls"})["stdout"]
    # They are there when the session is not.
    api.delete(f"/v1/sandbox/sessions/{session['tenant_id']}/{session['session_id']}")
    for one, content in ((kept, b"made\n"), (told[2]["artifact"], b"{}")):
        assert api.raw("GET", one["url"], headers={"Authorization": ""}).body == content
        api.delete(f"/api/sandbox/artifacts/{one['id']}")


def test_a_session_is_a_lease(server, api, session):
    odd = {"tenant_id": "a/b%", "session_id": "x y"}
    try:
        for body, key in ((session, f"session:acme/{session['session_id']}"), (odd, "session:a%2Fb%25/x y")):
            api.post("/v1/sandbox/write", {**body, "path": "note", "content": key})
            lease = api.get(f"/v1/leases/{urllib.parse.quote(key, safe='')}")
            row = next(s for s in api.get("/v1/sandbox/sessions")["items"] if s["session_id"] == body["session_id"])
            assert (row["tenant_id"], row["sandbox_id"]) == (body["tenant_id"], lease["sandbox_id"])
            assert api.exec(lease["sandbox_id"], "cat note")["stdout"] == key
            api.post(f"/api/sandbox/instances/{lease['sandbox_id']}/stop")
            assert api.post("/v1/sandbox/bash", {**body, "command": "cat note"})["stdout"] == key
    finally:
        api.delete("/v1/sandbox/sessions/a%2Fb%25/x%20y")
    with pytest.raises(atoll.ApiError) as gone:
        api.delete("/v1/sandbox/sessions/a%2Fb%25/x%20y")
    assert gone.value.status == 404


def test_a_session_outlives_the_servers_end(private_server, session):
    private_server.start()
    first = private_server.api().post("/v1/sandbox/bash", {**session, "command": "echo kept > note; hostname"})["stdout"]
    os.kill(private_server.pid_of("api"), signal.SIGKILL)
    private_server.wait_ready(20)
    body = {**session, "command": "cat note; hostname"}
    assert private_server.api().post("/v1/sandbox/bash", body)["stdout"] == f"kept\n{first}"
    private_server.stop()
    private_server.start()
    assert private_server.api().post("/v1/sandbox/bash", body)["stdout"] == f"kept\n{first}"
