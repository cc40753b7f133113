# SPDX-License-Identifier: Apache-2.0
"""What a sandbox leaves in its files for those who pack them, and a stranger in an archive for those who unpack it."""

import hashlib
import io
import json
import os
import pathlib
import secrets
import subprocess
import tarfile

import pytest

import atoll

pytestmark = pytest.mark.needs_root
INSTANCES = "/api/sandbox/instances"
SNAPSHOTS = "/api/sandbox/snapshots"
BACKUPS = "/api/sandbox/backups"
STORED = 0x70000000  # docs/decisions/stored-file-ids.md


@pytest.fixture(scope="module")
def trap():
    marker = pathlib.Path("/var/tmp") / ("atoll-trap-" + secrets.token_hex(8))
    marker.write_text("only the host may read this\n")
    yield marker
    marker.unlink()


@pytest.fixture
def made(api):
    class Made:
        paths = []

        def snapshot(self, sandbox):
            taken = api.post(f"{INSTANCES}/{sandbox}/snapshot")["id"]
            self.paths.append(f"{SNAPSHOTS}/{taken}")
            return taken

        def export(self, snapshot):
            backup = api.post(f"{SNAPSHOTS}/{snapshot}/export")
            self.paths.append(f"{BACKUPS}/{backup['id']}")
            return atoll.wait_for(lambda: (found := api.get(self.paths[-1]))["state"] != "making" and found, 30, "the backup")

    Made.paths = []
    yield Made()
    for path in Made.paths:
        api.raw("DELETE", path)


def unpacked(api, backup):
    packed = api.raw("GET", f"{BACKUPS}/{backup['id']}/content").body
    plain = subprocess.run(["zstd", "-dcq"], input=packed, stdout=subprocess.PIPE, check=True).stdout
    return plain, tarfile.open(fileobj=io.BytesIO(plain))


def test_a_backup_holds_where_links_lead_and_nothing_of_it(api, made, trap):
    with api.sandbox(internet=False) as sandbox:
        done = api.exec(sandbox, f"cd /home/user; ln -s {trap} file; ln -s /var/tmp folder; ln -s / root; ln -s /proc/1/root magic; "
                                 f"ln -s ../../../../../../../var/tmp/{trap.name} relative; rm -rf /srv; ln -s /var/tmp /srv; "
                                 "mkfifo pipe; mknod null c 1 3 || true; mknod sda b 8 0 || true; "
                                 "setfattr -n trusted.overlay.opaque -v y . 2>/dev/null; setfattr -n trusted.overlay.redirect -v /etc . "
                                 "2>/dev/null; true", user="root")
        assert done["ok"], done
        plain, tar = unpacked(api, made.export(made.snapshot(sandbox)))
        assert b"only the host" not in plain and b"redirect" not in plain
        home = {member.name: member for member in tar}
        assert home["files/home/user/file"].linkname == str(trap) and home["files/srv"].issym()
        assert home["files/home/user/pipe"].isfifo()
        assert not any(member.name.startswith("files/home/user/folder/") for member in home.values())
        for member in home.values():
            assert not member.isblk() and not (member.ischr() and (member.devmajor, member.devminor) != (0, 0))


def test_what_cannot_be_packed_is_said_and_harms_nobody(api, made):
    with api.sandbox(internet=False) as sandbox:
        deep = "import os\nos.chdir('/home/user')\nfor i in range(400):\n    os.mkdir('d'); os.chdir('d')\n"
        api.write(sandbox, "/home/user/deep.py", deep)
        assert api.exec(sandbox, "python3 /home/user/deep.py")["ok"]
        backup = made.export(made.snapshot(sandbox))
        assert backup["state"] == "failed" and "deep" in backup["state_text"]
        done = api.exec(sandbox, "rm -r /home/user/d && for i in $(seq 80); do truncate -s 1G /home/user/huge$i; done")
        assert done["ok"], done
        backup = made.export(made.snapshot(sandbox))
        assert backup["state"] == "failed" and "larger than" in backup["state_text"] and "huge" in backup["state_text"]
        assert api.exec(sandbox, "echo alive")["stdout"] == "alive\n"


def test_a_strangers_set_uid_program_is_nobodys_on_the_host(server, api, made):
    raw = io.BytesIO()
    entries = [("files/home", tarfile.DIRTYPE, 0o755, b""), ("files/home/root-shell", tarfile.REGTYPE, 0o6755, b"#!/bin/sh\n")]
    about = {"format": "atoll-backup", "version": 1, "entries": 2, "bytes": 10, "template_digest": "host", "snapshot": {"template": "host"}}
    with tarfile.open(fileobj=raw, mode="w") as tar:
        def add(name, kind, mode, data):
            info = tarfile.TarInfo(name)
            info.type, info.mode, info.size = kind, mode, len(data)
            tar.addfile(info, io.BytesIO(data))
        add("manifest.json", tarfile.REGTYPE, 0o644, json.dumps(about).encode())
        for one in entries:
            add(*one)
        add("end.json", tarfile.REGTYPE, 0o644, json.dumps({"digest": digest(entries)}).encode())
    packed = subprocess.run(["zstd", "-q"], input=raw.getvalue(), stdout=subprocess.PIPE, check=True).stdout
    made.paths.append(f"{BACKUPS}/stranger")
    api.call("PUT", f"{BACKUPS}/stranger", packed)
    taken = api.post(f"{SNAPSHOTS}/import", {"backup": "stranger"})["id"]
    made.paths.append(f"{SNAPSHOTS}/{taken}")
    layer = server.data / "snapshots" / taken
    for path in [layer / "upper", *(layer / "upper").rglob("*")]:
        status = os.lstat(path)
        assert STORED <= status.st_uid <= STORED + 65536 and STORED <= status.st_gid <= STORED + 65536, path
    assert os.lstat(layer / "upper/home/root-shell").st_mode & 0o7777 == 0o6755
    assert os.stat(server.data / "snapshots").st_mode & 0o077 == 0


def digest(entries):
    """As src/image/backup_digest.c has it."""
    state = hashlib.blake2b(digest_size=32)
    for name, kind, mode, data in entries:
        numbers = [0o040000 if kind == tarfile.DIRTYPE else 0o100000, mode, 0, 0, len(data)]
        state.update(name.encode() + b"\0" + b"".join(n.to_bytes(8, "little") for n in numbers) + b"\0" + data)
    return state.hexdigest()
