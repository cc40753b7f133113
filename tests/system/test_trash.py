# SPDX-License-Identifier: Apache-2.0
"""What an operator does to the trash: removes twice at once and beside creates, brings back what no longer fits, fills the disk."""

import os
import pathlib
import subprocess
import tempfile
import threading

import pytest

import atoll
from small_root import as_tar, busybox

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
MIB = 1 << 20


@pytest.fixture
def empty(server, api):
    for row in server.rows(api):
        api.remove(row["id"])
    return api


def keep(api, box):
    api.delete(f"{PATH}/{box}?keep=true")


def in_trash(api):
    return {item["id"]: item for item in api.get("/api/sandbox/trash")["items"]}


def test_two_removals_of_all_beside_creates_lose_nothing(server, empty):
    there = [empty.create(name=f"all-{n}", internet=False)["id"] for n in range(4)]
    late, told, removals = [], [], []

    def create():
        own = server.api()
        for n in range(4):
            try:
                late.append(own.create(name=f"late-{n}", internet=False)["id"])
            except atoll.ApiError as error:  # its caller knows, then, that a removal was there first
                assert error.status == 409 and "deleted while it was being made" in str(error), error
                told.append(n)
        own.close()
    threads = [threading.Thread(target=create), *(threading.Thread(target=lambda: removals.append(server.cli("rm", "--all", "--yes"))) for _ in range(2))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    # One of two that remove the same sandbox may find it gone; neither says anything else.
    for done in removals:
        assert done.returncode == 0 or b"no sandbox" in done.stderr or b"not found" in done.stderr, done.stderr
    trash, living = in_trash(empty), {row["id"] for row in server.rows(empty)}
    assert set(there) <= set(trash) and not set(there) & living
    assert len(late) + len(told) == 4 and all((box in trash) != (box in living) for box in late)
    done = server.cli("undelete", "--all")
    assert done.returncode == 0, done.stderr
    back = {row["id"] for row in server.rows(empty)}
    assert set(there) | set(late) <= back and len(back) <= 8 and not in_trash(empty)


def test_a_project_gets_no_more_sandboxes_back_than_it_may_have(server, empty):
    project = empty.post("/v1/projects", {"name": f"full-{os.getpid()}", "owner": "ann@example.com"})["id"]
    key = empty.call("POST", "/api/sandbox/keys", {"name": "k"}, {"X-Atoll-Project": project})["key"]
    own = server.api(key)
    first = own.create(internet=False)["id"]
    keep(own, first)
    second = own.create(internet=False)["id"]
    empty.call("PATCH", f"/v1/projects/{project}", {"sandboxes_max": 1})
    with pytest.raises(atoll.ApiError) as refused:
        own.post(f"{PATH}/{first}/undelete")
    assert refused.value.status == 429 and "1 sandboxes already" in str(refused.value)
    assert first in in_trash(own)
    own.remove(second)
    assert own.post(f"{PATH}/{first}/undelete")["state"] == "stopped"
    with pytest.raises(atoll.ApiError):
        own.create(internet=False)
    own.remove(first)
    own.remove(own.create(internet=False)["id"])


def test_one_whose_template_is_gone_stays_in_the_trash_and_says_so(empty, tmp_path):
    template = f"gone-{os.getpid()}"
    image = as_tar(busybox(tmp_path), tmp_path / "root.tar")
    empty.call("POST", f"/api/sandbox/templates/import?name={template}&format=tar", image.read_bytes(), {"Content-Type": "application/octet-stream"})
    heir = empty.create(template=template, internet=False)["id"]
    keep(empty, heir)
    empty.delete(f"/api/sandbox/templates/{template}")
    with pytest.raises(atoll.ApiError) as refused:
        empty.post(f"{PATH}/{heir}/undelete")
    assert refused.value.status == 409 and template in str(refused.value) and heir in in_trash(empty)


@pytest.fixture
def small_disk():
    """A data folder on a filesystem of 1000 MiB."""
    folder = tempfile.mkdtemp(prefix="atoll-small-")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1000m,mode=755", "none", folder], check=True)
    try:
        data = pathlib.Path(folder, "data")
        data.mkdir()
        yield data
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
        os.rmdir(folder)


def free(data):
    status = os.statvfs(data)
    return status.f_bavail * status.f_frsize


def test_a_full_disk_makes_room_from_what_goes_first(small_disk):
    server = atoll.Server(data=small_disk).start()
    try:
        api = server.api()
        boxes = [api.create(name=name, internet=False)["id"] for name in ("oldest", "newest")]
        for box, size in zip(boxes, (150, 20)):
            api.exec(box, f"head -c {size}M /dev/zero > ballast")
        keep(api, boxes[0])
        # The time of an entry counts in seconds: the second one is due later.
        until = in_trash(api)[boxes[0]]["until"]
        other = api.create(internet=False)["id"]

        def is_later():
            keep_for_a_look = api.create(internet=False)["id"]
            keep(api, keep_for_a_look)
            later = in_trash(api)[keep_for_a_look]["until"] > until
            api.post(f"{PATH}/{keep_for_a_look}/undelete")
            api.remove(keep_for_a_look)
            return later
        atoll.wait_for(is_later, 10, "the next second")
        keep(api, boxes[1])
        api.remove(other)
        atoll.wait_for(lambda: all(item["size_bytes"] > 0 for item in in_trash(api).values()), 20, "sizes")
        with open(small_disk / "filler", "wb") as out:
            os.posix_fallocate(out.fileno(), 0, free(small_disk) - 450 * MIB)
        atoll.wait_for(lambda: boxes[0] not in in_trash(api), 30, "room")
        atoll.wait_for(lambda: free(small_disk) > 512 * MIB, 30, "its files are gone")
        assert boxes[1] in in_trash(api)
        assert "nearly full" in server.log_text() and boxes[0] in server.log_text()
        assert api.post(f"{PATH}/{boxes[1]}/undelete")["state"] == "stopped"
        api.post(f"{PATH}/{boxes[1]}/start")
        assert api.exec(boxes[1], "wc -c < ballast")["stdout"].strip() == str(20 * MIB)
    finally:
        server.remove_all()
