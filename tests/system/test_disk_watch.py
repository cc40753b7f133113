# SPDX-License-Identifier: Apache-2.0
"""Where nothing enforces a disk limit, a sandbox that passes it is paused, says why, and can make room."""

import contextlib
import json
import pathlib
import re
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
MIB = 1 << 20


@pytest.fixture(scope="module")
def server():
    running = atoll.Server(flags=("--disk-quota", "off", "--disk-inodes", "2000")).start()
    yield running
    running.remove_all()


def wait_paused(api, box):
    return atoll.wait_for(lambda: (r := api.get(f"{PATH}/{box}"))["state"] == "paused" and r, 60, "the pause")


def write_slowly(api, box, mib, name="block"):
    """More and more, in the background: what writes is stopped in the middle."""
    api.exec(box, f"i=0; while [ $i -lt {mib} ] && [ ! -e stop ]; do head -c 1M /dev/zero > {name}$i || exit; i=$((i+1)); sleep 0.01; done", background=True)


def size_of(server, box):
    return sum(f.stat().st_blocks * 512 for f in pathlib.Path(server.data, "sandboxes", box, "upper").rglob("*") if f.is_file())


def test_a_sandbox_that_passes_its_disk_is_paused_and_makes_room(api, server):
    with api.sandbox(internet=False, resources={"disk_mb": 64}) as box:
        write_slowly(api, box, 400)
        row = wait_paused(api, box)
        assert row["reason"] == "disk" and "disk_mb" in row["last_event"]["text"], row
        size = size_of(server, box)
        assert 64 * MIB <= size < 400 * MIB, size
        time.sleep(0.5)  # nothing is written during this time
        assert size_of(server, box) == size
        # The next call wakes it: with a little room, so that files can be deleted.
        assert api.exec(box, "touch stop; sleep 0.1; rm -f block*; echo made room")["stdout"].endswith("made room\n")
        time.sleep(2.5)  # the watch measures twice and does not pause it
        assert api.get(f"{PATH}/{box}")["state"] == "started"
        assert api.exec(box, "head -c 20M /dev/zero > again && echo fine")["stdout"] == "fine\n"


def test_one_that_goes_on_after_a_resume_is_paused_again(api, server):
    with api.sandbox(internet=False, resources={"disk_mb": 64}) as box:
        write_slowly(api, box, 600)
        wait_paused(api, box)
        first = size_of(server, box)
        api.post(f"{PATH}/{box}/resume")
        wait_paused(api, box)
        assert first < size_of(server, box) < first + 400 * MIB


def test_one_with_far_too_much_stays_paused(api, server):
    with api.sandbox(internet=False, resources={"disk_mb": 64}) as box:
        # Several files: one alone is bounded by its own limit.
        api.exec(box, "for i in $(seq 30); do fallocate -l 60M big$i; done; sleep 60", background=True)
        wait_paused(api, box)

        # Each resume lets it go on for a moment, until it has so much that there is no other.
        for _ in range(20):
            try:
                api.post(f"{PATH}/{box}/resume")
            except atoll.ApiError as error:
                refused = error
                break
            wait_paused(api, box)
        assert refused.status == 409 and "limit is 64 MiB" in str(refused) and "disk_mb" in str(refused), refused
        assert api.get(f"{PATH}/{box}")["reason"] == "disk"


def test_too_many_files_are_as_bad_as_large_ones(api, server):
    with api.sandbox(internet=False, resources={"disk_mb": 512}) as box:
        api.exec(box, "for i in $(seq 60); do mkdir d$i; (cd d$i; touch $(seq 100)); sleep 0.02; done; sleep 60", background=True)
        assert wait_paused(api, box)["reason"] == "disk"


def test_neighbours_that_do_nothing_or_little_are_left_alone(api, server):
    with contextlib.ExitStack() as stack:
        quiet, busy, full = (stack.enter_context(api.sandbox(internet=False, resources={"disk_mb": mb})) for mb in (32, 32, 64))
        api.exec(busy, "head -c 10M /dev/zero > some; while :; do :; done", background=True)
        write_slowly(api, full, 400)
        wait_paused(api, full)
        time.sleep(2)  # the watch measures again and pauses neither
        assert {api.get(f"{PATH}/{box}")["state"] for box in (quiet, busy)} == {"started"}


def metrics(api):
    text = api.raw("GET", "/metrics").body.decode()
    return {name: float(value) for name, value in re.findall(r'^(atoll_disk_\w+(?:{by="\w+"})?) (\S+)$', text, re.M)}


def test_metrics_events_and_the_command_line_tell_of_it(api, server):
    before = metrics(api)
    assert before['atoll_disk_enforcement{by="watch"}'] == 1
    with api.sandbox(internet=False, resources={"disk_mb": 64}) as box:
        write_slowly(api, box, 400)
        wait_paused(api, box)
        now = atoll.wait_for(lambda: (m := metrics(api))["atoll_disk_over"] >= 1 and m, 20, "the metrics")
        for name in ("pauses_total", "counts_total", "counting_seconds_total"):
            assert now[f"atoll_disk_{name}"] > before[f"atoll_disk_{name}"], (name, before, now)
        assert now["atoll_disk_watched"] >= 1
        told = api.get(f"/v1/events?kind=sandbox.paused&sandbox={box}")["items"]
        assert told and "disk" in json.dumps(told[-1]), told
        shown = server.cli("ps", text=True)
        assert any(box in line and "paused (disk)" in line for line in shown.stdout.splitlines()), shown
        assert json.loads(server.cli("inspect", box, text=True).stdout)["reason"] == "disk"
    atoll.wait_for(lambda: metrics(api)["atoll_disk_over"] == 0, 20, "none is over its limit")


def test_one_that_was_over_before_its_broker_died_is_found_again(private_server):
    private_server.start()
    api = private_server.api()
    with api.sandbox(internet=False, resources={"disk_mb": 64}) as box:
        private_server.kill9("broker")
        write_slowly(api, box, 400)
        row = wait_paused(api, box)
        assert row["reason"] == "disk"


def test_the_watch_can_be_switched_off():
    running = atoll.Server(flags=("--disk-quota", "off", "--disk-watch", "off")).start()
    try:
        own = running.api()
        with own.sandbox(internet=False, resources={"disk_mb": 32}) as box:
            assert own.exec(box, "for i in 1 2 3; do fallocate -l 30M big$i; done; sleep 2.5; echo on")["stdout"] == "on\n"
            assert own.get(f"{PATH}/{box}")["state"] == "started"
        own.close()
    finally:
        running.remove_all()
