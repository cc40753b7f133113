#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a quiet project's calls take beside each of twelve hostile neighbours in another project.

    tests/bench/fairness [--rounds 300] [--only "fork bomb,slow readers"] [--markdown FILE]

For each neighbour the same calls are timed alone, beside it, and alone again, since the machine's own speed moves by a factor of
three within minutes. A figure is the p99 of a call beside the neighbour, divided by the p99 of the same call in both stretches
alone. The aim is at most AIM for every pair; the exit status is 1 when a pair is above it.
"""

import argparse
import json
import multiprocessing
import pathlib
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import atoll  # noqa: E402
import neighbours  # noqa: E402
from run import Series, Stopwatch  # noqa: E402

AIM = 3
SETTLE_SECONDS = 1  # a neighbour's first moments are not what lasts
CALLS = ("create", "exec", "read a file", "list files", "list sandboxes")
INSTANCES = neighbours.INSTANCES


class Quiet:
    """The project that is measured, by one connection."""

    def __init__(self, watch, server, key):
        self.watch = watch
        watch.order("connect", "127.0.0.1", server.port, key)
        self.path = f"{INSTANCES}/{self.make()[1]}"
        self.run(f"{self.path}/exec", {"command": "mkdir $HOME/d && touch $HOME/d/{1..50} && head -c 4096 /dev/zero > $HOME/f"})

    def make(self):
        took, text = self.watch.http("POST", INSTANCES, neighbours.PLAIN)
        return took, json.loads(text)["id"]

    def run(self, path, body):
        return self.watch.http("POST", path, body)[0]

    def measure_round(self, samples):
        took, made = self.make()
        samples["create"].append(took)
        self.watch.http("DELETE", f"{INSTANCES}/{made}")
        samples["exec"].append(self.run(f"{self.path}/exec", neighbours.TRUE))
        samples["read a file"].append(self.watch.http("GET", f"{self.path}/files/content?path=/home/user/f")[0])
        samples["list files"].append(self.watch.http("GET", f"{self.path}/files?path=/home/user/d")[0])
        samples["list sandboxes"].append(self.watch.http("GET", f"{INSTANCES}?limit=100")[0])

    def measure(self, rounds, goes_on=lambda: True):
        samples = {call: [] for call in CALLS}
        for _ in range(rounds):
            if not goes_on():
                break
            self.measure_round(samples)
        return samples


def add_project(server, name):
    api = server.api()
    project = api.post("/v1/projects", {"name": name})["id"]
    key = api.call("POST", "/api/sandbox/keys", {"name": name}, {"X-Atoll-Project": project})["key"]
    api.close()
    return key


def remove_sandboxes(server, key):
    api = server.api(key)
    for row in server.rows(api):
        api.raw("DELETE", f"{INSTANCES}/{row['id']}")
    api.close()


def start_loads(loads):
    processes = [multiprocessing.Process(target=neighbours.run_load, args=load, daemon=True) for load in loads]
    for process in processes:
        process.start()
    return processes


def end_neighbour(server, project, processes):
    for process in processes:
        process.kill()
        process.join()
    neighbours.continue_agents(server)
    neighbours.cancel_builds(project)
    remove_sandboxes(server, project.key)


def measure_neighbour(server, quiet, project, name, rounds):
    """{call: (p99 alone, p99 beside)} in µs."""
    alone = quiet.measure(rounds)
    processes = start_loads(neighbours.ALL[name](project))
    try:
        if name != "1000 deletes":  # they are over in seconds
            time.sleep(SETTLE_SECONDS)
        beside = quiet.measure(rounds, lambda: not processes or any(p.is_alive() for p in processes))
    finally:
        end_neighbour(server, project, processes)
    time.sleep(SETTLE_SECONDS)
    after = quiet.measure(rounds)
    return {call: (Series.quantile(alone[call] + after[call], 0.99), Series.quantile(beside[call], 0.99)) for call in CALLS}


def format_row(name, figures):
    cells = [f"{beside / alone:.1f} ({alone / 1000:.1f} → {beside / 1000:.1f})" for alone, beside in figures.values()]
    return f"| {name} | " + " | ".join(cells) + " |"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--only", help="neighbours, separated by commas: " + ", ".join(neighbours.ALL))
    parser.add_argument("--markdown", help="a file for the table")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    names = arguments.only.split(",") if arguments.only else list(neighbours.ALL)
    unknown = [name for name in names if name not in neighbours.ALL]
    if unknown:
        raise SystemExit(f"unknown neighbours {unknown}; known: {', '.join(neighbours.ALL)}")
    lines = ["| neighbour | " + " | ".join(CALLS) + " |", "|---" * (len(CALLS) + 1) + "|"]
    print("\n".join(lines), flush=True)
    worst, keys = 0, []
    with tempfile.TemporaryDirectory() as folder:
        watch = Stopwatch(pathlib.Path(folder))
        server = atoll.Server(flags=["--sandboxes-max", "10000"]).start()
        try:
            keys += [add_project(server, "quiet"), add_project(server, "noisy")]
            quiet, project = Quiet(watch, server, keys[0]), neighbours.Project(server, keys[1])
            for name in names:
                figures = measure_neighbour(server, quiet, project, name, arguments.rounds)
                worst = max([worst] + [beside / alone for alone, beside in figures.values()])
                lines.append(format_row(name, figures))
                print(lines[-1], flush=True)
        finally:
            for key in keys:
                remove_sandboxes(server, key)
            server.remove_all()
    if arguments.markdown:
        pathlib.Path(arguments.markdown).write_text("\n".join(lines) + "\n")
    print(f"\nworst: {worst:.1f} times the p99 alone (aim: {AIM})")
    return worst > AIM


if __name__ == "__main__":
    sys.exit(main())
