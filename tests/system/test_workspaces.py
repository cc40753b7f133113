# SPDX-License-Identifier: Apache-2.0
"""Workspaces: files that sandboxes and calls share by a name, and that outlive them."""

import concurrent.futures
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
INSTANCES = "/api/sandbox/instances"
WORKSPACES = "/v1/workspaces"


@pytest.fixture
def workspace(api, request):
    name = "w-" + request.node.name[5:45].replace("_", "-").strip("-[]")
    yield name
    for row in api.get(WORKSPACES)["items"]:
        if row["name"] == name:
            for sandbox in row["sandboxes"]:
                api.remove(sandbox)
            api.delete(f"{WORKSPACES}/{name}")


def make(api, workspace, **options):
    return api.post(INSTANCES, {"template": "host", "workspace": workspace, **options})["id"]


def refused(status, call, *arguments, **options):
    with pytest.raises(atoll.ApiError) as refusal:
        call(*arguments, **options)
    assert refusal.value.status == status, refusal.value
    return str(refusal.value)


def test_files_outlive_their_sandboxes_and_commands_begin_there(api, workspace):
    first = make(api, workspace)
    assert api.exec(first, "pwd; echo $ATOLL_PROJECT_DIR; echo kept > a.txt")["stdout"].split() == \
        [f"/mnt/workspaces/{workspace}"] * 2
    api.remove(first)
    second = make(api, workspace)
    assert api.exec(second, "cat a.txt")["stdout"] == "kept\n"
    row = api.get(f"{WORKSPACES}/{workspace}")
    assert row["sandboxes"] == [second] and row["volume"] == f"workspace-{workspace}"
    api.remove(second)


def test_two_sandboxes_write_at_once(api, server, workspace):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        boxes = list(pool.map(lambda _: make(server.api(), workspace), range(4)))
    assert sorted(api.get(f"{WORKSPACES}/{workspace}")["sandboxes"]) == sorted(boxes)
    for number, box in enumerate(boxes):
        api.exec(box, f"echo {number} >> all; mkdir -p d; echo {number} > d/{number}")
    for box in boxes:
        assert api.exec(box, "sort all; ls d | wc -l")["stdout"].split() == ["0", "1", "2", "3", "4"]
    assert "attached" in refused(409, api.delete, f"{WORKSPACES}/{workspace}")
    for box in boxes:
        api.remove(box)
    api.delete(f"{WORKSPACES}/{workspace}")
    refused(404, api.get, f"{WORKSPACES}/{workspace}")


@pytest.mark.parametrize("name", ["../up", "a/b", ".", "", "-a", "x" * 54, "ü"])
def test_names_are_checked(api, name):
    refused(400, make, api, name)
    assert all(row["name"] != name for row in api.get(WORKSPACES)["items"])


def test_a_root_is_checked_and_an_ordinary_volume_is_no_workspace(api, workspace):
    refused(400, make, api, workspace, workspaceRoot="/etc")
    refused(400, make, api, workspace, workspaceRoot="/mnt/../etc")
    assert "workspaceRoot" in refused(400, api.post, INSTANCES, {"template": "host", "workspaceRoot": "/mnt/w"})
    box = make(api, workspace, workspaceRoot="/data/shared")
    assert api.exec(box, "pwd")["stdout"] == f"/data/shared/{workspace}\n"
    api.remove(box)
    api.post("/api/sandbox/volumes", {"name": "workspace-plain"})
    try:
        assert "workspace-plain" in refused(409, make, api, "plain")
        refused(404, api.delete, f"{WORKSPACES}/plain")
    finally:
        api.delete("/api/sandbox/volumes/workspace-plain")


def test_projects_do_not_share(api, server, workspace):
    project = api.post("/v1/projects", {"name": f"apart-{time.time_ns()}"})["id"]
    other = server.api(api.call("POST", "/api/sandbox/keys", {"name": "apart"}, {"X-Atoll-Project": project})["key"])
    box = make(api, workspace)
    api.exec(box, "echo mine > a")
    theirs = other.post(INSTANCES, {"template": "host", "workspace": workspace})["id"]
    assert other.exec(theirs, "ls -A")["stdout"] == ""
    assert [row["sandboxes"] for row in other.get(WORKSPACES)["items"]] == [[theirs]]
    other.remove(theirs)
    other.delete(f"{WORKSPACES}/{workspace}")
    api.delete(f"/v1/projects/{project}?force=true")
    assert api.exec(box, "cat a")["stdout"] == "mine\n"
    api.remove(box)


def test_a_lease_keeps_its_workspace(api, workspace):
    key = f"of-{workspace}"
    first = api.post("/v1/leases/acquire", {"key": key, "template": "host", "workspace": workspace})["sandbox_id"]
    api.exec(first, "echo 1 > a")
    api.remove(first)
    assert api.post(f"/v1/leases/{key}/exec", {"command": "cat a; pwd"})["stdout"].split() == \
        ["1", f"/mnt/workspaces/{workspace}"]
    api.delete(f"/v1/leases/{key}")


def test_a_config_says_where_workspaces_are(api, workspace):
    api.post("/accounts/me/sandboxes", {"name": "rooted", "config": {"options": {"workspaceRoot": "/w"}}})
    try:
        box = make(api, workspace, config="rooted")
        assert api.exec(box, "pwd")["stdout"] == f"/w/{workspace}\n"
        api.remove(box)
    finally:
        api.delete("/accounts/me/sandboxes/rooted")
