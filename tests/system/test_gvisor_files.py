# SPDX-License-Identifier: Apache-2.0
"""What sandboxes in gVisor keep: snapshots, forks, archives and volumes, with the files and limits of native sandboxes."""

import concurrent.futures

import pytest

import atoll
import gvisor_parts
from test_volumes import volume

pytestmark = [pytest.mark.providers, pytest.mark.needs_root, gvisor_parts.needed]
PATH = "/api/sandbox/instances"
SNAPSHOTS = "/api/sandbox/snapshots"


@pytest.fixture(scope="module")
def server():
    server = atoll.Server(flags=["--providers", "plain=native,strong=gvisor"]).start()
    yield server
    server.remove_all()


@pytest.fixture
def clean(api):
    """Removes what a test has left."""
    yield
    for sandbox in api.get(PATH)["items"]:
        api.delete(f"{PATH}/{sandbox['id']}")
    for snapshot in api.get(SNAPSHOTS)["items"]:
        api.delete(f"{SNAPSHOTS}/{snapshot['id']}")


def out(api, sandbox, command, **options):
    answer = api.exec(sandbox, command, **options)
    assert answer["ok"], answer
    return answer["stdout"].strip()


def make(api, provider="strong", **options):
    return api.create(internet=False, provider=provider, **options)["id"]


def snapshot(api, sandbox, **body):
    return api.post(f"{PATH}/{sandbox}/snapshot", body)


MAKE = """
set -e
echo before > file; mkdir -p deep/er; echo x > deep/er/file; ln -s ../file deep/link; ln file twin
python3 -c 'import mmap, os
f = os.open("mapped", os.O_RDWR | os.O_CREAT); os.truncate(f, 4096)
m = mmap.mmap(f, 4096); m[:6] = b"mapped"; os.utime("mapped", (1, 1000000000)); os.chmod("mapped", 0o640)'
"""
LOOK = ("python3 -c 'import os; s = os.stat(\"mapped\"); print(open(\"mapped\", \"rb\").read(6).decode(), oct(s.st_mode), s.st_uid, int(s.st_mtime), "
        "os.stat(\"file\").st_nlink)'; cat file deep/er/file deep/link")
SEEN = "mapped 0o100640 1000 1000000000 2\nbefore\nx\nbefore"


def test_a_snapshot_of_a_running_sandbox_has_its_files(api, clean):
    box = make(api)
    out(api, box, MAKE)
    process = api.exec(box, "cd /; exec 7>>/home/user/log; while sleep 0.01; do echo line >&7; done", background=True)["process"]
    atoll.wait_for(lambda: api.exec(box, "test -s /home/user/log")["ok"], 30, "a log")
    taken = snapshot(api, box)
    assert taken["method"] == "copy" and "gVisor" in taken["because"], taken
    out(api, box, "echo after > file; rm -r deep")
    child = make(api, snapshot=taken["id"])
    assert out(api, child, LOOK) == SEEN
    assert set(out(api, child, "cat /home/user/log").split()) == {"line"}
    assert out(api, box, "cat file") == "after" and process > 0


def test_a_stopped_sandbox_is_snapshotted_without_a_copy_and_rolled_back(api, clean):
    box = make(api)
    out(api, box, MAKE)
    api.post(f"{PATH}/{box}/stop")
    taken = snapshot(api, box)
    assert taken["method"] == "rename"
    api.post(f"{PATH}/{box}/start")
    out(api, box, "echo after > file; rm -r deep")
    api.post(f"{SNAPSHOTS}/{taken['id']}/restore")
    assert out(api, box, LOOK) == SEEN
    api.post(f"{PATH}/{box}/reset")
    assert not api.exec(box, "cat file")["ok"]


def test_forks_go_their_ways(api, clean):
    box = make(api)
    out(api, box, MAKE)
    forks = [item["id"] for item in api.post(f"{PATH}/{box}/fork", {"count": 2})["items"]]
    for number, fork in enumerate(forks):
        shown = api.get(f"{PATH}/{fork}")
        assert (shown["provider"], shown["isolation"]) == ("strong", "gvisor")
        assert out(api, fork, LOOK) == SEEN
        out(api, fork, f"echo {number} > file")
    assert [out(api, fork, "cat file") for fork in forks] == ["0", "1"] and out(api, box, "cat file") == "before"


def test_a_snapshot_serves_native_sandboxes_and_the_other_way(api, clean):
    box = make(api)
    out(api, box, MAKE)
    child = make(api, "plain", snapshot=snapshot(api, box)["id"])
    assert out(api, child, LOOK) == SEEN
    back = snapshot(api, child)
    assert out(api, make(api, snapshot=back["id"]), LOOK) == SEEN


def test_a_snapshot_whose_broker_dies_leaves_the_sandbox_running(server, api, clean):
    box = make(api)
    out(api, box, "head -c 60M /dev/urandom > large; echo on > file")
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        taking = pool.submit(lambda: server.api().raw("POST", f"{PATH}/{box}/snapshot", {}))
        server.kill9("broker")
        assert taking.result().status in (200, 201, 500, 503)
    atoll.wait_for(lambda: api.exec(box, "cat file")["stdout"] == "on\n", 30, "a sandbox that goes on")
    taken = snapshot(api, box)
    assert out(api, make(api, snapshot=taken["id"]), "cmp large large; wc -c < large; cat file") == "62914560\non"


def test_an_archived_sandbox_comes_back(api, clean):
    box = make(api)
    out(api, box, MAKE)
    api.post(f"{PATH}/{box}/stop")
    api.post(f"{PATH}/{box}/archive")
    assert api.get(f"{PATH}/{box}")["state"] == "archived"
    api.post(f"{PATH}/{box}/start")
    assert out(api, box, LOOK) == SEEN and api.get(f"{PATH}/{box}")["isolation"] == "gvisor"


# ---- volumes ----


def test_a_volume_outlives_its_sandboxes_and_has_other_places(api, clean):
    with volume(api, "shared"):
        mounts = [{"volume": "shared", "path": "/data/with \"quotes\" and \\", "read_only": False}]
        first = make(api, volumes=mounts)
        out(api, first, "cd '/data/with \"quotes\" and \\' && echo kept > file && mkdir sub && echo below > sub/file")
        api.delete(f"{PATH}/{first}")
        native = make(api, provider="plain", volumes=[{"volume": "shared", "path": "/data"}])
        assert out(api, native, "cat /data/file; stat -c %u:%a /data/file") == "kept\n1000:644"
        api.delete(f"{PATH}/{native}")
        part = make(api, volumes=[{"volume": "shared", "path": "/part", "subpath": "sub", "read_only": True}])
        assert out(api, part, "cat /part/file") == "below"
        refused = api.exec(part, "echo no > /part/file", user="root")
        assert not refused["ok"] and "Read-only" in refused["stderr"], refused
        api.delete(f"{PATH}/{part}")


def test_sandboxes_of_both_kinds_see_each_others_changes(api, clean):
    """gVisor must not keep what it has read of a workspace."""
    boxes = [make(api, workspace="both", provider=provider) for provider in ("strong", "strong", "plain")]
    for number, writer in enumerate(boxes):
        out(api, writer, f"echo {number} > file; echo {number} > new-{number}")
        for reader in boxes:
            assert out(api, reader, f"cat file new-{number}") == f"{number}\n{number}"
            assert out(api, reader, "python3 -c 'import os; print(len(os.listdir()))'") == str(number + 2)
    for box in boxes:
        api.delete(f"{PATH}/{box}")
    api.delete("/v1/workspaces/both")


def test_a_link_in_the_place_of_a_volume_leads_nowhere_outside(api, clean):
    """The place is a path that the sandbox controls: it must lead to files of the sandbox alone."""
    with volume(api, "placed"):
        box = make(api, volumes=[{"volume": "placed", "path": "/srv/place"}])
        out(api, box, "echo in the volume > /srv/place/file", user="root")
        api.post(f"{PATH}/{box}/stop")
        api.call("DELETE", f"{PATH}/{box}/volume?volume=placed")
        api.post(f"{PATH}/{box}/start")
        out(api, box, "mv /srv/place /srv/was && ln -s /../../../state /srv/place", user="root")
        api.post(f"{PATH}/{box}/stop")
        api.post(f"{PATH}/{box}/volume", {"volume": "placed", "path": "/srv/place"})
        answer = api.raw("POST", f"{PATH}/{box}/start")
        if answer.status < 400:
            assert out(api, box, "cat /state/file", user="root") == "in the volume"
        api.delete(f"{PATH}/{box}")


def test_volumes_change_while_it_is_stopped(api, clean):
    with volume(api, "later"):
        box = make(api)
        with pytest.raises(atoll.ApiError) as refused:
            api.post(f"{PATH}/{box}/volume", {"volume": "later", "path": "/data"})
        assert refused.value.status == 409 and "while the sandbox runs" in refused.value.message
        assert api.get(f"{PATH}/{box}/volume")["items"] == []
        api.post(f"{PATH}/{box}/stop")
        api.post(f"{PATH}/{box}/volume", {"volume": "later", "path": "/data"})
        api.post(f"{PATH}/{box}/start")
        out(api, box, "echo kept > /data/file")
        with pytest.raises(atoll.ApiError) as refused:
            api.call("DELETE", f"{PATH}/{box}/volume?volume=later")
        assert refused.value.status == 409 and out(api, box, "cat /data/file") == "kept"
        api.delete(f"{PATH}/{box}")


def test_a_volume_has_its_size(api, clean):
    with volume(api, "tight", size_mb=32), api.sandbox(internet=False, provider="strong", volumes=[{"volume": "tight", "path": "/data"}]) as box:
        answer = api.exec(box, "dd if=/dev/zero of=/data/filler bs=64k count=16000")
        assert "No space left on device" in answer["stderr"], answer
        assert 20 << 20 < int(out(api, box, "wc -c < /data/filler")) < 32 << 20
        assert out(api, box, "echo fine > elsewhere; cat elsewhere") == "fine"


def test_a_project_folder_on_a_volume_is_made(api, clean):
    with volume(api, "homes"), api.sandbox(internet=False, provider="strong", volumes=[{"volume": "homes", "path": "/home/user"}]) as box:
        assert out(api, box, "pwd; echo x > file; cat file") == "/home/user/project\nx"
