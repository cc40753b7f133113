# SPDX-License-Identifier: Apache-2.0
"""What makes a sandbox a second time makes it from the full specification of the first (docs/use/lifecycle.md)."""

import os
import pathlib
import signal

import pytest

import atoll

pytestmark = pytest.mark.needs_root
INSTANCES = "/api/sandbox/instances"
SNAPSHOTS = "/api/sandbox/snapshots"
FIELDS = ("template", "network", "egress", "labels", "persistent", "idle_reap_ms", "lifetime_max_ms",
          "auto_pause_ms", "auto_stop_ms", "region")
SPEC = {"template": "host", "internet": True, "egress": {"deny": ["10.0.0.0/8"]}, "env": {"TOKEN": "hunter2"},
        "labels": {"team": "a"}, "resources": {"cpu": 1, "memory_mb": 96, "pids": 77}, "persistent": True,
        "autoPauseMs": 1234000, "lifetime_max_ms": 99000000}
SEEN = "echo $TOKEN; id -un; pwd; nproc; cat /data/note 2>/dev/null; (: > /data/new) 2>/dev/null && echo written; cat /sys/fs/cgroup/memory.max 2>/dev/null || true"


def what_it_is(api, box):
    """What its row says, and what a command sees."""
    row = api.get(f"{INSTANCES}/{box}")
    told = {"volumes": [(v["volume"], v["path"], v["read_only"]) for v in row["volumes"]]}
    told |= {name: row[name] for name in FIELDS if name in row}
    told["resources"] = {name: row["resources"][name] for name in ("cpu", "memory_mb", "pids", "disk_mb")}
    told["preview"] = {name: row["preview"][name] for name in ("enabled", "public")}
    told["seen"] = api.exec(box, SEEN)["stdout"]
    return told


@pytest.fixture(scope="module")
def volume(server):
    """With a file in it; the sandboxes of the tests read it."""
    api = server.api()
    name = f"again-{os.getpid()}"
    api.post("/api/sandbox/volumes", {"name": name})
    with api.sandbox(template="host", internet=False, volumes=[{"volume": name, "path": "/data"}]) as writer:
        api.exec(writer, "echo of the volume > /data/note", user="root")
    yield name
    api.delete(f"/api/sandbox/volumes/{name}")


@pytest.fixture
def box(api, volume):
    made = api.create(**SPEC, volumes=[{"volume": volume, "path": "/data", "read_only": True}])["id"]
    api.call("PATCH", f"{INSTANCES}/{made}/preview", {"enabled": False})
    rows = [made]
    yield rows
    for one in rows:
        try:
            api.remove(one)
        except atoll.ApiError:
            pass


def stop_and_start(api, server, rows):
    api.post(f"{INSTANCES}/{rows[0]}/stop")
    api.post(f"{INSTANCES}/{rows[0]}/start")


def stop_and_use(api, server, rows):
    api.post(f"{INSTANCES}/{rows[0]}/stop")
    api.call("PUT", f"/daytona/api/sandbox/{rows[0]}/labels", {"labels": SPEC["labels"]})
    api.post(f"{INSTANCES}/{rows[0]}/start")


def reset(api, server, rows):
    api.post(f"{INSTANCES}/{rows[0]}/reset")


def resume_of_e2b(api, server, rows):
    api.post(f"/sandboxes/{rows[0]}/pause")
    api.post(f"/sandboxes/{rows[0]}/connect", {"timeout": 600})


def pause_without_memory_of_e2b(api, server, rows):
    api.post(f"/sandboxes/{rows[0]}/pause", {"memory": False})
    api.post(f"/sandboxes/{rows[0]}/connect", {"timeout": 600})


def start_of_daytona(api, server, rows):
    api.post(f"/daytona/api/sandbox/{rows[0]}/stop")
    api.post(f"/daytona/api/sandbox/{rows[0]}/start")


def archive_and_start(api, server, rows):
    api.post(f"{INSTANCES}/{rows[0]}/stop")
    api.post(f"{INSTANCES}/{rows[0]}/archive")
    atoll.wait_for(lambda: api.get(f"{INSTANCES}/{rows[0]}")["state"] == "archived", 30, "the archive")
    api.post(f"{INSTANCES}/{rows[0]}/start")


def death_of_its_agent(api, server, rows):
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    state = (server.data / "run" / "sandboxes" / rows[0] / "state").read_text()
    os.kill(int(state.split(boot, 1)[1].split()[0]), signal.SIGKILL)
    atoll.wait_for(lambda: api.get(f"{INSTANCES}/{rows[0]}")["state"] == "stopped", 30, "its end is known")
    api.post(f"{INSTANCES}/{rows[0]}/start")


def restore_of_a_snapshot(api, server, rows):
    taken = api.post(f"{INSTANCES}/{rows[0]}/snapshot", {"sync": False})["id"]
    api.post(f"{SNAPSHOTS}/{taken}/restore")
    rows.append(rows[0])


def fork(api, server, rows):
    made = api.post(f"{INSTANCES}/{rows[0]}/fork", {"count": 1})
    rows.append(made["items"][0]["id"])


def restore_of_one_that_is_gone(api, server, rows):
    taken = api.post(f"{INSTANCES}/{rows[0]}/snapshot", {"sync": False})["id"]
    api.remove(rows[0])
    rows.append(api.post(f"{SNAPSHOTS}/{taken}/restore")["id"])


def undelete_and_start(api, server, rows):
    api.delete(f"{INSTANCES}/{rows[0]}?keep=true")
    api.post(f"{INSTANCES}/{rows[0]}/undelete")
    api.post(f"{INSTANCES}/{rows[0]}/start")


# Of a sandbox that is gone nobody holds the volumes: they may be others' by now.
WITHOUT_VOLUMES = (restore_of_one_that_is_gone,)
WAYS = [undelete_and_start, stop_and_start, stop_and_use, reset, resume_of_e2b, pause_without_memory_of_e2b, start_of_daytona, archive_and_start,
        death_of_its_agent, restore_of_a_snapshot, fork, restore_of_one_that_is_gone]


@pytest.mark.parametrize("way", WAYS)
def test_it_is_made_again_as_it_was(server, api, box, way):
    before = what_it_is(api, box[0])
    assert "hunter2" in before["seen"] and before["egress"]["deny"] == ["10.0.0.0/8"] and not before["preview"]["enabled"]
    way(api, server, box)
    after = what_it_is(api, box[-1])
    if way in WITHOUT_VOLUMES:
        for told in (before, after):
            del told["volumes"]
            told["seen"] = told["seen"].replace("of the volume\n", "")
    else:
        assert before["volumes"] and "of the volume" in before["seen"] and "written" not in after["seen"]
    assert after == before
