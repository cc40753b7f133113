# SPDX-License-Identifier: Apache-2.0
"""A client of the storm: what it does with sandboxes, volumes, backups and jobs of its own, and what has to be true of them afterwards."""

import contextlib
import http.client
import json
import random
import shutil
import time

import atoll
import far

PATH = "/api/sandbox/instances"
SNAPSHOTS = "/api/sandbox/snapshots"
VOLUMES = "/api/sandbox/volumes"
BACKUPS = "/api/sandbox/backups"
ARTIFACTS = "/api/sandbox/artifacts"
# A call that takes longer than this hangs.
CALL_S = 40
# What a caller may be told while processes die; anything else is a mistake.
# 429: two archives, or backups, are being made already.
EXPECTED = (404, 409, 429, 500, 502, 503, 504)
WHOLE = ("started", "stopped", "paused", "archived")
BROKEN = (OSError, http.client.HTTPException)
HAS_NETWORK = bool(shutil.which("nft") and shutil.which("ip"))
RULES = [{"allow": [], "deny": []}, {"allow": [], "deny": ["198.18.255.2"]},
         {"allow": ["198.18.255.1"], "deny": ["0.0.0.0/0"]}, {"allow": ["198.18.255.1", "example.com"], "deny": ["0.0.0.0/0"]}]
# Root's, so that a home, which is a volume, lies elsewhere.
FILE = "/opt/storm"
DISK_MB, DISK_MB_MAX = 32, 128


class Fact:
    """What the server has confirmed of something, and what may be so instead: those calls were not answered."""

    def __init__(self, *possible):
        self.written, self.unsure = None, set()
        self.becomes(possible or [None])

    def may_be(self, *possible):
        self.unsure |= set(possible)

    def becomes(self, possible):
        self.written, *rest = possible
        self.unsure = set(rest)

    def possible(self):
        return {self.written} | self.unsure


class Box:
    """A sandbox of a client."""

    def __init__(self, name):
        self.id, self.name = name, name
        self.content = Fact()
        self.origins = {None}  # what its file may have begun with
        self.volume = self.home = self.internet = False
        self.rules = Fact(json.dumps(RULES[0]))
        self.disk_mb = Fact(DISK_MB)


def copy_to(path, text):
    """By another name first, as programs do that want all or nothing."""
    return f"printf '{text}' > {path}.new && mv {path}.new {path}"


class Client:
    """Does one thing after another."""

    COMMON = ["write"] * 4 + ["pause", "resume", "restart", "attach", "attach_running", "job", "rules", "delete", "clean", "create"]
    ACTIONS = {"layers": COMMON + ["snapshot", "fork", "roll_back", "reset", "archive", "forget", "export", "bring", "drop"],
               "disks": COMMON + ["grow"] * 2}

    def __init__(self, storm, number, seed):
        self.storm, self.number = storm, number
        self.actions = self.ACTIONS[storm.world]
        self.dice = random.Random(seed + number)
        self.boxes, self.snapshots, self.backups, self.jobs, self.turn = [], {}, {}, {}, 0
        self.deleted = set()
        self.doomed = []  # ids and names of what nobody has confirmed: neither that it was made, nor that it was deleted
        self.volume, self.home = f"volume-{number}", f"client-{number}"
        self.is_limited = bool(number % 2)  # its volumes have a size, and so a disk
        self.contents = {self.volume: Fact(), f"home-{self.home}": Fact()}
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
        action = self.dice.choice(self.actions)
        self.storm.did[action] += 1
        return getattr(self, action)(self.dice.choice(self.boxes))

    # ---- sandboxes ----

    def create(self, _=None):
        if len(self.boxes) > 4:
            return self.delete(self.dice.choice(self.boxes))
        self.clean()  # one that was made after all has the home
        box = Box(f"box-{self.number}-{self.turn}")
        box.internet = HAS_NETWORK and self.dice.random() < 0.3
        box.home = self.dice.random() < 0.5 and not any(other.home for other in self.boxes)
        options = {"persistentHome": self.home} if box.home else {}
        if self.storm.world == "disks":
            options["resources"] = {"disk_mb": DISK_MB}
        self.storm.did["create"] += 1
        self.doomed.append(box.name)
        box.id = self.api.create(name=box.name, internet=box.internet, persistent=True, **options)["id"]
        self.doomed.remove(box.name)
        self.boxes.append(box)

    def write(self, box):
        text = f"{box.name} {self.turn}\n"
        box.content.may_be(text)
        if self.api.exec(box.id, copy_to(FILE, text), user="root")["exit_code"] == 0:
            box.content.becomes([text])
        for name, path in ((box.volume and self.volume, "/workspace"), (box.home and f"home-{self.home}", "/home/user")):
            if name:
                self.contents[name].may_be(text)
                if self.api.exec(box.id, copy_to(f"{path}/file", text))["exit_code"] == 0:
                    self.contents[name].becomes([text])

    def pause(self, box):
        self.api.post(f"{PATH}/{box.id}/pause")

    def resume(self, box):
        self.api.post(f"{PATH}/{box.id}/resume")

    def restart(self, box):
        self.api.post(f"{PATH}/{box.id}/stop")
        self.api.post(f"{PATH}/{box.id}/start")

    def grow(self, box):
        self.api.post(f"{PATH}/{box.id}/stop")
        size = min(max(box.disk_mb.possible()) + 16, DISK_MB_MAX)
        box.disk_mb.may_be(size)
        self.api.post(f"{PATH}/{box.id}/resize", {"disk_mb": size})
        box.disk_mb.becomes([size])
        self.api.post(f"{PATH}/{box.id}/start")

    def rules(self, box):
        if box.internet:
            rules = json.dumps(self.dice.choice(RULES))
            box.rules.may_be(rules)
            self.api.call("PUT", f"{PATH}/{box.id}/egress", rules, {"Content-Type": "application/json"})
            box.rules.becomes([rules])
            # The gateway for names is there from the first question on.
            self.api.exec(box.id, "(timeout 1 getent hosts example.com &) >/dev/null 2>&1")

    def job(self, box):
        folder, text = f"out-{self.turn}", f"{box.name} {self.turn}"
        line = f"mkdir -p {folder} && {copy_to(folder + '/file', text)} && sleep 0.05; exit 3"
        self.jobs[self.api.exec(box.id, line, background=True, artifacts=folder)["resultId"]] = text

    def delete(self, box):
        self.boxes.remove(box)
        self.doomed.append(box.id)
        self.api.remove(box.id)
        self.doomed.remove(box.id)
        self.deleted.add(box.id)

    def clean(self, _=None, api=None):
        for doomed in list(self.doomed):
            status = (api or self.api).raw("DELETE", f"{PATH}/{doomed}").status
            if status in (200, 202, 204, 404):
                self.doomed.remove(doomed)

    # ---- snapshots and backups ----

    def snapshot(self, box):
        possible = box.content.possible()
        if len(self.snapshots) < 8:
            taken = self.api.post(f"{PATH}/{box.id}/snapshot")["id"]
            self.snapshots[taken] = (box, possible)

    def fork(self, box):
        possible = box.content.possible()
        for item in self.api.post(f"{PATH}/{box.id}/fork", {"count": 2})["items"]:
            fork = Box(item["name"])
            fork.id, fork.origins, fork.internet = item["id"], possible, box.internet
            fork.content.becomes(possible)
            fork.rules.becomes(box.rules.possible())
            self.boxes.append(fork)
            if len(self.boxes) > 5:
                self.delete(self.boxes[0])

    def roll_back(self, box):
        for taken, (owner, possible) in self.snapshots.items():
            if owner is box:
                box.content.may_be(*possible)
                self.api.post(f"{SNAPSHOTS}/{taken}/restore")
                box.content.becomes(possible)
                return

    def reset(self, box):
        box.content.may_be(*box.origins)
        self.api.post(f"{PATH}/{box.id}/reset")
        box.content.becomes(box.origins)

    def archive(self, box):
        self.api.post(f"{PATH}/{box.id}/stop")
        self.api.post(f"{PATH}/{box.id}/archive")
        self.api.post(f"{PATH}/{box.id}/start")

    def forget(self, _):
        for taken in list(self.snapshots)[:1]:
            del self.snapshots[taken]
            self.api.delete(f"{SNAPSHOTS}/{taken}")

    def export(self, _):
        if self.snapshots and len(self.backups) < 4:
            taken = self.dice.choice(list(self.snapshots))
            made = self.api.post(f"{SNAPSHOTS}/{taken}/export")["id"]
            self.backups[made] = self.snapshots[taken][1]

    def bring(self, _):
        if self.backups and len(self.snapshots) < 8:
            backup = self.dice.choice(list(self.backups))
            taken = self.api.post(f"{SNAPSHOTS}/import", {"backup": backup})["id"]
            self.snapshots[taken] = (None, self.backups[backup])

    def drop(self, _):
        for backup in list(self.backups)[:1]:
            del self.backups[backup]
            self.api.delete(f"{BACKUPS}/{backup}")

    # ---- the volume that they hand on ----

    def attach(self, box):
        self.api.post(f"{PATH}/{box.id}/stop")
        self.hand_on(box, stops=True)
        self.api.post(f"{PATH}/{box.id}/start")

    def attach_running(self, box):
        self.hand_on(box, stops=False)

    def hand_on(self, box, stops):
        if self.contents[self.volume].possible() == {None}:
            with contextlib.suppress(atoll.ApiError):
                self.api.post(VOLUMES, {"name": self.volume, **({"size_mb": 16} if self.is_limited else {})})
        for other in self.boxes:
            if other.volume:
                if stops:
                    self.api.post(f"{PATH}/{other.id}/stop")
                self.api.delete(f"{PATH}/{other.id}/volume?volume={self.volume}")
                other.volume = False
        box.volume = True
        self.api.post(f"{PATH}/{box.id}/volume", {"volume": self.volume})

    # ---- afterwards, on a quiet server ----

    def check(self, api):
        # One that lives on may have the volume.
        self.clean(api=api)
        assert not self.doomed, f"neither there nor deleted: {self.doomed}"
        for box in self.boxes:
            self.check_box(api, box)
        for job, text in self.jobs.items():
            self.check_job(api, job, text)
        for taken, (_, possible) in self.snapshots.items():
            self.check_snapshot(api, taken, possible)
        for backup, possible in self.backups.items():
            self.check_backup(api, backup, possible)
        for box in self.boxes:
            api.post(f"{PATH}/{box.id}/stop")
        for name, fact in self.contents.items():
            if fact.written:
                answer = api.raw("GET", f"{VOLUMES}/{name}/files/content?path=file")
                assert answer.body.decode() in fact.possible(), f"{name}: {answer.body!r} is not one of {fact.possible()}"

    def check_box(self, api, box):
        row = api.get(f"{PATH}/{box.id}")
        assert row["state"] in WHOLE, f"{box.id}, which was made, is {row['state']}"
        if row["state"] != "started":
            api.post(f"{PATH}/{box.id}/start")
        # The last one killed was its agent, which nobody had noticed yet: it is started again then.
        atoll.wait_for(lambda: self.is_as_expected(api, box), 15, f"{box.name} to answer")
        if self.storm.world == "disks":
            assert row["resources"]["disk_mb"] in box.disk_mb.possible(), (row, box.disk_mb.possible())
        if box.internet:
            assert row["egress"] in map(json.loads, box.rules.possible()), (row["egress"], box.rules.possible())
            assert (far.slot_of(api, box.id) in far.slots_with_rules()) == (row["egress"] != RULES[0]), f"the rules of {box.name}"

    def is_as_expected(self, api, box):
        try:
            self.expect(api, box.id, box.content.possible(), box.name)
            return True
        except atoll.ApiError as error:
            assert error.status in (409, 503), error
        if api.get(f"{PATH}/{box.id}")["state"] != "started":
            api.post(f"{PATH}/{box.id}/start")
        return False

    @staticmethod
    def check_job(api, job, text):
        """None is lost, and what is kept of one is its own, whole."""
        row = atoll.wait_for(lambda: (found := api.get(f"/v1/jobs/{job}"))["status"] != "running" and found, 30, f"the end of job {job}")
        files = [api.raw("GET", f"{ARTIFACTS}/{one['id']}/content").body.decode() for one in row.get("artifacts") or []]
        assert files in ([], [text]), f"job {job} has left {files}"

    def check_snapshot(self, api, taken, possible):
        row = api.get(f"{SNAPSHOTS}/{taken}")
        assert row["state"] == "ready", row
        made = api.post(PATH, {"snapshot": taken, "internet": False})["id"]
        self.expect(api, made, possible, f"snapshot {taken}")
        api.remove(made)

    def check_backup(self, api, backup, possible):
        row = atoll.wait_for(lambda: (found := api.get(f"{BACKUPS}/{backup}"))["state"] != "making" and found, 30, f"the end of backup {backup}")
        assert row["state"] in ("ready", "failed"), row
        if row["state"] == "ready":
            self.check_snapshot(api, api.post(f"{SNAPSHOTS}/import", {"backup": backup})["id"], possible)

    @staticmethod
    def expect(api, sandbox, possible, what):
        result = api.exec(sandbox, f"cat {FILE}", user="root")
        content = result["stdout"] if result["exit_code"] == 0 else None
        assert content in possible, f"{what}: {content!r} is not one of {possible}"
