# SPDX-License-Identifier: Apache-2.0
"""Short commands and long work with a share of a processor: the default sandbox beside the same without burst, and one with 2 vCPUs.

    tests/bench/run --only burst          (or: python3 tests/bench/burst.py [ROUNDS])

In each round every sandbox runs each short command once, in an order of chance, after a rest in which a bucket fills up
again; a bare /bin/true on the host is timed beside it. The last column is p90 over p90 with 2 vCPUs. Only with cgroups
of version 1: there the burst of a sandbox can be taken away from outside, to have the comparison in one run.
"""

import pathlib
import random
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import atoll  # noqa: E402

CPU = pathlib.Path("/sys/fs/cgroup/cpu")
REST_SECONDS = 0.4
LONG_SECONDS = 3
COMMANDS = {
    "/bin/true": {"cmd": "/bin/true"},
    "python3 -c pass": {"cmd": "python3", "args": ["-c", "pass"]},
    "python3 -c 'import json,ssl,http.client'": {"cmd": "python3", "args": ["-c", "import json,ssl,http.client"]},
}
LONG = f"""import time
wall, used = time.time(), time.process_time()
while time.time() - wall < {LONG_SECONDS}: pass
print((time.process_time() - used) / (time.time() - wall))"""
BEST = "2 vCPUs"
SANDBOXES = {"default (0.5 vCPU)": {}, "default without burst": {}, "1 vCPU": {"cpu": 1}, BEST: {"cpu": 2}}


def group_of(api, sandbox):
    """The folder of a sandbox's cgroup of processors."""
    marker = f"sleep 1{time.monotonic_ns()}"
    api.exec(sandbox, marker, background=True)
    pid = atoll.wait_for(lambda: atoll.first_process(marker), 15, "a process of the sandbox")
    path = re.search(":cpu(,cpuacct)?:/(.*)", pathlib.Path(f"/proc/{pid}/cgroup").read_text())[2]
    return CPU / path


def timed(work):
    start = time.monotonic()
    work()
    return (time.monotonic() - start) * 1000


def run_inside(api, sandbox, command):
    result = api.exec(sandbox, **command)
    if result["exit_code"] != 0:
        raise RuntimeError(f"{command}: {result}")
    return result["stdout"]


def quantile(values, q):
    return sorted(values)[min(len(values) - 1, int(len(values) * q))]


def measure(api, boxes, rounds):
    samples, bare, shares = {}, [], {}
    for _ in range(rounds):
        for command, body in COMMANDS.items():
            for name in random.sample(list(boxes), len(boxes)):
                bare.append(timed(lambda: subprocess.run(["/bin/true"], check=True)))
                time.sleep(REST_SECONDS)
                samples.setdefault((command, name), []).append(timed(lambda: run_inside(api, boxes[name], body)))
    for _ in range(max(1, rounds // 20)):
        for name, sandbox in boxes.items():
            share = float(run_inside(api, sandbox, {"cmd": "python3", "args": ["-c", LONG]}))
            shares.setdefault(name, []).append(share)
    return samples, bare, shares


def print_tables(samples, bare, shares):
    least = quantile(bare, 0.5)
    print(f"{len(bare)} × `/bin/true` on the host, beside them: p50 {least:.1f} ms, p90 {quantile(bare, 0.9):.1f} ms.\n")
    print("| command after a rest | sandbox | p50 ms | p90 ms | p99 ms | p90, times bare p50 | p90, times 2 vCPUs |")
    print("|---|---|---|---|---|---|---|")
    for command, name in ((command, name) for command in COMMANDS for name in SANDBOXES):
        values = samples[command, name]
        p50, p90, p99 = (quantile(values, q) for q in (0.5, 0.9, 0.99))
        best = quantile(samples[(command, BEST)], 0.9)
        print(f"| {command} | {name} | {p50:.1f} | {p90:.1f} | {p99:.1f} | {p90 / least:.1f} | {p90 / best:.2f} |")
    print(f"\n| a busy loop of {LONG_SECONDS} s in | gets, of one processor |\n|---|---|")
    for name, values in shares.items():
        print(f"| {name} | {quantile(values, 0.5):.3f} |")


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    server = atoll.Server().start()
    try:
        api = server.api()
        boxes = {name: api.create(internet=False, resources=resources)["id"] for name, resources in SANDBOXES.items()}
        burst = group_of(api, boxes["default without burst"]) / "cpu.cfs_burst_us"
        if not burst.exists():
            sys.exit("burst: needs cgroups of version 1 and Linux 5.14")
        burst.write_text("0")
        print_tables(*measure(api, boxes, rounds))
    finally:
        server.remove_all()


if __name__ == "__main__":
    main()
