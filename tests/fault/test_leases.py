# SPDX-License-Identifier: Apache-2.0
"""Leases under contention and kill -9: never two sandboxes for a key, never a row that is stuck, and nothing left.

LEASE_SECONDS (4) is how long the storm goes on, LEASE_SEED what it does. Several servers on one database are a row of WORLDS.
"""

import contextlib
import datetime
import os
import random
import re
import signal
import threading
import time
import urllib.parse

import pytest

import atoll
import postgres

pytestmark = pytest.mark.needs_root
BASE = "/v1/leases"
INSTANCES = "/api/sandbox/instances"
SECONDS = float(os.environ.get("LEASE_SECONDS", "4"))
SEED = int(os.environ.get("LEASE_SEED", "20261121"))
CLIENTS, KEYS = 64, 16
STUCK_S = 25
# Every server looks for claims that are so old once a second (fleet_lease_tick): a second for that, and the rest for a machine that has
# other things to do, among them the create that comes after it.
MARGIN_S = 10
LIVING = ("pending", "creating", "started", "stopping", "stopped")
STEPS = sorted({step for source in (atoll.ROOT / "src" / "fleet").rglob("lease*.c")
                for step in re.findall(r'fault_point\("lease", "([a-z-]+)"\)', source.read_text())})


def acquire(api, key, **options):
    return api.post(f"{BASE}/acquire", {"key": key, "template": "host", "internet": False, **options})


def living(api, key=None):
    """Sandboxes of a key, or of any lease, that are there or on their way."""
    label = urllib.parse.quote(f"atoll.lease={key}" if key else "atoll.lease=", safe="")
    rows = api.get(f"{INSTANCES}?limit=1000" + (f"&label={label}" if key else ""))["items"]
    return [row for row in rows if row["state"] in LIVING and "atoll.lease" in row["labels"]]


def acquire_somewhere(api, others, key):
    """A sandbox that was stopped is started by the server that has it; another one says whose it is."""
    try:
        return acquire(api, key)
    except atoll.ApiError as error:
        if error.status != 409 or not others:
            raise
    return acquire_somewhere(others[0], others[1:], key)


def is_stuck(row):
    """A claim is as old as its row's last activity."""
    claimed = datetime.datetime.fromisoformat(row["last_activity_at"].replace("Z", "+00:00")).timestamp()
    return row["status"] == "creating" and time.time() - claimed > STUCK_S + MARGIN_S


def settle_and_check(server, api, keys, nodes=None):
    """Whatever happened: soon each key has one sandbox at most, and what the rows name is what runs."""
    def sound():
        rows = api.get(f"{BASE}?limit=1000")["items"]
        stuck = [row for row in rows if is_stuck(row)]
        assert not stuck, stuck
        named = {row["sandbox_id"] for row in rows if row["status"] == "ready"}
        return all(row["status"] != "creating" for row in rows) and {row["id"] for row in living(api)} == named
    # Claims are given up in time (sound says so); their sandboxes are deleted by the ticks after that.
    atoll.wait_for(sound, STUCK_S + 2 * MARGIN_S, "leases and sandboxes agree")
    for key in keys:
        lease = acquire_somewhere(api, list((nodes or {}).values()), key)
        assert [row["id"] for row in living(api, key)] == [lease["sandbox_id"]]
        owner = nodes[lease["node"]] if nodes else api
        assert owner.exec(lease["sandbox_id"], "echo alive")["stdout"] == "alive\n"
    api.delete(f"{BASE}?prefix=key%3A")
    assert api.get(f"{BASE}?limit=1000")["items"] == []
    atoll.wait_for(lambda: not living(api), 30, "no sandbox without a lease")
    atoll.Host(server.data).wait_clean()


def test_the_steps_are_known():
    assert len(STEPS) >= 4


def check_specification(api):
    """Whoever makes it now, and names nothing, makes what was asked for before the death."""
    assert api.post(f"{BASE}/key%3A1/exec", {"command": "echo -n $TOKEN"})["stdout"] == "kept"
    assert api.get(f"{INSTANCES}/{api.get(f'{BASE}/key%3A1')['sandbox_id']}")["network"] == "blocked"


@pytest.mark.parametrize("step", STEPS)
def test_the_api_process_dies_at_a_step(private_server, step):
    private_server.environment["ATOLL_FAULT"] = f"lease:{step}:kill"
    private_server.start()
    # Nobody may take over a claim before its time is up: once is enough of that.
    for _ in range(1 if step == "claimed" else 2):
        private_server.wait_ready(20)
        victim = private_server.pid_of("api")
        with contextlib.suppress(atoll.ApiError, OSError, ConnectionError):
            api = private_server.api(timeout=20)
            acquire(api, "key:1", env={"TOKEN": "kept"})
            acquire(api, "key:1", **{"continue": False})
            api.delete(f"{BASE}/key%3A1")
        atoll.wait_for(lambda: private_server.pid_of("api") not in (None, victim), 30, f"a death at '{step}'")
    private_server.environment.pop("ATOLL_FAULT")
    private_server.stop()
    private_server.start()
    api = private_server.api()
    if api.get(BASE)["items"]:  # else the client came as far as its delete
        check_specification(api)
    else:
        assert step in ("ready", "removed")
    settle_and_check(private_server, api, ["key:1"])


class Storm:
    """Clients that acquire, use, release and delete, while processes die; and a witness who looks on."""

    def __init__(self, servers, seconds):
        self.servers, self.end = servers, time.monotonic() + seconds
        self.keys = [f"key:{i}" for i in range(KEYS)]
        self.acquired = self.refused = self.killed = 0
        self.failures = []
        self.lock = threading.Lock()

    def going(self):
        return time.monotonic() < self.end

    def client(self, number):
        dice, api = random.Random(SEED + number), self.servers[number % len(self.servers)].api(timeout=70)
        while self.going():
            key = dice.choice(self.keys)
            try:
                self.use(api, key, dice)
            except atoll.ApiError as error:
                # What a caller may be told while servers die and leases go; anything else is a mistake.
                if error.status not in (404, 409, 502, 503, 504, 500):
                    self.failures.append(f"{key}: {error}")
                with self.lock:
                    self.refused += 1
            except (OSError, ConnectionError, ValueError):
                api.close()
                time.sleep(0.02)
            except Exception as error:  # noqa: BLE001 - http.client has many
                api.close()
                if type(error).__module__ != "http.client":
                    self.failures.append(f"{key}: {error!r}")
                time.sleep(0.02)
        api.close()

    def use(self, api, key, dice):
        began = time.monotonic()
        lease = acquire(api, key, **({"continue": False} if dice.random() < 0.1 else {}))
        took = time.monotonic() - began
        assert lease["status"] == "ready" and lease["sandbox_id"]
        if took > STUCK_S + MARGIN_S:
            self.failures.append(f"{key}: acquired after {took:.0f} s")
        with self.lock:
            self.acquired += 1
        verb = dice.random()
        if verb < 0.3:
            api.exec(lease["sandbox_id"], "true")
        elif verb < 0.4:
            api.post(f"{BASE}/{urllib.parse.quote(key, safe='')}/release")
        elif verb < 0.5:
            api.delete(f"{BASE}/{urllib.parse.quote(key, safe='')}")
        elif verb < 0.51:
            # key:1 and key:10 to key:15, of whichever server they are.
            api.delete(f"{BASE}?prefix={urllib.parse.quote('key:1', safe='')}")

    def witness(self):
        """No row is ever stuck, and of the sandboxes of a key no two are started and stay so."""
        since, doubled = {}, {}
        while self.going():
            time.sleep(0.25)
            with contextlib.suppress(atoll.ApiError, OSError, ConnectionError, ValueError):
                api = self.servers[0].api(timeout=10)
                self.look_at_rows(api, since)
                self.look_at_sandboxes(api, doubled)
                api.close()

    def look_at_rows(self, api, since):
        now = time.monotonic()
        rows = {row["key"]: row for row in api.get(f"{BASE}?limit=1000")["items"]}
        creating = {(key, row["created_at"], row["lock_version"]) for key, row in rows.items() if row["status"] == "creating"}
        for old in set(since) - creating:
            del since[old]
        for claim in creating:
            if now - since.setdefault(claim, now) > STUCK_S + MARGIN_S:
                self.failures.append(f"stuck: {claim}")

    def look_at_sandboxes(self, api, doubled):
        named = {row["key"]: row["sandbox_id"] for row in api.get(f"{BASE}?limit=1000")["items"] if row["status"] == "ready"}
        started = [row for row in living(api) if row["state"] == "started"]
        now = time.monotonic()
        extra = {row["id"] for row in started if named.get(row["labels"]["atoll.lease"]) not in (None, row["id"])}
        for old in set(doubled) - extra:
            del doubled[old]
        for sandbox in extra:
            if now - doubled.setdefault(sandbox, now) > STUCK_S + 10:
                self.failures.append(f"a second sandbox stays: {sandbox}")

    def killer(self):
        dice = random.Random(SEED)
        while self.going():
            time.sleep(dice.uniform(0.4, 2.5))
            pid = dice.choice(self.servers).pid_of(dice.choice(["api", "api", "broker"]))
            if pid and self.going():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    self.killed += 1

    def run(self):
        threads = [threading.Thread(target=self.client, args=(i,)) for i in range(CLIENTS)]
        threads += [threading.Thread(target=self.witness), threading.Thread(target=self.killer)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS + 120)
            assert not thread.is_alive(), "a client hangs"


@contextlib.contextmanager
def one_server_on_sqlite():
    server = atoll.Server().start()
    try:
        yield [server]
    finally:
        server.remove_all()


@contextlib.contextmanager
def two_servers_on_postgresql(reach_each_other=False):
    if not postgres.programs():
        pytest.skip("Debian's package postgresql is not installed")
    database, servers = postgres.Postgres(), []
    try:
        for number in range(2):
            server = atoll.Server(flags=["--store", database.dsn, "--cells", "2", "--network-subnet", f"10.{237 + number}.0.0/16"])
            if reach_each_other:
                server.flags += ["--peer-url", f"http://127.0.0.1:{server.port}"]
            servers.append(server.start())
        yield servers
    finally:
        for server in servers:
            server.remove_all()
        database.remove()


WORLDS = [pytest.param(one_server_on_sqlite, SECONDS, id="one-on-sqlite"),
          pytest.param(two_servers_on_postgresql, SECONDS, id="two-on-postgresql", marks=pytest.mark.slow),
          pytest.param(lambda: two_servers_on_postgresql(reach_each_other=True), SECONDS / 4, id="two-that-reach-each-other")]


@pytest.mark.parametrize("world, seconds", WORLDS)
def test_many_clients_on_few_keys_while_processes_die(world, seconds):
    with world() as servers:
        storm = Storm(servers, seconds)
        storm.run()
        print(f"seed {SEED}: {storm.acquired} acquired, {storm.refused} refused, {storm.killed} killed")
        assert not storm.failures, storm.failures[:10]
        assert storm.acquired > 5 * seconds
        for server in servers:
            server.wait_ready(30)
        nodes = {(server.data / "node.id").read_text().strip(): server.api() for server in servers}
        settle_and_check(servers[0], servers[0].api(), storm.keys, nodes)
        for server in servers:
            atoll.Host(server.data).wait_clean()
