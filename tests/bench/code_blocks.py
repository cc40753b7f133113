# SPDX-License-Identifier: Apache-2.0
"""Blocks of code in contexts: what run.py measures with --only code. Beside them the same code in a process of its own,
as a call and as a command, and `python3 -c` on the host."""

import json
import time

INSTANCES = "/api/sandbox/instances"
TEMPLATES = "/api/sandbox/templates"
CODE = "print(6 * 7)"
ALONE = {"language": "python", "code": CODE}
BLOCK = {**ALONE, "contextId": "default"}
COMMAND = {"cmd": "python3", "args": ["-c", CODE]}


def make(watch, create):
    return f"{INSTANCES}/{json.loads(watch.http('POST', INSTANCES, create)[1])['id']}"


def block(watch, path, body=None):
    took, text = watch.http("POST", f"{path}/code", body or BLOCK)
    if "42" not in json.loads(text)["stdout"]:
        raise RuntimeError(f"{body}: {text}")
    return took


def wait_warm(watch, path):
    while not json.loads(watch.http("POST", f"{path}/code", ALONE)[1]).get("warm"):
        time.sleep(0.05)
    time.sleep(0.2)  # the next spare


def measure(watch, series, create, rounds):
    watch.http("POST", TEMPLATES, {"name": "bench-code", "from": create["template"],
                                   "warm": [{"language": "python", "imports": []}]})
    try:
        for _ in range(rounds):
            path = make(watch, create)
            series.add("first block of a fresh sandbox", block(watch, path))
            series.add("next block of its context", block(watch, path))
            series.add("code in a process of its own", block(watch, path, ALONE))
            series.add("command python3 -c", watch.http("POST", f"{path}/exec", COMMAND)[0])
            series.add("python3 -c on the host", watch.spawn("/usr/bin/python3", "-c", CODE))
            watch.http("DELETE", path)
            path = make(watch, {**create, "template": "bench-code"})
            wait_warm(watch, path)
            series.add("first block of a sandbox with a warm python", block(watch, path))
            watch.http("DELETE", path)
    finally:
        watch.http("DELETE", f"{TEMPLATES}/bench-code")
