# SPDX-License-Identifier: Apache-2.0
"""Steps over several things keep their order: who waits for one answer before he asks for the next never meets
what the step before has not finished, however many others are at work (docs/decisions/one-operation-per-sandbox.md)."""

import threading

import pytest

import atoll

pytestmark = pytest.mark.needs_root
INSTANCES, VOLUMES, SNAPSHOTS = "/api/sandbox/instances", "/api/sandbox/volumes", "/api/sandbox/snapshots"
CLIENTS, ROUNDS = 4, 3


def out(api, box, command):
    done = api.exec(box, command)
    assert done["exit_code"] == 0, done
    return done["stdout"].split()


def make(api, name, **options):
    return api.post(INSTANCES, {"name": name, "internet": False, **options})["id"]


def a_name_is_free_when_its_sandbox_is_deleted(api, n):
    for _ in range(ROUNDS):
        out(api, make(api, f"name{n}", template="host"), "true")
        api.delete(f"{INSTANCES}/name{n}")
        api.post(f"{INSTANCES}?wait=false", {"name": f"name{n}", "internet": False, "template": "host"})
        api.delete(f"{INSTANCES}/name{n}")


def a_volume_goes_from_hand_to_hand_and_comes_anew(api, n):
    first, second = (make(api, f"{which}{n}", template="host") for which in ("first", "second"))
    name = f"volume{n}"
    for i in range(ROUNDS):
        api.post(VOLUMES, {"name": name})
        api.post(f"{INSTANCES}/{first}/volume", {"volume": name})
        out(api, first, f"echo {i} > /workspace/mark")
        api.delete(f"{INSTANCES}/{first}/volume?volume={name}")
        api.post(f"{INSTANCES}/{second}/volume", {"volume": name})
        assert out(api, second, "cat /workspace/mark; ls /workspace") == [str(i), "mark"]
        api.delete(f"{INSTANCES}/{second}/volume?volume={name}")
        api.delete(f"{VOLUMES}/{name}")
    api.delete(f"{INSTANCES}/{first}")
    api.delete(f"{INSTANCES}/{second}")


def a_volume_is_let_go_by_the_sandbox_that_is_deleted(api, n):
    name = f"held{n}"
    api.post(VOLUMES, {"name": name})
    for i in range(ROUNDS):
        box = make(api, name, template="host", volumes=[{"volume": name}])
        assert len(out(api, box, "touch /workspace/file; cat /workspace/file; echo x >> /workspace/file")) == i
        api.delete(f"{INSTANCES}/{box}")
    api.delete(f"{VOLUMES}/{name}")


def a_snapshot_outlives_its_sandbox_and_its_heir_outlives_it(api, n):
    for i in range(ROUNDS):
        box = make(api, f"source{n}", template="host")
        out(api, box, f"echo {i} > /var/tmp/mark")
        api.post(f"{INSTANCES}/{box}/snapshot", {"name": f"kept{n}", "sync": i % 2 == 0})
        api.delete(f"{INSTANCES}/{box}")
        heir = make(api, f"source{n}", snapshot=f"kept{n}")
        api.delete(f"{SNAPSHOTS}/kept{n}")
        assert out(api, heir, "cat /var/tmp/mark") == [str(i)]
        api.delete(f"{INSTANCES}/{heir}")


def a_template_is_whole_when_it_is_made_and_gone_when_it_is_removed(api, n):
    if n >= 2:
        return  # two are made at once
    for i in range(ROUNDS):
        api.post("/api/sandbox/templates", {"name": f"made{n}", "from": "host", "env": {"ROUND": str(i)}})
        box = make(api, f"made{n}", template=f"made{n}")
        assert out(api, box, "echo $ROUND") == [str(i)]
        api.delete(f"{INSTANCES}/{box}")
        api.delete(f"/api/sandbox/templates/made{n}")


def a_lease_that_is_deleted_comes_anew(api, n):
    seen = set()
    for _ in range(ROUNDS):
        lease = api.post("/v1/leases/acquire", {"key": f"key{n}", "template": "host", "internet": False})
        assert lease["created"] and lease["sandbox_id"] not in seen
        seen.add(lease["sandbox_id"])
        api.delete(f"/v1/leases/key{n}")


@pytest.mark.parametrize("steps", [
    a_name_is_free_when_its_sandbox_is_deleted, a_volume_goes_from_hand_to_hand_and_comes_anew,
    a_volume_is_let_go_by_the_sandbox_that_is_deleted, a_snapshot_outlives_its_sandbox_and_its_heir_outlives_it,
    a_template_is_whole_when_it_is_made_and_gone_when_it_is_removed, a_lease_that_is_deleted_comes_anew])
def test_steps_keep_their_order_beside_other_clients(server, steps):
    failures = []

    def work(n):
        own = server.api()
        try:
            steps(own, n)
        except (atoll.ApiError, AssertionError, OSError) as failure:
            failures.append(repr(failure))
        own.close()
    threads = [threading.Thread(target=work, args=(n,)) for n in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    assert not failures, "\n".join(failures)
