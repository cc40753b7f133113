# SPDX-License-Identifier: Apache-2.0
"""kill -9 at every step of a volume's life: afterwards rows, folders and mounts agree, and what was written is there."""

import contextlib
import http.client
import os
import pathlib
import signal
import sqlite3

import pytest

import atoll
from test_kills import broker_steps, named_steps

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/volumes"
INSTANCES = "/api/sandbox/instances"
# Those of a sandbox with a volume are the same as without, but for one. A folder of one has a test of its own.
BROKER_STEPS = [(program, step) for program, step in broker_steps() if step.startswith("volume-") and step != "volume-part"]
API_STEPS = [step for step in named_steps("fleet", r'fault_point\("api", ') if step.startswith("volume-")]
OTHER_BROKER_STEPS = [("broker", step) for step in ("overlay", "plan", "state", "files", "run-folder", "destroy-files")]
OTHER_API_STEPS = ["create-recorded", "create-made", "start-recorded", "delete-recorded", "delete-destroyed"]
FAILURES = (atoll.ApiError, OSError, http.client.HTTPException)


@contextlib.contextmanager
def attempt(server, seconds=20):
    """Whatever fails is expected to, by an error and not by hanging."""
    api = server.api(timeout=seconds)
    try:
        with contextlib.suppress(*FAILURES):
            yield api
    finally:
        api.close()


def use(server, name, seconds=20):
    volume = f"{PATH}/{name}"
    with attempt(server, seconds) as api:
        api.post(PATH, {"name": name, "size_mb": 16})
    with attempt(server, seconds) as api:
        api.call("PUT", f"{volume}/files/content?path=browsed", "x", {"Content-Type": "application/octet-stream"})
    with attempt(server, seconds) as api:
        made = api.create(internet=False, persistent=True, volume=name)["id"]
        api.exec(made, "echo x > /workspace/written")
        api.delete(f"{INSTANCES}/{made}/volume")
        api.post(f"{INSTANCES}/{made}/volume", {"volume": name})
        api.post(f"{INSTANCES}/{made}/stop")
        api.delete(f"{INSTANCES}/{made}/volume")
        api.post(f"{INSTANCES}/{made}/volume", {"volume": name})
        api.post(f"{INSTANCES}/{made}/start")
        api.remove(made)
    with attempt(server, seconds) as api:
        api.call("PATCH", volume, {"size_mb": 32})
    with attempt(server, seconds) as api:
        api.delete(volume)


def loops_of(server):
    """An image is mounted as long as a sandbox has it, whoever mounted it."""
    found = []
    for file in pathlib.Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):
            if str(server.data) in file.read_text():
                found.append(file)
    return found


def agree(server):
    """Each row is ready and has its folder, and no folder is without a row."""
    api = server.api()
    rows = {row["id"]: row["state"] for row in api.get(PATH)["items"]}
    api.close()
    return set(rows.values()) <= {"ready"} and set(os.listdir(server.data / "volumes")) == set(rows)


def mounts_agree(api, sandbox):
    """What it is said to have is there, and nothing else of the kind."""
    said = {row["path"] for row in api.get(f"{INSTANCES}/{sandbox}/volume")["items"]}
    seen = api.exec(sandbox, "cat /proc/self/mountinfo")["stdout"].splitlines()
    there = {line.split()[4] for line in seen if "/volumes/" in line or " - ext4 /dev/loop" in line}
    return said == there


def clean_after(server):
    # What dies there must not die of what it does to clean up. The sandboxes live on.
    server.environment.pop("ATOLL_FAULT", None)
    server.stop()
    server.start()
    api = server.api()
    for row in api.get(f"{INSTANCES}?limit=1000")["items"]:
        if row["state"] == "started":
            atoll.wait_for(lambda: mounts_agree(api, row["id"]), 15, "mounts and rows agree")
    api.close()
    atoll.wait_for(lambda: agree(server), 15, "rows and folders agree")
    api = server.api()
    for row in api.get(f"{INSTANCES}?limit=1000")["items"]:
        api.remove(row["id"])
    kept = [row["name"] for row in api.get(PATH)["items"]]
    kept = kept or [api.post(PATH, {"name": "after", "size_mb": 16})["name"]]
    for name in kept:
        with api.sandbox(internet=False, volume=name) as sandbox:
            assert api.exec(sandbox, "echo works > /workspace/after && cat /workspace/after")["stdout"] == "works\n"
        assert api.raw("GET", f"{PATH}/{name}/files/content?path=after").body == b"works\n"
        api.delete(f"{PATH}/{name}")
    assert os.listdir(server.data / "volumes") == []
    atoll.wait_for(lambda: not loops_of(server), 30, "no loop device is left")
    atoll.Host(server.data).wait_clean()


def test_the_steps_are_known():
    assert len(BROKER_STEPS) >= 4
    assert len(API_STEPS) >= 5


@pytest.mark.parametrize("program, step", atoll.sample(BROKER_STEPS + OTHER_BROKER_STEPS, BROKER_STEPS[::4]))
def test_the_broker_dies_at_a_step(private_server, program, step):
    private_server.environment["ATOLL_FAULT"] = f"{program}:{step}:kill"
    private_server.start()
    for turn in range(2):
        use(private_server, f"volume-{turn}")
    clean_after(private_server)


@pytest.mark.parametrize("step", atoll.sample(API_STEPS + OTHER_API_STEPS, API_STEPS[::3]))
def test_the_api_process_dies_at_a_step(private_server, step):
    private_server.environment["ATOLL_FAULT"] = f"api:{step}:kill"
    private_server.start()
    # What dies at a step of recovery, too, dies again and again: nobody waits long for that.
    use(private_server, "volume", seconds=3)
    clean_after(private_server)


def test_what_was_written_is_there_after_everything_was_killed(private_server):
    private_server.start()
    api = private_server.api()
    api.post(PATH, {"name": "kept", "size_mb": 16})
    sandbox = api.create(internet=False, volume="kept", persistent=True)["id"]
    api.exec(sandbox, "echo precious > /workspace/file; sync")
    agent = int((private_server.data / "run" / "sandboxes" / sandbox / "state").read_text().split()[2])
    for pid in [private_server.process.pid, *private_server.descendants(), agent]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    private_server.process.wait()
    private_server.start()
    api = private_server.api()
    atoll.wait_for(lambda: api.get(f"{INSTANCES}/{sandbox}")["state"] == "stopped", 30, "the loss is seen")
    api.post(f"{INSTANCES}/{sandbox}/start")
    assert api.exec(sandbox, "cat /workspace/file")["stdout"] == "precious\n"
    clean_after(private_server)


def test_a_folder_of_a_volume_that_was_half_made_is_the_users(private_server):
    private_server.environment["ATOLL_FAULT"] = "broker:volume-part:kill"
    private_server.start()
    api = private_server.api()
    made = api.post(PATH, {"name": "parts"})
    sandbox = api.create(internet=False)["id"]
    part = {"volume": "parts", "path": "/data", "subpath": "half"}
    with attempt(private_server) as caller:
        caller.post(f"{INSTANCES}/{sandbox}/volume", part)
    folder = private_server.data / "volumes" / made["id"] / "files" / "half"
    assert folder.stat().st_uid == 0, "this is where it was ended"
    private_server.environment.pop("ATOLL_FAULT")
    private_server.stop()
    private_server.start()
    api = private_server.api()
    atoll.wait_for(lambda: state_of(api, sandbox) == "started", 15, "it is known again")
    api.post(f"{INSTANCES}/{sandbox}/volume", part)
    assert api.exec(sandbox, "echo mine > /data/mine && cat /data/mine; stat -c %u /data")["stdout"] == "mine\n1000\n"
    clean_after(private_server)


@pytest.mark.parametrize("what", ["the folder of the volume", "its place"])
def test_what_is_renamed_before_an_attach_is_finished_is_there_once(private_server, what):
    """Who finishes it finds the mount of the one that died, whatever things are called by then."""
    private_server.environment["ATOLL_FAULT"] = "api:volume-placed:kill"
    private_server.start()
    api = private_server.api()
    made = api.post(PATH, {"name": "parts"})
    sandbox = api.create(internet=False)["id"]
    place = what == "its place"
    if place:
        # What the broker looks at itself is over soon after.
        api.exec(sandbox, "(until grep -q ' /srv/deep/er ' /proc/self/mounts; do sleep 0.05; done; sleep 0.5; mv /srv/deep /srv/moved) >/dev/null 2>&1 &", user="root")
    with attempt(private_server, 3) as caller:
        caller.post(f"{INSTANCES}/{sandbox}/volume", {"volume": "parts", "path": "/srv/deep/er", **({} if place else {"subpath": "a"})})
    folder = private_server.data / "volumes" / made["id"] / "files"
    if place:
        moved = private_server.data / "sandboxes" / sandbox / "upper/srv/moved"
        atoll.wait_for(moved.exists, 15, "the place is moved")
    else:
        (folder / "a").rename(folder / "b")
    private_server.environment.pop("ATOLL_FAULT")
    private_server.stop()
    private_server.start()
    api = private_server.api()
    atoll.wait_for(lambda: state_of(api, sandbox) == "started", 15, "it is known again")

    def mounted():
        seen = api.exec(sandbox, "cat /proc/self/mountinfo")["stdout"].splitlines()
        return [line.split()[4] for line in seen if f"/{made['id']}/files" in line]
    if place:
        with pytest.raises(atoll.ApiError) as refused:
            api.delete(f"{INSTANCES}/{sandbox}/volume")
        assert refused.value.status == 409 and "moved inside" in refused.value.message and "move it back" in refused.value.hint
        assert mounted() == ["/srv/moved/er"]
        api.exec(sandbox, "rm -rf /srv/deep; mv /srv/moved /srv/deep", user="root")
    else:
        atoll.wait_for(lambda: mount_rows(private_server) == [("attached",)], 15, "it is finished")
        assert os.listdir(folder) == ["b"], "nothing is made for what is there already"
    assert mounted() == ["/srv/deep/er"]
    assert api.delete(f"{INSTANCES}/{sandbox}/volume")["items"] == [] and mounted() == []
    assert place or os.listdir(folder) == ["b"]
    clean_after(private_server)


def mount_rows(server, sql="SELECT state FROM mounts"):
    with contextlib.closing(sqlite3.connect(server.data / "store" / "atoll.db")) as store, store:
        return store.execute(sql).fetchall()


@pytest.mark.parametrize("kind, column", [({}, "is_read_only = 1"), ({"size_mb": 16}, "subpath = 'a'")], ids=["folder", "image"])
def test_what_is_there_otherwise_than_asked_for_is_no_attachment(private_server, kind, column):
    """Nobody takes a mount that may be written for one that may not, or the whole for a folder of it: it goes."""
    private_server.environment["ATOLL_FAULT"] = "api:volume-placed:kill"
    private_server.start()
    api = private_server.api()
    made = api.post(PATH, {"name": "other", **kind})
    sandbox = api.create(internet=False)["id"]
    with attempt(private_server, 3) as caller:
        caller.post(f"{INSTANCES}/{sandbox}/volume", {"volume": "other", "path": "/srv/there"})
    private_server.environment.pop("ATOLL_FAULT")
    private_server.stop()
    assert mount_rows(private_server) == [("attaching",)]
    mount_rows(private_server, f"UPDATE mounts SET {column}")
    private_server.start()
    api = private_server.api()
    atoll.wait_for(lambda: mount_rows(private_server) == [], 15, "it is undone")
    assert "already" in private_server.log_text()
    assert mounts_agree(api, sandbox) and api.get(f"{INSTANCES}/{sandbox}/volume")["items"] == []
    (row,) = api.post(f"{INSTANCES}/{sandbox}/volume", {"volume": "other", "path": "/srv/there", "read_only": True})["items"]
    assert row["read_only"] and api.exec(sandbox, "ls -A /srv/there")["stdout"] in ("", "lost+found\n")
    assert kind or os.listdir(private_server.data / "volumes" / made["id"] / "files") == []
    clean_after(private_server)


def state_of(api, sandbox):
    return api.get(f"{INSTANCES}/{sandbox}")["state"]


@pytest.mark.parametrize("step", ["volume-sized", "volume-grown"])
def test_a_disk_that_grows_is_whole_whoever_dies_meanwhile(private_server, step):
    private_server.flags = ["--disk-quota", "on"]
    private_server.start()
    api = private_server.api()
    made = api.create(internet=False, persistent=True, resources={"disk_mb": 32})
    if made["resources"]["disk_advisory"]:
        pytest.skip("this host has no loop devices: no sandbox has a disk of its own")
    box = made["id"]
    api.exec(box, "echo precious > /home/user/file; sync")
    for disk_mb, why in ((96, "while it is stopped"), (16, "only grows")):
        with pytest.raises(atoll.ApiError) as refused:
            api.post(f"{INSTANCES}/{box}/resize", {"disk_mb": disk_mb})
        assert refused.value.status == 409 and why in refused.value.message
    api.post(f"{INSTANCES}/{box}/stop")
    assert api.post(f"{INSTANCES}/{box}/resize", {"disk_mb": 96})["resources"]["disk_mb"] == 96
    private_server.stop()
    private_server.environment["ATOLL_FAULT"] = f"task:{step}:kill"
    private_server.start()
    with attempt(private_server) as api:
        api.post(f"{INSTANCES}/{box}/start")
    private_server.environment.pop("ATOLL_FAULT")
    private_server.stop()
    private_server.start()
    api = private_server.api()
    atoll.wait_for(lambda: state_of(api, box) in ("stopped", "started"), 15, "its state")
    # A disk that has not grown grows at the next start, whichever process died.
    if state_of(api, box) == "started":
        api.post(f"{INSTANCES}/{box}/stop")
    api.post(f"{INSTANCES}/{box}/start")
    said = api.exec(box, "cat /home/user/file; df -m / | tail -1; head -c 60M /dev/zero > /home/user/large && echo fits")["stdout"]
    assert said.startswith("precious\n") and "fits" in said, said
    assert api.get(f"/v1/events?sandbox={box}&kind=sandbox.resized")["items"][0]["detail"]["disk_mb"] == 96
    api.remove(box)
    atoll.wait_for(lambda: not loops_of(private_server), 10, "no loop device is left")


def test_a_disk_that_cannot_grow_starts_as_it_is_and_grows_with_the_next_start(private_server):
    private_server.flags = ["--disk-quota", "on"]
    private_server.environment["ATOLL_FAULT"] = "broker:volume-check:fail"
    private_server.start()
    api = private_server.api()
    made = api.create(internet=False, persistent=True, resources={"disk_mb": 32})
    if made["resources"]["disk_advisory"]:
        pytest.skip("this host has no loop devices: no sandbox has a disk of its own")
    box = made["id"]
    api.exec(box, "echo precious > /home/user/file")
    api.post(f"{INSTANCES}/{box}/stop")
    api.post(f"{INSTANCES}/{box}/resize", {"disk_mb": 96})
    try_large = "cat /home/user/file; head -c 60M /dev/zero > /home/user/large && echo fits"
    api.post(f"{INSTANCES}/{box}/start")
    said = api.exec(box, try_large)["stdout"]
    assert said == "precious\n", said
    api.post(f"{INSTANCES}/{box}/stop")
    private_server.environment.pop("ATOLL_FAULT")
    private_server.stop()
    private_server.start()
    api = private_server.api()
    api.post(f"{INSTANCES}/{box}/start")
    assert api.exec(box, try_large)["stdout"] == "precious\nfits\n"
    api.remove(box)
    atoll.wait_for(lambda: not loops_of(private_server), 10, "no loop device is left")
