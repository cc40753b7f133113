# SPDX-License-Identifier: Apache-2.0
"""A storm of kill -9 at random moments of create, exec, snapshot, fork, pause, resume, reset, archive, attach, delete.

STORM_KILLS (100) is how many; docs/reliability.md tells what 500 gave. Afterwards nothing of ours is left, and
whatever was answered with success is true: a file that was written is there, in its sandbox and in its
snapshots, a volume has its content, and what was deleted is gone.
"""

import collections
import contextlib
import glob
import http.client
import os
import pathlib
import random
import re
import signal
import threading
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
SNAPSHOTS = "/api/sandbox/snapshots"
VOLUMES = "/api/sandbox/volumes"
KILLS = int(os.environ.get("STORM_KILLS", "100"))
SEED = int(os.environ.get("STORM_SEED", "20261121"))
CLIENTS = 4
# A call that takes longer than this hangs.
CALL_S = 40
# What a caller may be told while processes die; anything else is a mistake.
# 429: two archives are being made already.
EXPECTED = (404, 409, 429, 500, 502, 503, 504)
WHOLE = ("started", "stopped", "paused", "archived")
BROKEN = (OSError, http.client.HTTPException)


class Box:
    """A sandbox of a client, and what the server has confirmed of it."""

    def __init__(self, name):
        self.id, self.name = name, name
        self.written = None   # the last confirmed content of /home/user/file
        self.unsure = set()   # contents that may be there instead: those calls were not answered
        self.origins = {None}  # what it may have begun with
        self.volume = None

    def becomes(self, possible):
        self.written, *rest = possible
        self.unsure = set(rest)


class Client:
    """Does one thing after another with a few sandboxes of its own."""

    def __init__(self, storm, number):
        self.storm, self.number = storm, number
        self.dice = random.Random(SEED + number)
        self.boxes, self.snapshots, self.turn = [], {}, 0
        self.deleted = set()
        self.doomed = []  # nobody has confirmed that they are deleted
        self.volume = f"volume-{number}"
        self.in_volume, self.unsure_in_volume = None, set()
        self.api = storm.server.api(timeout=CALL_S)

    def run(self):
        while self.storm.going():
            try:
                self.step()
                self.storm.did["calls that succeeded"] += 1
            except atoll.ApiError as error:
                if error.status not in EXPECTED:
                    self.storm.failures.append(f"client {self.number}: {error}")
                self.storm.did["calls that were refused"] += 1
            except TimeoutError:
                self.storm.failures.append(f"client {self.number}: a call hangs")
                self.api.close()
            except BROKEN:
                self.storm.did["calls that were cut off"] += 1
                self.api.close()
                time.sleep(0.02)
        self.api.close()

    def step(self):
        self.turn += 1
        if len(self.boxes) < 2:
            return self.create()
        actions = [self.write] * 3 + [self.pause, self.resume, self.snapshot, self.fork, self.restart, self.attach,
                                      self.roll_back, self.reset, self.archive, self.forget, self.delete, self.create]
        action = self.dice.choice(actions)
        self.storm.did[action.__name__] += 1
        return action(self.dice.choice(self.boxes))

    def create(self, _=None):
        if len(self.boxes) > 4:
            return self.delete(self.dice.choice(self.boxes))
        box = Box(f"box-{self.number}-{self.turn}")
        self.storm.did["create"] += 1
        box.id = self.api.create(name=box.name, internet=False, persistent=True)["id"]
        self.boxes.append(box)

    def write(self, box):
        text = f"{box.name} {self.turn}\n"
        box.unsure.add(text)
        # By another name first, as programs do that want all or nothing.
        command = f"printf '{text}' > /home/user/new && mv /home/user/new /home/user/file"
        if self.api.exec(box.id, command)["exit_code"] == 0:
            box.written, box.unsure = text, set()
        if box.volume:
            self.unsure_in_volume.add(text)
            if self.api.exec(box.id, f"printf '{text}' > /workspace/new && mv /workspace/new /workspace/file")["exit_code"] == 0:
                self.in_volume, self.unsure_in_volume = text, set()

    def pause(self, box):
        self.api.post(f"{PATH}/{box.id}/pause")

    def resume(self, box):
        self.api.post(f"{PATH}/{box.id}/resume")

    def restart(self, box):
        self.api.post(f"{PATH}/{box.id}/stop")
        self.api.post(f"{PATH}/{box.id}/start")

    def snapshot(self, box):
        possible = {box.written} | box.unsure
        if len(self.snapshots) < 8:
            taken = self.api.post(f"{PATH}/{box.id}/snapshot")["id"]
            self.snapshots[taken] = (box, possible)

    def fork(self, box):
        possible = {box.written} | box.unsure
        for item in self.api.post(f"{PATH}/{box.id}/fork", {"count": 2})["items"]:
            fork = Box(item["name"])
            fork.id, fork.origins = item["id"], possible
            fork.becomes(possible)
            self.boxes.append(fork)
            if len(self.boxes) > 5:
                self.delete(self.boxes[0])

    def roll_back(self, box):
        for taken, (owner, possible) in self.snapshots.items():
            if owner is box:
                box.unsure |= possible
                self.api.post(f"{SNAPSHOTS}/{taken}/restore")
                box.becomes(possible)
                return

    def reset(self, box):
        box.unsure |= box.origins
        self.api.post(f"{PATH}/{box.id}/reset")
        box.becomes(box.origins)

    def archive(self, box):
        self.api.post(f"{PATH}/{box.id}/stop")
        self.api.post(f"{PATH}/{box.id}/archive")
        self.api.post(f"{PATH}/{box.id}/start")

    def forget(self, _):
        for taken in list(self.snapshots)[:1]:
            del self.snapshots[taken]
            self.api.delete(f"{SNAPSHOTS}/{taken}")

    def attach(self, box):
        if self.in_volume is None and not self.unsure_in_volume:
            with contextlib.suppress(atoll.ApiError):
                self.api.post(VOLUMES, {"name": self.volume})
        self.api.post(f"{PATH}/{box.id}/stop")
        for other in self.boxes:
            if other.volume:
                self.api.post(f"{PATH}/{other.id}/stop")
                self.api.delete(f"{PATH}/{other.id}/volume")
                other.volume = None
        box.volume = self.volume
        self.api.post(f"{PATH}/{box.id}/volume", {"volume": self.volume})
        self.api.post(f"{PATH}/{box.id}/start")

    def delete(self, box):
        self.boxes.remove(box)
        self.doomed.append(box.id)
        self.api.remove(box.id)
        self.doomed.remove(box.id)
        self.deleted.add(box.id)

    # ---- afterwards, on a quiet server ----

    def check(self, api):
        # One that lives on may have the volume.
        for doomed in self.doomed:
            assert api.raw("DELETE", f"{PATH}/{doomed}").status in (200, 202, 204, 404)
        for box in self.boxes:
            self.check_box(api, box)
        for taken, (_, possible) in self.snapshots.items():
            row = api.get(f"{SNAPSHOTS}/{taken}")
            assert row["state"] == "ready", row
            made = api.post(PATH, {"snapshot": taken, "internet": False})["id"]
            self.expect(api, made, possible, f"snapshot {taken}")
            api.remove(made)
        if self.in_volume:
            for box in self.boxes:
                api.post(f"{PATH}/{box.id}/stop")
            answer = api.raw("GET", f"{VOLUMES}/{self.volume}/files/content?path=file")
            assert answer.body.decode() in {self.in_volume} | self.unsure_in_volume

    def check_box(self, api, box):
        state = api.get(f"{PATH}/{box.id}")["state"]
        assert state in WHOLE, f"{box.id}, which was made, is {state}"
        if state != "started":
            api.post(f"{PATH}/{box.id}/start")
        # The last one killed was its agent, which nobody had noticed yet: it is started again then.
        atoll.wait_for(lambda: self.is_as_expected(api, box), 15, f"{box.name} to answer")

    def is_as_expected(self, api, box):
        try:
            self.expect(api, box.id, {box.written} | box.unsure, box.name)
            return True
        except atoll.ApiError as error:
            assert error.status in (409, 503), error
        if api.get(f"{PATH}/{box.id}")["state"] != "started":
            api.post(f"{PATH}/{box.id}/start")
        return False

    @staticmethod
    def expect(api, sandbox, possible, what):
        result = api.exec(sandbox, "cat /home/user/file")
        content = result["stdout"] if result["exit_code"] == 0 else None
        assert content in possible, f"{what}: {content!r} is not one of {possible}"


class Storm:
    def __init__(self, server):
        self.server = server
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
        if role == "supervisor":
            return [self.server.process.pid]
        return [pid for pid in [self.server.pid_of(role)] if pid]

    def kill_one(self, dice):
        role = dice.choices(["api", "broker", "agent", "broker's child", "supervisor"], [6, 6, 4, 5, 1])[0]
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
        while self.going() and sum(self.killed.values()) < KILLS:
            time.sleep(dice.uniform(0.02, 0.35))
            self.kill_one(dice)
        self.over = True

    def run(self):
        clients = [Client(self, number) for number in range(CLIENTS)]
        threads = [threading.Thread(target=client.run) for client in clients]
        threads.append(threading.Thread(target=self.killer))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(KILLS * 2 + 2 * CALL_S)
            assert not thread.is_alive(), "a client hangs"
        return clients


def slots_left(server):
    """cgroups and interfaces of the slots that this server has claimed on the host."""
    claimed = [int(os.path.basename(chunk)) for chunk in glob.glob("/run/atoll/chunks/*")
               if pathlib.Path(chunk).read_text() == str(server.data)]
    names = glob.glob("/sys/fs/cgroup/*/atoll/[sk]*") + glob.glob("/sys/fs/cgroup/atoll/s*") + glob.glob("/sys/class/net/atoll*")
    slots = [(name, re.fullmatch(r"(?:s|k|atoll)([0-9]+)", os.path.basename(name))) for name in names]
    return [name for name, slot in slots if slot and int(slot[1]) // 1024 in claimed]


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


def remove_and_check(server, clients):
    api = server.api()
    for row in api.get(f"{PATH}?limit=1000")["items"]:
        api.remove(row["id"])
    for row in api.get(f"{SNAPSHOTS}?limit=1000")["items"]:
        api.delete(f"{SNAPSHOTS}/{row['id']}")
    for row in api.get(VOLUMES)["items"]:
        api.delete(f"{VOLUMES}/{row['id']}")
    assert not api.get(f"{PATH}?limit=1000")["items"]
    api.close()
    for folder in ("snapshots", "volumes"):
        atoll.wait_for(lambda: not os.listdir(server.data / folder), 30, f"no {folder} are left")  # noqa: B023
    atoll.Host(server.data).wait_clean()
    server.stop()
    atoll.wait_for(lambda: not slots_left(server), 30, f"cgroups and interfaces are gone: {slots_left(server)[:5]}")
    atoll.wait_for(lambda: not processes_left(server), 30, f"no process is left: {processes_left(server)[:5]}")
    assert not atoll.Host(server.data).mounts()


def settled(api):
    states = {row["state"] for row in api.get(f"{PATH}?limit=1000")["items"]}
    return states <= {*WHOLE, "failed"}


def test_a_storm_of_kills_leaks_nothing_and_loses_nothing(private_server):
    private_server.start()
    storm = Storm(private_server)
    clients = storm.run()
    print(f"killed {dict(storm.killed)}; {dict(storm.did)}")
    assert not storm.failures, storm.failures[:10]
    assert sum(storm.killed.values()) >= KILLS
    private_server.wait_ready(30)
    api = private_server.api()
    atoll.wait_for(lambda: settled(api), 30, "every sandbox has come to rest")
    for client in clients:
        client.check(api)
        back = {row["id"] for row in api.get(f"{PATH}?limit=1000")["items"]} & client.deleted
        assert not back, f"deleted, and there again: {back}"
    assert storm.did["calls that succeeded"] > KILLS
    remove_and_check(private_server, clients)
