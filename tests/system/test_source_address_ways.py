# SPDX-License-Identifier: Apache-2.0
"""What leaves by the source address of a project beside direct connections: those of the credential proxy, of sandboxes that are restored and
reset, not the questions of the gateway; and what a check of the rules says of it."""

import contextlib
import os
import signal
import subprocess

import pytest

import atoll
import far
import far6
import secured
from test_source_address import (  # noqa: F401
    project, pytestmark, server, set_source, there, who_came, world)

PATH = "/api/sandbox/instances"


def test_a_sandbox_that_is_restored_reset_or_made_from_a_snapshot(api, there, server, project):
    name, key = project
    own = server.api(key=key)
    with own.sandbox(internet=True) as sandbox:
        snapshot = own.post(f"{PATH}/{sandbox}/snapshot", {})["id"]
        for address, path in ((there.own[0], f"/api/sandbox/snapshots/{snapshot}/restore"), (there.own[1], f"{PATH}/{sandbox}/reset")):
            own.post(f"{PATH}/{sandbox}/stop")
            set_source(api, name, address)
            assert own.post(path, {})["id"] == sandbox
            own.post(f"{PATH}/{sandbox}/start")
            assert who_came(there, own, sandbox)[0] == {address}, path
        with own.sandbox(internet=True, snapshot=snapshot) as other:
            assert who_came(there, own, other)[0] == {there.own[1]}
        own.delete(f"/api/sandbox/snapshots/{snapshot}")


def test_questions_of_the_gateway_leave_by_the_address_of_the_host(api, there, server, project):
    name, key = project
    own = server.api(key=key)
    set_source(api, name, there.own[0])
    # The nameserver does not answer this address: a question that left by it would fail.
    subprocess.run(["nft", "add table inet deaf; add chain inet deaf out { type filter hook output priority 0; }; "
                    f"add rule inet deaf out ip saddr {there.own[0]} udp dport 53 drop"], check=True)
    try:
        with own.sandbox(internet=True, egress={"allow": ["*.test"], "deny": ["0.0.0.0/0"]}) as ruled:
            came, result = who_came(there, own, ruled, 'print(http("allowed.test"))')
            assert came == {there.own[0]} and "hello" in result["stdout"], result
    finally:
        subprocess.run(["nft", "delete table inet deaf"], check=True)


def child_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        return int(children.read().split()[0])


def test_the_gateway_starts_again_without_the_child_that_makes_its_sockets(api, there, server, project):
    name, key = project
    own = server.api(key=key)
    set_source(api, name, there.own[0])
    ask = 'print(http("allowed.test"))'
    with own.sandbox(internet=True, egress={"allow": ["*.test"], "deny": ["0.0.0.0/0"]}) as ruled:
        assert who_came(there, own, ruled, ask)[0] == {there.own[0]}
        gateway = server.pid_of("names")
        child = child_of(gateway)
        with open(f"/proc/{child}/status", encoding="ascii") as status:
            fields = dict(line.rstrip("\n").split(":\t", 1) for line in status)
        assert fields["CapEff"] == "0" * 16 and fields["Seccomp"] == "2" and fields["Uid"].split()[0] != "0", fields
        os.kill(child, signal.SIGKILL)
        atoll.wait_for(lambda: who_came(there, own, ruled, ask)[0] == {there.own[0]}, 20, there.came)
        assert server.pid_of("names") != gateway
        # The child ends with its gateway.
        gateway = server.pid_of("names")
        child = child_of(gateway)
        os.kill(gateway, signal.SIGKILL)
        atoll.wait_for(lambda: atoll.is_dead(child), 10, "the end of the child")
        atoll.wait_for(lambda: who_came(there, own, ruled, ask)[0] == {there.own[0]}, 20, there.came)


def test_a_check_knows_the_source_address(api, there, server, project):
    name, key = project
    own = server.api(key=key)
    set_source(api, name, there.own[0])
    ruled = {"allow": ["a.test"], "deny": ["0.0.0.0/0"]}
    with own.sandbox(internet=True) as sandbox, own.sandbox(internet=True, egress=ruled) as other, own.sandbox(internet=False) as blocked:
        def checked(host, one=sandbox):
            found = own.get(f"{PATH}/{one}/egress/check?host={host}")
            return found["decision"], found["code"], found["reason"]
        assert checked("a.test") == checked("1.2.3.4") == checked("a.test", other) == ("allowed", "ok", "allowed")
        assert checked("2600::1") == ("denied", "source-address-missing", "allowed, but the source address of the project is IPv4")
        subprocess.run(["ip", "addr", "del", f"{there.own[0]}/24", "dev", there.link], check=True)
        try:
            missing = ("denied", "source-address-missing", "allowed, but the host does not have the source address of the project")
            assert checked("a.test") == checked("1.2.3.4") == checked("a.test", other) == missing
            # The rules come first.
            assert checked("b.test", other)[1] == "host-not-allowed" and checked("10.0.0.1")[1] == "range-refused"
            assert checked("a.test", blocked)[1] != "source-address-missing"
            out = subprocess.run([atoll.ATOLL, "egress", "check", "--host", "a.test", sandbox], capture_output=True, text=True,
                                 env={**server.cli_environment(), "ATOLL_API_KEY": key})
            assert "source address of the project" in out.stdout, out
        finally:
            subprocess.run(["ip", "addr", "add", f"{there.own[0]}/24", "dev", there.link], check=True)
        assert checked("a.test")[0] == "allowed"


class Secured(secured.Secured):
    serve = secured.SERVE.replace('tell("connected", own)', 'tell("connected", stream.getpeername()[0])')

    def connected(self):
        return {line.split()[1] for line in self.came if line.startswith("connected ")}


@pytest.fixture(scope="module")
def far_away():
    with far.own_network(), contextlib.closing(Secured()) as there:
        there.own = [there.near.rsplit(".", 1)[0] + f".{last}" for last in (51, 52)]
        for address in there.own:
            subprocess.run(["ip", "addr", "add", f"{address}/24", "dev", there.link], check=True)
        server = atoll.Server(flags=["--network-nameservers", there.addresses[0]]).start()
        try:
            yield there, server
        finally:
            server.remove_all()


# Keeps one connection, over which it asks until the connection ends.
KEEP = r"""
import socket, ssl, sys, time
s = ssl.create_default_context().wrap_socket(socket.create_connection(("api.test", 443), 10), server_hostname="api.test")
s.settimeout(10)
open("/tmp/kept", "w").write("open")
try:
    while True:
        s.sendall(b"GET /kept HTTP/1.1\r\nHost: api.test\r\n\r\n")
        if not s.recv(65536):
            break
        open("/tmp/kept", "w").write("asked")
        time.sleep(0.1)
except OSError:
    pass
open("/tmp/kept", "w").write("ended")
"""


def test_connections_of_the_credential_proxy_use_it_and_end_with_it(far_away):
    there, server = far_away
    admin = server.api()
    made = admin.post("/v1/projects", {"name": "p-" + os.urandom(4).hex(), "source_address": there.own[0]})
    own = server.api(key=admin.call("POST", "/api/sandbox/keys", {"name": "k"}, headers={"X-Atoll-Project": made["id"]})["key"])
    own.post("/v1/credentials", {"name": "open", "hosts": ["api.test"], "consent": "project", "fields": {"token": "a-secret-value-0123456789"}})
    rules = {"allow": secured.ALLOWED, "deny": ["0.0.0.0/0"],
             "rules": [{"id": "api", "host": "api.test", "action": "inject", "upstream": {"ca": there.authority.certificate.read_text()},
                        "inject": [{"kind": "header", "name": "authorization", "value": "Bearer ${credential.open.token}"}]}]}
    with own.sandbox(internet=True, egress=rules) as sandbox:
        def get(path):
            return own.exec(sandbox, cmd="/usr/bin/curl", args=["-sS", "-i", f"https://api.test{path}"], timeout_ms=30000)
        atoll.wait_for(lambda: "200" in get("/first")["stdout"], 30, lambda: get("/first"))
        assert there.connected() == {there.own[0]}
        assert dict(map(tuple, there.last("/first")))["authorization"] == "Bearer a-secret-value-0123456789"
        for before, address in zip([there.own[0], there.own[1]], [there.own[1], ""]):
            own.post(f"{PATH}/{sandbox}/exec", {"cmd": "/usr/bin/python3", "args": ["-c", KEEP], "background": True})
            kept = lambda: own.exec(sandbox, cmd="cat", args=["/tmp/kept"])["stdout"]  # noqa: E731
            atoll.wait_for(lambda: kept() == "asked", 15, kept)
            assert there.connected() == {before}
            set_source(admin, made["id"], address)
            atoll.wait_for(lambda: kept() == "ended", 20, "the end of the connection")
            own.exec(sandbox, "rm /tmp/kept")
            del there.came[:]
            atoll.wait_for(lambda: "200" in get("/next")["stdout"], 20, lambda: get("/next"))
            assert there.connected() == {address or there.near}
        subprocess.run(["ip", "addr", "del", f"{there.own[1]}/24", "dev", there.link], check=True)
        subprocess.run(["ip", "addr", "add", f"{there.own[1]}/24", "dev", there.link], check=True)
        set_source(admin, made["id"], there.own[1])
        subprocess.run(["ip", "addr", "del", f"{there.own[1]}/24", "dev", there.link], check=True)
        del there.came[:]
        assert "200" not in get("/none")["stdout"] and not there.connected()
        rows = lambda: own.get(f"{PATH}/{sandbox}/egress/log?code=source-address-missing")["items"]  # noqa: E731
        atoll.wait_for(lambda: any(row["host"] == "api.test" for row in rows()), 15, rows)


@pytest.mark.skipif(bool(far6.obstacle()), reason=far6.obstacle() or "")
def test_sandboxes_of_the_project_lose_ipv6_and_names_that_have_no_other_address():
    with far6.running() as (there, server):
        api, source = server.api(), "192.0.2.52"
        far6.ip("addr", "add", f"{source}/24", "dev", "uplink")
        made = api.post("/v1/projects", {"name": "six"})["id"]
        own = server.api(key=api.call("POST", "/api/sandbox/keys", {"name": "k"}, headers={"X-Atoll-Project": made})["key"])
        ruled = {"allow": ["six.test"], "deny": ["0.0.0.0/0"]}
        get = ("import socket\ns = socket.create_connection(('192.0.0.8', 80), 10)\n"
               "s.sendall(b'GET / HTTP/1.1\\r\\nHost: six.test\\r\\nConnection: close\\r\\n\\r\\n')\nprint(s.recv(9999).decode())")
        with own.sandbox(internet=True) as sandbox, own.sandbox(internet=True, egress={"deny": ["9.9.9.9"], "mode": "watch"}) as watched, \
                own.sandbox(internet=True, egress=ruled) as named, api.sandbox(internet=True) as other:
            ask = lambda: own.exec(named, cmd="/usr/bin/python3", args=["-c", get])["stdout"]  # noqa: E731
            assert far6.reached(own, sandbox, far6.FIRST) == {far6.FIRST: far6.OPEN} and "hello" in ask()
            set_source(api, made, source)
            for one in (sandbox, watched):
                atoll.wait_for(lambda: far6.reached(own, one, far6.FIRST) == {far6.FIRST: far6.CLOSED}, 15, one)
            assert "hello" not in ask() and far6.reached(api, other, far6.FIRST) == {far6.FIRST: far6.OPEN}
            set_source(api, made, "")
            atoll.wait_for(lambda: far6.reached(own, sandbox, far6.FIRST) == {far6.FIRST: far6.OPEN}, 15, "IPv6")
