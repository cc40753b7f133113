# SPDX-License-Identifier: Apache-2.0
"""What a tool answers obeys the outputSchema that it lists: a client of the protocol refuses a result that does not."""

import base64

import pytest

import atoll
from test_mcp import Mcp

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
LOWER = {"minLength": len, "minItems": len, "minProperties": len}
UPPER = {"maxLength": len, "maxItems": len, "maxProperties": len}
# Words that limit no value, and those that are looked at below.
KNOWN = {"description", "examples", "format", "contentEncoding", "writeOnly", "x-omitted-when-empty", "type", "enum", "minimum",
         "maximum", "anyOf", "allOf", "items", "properties", "required", "additionalProperties", *LOWER, *UPPER}


def is_of(value, kind):
    if kind in ("integer", "number"):
        return isinstance(value, int if kind == "integer" else (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[kind])


def wrongs(schema, value, path="$"):
    """Why the value does not obey the schema, as far as this server's schemas go; a word that is not known here is a wrong."""
    found = [f"{path}: no rule for {word}" for word in schema.keys() - KNOWN]
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(is_of(value, kind) for kind in kinds):
        return [*found, f"{path}: {value!r} is not {kinds}"]
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{path}: {value!r} is not of {schema['enum']}")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if not schema.get("minimum", value) <= value <= schema.get("maximum", value):
            found.append(f"{path}: {value} is out of bounds")
    for bounds, sign in ((LOWER, 1), (UPPER, -1)):
        for word, size in bounds.items():
            if word in schema and isinstance(value, (str, list, dict)) and sign * (size(value) - schema[word]) < 0:
                found.append(f"{path}: {word}")
    for part in schema.get("allOf", []):
        found += wrongs(part, value, path)
    if "anyOf" in schema and all(wrongs(part, value, path) for part in schema["anyOf"]):
        found.append(f"{path}: none of anyOf")
    if isinstance(value, list):
        found += [wrong for i, item in enumerate(value) for wrong in wrongs(schema.get("items", {}), item, f"{path}[{i}]")]
    if not isinstance(value, dict):
        return found
    found += [f"{path}.{name} is missing" for name in schema.get("required", []) if name not in value]
    for name, item in value.items():
        more = schema.get("additionalProperties", True)
        rule = schema.get("properties", {}).get(name, more)
        if rule is False:
            found.append(f"{path}.{name} is not in the schema")
        elif isinstance(rule, dict):
            found += wrongs(rule, item, f"{path}.{name}")
    return found


def test_the_checker_finds_what_is_wrong():
    schema = {"type": "object", "additionalProperties": False, "required": ["n"], "properties": {
        "n": {"type": "integer", "minimum": 0}, "t": {"type": ["string", "null"], "maxLength": 2},
        "l": {"type": "array", "items": {"enum": ["a"]}}}}
    for good in ({"n": 0}, {"n": 1, "t": None, "l": ["a"]}):
        assert wrongs(schema, good) == [], good
    for bad in ({}, {"n": -1}, {"n": True}, {"n": 1, "t": "abc"}, {"n": 1, "l": ["b"]}, {"n": 1, "x": 1}, []):
        assert wrongs(schema, bad), bad
    assert wrongs({"pattern": "."}, "x")


class Checked:
    """Calls tools, and holds each result against the schema of its tool."""

    def __init__(self, mcp):
        self.mcp, self.called = mcp, set()
        self.tools = {tool["name"]: tool for tool in mcp.new("tools/list")["result"]["tools"]}

    def __call__(self, tool, /, fails=False, **arguments):
        result = self.mcp.call(tool, **arguments)
        assert result["isError"] == fails, result
        if fails:
            # It is for the model to read: a client does not hold it against the schema.
            assert result["content"][0]["text"]
            return None
        self.called.add(tool)
        value = result["structuredContent"]
        assert wrongs(self.tools[tool]["outputSchema"], value) == [], (tool, value)
        return value


@pytest.fixture
def checked(api):
    with api.sandbox(internet=True) as box:
        yield Checked(Mcp(api, f"/mcp?sandbox={box}"))


def test_a_command_that_runs_has_ended_or_failed_obeys_the_schema(checked):
    assert checked("bash", command="echo out")["exit_code"] == 0
    assert checked("bash", command="kill -9 $$")["exit_code"] == 137
    assert checked("bash", command="sleep 60", timeout_ms=200)["timed_out"]
    checked("bash", fails=True, command="true", timeout_ms=-1)

    begun = checked("bash", command="while [ ! -e go ]; do sleep 0.1; done; exit 3", background=True)
    job = begun["resultId"]
    assert begun["exit_code"] == -1
    for action in ("status", "logs"):
        told = checked("async_status", resultId=job, action=action)
        assert told["status"] == "running" and told["exit_code"] == -1
    checked("write", path="go", content="")
    told = atoll.wait_for(lambda: (lambda t: t["status"] != "running" and t)(checked("async_status", resultId=job)))
    assert told["status"] == "failed" and told["exit_code"] == 3
    job = checked("bash", command="sleep 1000", background=True)["resultId"]
    assert checked("async_status", resultId=job, action="stop")["status"] == "stopped"
    checked("async_status", fails=True, resultId="nosuchjob")

    left = checked("execute_command", command="echo begun; sleep 1000", wait_ms=500)
    assert left["running"] and left["exit_code"] == -1
    assert "begun" in checked("terminal_operator")["screen"]
    assert checked("execute_command", command="(exit 4)")["exit_code"] == 4
    assert checked("execute_command", command="exit 5")["closed"]
    checked("execute_command", fails=True, command="echo 'open")


def test_every_tool_obeys_its_schema(checked, api):
    taken = checked("snapshot")["snapshot"]
    made = checked("create_sandbox", internet=False)["sandbox"]
    skill = [{"path": "SKILL.md", "content": base64.b64encode(b"# How").decode()}]
    api.call("PUT", "/v1/skills/by-schema", {"files": skill})
    try:
        checked("list_sandboxes")
        checked("delete_sandbox", sandbox=made)
        checked("load_skill", name="by-schema")
        checked("rollback", snapshot=taken)
    finally:
        api.delete("/v1/skills/by-schema")
        api.delete(f"/api/sandbox/snapshots/{taken}")
    checked("write", path="a.txt", content="one\ntwo\n")
    checked("write", path="empty.txt", content="")
    checked("read", path="a.txt")
    checked("read", path="a.txt", limit=1)
    checked("read", path="empty.txt")
    checked("edit", path="a.txt", old_string="two", new_string="three")
    checked("edit", fails=True, path="a.txt", old_string="four", new_string="five")
    for pattern in ("*.txt", "*.none"):
        checked("glob", pattern=pattern)
    for mode in ("content", "files_with_matches", "count"):
        checked("grep", pattern="one", output_mode=mode)
    checked("grep", pattern="nowhere")
    checked("list_files")
    checked("preview_url", port=8000)
    checked("request_access", fails=True, host="10.0.0.7")
    checked("list_credentials", all=True)
    checked("activate_credential", fails=True, name="none")
    checked("bash", command="mkdir out; echo 1 > out/kept.txt", artifacts="out")
    checked("execute_command", command="true")
    checked("terminal_operator")
    checked("run_code", language="bash", code="echo out; false")
    checked("run_code", language="python", code="6 * 7")
    checked("run_code", language="python", code="1 / 0")
    checked("async_status", resultId=checked("bash", command="true", background=True)["resultId"])
    # They need a network; test_egress_decisions.py and test_credential_rules.py call them.
    assert checked.called | {"request_access", "activate_credential"} == checked.tools.keys()
