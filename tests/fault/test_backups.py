# SPDX-License-Identifier: Apache-2.0
"""kill -9 at every step of a backup: afterwards what is ready is whole, and nothing else is left."""

import contextlib
import hashlib
import http.client
import os

import pytest

import atoll
import small_root
from test_kills import named_steps

pytestmark = pytest.mark.needs_root
INSTANCES = "/api/sandbox/instances"
SNAPSHOTS = "/api/sandbox/snapshots"
BACKUPS = "/api/sandbox/backups"
TEMPLATES = "/api/sandbox/templates"
BROKER_STEPS = [step for step in named_steps("broker", r'fault_point\("broker", ') if step.startswith("backup-")]
# Those of a template that is made of a full backup have a test of their own.
FULL_STEPS = ["import-recorded", "import-templated"]
API_STEPS = [step for step in named_steps("fleet", r'fault_point\("api", ')
             if step.startswith(("backup-", "import-")) and step not in FULL_STEPS] + named_steps("blob/local", r'fault_point\("api", ')
FAILURES = (atoll.ApiError, OSError, http.client.HTTPException, AssertionError)


@contextlib.contextmanager
def attempt(server, seconds=8):
    """Whatever fails is expected to, by an error and not by hanging."""
    api = server.api(timeout=seconds)
    try:
        with contextlib.suppress(*FAILURES):
            yield api
    finally:
        api.close()


def wait_ended(api, backup):
    path = f"{BACKUPS}/{backup['id']}"
    return atoll.wait_for(lambda: (found := api.get(path))["state"] != "making" and found, 30, "the backup's end")


def use(server, box):
    """A snapshot goes out and comes back in, in both ways."""
    content = None
    with attempt(server) as api:
        taken = api.post(f"{INSTANCES}/{box}/snapshot")["id"]
        backup = wait_ended(api, api.post(f"{SNAPSHOTS}/{taken}/export"))
        content = api.raw("GET", f"{BACKUPS}/{backup['id']}/content").body
        api.post(f"{SNAPSHOTS}/import", {"backup": backup["id"]})
    with attempt(server) as api:
        api.call("PUT", f"{BACKUPS}/brought", content)
    with attempt(server) as api:
        for row in api.get(BACKUPS)["items"]:
            api.delete(f"{BACKUPS}/{row['id']}")


def blobs(server):
    return {path.name.split(".")[0] for path in (server.data / "blobs").rglob("*") if path.is_file()}


def agree(server, api):
    """What is ready has its blob, and no blob is without a row; the same of snapshots and layers."""
    rows = {row["id"]: row["state"] for row in api.get(BACKUPS)["items"]}
    snapshots = {row["id"]: row["state"] for row in api.get(SNAPSHOTS)["items"]}
    return (set(rows.values()) <= {"ready", "failed"} and set(snapshots.values()) <= {"ready"}
            and blobs(server) == {i for i, state in rows.items() if state == "ready"}
            and set(os.listdir(server.data / "snapshots")) >= set(snapshots))


def clean_after(server, box):
    server.environment.pop("ATOLL_FAULT", None)
    server.stop()
    server.start()
    api = server.api()
    atoll.wait_for(lambda: agree(server, api), 15, f"rows and files agree: {api.get(BACKUPS)} {api.get(SNAPSHOTS)}")
    for row in api.get(BACKUPS)["items"]:
        if row["state"] == "ready":
            body = api.raw("GET", f"{BACKUPS}/{row['id']}/content").body
            assert hashlib.sha256(body).hexdigest() == row["sha256"]
            taken = api.post(f"{SNAPSHOTS}/import", {"backup": row["id"]})["id"]
            with api.sandbox(internet=False, snapshot=taken) as again:
                assert api.exec(again, "cat /home/user/kept")["stdout"] == "kept"
        api.delete(f"{BACKUPS}/{row['id']}")
    for row in api.get(SNAPSHOTS)["items"]:
        api.delete(f"{SNAPSHOTS}/{row['id']}")
    assert blobs(server) == set()
    row = api.get(f"{INSTANCES}/{box}")
    assert row["state"] == "started", row
    assert api.exec(box, "cat /home/user/kept")["stdout"] == "kept"
    api.remove(box)
    atoll.wait_for(lambda: os.listdir(server.data / "snapshots") == [], 30, "no layer is left")
    api.close()
    atoll.Host(server.data).wait_clean()


def prepare(server, place, step):
    server.flags += ["--orphans-keep", "0"]  # what a killed process leaves is to go at once
    server.environment["ATOLL_FAULT"] = f"{place}:{step}:kill"
    server.start()
    with contextlib.closing(server.api()) as api:
        box = api.create(internet=False, persistent=True)["id"]
        api.exec(box, "printf kept > /home/user/kept")
    return box


ARCHIVE_STEPS = [step for step in named_steps("fleet", r'fault_point\("api", ')
                 if step.startswith(("archive-", "unarchive-"))]


@pytest.mark.parametrize("step", atoll.sample(ARCHIVE_STEPS, ARCHIVE_STEPS[::3]))
def test_the_files_are_somewhere_whatever_step_of_archiving_is_the_last(private_server, step):
    server = private_server
    box = prepare(server, "api", step)
    for verb in ("stop", "archive", "start"):
        with attempt(server) as api:
            api.post(f"{INSTANCES}/{box}/{verb}")
    server.environment.pop("ATOLL_FAULT", None)
    server.stop()
    server.start()
    api = server.api()
    state = api.get(f"{INSTANCES}/{box}")["state"]
    assert state in ("stopped", "archived", "started")
    assert len(blobs(server)) == (state == "archived")
    assert (server.data / "sandboxes" / box).exists() == (state != "archived")
    if state != "started":
        api.post(f"{INSTANCES}/{box}/start")
    assert api.exec(box, "cat /home/user/kept")["stdout"] == "kept"
    assert api.get(BACKUPS)["items"] == []
    api.remove(box)
    assert blobs(server) == set()
    atoll.wait_for(lambda: os.listdir(server.data / "snapshots") == [], 30, "no layer is left")
    api.close()
    atoll.Host(server.data).wait_clean()


def test_the_steps_are_known():
    assert len(BROKER_STEPS) >= 2
    assert len(API_STEPS) >= 7
    assert len(ARCHIVE_STEPS) >= 7
    assert set(FULL_STEPS) <= set(named_steps("fleet", r'fault_point\("api", '))


@pytest.mark.parametrize("step", BROKER_STEPS)
def test_the_broker_dies_at_a_step(private_server, step):
    box = prepare(private_server, "broker", step)
    use(private_server, box)
    clean_after(private_server, box)


@pytest.mark.parametrize("step", atoll.sample(API_STEPS, API_STEPS[::3]))
def test_atolld_dies_at_a_step(private_server, step):
    box = prepare(private_server, "api", step)
    use(private_server, box)
    clean_after(private_server, box)


def full_backup(server, folder):
    """Of a sandbox that is gone, on a template that is gone, in a server that is stopped."""
    server.start()
    with contextlib.closing(server.api()) as api:
        api.call("POST", f"{TEMPLATES}/import?name=tiny", small_root.as_tar(small_root.busybox(folder), folder / "root.tar").read_bytes())
        with api.sandbox(template="tiny", internet=False) as box:
            api.exec(box, "printf kept > /opt/kept", user="root")
            taken = api.post(f"{INSTANCES}/{box}/snapshot")["id"]
        backup = wait_ended(api, api.post(f"{SNAPSHOTS}/{taken}/export", {"full": True}))
        assert backup["state"] == "ready"
        api.delete(f"{SNAPSHOTS}/{taken}")
        api.delete(f"{TEMPLATES}/tiny")
    server.stop()
    return backup["id"]


def own_templates(api):
    return {t["name"]: t["state"] for t in api.get(TEMPLATES)["items"] if t["project"]}


@pytest.mark.parametrize("step", atoll.sample([*FULL_STEPS, "import-unpacked"], ["import-templated"]))
def test_atolld_dies_while_a_full_backup_is_imported(private_server, tmp_path, step):
    server = private_server
    backup = full_backup(server, tmp_path)
    server.environment["ATOLL_FAULT"] = f"api:{step}:kill"
    server.start()
    with attempt(server) as api:
        api.post(f"{SNAPSHOTS}/import", {"backup": backup})
        pytest.fail("it was not killed")
    server.environment.pop("ATOLL_FAULT")
    server.stop()
    server.start()
    api = server.api()
    left = own_templates(api)
    assert len(left) == 1 and set(left.values()) <= {"failed" if step == "import-recorded" else "ready"}
    atoll.wait_for(lambda: agree(server, api), 15, "rows and files agree")
    # The next import takes what is left, or puts a whole one in its place.
    taken = api.post(f"{SNAPSHOTS}/import", {"backup": backup})
    assert own_templates(api) == dict.fromkeys(left, "ready") and taken["template"] in left
    with api.sandbox(template=taken["template"], snapshot=taken["id"], internet=False) as box:
        assert api.exec(box, "cat /opt/kept")["stdout"] == "kept"
    api.delete(f"{SNAPSHOTS}/{taken['id']}")
    api.delete(f"{TEMPLATES}/{taken['template']}")
    api.delete(f"{BACKUPS}/{backup}")
    atoll.wait_for(lambda: not os.listdir(server.data / "snapshots"), 30, "no layer is left")
    assert blobs(server) == set()
    assert not [name for name in os.listdir(server.data / "templates") if not name.startswith((".base", "base"))]
    api.close()
    atoll.Host(server.data).wait_clean()
