# SPDX-License-Identifier: Apache-2.0
"""This build on the data folder of an older one, before pairing, leases' specifications and other tables: docs/operate/upgrade.md.

tests/system/older_data has the folder as text. A build of commit c9b9a076 (tables 36) made it: a volume, a stopped sandbox with it and
with an environment, a snapshot, a second key.
"""

import json
import os
import pathlib
import pwd
import sqlite3
import stat

import pytest

import atoll

pytestmark = pytest.mark.needs_root
OLDER = pathlib.Path(__file__).with_name("older_data")
BOX = "swtjtme4lnohx4px2rbo"
SERVERS_UID = 65534  # of the machine that made it


def own_user():
    """The user of the server's process here."""
    try:
        found = pwd.getpwnam("atoll")
    except KeyError:
        found = pwd.getpwnam("nobody")
    return found.pw_uid, found.pw_gid


def put_back(root, entry):
    path, mode = root / entry["path"], int(entry["mode"], 8)
    owner = own_user() if entry["uid"] == SERVERS_UID else (entry["uid"], entry["gid"])
    if stat.S_ISDIR(mode):
        path.mkdir(exist_ok=True)
    elif stat.S_ISLNK(mode):
        path.symlink_to(entry["link"])
    elif stat.S_ISCHR(mode):
        os.mknod(path, stat.S_IFCHR, 0)
    else:
        path.write_text(entry["text"])
    os.chown(path, *owner, follow_symlinks=False)
    if not stat.S_ISLNK(mode):
        path.chmod(stat.S_IMODE(mode))


def fill(root):
    for line in (OLDER / "files.jsonl").read_text().splitlines():
        put_back(root, json.loads(line))
    file = root / "store/atoll.db"
    with sqlite3.connect(file) as store:
        store.executescript((OLDER / "atoll.sql").read_text())
    store.close()
    os.chown(file, *own_user())


def tables(root):
    store = sqlite3.connect(f"file:{root}/store/atoll.db?mode=ro", uri=True)
    try:
        return store.execute("PRAGMA user_version").fetchone()[0]
    finally:
        store.close()


def test_an_older_data_folder_is_taken_over(private_server):
    fill(private_server.data)
    assert tables(private_server.data) == 36
    server = private_server.start()
    api = server.api()
    assert tables(server.data) == len(list((atoll.ROOT / "src/store/migrations").glob("*.sql")))
    assert [(row["id"], row["name"], row["state"]) for row in server.rows(api)] == [(BOX, "lab", "stopped")]
    assert {"other"} <= {key["name"] for key in api.get("/api/sandbox/keys")["items"]}
    api.post(f"/api/sandbox/instances/{BOX}/start")
    seen = api.exec(BOX, "cd /home/user; cat file top /data/file; echo $TOKEN; ls gone 2>&1 | wc -l; stat -c %U file")
    assert seen["stdout"] == "layer\ntop\nvolume\nsecret\n1\nuser\n"
    fork = api.create(internet=False, snapshot="first")["id"]
    assert api.exec(fork, "cd /home/user; cat file gone; ls top 2>&1 | wc -l")["stdout"] == "layer\ngone\n1\n"
    api.exec(BOX, "echo new > /data/new")
    server.stop()
    api = server.start().api()
    assert api.exec(BOX, "cat /data/new")["stdout"] == "new\n"


def test_a_newer_database_is_refused_and_not_changed(private_server):
    server = private_server.start()
    server.stop()
    file = server.data / "store/atoll.db"
    store = sqlite3.connect(file)
    known = store.execute("PRAGMA user_version").fetchone()[0]
    store.execute("PRAGMA user_version = 9999")
    store.close()
    with pytest.raises(AssertionError, match="is at version 9999, this program knows up to"):
        server.start()
    assert tables(server.data) == 9999
    store = sqlite3.connect(file)
    store.execute(f"PRAGMA user_version = {known}")
    store.close()
