# SPDX-License-Identifier: Apache-2.0
"""Pause, resume, leases, snapshots, forks and warm interpreters: what run.py measures with --only state.

Beside them what people do instead: `podman run` and `docker run` for an acquire, docker pause and unpause, docker
commit and run for a fork, CRIU alone for the memory of a process, and `cp -a` of the files that a snapshot keeps.
What this machine cannot run is left out, and `skipped` says why.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

INSTANCES = "/api/sandbox/instances"
POOLS = "/api/sandbox/pools"
TRUE = {"cmd": "/bin/true"}
POOL_BURST, POOL_STOCK = 24, 48  # acquires one after the other; sandboxes that wait, of which half are then left
POOL_SMALL = 8
FILES_CHANGED = 10000
BYTES_CHANGED = 1 << 30


def make(watch, create):
    return f"{INSTANCES}/{json.loads(watch.http('POST', INSTANCES, create)[1])['id']}"


def run_inside(watch, path, line):
    result = json.loads(watch.http("POST", f"{path}/exec", {"command": line})[1])
    if result["exit_code"] != 0:
        raise RuntimeError(f"{line}: {result}")


def measure_pause(watch, series, create, rounds, pause):
    suffix = ", spaced" if pause else ""
    path = make(watch, create)
    for _ in range(rounds):
        time.sleep(pause)
        series.add(f"pause of an idle sandbox{suffix}", watch.http("POST", f"{path}/pause")[0])
        time.sleep(pause)
        resumed = watch.http("POST", f"{path}/resume")[0]
        series.add(f"resume + first exec{suffix}", resumed + watch.http("POST", f"{path}/exec", TRUE)[0])
        watch.http("POST", f"{path}/pause")
        time.sleep(pause)
        series.add(f"exec that wakes a paused one{suffix}", watch.http("POST", f"{path}/exec", TRUE)[0])
    watch.http("DELETE", path)


def measure_leases(watch, series, create, rounds, pause):
    suffix = ", spaced" if pause else ""
    want = {**create, "key": "bench", "continue": True}
    lease = json.loads(watch.http("POST", "/v1/leases/acquire", want)[1])
    path = f"{INSTANCES}/{lease['sandbox_id']}"
    for _ in range(rounds):
        time.sleep(pause)
        took = watch.http("POST", "/v1/leases/acquire", want)[0]
        series.add(f"acquire of a warm lease{suffix}", took)
        took += watch.http("POST", f"{path}/exec", TRUE)[0]
        series.add(f"acquire + first /bin/true{suffix}", took)
    watch.http("DELETE", "/v1/leases/bench")


def set_pool(watch, template, size):
    """Returns when it is full."""
    watch.http("PUT", f"{POOLS}/{template}", size)
    while size["target"]:
        pools = json.loads(watch.http("GET", POOLS)[1])["items"]
        if any(pool["template"] == template and pool["ready"] >= size["min"] for pool in pools):
            return
        time.sleep(0.05)


def acquire_and_delete(watch, series, create, pool, suffix=""):
    """The lease of a new key, whose sandbox is prepared. A pool is for the server's default network."""
    took, text = watch.http("POST", "/v1/leases/acquire", {"template": create["template"], "key": "pooled"})
    series.add(f"acquire from {pool}{suffix}", took)
    sandbox = json.loads(text)["sandbox_id"]
    took += watch.http("POST", f"{INSTANCES}/{sandbox}/exec", TRUE)[0]
    series.add(f"acquire from {pool} + first /bin/true{suffix}", took)
    watch.http("DELETE", "/v1/leases/pooled")


def hits_of_pools(watch):
    return sum(pool["hits"] for pool in json.loads(watch.http("GET", POOLS)[1])["items"] if not pool["automatic"])


def measure_pool_in_bursts(watch, series, create, rounds):
    """Back to back, as many as the pool has in stock."""
    template, left = create["template"], rounds
    while left > 0:
        set_pool(watch, template, {"target": POOL_STOCK, "min": POOL_STOCK - 4})
        time.sleep(1)  # until all is at rest again
        for _ in range(min(left, POOL_BURST)):
            series.add_bare(watch, "")
            acquire_and_delete(watch, series, create, "the pool")
        left -= POOL_BURST
    hits = hits_of_pools(watch)
    set_pool(watch, template, {"target": 0})
    return [{"name": "acquires that the pool had one for, %", "value": round(100 * hits / rounds)}]


def measure_pool(watch, series, create, rounds, pause):
    """Without end: each takes one of a few, and the next is made meanwhile."""
    suffix = ", spaced" if pause else ""
    name = f"a pool of {POOL_SMALL}"
    set_pool(watch, create["template"], {"target": POOL_SMALL, "min": POOL_SMALL})
    for _ in range(rounds):
        time.sleep(pause)
        series.add_bare(watch, suffix)
        time.sleep(pause)
        acquire_and_delete(watch, series, create, name, suffix)
    hits = hits_of_pools(watch)
    set_pool(watch, create["template"], {"target": 0})
    return [{"name": f"acquires that {name} had one for{suffix}, %", "value": round(100 * hits / rounds)}]


def has_numpy():
    return subprocess.run(["/usr/bin/python3", "-c", "import numpy"], capture_output=True).returncode == 0


def languages():
    """What is imported, the code, how it is executed cold. Node.js is used up by a call: it needs longer between two."""
    numpy = has_numpy()
    return {
        "python": ("numpy" if numpy else "asyncio", "import numpy; print(numpy.arange(1000).sum())" if numpy
                   else "import asyncio; print(499500)", ["python3", "-c"], 1),
        "javascript": ("http", "require('http'); console.log(499500)", ["node", "-e"], 4),
    }


def measure_warm(watch, series, create, rounds, pause):
    """The same code in an interpreter that waited for it, and executed beside it, in turns. One that was not ready counts
    among the warm ones: it is what the caller waits for."""
    template = "/api/sandbox/templates"
    for language, (module, code, program, slower) in languages().items():
        watch.http("POST", template, {"name": "bench-warm", "from": create["template"],
                                      "warm": [{"language": language, "imports": [module]}]})
        path = make(watch, {**create, "template": "bench-warm"})
        calls = {"warm": ("code", {"language": language, "code": code}),
                 "cold": ("exec", {"cmd": program[0], "args": [program[1], code]})}
        deadline = time.monotonic() + 20
        while not json.loads(watch.http("POST", f"{path}/code", calls["warm"][1])[1]).get("warm"):
            time.sleep(0.3)
            if time.monotonic() > deadline:
                break  # the template has none of it
        else:
            measure_code(watch, series, path, calls, {"name": f"{language} code with {module}", "rounds": rounds, "pause": pause * slower})
        watch.http("DELETE", path)
        watch.http("DELETE", f"{template}/bench-warm")


def measure_code(watch, series, path, calls, options):
    suffix = f", {options['pause']:.1f} s apart" if options["pause"] else ""
    for _ in range(options["rounds"]):
        for name, (call, body) in calls.items():
            time.sleep(options["pause"])
            took, text = watch.http("POST", f"{path}/{call}", body)
            if json.loads(text)["stdout"] != "499500\n":
                raise RuntimeError(text)
            series.add(f"{options['name']}, {name}{suffix}", took)


def measure_snapshots(watch, series, create, rounds):
    """Frozen times are the server's own word; the rest is as the caller sees it."""
    big = {**create, "resources": {"cpu": 2, "memory_mb": 2048, "disk_mb": 8192}}
    for name, line in ((f"{FILES_CHANGED} files changed",
                        f"mkdir -p d; i=0; while [ $i -lt {FILES_CHANGED} ]; do : > d/$i; i=$((i+1)); done"),
                       ("1 GiB changed", f"head -c {BYTES_CHANGED} /dev/zero > big")):
        for _ in range(rounds):
            path = make(watch, big)
            run_inside(watch, path, f"cd /home/user && {line}")
            took, text = watch.http("POST", f"{path}/snapshot", {})
            snapshot = json.loads(text)
            series.add(f"snapshot, {name}", took)
            series.add(f"frozen by it, {name}", snapshot["frozen_ms"] * 1000)
            watch.http("DELETE", path)
            watch.http("DELETE", f"/api/sandbox/snapshots/{snapshot['id']}")


def measure_forks(watch, series, create, rounds):
    for _ in range(rounds):
        series.add_bare(watch, "")
        path = make(watch, create)
        run_inside(watch, path, "echo data > /home/user/data")
        took, text = watch.http("POST", f"{path}/fork", {})
        forked = json.loads(text)
        child = f"{INSTANCES}/{forked['items'][0]['id']}"
        series.add("fork + first exec", took + watch.http("POST", f"{child}/exec", TRUE)[0])
        for one in (child, path):
            watch.http("DELETE", one)
        watch.http("DELETE", f"/api/sandbox/snapshots/{forked['snapshot']['id']}")


def measure_many_forks(watch, create, count):
    path = make(watch, create)
    took, text = watch.http("POST", f"{path}/fork", {"count": count})
    forked = json.loads(text)
    for one in forked["items"]:
        watch.http("DELETE", f"{INSTANCES}/{one['id']}")
    watch.http("DELETE", path)
    watch.http("DELETE", f"/api/sandbox/snapshots/{forked['snapshot']['id']}")
    return [{"name": f"{count} forks in one call, ms", "value": round(took / 1000)}]


def measure_copies(watch, series, folder, rounds):
    """What a copy of the same files costs: the way without layers."""
    trees = {f"cp -a, {FILES_CHANGED} files": folder / "files", "cp -a, 1 GiB": folder / "bytes"}
    for tree in trees.values():
        tree.mkdir()
    for i in range(FILES_CHANGED):
        (folder / "files" / str(i)).touch()
    with open(folder / "bytes" / "big", "wb") as big:
        for _ in range(BYTES_CHANGED >> 20):
            big.write(bytes(1 << 20))
    for name, tree in trees.items():
        for _ in range(rounds):
            series.add(name, watch.spawn("cp", "-a", tree, folder / "copy"))
            shutil.rmtree(folder / "copy")


def measure_runs(watch, series, peers, rounds):
    """What acquire + first /bin/true is compared with: a container that is made, run and removed."""
    for name in ("podman", "docker"):
        for _ in range(rounds if name in peers else 0):
            series.add(f"{name} run of /bin/true", watch.spawn(*peers[name]))


def why_not(command):
    """The first error that a command tells, or else its last word; None when it works."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return None
    lines = (done.stderr + done.stdout).strip().splitlines() or [f"exit {done.returncode}"]
    return next((line for line in lines if line.startswith("Error")), lines[-1])[:160]


def criu_once(watch, series, images):
    """One process that sleeps: to files and gone, and back from them."""
    images.mkdir()
    victim = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, start_new_session=True)
    restored = images / "pid"
    try:
        dumped = watch.spawn("criu", "dump", "-t", victim.pid, "-D", images)
        victim.wait(10)
        back = watch.spawn("criu", "restore", "-d", "-D", images, "--pidfile", restored)
        series.add("CRIU alone: dump of one process", dumped)
        series.add("CRIU alone: restore of it", back)
    finally:
        if victim.poll() is None:
            victim.kill()
            victim.wait()
        elif restored.exists():
            os.kill(int(restored.read_text()), signal.SIGKILL)
        shutil.rmtree(images)


def measure_criu(watch, series, folder, rounds, skipped):
    if not shutil.which("criu"):
        skipped["criu"] = "'criu' is not installed"
        return
    why = why_not(["criu", "check"])
    try:
        for i in range(0 if why else rounds):
            criu_once(watch, series, folder / f"criu-{i}")
    except RuntimeError as failure:
        why = str(failure)
    if why:
        skipped["criu"] = why


def measure_docker(watch, series, folder, rounds):
    docker = ["docker", "-H", f"unix://{folder}/docker/docker.sock"]
    if not pathlib.Path(f"{folder}/docker/docker.sock").exists():
        return
    subprocess.run([*docker, "run", "-d", "--name", "bench", "--network", "none", "atoll-bench:latest", "/bin/sleep",
                    "600"], check=True, capture_output=True)
    for _ in range(rounds):
        series.add("docker pause", watch.spawn(*docker, "pause", "bench"))
        series.add("docker unpause", watch.spawn(*docker, "unpause", "bench"))
        forked = watch.spawn(*docker, "commit", "--pause=true", "bench", "bench-fork")
        forked += watch.spawn(*docker, "run", "--rm", "--network", "none", "bench-fork", "/bin/true")
        series.add("docker commit + run of /bin/true", forked)
    subprocess.run([*docker, "rm", "-f", "bench"], check=True, capture_output=True)


def measure(watch, series, create, place, rounds):
    """All of it into `series`; the figures that are single numbers are returned. `place`: the folder to work in, the
    peers that work here, and where to say why one does not."""
    folder, peers, skipped = place
    figures = measure_pool_in_bursts(watch, series, create, rounds)
    for pause in (0, 0.1):
        figures += measure_pool(watch, series, create, rounds, pause)
        measure_pause(watch, series, create, rounds, pause)
        measure_leases(watch, series, create, rounds, pause)
        measure_warm(watch, series, create, rounds, pause)
    measure_forks(watch, series, create, rounds)
    slow = max(3, rounds // 20)
    measure_snapshots(watch, series, create, slow)
    measure_copies(watch, series, folder, slow)
    measure_runs(watch, series, peers, slow)
    measure_docker(watch, series, folder, slow)
    measure_criu(watch, series, folder, slow, skipped)
    return figures + measure_many_forks(watch, create, 100)
