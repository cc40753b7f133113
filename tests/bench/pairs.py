#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the commands of two builds: one server of each, whose calls alternate, so that a busy machine slows both alike.

tests/bench/pairs.py BEFORE AFTER [PAIRS]    two folders with the programs of a build
"""

import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import atoll  # noqa: E402

WARM = 100


def start(folder):
    atoll.ATOLL = pathlib.Path(folder).resolve() / "atoll"
    return atoll.Server().start()


def measure(apis, boxes, pairs):
    """Microseconds of each call of each server."""
    took = {name: [] for name in apis}
    for i in range(WARM + pairs):
        for name in sorted(apis, reverse=i % 2 == 1):
            begun = time.perf_counter_ns()
            apis[name].post(f"/api/sandbox/instances/{boxes[name]}/exec", {"cmd": "/bin/true"})
            took[name].append((time.perf_counter_ns() - begun) / 1000)
    return {name: statistics.quantiles(times[WARM:], n=100) for name, times in took.items()}


def main(before, after, pairs="5000"):
    servers = {}
    try:
        for name, folder in (("before", before), ("after", after)):
            servers[name] = start(folder)
        apis = {name: server.api() for name, server in servers.items()}
        boxes = {name: api.create(internet=False)["id"] for name, api in apis.items()}
        times = measure(apis, boxes, int(pairs))
        for percent in (10, 25, 50, 75):
            one, other = times["before"][percent - 1], times["after"][percent - 1]
            print(f"p{percent}  before {one:.0f} µs  after {other:.0f} µs  ratio {other / one:.4f}", flush=True)
    finally:
        for server in servers.values():
            server.remove_all()


if __name__ == "__main__":
    main(*sys.argv[1:])
