# SPDX-License-Identifier: Apache-2.0
"""What a build makes of many steps, once its layers are merged; and what is refused before anything is ended."""

import os

import pytest

import atoll
from test_template_build import builder, run  # noqa: F401 (a fixture)
from test_flatten import LONG, chain

pytestmark = pytest.mark.needs_root
INSTANCES = "/api/sandbox/instances"
STEPS = 20
LOOK = "cd /opt/t && ls | sort -V | tr '\\n' ' '; cat last; stat -c '%a %U' last; ls dir"


def step(i):
    """Files that come, change and go, and a folder that is replaced."""
    return run(f"mkdir -p /opt/t; cd /opt/t; echo {i} > f{i}; rm -f f{i - 3}; echo {i} > last; chmod {600 + i % 2 * 40} last; "
               f"rm -rf dir; mkdir dir; echo > dir/{i}", user="root")


def expected(count):
    names = [f"f{i}" for i in range(count - 3, count)]
    return f"dir {' '.join(names)} last \n".strip() + f" {count - 1}\n{600 + (count - 1) % 2 * 40} root\n{count - 1}\n"


def look(api, template):
    with api.sandbox(internet=False, template=template) as box:
        done = api.exec(box, LOOK, user="root")
        return done["stdout"], box


def short(server, layers_before):
    """All chains of layers that have come since."""
    new = set(os.listdir(server.data / "snapshots")) - layers_before
    return all(len(chain(server, layer, "snapshots")) <= LONG + 1 for layer in new)


def test_a_template_of_many_layers_gets_short_and_means_the_same(api, builder, server):  # noqa: F811
    before = set(os.listdir(server.data / "snapshots"))
    done = builder.build("tall", *[step(i) for i in range(STEPS)])
    assert done["status"] == "ready" and done["cached_count"] == 0, done
    assert look(api, "tall")[0] == expected(STEPS)
    atoll.wait_for(lambda: short(server, before), 20, "short chains")
    box = api.create(internet=False, template="tall", persistent=True)["id"]
    try:
        assert api.exec(box, LOOK, user="root")["stdout"] == expected(STEPS)
        assert len(chain(server, box)) <= LONG + 1
        # Each step's layer is there as it was: one more step, and another end, from the middle.
        longer = builder.build("taller", *[step(i) for i in range(STEPS + 1)])
        assert longer["status"] == "ready" and longer["cached_count"] == STEPS, longer
        assert look(api, "taller")[0] == expected(STEPS + 1)
        half = builder.build("half", *[step(i) for i in range(STEPS // 2)], run("echo other > /opt/t/last", user="root"))
        assert half["status"] == "ready" and half["cached_count"] == STEPS // 2, half
        assert "other" in look(api, "half")[0] and f"f{STEPS // 2 - 1}" in look(api, "half")[0]
        # What is built on a built one has its files, too; and layers that others need outlive their templates.
        above = builder.build("above", run("echo above > /opt/t/above", user="root"), **{"from": "tall"})
        assert above["status"] == "ready", above
        for name in ("taller", "half"):
            api.delete(f"/api/sandbox/templates/{name}")
        assert "above" in look(api, "above")[0]
        assert api.exec(box, LOOK, user="root")["stdout"] == expected(STEPS)
        api.exec(box, "echo mine > /opt/t/mine", user="root")
        api.post(f"{INSTANCES}/{box}/reset")
        assert api.exec(box, LOOK, user="root")["stdout"] == expected(STEPS)
    finally:
        api.remove(box)


def test_what_cannot_be_reset_or_restored_goes_on_undisturbed():
    """A sandbox with a disk of its own has no layers: nothing of it ends for a call that must fail."""
    server = atoll.Server(flags=["--disk-quota", "on"]).start()
    try:
        api = server.api()
        made = api.create(internet=False, persistent=True, resources={"disk_mb": 64})
        if made["resources"]["disk_advisory"]:
            pytest.skip("this host has no loop devices: no sandbox has a disk of its own")
        box = made["id"]
        api.exec(box, "(exec sleep 1000) >/dev/null 2>&1 & echo $! > /tmp/pid")
        before = api.get(f"/v1/events?sandbox={box}")["items"]
        with pytest.raises(atoll.ApiError) as refused:
            api.post(f"{INSTANCES}/{box}/reset")
        assert refused.value.status == 501 and "disk of its own" in refused.value.message
        assert api.exec(box, "kill -0 $(cat /tmp/pid)")["exit_code"] == 0
        assert api.get(f"/v1/events?sandbox={box}")["items"] == before
        api.remove(box)
    finally:
        server.remove_all()
