# SPDX-License-Identifier: Apache-2.0
"""Whom a sandbox may reach, by its own rules: docs/operate/network.md."""

import concurrent.futures
import shutil

import pytest

import atoll
import far

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not shutil.which("ip") or not shutil.which("nft"), reason="needs ip and nft")]
PATH = "/api/sandbox/instances"


@pytest.fixture(scope="module")
def world():
    there = far.Far()
    yield there
    there.close()


def test_without_rules_all_is_reached(api, world):
    with api.sandbox(internet=True) as sandbox:
        first, second, _ = world.addresses
        assert far.reached(api, sandbox, first, second) == {first: "tcp udp", second: "tcp udp"}
        assert api.get(f"{PATH}/{sandbox}")["egress"] == {"allow": [], "deny": []}
        assert far.slot_of(api, sandbox) not in far.slots_with_rules()


def test_a_list_of_allowed_addresses_is_all_that_is_reached(api, world):
    first, second, third = world.addresses
    rules = {"allow": [first, f"{third}/31"], "deny": ["0.0.0.0/0"]}
    # Several: one of them is a prepared one that is claimed.
    for _ in range(3):
        with api.sandbox(internet=True, egress=rules) as sandbox:
            assert far.reached(api, sandbox, first, second) == {first: "tcp udp", second: "no no"}
            assert api.get(f"{PATH}/{sandbox}")["egress"] == rules


def test_what_is_denied_is_out_of_reach_and_all_else_is_not(api, world):
    first, second, third = world.addresses
    with api.sandbox(internet=True, egress={"deny": [second, "2001:db8::/32"]}) as sandbox:
        assert far.reached(api, sandbox, first, second, third) == {
            first: "tcp udp", second: "no no", third: "tcp udp"}
        api.call("PUT", f"{PATH}/{sandbox}/egress", {"deny": ["0.0.0.0/0"]})
        assert far.reached(api, sandbox, first) == {first: "no no"}


TALK = f"""
import socket, sys, time
s = socket.create_connection((sys.argv[1], {far.TCP}), 10)
assert s.recv(6) == b"hello\\n"
print("talks", flush=True)
try:
    while True:
        s.sendall(b"x"); assert s.recv(1) == b"x"; time.sleep(0.05)
except OSError as failure:
    print("cut", flush=True)
"""


def test_rules_change_while_it_runs_and_cut_what_is_under_way(api, world):
    first, second, _ = world.addresses
    with api.sandbox(internet=True) as sandbox:
        slot = far.slot_of(api, sandbox)
        process = api.post(f"{PATH}/{sandbox}/exec", {"cmd": "/usr/bin/python3", "args": ["-c", TALK, first],
                                                      "background": True})["process"]

        def said():
            return api.raw("GET", f"{PATH}/{sandbox}/logs?process={process}").body.decode()
        atoll.wait_for(lambda: "talks" in said(), 15, "a connection")
        answer = api.call("PUT", f"{PATH}/{sandbox}/egress", {"deny": [first]})
        assert answer["egress"] == {"allow": [], "deny": [first]}
        atoll.wait_for(lambda: "cut" in said(), 15, "the connection's end")
        assert far.reached(api, sandbox, first, second) == {first: "no no", second: "tcp udp"}
        api.call("PUT", f"{PATH}/{sandbox}/egress", {"allow": [first], "deny": ["0.0.0.0/0"]})
        assert far.reached(api, sandbox, first, second) == {first: "tcp udp", second: "no no"}
        assert slot in far.slots_with_rules()
        api.call("PUT", f"{PATH}/{sandbox}/egress", {})
        assert far.reached(api, sandbox, first, second) == {first: "tcp udp", second: "tcp udp"}
        assert slot not in far.slots_with_rules()


HEAR = f"""
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(3)
s.connect((sys.argv[1], {far.UDP})); s.send(b"stream")
print("own", s.getsockname()[0], flush=True)
heard = 0
try:
    while True:
        s.recv(99); heard += 1
        if heard == 20: print("hears", flush=True)
except TimeoutError:
    print("silence", flush=True)
"""


def test_datagrams_of_one_who_is_denied_now_come_in_no_more(api, world):
    first, second, _ = world.addresses
    with api.sandbox(internet=True) as sandbox:
        processes = [api.post(f"{PATH}/{sandbox}/exec", {"cmd": "/usr/bin/python3", "args": ["-c", HEAR, address],
                                                         "background": True})["process"] for address in (first, second)]

        def said(process):
            return api.raw("GET", f"{PATH}/{sandbox}/logs?process={process}").body.decode()
        for process in processes:
            atoll.wait_for(lambda: "hears" in said(process), 15, "what is sent to it")
        api.call("PUT", f"{PATH}/{sandbox}/egress", {"deny": [first]})
        atoll.wait_for(lambda: "silence" in said(processes[0]), 15, "an end of what the denied one sends")
        # What is under way with others goes on.
        assert "silence" not in said(processes[1])
        own = said(processes[1]).split("own ")[1].split()[0]
        assert far.flows_of(own) > 0
    # It is still sent to; the address may be another sandbox's by now, but the way to it is not.
    atoll.wait_for(lambda: far.flows_of(own) == 0, 15, "an end of what it has begun")


MUCH = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for port in range(1024, 1024 + int(sys.argv[2])):
    s.sendto(b"x", (sys.argv[1], port))
s.connect((sys.argv[1], 9)); print(s.getsockname()[0])
"""


def test_who_has_begun_much_is_cut_off_it_and_changes_follow_each_other(api, server, world):
    first, second, _ = world.addresses
    count = 20000
    with api.sandbox(internet=True) as sandbox, concurrent.futures.ThreadPoolExecutor(2) as others:
        own = api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", MUCH, first, str(count)])["stdout"].strip()
        # Some may be lost on the way.
        assert far.flows_of(own) > count // 2
        for denied in (first, second):
            others.submit(server.api().call, "PUT", f"{PATH}/{sandbox}/egress", {"deny": [denied]})
        others.shutdown()
        assert far.flows_of(own) == 0
        [last] = api.get(f"{PATH}/{sandbox}")["egress"]["deny"]
        assert far.reached(api, sandbox, first, second) == {address: "no no" if address == last else "tcp udp" for address in (first, second)}


def test_what_a_dead_one_has_begun_does_not_come_to_the_next_one_of_its_address(api, world):
    with api.sandbox(internet=True) as sandbox:
        process = api.post(f"{PATH}/{sandbox}/exec", {"cmd": "/usr/bin/python3", "args": ["-c", HEAR, world.addresses[1]],
                                                      "background": True})["process"]

        def said():
            return api.raw("GET", f"{PATH}/{sandbox}/logs?process={process}").body.decode()
        atoll.wait_for(lambda: "hears" in said(), 15, said)
        own = said().split("own ")[1].split()[0]
        assert far.flows_of(own) > 0
    atoll.wait_for(lambda: far.flows_of(own) == 0, 15, "an end of what it has begun")


def test_rules_are_kept_over_a_stop_and_given_to_a_fork_and_end_with_it(api, world):
    first, second, _ = world.addresses
    rules = {"allow": [second], "deny": ["0.0.0.0/0"]}
    with api.sandbox(internet=True, persistent=True) as sandbox:
        slot = far.slot_of(api, sandbox)
        api.post(f"{PATH}/{sandbox}/stop")
        assert api.call("PUT", f"{PATH}/{sandbox}/egress", rules)["egress"] == rules
        api.post(f"{PATH}/{sandbox}/start")
        slot = far.slot_of(api, sandbox)
        assert far.reached(api, sandbox, first, second) == {first: "no no", second: "tcp udp"}
        assert slot in far.slots_with_rules()
        forked = api.post(f"{PATH}/{sandbox}/fork")["items"][0]
        try:
            assert forked["egress"] == rules
            assert far.reached(api, forked["id"], first) == {first: "no no"}
        finally:
            api.remove(forked["id"])
    atoll.wait_for(lambda: slot not in far.slots_with_rules(), 15, "the end of its rules")


@pytest.mark.parametrize("rules, status, said", [
    ({"deny": ["1.1.1.1", "10.0.0.0/33"]}, 400, "egress.deny[1] '10.0.0.0/33' is not an address"),
    ({"allow": ["1.1.1.1"] * 101}, 400, "100 addresses"),
])
def test_what_is_no_rule_is_refused_with_its_place(api, rules, status, said):
    with pytest.raises(atoll.ApiError) as refused:
        api.create(internet=True, egress=rules)
    assert refused.value.status == status and said in refused.value.message, refused.value


def test_one_without_a_network_can_be_allowed_nothing(api):
    for rules in ({"deny": ["1.1.1.1"]}, {"allow": ["1.1.1.1"], "deny": ["0.0.0.0/0"]}):
        with pytest.raises(atoll.ApiError) as refused:
            api.create(internet=False, egress=rules)
        assert refused.value.status == 400 and "without a network" in refused.value.message
    with api.sandbox(internet=False, egress={"deny": ["0.0.0.0/0"]}) as sandbox:
        with pytest.raises(atoll.ApiError):
            api.call("PUT", f"{PATH}/{sandbox}/egress", {"deny": ["1.1.1.1"]})
        assert api.call("PUT", f"{PATH}/{sandbox}/egress", {})["egress"] == {"allow": [], "deny": []}
