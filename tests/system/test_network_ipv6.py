# SPDX-License-Identifier: Apache-2.0
"""IPv6 of sandboxes, where the host has it: docs/operate/network.md."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

import atoll
import far
import far6

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not shutil.which("ip") or not shutil.which("nft"), reason="needs ip and nft"),
              pytest.mark.skipif(bool(far6.obstacle()), reason=far6.obstacle() or "")]
PATH = "/api/sandbox/instances"
NONE = ["ENETUNREACH", "ENETUNREACH"]


@pytest.fixture(scope="module")
def world():
    with far6.running() as both:
        yield both


@pytest.fixture(scope="module")
def there(world):
    return world[0]


@pytest.fixture(scope="module")
def server(world):
    return world[1]


PING = """
import socket, sys
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM, socket.IPPROTO_ICMPV6); s.settimeout(10)
s.connect((sys.argv[1], 0)); s.send(bytes([128]) + bytes(15)); print(s.recv(99)[0])
"""


def test_a_sandbox_reaches_ipv6_by_the_address_of_the_host(api, there, server):
    with api.sandbox(internet=True) as sandbox, api.sandbox(internet=True) as other:
        own, another = far6.own_address(api, sandbox), far6.own_address(api, other)
        assert own.startswith("fd61:746f:6c6c:0000:0000:0000:") and another.startswith(own[:35]) and own != another
        assert far6.reached(api, sandbox, far6.FIRST) == {far6.FIRST: far6.OPEN}
        assert far6.reached(api, other, far6.SECOND) == {far6.SECOND: far6.OPEN}
        assert api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", PING, far6.FIRST])["stdout"] == "129\n"
    # The host stays one that is no router, and learns its own routes as before.
    assert far6.sysctl("all/forwarding") == "0" and far6.sysctl("uplink/forwarding") == "0"
    assert far6.sysctl("uplink/force_forwarding") == "1" and far6.sysctl("uplink/accept_ra") == "1"


def test_a_sandbox_without_internet_has_ipv6_on_loopback_only(api):
    with api.sandbox(internet=False) as sandbox:
        assert far6.own_address(api, sandbox) is None
        assert far6.reached(api, sandbox, far6.FIRST) == {far6.FIRST: NONE}


def test_rules_for_ipv4_open_no_ipv6_and_clients_learn_it_at_once(api):
    for rules in ({"deny": ["0.0.0.0/0"]}, {"allow": ["203.0.113.7"], "deny": ["0.0.0.0/0"]}, {"deny": ["203.0.113.0/24"]}):
        with api.sandbox(internet=True, egress=rules) as sandbox:
            assert far6.reached(api, sandbox, far6.FIRST, far6.SECOND) == {far6.FIRST: far6.CLOSED, far6.SECOND: far6.CLOSED}


def test_entries_of_ipv6_deny_and_allow(api):
    with api.sandbox(internet=True, egress={"deny": ["2600:aaaa::/32"]}) as sandbox:
        assert far6.reached(api, sandbox, far6.FIRST, far6.SECOND) == {far6.FIRST: far6.CLOSED, far6.SECOND: far6.OPEN}
        api.call("PUT", f"{PATH}/{sandbox}/egress", {"allow": [far6.FIRST], "deny": ["0.0.0.0/0"]})
        assert far6.reached(api, sandbox, far6.FIRST, far6.SECOND) == {far6.FIRST: far6.OPEN, far6.SECOND: far6.CLOSED}
        api.call("PUT", f"{PATH}/{sandbox}/egress", {"deny": ["::/0"]})
        assert far6.reached(api, sandbox, far6.FIRST) == {far6.FIRST: far6.CLOSED}
        api.call("PUT", f"{PATH}/{sandbox}/egress", {})
        assert far6.reached(api, sandbox, far6.FIRST) == {far6.FIRST: far6.OPEN}


TALK = f"""
import socket, sys, time
s = socket.create_connection((sys.argv[1], {far6.TCP}), 10)
s.recv(99); print("talks", flush=True)
u = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); u.settimeout(3); u.connect((sys.argv[1], {far6.UDP})); u.send(b"stream")
heard = 0
try:
    while True:
        u.recv(99); heard += 1
        if heard == 20: print("hears", flush=True)
except OSError:
    print("silence", flush=True)
try:
    while True:
        s.sendall(b"x"); assert s.recv(1) == b"x"; time.sleep(0.05)
except OSError:
    print("cut", flush=True)
"""


def test_new_rules_cut_what_is_under_way(api):
    with api.sandbox(internet=True) as sandbox:
        process = api.post(f"{PATH}/{sandbox}/exec", {"cmd": "/usr/bin/python3", "args": ["-c", TALK, far6.FIRST], "background": True})["process"]

        def said():
            return api.raw("GET", f"{PATH}/{sandbox}/logs?process={process}").body.decode()
        atoll.wait_for(lambda: "talks" in said() and "hears" in said(), 15, said)
        api.call("PUT", f"{PATH}/{sandbox}/egress", {"deny": ["2600:aaaa::/32"]})
        atoll.wait_for(lambda: "silence" in said() and "cut" in said(), 15, said)


def test_decisions_tell_ipv6_addresses(api):
    with api.sandbox(internet=True, egress={"deny": ["2600:aaaa::/32"]}) as sandbox:
        result = api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", far6.TRY, far6.FIRST, far6.SECOND, far6.PRIVATE], timeout_ms=60000)
        refusals = {(row["address"], row["port"], row["code"]): row for row in result["network"]}
        denied = refusals[far6.FIRST, far6.TCP, "address-denied"]
        assert denied["rule"] == "2600:aaaa::/32" and f"[{far6.FIRST}]:{far6.TCP}" in denied["message"]
        assert (far6.PRIVATE, far6.UDP, "range-refused") in refusals

        def rows():
            found = api.get(f"{PATH}/{sandbox}/egress/log")["items"]
            return {(row["address"], row["decision"], row["code"], row["rule"]) for row in found}
        wanted = {(far6.FIRST, "denied", "address-denied", "2600:aaaa::/32"), (far6.SECOND, "allowed", "ok", None),
                  (far6.PRIVATE, "denied", "range-refused", None)}
        atoll.wait_for(lambda: wanted <= rows(), 15, lambda: str(rows()))

        def told():
            lines = api.exec(sandbox, "cat /run/atoll/denied.jsonl 2>/dev/null || true")["stdout"].splitlines()
            return [row for row in map(json.loads, lines) if row["address"] == far6.FIRST]
        ask = atoll.wait_for(told, 15, "the file of refusals")[0]["ask"]
        assert ask == {"tool": "request_access", "host": far6.FIRST, "port": ask["port"]}
        for address, code in ((far6.FIRST, "address-denied"), (far6.SECOND, "ok"), (far6.PRIVATE, "range-refused"), ("::1", "range-refused")):
            assert api.get(f"{PATH}/{sandbox}/egress/check?host={address}&port=443")["code"] == code
        # What a person allows is reached.
        api.post(f"{PATH}/{sandbox}/egress/allow", {"host": far6.FIRST})
        assert far6.reached(api, sandbox, far6.FIRST) == {far6.FIRST: far6.OPEN}


HTTP = """
import socket, sys
print(socket.getaddrinfo(sys.argv[1], 80, socket.AF_UNSPEC, socket.SOCK_STREAM)[0][4][0])
with socket.create_connection((sys.argv[1], 80), 10) as s:
    s.sendall(f"GET / HTTP/1.1\\r\\nHost: {sys.argv[1]}\\r\\n\\r\\n".encode())
    print(s.makefile().read())
"""


def said(api, sandbox, name):
    result = api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", HTTP, name], timeout_ms=60000)
    return result["stdout"] + result["stderr"]


def test_a_name_with_ipv6_only_is_reached_through_the_gateway(api, there):
    rules = {"allow": ["six.test", "private6.test"], "deny": ["0.0.0.0/0"]}
    with api.sandbox(internet=True, egress=rules) as sandbox:
        out = said(api, sandbox, "six.test")
        assert out.startswith("192.0.0.8\n") and f"hello of {far6.FIRST} to {far6.HOST}" in out, out
        # The address itself is refused as all others are, and so is a name that leads to the operator's own network.
        assert far6.reached(api, sandbox, far6.FIRST) == {far6.FIRST: far6.CLOSED}
        assert "range-refused" in said(api, sandbox, "private6.test")
        assert "asked six 1" in there.came and "asked six 28" in there.came
        assert not [line for line in there.came if far6.PRIVATE in line]

        def rows():
            return {(row["host"], row["address"], row["code"]) for row in api.get(f"{PATH}/{sandbox}/egress/log")["items"]}
        atoll.wait_for(lambda: ("six.test", far6.FIRST, "ok") in rows(), 15, lambda: str(rows()))


def test_where_rules_name_hosts_no_mode_opens_ipv6(api):
    for mode in ("enforce", "ask", "watch"):
        with api.sandbox(internet=True, egress={"allow": ["six.test"], "deny": ["0.0.0.0/0"], "mode": mode}) as sandbox:
            assert far6.reached(api, sandbox, far6.FIRST, far6.SECOND) == {far6.FIRST: far6.CLOSED, far6.SECOND: far6.CLOSED}
    # Without names, the mode "watch" lets pass what the rules refuse.
    with api.sandbox(internet=True, egress={"deny": ["2600:aaaa::/32"], "mode": "watch"}) as sandbox:
        assert far6.reached(api, sandbox, far6.FIRST) == {far6.FIRST: far6.OPEN}


def test_it_lasts_through_pauses_forks_and_ends_of_the_server(api, server):
    rules = {"deny": ["2600:aaaa::/32"]}
    expected = {far6.FIRST: far6.CLOSED, far6.SECOND: far6.OPEN}
    with api.sandbox(internet=True, egress=rules) as sandbox:
        api.post(f"{PATH}/{sandbox}/pause")
        api.post(f"{PATH}/{sandbox}/resume")
        assert far6.reached(api, sandbox, *expected) == expected
        for role in ("broker", "api"):
            server.kill9(role)
            server.wait_ready()
            assert far6.reached(api, sandbox, *expected) == expected
        subprocess.run(["nft", "flush", "ruleset"], check=True)
        atoll.wait_for(lambda: far6.reached(api, sandbox, *expected) == expected, 30, "the rules")
        fork = api.post(f"{PATH}/{sandbox}/fork")
        fork = fork.get("id") or fork["items"][0]["id"]
        try:
            assert far6.own_address(api, fork) != far6.own_address(api, sandbox)
            assert far6.reached(api, fork, *expected) == expected
        finally:
            api.remove(fork)
        api.post(f"{PATH}/{sandbox}/stop")
        api.post(f"{PATH}/{sandbox}/start")
        assert far6.reached(api, sandbox, *expected) == expected


def test_the_option_turns_it_off_for_sandboxes_that_run(server, there):
    api = server.api()
    with api.sandbox(internet=True) as sandbox:
        assert far6.reached(api, sandbox, far6.FIRST) == {far6.FIRST: far6.OPEN}
        server.stop()
        server.flags += ["--network-ipv6", "off"]
        try:
            api = server.start().api()
            assert far6.reached(api, sandbox, far6.FIRST) == {far6.FIRST: far6.CLOSED}
            with api.sandbox(internet=True) as after:
                assert far6.own_address(api, after) is None
                assert far6.reached(api, after, far6.FIRST) == {far6.FIRST: NONE}
        finally:
            server.stop()
            del server.flags[-2:]
            api = server.start().api()
        assert far6.reached(api, sandbox, far6.FIRST) == {far6.FIRST: far6.OPEN}


def test_what_dead_sandboxes_have_begun_comes_to_no_other(there):
    """The flow was not ended: no server ran when the sandbox died, or its server has IPv6 no more."""
    with far6.running() as (_, server):
        api = server.api()
        box = api.create(internet=True)["id"]
        own = far6.own_address(api, box)
        process = api.post(f"{PATH}/{box}/exec", {"cmd": "/usr/bin/python3", "args": ["-c", TALK, far6.FIRST], "background": True})["process"]
        atoll.wait_for(lambda: "hears" in api.raw("GET", f"{PATH}/{box}/logs?process={process}").body.decode(), 15, "what is under way")
        first = atoll.first_process(far6.FIRST)
        server.stop()
        os.kill(first, signal.SIGKILL)
        atoll.wait_for(lambda: atoll.is_dead(first), 15, "its end")
        assert far6.flows_of(own) >= 2
        api = server.start().api()
        atoll.wait_for(lambda: far6.flows_of(own) == 0, 15, "the end of what it has begun")
        with api.sandbox(internet=True) as living:
            own = far6.own_address(api, living)
            assert far6.reached(api, living, far6.FIRST) == {far6.FIRST: far6.OPEN} and far6.flows_of(own) > 0
            server.stop()
            server.flags += ["--network-ipv6", "off"]
            api = server.start().api()
            atoll.wait_for(lambda: far6.flows_of(own) == 0, 15, "the end of what is under way")


def test_network_allow_opens_private_ranges_and_nothing_that_leads_to_ipv4():
    with far6.running("--network-allow", "fd00:beef::/32") as (_, server):
        api = server.api()
        with api.sandbox(internet=True) as sandbox:
            assert far6.reached(api, sandbox, far6.PRIVATE, "fd00:beee::1") == {far6.PRIVATE: far6.OPEN, "fd00:beee::1": far6.CLOSED}
            api.call("PUT", f"{PATH}/{sandbox}/egress", {"deny": ["0.0.0.0/0"]})
            assert far6.reached(api, sandbox, far6.PRIVATE) == {far6.PRIVATE: far6.CLOSED}
    for bad in ("64:ff9b::/96", "::/0", "fe80::/10", "2002::/16"):
        result = subprocess.run([atoll.ATOLL, "serve", "--network-allow", bad, "--data", "/nonexistent"], capture_output=True, text=True, timeout=30)
        assert result.returncode != 0 and "6to4" in result.stderr, result


SEND = """
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
for _ in range(4):
    s.sendto(bytes(1000), ("2600:dddd::2", 9))
"""


def test_an_uplink_forwards_for_sandboxes_alone(there, server):
    """A machine beyond the uplink does not reach another network of the host through it; sandboxes' answers come in."""
    inside = ["nsenter", "-t", str(there.process.pid), "-n"]
    far6.ip("link", "add", "other6", "type", "veth", "peer", "name", "other7")
    try:
        for words in (["addr", "add", "2600:dddd::1/64", "dev", "other6", "nodad"], ["link", "set", "other6", "up"], ["link", "set", "other7", "up"],
                      ["-6", "neigh", "add", "2600:dddd::2", "lladdr", "02:00:00:00:00:07", "dev", "other6"]):
            far6.ip(*words)
        far6.ip("-6", "route", "replace", "2600:dddd::/64", "via", far6.HOST, inside=inside)

        def sent():
            shown = subprocess.run(["ip", "-j", "-s", "link", "show", "other6"], capture_output=True, check=True, text=True).stdout
            return json.loads(shown)[0]["stats64"]["tx"]["bytes"]

        def gain():
            before = sent()
            subprocess.run([*inside, sys.executable, "-c", SEND], check=True)
            time.sleep(0.2)
            return sent() - before
        def next_broker():
            server.kill9("broker")

            def makes():
                with contextlib.suppress(atoll.ApiError), server.api().sandbox(internet=True):
                    return True
            atoll.wait_for(makes, 30, "the next broker")
        next_broker()  # it finds what the one before it has forced
        assert gain() < 1000
        subprocess.run(["nft", "delete", "chain", "inet", "atoll", "forward6"], check=True)
        assert gain() > 3000  # so that the test says something
        next_broker()
        assert gain() < 1000
    finally:
        far6.ip("link", "del", "other6")


def test_a_host_that_is_a_router_forwards_by_itself():
    with far.own_network(), contextlib.closing(far6.Far6()):
        subprocess.run(["sh", "-c", "echo 1 > /proc/sys/net/ipv6/conf/all/forwarding"], check=True)
        server = atoll.Server()
        try:
            api = server.start().api()
            with api.sandbox(internet=True) as sandbox:
                assert far6.reached(api, sandbox, far6.FIRST, far6.PRIVATE) == {far6.FIRST: far6.OPEN, far6.PRIVATE: far6.CLOSED}
            assert far6.sysctl("uplink/force_forwarding") == "0" and 'sandboxes have IPv6 forwarding="by the host"' in server.log_text()
        finally:
            server.remove_all()


@pytest.mark.parametrize("flags,command", [
    ([], "ip -6 route del default"), (["--network-proxy", f"http://{far6.ROUTER4}:3128"], "true"),
    ([], "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6")])
def test_without_a_route_or_with_an_upstream_proxy_there_is_none(flags, command):
    with far.own_network(), contextlib.closing(far6.Far6()):
        subprocess.run(["sh", "-c", command], check=True)
        server = atoll.Server(flags=flags)
        try:
            api = server.start().api()
            with api.sandbox(internet=True) as sandbox:
                assert far6.own_address(api, sandbox) is None
                assert far6.reached(api, sandbox, far6.FIRST) == {far6.FIRST: NONE}
        finally:
            server.remove_all()


def test_an_uplink_forwards_no_longer_than_the_rules_that_guard_it_are_there():
    """The last server on a host removes its rules; the next one has to know the uplink as its own again."""
    def forced():
        return subprocess.run(["nft", "list", "set", "inet", "atoll", "forced6"], capture_output=True, check=False, text=True).stdout

    with far.own_network(), contextlib.closing(far6.Far6()):
        server = atoll.Server()
        try:
            for _ in range(2):
                api = server.start().api()
                with api.sandbox(internet=True) as sandbox:
                    assert far6.reached(api, sandbox, far6.FIRST) == {far6.FIRST: far6.OPEN}
                assert far6.sysctl("uplink/force_forwarding") == "1" and '"uplink"' in forced()
                server.stop()
                # Another server on this host, such as of a test beside this one, keeps the rules.
                assert far6.sysctl("uplink/force_forwarding") == "0" or '"uplink"' in forced()
            server.start()
        finally:
            server.remove_all()


def test_lists_of_both_families_and_names_hold_together(api, there):
    """{rules: what is reached by IPv6, and whether the name is}"""
    name, both = "six.test", [far6.FIRST, far6.SECOND]
    cases = (
        ({"allow": ["192.0.2.1", far6.FIRST, name], "deny": ["0.0.0.0/0", "2600:bbbb::/32"]}, [far6.FIRST], True),
        ({"allow": [name], "deny": ["0.0.0.0/0", "2600:aaaa::/32"]}, [], True),
        ({"allow": ["2600::/12", name], "deny": ["0.0.0.0/0", "::/0"]}, both, True),
        ({"allow": ["2600:aaaa::/32"], "deny": ["::/0"]}, [far6.FIRST], None),
        ({"allow": ["2600:aaaa::/32"], "deny": ["2600:aaaa::1", "203.0.113.0/24"]}, both, None),
        ({"allow": ["0.0.0.0/0"], "deny": ["0.0.0.0/0"]}, [], None),
        ({"allow": ["::/0"], "deny": ["0.0.0.0/0"]}, both, None),
        ({"deny": ["203.0.113.0/24", "2600:bbbb::1"]}, [far6.FIRST], None),
        # A mapped address is an IPv6 address here, and opens no IPv4.
        ({"allow": ["::ffff:0:0/96"], "deny": ["0.0.0.0/0"]}, [], None),
    )
    for rules, reached, has_name in cases:
        with api.sandbox(internet=True, egress=rules) as sandbox:
            expected = {address: far6.OPEN if address in reached else far6.CLOSED for address in both}
            assert far6.reached(api, sandbox, *both) == expected, rules
            if has_name:
                assert f"hello of {far6.FIRST}" in said(api, sandbox, name), rules
            assert api.get(f"{PATH}/{sandbox}/egress/check?host={far6.FIRST}&port=8080")["decision"] == ("allowed" if far6.FIRST in reached else "denied"), rules


def test_the_mode_ask_asks_for_an_ipv6_address_and_what_is_allowed_is_reached(api):
    with api.sandbox(internet=True, egress={"deny": ["0.0.0.0/0"], "mode": "ask"}) as sandbox:
        assert far6.reached(api, sandbox, far6.FIRST) == {far6.FIRST: far6.CLOSED}

        def asked():
            return [row for row in api.get(f"{PATH}/{sandbox}/egress/requests")["items"] if far6.FIRST in json.dumps(row)]
        request, = atoll.wait_for(asked, 15, lambda: str(api.get(f"{PATH}/{sandbox}/egress/requests")))
        api.post(f"{PATH}/{sandbox}/egress/requests/{request['id']}/allow")
        assert far6.reached(api, sandbox, far6.FIRST, far6.SECOND) == {far6.FIRST: far6.OPEN, far6.SECOND: far6.CLOSED}
        assert far6.FIRST in api.get(f"{PATH}/{sandbox}")["egress"]["allow"]


@pytest.mark.parametrize("flags,word", [
    (["--network-ipv6", "maybe"], "network_ipv6"), (["--network-ipv6-subnet", "2001:db8::/64"], "fc00::/7"), (["--network-ipv6-subnet", "fe80::/64"], "fc00::/7"),
    (["--network-ipv6-subnet", "fd00::1/64"], "fc00::/7"), (["--network-ipv6-subnet", "fd00::/97"], "/96"), (["--network-ipv6-subnet", "10.0.0.0/8"], "fc00::/7"),
    (["--network-allow", "::ffff:10.0.0.0/104"], "'::ffff:10.0.0.0/104'"), (["--network-allow", "fd00::/8,64:ff9b::/96"], "'64:ff9b::/96'")])
def test_wrong_flags_are_refused_with_what_would_be_right(flags, word):
    result = subprocess.run([atoll.ATOLL, "serve", *flags, "--data", "/nonexistent"], capture_output=True, text=True, timeout=30)
    assert result.returncode != 0 and word in result.stderr, result
