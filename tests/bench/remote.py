#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The providers e2b and daytona beside the calls of the service's own API that do the same, in turns within one run. Another
server of Atoll on this machine stands for the service.

    tests/bench/remote.py [ROUNDS [e2b|daytona]]

Prints p50 and p99 of each in ms, and by how much a command through the provider is slower than the service's own call: the
p50 of it is at most 2 ms."""

import contextlib
import http.client
import json
import pathlib
import statistics
import struct
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import atoll  # noqa: E402 (the path comes first)
import small_root  # noqa: E402

LIMIT_MS = 2
WARM = 20  # rounds that do not count


class E2b:
    """Commands by envd's process.Process/Start, as E2B's SDK runs them, over a connection that is kept."""
    key, call = "E2B_API_KEY", "envd Start"

    @staticmethod
    def options(url):
        return f"e2b:e2b_api_url={url};e2b_sandbox_url={url};e2b_template=host;allow_weaker=true"

    def __init__(self, server, api):
        self.api = api
        self.made = self.create()
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        self.headers = {"E2b-Sandbox-Id": self.made["sandboxID"], "E2b-Sandbox-Port": "49983", "X-Access-Token": self.made["envdAccessToken"],
                        "Content-Type": "application/connect+json", "Connect-Protocol-Version": "1"}

    def create(self):
        return self.api.post("/sandboxes", {"templateID": "host", "timeout": 3600, "secure": True, "allow_internet_access": False})

    def delete(self, made):
        self.api.delete(f"/sandboxes/{made['sandboxID']}")

    def run(self):
        body = json.dumps({"process": {"cmd": "/bin/sh", "args": ["-c", "/bin/true"]}, "stdin": False}).encode()
        self.connection.request("POST", "/process.Process/Start", struct.pack(">BI", 0, len(body)) + body, self.headers)
        answer = self.connection.getresponse().read()
        assert b'"end"' in answer, answer


class Daytona:
    """Commands by the toolbox's process/execute, as Daytona's SDK runs them, over a connection that is kept."""
    key, call = "DAYTONA_API_KEY", "toolbox execute"

    @staticmethod
    def options(url):
        return f"daytona:daytona_api_url={url}/daytona/api;daytona_snapshot=rooted;daytona_block_by_list=true;allow_weaker=true"

    def __init__(self, server, api):
        self.api = api
        with tempfile.TemporaryDirectory() as folder, contextlib.closing(server.api()) as importer:
            folder = pathlib.Path(folder)
            archive = small_root.as_tar(small_root.rooted(folder), folder / "root.tar").read_bytes()
            importer.call("POST", "/api/sandbox/templates/import?name=rooted&format=tar", archive)
        self.made = self.create()

    def create(self):
        return self.api.post("/daytona/api/sandbox", {"snapshot": "rooted", "networkBlockAll": True})

    def delete(self, made):
        self.api.call("DELETE", f"/daytona/api/sandbox/{made['id']}")

    def run(self):
        answer = self.api.post(f"/daytona/toolbox/{self.made['id']}/process/execute", {"command": "/bin/true"})
        assert answer["exitCode"] == 0, answer


SERVICES = {"e2b": E2b, "daytona": Daytona}


def take(times, name, call):
    began = time.perf_counter()
    value = call()
    times.setdefault(name, []).append((time.perf_counter() - began) * 1000)
    return value


def measure(rounds, service):
    """By how many ms a command through the provider is slower, p50."""
    far = atoll.Server().start()
    near = atoll.Server(environment={service.key: far.key},
                        flags=["--providers", f"native,far={service.options(f'http://127.0.0.1:{far.port}')}"]).start()
    try:
        ours, theirs, times = near.api(), service(far, far.api()), {}
        own = f"{service.call} /bin/true"
        box = ours.create(provider="far", internet=False)["id"]
        for _ in range(rounds + WARM):
            take(times, "atoll exec /bin/true", lambda: ours.exec(box, "/bin/true"))
            take(times, own, theirs.run)
        times = {name: took[WARM:] for name, took in times.items()}
        for _ in range(max(5, rounds // 30)):
            one = take(times, "atoll create", lambda: ours.create(provider="far", internet=False)["id"])
            take(times, "atoll delete", lambda: ours.remove(one))
            made = take(times, "the service's create", theirs.create)
            take(times, "the service's delete", lambda: theirs.delete(made))
        for name, took in times.items():
            took.sort()
            print(f"{name:26} p50 {statistics.median(took):7.2f} ms   p99 {took[min(len(took) - 1, len(took) * 99 // 100)]:7.2f} ms")
        theirs.delete(theirs.made)
        return statistics.median(times["atoll exec /bin/true"]) - statistics.median(times[own])
    finally:
        near.remove_all()
        far.remove_all()


def main():
    rounds, chosen = int(sys.argv[1]) if len(sys.argv) > 1 else 300, sys.argv[2:] or list(SERVICES)
    if unknown := set(chosen) - set(SERVICES):
        sys.exit(f"unknown service {', '.join(unknown)}: {' or '.join(SERVICES)}")
    is_met = True
    for name in chosen:
        print(f"== {name}")
        over = measure(rounds, SERVICES[name])
        is_met = is_met and over <= LIMIT_MS
        print(f"{'a command adds':26} p50 {over:7.2f} ms   at most {LIMIT_MS} ms: {'yes' if over <= LIMIT_MS else 'NO'}")
    sys.exit(not is_met)


if __name__ == "__main__":
    main()
