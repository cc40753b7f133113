# SPDX-License-Identifier: Apache-2.0
"""Of two servers on one PostgreSQL the one that has a sandbox dies midway through what the other one was asked for: a backup of it, that
backup's import or removal, archiving the sandbox and bringing it back. And the one that was asked dies while the other one is at it, or both.

Whoever comes to the step stops there (ATOLL_FAULT, docs/extend/debugging.md): so it is known who is killed, and that it was in time.
"""

import contextlib
import hashlib
import http.client
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import pytest

import atoll
import postgres
from test_backups import API_STEPS, ARCHIVE_STEPS, BACKUPS, BROKER_STEPS, INSTANCES, SNAPSHOTS, wait_ended
from test_storm import processes_left

pytestmark = pytest.mark.needs_root
ANSWER_S = 10  # docs/operate/storage.md says 3
# A removal that was cut short is finished while the server starts, and would stop there.
AT_START = "backup-removed"
PREFIXES = {"backup-remov": "remove", "import-": "import", "archive-": "archive", "unarchive-": "unarchive"}
BROKER_ASKS = {"backup-begun": ["backup", "import", "archive"], "backup-loaded": ["import", "unarchive"]}
BROKEN = (OSError, http.client.HTTPException)


def ask_of(step):
    return next((ask for prefix, ask in PREFIXES.items() if step.startswith(prefix)), "backup")


CASES = ([(ask_of(step), "api", step) for step in ["snapshot-recorded", "snapshot-taken", *API_STEPS, *ARCHIVE_STEPS]]
         + [(ask, "broker", step) for step, asks in BROKER_ASKS.items() for ask in asks])
# Some requests with a step of atolld each, and one with a step of the broker; the suite "full" has all.
SOME = [("import", "api", "import-unpacked"), ("remove", "api", "backup-removing"), ("archive", "api", "archive-stored"),
        ("backup", "broker", "backup-begun")]
# The other one waits for its answer.
WAITED_FOR = [("backup", "backup-recorded"), ("import", "import-unpacked"), ("archive", "archive-stored"), ("unarchive", "unarchive-loaded")]
LOST_BY_BOTH = [("backup", "backup-stored"), ("import", "import-unpacked"), ("archive", "archive-stored"), ("unarchive", "unarchive-started")]


def state_of(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    return None


def wait_stopped(server):
    """Waits for the one of its processes that has stopped at the step."""
    own = [server.pid_of(role) for role in ("api", "broker")]
    return atoll.wait_for(lambda: next((pid for pid in own + atoll.processes_below(own[1]) if state_of(pid) == "T"), None), 20, "the step")


def kill_all(server, *others):
    """Its supervisor first: it starts nothing again."""
    own = [*server.descendants()]
    atoll.kill_and_wait([server.process.pid])
    atoll.kill_and_wait([*own, *others])
    server.process.wait()
    server.log.close()


class Call:
    """On a thread of its own: the test does something about the server meanwhile."""

    def __init__(self, api, act):
        self.api, self.failure = api, None
        self.thread = threading.Thread(target=self.run, args=(act,))
        self.thread.start()

    def run(self, act):
        try:
            act(self.api)
        except (atoll.ApiError, *BROKEN) as error:
            self.failure = error
        self.api.close()

    def end(self):
        self.thread.join(ANSWER_S)
        assert not self.thread.is_alive(), f"no answer within {ANSWER_S} s"
        return self.failure


class World:
    """The server that has the sandbox, the one that is asked, and a backup that outlives all of it. shared: a folder of both's blobs."""

    def __init__(self, shared=None):
        self.database, self.shared = postgres.Postgres(), shared
        self.owner, self.asked = (atoll.Server() for _ in range(2))
        self.box = self.extra = self.kept = None
        for number, server in enumerate((self.owner, self.asked)):
            server.flags += ["--store", self.database.dsn, "--cells", "1", "--orphans-keep", "0",
                             "--network-subnet", f"10.{243 + number}.0.0/16",
                             "--peer-url", f"http://127.0.0.1:{server.port}", *(["--blobs", shared] if shared else [])]

    def start(self):
        self.owner.start()
        subprocess.run(["cp", "-a", self.owner.data / "keys", self.asked.data], check=True)
        self.asked.start()
        self.node = (self.owner.data / "node.id").read_text().strip()
        self.api = self.asked.api(self.owner.key)
        self.make()
        self.kept = wait_ended(self.api, self.ask("backup", self.api)["backups"][0])
        assert self.kept["state"] == "ready"
        self.remove_all()

    def end(self):
        """Also after a test that has failed, with servers as it has left them."""
        if "ATOLL_FAULT" in self.owner.environment:
            self.restart()
        for server in (self.owner, self.asked):
            if server.process is None or server.process.poll() is not None:
                server.start()
        if self.kept:
            self.api.delete(f"{BACKUPS}/{self.kept['id']}")
        left = self.blobs()
        for server in (self.owner, self.asked):
            server.remove_all()
        self.database.remove()
        assert not left
        for server in (self.owner, self.asked):
            atoll.wait_for(lambda server=server: not processes_left(server), 10, "no process is left")

    def restart(self, fault=None):
        self.owner.stop()
        self.start_owner(fault)

    def start_owner(self, fault=None):
        self.owner.environment.pop("ATOLL_FAULT", None)
        if fault:
            self.owner.environment["ATOLL_FAULT"] = fault
        self.owner.start()

    # ---- what is asked of it ----

    def make(self):
        """The server that has it is asked itself, the only time."""
        with contextlib.closing(self.owner.api()) as api:
            self.box = api.create(internet=False, persistent=True)["id"]
        self.api.exec(self.box, "printf kept > /home/user/kept; head -c 300000 /dev/urandom > /home/user/bytes")

    def ask(self, what, api):
        path = f"{INSTANCES}/{self.box}"
        if what == "backup":
            return api.post(f"{path}/snapshot", {"backup": True})
        if what == "import":
            return api.post(f"{SNAPSHOTS}/import", {"backup": self.kept["id"]})
        if what == "remove":
            return api.delete(f"{BACKUPS}/{self.extra}")
        return api.post(f"{path}/{'archive' if what == 'archive' else 'start'}")

    def prepare(self, what):
        """So that it may be asked for, without the step that it is to come to."""
        if what == "remove":
            made = wait_ended(self.api, self.ask("backup", self.api)["backups"][0])
            assert made["state"] == "ready"
            self.extra = made["id"]
        state = self.api.get(f"{INSTANCES}/{self.box}")["state"]
        verbs = {"archive": {"archived": ["start", "stop"], "started": ["stop"]},
                 "unarchive": {"started": ["stop", "archive"], "stopped": ["archive"]}}
        for verb in verbs.get(what, {}).get(state, []):
            self.api.post(f"{INSTANCES}/{self.box}/{verb}")

    def begin(self, what):
        """Asks the other server. The call, and the process that has come to the step."""
        self.prepare(what)
        return Call(self.asked.api(self.owner.key), lambda api: self.ask(what, api)), wait_stopped(self.owner)

    # ---- what is true of it ----

    def blobs(self):
        folder = pathlib.Path(self.shared) if self.shared else self.owner.data / "blobs"
        return {path.name for path in folder.rglob("*") if path.is_file()}

    def backups(self):
        """{id: (state, whether an archived sandbox has it)}."""
        rows = self.database.rows("SELECT id, state, holder_id FROM backups")
        return {i: (state, bool(holder)) for i, state, holder in (row.split("|") for row in rows)}

    def agree(self):
        rows, snapshots = self.backups(), {row["id"]: row["state"] for row in self.api.get(SNAPSHOTS)["items"]}
        return (all(state in ("ready", "failed") for state, _ in rows.values()) and set(snapshots.values()) <= {"ready"}
                and self.blobs() == {f"{i}.tar.zst" for i, (state, _) in rows.items() if state == "ready"}
                and set(snapshots) <= {name for server in (self.owner, self.asked) for name in os.listdir(server.data / "snapshots")})

    def check(self):
        """What is there is whole, and one of it."""
        atoll.wait_for(self.agree, 15, lambda: f"rows and files agree: {self.backups()} {self.blobs()}")
        state = self.api.get(f"{INSTANCES}/{self.box}")["state"]
        assert state in ("started", "stopped", "archived")
        assert any(is_held for _, is_held in self.backups().values()) == (state == "archived")
        assert (self.owner.data / "sandboxes" / self.box).exists() == (state != "archived")
        for row in self.api.get(BACKUPS)["items"]:
            if row["state"] == "ready":
                assert hashlib.sha256(self.api.raw("GET", f"{BACKUPS}/{row['id']}/content").body).hexdigest() == row["sha256"]
        assert not [path for path in (self.asked.data / "blobs").rglob("*") if path.is_file()]

    def has_its_files(self, box):
        return self.api.exec(box, "cat /home/user/kept; wc -c < /home/user/bytes")["stdout"] == "kept300000\n"

    def try_again(self, what):
        self.prepare(what)
        made = self.ask(what, self.api)
        if what == "backup":
            assert wait_ended(self.api, made["backups"][0])["state"] == "ready"
        elif what == "import":
            with self.api.sandbox(snapshot=made["id"], internet=False) as again:
                assert self.has_its_files(again)

    def remove_all(self):
        for row in self.api.get(SNAPSHOTS)["items"]:
            self.api.delete(f"{SNAPSHOTS}/{row['id']}")
        for row in self.api.get(BACKUPS)["items"]:
            if row["id"] != self.kept["id"]:
                self.api.delete(f"{BACKUPS}/{row['id']}")
        if self.api.get(f"{INSTANCES}/{self.box}")["state"] != "started":
            self.api.post(f"{INSTANCES}/{self.box}/start")
        assert self.has_its_files(self.box)
        self.api.remove(self.box)
        assert self.blobs() == {f"{self.kept['id']}.tar.zst"} and list(self.backups()) == [self.kept["id"]]
        for server in (self.owner, self.asked):
            atoll.wait_for(lambda server=server: not os.listdir(server.data / "snapshots"), 30, "no layer is left")
            atoll.Host(server.data).wait_clean()


@contextlib.contextmanager
def two_servers(shared=None):
    if not postgres.programs():
        pytest.skip("Debian's package postgresql is not installed")
    world = World(shared)
    try:
        world.start()
        yield world
    finally:
        world.end()


@pytest.fixture(scope="module")
def pair():
    with two_servers() as world:
        yield world


@pytest.fixture
def sharing():
    folder = tempfile.mkdtemp(prefix="atoll-test-blobs-")
    os.chmod(folder, 0o777)
    try:
        with two_servers(folder) as world:
            yield world
    finally:
        shutil.rmtree(folder)


def is_told(pair, failure, ask, place):
    """Which server has died. Who wants a backup may have been told before that it is being made."""
    if not failure:
        return ask == "backup"
    if place == "api":
        return failure.status in (502, 503) and pair.node in failure.message
    return failure.status in (500, 502, 503)


def is_down(pair):
    """What needs it is refused, and nothing passes for a backup that is not whole."""
    begun, rows = time.monotonic(), pair.backups()
    making = [i for i, (state, is_held) in rows.items() if state == "making" and not is_held]
    calls = [lambda: pair.api.exec(pair.box, "true"), *(lambda i=i: pair.api.delete(f"{BACKUPS}/{i}") for i in making)]
    if not pair.shared:
        calls += [lambda: pair.api.get(f"{BACKUPS}/{pair.kept['id']}/content"), lambda: pair.ask("import", pair.api)]
    for refused in calls:
        with pytest.raises(atoll.ApiError) as down:
            refused()
        assert down.value.status == 503 and pair.node in down.value.message
    assert time.monotonic() - begun < ANSWER_S
    assert {i for i, (state, is_held) in rows.items() if state == "ready" and not is_held} <= {pair.kept["id"], pair.extra}


def test_the_steps_are_known():
    assert {step for _, place, step in CASES if place == "broker"} == set(BROKER_STEPS)
    assert {ask for ask, _, _ in CASES} == {"backup", "import", "remove", "archive", "unarchive"}
    assert {(ask, "api", step) for ask, step in WAITED_FOR + LOST_BY_BOTH} <= set(CASES)


def works_again(pair, ask):
    pair.check()
    pair.try_again(ask)
    pair.check()
    pair.remove_all()


@pytest.mark.parametrize("ask, place, step", atoll.sample(CASES, SOME))
def test_who_has_it_dies_at_a_step(pair, ask, place, step):
    pair.restart(f"{place}:{step}:stop")
    pair.make()
    if step != AT_START:
        call, victim = pair.begin(ask)
        atoll.kill_and_wait([victim])
        assert is_told(pair, call.end(), ask, place)
        pair.owner.wait_ready()
        pair.check()
    call, victim = pair.begin(ask)
    kill_all(pair.owner, victim)
    assert is_told(pair, call.end(), ask, "api")
    is_down(pair)
    pair.start_owner()
    works_again(pair, ask)


@pytest.mark.parametrize("ask, step", atoll.sample(WAITED_FOR, WAITED_FOR[:1]))
def test_who_was_asked_dies_while_the_other_one_is_at_it(pair, ask, step):
    pair.restart(f"api:{step}:stop")
    pair.make()
    call, victim = pair.begin(ask)
    kill_all(pair.asked)
    assert isinstance(call.end(), BROKEN)
    os.kill(victim, signal.SIGCONT)
    pair.api.close()
    pair.asked.start()
    # It ends what it is at, and nobody is told.
    done = {"archive": ["archived"], "unarchive": ["started"]}
    atoll.wait_for(lambda: pair.api.get(f"{INSTANCES}/{pair.box}")["state"] in done.get(ask, ["started"]) and pair.agree(), 15, "its end")
    pair.restart()
    works_again(pair, ask)


@pytest.mark.parametrize("ask, step", atoll.sample(LOST_BY_BOTH, LOST_BY_BOTH[-1:]))
def test_both_die(pair, ask, step):
    pair.restart(f"api:{step}:stop")
    pair.make()
    call, _ = pair.begin(ask)
    kill_all(pair.asked)
    kill_all(pair.owner)
    failure = call.end()
    assert isinstance(failure, BROKEN) if failure else ask == "backup"
    pair.api.close()
    pair.asked.start()
    pair.start_owner()
    works_again(pair, ask)


@pytest.mark.parametrize("sql, status", [("UPDATE peers SET seen_at = seen_at - 600000", 503), ("DELETE FROM peers", 409)])
def test_what_is_half_made_is_given_up_though_its_maker_cannot_be_asked(pair, sql, status):
    pair.restart("broker:backup-begun:stop")
    pair.make()
    call, victim = pair.begin("backup")
    kill_all(pair.owner, victim)
    assert is_told(pair, call.end(), "backup", "api")
    (made,) = [i for i, (state, is_held) in pair.backups().items() if state == "making" and not is_held]
    pair.database.rows(f"{sql} WHERE node = '{pair.node}'")
    for _ in range(2):
        pair.api.delete(f"{BACKUPS}/{made}")
        assert pair.backups()[made] == ("removing", False)
    # Its file is there, for all that anybody knows.
    with pytest.raises(atoll.ApiError) as refused:
        pair.api.delete(f"{BACKUPS}/{pair.kept['id']}")
    assert refused.value.status == status and pair.node in refused.value.message
    pair.start_owner()
    pair.check()
    assert made not in pair.backups()
    pair.remove_all()


def test_what_lies_in_a_folder_of_both_is_there_while_its_maker_is_down(sharing):
    pair = sharing
    pair.restart("broker:backup-begun:stop")
    pair.make()
    # What one of them is writing is nothing that the other one clears up when it starts.
    call, victim = pair.begin("backup")
    kill_all(pair.asked)
    call.end()
    pair.api.close()
    pair.asked.start()
    os.kill(victim, signal.SIGCONT)
    atoll.wait_for(lambda: sorted(state for state, _ in pair.backups().values()) == ["ready", "ready"], 15, "the backup")
    pair.check()
    for row in pair.api.get(BACKUPS)["items"]:
        if row["id"] != pair.kept["id"]:
            pair.api.delete(f"{BACKUPS}/{row['id']}")
    call, victim = pair.begin("backup")
    kill_all(pair.owner, victim)
    call.end()
    is_down(pair)
    pair.try_again("import")
    assert len(pair.blobs()) == 2
    pair.asked.stop()
    pair.asked.start()
    assert len(pair.blobs()) == 1
    pair.start_owner()
    pair.check()
    pair.try_again("backup")
    pair.check()
    pair.remove_all()
