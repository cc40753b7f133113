# SPDX-License-Identifier: Apache-2.0
"""A storm of kill -9 at random moments of all that clients do (storm_client.py): create, exec, snapshot, fork, pause, resume, reset,
archive, backup, jobs, rules of the network, volumes and homes that are handed on, disks that grow, delete.

STORM_KILLS (24) is how many, a quarter of them in the world whose sandboxes have disks of their own; docs/operate/reliability.md tells what 500
gave. Afterwards nothing of ours is left, and whatever was answered with success is true: a file that was written is there, in its sandbox,
its snapshots and their backups, a volume has its content, a job its end, and what was deleted is gone.
"""

import collections
import contextlib
import glob
import os
import pathlib
import random
import re
import signal
import sqlite3
import threading
import time

import pytest

import atoll
import far
from storm_client import ARTIFACTS, BACKUPS, CALL_S, HAS_NETWORK, PATH, SNAPSHOTS, VOLUMES, WHOLE, Client
from test_volumes import loops_of

pytestmark = pytest.mark.needs_root
KILLS = int(os.environ.get("STORM_KILLS", "24"))
SEED = int(os.environ.get("STORM_SEED", "20261121"))
CLIENTS = 4
# The flags of its server, how many die, and more than how many calls succeed. A sandbox with a disk of its own has neither snapshots
# nor forks; the few that die around it may leave little time for any call.
WORLDS = {"layers": ([], KILLS, KILLS // 2), "disks": (["--disk-quota", "on"], KILLS // 4, 0)}
ROLES = {"api": 6, "broker": 6, "agent": 4, "broker's child": 5, "prepared": 2, "names": 1, "supervisor": 1}
# What is known of the past, or was there before.
HISTORIES = {"activity", "artifacts", "audit", "audit_checkpoints", "audit_head", "balances", "data_folders", "events", "events_of_all", "holdings", "jobs", "keys", "key_secrets", "members", "network_decisions", "once", "organizations", "peers",
             "projects", "server_keys", "snapshot_bases", "templates", "usage_log", "webhook_cursor"}


class Storm:
    def __init__(self, server, world):
        self.server, self.world = server, world
        _, self.kills, self.successes = WORLDS[world]
        self.failures, self.did = [], collections.Counter()
        self.killed = collections.Counter()
        self.over = False

    def going(self):
        return not self.over and not self.failures

    def agents(self):
        for state in glob.glob(f"{self.server.data}/run/sandboxes/*/state"):
            with contextlib.suppress(OSError, IndexError, ValueError):
                yield int(pathlib.Path(state).read_text().split()[2])

    def brokers_children(self):
        """Makers, and those who take a snapshot or remove files at this moment."""
        broker = self.server.pid_of("broker")
        with contextlib.suppress(OSError, TypeError):
            for pid in pathlib.Path(f"/proc/{broker}/task/{broker}/children").read_text().split():
                if pathlib.Path(f"/proc/{pid}/comm").read_text().startswith("atoll-broker"):
                    yield int(pid)

    def victims(self, role):
        if role == "agent":
            return list(self.agents())
        if role == "broker's child":
            return list(self.brokers_children())
        if role == "prepared":
            return sorted(set(atoll.Host(self.server.data).agents()) - set(self.agents()))
        if role == "supervisor":
            return [self.server.process.pid]
        return [pid for pid in [self.server.pid_of(role)] if pid]

    def kill_one(self, dice):
        role = dice.choices(list(ROLES), list(ROLES.values()))[0]
        victims = self.victims(role)
        if not victims:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(dice.choice(victims), signal.SIGKILL)
            self.killed[role] += 1
        if role == "supervisor":
            self.server.process.wait()
            self.server.log.close()
            self.server.start(wait=False)

    def killer(self):
        dice = random.Random(SEED)
        while self.going() and sum(self.killed.values()) < self.kills:
            time.sleep(dice.uniform(0.02, 0.35))
            self.kill_one(dice)
        self.over = True

    def run(self):
        clients = [Client(self, number, SEED) for number in range(CLIENTS)]
        threads = [threading.Thread(target=client.run) for client in clients]
        threads.append(threading.Thread(target=self.killer))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(self.kills * 2 + 2 * CALL_S)
            assert not thread.is_alive(), "a client hangs"
        return clients


def slots_of(server):
    """Ranges of slots that this server has claimed on the host."""
    return {int(os.path.basename(chunk)) for chunk in glob.glob("/run/atoll/chunks/*") if pathlib.Path(chunk).read_text() == str(server.data)}


def slots_left(chunks):
    """cgroups, interfaces and rules of the slots that a server had claimed on the host."""
    names = glob.glob("/sys/fs/cgroup/*/atoll/[sk]*") + glob.glob("/sys/fs/cgroup/atoll/s*") + glob.glob("/sys/class/net/atoll*")
    slots = [(name, re.fullmatch(r"(?:s|k|atoll)([0-9]+)", os.path.basename(name))) for name in names]
    with_rules = far.slots_with_rules() if HAS_NETWORK else ()
    return ([name for name, slot in slots if slot and int(slot[1]) // atoll.SLOTS in chunks]
            + [f"rules of slot {slot}" for slot in with_rules if slot // atoll.SLOTS in chunks])


def processes_left(server):
    """Whoever still has something of the data folder: its command line, its root, its mounts."""
    left, mark = [], str(server.data)
    for folder in glob.glob("/proc/[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in pathlib.Path(f"{folder}/cmdline").read_text(errors="replace"):
                left.append(folder)
            elif mark in pathlib.Path(f"{folder}/mountinfo").read_text(errors="replace"):
                left.append(folder)
    return left


def files_left(server):
    """What sandboxes, snapshots, volumes, backups and artifacts lie in, and what the gateway for names is told."""
    names = ("sandboxes", "snapshots", "volumes", "run/sandboxes", "run/names", "trash", "trash/kept")
    folders = [server.data / name for name in names]
    return ([str(file) for folder in folders if folder.exists() for file in folder.iterdir() if file.name != "kept"]
            + [str(file) for file in (server.data / "blobs").rglob("*") if file.is_file()])


def rows_left(server):
    """Of a server that has ended: {table: rows} of what is no history."""
    with contextlib.closing(sqlite3.connect(server.data / "store" / "atoll.db")) as store:
        tables = {name for name, in store.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")}
        # A deleted sandbox is history, too. Each start makes a link for the first user, of which the store keeps eight.
        living = {"sandboxes": "WHERE actual != 'deleted'", "invitations": "WHERE kind != 'setup'"}
        counts = {name: store.execute(f"SELECT count(*) FROM {name} {living.get(name, '')}").fetchone()[0] for name in tables - HISTORIES}
    return {name: count for name, count in counts.items() if count}


def artifacts_are_whole(server, api):
    """What is listed has its bytes, and no bytes are without a row."""
    listed = {row["id"]: row["size"] for row in api.get(f"{ARTIFACTS}?limit=1000")["items"]}
    there = {file.name: file.stat().st_size for file in (server.data / "blobs/artifacts").glob("*")}
    return listed == there


def remove_and_check(server):
    api, chunks = server.api(), slots_of(server)
    atoll.wait_for(lambda: artifacts_are_whole(server, api), 30, "artifacts and their bytes agree")
    for path in (PATH, SNAPSHOTS, BACKUPS, ARTIFACTS, VOLUMES):
        for row in api.get(f"{path}?limit=1000")["items"]:
            api.delete(f"{path}/{row['id']}")
    assert not api.get(f"{PATH}?limit=1000")["items"]
    api.close()
    # A sweep, once a minute, takes what a killed writer has left.
    atoll.wait_for(lambda: not files_left(server), 100, lambda: f"no file is left: {files_left(server)[:5]}")
    atoll.Host(server.data).wait_clean()
    server.stop()
    assert not rows_left(server), rows_left(server)
    atoll.wait_for(lambda: not slots_left(chunks), 30, lambda: f"cgroups, interfaces and rules are gone: {slots_left(chunks)[:5]}")
    atoll.wait_for(lambda: not processes_left(server), 30, lambda: f"no process is left: {processes_left(server)[:5]}")
    atoll.wait_for(lambda: not loops_of(server), 30, lambda: f"no loop device is left: {loops_of(server)}")
    assert not atoll.Host(server.data).mounts()


def settled(api):
    states = {row["state"] for row in api.get(f"{PATH}?limit=1000")["items"]}
    return states <= {*WHOLE, "failed"}


def need_disks(server):
    with contextlib.closing(server.api()) as api:
        made = api.create(internet=False, resources={"disk_mb": 32})
        api.remove(made["id"])
    if made["resources"]["disk_advisory"]:
        pytest.skip("this host has no loop devices: no sandbox has a disk of its own")


@pytest.mark.parametrize("world", WORLDS)
def test_a_storm_of_kills_leaks_nothing_and_loses_nothing(private_server, world):
    # A kill in the middle of a create leaves an orphan: nothing of it is to be left in the end.
    private_server.flags += [*WORLDS[world][0], "--orphans-keep", "0"]
    private_server.start()
    if world == "disks":
        need_disks(private_server)
    storm = Storm(private_server, world)
    clients = storm.run()
    print(f"{world}: seed {SEED}, killed {dict(storm.killed)}; {dict(storm.did)}")
    assert not storm.failures, storm.failures[:10]
    assert sum(storm.killed.values()) >= storm.kills
    private_server.wait_ready(30)
    api = private_server.api()
    atoll.wait_for(lambda: settled(api), 30, "every sandbox has come to rest")
    for client in clients:
        client.check(api)
        back = {row["id"] for row in api.get(f"{PATH}?limit=1000")["items"]} & client.deleted
        assert not back, f"deleted, and there again: {back}"
    assert storm.did["calls that succeeded"] > storm.successes
    remove_and_check(private_server)
