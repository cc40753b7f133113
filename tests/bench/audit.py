#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the audit costs a command: two servers, one with rows for calls and one without, in turns of 200 commands over one
connection each. Prints one JSON object; --events is the number of rows to append (100000 for the aim)."""

import argparse
import json
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import atoll  # noqa: E402

TURN = 200


def turn(api, box, times):
    for _ in range(TURN):
        begun = time.perf_counter()
        api.post(f"/api/sandbox/instances/{box}/exec", {"cmd": "/bin/true"})
        times.append(time.perf_counter() - begun)


def metric(api, name):
    text = api.raw("GET", "/metrics").body.decode()
    return int(next(line for line in text.splitlines() if line.startswith(name + " ")).split()[1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=10000)
    options = parser.parse_args()
    servers, apis, boxes, times = {}, {}, {}, {"with": [], "without": []}
    for name, value in (("with", "true"), ("without", "false")):
        servers[name] = atoll.Server()
        servers[name].environment["ATOLL_AUDIT_CALLS"] = value
        apis[name] = servers[name].start().api()
        boxes[name] = apis[name].create(internet=False)["id"]
    try:
        for number in range(max(1, options.events // TURN)):
            for name in ("with", "without") if number % 2 else ("without", "with"):
                turn(apis[name], boxes[name], times[name])
        atoll.wait_for(lambda: metric(apis["with"], "atoll_audit_queue") == 0, 30, "an empty queue")
        p50 = {name: statistics.median(values) * 1e6 for name, values in times.items()}
        mean = {name: statistics.fmean(values) * 1e6 for name, values in times.items()}
        print(json.dumps({"events": len(times["with"]), "rows": metric(apis["with"], "atoll_audit_rows_total"),
                          "dropped": metric(apis["with"], "atoll_audit_dropped_total"),
                          "p50_us": {name: round(value) for name, value in p50.items()},
                          "mean_us": {name: round(value) for name, value in mean.items()},
                          "p50_cost": round(p50["with"] / p50["without"] - 1, 4),
                          "mean_cost": round(mean["with"] / mean["without"] - 1, 4)}))
    finally:
        for server in servers.values():
            server.remove_all()


if __name__ == "__main__":
    main()
