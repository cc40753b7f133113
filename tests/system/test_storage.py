# SPDX-License-Identifier: Apache-2.0
"""Storage that is metered: files of a sandbox at rest, a volume, a snapshot, each measured where it lies. Rows are made older while
the server is away, since nothing is metered before it was there for a quarter of an hour."""

import contextlib
import sqlite3

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
HOURS_MS = 2 * 3600 * 1000
MIB_HOURS = 1024 * 730  # of a GiB-month


@pytest.fixture
def priced():
    server = atoll.Server(environment={"ATOLL_PRICE_STORAGE_GIB_MONTH": "730"}).start()
    yield server
    server.remove_all()


def make_older(server):
    with contextlib.closing(sqlite3.connect(server.data / "store" / "atoll.db")) as database, database:
        for table, column in (("volumes", "created_at"), ("snapshots", "created_at"), ("sandboxes", "active_changed_at")):
            database.execute(f"UPDATE {table} SET {column} = {column} - {HOURS_MS}")


def sums(api, group="reason"):
    return {item["group"]: item for item in api.get(f"/v1/usage?group_by={group}&from=2020-01-01")["items"]}


def write(api, sandbox, path, mib):
    api.exec(sandbox, f"dd if=/dev/urandom of={path} bs=1M count={mib} status=none && sync {path}")


def test_what_is_kept_is_measured_and_metered(priced):
    with contextlib.closing(priced.api()) as api:
        volume = api.post("/api/sandbox/volumes", {"name": "kept"})
        box = api.create(template="host", internet=False, volume="kept")["id"]
        write(api, box, "/workspace/file", 4)
        write(api, box, "/home/user/below", 8)
        api.post(f"{PATH}/{box}/snapshot", {"name": "shot"})
        write(api, box, "/home/user/above", 16)
        api.post(f"{PATH}/{box}/stop")
    priced.stop()
    make_older(priced)
    priced.start()
    with contextlib.closing(priced.api()) as api:
        atoll.wait_for(lambda: {"volume", "snapshot", "storage"} <= set(sums(api)), 30, "all of it is metered")
        found = sums(api)
        # Half an hour of each, and a little more for folders.
        for reason, mib in (("volume", 4), ("snapshot", 8), ("storage", 16)):
            mib_hours = found[reason]["storage_gib_months"] * MIB_HOURS
            assert mib * 0.5 <= mib_hours < (mib + 2) * 0.5, (reason, mib_hours)
            assert found[reason]["seconds"] == 0 and found[reason]["usd"] > 0
        by_sandbox = sums(api, "sandbox")
        assert by_sandbox[volume["id"]]["storage_gib_months"] == found["volume"]["storage_gib_months"]
        assert by_sandbox[box]["storage_gib_months"] > found["storage"]["storage_gib_months"]
        assert b"volume" in priced.cli("usage", "--by", "reason", "--csv").stdout
