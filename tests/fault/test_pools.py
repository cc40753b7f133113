# SPDX-License-Identifier: Apache-2.0
"""kill -9 while sandboxes are prepared and claimed: nothing of them is left, and no create is lost without
a word. docs/pools.md."""

import contextlib
import os
import signal
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
    for _ in ask(private_server, 10):
        if private_server.pid_of("broker") != first:
            break
    else:
        raise AssertionError(f"the broker never came to {step}")
    for _ in ask(private_server, 0.5):
        pass
    clean_after(private_server)


def test_agents_that_are_killed_at_any_time_cost_no_create(private_server):
    """Prepared ones, and those that are being prepared; the sandboxes that are somebody's are left alone."""
    private_server.start()
    api = private_server.api()
    for round_ in range(30):
        broker = private_server.pid_of("broker")
        for agent in atoll.Host(private_server.data).agents():
            with contextlib.suppress(OSError):
                with open(f"/proc/{agent}/stat", encoding="utf-8") as stat:
                    if int(stat.read().rsplit(")", 1)[1].split()[1]) == broker and agent % 3 == round_ % 3:
                        os.kill(agent, signal.SIGKILL)
        time.sleep(0.01 * (round_ % 4))
        made = api.create(internet=False)["id"]
        assert api.exec(made, "echo alive")["stdout"] == "alive\n"
        api.remove(made)
    clean_after(private_server)
