#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The provider e2b beside the calls of E2B's own API that do the same, in turns within one run. Another server of Atoll on
this machine stands for the service.

    tests/bench/remote.py [ROUNDS]

Prints p50 and p99 of each in ms, and by how much a command through the provider is slower than the service's own call: the
p50 of it is at most 2 ms."""

import http.client
import json
import pathlib
import statistics
import struct
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import atoll  # noqa: E402 (the path comes first)

LIMIT_MS = 2


def timed(call):
    began = time.perf_counter()
    value = call()
    return (time.perf_counter() - began) * 1000, value


class Envd:
    """Commands by envd's process.Process/Start, as E2B's SDK runs them, over a connection that is kept."""

    def __init__(self, server, made):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        self.headers = {"E2b-Sandbox-Id": made["sandboxID"], "E2b-Sandbox-Port": "49983", "X-Access-Token": made["envdAccessToken"],
                        "Content-Type": "application/connect+json", "Connect-Protocol-Version": "1"}

    def run(self, *args):
        body = json.dumps({"process": {"cmd": args[0], "args": list(args[1:])}, "stdin": False}).encode()
        self.connection.request("POST", "/process.Process/Start", struct.pack(">BI", 0, len(body)) + body, self.headers)
        answer = self.connection.getresponse().read()
        assert b'"end"' in answer, answer


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    far = atoll.Server().start()
    url = f"http://127.0.0.1:{far.port}"
    near = atoll.Server(environment={"E2B_API_KEY": far.key}, flags=[
        "--providers", f"native,far=e2b:e2b_api_url={url};e2b_sandbox_url={url};e2b_template=host;allow_weaker=true"]).start()
    try:
        ours, theirs, times = near.api(), far.api(), {}
        box = ours.create(provider="far", internet=False)["id"]
        made = theirs.post("/sandboxes", {"templateID": "host", "timeout": 3600, "secure": True, "allow_internet_access": False})
        envd = Envd(far, made)
        for number in range(rounds + 20):
            for name, call in (("atoll exec /bin/true", lambda: ours.exec(box, "/bin/true")), ("envd Start /bin/true", lambda: envd.run("/bin/sh", "-c", "/bin/true"))):
                took, _ = timed(call)
                if number >= 20:
                    times.setdefault(name, []).append(took)
        for _ in range(max(5, rounds // 30)):
            took, one = timed(lambda: ours.create(provider="far", internet=False)["id"])
            times.setdefault("atoll create", []).append(took)
            times.setdefault("atoll delete", []).append(timed(lambda: ours.remove(one))[0])
            took, one = timed(lambda: theirs.post("/sandboxes", {"templateID": "host", "timeout": 60, "allow_internet_access": False}))
            times.setdefault("POST /sandboxes", []).append(took)
            times.setdefault("DELETE /sandboxes/ID", []).append(timed(lambda: theirs.delete(f"/sandboxes/{one['sandboxID']}"))[0])
        for name, took in times.items():
            took.sort()
            print(f"{name:24} p50 {statistics.median(took):7.2f} ms   p99 {took[min(len(took) - 1, len(took) * 99 // 100)]:7.2f} ms")
        over = statistics.median(times["atoll exec /bin/true"]) - statistics.median(times["envd Start /bin/true"])
        print(f"{'a command adds':24} p50 {over:7.2f} ms   at most {LIMIT_MS} ms: {'yes' if over <= LIMIT_MS else 'NO'}")
        theirs.delete(f"/sandboxes/{made['sandboxID']}")
        sys.exit(over > LIMIT_MS)
    finally:
        near.remove_all()
        far.remove_all()


if __name__ == "__main__":
    main()
