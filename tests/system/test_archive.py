# SPDX-License-Identifier: Apache-2.0
"""Backups: snapshots to files of the blob store and back, and what is refused on the way."""

import hashlib
import io
import json
import os
import subprocess
import tarfile

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
SNAPSHOTS = "/api/sandbox/snapshots"
BACKUPS = "/api/sandbox/backups"
MAKE = r"""
set -e
cd /home/user
printf mine > mine; chmod 4750 mine; ln mine twin; ln -s ../mine link
mkdir -p deep/er; printf x > deep/er/file; mkfifo pipe; touch -d 2001-02-03T04:05:06Z old
truncate -s 3M sparse; printf end >> sparse
printf n > "$(printf 'a\377b\nc')"
rm -r /opt /srv; mkdir /opt; printf o > /opt/own
chown -R 1000:1000 deep
"""
LOOK = r"""cd /; find home opt srv -printf '%p %y %m %U:%G %s %n %l %T@\n' 2>&1 |
LC_ALL=C sort | LC_ALL=C tr -c '[:print:]\n' X; cat home/user/mine opt/own"""


def out(api, sandbox, command):
    answer = api.exec(sandbox, command, user="root")
    assert answer["ok"], answer
    return answer["stdout"]


def wait_ready(api, backup):
    def ended():
        found = api.get(f"{BACKUPS}/{backup['id']}")
        return found if found["state"] != "making" else None
    found = atoll.wait_for(ended, 30, "the backup")
    assert found["state"] == "ready", found
    return found


def export(api, snapshot, **body):
    return wait_ready(api, api.post(f"{SNAPSHOTS}/{snapshot}/export", body))


def left(server):
    blobs = {str(p.relative_to(server.data)) for p in (server.data / "blobs/backups").rglob("*") if p.is_file()}
    return blobs, set(os.listdir(server.data / "snapshots"))


@pytest.fixture
def clean(server, api):
    """What a test makes goes again, and nothing else is left."""
    class Made:
        boxes, snapshots, backups = [], [], []

        def box(self, **options):
            options.setdefault("internet", False)
            self.boxes.append(api.create(**options)["id"])
            return self.boxes[-1]

        def snapshot(self, box, **body):
            taken = api.post(f"{PATH}/{box}/snapshot", body)
            self.snapshots.append(taken["id"])
            return taken["id"]

        def export(self, snapshot, **body):
            made = export(api, snapshot, **body)
            self.backups.append(made["id"])
            return made

        def load(self, **body):
            taken = api.post(f"{SNAPSHOTS}/import", body)
            self.snapshots.append(taken["id"])
            return taken

    before = left(server)
    made = Made()
    made.boxes, made.snapshots, made.backups = [], [], []
    yield made
    for prefix, names in ((PATH, made.boxes), (SNAPSHOTS, made.snapshots), (BACKUPS, made.backups)):
        for name in names:
            try:
                api.delete(f"{prefix}/{name}")
            except atoll.ApiError as gone:
                assert gone.status == 404
    atoll.wait_for(lambda: left(server) == before, 30, f"nothing to be left: {left(server)}, before {before}")


def test_a_snapshot_comes_back_from_its_backup_with_all_that_its_files_are(server, api, clean):
    box = clean.box()
    out(api, box, "printf low > /opt/low; mkdir /home/user/gone; printf 1 > /home/user/gone/one")
    clean.snapshot(box)
    out(api, box, MAKE + "rm -r gone")
    snapshot = clean.snapshot(box, name="worth-keeping")
    looked = out(api, box, LOOK)
    backup = clean.export(snapshot, name="kept")
    assert backup["name"] == "kept" and backup["snapshot_name"] == "worth-keeping" and backup["template"] == "host"
    assert backup["files"] > 10 and backup["files_bytes"] > 3 << 20 > backup["size"] > 200
    told = api.get("/v1/events?kind=backup.*&limit=1000")["items"]
    assert [e["kind"] for e in told if e["text"] == "kept"] == ["backup.ready"]
    api.remove(box)
    api.delete(f"{SNAPSHOTS}/{snapshot}")
    taken = clean.load(backup="kept", name="back")
    assert taken["state"] == "ready" and taken["method"] == "import" and taken["depth"] == 1
    again = clean.box(snapshot="back")
    assert out(api, again, LOOK).splitlines() == looked.splitlines()
    blocks = out(api, again, "stat -c %b /home/user/sparse")
    assert int(blocks) * 512 < 1 << 20


def test_a_snapshot_says_which_backups_it_has_and_a_backup_of_what_it_is(server, api, clean):
    with api.sandbox(internet=False) as box:
        plain = api.post(f"{PATH}/{box}/snapshot", {"name": "plain"})
        assert plain["backup"] is False and plain["backups"] == []
        taken = api.post(f"{PATH}/{box}/snapshot", {"name": "kept-twice", "backup": True})
    clean.snapshots += [plain["id"], taken["id"]]
    (begun,) = taken["backups"]
    made = wait_ready(api, api.get(f"{BACKUPS}/{begun['id']}"))
    assert (made["snapshot"], made["snapshot_name"], made["blob"]) == (taken["id"], "kept-twice", begun["blob"])
    assert (server.data / "blobs" / made["blob"]).stat().st_size == made["size"]
    ready = {"id": made["id"], "name": made["id"], "state": "ready", "blob": made["blob"]}
    shown = api.get(f"{SNAPSHOTS}/kept-twice")
    assert shown["backup"] is True and shown["backups"] == [ready]
    listed = {item["name"]: (item["backup"], item["backups"]) for item in api.get(SNAPSHOTS)["items"]}
    assert listed["kept-twice"] == (True, [ready]) and listed["plain"] == (False, [])
    table = server.cli("snapshot", "ls").stdout.decode().splitlines()
    assert ["yes" in line.split() for line in table if "kept-twice" in line or "plain" in line] == [True, False]
    api.delete(f"{BACKUPS}/{made['id']}")
    assert api.get(f"{SNAPSHOTS}/kept-twice")["backups"] == []


def test_a_backup_that_cannot_begin_is_refused_before_a_snapshot_is_taken(server, api, clean):
    box, blobs = clean.box(), server.data / "blobs"
    before = api.get("/v1/events?last=1")["items"][0]["sequence"]
    mode = blobs.stat().st_mode
    blobs.chmod(0o500)
    try:
        with pytest.raises(atoll.ApiError) as refused:
            api.post(f"{PATH}/{box}/snapshot", {"name": "wished-for", "backup": True})
    finally:
        blobs.chmod(mode)
    assert "backup" in refused.value.message, refused.value
    assert [e["kind"] for e in api.get(f"/v1/events?after={before}")["items"] if e["kind"].startswith("s")] == []
    assert not [item for item in api.get(BACKUPS)["items"] if item["state"] == "making"]
    # The other way round: no snapshot, no backup, and its turn is given back.
    for _ in range(3):
        with pytest.raises(atoll.ApiError) as refused:
            api.post(f"{PATH}/{box}/snapshot", {"backup": True, "memory": True})
        assert refused.value.status == 501, refused.value
    taken = api.post(f"{PATH}/{box}/snapshot", {"name": "wished-for", "backup": True})
    clean.snapshots.append(taken["id"])
    clean.backups.append(wait_ready(api, api.get(f"{BACKUPS}/{taken['backups'][0]['id']}"))["id"])


def test_a_part_of_a_backup_is_fetched(api, clean):
    box = clean.box()
    out(api, box, "head -c 300000 /dev/urandom > /home/user/random")
    backup = clean.export(clean.snapshot(box))
    path = f"{BACKUPS}/{backup['id']}/content"
    whole, size = api.raw("GET", path), backup["size"]
    tag = whole.headers["ETag"]
    assert whole.status == 200 and whole.headers["Accept-Ranges"] == "bytes" and tag == f'"{backup["sha256"]}"'
    for text, first, last in (("bytes=0-99", 0, 99), ("bytes=1000-", 1000, size - 1), (f"bytes={size - 1}-", size - 1, size - 1),
                              ("bytes=70000-900000000000", 70000, size - 1), ("bytes=65530-65541", 65530, 65541)):
        part = api.raw("GET", path, None, {"Range": text})
        assert part.status == 206 and part.body == whole.body[first:last + 1], text
        assert part.headers["Content-Range"] == f"bytes {first}-{last}/{size}" and part.headers["ETag"] == tag
        assert int(part.headers["Content-Length"]) == last - first + 1
    for odd in ("bytes=-5", "bytes=9-5", "items=0-5", "bytes=a-", "bytes=0-1,4-5"):
        assert api.raw("GET", path, None, {"Range": odd}).status == 200, odd
    assert api.raw("GET", path, None, {"Range": "bytes=5-", "If-Range": tag}).status == 206
    other = api.raw("GET", path, None, {"Range": "bytes=5-", "If-Range": '"another"'})
    assert other.status == 200 and other.body == whole.body
    assert api.raw("GET", path, None, {"Range": f"bytes={size}-"}).headers["Content-Range"] == f"bytes */{size}"
    for behind in (f"bytes={size}-", f"bytes={size + 10}-{size + 20}"):
        with pytest.raises(atoll.ApiError) as refused:
            api.call("GET", path, None, {"Range": behind})
        assert refused.value.status == 416 and "behind the end" in refused.value.message


def test_a_backup_is_fetched_and_brought(server, api, clean):
    box = clean.box()
    out(api, box, "head -c 2000000 /dev/urandom > /home/user/random; sha256sum /home/user/random > /home/user/sum")
    snapshot = clean.snapshot(box)
    backup = clean.export(snapshot)
    answer = api.raw("GET", f"{BACKUPS}/{backup['id']}/content")
    assert answer.status == 200 and len(answer.body) == backup["size"]
    assert hashlib.sha256(answer.body).hexdigest() == backup["sha256"] == answer.headers["X-Checksum-Sha256"]
    api.delete(f"{BACKUPS}/{backup['id']}")
    with pytest.raises(atoll.ApiError) as refused:
        api.get(f"{BACKUPS}/{backup['id']}/content")
    assert refused.value.status == 404
    with pytest.raises(atoll.ApiError) as refused:
        api.call("PUT", f"{BACKUPS}/brought?sha256={'0' * 64}", answer.body)
    assert refused.value.status == 400 and "sha256" in str(refused.value)
    brought = api.call("PUT", f"{BACKUPS}/brought?sha256={backup['sha256']}", answer.body)
    clean.backups.append(brought["id"])
    for same in ("sha256", "size", "files", "files_bytes", "snapshot", "template"):
        assert brought[same] == backup[same]
    # Whoever packed it may say so, but that makes it no backup of the snapshot that is here.
    shown = api.get(f"{SNAPSHOTS}/{snapshot}")
    assert shown["backup"] is False and shown["backups"] == []
    assert [item["name"] for item in api.get(BACKUPS)["items"]] == ["brought"]
    with pytest.raises(atoll.ApiError) as refused:
        api.call("PUT", f"{BACKUPS}/brought", answer.body)
    assert refused.value.status == 409
    again = clean.box(snapshot=clean.load(backup="brought")["id"])
    out(api, again, "sha256sum -c /home/user/sum")


def pack(entries, manifest=None, end=True):
    """A backup by another hand: [(TarInfo, bytes)]."""
    raw = io.BytesIO()
    size = sum(len(data) for _, data in entries)
    about = {"format": "atoll-backup", "version": 1, "entries": len(entries), "bytes": size,
             "template_digest": "host", "snapshot": {"template": "host"}, **(manifest or {})}
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        def add(info, data):
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        add(tarfile.TarInfo("manifest.json"), json.dumps(about).encode())
        for info, data in entries:
            add(info, data)
        if end:
            add(tarfile.TarInfo("end.json"), json.dumps({"digest": "0" * 64}).encode())
    return subprocess.run(["zstd", "-q"], input=raw.getvalue(), stdout=subprocess.PIPE, check=True).stdout


def entry(name, data=b"", **fields):
    info = tarfile.TarInfo(name)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, data


DEVICE = {"type": tarfile.CHRTYPE, "devmajor": 1, "devminor": 3}
HOSTILE = {
    "leads out": [entry("files/../../escape", b"x")],
    "absolute": [entry("files//etc/passwd", b"x")],
    "no place": [entry("other/file", b"x")],
    "a link to the host's files": [entry("files/link", type=tarfile.SYMTYPE, linkname="/etc"),
                                   entry("files/link/escape", b"x")],
    "a hard link outside": [entry("files/hard", type=tarfile.LNKTYPE, linkname="files/../../../etc/passwd")],
    "a hard link to nowhere": [entry("files/hard", type=tarfile.LNKTYPE, linkname="manifest.json")],
    "a device": [entry("files/null", **DEVICE)],
    "a disk": [entry("files/sda", type=tarfile.BLKTYPE, devmajor=8, devminor=0)],
    "nobody's": [entry("files/file", b"x", uid=70000)],
    "the host's root by a negative": [entry("files/file", b"x", pax_headers={"uid": "-1879048192"})],
    "an attribute of the kernel's": [entry("files/file", b"x", pax_headers={
        "SCHILY.xattr.trusted.overlay.redirect": "/etc"})],
    "a file that hides": [entry("files/file", b"x", pax_headers={"SCHILY.xattr.trusted.overlay.opaque": "y"})],
    "deep": [entry("files/" + "a/" * 300 + "b", b"x")],
}


def refused(api, server, name, body):
    """Brought or, if its files are looked at first then, imported."""
    before = left(server)
    answer = api.raw("PUT", f"{BACKUPS}/{name}", body)
    if answer.status < 400:
        answer = api.raw("POST", f"{SNAPSHOTS}/import", {"backup": name})
        api.delete(f"{BACKUPS}/{name}")
    assert answer.status in (400, 409, 413), (name, answer.status, answer.body)
    assert api.get(BACKUPS)["items"] == [] and api.get(SNAPSHOTS)["items"] == []
    atoll.wait_for(lambda: left(server) == before, 30, "nothing to be left")
    return answer.json()["error"]["message"]


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_backup_is_refused_and_leaves_nothing(server, api, clean, what):
    refused(api, server, "evil", pack(HOSTILE[what]))
    assert not os.path.exists("/escape") and not os.path.exists("/etc/escape")


def test_one_that_is_cut_off_or_altered_or_lies_is_refused(server, api, clean):
    box = clean.box()
    out(api, box, "head -c 300000 /dev/urandom > /home/user/random")
    snapshot = clean.snapshot(box)
    backup = export(api, snapshot)
    good = api.raw("GET", f"{BACKUPS}/{backup['id']}/content").body
    for one in (f"{BACKUPS}/{backup['id']}", f"{PATH}/{box}", f"{SNAPSHOTS}/{snapshot}"):
        api.delete(one)
    atoll.wait_for(lambda: not os.listdir(server.data / "snapshots"), 30, "the layer to go")
    assert "whole" in refused(api, server, "cut", good[:len(good) // 2])
    altered = bytearray(good)
    altered[len(good) // 2] ^= 0x10
    assert "not those that were packed" in refused(api, server, "altered", bytes(altered))
    assert "whole" in refused(api, server, "empty", b"")
    assert "whole" in refused(api, server, "text", b"no backup at all" * 1000)
    file = [entry("files/file", b"x" * 100)]
    assert "more than its 10 bytes" in refused(api, server, "bomb", pack(file, {"bytes": 10}))
    assert "manifest says" in refused(api, server, "less", pack(file, {"bytes": 1000}))
    assert "more than its 1 files" in refused(api, server, "more", pack(2 * file, {"entries": 1}))
    assert "MiB" in refused(api, server, "huge", pack(file, {"bytes": 1 << 50}))
    assert "end.json" in refused(api, server, "endless", pack(file, end=False))
    assert "version 3" in api.raw("PUT", f"{BACKUPS}/later", pack(file, {"version": 3})).json()["error"]["message"]
    assert "format" in refused(api, server, "foreign", pack(file, {"format": "other"}))


def test_a_backup_needs_a_template_with_the_same_files(server, api, clean):
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as root:
        for name in ("bin", "usr", "etc", "tmp"):
            info = tarfile.TarInfo(name)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            root.addfile(info)
    api.call("POST", "/api/sandbox/templates/import?name=other-files", tar.getvalue())
    try:
        backup = clean.export(clean.snapshot(clean.box()))
        with pytest.raises(atoll.ApiError) as wrong:
            api.post(f"{SNAPSHOTS}/import", {"backup": backup["id"], "template": "other-files"})
        assert wrong.value.status == 409 and "other files" in str(wrong.value)
        with pytest.raises(atoll.ApiError) as wrong:
            api.post(f"{SNAPSHOTS}/import", {"backup": backup["id"], "template": "nowhere"})
        assert wrong.value.status == 404
    finally:
        api.delete("/api/sandbox/templates/other-files")


def test_one_that_is_being_made_is_given_up_when_it_is_removed(server, api, clean):
    box = clean.box(resources={"disk_mb": 4096})
    out(api, box, "head -c 150000000 /dev/urandom > /home/user/random")
    snapshot = clean.snapshot(box)
    begun = [api.post(f"{SNAPSHOTS}/{snapshot}/export", {"name": name}) for name in ("one", "two", "three")]
    clean.backups += [one["id"] for one in begun]
    # Two are worked on at once; the third waits.
    assert {one["state"] for one in begun} == {"making"}
    with pytest.raises(atoll.ApiError) as early:
        api.post(f"{SNAPSHOTS}/import", {"backup": "one"})
    assert early.value.status == 409
    for one in begun:
        api.delete(f"{BACKUPS}/{one['id']}")
    atoll.wait_for(lambda: api.get(BACKUPS)["items"] == [], 20, "the backups to be given up")


def test_the_command_line_exports_imports_and_lists(server, api, clean, tmp_path):
    def run(*words):
        ran = server.cli(*words)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.decode()

    box = clean.box()
    out(api, box, "printf told > /home/user/told")
    clean.snapshot(box, name="spoken")
    file = tmp_path / "spoken.tar.zst"
    assert "spoken" in run("snapshot", "export", "--name", "word", "spoken", file)
    clean.backups.append("word")
    assert file.read_bytes() == api.raw("GET", f"{BACKUPS}/word/content").body
    assert "word" in run("snapshot", "backups")
    run("snapshot", "import", "--name", "heard", file)
    clean.snapshots.append("heard")
    assert [item["name"] for item in api.get(BACKUPS)["items"]] == ["word"]
    again = clean.box(snapshot="heard")
    assert out(api, again, "cat /home/user/told") == "told"
    run("snapshot", "import", "--name", "stored", "word")
    clean.snapshots.append("stored")
    assert server.cli("snapshot", "import", "nothing-of-that-name").returncode != 0
    run("stop", again)
    run("archive", again)
    assert api.get(f"{PATH}/{again}")["state"] == "archived"
    run("start", again)


def test_a_provider_without_snapshots_refuses_by_name():
    server = atoll.Server(provider="null").start()
    try:
        api = server.api()
        for method, path, body in (("POST", f"{SNAPSHOTS}/x/export", {}), ("PUT", f"{BACKUPS}/x", b"x"),
                                   ("POST", f"{SNAPSHOTS}/import", {"backup": "x"}),
                                   ("POST", f"{PATH}/x/archive", {}), ("POST", PATH, {"autoArchiveMs": 1000})):
            answer = api.raw(method, path, body)
            assert answer.status == 501 and "null" in answer.json()["error"]["message"]
    finally:
        server.remove_all()


def test_memory_is_refused_with_what_is_missing(server, api, box):
    answer = api.raw("POST", f"{PATH}/{box}/snapshot", {"memory": True})
    assert answer.status == 501
    said = answer.json()["error"]["message"]
    assert "criu" in said.lower()
    checks = {check["name"]: check for check in json.loads(server.cli("doctor", "--json").stdout)["checks"]}
    assert said.startswith("provider 'native': memory cannot be kept: ")
    if checks["CRIU"]["verdict"] == "ok":
        assert "but no sandbox" in said and f"Linux {os.uname().release[:32]}" in said
    else:
        assert said.endswith(checks["CRIU"]["found"])
    assert api.raw("POST", f"{PATH}/{box}/snapshot", {"memory": True}).json()["error"]["message"] == said
    assert api.get(SNAPSHOTS)["items"] == []


def archived(server, api, box):
    """Its files are in the blob store, and nowhere else."""
    assert api.get(f"{PATH}/{box}")["state"] == "archived"
    assert not (server.data / "sandboxes" / box).exists()
    assert os.listdir(server.data / "snapshots") == []


def test_an_archived_sandbox_has_no_files_here_and_comes_back_by_a_start(server, api, clean):
    box = clean.box(persistent=True, name="resting")
    out(api, box, "printf low > /opt/low")
    out(api, box, MAKE)
    looked = out(api, box, LOOK)
    with pytest.raises(atoll.ApiError) as running:
        api.post(f"{PATH}/{box}/archive")
    assert running.value.status == 409 and "cannot be archived" in str(running.value)
    api.post(f"{PATH}/{box}/stop")
    assert api.post(f"{PATH}/{box}/archive")["state"] == "archived"
    assert api.post(f"{PATH}/{box}/archive")["state"] == "archived"
    atoll.wait_for(lambda: os.listdir(server.data / "snapshots") == [], 30, "the layers to go")
    archived(server, api, box)
    assert "archived: " in api.get(f"{PATH}/{box}")["last_event"]["text"]
    assert api.get(BACKUPS)["items"] == [] and len(left(server)[0]) == 1
    with pytest.raises(atoll.ApiError) as asleep:
        api.exec(box, "true")
    assert asleep.value.status == 409 and "archived" in str(asleep.value)
    assert api.post(f"{PATH}/{box}/start")["state"] == "started"
    assert out(api, box, LOOK).splitlines() == looked.splitlines()
    atoll.wait_for(lambda: left(server)[0] == set(), 30, "the archive to go")
    api.post(f"{PATH}/{box}/stop")
    api.post(f"{PATH}/{box}/start")
    assert out(api, box, "cat /opt/own") == "o"


def test_a_deleted_one_takes_its_archive_along(server, api, clean):
    box = clean.box(persistent=True)
    api.post(f"{PATH}/{box}/stop")
    api.post(f"{PATH}/{box}/archive")
    blob, = (name.split("/")[-1].split(".")[0] for name in left(server)[0])
    with pytest.raises(atoll.ApiError) as held:
        api.delete(f"{BACKUPS}/{blob}")
    assert held.value.status == 409
    api.remove(box)
    assert left(server)[0] == set()


def test_what_was_stopped_for_long_is_archived_by_itself(server, api, clean):
    box = clean.box(persistent=True, autoArchiveMs=300)
    assert api.get(f"{PATH}/{box}")["autoArchiveMs"] == 300
    out(api, box, "printf kept > /home/user/kept")
    api.post(f"{PATH}/{box}/stop")
    atoll.wait_for(lambda: api.get(f"{PATH}/{box}")["state"] == "archived", 20, "the sandbox to be archived")
    api.post(f"{PATH}/{box}/start")
    assert out(api, box, "cat /home/user/kept") == "kept"


def test_an_archive_that_is_damaged_keeps_the_sandbox_archived(server, api, clean):
    box = clean.box(persistent=True)
    out(api, box, "head -c 100000 /dev/urandom > /home/user/random")
    api.post(f"{PATH}/{box}/stop")
    api.post(f"{PATH}/{box}/archive")
    path, = (server.data / name for name in left(server)[0])
    whole = path.read_bytes()
    path.write_bytes(whole[:1000])
    assert api.raw("POST", f"{PATH}/{box}/start", {}).status >= 400
    assert api.get(f"{PATH}/{box}")["state"] == "archived"
    path.write_bytes(whole)
    assert api.post(f"{PATH}/{box}/start")["state"] == "started"
    out(api, box, "test $(stat -c %s /home/user/random) = 100000")
