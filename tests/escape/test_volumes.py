# SPDX-License-Identifier: Apache-2.0
"""What a sandbox leaves in a volume, for those who look at it afterwards: links, devices, set-uid programs, odd names, crowds."""

import contextlib
import json
import os
import pathlib
import secrets
import subprocess
import tempfile
import urllib.parse

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/volumes"

PLANT = r"""
set -e
cd /workspace
ln -s /etc/passwd passwd; ln -s /etc etc; ln -s ../../../../../.. up; ln -s / root; ln -s /proc/self/root magic
ln -s /proc/1/root/etc/passwd deep; ln -s loop loop; ln -s MARKER marker; ln -s /workspace/inside absolute
echo inside > inside; ln -s inside good
mkdir -p folder/deeper; ln -s /etc folder/etc
printf x > "$(printf 'new\nline')"; printf x > ' '; printf x > '-rf'; printf x > '"quoted"'; printf x > "$(printf 'bad\377utf8')"
mkfifo pipe; cp /bin/sh own-shell; chmod 6755 own-shell
"""


@pytest.fixture(scope="module")
def trap():
    marker = pathlib.Path("/var/tmp") / ("atoll-trap-" + secrets.token_hex(8))
    marker.write_text("only the host may read this\n")
    yield marker
    marker.unlink()


# A folder, and an image of its own.
@pytest.fixture(scope="module", params=[{}, {"size_mb": 64}], ids=["folder", "image"])
def planted(server, trap, request):
    api = server.api()
    api.post(PATH, {"name": "planted", **request.param})
    with api.sandbox(internet=False, volume="planted") as sandbox:
        for user in ("user", "root"):
            api.exec(sandbox, "mknod /workspace/null-" + user + " c 1 3; mknod /workspace/disk-" + user + " b 8 0", user=user)
        done = api.exec(sandbox, PLANT.replace("MARKER", str(trap)))
        assert done["exit_code"] == 0, done["stderr"]
        api.exec(sandbox, "cp /bin/sh /workspace/root-shell; chmod 6755 /workspace/root-shell; "
                          "setcap cap_sys_admin+ep /workspace/root-shell", user="root")
    yield "planted"
    api.delete(f"{PATH}/planted")
    api.close()


@contextlib.contextmanager
def on_disk(server, volume):
    """What lies in it, as the host's root sees it while nobody else does."""
    folder = server.data / "volumes" / volume
    if (folder / "files").is_dir():
        yield folder / "files"
        return
    image, place = folder / "files.img", pathlib.Path(tempfile.mkdtemp())
    assert image.stat().st_mode & 0o777 == 0o600 and image.stat().st_uid == 0
    atoll.wait_for(lambda: not subprocess.run(["losetup", "-j", image], capture_output=True).stdout, 20, "nobody has it")
    subprocess.run(["mount", "-o", "loop", image, place], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)
        place.rmdir()


def files(kind, path, **query):
    return f"{PATH}/planted/files{kind}?" + urllib.parse.urlencode({"path": path, **query})


def refused(api, method, path, body=None):
    with pytest.raises(atoll.ApiError) as failure:
        api.call(method, path, body)
    assert failure.value.status in (400, 403, 404, 409), failure.value
    return failure.value


LEADING_OUT = ["passwd", "etc/passwd", "up/etc/passwd", "root/etc/passwd", "magic/etc/passwd", "deep", "loop", "marker",
               "absolute", "folder/etc/passwd", "../../../../etc/passwd", "/../etc/passwd", "folder/../../etc/passwd"]


@pytest.mark.parametrize("path", LEADING_OUT)
@pytest.mark.parametrize("user", ["root", "user"])
def test_no_link_leads_out_of_a_volume(api, planted, path, user):
    before = os.stat("/etc/passwd").st_mtime_ns
    refused(api, "GET", files("/content", path, user=user))
    if path not in ("loop", "marker", "absolute", "deep", "passwd"):  # a link itself is replaced, not followed
        refused(api, "PUT", files("/content", path, user=user), "planted")
    refused(api, "GET", files("/tar", path, user=user))
    assert os.stat("/etc/passwd").st_mtime_ns == before


def test_links_are_shown_as_links(api, planted, trap):
    rows = {row["path"]: row for row in api.get(files("", "", depth=1))["items"]}
    assert rows["passwd"]["type"] == "symlink" and rows["passwd"]["link"] == "/etc/passwd"
    assert rows["marker"]["type"] == "symlink" and rows["marker"]["link"] == str(trap)
    assert rows["pipe"]["type"] == "other"
    assert "new\nline" in rows and " " in rows and "-rf" in rows and '"quoted"' in rows
    assert not [path for path in api.get(files("", "", depth=64))["items"] if path["path"].startswith("etc/")]
    assert api.raw("GET", files("/content", "good")).body == b"inside\n"


def test_a_file_with_an_odd_name_is_read_and_removed(api, planted):
    for name in ("new\nline", " ", "-rf", '"quoted"'):
        assert api.raw("GET", files("/content", name)).body == b"x"
        assert api.delete(files("", name))["count"] == 1


def test_removing_a_link_leaves_what_it_points_to(api, planted, trap):
    for name in ("marker", "up", "folder"):
        api.delete(files("", name, recursive="true"))
    assert trap.read_text() == "only the host may read this\n"
    assert os.path.exists("/etc/passwd")


def test_a_pipe_holds_nobody_up(api, planted):
    refused(api, "GET", files("/content", "pipe"))


def test_no_device_of_a_volume_works(api, planted):
    """None can be made inside; one that the host's root made is dead."""
    names = [row["path"] for row in api.get(files("", ""))["items"]]
    assert not [name for name in names if name.startswith(("null-", "disk-"))]


def test_devices_and_set_uid_programs_on_the_disk_are_dead(api, server, planted):
    (volume,) = [row["id"] for row in api.get(PATH)["items"] if row["name"] == "planted"]
    with on_disk(server, volume) as place:
        os.mknod(place / "zero", 0o666 | 0o020000, os.makedev(1, 5))
        os.chmod(place / "zero", 0o666)
    refused(api, "GET", files("/content", "zero"))
    with api.sandbox(internet=False, volume="planted") as sandbox:
        assert api.exec(sandbox, "head -c 1 /workspace/zero", user="root")["exit_code"] != 0
        assert api.exec(sandbox, "/workspace/root-shell -p -c 'id -u'")["stdout"] == "1000\n"
        assert api.exec(sandbox, "/workspace/root-shell -p -c 'mount -t tmpfs x /mnt'")["exit_code"] != 0
        assert "nosuid" in api.exec(sandbox, "grep ' /workspace ' /proc/self/mounts")["stdout"]
        assert "nodev" in api.exec(sandbox, "grep ' /workspace ' /proc/self/mounts")["stdout"]
        assert api.exec(sandbox, "umount /workspace || mount -o remount,suid /workspace", user="root")["exit_code"] != 0
    with on_disk(server, volume) as place:
        (place / "zero").unlink()


def test_files_belong_to_nobody_on_the_host(api, server, planted):
    (volume,) = [row["id"] for row in api.get(PATH)["items"] if row["name"] == "planted"]
    place = server.data / "volumes" / volume
    assert place.stat().st_mode & 0o077 == 0 and place.stat().st_uid == 0
    with on_disk(server, volume) as top:
        for path in top.iterdir():
            assert path.lstat().st_uid >= 0x70000000, path


def test_nothing_outside_is_reached_by_the_place_of_a_volume(api):
    """A link that the sandbox has planted at the place is not followed by the host, and covers nothing but its own."""
    with contextlib.suppress(atoll.ApiError):
        api.post(PATH, {"name": "misplaced"})
    marker = pathlib.Path("/srv/atoll-misplaced")
    with api.sandbox(internet=False, persistent=True) as sandbox:
        api.exec(sandbox, "rm -rf /srv/x; ln -s /etc /srv/x; ln -s /proc /opt/p", user="root")
        api.post(f"/api/sandbox/instances/{sandbox}/stop")
        for path in ("/srv/x", "/srv/x/deep", "/opt/p/self"):
            api.post(f"/api/sandbox/instances/{sandbox}/volume", {"volume": "misplaced", "path": path})
            with contextlib.suppress(atoll.ApiError):
                api.post(f"/api/sandbox/instances/{sandbox}/start")
                assert api.exec(sandbox, "cat /etc/hostname")["exit_code"] == 0
                api.post(f"/api/sandbox/instances/{sandbox}/stop")
            api.delete(f"/api/sandbox/instances/{sandbox}/volume")
        api.post(f"/api/sandbox/instances/{sandbox}/start")
        assert api.exec(sandbox, "echo alive")["stdout"] == "alive\n"
    assert not marker.exists() and os.path.exists("/etc/passwd")
    api.delete(f"{PATH}/misplaced")


@pytest.mark.parametrize("kind", [{}, {"size_mb": 32}], ids=["folder", "image"])
def test_no_link_is_followed_to_a_folder_of_a_volume(api, kind):
    api.post(PATH, {"name": "parts", **kind})
    try:
        with api.sandbox(internet=False, volume="parts") as sandbox:
            api.exec(sandbox, "cd /workspace && ln -s /etc etc; ln -s ../../../../../.. up; ln -s / root; ln -s /proc/self/root magic; ln -s loop loop; "
                              "mkdir folder; ln -s /etc folder/etc; ln -s folder good; echo x >file; mkfifo pipe")
        for subpath in ("etc", "etc/atoll-escape", "up/tmp/atoll-escape", "root/tmp/atoll-escape", "magic", "folder/etc", "good", "file", "file/x", "pipe", "loop"):
            answer = api.raw("POST", "/api/sandbox/instances", json.dumps(
                {"template": "host", "internet": False, "volumes": [{"volume": "parts", "path": "/data", "subpath": subpath}]}),
                {"Content-Type": "application/json"})
            assert answer.status == 409 and "link or a file" in answer.json()["error"]["message"], (subpath, answer.body)
        assert not os.path.exists("/etc/atoll-escape") and not os.path.exists("/tmp/atoll-escape")
        with api.sandbox(internet=False, volumes=[{"volume": "parts", "path": "/data"}]) as sandbox:
            assert sorted(api.exec(sandbox, "ls -A /data /data/folder")["stdout"].split()) == sorted(
                "/data: etc file folder good loop magic pipe root up /data/folder: etc".split())
    finally:
        api.delete(f"{PATH}/parts")


def test_a_crowded_folder_is_listed_within_limits(api):
    api.post(PATH, {"name": "crowded"})
    with api.sandbox(internet=False, volume="crowded") as sandbox:
        made = api.exec(sandbox, "cd /workspace && seq 1 30000 | xargs touch && mkdir -p $(printf 'd/%.0s' $(seq 1 600))")
        assert made["exit_code"] == 0, made["stderr"]
    listed = api.get(f"{PATH}/crowded/files?path=&limit=1000")
    assert len(listed["items"]) == 1000 and listed["truncated"]
    assert len(api.get(f"{PATH}/crowded/files?path=")["items"]) == 30001
    assert api.get(f"{PATH}/crowded")["used_bytes"] == -1, "deeper than anybody counts"
    with api.sandbox(internet=False, volume="crowded") as sandbox:
        assert api.exec(sandbox, "rm -r /workspace/d")["exit_code"] == 0
    assert api.get(f"{PATH}/crowded")["used_bytes"] >= 0
    api.delete(f"{PATH}/crowded")


def test_another_projects_volume_is_not_found(api, server):
    api.post(PATH, {"name": "mine"})
    try:
        key = api.post("/api/sandbox/keys", {"name": "reader", "scopes": ["sandbox:read"]})["key"]
        reader = server.api(key)
        assert reader.get(f"{PATH}/mine")["name"] == "mine"
        for call in (lambda: reader.post(PATH, {"name": "x"}), lambda: reader.delete(f"{PATH}/mine"),
                     lambda: reader.call("PUT", f"{PATH}/mine/files/content?path=x", "x")):
            with pytest.raises(atoll.ApiError) as failure:
                call()
            assert failure.value.status == 403
        reader.close()
    finally:
        api.delete(f"{PATH}/mine")
