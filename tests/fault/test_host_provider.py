# SPDX-License-Identifier: Apache-2.0
"""kill -9 at every named step of a server whose provider is "host": no process, folder, cgroup or row is left."""

import contextlib

import pytest

import atoll
from test_kills import API_STEPS, PATH, named_steps, truth
from test_storm import processes_left, slots_left, slots_of

pytestmark = pytest.mark.needs_root
BROKER_STEPS = sorted(step for files in ("sandbox/host.c", "sandbox/sandbox.c", "sandbox/pause.c")
                      for step in named_steps("broker", r'fault_point\("broker", ', files))
# The others are of snapshots and limits, which it has not.
OWN_API_STEPS = [step for step in API_STEPS if step.startswith(("create-", "start-", "stop-", "delete-", "pause-", "resume-"))]
STEPS = [("broker", step) for step in BROKER_STEPS] + [("api", step) for step in OWN_API_STEPS]


@pytest.fixture(scope="module")
def host():
    """One for all steps: what one of them leaves is in the way of the next."""
    server = atoll.Server(provider="host")
    yield server
    server.environment.pop("ATOLL_FAULT", None)
    if not server.process:
        server.start()
    server.remove_all()


def use(api):
    with contextlib.suppress(atoll.ApiError, OSError, ConnectionError):
        made = api.create(persistent=True)["id"]
        api.exec(made, "setsid -f sleep 1000; echo > file")
        api.post(f"{PATH}/{made}/pause")
        api.post(f"{PATH}/{made}/resume")
        api.post(f"{PATH}/{made}/pause")
        api.exec(made, "true")
        api.post(f"{PATH}/{made}/stop")
        api.post(f"{PATH}/{made}/start")
        api.remove(made)


def clean_after(server):
    server.environment.pop("ATOLL_FAULT")
    server.stop()
    server.start()
    truth(server)
    api = server.api()
    for row in api.get(f"{PATH}?limit=1000")["items"]:
        api.remove(row["id"])
    atoll.Host(server.data).wait_clean()
    atoll.wait_for(lambda: not list((server.data / "host-files").iterdir()), 15, "no files are left")
    chunks = slots_of(server)
    assert chunks
    server.stop()
    atoll.wait_for(lambda: not slots_left(chunks), 15, lambda: f"no cgroup is left: {slots_left(chunks)[:5]}")
    atoll.wait_for(lambda: not processes_left(server), 15, lambda: f"no process is left: {processes_left(server)[:5]}")


def test_the_steps_are_known():
    assert {"host-agent", "destroy-files", "pause-asked"} <= set(BROKER_STEPS)
    assert len(OWN_API_STEPS) >= 10


@pytest.mark.parametrize("program, step", atoll.sample(STEPS, STEPS[::4]))
def test_a_program_dies_at_a_step(host, program, step):
    host.environment["ATOLL_FAULT"] = f"{program}:{step}:kill"
    host.start()
    victim = host.pid_of(program)
    use(host.api(timeout=6))
    atoll.wait_for(lambda: host.pid_of(program) != victim, 15, f"{step} kills the {program}")
    clean_after(host)
