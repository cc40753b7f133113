# SPDX-License-Identifier: Apache-2.0
"""Full backups: snapshots with their template, imported where that is not; and what is refused on the way."""

import contextlib
import io
import json
import os
import subprocess
import tarfile

import pytest

import atoll
import small_root
from test_archive import BACKUPS, PATH, SNAPSHOTS, entry, export, pack

pytestmark = pytest.mark.needs_root
TEMPLATES = "/api/sandbox/templates"


def sh(api, sandbox, command):
    answer = api.exec(sandbox, command, user="root")
    assert answer["ok"], answer
    return answer["stdout"]


def names(api):
    return {t["name"] for t in api.get(TEMPLATES)["items"]}


def folders(server):
    """Of templates, and what a failed import might leave there."""
    return {name for name in os.listdir(server.data / "templates") if not name.startswith((".base", "base"))}


def clear(api):
    for prefix in (PATH, SNAPSHOTS, BACKUPS):
        for row in api.get(prefix)["items"]:
            api.delete(f"{prefix}/{row['id']}")
    for template in api.get(TEMPLATES)["items"]:
        if template["project"]:
            api.delete(f"{TEMPLATES}/{template['id']}")


@pytest.fixture(scope="module")
def packed(server, tmp_path_factory):
    """A full backup, as a file: of a sandbox that changed, added and took away, on a template with settings."""
    folder = tmp_path_factory.mktemp("full")
    api = server.api()
    root = small_root.busybox(folder)
    (root / "etc" / "gone").write_text("of the template\n")
    (root / "opt" / "old").mkdir()
    (root / "opt" / "old" / "file").write_text("old\n")
    (root / "opt" / "power").write_text("#!/bin/sh\n")
    os.chmod(root / "opt" / "power", 0o4755)
    os.link(root / "opt" / "power", root / "opt" / "twin")
    api.call("POST", f"{TEMPLATES}/import?name=tiny&format=tar", small_root.as_tar(root, folder / "root.tar").read_bytes())
    api.post(TEMPLATES, {"name": "tiny-set", "from": "tiny", "env": {"COLOUR": "green"}, "workdir": "/opt", "ports": [8080]})
    with api.sandbox(template="tiny-set", internet=False) as sandbox:
        sh(api, sandbox, "printf mine > /opt/mine; chmod 4750 /opt/mine; ln /opt/mine /opt/same; rm /etc/gone; rm -r /opt/old; "
                         "mkdir /opt/old; printf new > /opt/old/new")
        snapshot = api.post(f"{PATH}/{sandbox}/snapshot", {"name": "whole"})["id"]
    small = export(api, snapshot)
    full = export(api, snapshot, full=True, name="full")
    assert full["full"] and not small["full"] and full["files_bytes"] > small["files_bytes"] + 100000
    body = api.raw("GET", f"{BACKUPS}/full/content").body
    clear(api)
    api.close()
    return body


def look(api, sandbox):
    """What the fixture did, and what of the template is below."""
    assert sh(api, sandbox, "cat /opt/mine /opt/old/new") == "minenew"
    assert sh(api, sandbox, "stat -c '%a %h' /opt/mine /opt/power") == "4750 2\n4755 2\n"
    assert sh(api, sandbox, "ls /etc/gone /opt/old/file 2>&1 || true").count("No such") == 2
    assert "busybox-test" in sh(api, sandbox, "cat /etc/os-release")


def test_it_is_imported_where_its_template_is_not(private_server, packed):
    private_server.start()
    api = private_server.api()
    brought = api.call("PUT", f"{BACKUPS}/brought", packed)
    assert brought["full"] and brought["template"] == "tiny-set"
    before = names(api)
    taken = api.post(f"{SNAPSHOTS}/import", {"backup": "brought", "name": "here"})
    made, = names(api) - before
    assert made.startswith("tiny-set-") and taken["template"] == made and taken["depth"] == 1
    with api.sandbox(snapshot="here", template=made, internet=False) as sandbox:
        look(api, sandbox)
        assert sh(api, sandbox, "printf $COLOUR; pwd") == "green/opt\n"
    with api.sandbox(template=made, internet=False) as sandbox:
        assert sh(api, sandbox, "cat /opt/old/file /etc/gone") == "old\nof the template\n"
    # Another import finds it; so does one of a backup that has no template in it.
    api.post(f"{SNAPSHOTS}/import", {"backup": "brought", "name": "again"})
    part = export(api, taken["id"], name="part")
    assert not part["full"]
    api.post(f"{SNAPSHOTS}/import", {"backup": "part", "name": "third"})
    assert names(api) == before | {made}
    clear(api)
    atoll.wait_for(lambda: folders(private_server) == set() and os.listdir(private_server.data / "snapshots") == [],
                   30, "nothing to be left")


def test_where_its_template_is_that_is_taken(server, api, packed, tmp_path):
    api.call("PUT", f"{BACKUPS}/brought", packed)
    api.post(f"{SNAPSHOTS}/import", {"backup": "brought", "name": "first", "template": "of-my-choice"})
    with pytest.raises(atoll.ApiError) as wrong:
        api.post(f"{SNAPSHOTS}/import", {"backup": "brought", "template": "host"})
    assert wrong.value.status == 409 and "other files" in wrong.value.message
    with api.sandbox(snapshot="first", template="of-my-choice", internet=False) as sandbox:
        look(api, sandbox)
        api.post(f"{PATH}/{sandbox}/snapshot", {"name": "second"})
    again = export(api, "second", full=True, name="again")
    before = names(api)
    taken = api.post(f"{SNAPSHOTS}/import", {"backup": again["id"], "name": "third"})
    assert taken["template"] == "of-my-choice" and names(api) == before
    for name in ("first", "second", "third"):
        api.delete(f"{SNAPSHOTS}/{name}")
    api.delete(f"{TEMPLATES}/of-my-choice")
    # One of the same name that has other files stays as it is.
    other = small_root.as_tar(small_root.busybox(tmp_path), tmp_path / "root.tar").read_bytes()
    api.call("POST", f"{TEMPLATES}/import?name=of-my-choice", other)
    taken = api.post(f"{SNAPSHOTS}/import", {"backup": again["id"], "name": "fourth"})
    assert taken["template"].startswith("of-my-choice-")
    with api.sandbox(snapshot="fourth", template=taken["template"], internet=False) as sandbox:
        look(api, sandbox)
    clear(api)
    atoll.wait_for(lambda: folders(server) == set(), 30, "no template to be left")


def test_its_template_alone_can_be_imported(server, api, packed):
    made = api.call("POST", f"{TEMPLATES}/import?name=alone&format=backup", packed)
    try:
        assert made["workdir"] == "/opt" and made["ports"] == [8080]
        with api.sandbox(template="alone", internet=False) as sandbox:
            assert sh(api, sandbox, "cat /opt/old/file; ls /opt") == "old\nold\npower\ntwin\n"
        for path in (server.data / "templates" / made["id"] / "rootfs").rglob("*"):
            assert path.lstat().st_uid < 65536
    finally:
        api.delete(f"{TEMPLATES}/alone")
    assert folders(server) == set()


def test_the_command_line_makes_one(server, api, packed, tmp_path):
    file, again = tmp_path / "in.tar.zst", tmp_path / "out.tar.zst"
    file.write_bytes(packed)
    for words in (("import", "--name", "heard", file), ("export", "--full", "heard", again)):
        ran = server.cli("snapshot", *words)
        assert ran.returncode == 0, ran.stderr
    plain = subprocess.run(["zstd", "-dcq"], input=again.read_bytes(), stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
        held = {member.name for member in tar}
        about = json.load(tar.extractfile("manifest.json"))
    assert about["full"] and about["version"] == 2 and about["snapshot"]["image"]["env"] == {"COLOUR": "green"}
    assert {"template/bin/busybox", "files/opt/mine"} <= held and "files/bin/busybox" not in held
    clear(api)


def test_the_machine_itself_is_in_no_backup(api, box):
    snapshot = api.post(f"{PATH}/{box}/snapshot")["id"]
    answer = api.raw("POST", f"{SNAPSHOTS}/{snapshot}/export", {"full": True})
    assert answer.status == 501 and "machine itself" in answer.json()["error"]["message"]
    assert api.get(BACKUPS)["items"] == []
    api.delete(f"{SNAPSHOTS}/{snapshot}")


FOLDER = {"type": tarfile.DIRTYPE, "mode": 0o755}
ROOT = [entry("template/", **FOLDER), entry("template/bin/", **FOLDER), entry("files/", **FOLDER)]
HOSTILE = {
    "leads out": ROOT + [entry("template/../../escape", b"x")],
    "through a link": ROOT + [entry("template/link", type=tarfile.SYMTYPE, linkname="/etc"), entry("template/link/escape", b"x")],
    "a hard link to the other part": ROOT + [entry("files/one", b"x"),
                                             entry("template/two", type=tarfile.LNKTYPE, linkname="files/one")],
    "a device": ROOT + [entry("template/null", type=tarfile.CHRTYPE, devmajor=1, devminor=3)],
    "what takes away": ROOT + [entry("template/gone", type=tarfile.CHRTYPE, devmajor=0, devminor=0)],
    "a folder that hides": ROOT + [entry("template/hides/", **FOLDER, pax_headers={"SCHILY.xattr.trusted.overlay.opaque": "y"})],
    "nobody's": ROOT + [entry("template/file", b"x", uid=70000)],
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_template_is_refused_and_leaves_nothing(server, api, what):
    body = pack(HOSTILE[what], {"version": 2, "full": True, "template_digest": "f" * 64})
    before = names(api)
    for path in (f"{BACKUPS}/evil", f"{TEMPLATES}/import?name=evil&format=backup"):
        answer = api.raw("PUT" if path.startswith(BACKUPS) else "POST", path, body)
        assert answer.status == 400, (path, answer.body)
    assert names(api) == before and api.get(BACKUPS)["items"] == []
    assert not os.path.exists("/escape") and not os.path.exists("/etc/escape")
    atoll.wait_for(lambda: folders(server) == set(), 30, "nothing to be left")


def test_one_that_is_damaged_or_lies_is_refused_and_leaves_nothing(server, api, packed):
    def refused(body):
        answer = api.raw("POST", f"{TEMPLATES}/import?name=evil&format=backup", body)
        assert answer.status in (400, 413), answer.body
        with contextlib.suppress(atoll.ApiError):
            api.delete(f"{BACKUPS}/evil")
        return answer.json()["error"]["message"]

    altered = bytearray(packed)
    altered[len(packed) // 2] ^= 0x10
    before = names(api)
    assert "backup" in refused(bytes(altered)) and "whole" in refused(packed[:len(packed) // 2])
    assert "not full" in refused(pack(ROOT[2:]))
    assert "version 1" in refused(pack(ROOT, {"full": True})) and "version 2" in refused(pack(ROOT, {"version": 2}))
    assert "MiB" in refused(pack(ROOT, {"version": 2, "full": True, "bytes": 1 << 45}))
    assert "no place" in api.raw("PUT", f"{BACKUPS}/evil", pack(ROOT)).json()["error"]["message"]
    assert names(api) == before and folders(server) == set()
    # Its own template is not the one that it says: nothing of it stays.
    plain = subprocess.run(["zstd", "-dcq"], input=packed, stdout=subprocess.PIPE, check=True).stdout
    other = subprocess.run(["zstd", "-q"], input=relabelled(plain), stdout=subprocess.PIPE, check=True).stdout
    api.call("PUT", f"{BACKUPS}/liar", other)
    with pytest.raises(atoll.ApiError) as wrong:
        api.post(f"{SNAPSHOTS}/import", {"backup": "liar"})
    assert wrong.value.status == 409 and "other files" in wrong.value.message
    clear(api)
    assert names(api) == before
    atoll.wait_for(lambda: folders(server) == set() and os.listdir(server.data / "snapshots") == [], 30, "nothing to be left")


def relabelled(plain):
    """The same files with the digest of another template."""
    out = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(plain)) as old, tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in old:
            data = old.extractfile(member).read() if member.isreg() else b""
            if member.name == "manifest.json":
                data = json.dumps({**json.loads(data), "template_digest": "0" * 64}).encode()
                member.size = len(data)
            new.addfile(member, io.BytesIO(data))
    return out.getvalue()
