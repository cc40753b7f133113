# SPDX-License-Identifier: Apache-2.0
"""The agent tools over HTTP: /v1/tools."""

import base64
import json

import pytest

from atoll import ApiError

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


class Tools:
    """Calls of one sandbox."""

    def __init__(self, api, **target):
        self.api, self.target = api, target

    def call(self, name, **arguments):
        return self.api.post(f"/v1/tools/{name}", {**self.target, "input": arguments})

    def text(self, name, **arguments):
        return self.call(name, **arguments)["content"][0]["text"]

    def refused(self, name, **arguments):
        with pytest.raises(ApiError) as failed:
            self.call(name, **arguments)
        return failed.value


@pytest.fixture
def tools(api, box):
    return Tools(api, sandboxId=box)


def test_the_list_has_a_schema_for_every_tool(api):
    listed = {tool["name"]: tool for tool in api.get("/v1/tools")["tools"]}
    assert {"bash", "read"} <= listed.keys()
    for tool in listed.values():
        assert tool["description"] and tool["inputSchema"]["type"] == "object"
        assert "$ref" not in json.dumps(tool), "a schema has to stand by itself"
    assert listed["read"]["annotations"]["readOnlyHint"] is True
    assert listed["bash"]["annotations"]["destructiveHint"] is True
    assert listed["bash"]["inputSchema"]["required"] == ["command"]


def test_bash_tells_both_streams_and_the_exit_code(tools):
    done = tools.call("bash", command="echo out; echo err >&2; exit 3")
    assert done["structuredContent"] | {"duration_ms": 0} == {
        "exit_code": 3, "timed_out": False, "duration_ms": 0, "stdout": "out\n", "stderr": "err\n",
        "truncated": False}
    assert sorted(done["content"][0]["text"].splitlines()) == ["[exit code 3]", "err", "out"]
    assert tools.text("bash", command="true") == "[no output]\n"


def test_bash_cuts_the_middle_and_ends_in_time(tools):
    done = tools.call("bash", command="head -c 5000000 /dev/zero | tr '\\0' x; echo; echo last")
    assert done["structuredContent"]["truncated"]
    text = done["content"][0]["text"]
    assert "bytes of output were cut here" in text and text.endswith("last\n") and len(text) < 4000000
    slow = tools.call("bash", command="echo begun; sleep 60", timeout_ms=200)
    assert slow["structuredContent"]["timed_out"]
    assert "begun\n[ended after 200 ms, its time limit]\n" == slow["content"][0]["text"]
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


def test_read_returns_pictures_and_refuses_other_bytes(tools, api, box):
    encoded = base64.b64encode(PNG).decode()
    tools.call("bash", command=f"echo {encoded} | base64 -d > dot.png; printf '%%PDF-1.4 and more bytes\\0' > page.pdf;"
                               "printf 'a\\0b' > data.bin")
    image = tools.call("read", path="dot.png")["content"][0]
    assert image == {"type": "image", "data": encoded, "mimeType": "image/png"}
    page = tools.call("read", path="page.pdf")["content"][0]
    assert page["type"] == "resource" and page["resource"]["mimeType"] == "application/pdf"
    assert base64.b64decode(page["resource"]["blob"]).startswith(b"%PDF-1.4")
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
                         ({"sandboxId": box, "config": "c"}, "config")):
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
