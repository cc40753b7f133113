# SPDX-License-Identifier: Apache-2.0
"""The agent tools over HTTP: /v1/tools."""

import base64
import contextlib
import json
import os
import sqlite3
import subprocess
import threading

import pytest

import atoll
from atoll import ApiError

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


class Tools:
    """Calls of one sandbox."""

    def __init__(self, api, **target):
        self.api, self.target = api, target

    def call(self, tool, /, **arguments):
        return self.api.post(f"/v1/tools/{tool}", {**self.target, "input": arguments})

    def text(self, tool, /, **arguments):
        return self.call(tool, **arguments)["content"][0]["text"]

    def refused(self, tool, /, **arguments):
        with pytest.raises(ApiError) as failed:
            self.call(tool, **arguments)
        return failed.value


@pytest.fixture
def tools(api, box):
    return Tools(api, sandboxId=box)


def test_the_list_has_a_schema_for_every_tool(api):
    listed = {tool["name"]: tool for tool in api.get("/v1/tools")["tools"]}
    assert {"bash", "read", "write", "edit", "glob", "grep", "list_files", "snapshot", "rollback", "load_skill"} <= listed.keys()
    for tool in listed.values():
        assert tool["description"] and tool["inputSchema"]["type"] == "object"
        assert "$ref" not in json.dumps(tool), "a schema has to stand by itself"
    assert listed["read"]["annotations"]["readOnlyHint"] is True
    assert listed["bash"]["annotations"]["destructiveHint"] is True
    only_reads = {name for name, tool in listed.items() if tool["annotations"]["readOnlyHint"]}
    assert only_reads == {"read", "glob", "grep", "list_files", "list_sandboxes", "preview_url", "request_access", "list_credentials", "activate_credential"}
    stops = listed["async_status"]["annotations"]  # its action stop ends a job
    assert stops["destructiveHint"] is True and stops["idempotentHint"] is True
    assert listed["bash"]["inputSchema"]["required"] == ["command"]


def test_bash_tells_both_streams_and_the_exit_code(tools):
    done = tools.call("bash", command="echo out; echo err >&2; exit 3")
    assert done["structuredContent"] | {"duration_ms": 0} == {
        "exit_code": 3, "timed_out": False, "cause": "exit", "duration_ms": 0, "stdout": "out\n", "stderr": "err\n",
        "truncated": False}
    assert sorted(done["content"][0]["text"].splitlines()) == ["[exit code 3]", "err", "out"]
    assert tools.text("bash", command="true") == "[no output]\n"
    assert tools.text("bash", command="printf 'a\\0b\\377'") == "a\ufffdb\ufffd\n"


def test_bash_cuts_the_middle_and_ends_in_time(tools):
    done = tools.call("bash", command="head -c 5000000 /dev/zero | tr '\\0' x; echo; echo last")
    assert done["structuredContent"]["truncated"]
    text = done["content"][0]["text"]
    assert "bytes of output were cut here" in text and text.endswith("last\n") and len(text) < 4000000
    slow = tools.call("bash", command="echo begun; sleep 60", timeout_ms=2000)
    assert slow["structuredContent"]["timed_out"] and slow["structuredContent"]["cause"] == "timeout"
    assert "begun\n[ended after 2000 ms, its time limit]\n" == slow["content"][0]["text"]
    assert "600000" in tools.refused("bash", command="true", timeout_ms=600001).message


def test_bash_keeps_files_and_no_environment(tools):
    tools.call("bash", command="echo kept > kept.txt; export LOST=1; cd /")
    assert tools.text("bash", command="cat kept.txt; echo \"[$LOST]\"") == "kept\n[]\n"


def test_read_numbers_lines_and_turns_pages(tools):
    tools.call("bash", command="seq 1 5000 > numbers.txt; printf 'no end' > end.txt; : > empty.txt")
    first = tools.call("read", path="numbers.txt")
    assert first["content"][0]["text"].startswith("     1\t1\n     2\t2\n")
    assert first["structuredContent"]["next_offset"] == 2001
    assert first["structuredContent"]["total_lines"] == 5000
    page = tools.call("read", path="numbers.txt", offset=4999, limit=10)
    assert page["content"][0]["text"] == "  4999\t4999\n  5000\t5000\n"
    assert "next_offset" not in page["structuredContent"]
    assert tools.text("read", path="end.txt") == "     1\tno end\n"
    assert "empty" in tools.text("read", path="empty.txt")
    assert "has 5000 lines" in tools.refused("read", path="numbers.txt", offset=5001).message


def test_read_cuts_long_lines_and_long_pages(tools):
    tools.call("bash", command="head -c 100000 /dev/zero | tr '\\0' y > long.txt; echo >> long.txt;"
                               "yes $(head -c 1000 /dev/zero | tr '\\0' z) | head -1000 > wide.txt")
    text = tools.text("read", path="long.txt")
    assert text.startswith("     1\t" + "y" * 2000 + " [98000 more bytes]\n")
    wide = tools.call("read", path="wide.txt")
    assert len(wide["content"][0]["text"]) < 300000
    following = wide["structuredContent"]["next_offset"]
    assert tools.text("read", path="wide.txt", offset=following, limit=1).startswith(f"{following:6}\tz")


def test_read_returns_pictures_and_sounds_and_refuses_other_bytes(tools, api, box):
    encoded = base64.b64encode(PNG).decode()
    tools.call("bash", command=f"echo {encoded} | base64 -d > dot.png; printf '%%PDF-1.4 and more bytes\\0' > page.pdf;"
                               "printf 'a\\0b' > data.bin")
    image = tools.call("read", path="dot.png")["content"][0]
    assert image == {"type": "image", "data": encoded, "mimeType": "image/png"}
    page = tools.call("read", path="page.pdf")["content"][0]
    assert page["type"] == "resource" and page["resource"]["mimeType"] == "application/pdf"
    assert base64.b64decode(page["resource"]["blob"]).startswith(b"%PDF-1.4")
    wave = base64.b64encode(b"RIFF" + b"\x24\0\0\0" + b"WAVEfmt " + bytes(28)).decode()
    tools.call("bash", command=f"echo {wave} | base64 -d > tone.wav")
    assert tools.call("read", path="tone.wav")["content"] == [{"type": "audio", "data": wave, "mimeType": "audio/wav"}]
    refused = tools.refused("read", path="data.bin")
    assert refused.status == 400 and "binary" in refused.message and "bash" in refused.hint


def test_paths_stay_inside_the_workspace(tools):
    tools.call("bash", command="ln -sf /etc/passwd out; ln -sfn /etc folder; mkdir -p d")
    for path in ("/etc/passwd", "../x", "a/../../x", "out", "folder/passwd", "a//b"):
        refused = tools.refused("read", path=path)
        assert refused.status in (400, 403, 404), path
    assert tools.refused("read", path="missing.txt").status == 404
    assert tools.refused("read", path="d").status in (400, 409)


def test_a_call_names_one_sandbox(api, box, tools):
    for target, word in (({}, "none"), ({"sandboxId": box, "lease": "x"}, "more than one"),
                         ({"tenantId": "t"}, "none"), ({"lease": "x", "tenantId": "t"}, "tenantId"),
                         ({"sandboxId": box, "sessionId": "s"}, "more than one")):
        refused = Tools(api, **target).refused("bash", command="true")
        assert refused.status == 400 and word in refused.message, target
    assert Tools(api, sandboxId="nobody").refused("bash", command="true").status == 404
    assert tools.refused("no_such_tool").status == 404
    assert "unknown member" in tools.refused("bash", command="true", colour="red").message
    assert tools.refused("bash").status == 400
    assert tools.refused("bash", command=7).status == 400


def test_leases_and_sessions_are_made_on_first_use(api):
    lease = Tools(api, lease="tools:one")
    session = Tools(api, sessionId="tools-two")
    try:
        lease.call("bash", command="echo lease > who")
        session.call("bash", command="echo session > who")
        assert lease.text("read", path="who") == "     1\tlease\n"
        assert session.text("read", path="who") == "     1\tsession\n"
        found = api.post("/v1/sandbox/read", {"session_id": "tools-two", "path": "who"})
        assert found["content"] == "session\n"
    finally:
        api.delete("/v1/leases/tools%3Aone")
        api.delete("/v1/sandbox/sessions/default/tools-two")


# ---- write, edit ----


def test_write_makes_folders_and_keeps_modes(tools):
    done = tools.call("write", path="notes/deep/a.txt", content="one\n")
    assert done["structuredContent"] == {"path": "notes/deep/a.txt", "size": 4}
    tools.call("bash", command="chmod 750 notes/deep/a.txt")
    tools.call("write", path="notes/deep/a.txt", content="#!/bin/sh\necho two\n")
    assert tools.text("bash", command="stat -c %a notes/deep/a.txt; notes/deep/a.txt") == "750\ntwo\n"
    tools.call("write", path="raw.bin", content_base64=base64.b64encode(bytes(range(256))).decode())
    assert tools.text("bash", command="wc -c < raw.bin").strip() == "256"
    tools.call("write", path="nothing.txt", content="")
    assert tools.text("bash", command="wc -c < nothing.txt").strip() == "0"


def test_write_refuses_what_is_outside_or_no_file(tools):
    tools.call("bash", command="ln -sf /tmp/leak out.txt; ln -sfn /tmp away; mkdir -p somewhere")
    for path in ("/tmp/leak", "../leak", "out.txt", "away/leak", "somewhere", "a/"):
        assert tools.refused("write", path=path, content="x").status in (400, 403, 404, 409), path
    assert tools.text("bash", command="test -e /tmp/leak || echo none") == "none\n"
    assert tools.refused("write", path="a.txt").status == 400
    assert tools.refused("write", path="a.txt", content="x", content_base64="eA==").status == 400


def test_edit_is_exact_and_unique(tools):
    tools.call("write", path="code.py", content="a = 1\nb = 1\nc = 1\n")
    done = tools.call("edit", path="code.py", old_string="b = 1", new_string="b = 2")
    assert done["structuredContent"] == {"path": "code.py", "replacements": 1, "line": 2}
    twice = tools.refused("edit", path="code.py", old_string=" = 1", new_string=" = 3")
    assert twice.status == 409 and "2 times" in twice.message and "replace_all" in twice.hint
    missing = tools.refused("edit", path="code.py", old_string="b  = 2", new_string="x")
    assert missing.status == 409 and "not in the file" in missing.message
    assert tools.refused("edit", path="code.py", old_string="a", new_string="a").status == 400
    assert tools.refused("edit", path="none.py", old_string="a", new_string="b").status == 404
    assert tools.text("bash", command="cat code.py") == "a = 1\nb = 2\nc = 1\n"
    done = tools.call("edit", path="code.py", old_string=" = 1", new_string=" = 3", replace_all=True)
    assert done["structuredContent"]["replacements"] == 2
    assert tools.text("bash", command="cat code.py") == "a = 3\nb = 2\nc = 3\n"


def test_edit_keeps_mode_and_line_endings(tools):
    tools.call("bash", command="printf 'one\\r\\ntwo\\r\\nthree\\r\\n' > dos.txt; chmod 600 dos.txt")
    tools.call("edit", path="dos.txt", old_string="one\ntwo", new_string="1\n2\n2b")
    assert tools.text("bash", command="od -c dos.txt | head -1; stat -c %a dos.txt").split() == \
        "0000000 1 \\r \\n 2 \\r \\n 2 b \\r \\n t h r e e \\r 600".split()


# ---- glob, list_files, grep ----


@pytest.fixture(scope="module")
def tree(server, box):
    api = server.api()
    tools = Tools(api, sandboxId=box)
    tools.call("bash", command="""
        rm -rf tree && mkdir -p tree/src/deep tree/.hidden && cd tree
        echo 'def alpha(): pass  # TODO one' > src/a.py
        printf 'x\\ny TODO two\\nz\\nTODO three\\n' > src/deep/b.py
        echo 'todo four' > notes.txt
        echo 'int main; // TODO' > src/main.c
        touch -d '2020-01-01' src/a.py; touch -d '2021-01-01' src/deep/b.py; touch -d '2022-01-01' src/main.c
        ln -s /etc etc""")
    yield tools
    api.close()


def test_glob_tells_the_newest_first(tree):
    assert tree.text("glob", pattern="**/*.py", path="tree").split() == ["tree/src/deep/b.py", "tree/src/a.py"]
    assert tree.text("glob", pattern="src/*", path="tree").split() == ["tree/src/deep", "tree/src/main.c", "tree/src/a.py"]
    found = tree.call("glob", pattern="**/*", path="tree", limit=1)["structuredContent"]
    assert found["truncated"] and len(found["files"]) == 1 and found["total"] > 5
    assert tree.text("glob", pattern="{src/**,none}/*.{py,c}", path="tree").split() == \
        ["tree/src/main.c", "tree/src/deep/b.py", "tree/src/a.py"]
    assert tree.text("glob", pattern="*.none") == "[no files]\n"
    assert "contains '..'" in tree.refused("glob", pattern="{src,..}/*").message
    assert tree.refused("glob", pattern="*", path="../..").status == 400
    assert tree.refused("glob", pattern="*", path="tree/etc").status in (400, 403, 404)


def test_list_files_tells_folders_apart(tree):
    assert tree.text("list_files", path="tree").split() == \
        ["tree/.hidden/", "tree/etc", "tree/notes.txt", "tree/src/"]
    deep = tree.call("list_files", path="tree/src", depth=2)["structuredContent"]["files"]
    assert [item["path"] for item in deep] == \
        ["tree/src/a.py", "tree/src/deep", "tree/src/deep/b.py", "tree/src/main.c"]
    assert [item["type"] for item in deep] == ["file", "directory", "file", "file"]


def test_grep_has_three_modes(tree):
    assert tree.text("grep", pattern="TODO", path="tree").split() == \
        ["tree/src/a.py", "tree/src/deep/b.py", "tree/src/main.c"]
    assert tree.text("grep", pattern="TODO", path="tree", output_mode="count").split() == \
        ["tree/src/a.py:1", "tree/src/deep/b.py:2", "tree/src/main.c:1"]
    content = tree.call("grep", pattern="TODO", path="tree", output_mode="content", glob="*.py")
    assert content["content"][0]["text"].splitlines() == [
        "tree/src/a.py:1:def alpha(): pass  # TODO one",
        "tree/src/deep/b.py:2:y TODO two", "tree/src/deep/b.py:4:TODO three"]
    assert content["structuredContent"]["files"] == 2 and not content["structuredContent"]["truncated"]
    assert tree.text("grep", pattern="TODO", path="tree", glob="*.{h,c}").split() == ["tree/src/main.c"]


def test_grep_has_the_flags_of_ripgrep(tree):
    assert tree.text("grep", pattern="todo", path="tree/notes.txt") == "tree/notes.txt\n"
    both = tree.text("grep", pattern="ToDo", path="tree", ignore_case=True).split()
    assert len(both) == 4
    context = tree.text("grep", pattern="TODO t.o", path="tree", output_mode="content", context=1)
    assert context.splitlines() == ["tree/src/deep/b.py-1-x", "tree/src/deep/b.py:2:y TODO two",
                                    "tree/src/deep/b.py-3-z"]
    more = tree.call("grep", pattern="TODO", path="tree", output_mode="content", head_limit=2)
    assert more["structuredContent"]["truncated"] and len(more["structuredContent"]["matches"]) == 2
    if "yes" in tree.text("bash", command="command -v rg >/dev/null && echo yes || echo no"):
        assert tree.text("grep", pattern="TODO", path="tree", type="c").split() == ["tree/src/main.c"]
        assert "two" in tree.text("grep", pattern="two.z", path="tree", multiline=True, output_mode="content")
        assert tree.refused("grep", pattern="x", type="nothing").status == 400
    assert tree.refused("grep", pattern="(").status == 400
    assert tree.text("grep", pattern="no such text", path="tree") == "[no matches]\n"


def test_grep_is_no_shell_and_stays_inside(tree):
    assert tree.text("grep", pattern="$(touch made)`touch made`;touch made", path="tree") == "[no matches]\n"
    assert tree.text("grep", pattern="--files", path="tree") == "[no matches]\n"
    assert tree.text("bash", command="ls made 2>/dev/null || echo none") == "none\n"
    for path in ("/etc", "../..", "tree/etc", "tree/etc/passwd"):
        assert tree.refused("grep", pattern="root", path=path).status in (400, 403, 404), path


# ---- snapshot, rollback ----


def test_rollback_goes_back_to_a_snapshot_of_this_sandbox(api, box):
    with api.sandbox(internet=False) as other:
        tools = Tools(api, sandboxId=other)
        tools.call("write", path="a.txt", content="before")
        taken = tools.call("snapshot")["structuredContent"]["snapshot"]
        tools.call("write", path="a.txt", content="after")
        refused = Tools(api, sandboxId=box).refused("rollback", snapshot=taken)
        assert refused.status == 403 and "another sandbox" in refused.message
        tools.call("rollback", snapshot=taken)
        assert tools.text("read", path="a.txt") == "     1\tbefore\n"
    api.delete(f"/api/sandbox/snapshots/{taken}")


def test_searching_needs_no_program_inside(api):
    """Neither rg nor grep: the agent searches by itself."""
    with api.sandbox(internet=False, env={"PATH": "/nowhere"}) as box:
        tools = Tools(api, sandboxId=box)
        assert api.exec(box, cmd="grep", args=["--version"])["exit_code"] == 127
        tools.call("write", path="src/a.c", content="int x1;\nint y;\nchar z22;\n")
        tools.call("write", path="src/b.txt", content="x3\n")
        found = tools.call("grep", pattern=r"\w\d+?;", output_mode="content")["structuredContent"]
        assert found["matches"] == [{"path": "src/a.c", "line": 1, "text": "int x1;"}, {"path": "src/a.c", "line": 3, "text": "char z22;"}]
        assert not found["truncated"]
        assert tools.text("grep", pattern="X", ignore_case=True, glob="*.{md,txt}").strip() == "src/b.txt"
        assert tools.call("grep", pattern="y", path="src", output_mode="content", context=1)["content"][0]["text"] \
            == tools.text("grep", pattern="y", path="src/a.c", output_mode="content", context=1)
        assert tools.refused("grep", pattern="(").status == 400
        assert "rg" in tools.refused("grep", pattern="(?i)x").message
        assert tools.refused("grep", pattern="x", type="c").code == "unsupported"
        assert tools.refused("grep", pattern="x", path="../..").status in (400, 403)
        assert [item["path"] for item in tools.call("glob", pattern="**/*.c")["structuredContent"]["files"]] == ["src/a.c"]
        assert "src" in tools.text("list_files")


# ---- what a config lets tools do ----


@pytest.fixture
def config(api):
    made = []

    def make(**fields):
        record = api.post("/accounts/me/sandboxes", {"name": f"guard-{len(made)}-{os.getpid()}", "config": fields})
        made.append(record["id"])
        return record["name"]
    yield make
    for one in made:
        api.delete(f"/accounts/me/sandboxes/{one}")


@pytest.fixture
def other(api):
    """Another key of the same project: who made a call cannot approve it."""
    key = api.post("/api/sandbox/keys", {"name": f"approver-{os.getpid()}", "scopes": ["sandbox:read", "sandbox:write"]})
    yield api.clone(key["key"])
    api.delete(f"/api/sandbox/keys/{key['id']}")


def post(tools, name, wait=0, **arguments):
    answer = tools.api.raw("POST", f"/v1/tools/{name}",
                           {**tools.target, "approvalWaitMs": wait, "input": arguments})
    return answer.status, answer.json()


def test_ask_waits_for_somebodys_word(api, box, config, other):
    tools = Tools(api, sandboxId=box, config=config(permissionMode="ask"))
    assert tools.call("list_files")["content"]
    status, asked = post(tools, "bash", command="echo done > approved.txt")
    assert status == 202 and "waiting for approval" in asked["content"][0]["text"]
    assert "structuredContent" not in asked
    pending = {item["id"]: item for item in api.get("/v1/approvals")["items"]}
    item = pending[asked["approvalId"]]
    assert item["tool"] == "bash" and json.loads(item["input"])["command"] == "echo done > approved.txt"
    assert item["sandboxId"] == box and item["state"] == "pending" and item["origin"] is None
    # The same call is the same approval; another one is another.
    assert post(tools, "bash", command="echo done > approved.txt")[1]["approvalId"] == asked["approvalId"]
    assert post(tools, "bash", command="echo done > other.txt")[1]["approvalId"] != asked["approvalId"]
    path = f"/v1/approvals/{asked['approvalId']}"
    with pytest.raises(ApiError) as refused:
        api.post(path + "/approve")
    assert refused.value.status == 403 and "another key" in refused.value.hint
    assert other.post(path + "/approve", {"note": "fine"})["state"] == "approved"
    status, done = post(tools, "bash", command="echo done > approved.txt")
    assert status == 200 and done["structuredContent"]["exit_code"] == 0
    # Who asks, and from where, is for who decides: another message of the same turn asks for the same call.
    for thread in ("17.1", "17.2"):
        turn = Tools(api, sandboxId=box, config=tools.target["config"], conversationId="chat:17",
                     origin={"type": "slack", "channel": "C0123", "thread": thread})
        status, told = post(turn, "bash", command="echo told")
        assert status == 202
    item = api.get(f"/v1/approvals/{told['approvalId']}")
    assert item["origin"] == {"type": "slack", "channel": "C0123", "thread": "17.1"} and item["conversationId"] == "chat:17"
    wrong = Tools(api, sandboxId=box, origin={"type": "slack"}).refused("bash", command="true")
    assert wrong.status == 400 and "slack needs channel" in wrong.message
    # Once: the next one asks again.
    assert api.get(path)["state"] == "used"
    status, again = post(tools, "bash", command="echo done > approved.txt")
    assert status == 202 and again["approvalId"] != asked["approvalId"]
    with pytest.raises(ApiError) as late:
        other.post(path + "/approve")
    assert late.value.status == 409


def test_an_approval_expires_before_it_is_given_and_before_it_is_used(api, box, config, other, server):
    tools = Tools(api, sandboxId=box, config=config(permissionMode="ask"))

    def ask(name):
        status, answer = post(tools, "bash", command=f"echo {name}")
        assert status == 202
        return answer["approvalId"]
    pending, approved = ask("pending"), ask("approved")
    item = other.post(f"/v1/approvals/{approved}/approve")
    assert item["state"] == "approved" and item["expiresAt"] > item["decidedAt"]
    server.stop()
    with contextlib.closing(sqlite3.connect(server.data / "store" / "atoll.db")) as database, database:
        database.execute("UPDATE approvals SET expires_at = created_at + 1 WHERE id IN (?, ?)", [pending, approved])
    server.start()
    listed = [one["id"] for one in api.get("/v1/approvals?state=any")["items"]]
    assert pending not in listed and approved not in listed
    for verdict in ("approve", "refuse"):
        with pytest.raises(ApiError) as late:
            other.post(f"/v1/approvals/{pending}/{verdict}")
        assert late.value.status in (404, 409)
    assert ask("pending") != pending and ask("approved") != approved

    def expired():
        return [event["detail"]["id"] for event in api.get("/v1/events?kind=approval.expired&last=100")["items"]]
    atoll.wait_for(lambda: pending in expired(), what="the event of the expiry")
    assert approved not in expired() and api.get(f"/v1/approvals/{pending}")["state"] == "expired"


def test_approvals_are_told_and_show_names_and_the_input_as_an_object(api, box, config, other):
    tools = Tools(api, sandboxId=box, config=config(permissionMode="ask"))
    asked = [post(tools, "bash", command=f"echo told {number}")[1]["approvalId"] for number in range(3)]
    other.post(f"/v1/approvals/{asked[0]}/approve")
    assert post(tools, "bash", command="echo told 0")[0] == 200
    other.post(f"/v1/approvals/{asked[1]}/refuse", {"note": "no"})
    told = [(event["kind"], event["detail"]["id"]) for event in api.get("/v1/events?kind=approval.*&last=1000")["items"]]
    for number, kinds in enumerate((["pending", "approved", "used"], ["pending", "refused"], ["pending"])):
        assert [kind for kind, id in told if id == asked[number]] == [f"approval.{kind}" for kind in kinds]
    one = api.get(f"/v1/approvals/{asked[0]}")
    assert one["inputObject"] == {"command": "echo told 0"} == json.loads(one["input"])
    assert one["keyName"] and one["decidedByName"] and one["decidedBy"] != one["keyId"]
    first = api.get("/v1/approvals?state=any&limit=2")
    second = api.get(f"/v1/approvals?state=any&limit=2&page={first['next_page']}")
    ids = [item["id"] for item in first["items"] + second["items"]]
    assert len(first["items"]) == 2 and len(set(ids)) == len(ids) and set(asked) <= set(ids)


def test_an_approval_is_of_one_sandbox_and_one_key(api, box, config, other):
    name = config(permissionMode="ask")
    tools = Tools(api, sandboxId=box, config=name)
    asked = post(tools, "write", path="a.txt", content="x")[1]
    other.post(f"/v1/approvals/{asked['approvalId']}/approve")
    assert post(Tools(other, sandboxId=box, config=name), "write", path="a.txt", content="x")[0] == 202
    with api.sandbox(internet=False) as second:
        assert post(Tools(api, sandboxId=second, config=name), "write", path="a.txt", content="x")[0] == 202
    assert post(tools, "write", path="a.txt", content="y")[0] == 202
    assert post(tools, "write", path="a.txt", content="x")[0] == 200


def test_a_call_that_waits_goes_on_when_it_is_approved_or_refused(api, box, config, other, server):
    name = config(permissionMode="ask")
    got = []

    def call(**arguments):
        own = server.api()
        got.append(post(Tools(own, sandboxId=box, config=name), "bash", wait=20000, **arguments))
        own.close()

    def pending(command):
        items = [item for item in other.get("/v1/approvals")["items"] if command in item["input"]]
        return items and items[0]["id"]
    for verdict, note in (("approve", ""), ("refuse", "not today")):
        thread = threading.Thread(target=call, kwargs={"command": f"echo {verdict}-it"})
        thread.start()
        found = atoll.wait_for(lambda: pending(f"{verdict}-it"), what="the pending call")
        other.post(f"/v1/approvals/{found}/{verdict}", {"note": note})
        thread.join(60)
    assert got[0][0] == 200 and got[0][1]["content"][0]["text"] == "approve-it\n"
    assert got[1][0] == 403 and "refused: not today" in got[1][1]["error"]["message"]


def test_edit_mode_lets_edits_through_and_asks_for_commands(api, box, config):
    tools = Tools(api, sandboxId=box, config=config(permissionMode="edit"))
    tools.call("write", path="free.txt", content="one")
    tools.call("edit", path="free.txt", old_string="one", new_string="two")
    assert post(tools, "bash", command="true")[0] == 202
    assert post(tools, "rollback", snapshot="x")[0] == 202
    bypass = Tools(api, sandboxId=box, config=config(permissionMode="bypass"))
    assert post(bypass, "bash", command="cat free.txt")[0] == 200
    # Nobody is asked; where a command leads is looked at all the same.
    assert post(bypass, "bash", command="cat /etc/hostname")[0] == 403
    assert post(Tools(api, sandboxId=box), "bash", command="cat /etc/hostname")[0] == 200


def test_a_guarded_command_stays_in_the_workspace_and_to_its_runtimes(api, box, config):
    name = config(permissionMode="edit", runtimes=["bash", "node"], timeout=3, outputLimitBytes=2048)
    tools = Tools(api, sandboxId=box, config=name)
    for command in ("cat /etc/passwd", "cat ../x", "find / -name x", "python3 -c 1", "bash -c 'cd ..'"):
        refused = tools.refused("bash", command=command)
        assert refused.status == 403 and "best effort" in refused.hint, command
    assert tools.refused("run_code", code="1").status == 403
    assert tools.refused("run_code", language="bash", code="cat /etc/passwd").status == 403
    assert "3000" in tools.refused("bash", command="true", timeout_ms=4000).message
    free = Tools(api, sandboxId=box, config=config(runtimes=["bash"], outputLimitBytes=2048))
    done = free.call("bash", command="seq 1 100000")
    assert done["structuredContent"]["truncated"] and len(done["content"][0]["text"]) < 2300
    described = {tool["name"]: tool for tool in api.get(f"/v1/tools?config={name}")["tools"]}["bash"]["description"]
    assert "bash, node (advisory)" in described and "best effort" in described


def test_a_sandbox_brings_the_guard_of_its_config(api, config):
    name = config(permissionMode="ask")
    made = api.create(internet=False, config=name)
    try:
        assert post(Tools(api, sandboxId=made["id"]), "bash", command="true")[0] == 202
    finally:
        api.remove(made["id"])
    with pytest.raises(ApiError) as missing:
        Tools(api, lease="guard:none", config="no-such-config").call("bash", command="true")
    assert missing.value.status == 404


def test_approvals_have_their_bounds(api, other):
    with pytest.raises(ApiError) as missing:
        api.get("/v1/approvals/nosuch")
    assert missing.value.status == 404
    with pytest.raises(ApiError) as state:
        api.get("/v1/approvals?state=maybe")
    assert state.value.status == 400
    reader = api.post("/api/sandbox/keys", {"name": f"reader-{os.getpid()}", "scopes": ["sandbox:read"]})
    with pytest.raises(ApiError) as refused:
        api.clone(reader["key"]).post("/v1/approvals/x/approve")
    assert refused.value.status == 403
    api.delete(f"/api/sandbox/keys/{reader['id']}")


# ---- skills ----


def files(**contents):
    return [{"path": path.replace("__", "/").replace("_", "."), "content": base64.b64encode(content).decode()}
            for path, content in contents.items()]


def test_a_skill_is_kept_and_loaded(api, tools):
    bundle = files(SKILL_md=b"# How to greet", scripts__greet_sh=b"echo hello $1\n", data_bin=bytes(range(256)))
    kept = api.call("PUT", "/v1/skills/greeting", {"description": "says hello", "files": bundle})
    try:
        assert kept["files"] == 3 and kept["name"] == "greeting"
        assert "greeting" in [item["name"] for item in api.get("/v1/skills")["items"]]
        loaded = tools.call("load_skill", name="greeting")
        assert loaded["content"][1]["text"] == "# How to greet"
        assert loaded["structuredContent"]["folder"] == ".claude/skills/greeting"
        assert tools.text("bash", command="sh .claude/skills/greeting/scripts/greet.sh you") == "hello you\n"
        assert tools.text("bash", command="wc -c < .claude/skills/greeting/data.bin").strip() == "256"
        api.call("PUT", "/v1/skills/greeting", {"files": files(SKILL_md=b"second")})
        assert tools.call("load_skill", name="greeting")["content"][1]["text"] == "second"
    finally:
        api.delete("/v1/skills/greeting")
    assert tools.refused("load_skill", name="greeting").status == 404
    with pytest.raises(ApiError) as missing:
        api.delete("/v1/skills/greeting")
    assert missing.value.status == 404


@pytest.mark.parametrize("name, bundle, status", [
    ("Bad.Name", files(SKILL_md=b"x"), 400), ("no-main", files(other_md=b"x"), 400), ("empty", [], 400),
    ("out", [{"path": "../x", "content": ""}, *files(SKILL_md=b"x")], 400),
    ("absolute", [{"path": "/etc/x", "content": ""}, *files(SKILL_md=b"x")], 400),
    ("twice", files(SKILL_md=b"x") * 2, 400), ("base64", [{"path": "SKILL.md", "content": "###"}], 400),
    ("large", files(SKILL_md=b"x" * (2 * 1024 * 1024 + 1)), 413),
    ("many", [{"path": f"f{n}", "content": ""} for n in range(201)], 400)])
def test_a_skill_has_its_bounds(api, name, bundle, status):
    with pytest.raises(ApiError) as refused:
        api.call("PUT", f"/v1/skills/{name}", {"files": bundle})
    assert refused.value.status == status


# ---- from a shell ----


def cli(server, api, *words, **more):
    environment = {**os.environ, "ATOLL_API_URL": f"http://127.0.0.1:{server.port}", "ATOLL_API_KEY": api.key}
    return subprocess.run([atoll.ATOLL, *words], capture_output=True, text=True, timeout=60, env=environment, **more)


def test_atoll_approval_lists_and_decides(api, server, box, config, other):
    tools = Tools(api, sandboxId=box, config=config(permissionMode="ask"),
                  origin={"type": "github", "repository": "octo/cat", "issue": "7"})
    asked = [post(tools, "bash", command=f"printf '\\033[2J' > {name}")[1]["approvalId"] for name in ("one", "two")]
    listed = cli(server, api, "approval", "ls").stdout
    assert all(id in listed for id in asked) and "\x1b" not in listed and "pending" in listed
    assert "github octo/cat 7" in listed
    done = cli(server, api, "approval", "approve", asked[0])
    assert done.returncode != 0 and "cannot approve" in done.stderr
    done = cli(server, other, "approval", "approve", "--note", "go on", asked[0])
    assert done.returncode == 0 and done.stdout == "approved\n"
    assert post(tools, "bash", command="printf '\\033[2J' > one")[0] == 200
    done = cli(server, other, "--json", "approval", "refuse", asked[1])
    assert json.loads(done.stdout)["state"] == "refused"
    states = {one["id"]: one["state"] for one in json.loads(cli(server, api, "--json", "approval", "ls", "--state", "any").stdout)}
    assert (states[asked[0]], states[asked[1]]) == ("used", "refused")
    for words in (("ls", "--state", "maybe"), ("approve", "nosuch"), ("refuse",)):
        assert cli(server, api, "approval", *words).returncode not in (0, 139), words


def test_atoll_skill_adds_lists_and_removes(api, server, box, tmp_path):
    folder = tmp_path / f"cli-skill-{os.getpid()}"
    (folder / "scripts").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / ".git/config").write_text("not of it")
    (folder / "SKILL.md").write_text("---\nname: x\ndescription:  when a shell has to add \n---\nDo it.\n")
    (folder / "scripts/run.bin").write_bytes(b"\0\xff")
    done = cli(server, api, "skill", "add", str(folder))
    assert done.returncode == 0 and done.stdout == f"{folder.name}: 2 files\n", done.stderr
    listed = cli(server, api, "skill", "ls").stdout
    assert folder.name in listed and "when a shell has to add" in listed
    result = Tools(api, sandboxId=box).call("load_skill", name=folder.name)
    assert result["content"][1]["text"].endswith("Do it.\n")
    assert api.read(box, f".claude/skills/{folder.name}/scripts/run.bin") == b"\0\xff"
    assert cli(server, api, "skill", "add", "--name", "other-name", "--description", "mine", ".", cwd=folder).returncode == 0
    (folder / "link").symlink_to("/etc/passwd")
    done = cli(server, api, "skill", "add", str(folder))
    assert done.returncode != 0 and "neither a file nor a folder" in done.stderr
    for words, said in (((str(tmp_path / "missing"),), "missing"), ((str(tmp_path),), "neither"),
                        (("--name", "No Good", str(folder / "scripts")), "SKILL.md")):
        done = cli(server, api, "skill", "add", *words)
        assert done.returncode not in (0, 139) and said in done.stderr, (words, done.stderr)
    assert cli(server, api, "skill", "rm", folder.name, "other-name").returncode == 0
    assert folder.name not in cli(server, api, "skill", "ls").stdout
