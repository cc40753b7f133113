#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""E2B's surface and SDK beside the native API, all of them from one Node process and in turns.

    tests/bench/e2b.py [ROUNDS] [TEMPLATE] [USER]

Wants tests/node/node_modules (npm ci in tests/node)."""

import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import atoll  # noqa: E402


def at(times, share):
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


def main():
    rounds, template, user = (sys.argv[1:] + [None] * 3)[:3]
    server = atoll.Server().start()
    try:
        key = server.api().post("/api/sandbox/keys", {"name": "bench"})["e2b_key"]
        origin = f"http://127.0.0.1:{server.port}"
        environment = {**os.environ, "E2B_API_KEY": key, "E2B_API_URL": origin, "E2B_SANDBOX_URL": origin,
                       "BENCH_TEMPLATE": template or "host", "BENCH_USER": user or ""}
        done = subprocess.run(["node", atoll.ROOT / "tests/node/e2b_bench.mjs", rounds or "200"], env=environment,
                              capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        for name, times in sorted(json.loads(done.stdout).items()):
            print(f"{name:45} p50 {at(times, 0.5):7.2f} ms   p99 {at(times, 0.99):7.2f} ms")
    finally:
        server.remove_all()


if __name__ == "__main__":
    main()
