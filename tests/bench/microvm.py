#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measures virtual machines: a boot beside a restore, each with its first command, and the memory of machines of one image.

tests/bench/microvm.py [ROUNDS [MACHINES [MEMORY_MB]]]    needs what docs/providers.md lists, and ATOLL_MICROVM_KERNEL if the kernel is elsewhere
"""

import contextlib
import pathlib
import re
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import atoll  # noqa: E402
import microvm_parts  # noqa: E402

PATH = "/api/sandbox/instances"


def since(begun):
    return (time.perf_counter() - begun) * 1000


def measure_round(api, options):
    """Milliseconds of a restore and of a boot, each with a command: a create restores, a start after a stop boots."""
    begun = time.perf_counter()
    with api.sandbox(**options) as box:
        api.exec(box, "true")
        restored = since(begun)
        api.post(f"{PATH}/{box}/stop")
        begun = time.perf_counter()
        api.post(f"{PATH}/{box}/start")
        api.exec(box, "true")
        return restored, since(begun)


def memory_of(pids):
    """MiB of each: its share of what is mapped (Pss)."""
    pss = [int(re.search(r"^Pss: +(\d+) kB", pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)[1]) for pid in pids]
    return [size / 1024 for size in pss]


def measure_memory(api, options, count):
    with contextlib.ExitStack() as stack:
        boxes = [stack.enter_context(api.sandbox(**options)) for _ in range(count)]
        for box in boxes:
            api.exec(box, "true")
        return memory_of(microvm_parts.machines([api.get(f"{PATH}/{box}")["name"] for box in boxes]))


def main(rounds="5", machines="20", memory_mb="256"):
    if why := microvm_parts.reason():
        sys.exit(why)
    server = atoll.Server(flags=["--providers", "native,vm=microvm", "--microvm-kernel", microvm_parts.KERNEL]).start()
    options = {"template": "small", "internet": False, "provider": "vm", "resources": {"memory_mb": int(memory_mb), "disk_mb": 64, "cpu": 1}}
    try:
        microvm_parts.template(server, pathlib.Path(tempfile.mkdtemp()))
        with contextlib.closing(server.api()) as api:
            begun = time.perf_counter()
            with api.sandbox(**options):
                print(f"first create, which makes the image: {since(begun):.0f} ms", flush=True)
            pairs = [measure_round(api, options) for _ in range(int(rounds))]
            restored, booted = (statistics.median(times) for times in zip(*pairs, strict=True))
            print(f"restore and a command {restored:.0f} ms  boot and a command {booted:.0f} ms  ratio {restored / booted:.3f}", flush=True)
            sizes = measure_memory(api, options, int(machines))
            print(f"memory of each of {len(sizes)} machines of {memory_mb} MiB (Pss): median {statistics.median(sizes):.1f} MiB, "
                  f"most {max(sizes):.1f} MiB, {statistics.median(sizes) / int(memory_mb):.3f} of its size", flush=True)
    finally:
        server.remove_all()


if __name__ == "__main__":
    main(*sys.argv[1:])
