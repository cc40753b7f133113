# SPDX-License-Identifier: Apache-2.0
"""IPv6 of a sandbox through all that ends, replaces or copies it: its address, rules, bytes, decisions and names are its own afterwards, and
never another one's."""

import contextlib
import json
import shutil

import pytest

import atoll
import far6
from test_egress_quota import new_project
from test_quotas import limit

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not shutil.which("ip") or not shutil.which("nft"), reason="needs ip and nft"),
              pytest.mark.skipif(bool(far6.obstacle()), reason=far6.obstacle() or "")]
PATH = "/api/sandbox/instances"
SNAPSHOTS = "/api/sandbox/snapshots"
RULES = {"deny": ["2600:aaaa::/32"]}
EXPECTED = {far6.FIRST: far6.CLOSED, far6.SECOND: far6.OPEN}
OTHER_RULES = {"allow": [far6.FIRST], "deny": ["0.0.0.0/0"]}
OTHER_EXPECTED = {far6.FIRST: far6.OPEN, far6.SECOND: far6.CLOSED}
FREE = {far6.FIRST: far6.OPEN, far6.SECOND: far6.OPEN}
MB = 1 << 20


@pytest.fixture(scope="module")
def world():
    with far6.running("--usage-flush", "1s", before=far6.OWN_VIEW) as both:
        yield both


@pytest.fixture(scope="module")
def there(world):
    return world[0]


@pytest.fixture(scope="module")
def server(world):
    return world[1]


# Sends by IPv6 alone, to a port where nothing listens.
SEND = f"""
import socket, sys, time
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
for i in range(int(sys.argv[2])):
    s.sendto(bytes(1000), (sys.argv[1], 9))
    if i % 64 == 0: time.sleep(0.001)
"""
LOOK_UP = "import socket; print(socket.getaddrinfo('six.test', 80, socket.AF_INET6, socket.SOCK_STREAM)[0][4][0])"


def run(api, sandbox, code, *args):
    result = api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", code, *map(str, args)], timeout_ms=60000)
    assert result["exit_code"] == 0, result
    return result["stdout"].strip()


def bytes_of(api, sandbox):
    stats = api.get(f"{PATH}/{sandbox}/stats")
    return stats["network_out_bytes"], stats["network_in_bytes"]


def log_of(api, sandbox):
    return api.get(f"{PATH}/{sandbox}/egress/log")


def counts_what_it_sends(api, sandbox):
    before = bytes_of(api, sandbox)[0]
    run(api, sandbox, SEND, far6.SECOND, 300)
    gained = bytes_of(api, sandbox)[0] - before
    assert 300 * 1000 <= gained < 2 * 300 * 1000, (before, gained)


def is_right(api, sandbox, rules=RULES, expected=EXPECTED):
    """Address, rules, decisions, names and bytes of a sandbox with rules."""
    assert {kind: api.get(f"{PATH}/{sandbox}")["egress"].get(kind, []) for kind in ("allow", "deny")} == {"allow": [], "deny": [], **rules}
    seen = log_of(api, sandbox)["after"]
    assert far6.reached(api, sandbox, *expected) == expected
    if expected == EXPECTED:
        assert run(api, sandbox, LOOK_UP) == far6.FIRST

    def rows():
        return {(row["address"], row["code"], row["rule"]) for row in api.get(f"{PATH}/{sandbox}/egress/log?after={seen}")["items"] if ":" in row["address"]}
    refused, = (address for address, word in expected.items() if word == far6.CLOSED)
    atoll.wait_for(lambda: {address for address, code, _ in rows() if code == "address-denied"} == {refused}, 15, lambda: str(rows()))
    counts_what_it_sends(api, sandbox)


def are_apart(api):
    """No two sandboxes have one address; returns the addresses."""
    found = {row["id"]: far6.own_address(api, row["id"]) for row in atoll.Server.rows(api) if row["state"] == "started"}
    assert len(set(found.values())) == len(found) and all(found.values()), found
    return found


def pause(api, _, sandbox):
    api.post(f"{PATH}/{sandbox}/pause")
    api.post(f"{PATH}/{sandbox}/resume")
    return [sandbox]


def stop(api, _, sandbox):
    api.post(f"{PATH}/{sandbox}/stop")
    api.post(f"{PATH}/{sandbox}/start")
    return [sandbox]


def reset(api, _, sandbox):
    api.post(f"{PATH}/{sandbox}/reset")
    return [sandbox]


def roll_back(api, _, sandbox):
    taken = api.post(f"{PATH}/{sandbox}/snapshot")["id"]
    api.exec(sandbox, "echo changed > /home/user/changed")
    api.post(f"{SNAPSHOTS}/{taken}/restore")
    return [sandbox]


def restore_new(api, _, sandbox):
    taken = api.post(f"{PATH}/{sandbox}/snapshot")["id"]
    return [sandbox, api.post(f"{SNAPSHOTS}/{taken}/restore", {"new": True})["id"]]


def fork(api, _, sandbox):
    return [sandbox, *(item["id"] for item in api.post(f"{PATH}/{sandbox}/fork", {"count": 2})["items"])]


def archive(api, _, sandbox):
    api.post(f"{PATH}/{sandbox}/stop")
    assert api.post(f"{PATH}/{sandbox}/archive")["state"] == "archived"
    api.post(f"{PATH}/{sandbox}/start")
    return [sandbox]


def lose_the_broker(api, server, sandbox):
    before = server.kill9("broker")
    atoll.wait_for(lambda: server.pid_of("broker") not in (None, before), 20, "another broker")
    server.wait_ready()
    return [sandbox]


def begin_the_server_again(api, server, sandbox):
    server.stop()
    server.start()
    return [sandbox]


@pytest.mark.parametrize("change", [pause, stop, reset, roll_back, restore_new, fork, archive, lose_the_broker, begin_the_server_again])
def test_a_sandbox_keeps_what_is_its_own(server, change):
    api, made = server.api(), []
    with api.sandbox(internet=True, egress=OTHER_RULES) as beside:
        try:
            made.append(api.create(internet=True, egress=RULES, persistent=True)["id"])
            is_right(api, made[0])
            is_right(api, beside, OTHER_RULES, OTHER_EXPECTED)
            made = change(api, server, made[0])
            api = server.api()
            for sandbox in made:
                is_right(api, sandbox)
            is_right(api, beside, OTHER_RULES, OTHER_EXPECTED)
            # What one was refused is in no log but its own.
            for sandbox, expected in ((beside, OTHER_EXPECTED), *((one, EXPECTED) for one in made)):
                decided = {(row["address"], row["decision"] == "allowed") for row in log_of(api, sandbox)["items"] if row["address"] in expected}
                assert decided == {(address, word == far6.OPEN) for address, word in expected.items()}, decided
            are_apart(api)
            # A new one has nothing of those before it: no rules, no bytes, no decisions.
            with api.sandbox(internet=True) as new:
                assert bytes_of(api, new)[0] < 1000
                assert far6.reached(api, new, *FREE) == FREE
                assert log_of(api, new)["items"] == []
                are_apart(api)
        finally:
            for sandbox in made:
                with contextlib.suppress(atoll.ApiError):
                    api.remove(sandbox)


def test_a_sandbox_of_a_snapshot_has_no_rules_of_its_source(server):
    api = server.api()
    with api.sandbox(internet=True, egress=RULES) as source:
        taken = api.post(f"{PATH}/{source}/snapshot")["id"]
        with api.sandbox(internet=True, snapshot=taken) as made:
            assert far6.reached(api, made, *FREE) == FREE
            assert far6.own_address(api, made) != far6.own_address(api, source)
        # Nor a network, where it was made without one.
        with api.sandbox(internet=False, snapshot=taken) as made:
            assert far6.own_address(api, made) is None


# ---- bytes


def test_bytes_of_ipv6_are_in_figures_history_and_decisions(server, there):
    api = server.api()
    with api.sandbox(internet=True, egress={"allow": ["six.test"], "deny": ["0.0.0.0/0"], "mode": "enforce"}) as sandbox:
        run(api, sandbox, f"""
import socket
with socket.create_connection(("six.test", 80), 10) as s:
    s.sendall(b"GET / HTTP/1.1\\r\\nHost: six.test\\r\\nX-Long: " + b"x" * 1500 + b"\\r\\nConnection: close\\r\\n\\r\\n")
    while s.recv(4096): pass
""")

        def row():
            rows = [row for row in log_of(api, sandbox)["items"] if row["host"] == "six.test" and row["address"] == far6.FIRST]
            return rows if sum(row["bytes_out"] for row in rows) > 1500 and sum(row["bytes_in"] for row in rows) > 50 else None
        atoll.wait_for(row, 20, lambda: str(log_of(api, sandbox)))
    with api.sandbox(internet=True) as sandbox:
        counts_what_it_sends(api, sandbox)
        received = bytes_of(api, sandbox)[1]
        assert far6.reached(api, sandbox, far6.FIRST) == {far6.FIRST: far6.OPEN}
        assert bytes_of(api, sandbox)[1] > received
        metrics = api.raw("GET", "/metrics").body.decode()
        assert "atoll_egress_decisions_total" in metrics


def test_a_quota_counts_and_cuts_ipv6(server):
    admin, api = new_project(server)
    limit(admin, "project", api.project, egress_mb_per_day=2)
    sandbox = api.create(internet=True, egress={"allow": [far6.FIRST, far6.SECOND], "deny": ["0.0.0.0/0"], "mode": "watch"})["id"]
    try:
        assert far6.reached(api, sandbox, *FREE) == FREE
        run(api, sandbox, SEND, far6.SECOND, 3 * 1049)
        cut = atoll.wait_for(lambda: api.get(f"{PATH}/{sandbox}")["egress_cut"], 30, "the network to be taken away")
        assert "2 MB a day" in cut
        # Neither an allowed entry nor the mode opens it.
        assert far6.reached(api, sandbox, *FREE) == {far6.FIRST: far6.CLOSED, far6.SECOND: far6.CLOSED}

        def rows():
            return {(row["address"], row["code"]) for row in log_of(api, sandbox)["items"]}
        atoll.wait_for(lambda: {(far6.FIRST, "quota"), (far6.SECOND, "quota")} <= rows(), 15, lambda: str(rows()))
        before = server.kill9("broker")
        atoll.wait_for(lambda: server.pid_of("broker") not in (None, before), 20, "another broker")
        server.wait_ready()
        assert far6.reached(api, sandbox, *FREE) == {far6.FIRST: far6.CLOSED, far6.SECOND: far6.CLOSED}
        limit(admin, "project", api.project, egress_mb_per_day=100)
        atoll.wait_for(lambda: api.get(f"{PATH}/{sandbox}")["egress_cut"] is None, 20, "the network to come back")
        assert far6.reached(api, sandbox, *FREE) == FREE
    finally:
        server.api(api.key).remove(sandbox)
