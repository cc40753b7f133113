#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The provider docker beside Docker's own command line, in turns within one run, on a daemon of its own.

    tests/bench/docker.py [ROUNDS]

Prints p50 of each in ms, and the ratios: create and first command at most 1.1 times `docker run`, a command in a sandbox
at most 0.1 times `docker exec`."""

import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import atoll  # noqa: E402 (the path comes first)
import docker_daemon  # noqa: E402

LIMITS = ("--network", "none", "--memory", "96m", "--pids-limit", "64", "--cpus", "0.5")


def timed(call):
    began = time.perf_counter()
    value = call()
    return (time.perf_counter() - began) * 1000, value


def docker(daemon, *arguments):
    return subprocess.run(["docker", "--host", daemon.host, *arguments], check=True, capture_output=True, text=True).stdout.strip()


def measure(daemon, api, rounds):
    times = {"atoll create and /bin/true": [], "docker run /bin/true": [], "atoll exec /bin/true": [],
             "docker exec /bin/true": [], "atoll delete": [], "docker rm --force": []}

    def first_command():
        made = api.create()
        assert api.exec(made["id"], "/bin/true")["exit_code"] == 0
        return made["id"]

    def keep(name, call):
        took, value = timed(call)
        times[name].append(took)
        return value

    def ours():
        sandbox = keep("atoll create and /bin/true", first_command)
        for _ in range(3):
            keep("atoll exec /bin/true", lambda: api.exec(sandbox, "/bin/true"))
        keep("atoll delete", lambda: api.remove(sandbox))

    def theirs():
        name = f"plain-{time.monotonic_ns()}"
        keep("docker run /bin/true", lambda: docker(daemon, "run", "--name", name, *LIMITS, docker_daemon.IMAGE, "/bin/true"))
        docker(daemon, "rm", "--force", name)
        docker(daemon, "run", "--detach", "--name", name, *LIMITS, docker_daemon.IMAGE, "/bin/sleep", "1000")
        for _ in range(3):
            keep("docker exec /bin/true", lambda: docker(daemon, "exec", name, "/bin/true"))
        keep("docker rm --force", lambda: docker(daemon, "rm", "--force", name))

    # What the daemon still removes slows the next call, so each goes first as often as the other.
    for number in range(rounds):
        for part in (ours, theirs) if number % 2 else (theirs, ours):
            time.sleep(0.3)
            part()
    return {name: statistics.median(all_of_it) for name, all_of_it in times.items()}


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    daemon = docker_daemon.Daemon()
    server = None
    try:
        with tempfile.TemporaryDirectory(prefix="atoll-bench-") as folder:
            daemon.import_busybox(pathlib.Path(folder))
        server = atoll.Server(provider="docker", environment={"DOCKER_HOST": daemon.host, "SANDBOX_MEM_LIMIT": "96m",
                                                              "SANDBOX_WORKER_IMAGE": docker_daemon.IMAGE}).start()
        medians = measure(daemon, server.api(), rounds)
        for name, value in medians.items():
            print(f"{name:28} {value:8.1f} ms")
        for ours, theirs, most in (("atoll create and /bin/true", "docker run /bin/true", 1.1),
                                   ("atoll exec /bin/true", "docker exec /bin/true", 0.1)):
            print(f"{ours} / {theirs}: {medians[ours] / medians[theirs]:.3f}, aim {most}")
    finally:
        if server:
            server.remove_all()
        daemon.remove()


if __name__ == "__main__":
    main()
