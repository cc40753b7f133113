#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What OpenTelemetry costs a command: servers without it, with a collector, and with a collector that takes nothing, in turns.

tests/bench/telemetry.py [ROUNDS]   as root; needs npm for the collector"""

import json
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import atoll  # noqa: E402
import clients  # noqa: E402

CALLS = 50


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    node = clients.node("@opentelemetry/otlp-transformer", folder=clients.TELEMETRY)
    receiver = subprocess.Popen([node, clients.TELEMETRY / "receiver.mjs"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    port = json.loads(receiver.stdout.readline())["port"]
    drain = subprocess.Popen(["cat"], stdin=receiver.stdout, stdout=subprocess.DEVNULL)
    dead = atoll.free_port()
    servers = {name: atoll.Server(environment=environment) for name, environment in (
        ("off", {}), ("traced", {"ATOLL_OTLP_ENDPOINT": f"http://127.0.0.1:{port}"}),
        ("no collector", {"ATOLL_OTLP_ENDPOINT": f"http://127.0.0.1:{dead}"}))}
    took = {name: [] for name in servers}
    try:
        boxes = {}
        for name, server in servers.items():
            server.start()
            boxes[name] = (server.api(), server.api().create(internet=False)["id"])
        for _ in range(rounds):
            for name, (api, box) in boxes.items():
                begun = time.perf_counter()
                for _ in range(CALLS):
                    api.exec(box, "true")
                took[name].append((time.perf_counter() - begun) / CALLS * 1e3)
    finally:
        for server in servers.values():
            server.remove_all()
        receiver.stdin.close()
        receiver.wait()
        drain.wait()
    off = statistics.median(took["off"])
    for name, times in took.items():
        print(f"{name:13} {statistics.median(times):6.3f} ms a command, {statistics.median(times) / off:.3f} times off")


if __name__ == "__main__":
    main()
