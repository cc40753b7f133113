# SPDX-License-Identifier: Apache-2.0
"""The cut by a quota of sent bytes, for each way out of a sandbox: open flows of TCP, UDP and IPv6, the credential proxy, the upstream proxy;
across midnight, for sandboxes that are reset, and for two servers on one store. Most of it happens in networks of the tests' own, where
nothing is counted: there the store is told what was sent."""

import contextlib
import os
import sqlite3
import struct
import subprocess
import tempfile
import time

import pytest

import atoll
import far
import far6
import named
import postgres
import secured
import test_upstream_proxy
from test_egress_cut import ASK, cut_of, pytestmark, reaches  # noqa: F401
from test_egress_quota import new_project, send
from test_postgres import remove_own
from test_quotas import limit, refused

PATH = "/api/sandbox/instances"
DAY = 86400000
MIB = 1 << 20


def spend(server, api, mb, now=None):
    """As if the project had sent so much today."""
    day = int((now or time.time()) * 1000) // DAY * DAY
    with contextlib.closing(sqlite3.connect(server.data / "store/atoll.db", timeout=30)) as store, store:
        store.execute("INSERT INTO egress_days VALUES (?, '', ?, ?) ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes",
                      (api.project, day, mb * MIB))


@contextlib.contextmanager
def cut(server, api, *sandboxes):
    """The quota is used up for as long as the block runs."""
    admin = server.api()
    limit(admin, "project", api.project, egress_mb_per_day=1)
    spend(server, api, 2)
    for sandbox in sandboxes:
        atoll.wait_for(lambda: cut_of(api, sandbox), 30, "the cut")
    yield
    limit(admin, "project", api.project, egress_mb_per_day=0)
    for sandbox in sandboxes:
        atoll.wait_for(lambda: cut_of(api, sandbox) is None, 30, "the network")


# Two flows that are open, and others that are opened without an end.
FLOWS = f"""
import socket, sys, threading, time
there = sys.argv[1]
tcp = socket.create_connection((there, {far.TCP}), 10); tcp.recv(6); tcp.settimeout(5)
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); udp.connect((there, {far.UDP})); udp.send(b"stream")
def hear():
    while True:
        try:
            udp.recv(99); open("/tmp/heard", "w").write(str(time.time()))
        except OSError:
            pass
threading.Thread(target=hear, daemon=True).start()
def talk():
    try:
        while True:
            tcp.send(b"x"); assert tcp.recv(9); time.sleep(0.05)
    except (OSError, AssertionError):
        open("/tmp/ended", "w").write("ended")
threading.Thread(target=talk, daemon=True).start()
while True:
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as u:
            u.sendto(b"new", (there, {far.UDP}))
        with socket.socket() as s:
            s.settimeout(1); s.connect((there, {far.TCP}))
    except OSError:
        pass
"""


def test_flows_that_are_open_and_that_are_opened_at_the_cut():
    with far.own_network(), contextlib.closing(far.Far()) as there, serving() as server:
        _, api = new_project(server)
        first = there.addresses[0]
        with api.sandbox(internet=True) as sandbox:
            api.post(f"{PATH}/{sandbox}/exec", {"cmd": "/usr/bin/python3", "args": ["-c", FLOWS, first], "background": True})
            read = lambda name: api.exec(sandbox, f"cat /tmp/{name} 2>/dev/null")["stdout"]  # noqa: E731
            atoll.wait_for(lambda: read("heard"), 20, "a stream")
            with cut(server, api, sandbox):
                assert read("ended") == "ended" or atoll.wait_for(lambda: read("ended") == "ended", 10, "the end of the connection")
                del there.came[:]
                before = read("heard")
                for _ in range(3):
                    assert far.reached(api, sandbox, first) == {first: "no no"}
                assert there.came == [] and read("heard") == before
            atoll.wait_for(lambda: far.reached(api, sandbox, first) == {first: "tcp udp"}, 15, "the network")


@contextlib.contextmanager
def serving(*flags, environment=None):
    server = atoll.Server(flags=flags, environment=environment).start()
    try:
        yield server
    finally:
        end(server)


def end(server):
    """Also what projects of the tests have."""
    with contextlib.closing(server.api()) as api:
        for project in api.get("/v1/projects")["items"]:
            if project["id"] != "default":
                api.call("DELETE", f"/v1/projects/{project['id']}?force=true")
    server.remove_all()


@pytest.mark.skipif(bool(far6.obstacle()), reason=far6.obstacle() or "")
def test_ipv6_is_cut_too():
    with far6.running() as (_, server):
        _, api = new_project(server)
        with api.sandbox(internet=True) as plain, api.sandbox(internet=True, egress={"deny": ["2600:bbbb::/32"], "mode": "watch"}) as watched:
            assert far6.reached(api, plain, far6.FIRST) == {far6.FIRST: far6.OPEN}
            with cut(server, api, plain, watched):
                for sandbox in (plain, watched):
                    assert far6.reached(api, sandbox, far6.FIRST, far6.SECOND) == {far6.FIRST: far6.CLOSED, far6.SECOND: far6.CLOSED}
            assert far6.reached(api, plain, far6.FIRST) == {far6.FIRST: far6.OPEN}


def test_connections_of_the_credential_proxy_are_cut():
    from test_source_address_ways import KEEP
    with secured.running() as (there, server):
        _, api = new_project(server)
        own = server.api()
        key = own.call("POST", "/api/sandbox/keys", {"name": "all"}, {"X-Atoll-Project": api.project})["key"]
        server.api(key).post("/v1/credentials", {"name": "open", "hosts": ["api.test"], "consent": "project", "fields": {"token": "secret-0123456789-value"}})
        rules = {"allow": secured.ALLOWED, "deny": ["0.0.0.0/0"],
                 "rules": [{"id": "api", "host": "api.test", "action": "inject", "upstream": {"ca": there.authority.certificate.read_text()},
                            "inject": [{"kind": "header", "name": "authorization", "value": "Bearer ${credential.open.token}"}]}]}
        with api.sandbox(internet=True, egress=rules) as sandbox:
            def get(path):
                return api.exec(sandbox, cmd="/usr/bin/curl", args=["-sS", "-i", f"https://api.test{path}"], timeout_ms=30000)
            atoll.wait_for(lambda: "200" in get("/first")["stdout"], 30, lambda: get("/first"))
            api.post(f"{PATH}/{sandbox}/exec", {"cmd": "/usr/bin/python3", "args": ["-c", KEEP], "background": True})
            kept = lambda: api.exec(sandbox, "cat /tmp/kept")["stdout"]  # noqa: E731
            atoll.wait_for(lambda: kept() == "asked", 15, kept)
            with cut(server, api, sandbox):
                atoll.wait_for(lambda: kept() == "ended", 15, kept)
                del there.came[:]
                result = get("/cut")
                assert result["exit_code"] != 0 and {row["code"] for row in result["network"]} == {"quota"}, result
                assert all("1 MB a day" in row["message"] for row in result["network"]) and not list(there.requests())
            atoll.wait_for(lambda: "200" in get("/again")["stdout"], 20, lambda: get("/again"))
            assert dict(map(tuple, there.last("/again")))["authorization"].startswith("Bearer secret")


def test_connections_by_the_upstream_proxy_are_cut(tmp_path):
    ask = '\nprint(http("allowed.test", "{}"))'
    with test_upstream_proxy.network() as (there, proxy), test_upstream_proxy.serving(there, proxy, tmp_path) as server:
        proxy.be("open")
        _, api = new_project(server)
        allowed = there.addresses[1]
        hold = f"\ns = connect('{allowed}', 80); s.sendall(b'GET / HTTP/1.1\\r\\nHost: silent.test\\r\\n\\r\\n')\nopen('/tmp/held', 'w').write('held')\n" \
               "s.settimeout(60)\ntry:\n    s.recv(99)\nexcept OSError:\n    pass\nopen('/tmp/held', 'w').write('ended')"
        with api.sandbox(internet=True) as sandbox, api.sandbox(internet=True, egress=named.only("allowed.test")) as ruled:
            def asked(one):
                return api.exec(one, cmd="/usr/bin/python3", args=["-c", named.CLIENT + ask.format(allowed)], timeout_ms=60000)
            for one in (sandbox, ruled):
                assert "hello" in asked(one)["stdout"]
            api.post(f"{PATH}/{sandbox}/exec", {"cmd": "/usr/bin/python3", "args": ["-c", named.CLIENT + hold], "background": True})
            held = lambda: api.exec(sandbox, "cat /tmp/held")["stdout"]  # noqa: E731
            atoll.wait_for(lambda: held() == "held" and any("silent" in line for line in there.came), 20, held)
            with cut(server, api, sandbox, ruled):
                atoll.wait_for(lambda: held() == "ended", 15, held)
                proxy.be("open")
                for one in (sandbox, ruled):
                    result = asked(one)
                    assert "403" in result["stdout"] and "Quota of sent bytes used up" in result["stdout"], result
                    assert {row["code"] for row in result["network"]} == {"quota"}, result
                assert proxy.asked() == []
            for one in (sandbox, ruled):
                assert "hello" in asked(one)["stdout"]
        end_projects = server.api()
        end_projects.call("DELETE", f"/v1/projects/{api.project}?force=true")


def test_a_sandbox_that_is_cut_is_not_given_a_network_by_snapshots_and_resets():
    with far.own_network(), contextlib.closing(far.Far()) as there, serving() as server:
        _, api = new_project(server)
        first = there.addresses[0]
        with api.sandbox(internet=True) as sandbox:
            snapshot = api.post(f"{PATH}/{sandbox}/snapshot", {})["id"]
            with cut(server, api, sandbox):
                refused(api.post, f"/api/sandbox/snapshots/{snapshot}/restore", {"new": True})
                refused(api.create, internet=True, snapshot=snapshot)
                for path in (f"{PATH}/{sandbox}/reset", f"/api/sandbox/snapshots/{snapshot}/restore"):
                    with pytest.raises(atoll.ApiError) as why:
                        api.post(path, {})
                    # It goes on as before.
                    assert why.value.status == 429 and "1 MB a day" in why.value.message, why.value
                    assert api.get(f"{PATH}/{sandbox}")["state"] == "started"
                    assert far.reached(api, sandbox, first) == {first: "no no"}, path
                api.post(f"{PATH}/{sandbox}/stop")
                assert cut_of(api, sandbox) is None
                refused(api.post, f"{PATH}/{sandbox}/start")
            api.post(f"{PATH}/{sandbox}/start")
            assert far.reached(api, sandbox, first) == {first: "tcp udp"}
            api.delete(f"/api/sandbox/snapshots/{snapshot}")


@pytest.mark.parametrize("program, step", atoll.sample([("api", "egress-cut-told"), ("broker", "egress-changed"), ("broker", "egress-cut")],
                                                       always=[("broker", "egress-cut")]))
def test_kill_9_between_the_rules_and_the_row(program, step):
    with far.own_network(), contextlib.closing(far.Far()) as there, serving(environment={"ATOLL_FAULT": f"{program}:{step}:kill"}) as server:
        admin, api = new_project(server)
        first, project = there.addresses[0], api.project
        sandbox = api.create(internet=True)["id"]
        assert far.reached(api, sandbox, first) == {first: "tcp udp"}
        victim = server.pid_of(program)
        limit(admin, "project", api.project, egress_mb_per_day=1)
        spend(server, api, 2)
        if step == "egress-cut":  # a child of the broker, which does the rest itself
            atoll.wait_for(lambda: "a child of the broker was killed" in server.log_text(), 30, server.log_text)
        else:
            atoll.wait_for(lambda: server.pid_of(program) not in (None, victim), 30, f"another {program}")
        server.stop()
        del server.environment["ATOLL_FAULT"]
        server.start()
        api = server.api(api.key)
        atoll.wait_for(lambda: cut_of(api, sandbox), 30, "the cut")
        assert far.reached(api, sandbox, first) == {first: "no no"}
        limit(server.api(), "project", project, egress_mb_per_day=0)
        atoll.wait_for(lambda: cut_of(api, sandbox) is None, 30, "the network")
        atoll.wait_for(lambda: far.reached(api, sandbox, first) == {first: "tcp udp"}, 15, "the network")


@pytest.fixture
def clock():
    with tempfile.NamedTemporaryFile(prefix="atoll-clock-") as file:
        os.chmod(file.name, 0o644)

        def turn(seconds):
            file.seek(0)
            file.write(struct.pack("=q", int(seconds * 1000)))
            file.flush()
        turn(0)
        turn.environment = {"ATOLL_FAULT_CLOCK": file.name}
        yield turn


def test_midnight_gives_the_network_back_and_the_reason_says_when(clock):
    ahead = DAY / 1000 - time.time() % (DAY / 1000) - 20
    clock(ahead)
    with far.own_network(), contextlib.closing(far.Far()) as there, serving(environment=clock.environment) as server:
        admin, api = new_project(server)
        first, midnight = there.addresses[0], time.time() + ahead + 20
        until = time.strftime("%Y-%m-%dT00:00:00", time.gmtime(midnight + 60))
        with api.sandbox(internet=True) as sandbox:
            limit(admin, "project", api.project, egress_mb_per_day=1)
            spend(server, api, 2, time.time() + ahead)
            reason = atoll.wait_for(lambda: cut_of(api, sandbox), 15, "the cut")
            assert f"comes back at {until}" in reason, reason
            assert time.time() + ahead < midnight, "it took too long"
            atoll.wait_for(lambda: cut_of(api, sandbox) is None, 40, "midnight")
            assert midnight <= time.time() + ahead < midnight + 15
            atoll.wait_for(lambda: far.reached(api, sandbox, first) == {first: "tcp udp"}, 15, "the network")
            # The new day has its own sum, and its own end.
            spend(server, api, 2, time.time() + ahead)
            reason = atoll.wait_for(lambda: cut_of(api, sandbox), 15, "the next cut")
            assert time.strftime("%Y-%m-%dT00:00:00", time.gmtime(midnight + 60 + DAY / 1000)) in reason, reason
            assert far.reached(api, sandbox, first) == {first: "no no"}


def test_two_servers_on_one_store_cut_their_own_sandboxes():
    if not postgres.programs():
        pytest.skip("Debian's package postgresql is not installed")
    database, servers = postgres.Postgres(), []
    with contextlib.closing(named.Named()) as there:
        try:
            for number in range(2):
                servers.append(atoll.Server(flags=["--store", database.dsn, "--network-subnet", f"10.{233 + number}.0.0/16", "--cells", "1",
                                                   "--usage-flush", "1s"]).start())
            admin, api = new_project(servers[0])
            other = servers[1].api(api.key)
            one, two = api.create(internet=True)["id"], other.create(internet=True)["id"]
            assert reaches(api, one, there) and reaches(other, two, there)
            limit(admin, "project", api.project, egress_mb_per_day=3)
            # Together they pass it, and neither does alone.
            send(api, one, 2)
            send(other, two, 2)
            for own, sandbox in ((api, one), (other, two)):
                atoll.wait_for(lambda: cut_of(own, sandbox), 30, "the cut")
                assert not reaches(own, sandbox, there)
            for server in servers:
                assert "atoll_quota_cut_sandboxes 1\n" in server.api().raw("GET", "/metrics").body.decode()
            servers[1].kill9("api")
            servers[1].kill9("broker")
            servers[1].wait_ready()
            other = servers[1].api(api.key)
            assert not reaches(other, two, there) and cut_of(other, two)
            # One server is away when the quota is raised.
            servers[1].stop()
            limit(admin, "project", api.project, egress_mb_per_day=100)
            atoll.wait_for(lambda: cut_of(api, one) is None, 30, "the network")
            assert reaches(api, one, there)
            servers[1].start()
            other = servers[1].api(api.key)
            atoll.wait_for(lambda: cut_of(other, two) is None, 30, "the network of the other")
            atoll.wait_for(lambda: reaches(other, two, there), 15, "the network of the other")
            api.remove(one)
            other.remove(two)
        finally:
            for server in servers:
                remove_own(server)
            database.remove()
