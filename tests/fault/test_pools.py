# SPDX-License-Identifier: Apache-2.0
"""kill -9 while sandboxes are prepared and claimed: nothing of them is left, and no create is lost without
a word. docs/use/pools.md."""

import contextlib
import os
import re
import signal
import socket
import time

import pytest

import atoll
from test_kills import clean_after, named_steps

pytestmark = pytest.mark.needs_root
STEPS = [step for step in named_steps("broker", r'fault_point\("broker", ') if step.startswith("pool-")]


def ask(server, seconds):
    """Creates one after the other; whatever fails is expected to, by an error and not by hanging."""
    api = server.api(timeout=20)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(atoll.ApiError, OSError, ConnectionError):
            made = api.create(internet=False)["id"]
            api.exec(made, "true")
            api.remove(made)
        yield
        time.sleep(0.02)
    api.close()


def test_the_steps_are_known():
    assert STEPS == ["pool-claim", "pool-claimed", "pool-prepared"]


@pytest.mark.parametrize("step", STEPS)
def test_the_broker_dies_at_a_step(private_server, step):
    private_server.environment["ATOLL_FAULT"] = f"broker:{step}:kill"
    private_server.start()
    first = private_server.pid_of("broker")
    for _ in ask(private_server, 30):
        if private_server.pid_of("broker") != first:
            break
    else:
        raise AssertionError(f"the broker never came to {step}")
    for _ in ask(private_server, 0.5):
        pass
    clean_after(private_server)


def kill_agents(server, round_):
    """A third of them; those that are somebody's are none, there is nobody. Returns when they are dead."""
    atoll.kill_and_wait(agent for agent in atoll.Host(server.data).agents() if agent % 3 == round_ % 3)


def test_agents_that_are_killed_while_they_wait_cost_no_create(private_server):
    private_server.start()
    api = private_server.api()
    for round_ in range(30):
        kill_agents(private_server, round_)
        time.sleep(0.01 * (round_ % 4))
        made = api.create(internet=False)["id"]
        assert api.exec(made, "echo alive")["stdout"] == "alive\n"
        api.remove(made)
    clean_after(private_server)


# ---- a claim that fails ----

def steps_that_fail(place):
    """The steps that the source names, so that a new one cannot be forgotten here."""
    names = set()
    for source in (atoll.ROOT / "src" / place).rglob("*.c"):
        names |= set(re.findall(rf'fault_failure\("{place}", "([a-z-]+)"', source.read_text()))
    return [(place, name) for name in sorted(names)]


# Rules of whom a sandbox may reach, and disks that grow, fail in tests of their own.
OTHERS = {("broker", "egress"), ("broker", "rules-restore"), ("broker", "volume-check")}
FAILURES = [step for step in steps_that_fail("broker") + steps_that_fail("agent") if step not in OTHERS]


def test_the_steps_that_fail_are_known():
    assert FAILURES == [("broker", "pool-claim"), ("broker", "pool-claimed"), ("broker", "pool-named")]


def wait_prepared(api):
    atoll.wait_for(lambda: any(p["ready"] > 0 for p in api.get("/api/sandbox/pools")["items"]), 15, "prepared sandboxes")


@pytest.mark.parametrize("place, step", FAILURES)
def test_a_claim_that_fails_costs_no_create(private_server, place, step):
    """The one that was prepared is removed and another is made."""
    private_server.environment["ATOLL_FAULT"] = f"{place}:{step}:fail"
    private_server.start()
    api = private_server.api(timeout=20)
    made = []
    for i in range(5):
        if i > 0:  # a pool follows what was asked for
            wait_prepared(api)
        made.append(api.create(internet=False)["id"])
        assert api.exec(made[-1], "hostname; cat /etc/hostname")["stdout"].split() == \
            [api.get(f"/api/sandbox/instances/{made[-1]}")["name"]] * 2
    log = (private_server.data / "serve.log").read_text(errors="replace")
    assert log.count("a prepared sandbox could not be had, making another") >= 4
    # Nothing is left of the others, and nobody has two.
    host = atoll.Host(private_server.data)
    atoll.wait_for(lambda: set(host.files()) == set(made), 30, "files of what there is only")
    for one in made:
        api.remove(one)
    clean_after(private_server)


def test_one_that_is_deleted_while_it_is_claimed_is_gone(private_server):
    """Its claim fails, another is being made, and somebody wants it away."""
    private_server.environment["ATOLL_FAULT"] = "broker:pool-named:fail"
    private_server.start()
    api, other = private_server.api(timeout=20), private_server.api(timeout=20)
    for i in range(5):
        if i > 0:
            wait_prepared(api)
        with contextlib.suppress(atoll.ApiError):
            made = api.create(internet=False)["id"]
            other.remove(made)
    clean_after(private_server)


def test_an_agent_that_dies_at_its_claim_ends_its_sandbox_with_a_reason(private_server):
    """It is the sandbox's by then, as one that dies a moment later."""
    private_server.environment["ATOLL_FAULT"] = "agent:claim:kill"
    private_server.start()
    api = private_server.api(timeout=20)
    path = "/api/sandbox/instances"
    first = api.create(internet=False)["id"]
    wait_prepared(api)
    made = api.create(internet=False)["id"]
    atoll.wait_for(lambda: api.get(f"{path}/{made}")["state"] == "stopped", 30, "the end of a sandbox whose agent died")
    assert api.get(f"{path}/{made}")["reason"] == "exit"
    for one in (first, made):
        api.remove(one)
    clean_after(private_server)


def test_nobody_is_let_in_by_a_sandbox_that_has_died(private_server):
    """Its socket is its agent's alone, and not also its maker's, who is at work on the others of a batch."""
    private_server.environment["ATOLL_FAULT"] = "broker:cell-reported:stop"
    private_server.start()
    made = private_server.api(timeout=20).create(internet=False)["id"]
    folder = private_server.data / "run" / "sandboxes" / made
    agent = int((folder / "state").read_text().split()[2])
    # Who would clear up behind it.
    os.kill(private_server.pid_of("broker"), signal.SIGSTOP)
    try:
        atoll.kill_and_wait([agent])
        with socket.socket(socket.AF_UNIX) as caller, pytest.raises(ConnectionRefusedError):
            caller.connect(str(folder / "agent.sock"))
    finally:
        os.kill(private_server.pid_of("broker"), signal.SIGCONT)
    clean_after(private_server)
