# SPDX-License-Identifier: Apache-2.0
"""A power cut: the database is from a little earlier than the data folder, since not every change waits for the disk.

The database is put back to a copy of a moment ago, after everything was killed: what was made since has files and no
row. docs/decisions/durability-of-commits.md.
"""

import os
import signal

import pytest

import atoll

pytestmark = pytest.mark.needs_root
ACQUIRE = {"key": "workspace:1", "template": "host", "internet": False}


def database(server):
    return server.data / "store" / "atoll.db"


def keep(server):
    """The file and its log, as they would be on the disk: the server runs on, so they are read until nothing has changed in between."""
    def read():
        files = {end: database(server).with_name(f"atoll.db{end}").read_bytes() for end in ("", "-wal")}
        # The file only says what has come to the disk in the database: a power cut leaves it no newer.
        return {**files, "/../pairing/store": (server.data / "pairing/store").read_bytes()}

    def whole():
        files = read()
        return files if files == read() else None
    return atoll.wait_for(whole, 15, "a copy of the database")


def put_back(server, files):
    for end, data in files.items():
        (database(server).parent / (end[1:] if end.startswith("/") else f"atoll.db{end}")).write_bytes(data)
    if os.path.exists(f"{database(server)}-shm"):
        os.unlink(f"{database(server)}-shm")


def test_what_the_database_has_forgotten_is_removed(private_server):
    private_server.start()
    api = private_server.api()
    kept = api.create(internet=False, persistent=True)["id"]
    api.exec(kept, "echo data > /home/user/data")
    copy = keep(private_server)
    orphan = api.create(internet=False, name="orphan")["id"]
    lost = api.post("/v1/leases/acquire", ACQUIRE)["sandbox_id"]
    os.killpg(private_server.process.pid, signal.SIGKILL)
    private_server.process.wait()
    private_server.process = None
    put_back(private_server, copy)
    private_server.start()
    api = private_server.api()
    assert {row["id"] for row in private_server.rows(api)} == {kept}
    host = atoll.Host(private_server.data)
    atoll.wait_for(lambda: set(host.files()) == {kept} and set(host.runs()) <= {kept}, 15,
                   f"only '{kept}', not '{orphan}' and '{lost}': {host.files()}, {host.runs()}")
    assert api.exec(kept, "cat /home/user/data")["stdout"] == "data\n"
    assert api.create(internet=False, name="orphan")["id"] != orphan
    assert api.post("/v1/leases/acquire", ACQUIRE)["sandbox_id"] != lost
