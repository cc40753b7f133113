# SPDX-License-Identifier: Apache-2.0
"""Prompts of the Model Context Protocol, and completion of their arguments and of resource addresses, in both eras."""

import pytest

from test_mcp import Mcp

PATHS = "atoll://sandbox/{sandbox}/files/{+path}"


@pytest.fixture(params=["old", "new"])
def ask(request, api, box):
    """Asks in one of the eras."""
    mcp = Mcp(api, f"/mcp?sandbox={box}")
    if request.param == "old":
        assert {"prompts", "completions"} <= mcp.initialize()["capabilities"].keys()
    else:
        assert {"prompts", "completions"} <= mcp.new("server/discover")["result"]["capabilities"].keys()
    return getattr(mcp, request.param)


def complete(ask, ref, argument, value, **context):
    params = {"ref": ref, "argument": {"name": argument, "value": value}}
    answer = ask("completion/complete", {**params, "context": {"arguments": context}} if context else params)
    return answer["result"]["completion"]


def prompt(name):
    return {"type": "ref/prompt", "name": name}


def resource(uri):
    return {"type": "ref/resource", "uri": uri}


def test_prompts_are_listed_with_their_arguments_and_filled_in(ask):
    listed = {each["name"]: each for each in ask("prompts/list")["result"]["prompts"]}
    assert {"run_script", "set_up_project", "serve_preview", "try_change"} <= listed.keys()
    for name, each in listed.items():
        assert each["title"] and each["description"]
        given = {argument["name"]: f"<{argument['name']}>" for argument in each["arguments"]}
        required = [argument["name"] for argument in each["arguments"] if argument["required"]]
        whole, least = (ask("prompts/get", {"name": name, "arguments": arguments})["result"]
                        for arguments in (given, {key: given[key] for key in required}))
        text, short = (result["messages"][0]["content"]["text"] for result in (whole, least))
        assert whole["messages"][0]["role"] == "user" and whole["description"] == each["description"]
        assert all(value in text for value in given.values()) and "{" not in text + short
        assert all((given[key] in short) == (key in required) for key in given)
        steps = [line.split(".")[0] for line in short.splitlines() if line[0].isdigit()]
        assert steps == [str(number + 1) for number in range(len(steps))], short


@pytest.mark.parametrize("params, word", [
    ({"name": "no_such"}, "prompts/list"), ({}, "prompts/list"), ({"name": "run_script"}, "arguments.path is missing"),
    ({"name": "run_script", "arguments": {"path": ""}}, "arguments.path is missing"),
    ({"name": "run_script", "arguments": {"path": 7}}, "a text"), ({"name": "run_script", "arguments": {"path": "a" * 5000}}, "4096"),
    ({"name": "run_script", "arguments": {"path": "a", "file": "b"}}, "path, arguments, sandbox")])
def test_a_prompt_that_cannot_be_filled_in_is_refused(ask, params, word):
    if "name" not in params:
        params = {"name": ""}
    error = ask("prompts/get", params)["error"]
    assert error["code"] == -32602 and word in error["message"]


def test_arguments_are_completed(ask, api, box):
    api.exec(box, "mkdir -p deep/er && touch deep/one.py deep/one.txt deep/two.py")
    name = api.get(f"/api/sandbox/instances/{box}")["name"]
    assert name in complete(ask, prompt("run_script"), "sandbox", name[:3])["values"]
    assert complete(ask, prompt("run_script"), "sandbox", box) == {"values": [box], "total": 1, "hasMore": False}
    assert "host" in complete(ask, prompt("set_up_project"), "template", "ho")["values"]
    assert complete(ask, prompt("set_up_project"), "revision", "ma") == {"values": [], "total": 0, "hasMore": False}
    assert complete(ask, prompt("run_script"), "path", "dee")["values"] == ["deep/"]
    assert complete(ask, prompt("run_script"), "path", "deep/one")["values"] == ["deep/one.py", "deep/one.txt"]
    assert complete(ask, resource(PATHS), "path", "deep/", sandbox=box)["values"] == ["deep/er/", "deep/one.py", "deep/one.txt", "deep/two.py"]
    assert box in complete(ask, resource("atoll://sandbox/{sandbox}"), "sandbox", box)["values"]
    # What is not there, or not below the workspace, has no completions.
    for wrong in ("nowhere/", "../", "/etc/", "deep/one.py/"):
        assert complete(ask, prompt("run_script"), "path", wrong)["values"] == []
    assert complete(ask, prompt("run_script"), "path", "deep/", sandbox="no-such")["values"] == []


@pytest.mark.parametrize("ref, argument", [
    (prompt("no_such"), "path"), (prompt("run_script"), "no_such"), (resource("atoll://no/such"), "sandbox"),
    (resource("atoll://sandbox/{sandbox}"), "path"), ({"type": "ref/tool", "name": "bash"}, "command"), ({}, "x")])
def test_completion_names_what_it_does_not_know(ask, ref, argument):
    error = ask("completion/complete", {"ref": ref, "argument": {"name": argument, "value": ""}})["error"]
    assert error["code"] == -32602 and error["message"]


def test_a_long_list_is_cut_and_a_paused_sandbox_stays_paused(api):
    with api.sandbox(internet=False) as sandbox:
        ask = Mcp(api, f"/mcp?sandbox={sandbox}").new
        api.exec(sandbox, "mkdir many && cd many && touch $(seq 1 120)")
        found = complete(ask, prompt("run_script"), "path", "many/1")
        assert (len(found["values"]), found["total"], found["hasMore"]) == (32, 32, False)
        found = complete(ask, prompt("run_script"), "path", "many/")
        assert (len(found["values"]), found["total"], found["hasMore"]) == (100, 120, True)
        api.post(f"/api/sandbox/instances/{sandbox}/pause")
        assert complete(ask, prompt("run_script"), "path", "many/")["values"] == []
        assert api.get(f"/api/sandbox/instances/{sandbox}")["state"] == "paused"
