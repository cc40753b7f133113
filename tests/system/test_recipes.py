# SPDX-License-Identifier: Apache-2.0
"""Recipes: templates on another one's root filesystem, what they give, how they change and go."""

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/templates"
RECIPE = {"from": "host", "description": "a server", "env": {"MODE": "test"}, "ports": [3000], "user": "1000",
          "workdir": "/tmp", "entrypoint": ["/bin/sleep", "1000"],
          "resources": {"cpu": 0.25, "memory_mb": 128, "disk_mb": 256, "pids": 64}}


@pytest.fixture
def recipe(api):
    made = api.post(PATH, {"name": "recipe", **RECIPE})
    yield made
    api.delete(f"{PATH}/recipe")


def change(api, name, body):
    return api.call("PATCH", f"{PATH}/{name}", body)


def test_a_recipe_is_told_as_it_was_given(api, recipe):
    shown = api.get(f"{PATH}/recipe")
    for member in ("description", "env", "ports", "user", "workdir", "entrypoint", "resources"):
        assert shown[member] == RECIPE[member], member
    assert shown["base_image"] == "host" and shown["state"] == "ready"
    assert shown == recipe


def test_a_sandbox_has_what_the_recipe_gives(api, recipe):
    with api.sandbox(template="recipe", internet=False) as sandbox:
        assert api.exec(sandbox, "echo $MODE; pwd; id -u")["stdout"] == "test\n/tmp\n1000\n"
        limits = api.get(f"/api/sandbox/instances/{sandbox}")["resources"]
        assert {name: limits[name] for name in RECIPE["resources"]} == RECIPE["resources"]


def test_a_change_leaves_what_it_does_not_name(api, recipe):
    changed = change(api, "recipe", {"env": {"MODE": "changed"}, "ports": []})
    assert changed["ports"] == [] and changed["workdir"] == "/tmp"
    with api.sandbox(template="recipe", internet=False) as sandbox:
        assert api.exec(sandbox, "echo $MODE")["stdout"] == "changed\n"


@pytest.mark.parametrize("bad, word", [
    ({"ports": [0]}, "ports"), ({"ports": [65536]}, "ports"), ({"ports": ["80"]}, "ports"), ({"ports": {}}, "ports"),
    ({"ports": [80] * 65}, "ports"), ({"env": {"A=B": "c"}}, "A=B"), ({"workdir": "relative"}, "workdir"),
    ({"workdir": "/a/../b"}, "workdir"), ({"isolation": "microvm"}, "isolation"), ({"entrypoint": [""]}, "entrypoint"),
    ({"resources": {"cpu": -1}}, "cpu"), ({"user": "a b"}, "user"), ({"image": "debian"}, "image"), ({"no": 1}, "no")])
def test_a_bad_recipe_is_refused_and_leaves_nothing(api, bad, word):
    with pytest.raises(atoll.ApiError) as failure:
        api.post(PATH, {"name": "bad", "from": "host", **bad})
    assert 400 <= failure.value.status < 502 and word in failure.value.message
    assert "bad" not in {t["name"] for t in api.get(PATH)["items"]}


def test_what_is_not_there_cannot_be_shared(api):
    with pytest.raises(atoll.ApiError) as failure:
        api.post(PATH, {"name": "orphan", "from": "no-such"})
    assert failure.value.status == 404
    with pytest.raises(atoll.ApiError) as failure:
        api.post(PATH, {"name": "orphan"})
    assert failure.value.status == 400
