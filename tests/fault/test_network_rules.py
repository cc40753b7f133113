# SPDX-License-Identifier: Apache-2.0
"""kill -9 while rules of a sandbox's network are set: those of living ones stay in force, and nothing of others is left."""

import contextlib
import os
import shutil

import pytest

import atoll
import far
from test_kills import clean_after, named_steps

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not shutil.which("ip") or not shutil.which("nft"), reason="needs ip and nft")]
PATH = "/api/sandbox/instances"
STEPS = [(program, step) for program, folder in (("broker", "broker"), ("api", "fleet"))
         for step in named_steps(folder, rf'fault_point\("{program}", ') if step.startswith("egress")]
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
