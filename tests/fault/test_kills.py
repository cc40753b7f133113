# SPDX-License-Identifier: Apache-2.0
"""kill -9 at every named step: afterwards nothing of ours is left, and the store
tells the truth. docs/extend/debugging.md explains ATOLL_FAULT; random moments are in test_storm.py."""

import contextlib
import os
import random
import re
import signal
import threading
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"


def named_steps(folder, call, files="**/*.c"):
    """The steps that the source names, so that a new one cannot be forgotten here."""
    names = set()
    for source in (atoll.ROOT / "src" / folder).glob(files):
        names |= set(re.findall(call + r'"([a-z-]+)"\)', source.read_text()))
    return sorted(names)


def broker_steps():
    """Those of the broker and of atoll-launch, which works for it."""
    return [(program, step) for program in ("broker", "launch") for step in named_steps(program, rf'fault_point\("{program}", ')]


# Of one server, which dies once at its step, and with ATOLL_SLOW a second time after it has recovered.
ROUNDS = 2 if atoll.IS_SLOW else 1
SNAPSHOTS = "/api/sandbox/snapshots"
# Those of volumes are in test_volumes.py, of pools in test_pools.py, of backups in test_backups.py,
# of chains that get shorter in system/test_flatten.py, of deletes that are kept in system/test_undo.py, of rules of the network in test_network_rules.py,
# of the provider "host" in test_host_provider.py, of probes in test_operator.py, of uplinks of IPv6 in test_uplinks.py.
BROKER_STEPS = [(program, step) for program, step in broker_steps()
                if not step.startswith(("volume-", "pool-", "backup-", "flatten-", "egress", "host-", "probe-", "starting", "uplink-", "trash-entry", "trash-moved", "trash-back"))]
# One step comes only with a template that has an entrypoint: it has a test of its own, as those of projects have.
ENTRYPOINT_STEP = "create-entrypoint"
API_STEPS = [step for step in named_steps("fleet", r'fault_point\("api", ') if step != ENTRYPOINT_STEP
             and not step.startswith(("project-", "volume-", "backup-", "import-", "build-", "archive-", "unarchive-", "artifact-", "service-", "egress-", "undelete-", "trash-"))]


def truth(server):
    """Every row, what runs and what is on the disk agree."""
    api = server.api()
    host, rows = atoll.Host(server.data), {}

    def agree():
        files = set(host.files())  # first: one that is deleted meanwhile has a row and no files
        rows.clear()
        rows.update({row["id"]: row["state"] for row in api.get(f"{PATH}?limit=1000")["items"]})
        living = {i for i, state in rows.items() if state in ("started", "paused", "stopped")}
        return files <= living and not any(state in ("creating", "deleting") for state in rows.values())
    atoll.wait_for(agree, 30, lambda: f"store and host agree: {rows} {host.leftovers()}")
    for sandbox, state in rows.items():
        if state in ("started", "paused"):
            assert api.exec(sandbox, "echo alive")["stdout"] == "alive\n"
            assert has_its_limits(api, sandbox)
    api.close()


def has_its_limits(api, sandbox):
    """What the kernel keeps it to is what its row says."""
    row, now = api.get(f"{PATH}/{sandbox}"), api.get(f"{PATH}/{sandbox}/stats")
    return row["provider"] == "host" or now["memory_limit_bytes"] == row["resources"]["memory_mb"] << 20


def use(api, template="host"):
    """One create, exec and delete; whatever fails is expected to, by an error and not by hanging."""
    with contextlib.suppress(atoll.ApiError, OSError, ConnectionError):
        made = api.create(template=template, internet=False, persistent=True)["id"]
        api.exec(made, "true")
        api.post(f"{PATH}/{made}/resize", {"memory_mb": 600, "pids": 90})
        api.post(f"{PATH}/{made}/resize", {"memory_mb": 500})
        api.post(f"{PATH}/{made}/pause")
        api.post(f"{PATH}/{made}/resume")
        api.post(f"{PATH}/{made}/pause")
        api.exec(made, "true")
        keep(api, made)
        api.post(f"{PATH}/{made}/stop")
        api.post(f"{PATH}/{made}/start")
        api.remove(made)


def keep(api, sandbox):
    """A snapshot of it as it runs, a fork, a way back, and one of it as it rests."""
    taken = api.post(f"{PATH}/{sandbox}/snapshot")["id"]
    api.exec(sandbox, "echo > changed")
    api.get(f"{PATH}/{sandbox}/diff")
    api.post(f"{PATH}/{sandbox}/changes/revert", {"paths": ["/"]})
    for item in api.post(f"{PATH}/{sandbox}/fork")["items"]:
        api.remove(item["id"])
    api.post(f"{SNAPSHOTS}/{taken}/restore")
    api.post(f"{PATH}/{sandbox}/reset")
    api.exec(sandbox, "sleep 100", background=True)
    api.post(f"{PATH}/{sandbox}/snapshot")
    api.post(f"{PATH}/{sandbox}/stop")
    api.post(f"{PATH}/{sandbox}/snapshot")
    for row in api.get(SNAPSHOTS)["items"]:
        api.delete(f"{SNAPSHOTS}/{row['id']}")


def no_layer_is_left(server, api):
    for row in api.get(f"{SNAPSHOTS}?limit=1000")["items"]:
        assert row["state"] == "ready", row
        api.delete(f"{SNAPSHOTS}/{row['id']}")
    atoll.wait_for(lambda: not os.listdir(server.data / "snapshots"), 30, "no layer is left")


def clean_after(server):
    server.environment.pop("ATOLL_FAULT", None)
    server.stop()
    server.start()
    truth(server)
    api = server.api()
    made = api.create(internet=False)["id"]
    assert api.exec(made, "echo works")["stdout"] == "works\n"
    for row in api.get(f"{PATH}?limit=1000")["items"]:
        api.remove(row["id"])
    no_layer_is_left(server, api)
    atoll.Host(server.data).wait_clean()


def test_the_steps_are_known():
    assert len(BROKER_STEPS) >= 8
    assert len(API_STEPS) >= 4


@pytest.mark.parametrize("program, step", atoll.sample(BROKER_STEPS, BROKER_STEPS[::4]))
def test_the_broker_dies_at_a_step(private_server, program, step):
    private_server.environment["ATOLL_FAULT"] = f"{program}:{step}:kill"
    private_server.start()
    api = private_server.api(timeout=20)
    for _ in range(ROUNDS):
        use(api)
    clean_after(private_server)


SNAPSHOT_STEPS = [(program, step) for program, step in BROKER_STEPS if step.startswith(("snapshot", "restore"))]
# A step of each part: the layer is moved, it is put in place, and a snapshot is restored.
SOME_SNAPSHOT_STEPS = [("launch", "snapshot-moved"), ("broker", "snapshot-swapped"), ("broker", "restore-swapped")]


@pytest.mark.parametrize("program, step", atoll.sample(SNAPSHOT_STEPS, SOME_SNAPSHOT_STEPS))
def test_files_outlive_a_snapshot_that_is_cut_short(private_server, program, step):
    """Whatever was written before is there afterwards, and nobody stands still for ever."""
    private_server.environment["ATOLL_FAULT"] = f"{program}:{step}:kill"
    private_server.start()
    api = private_server.api(timeout=20)
    made = [api.create(internet=False, persistent=True)["id"] for _ in range(2)]
    for box in made:
        api.exec(box, "echo kept > kept; rm -f /home/user/gone; echo > moved; mv moved there")
    api.exec(made[1], "sleep 1000", background=True)
    for box in made:
        with contextlib.suppress(atoll.ApiError, OSError, ConnectionError):
            taken = api.post(f"{PATH}/{box}/snapshot")["id"]
            api.post(f"{SNAPSHOTS}/{taken}/restore")
    private_server.environment.pop("ATOLL_FAULT")
    private_server.stop()
    private_server.start()
    truth(private_server)
    api = private_server.api()
    for box in made:
        api.post(f"{PATH}/{box}/start")
        assert api.exec(box, "cat kept; ls")["stdout"] == "kept\nkept\nthere\n"
        assert api.post(f"{PATH}/{box}/snapshot")["state"] == "ready"
        assert api.exec(box, "echo on >> kept; cat kept")["stdout"] == "kept\non\n"
    clean_after(private_server)


@pytest.mark.parametrize("step", atoll.sample(API_STEPS, API_STEPS[::4]))
def test_the_api_process_dies_at_a_step(private_server, step):
    private_server.environment["ATOLL_FAULT"] = f"api:{step}:kill"
    private_server.start()
    # What dies at a step of recovery, too, dies again and again: nobody waits long for that.
    for _ in range(ROUNDS):
        with contextlib.suppress(AssertionError):
            private_server.wait_ready(3)
        use(private_server.api(timeout=4))
    clean_after(private_server)


def test_the_api_process_dies_when_the_entrypoint_has_been_started(private_server):
    """It is recorded as being made: what comes back takes it away, and starts nothing a second time."""
    private_server.environment["ATOLL_FAULT"] = f"api:{ENTRYPOINT_STEP}:kill"
    private_server.start()
    private_server.api().post("/api/sandbox/templates",
                              {"name": "sleeper", "from": "host", "entrypoint": ["/bin/sleep", "1000"]})
    for _ in range(2):
        private_server.wait_ready(30)
        victim = private_server.pid_of("api")
        use(private_server.api(timeout=20), "sleeper")
        atoll.wait_for(lambda: private_server.pid_of("api") not in (None, victim), 30, "another api process")
    private_server.wait_ready(30)
    rows = private_server.api().get(f"{PATH}?limit=1000")["items"]
    assert rows and all(row["state"] == "failed" for row in rows)
    clean_after(private_server)


def test_everything_is_killed_in_the_middle_of_creates(private_server):
    for _ in range(2 * ROUNDS):
        private_server.start()
        threads = [threading.Thread(target=use, args=(private_server.api(timeout=5),)) for _ in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(random.uniform(0.001, 0.02))
        for pid in [private_server.process.pid, *private_server.descendants()]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        private_server.process.wait()
        for thread in threads:
            thread.join(30)
    private_server.start()
    clean_after(private_server)
