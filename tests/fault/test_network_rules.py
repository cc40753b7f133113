# SPDX-License-Identifier: Apache-2.0
"""kill -9 while rules of a sandbox's network are set: those of living ones stay in force, and nothing of others is left."""

import concurrent.futures
import contextlib
import os
import pathlib
import shutil
import signal
import time

import pytest

import atoll
import far
from test_kills import clean_after, named_steps

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not shutil.which("ip") or not shutil.which("nft"), reason="needs ip and nft")]
PATH = "/api/sandbox/instances"
# A step of a child of the broker.
CUT = "egress-cut"
STEPS = [(program, step) for program, folder in (("broker", "broker"), ("api", "fleet"))
         for step in named_steps(folder, rf'fault_point\("{program}", ') if step.startswith("egress") and not step.startswith(CUT)]
RULES = {"allow": ["198.18.255.1", "example.com"], "deny": ["0.0.0.0/0"]}


@pytest.fixture(scope="module")
def world():
    there = far.Far()
    yield there
    there.close()


def wait_no_rules_without_a_link():
    def is_so():
        return all(os.path.exists(f"/sys/class/net/atoll{slot}") for slot in far.slots_with_rules())
    atoll.wait_for(is_so, 20, "the end of rules that nobody has")


def test_the_steps_are_known():
    assert sorted(STEPS) == [("api", "egress-told"), ("broker", "egress"), ("broker", "egress-changed"), ("broker", "egress-names")]


@pytest.mark.parametrize("program, step", STEPS)
def test_a_program_dies_at_a_step(private_server, program, step):
    private_server.environment["ATOLL_FAULT"] = f"{program}:{step}:kill"
    private_server.start()
    victim = private_server.pid_of(program)
    api = private_server.api(timeout=20)
    with contextlib.suppress(atoll.ApiError, OSError, ConnectionError):
        made = api.create(internet=True, egress=RULES if step == "egress" else {})["id"]
        api.call("PUT", f"{PATH}/{made}/egress", RULES)
    atoll.wait_for(lambda: private_server.pid_of(program) not in (None, victim), 20, f"{step} kills the {program}")
    private_server.wait_ready()
    if step == "egress-told":
        # It was not answered, and so is not so.
        row = private_server.api().get(f"{PATH}/{made}")
        assert row["egress"] == {"allow": [], "deny": []}
        assert far.slot_of(private_server.api(), made) not in far.slots_with_rules()
    clean_after(private_server)
    wait_no_rules_without_a_link()
    atoll.wait_for(lambda: not list((private_server.data / "run/names").iterdir()), 20, "the end of what the gateway was told")


def test_a_set_that_fails_fails_the_create_and_leaves_nothing(private_server):
    private_server.environment["ATOLL_FAULT"] = "broker:egress:fail"
    private_server.start()
    api = private_server.api()
    with pytest.raises(atoll.ApiError):
        api.create(internet=True, egress=RULES)
    # Also one that was prepared.
    api.remove(api.create(internet=True)["id"])
    with pytest.raises(atoll.ApiError):
        api.create(internet=True, egress=RULES)
    wait_no_rules_without_a_link()


def test_rules_of_a_living_one_outlive_the_broker_and_end_with_it(private_server, world):
    first, second, _ = world.addresses
    private_server.start()
    api = private_server.api()
    made = api.create(internet=True, egress={"allow": [first], "deny": ["0.0.0.0/0"]})["id"]
    slot, before = far.slot_of(api, made), private_server.pid_of("broker")
    private_server.kill9("broker")
    assert far.reached(api, made, first, second) == {first: "tcp udp", second: "no no"}
    atoll.wait_for(lambda: private_server.pid_of("broker") not in (None, before), 20, "another broker")
    private_server.wait_ready()
    assert far.reached(api, made, first, second) == {first: "tcp udp", second: "no no"}
    api.call("PUT", f"{PATH}/{made}/egress", {"deny": [first]})
    assert far.reached(api, made, first, second) == {first: "no no", second: "tcp udp"}
    assert slot in far.slots_with_rules()
    api.remove(made)
    atoll.wait_for(lambda: slot not in far.slots_with_rules(), 20, "the end of its rules")


SEND = f"""
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(10); s.connect((sys.argv[1], {far.UDP})); s.send(b"ping")
assert s.recv(9) == b"pong"
print(s.getsockname()[0])
"""


def begin_something(api, sandbox, address):
    """Its own address, which the kernel remembers."""
    result = api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", SEND, address])
    own = result["stdout"].strip()
    assert own and far.flows_of(own) == 1, result
    return own


def stopped_children(server):
    broker, found = server.pid_of("broker"), []
    for stat in atoll.proc_files("stat"):
        with contextlib.suppress(OSError):
            state, parent = stat.read_text().rsplit(")", 1)[1].split()[:2]
            if state == "T" and int(parent) == broker:
                found.append(int(stat.parent.name))
    return found


def wait_stopped(server):
    return atoll.wait_for(lambda: stopped_children(server), 20, "a child at work")[0]


@pytest.fixture
def stopping(private_server):
    """A server whose children stop before they end what is under way, and somebody who may wait for them."""
    private_server.environment["ATOLL_FAULT"] = f"broker:{CUT}:stop"
    private_server.start()
    with concurrent.futures.ThreadPoolExecutor(4) as others:
        yield private_server, others
        while children := stopped_children(private_server):
            for child in children:
                os.kill(child, signal.SIGCONT)
            time.sleep(0.2)
    clean_after(private_server)
    wait_no_rules_without_a_link()


def put(server, sandbox, rules):
    return server.api().call("PUT", f"{PATH}/{sandbox}/egress", rules)


def test_others_go_on_while_what_is_under_way_is_ended(stopping, world):
    server, others = stopping
    api, (first, second, _) = server.api(), world.addresses
    made = api.create(internet=True)["id"]
    own = begin_something(api, made, first)
    changed = others.submit(put, server, made, {"deny": [first]})
    child = wait_stopped(server)
    # It is the child that waits, and nobody but who asked for it.
    with api.sandbox(internet=True) as beside, api.sandbox(internet=True, egress={"deny": [first]}) as ruled:
        put(server, beside, {"deny": [second]})
        assert far.reached(api, beside, first) == {first: "tcp udp"}
        assert far.reached(api, ruled, first) == {first: "no no"}
    # The rules hold already; the answer says more.
    assert far.reached(api, made, first)[first] == "no no"
    again = others.submit(put, server, made, {"deny": [second]})
    assert not changed.done() and not again.done() and far.flows_of(own) > 0
    os.kill(child, signal.SIGCONT)
    assert changed.result()["egress"]["deny"] == [first]
    os.kill(wait_stopped(server), signal.SIGCONT)
    assert again.result()["egress"]["deny"] == [second]
    assert far.reached(api, made, first, second) == {first: "tcp udp", second: "no no"}


def test_a_sandbox_that_ends_meanwhile_is_not_waited_for(stopping, world):
    server, others = stopping
    api, (first, *_) = server.api(), world.addresses
    made = api.create(internet=True)["id"]
    own, slot = begin_something(api, made, first), far.slot_of(api, made)
    changed = others.submit(put, server, made, {"deny": [first]})
    child = wait_stopped(server)
    removed = others.submit(server.api().remove, made)
    [agent] = [pid for pid, its in atoll.agents().items() if its == slot]
    os.kill(agent, signal.SIGKILL)
    changed.result()
    with contextlib.suppress(atoll.ApiError):  # it may have gone by itself
        removed.result()
    assert atoll.is_dead(child) and not stopped_children(server)
    atoll.wait_for(lambda: far.flows_of(own) == 0, 20, "an end of what it has begun")
    atoll.wait_for(lambda: slot not in far.slots_with_rules(), 20, "the end of its rules")


def test_what_is_under_way_is_cut_though_the_broker_dies_before(stopping, world):
    server, others = stopping
    api, (first, *_) = server.api(), world.addresses
    made = api.create(internet=True)["id"]
    own = begin_something(api, made, first)
    changed = others.submit(put, server, made, {"deny": [first]})
    child, broker = wait_stopped(server), server.kill9("broker")
    atoll.wait_for(lambda: atoll.is_dead(child), 20, "the end of its child")
    atoll.wait_for(lambda: server.pid_of("broker") not in (None, broker), 20, "another broker")
    # It is asked again.
    os.kill(wait_stopped(server), signal.SIGCONT)
    assert changed.result()["egress"]["deny"] == [first]
    assert far.flows_of(own) == 0


def test_what_was_led_by_rules_that_have_ended_is_cut_though_the_broker_dies_before(stopping, world):
    server, others = stopping
    api, (first, *_) = server.api(), world.addresses
    made = api.create(internet=True, egress={"allow": ["example.com"], "deny": ["0.0.0.0/0"]})["id"]
    result = api.exec(made, cmd="/usr/bin/python3", args=["-c", SEND.replace('assert s.recv(9) == b"pong"', ""), first])
    own = result["stdout"].strip()
    assert far.flows_of(own) == 1, result
    changed = others.submit(put, server, made, {})
    wait_stopped(server)
    broker = server.kill9("broker")
    atoll.wait_for(lambda: server.pid_of("broker") not in (None, broker), 20, "another broker")
    assert changed.result()["egress"]["deny"] == []
    assert far.flows_of(own) == 0


def test_a_child_that_is_killed_is_not_waited_for(private_server, world):
    private_server.environment["ATOLL_FAULT"] = f"broker:{CUT}:kill"
    private_server.start()
    api, (first, *_) = private_server.api(), world.addresses
    made, broker = api.create(internet=True)["id"], private_server.pid_of("broker")
    own = begin_something(api, made, first)
    put(private_server, made, {"deny": [first]})
    assert far.flows_of(own) == 0 and private_server.pid_of("broker") == broker
    clean_after(private_server)
