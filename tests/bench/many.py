# SPDX-License-Identifier: Apache-2.0
"""Many sandboxes: 50 creates at once, and thousands that are paused. What run.py measures with --only many."""

import json
import time

INSTANCES = "/api/sandbox/instances"
POOLS = "/api/sandbox/pools"
TRUE = {"cmd": "/bin/true"}


def rows(watch):
    return json.loads(watch.http("GET", f"{INSTANCES}?limit=200")[1])["items"]


def remove_all(watch):
    while left := rows(watch):
        for row in left:
            watch.http("DELETE", f"{INSTANCES}/{row['id']}")


def wait_for_pool(watch, count):
    for _ in range(600):
        pools = json.loads(watch.http("GET", POOLS)[1])["items"]
        if any(pool["template"] == "host" and pool["ready"] >= count for pool in pools):
            return
        time.sleep(0.05)
    raise RuntimeError(f"no pool of {count} after 30 s: {pools}")


def burst(watch, series, create, count, what):
    took, status, text = watch.order("burst", count, "POST", INSTANCES, json.dumps(create))
    if status != 201:
        raise RuntimeError(f"one of {count} creates: {status}")
    for one in text.split():
        series.add(f"one of {count} creates at once, {what}", float(one))
    series.add(f"{count} creates at once, {what}, the last of them", took)
    remove_all(watch)


def measure_burst(watch, series, create, count, rounds):
    """From a template's pool of that size, and of a plan that no pool has."""
    for _ in range(rounds):
        time.sleep(1)  # until all is at rest again
        burst(watch, series, {**create, "resources": {"memory_mb": 300}}, count, "no pool")
    # A template's own pool is for creates that name it and nothing else.
    watch.http("PUT", f"{POOLS}/host", {"target": count, "max": count})
    for _ in range(rounds):
        wait_for_pool(watch, count)
        time.sleep(1)
        burst(watch, series, {"template": "host"}, count, "from a pool")
    watch.http("PUT", f"{POOLS}/host", {"target": 0})


def measure_paused(watch, create, count, available_bytes):
    """Time and memory of so many sandboxes that are paused, and what the next calls take beside them."""
    before, start, made = available_bytes(), time.monotonic(), []
    for _ in range(count):
        made.append(json.loads(watch.http("POST", INSTANCES, {**create, "persistent": True})[1])["id"])
        watch.http("POST", f"{INSTANCES}/{made[-1]}/pause")
    seconds, used = time.monotonic() - start, before - available_bytes()
    woken = sorted(watch.http("POST", f"{INSTANCES}/{one}/exec", TRUE)[0] for one in made[::max(1, count // 50)])
    beside = sorted(watch.http("POST", INSTANCES, create)[0] for _ in range(20))
    figures = [(f"{count} paused sandboxes: made and paused in, s", seconds, 1),
               (f"{count} paused sandboxes: memory of each, MiB", used / count / (1 << 20), 2),
               (f"{count} paused sandboxes: exec that wakes one, p50 ms", woken[len(woken) // 2] / 1000, 2),
               (f"{count} paused sandboxes: create beside them, p50 ms", beside[len(beside) // 2] / 1000, 2)]
    remove_all(watch)
    return [{"name": name, "value": round(value, digits)} for name, value, digits in figures]
