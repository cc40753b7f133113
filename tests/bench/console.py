#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The web console in Chromium, on this machine: how soon a page can be used, and frames of a table of sandboxes while it scrolls and changes.

    tests/bench/console.py [--rows 1000] [--seconds 8]

Starts a server of its own with sandboxes that are rows only. Prints one line of JSON for each measurement.
"""

import argparse
import contextlib
import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

import atoll  # noqa: E402
import chromium  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=8)
    options = parser.parse_args()
    server = atoll.Server(provider="null").start()
    try:
        chromium.require_console(server)
        chromium.install()
        with contextlib.closing(server.api()) as api:
            for number in range(options.rows):
                api.call("POST", "/api/sandbox/instances", {"name": f"many-{number:05}", "persistent": True})
        print(chromium.run_node(server, "open.mjs", "15", seconds=200).strip())
        print(chromium.run_node(server, "many.mjs", str(options.rows), str(options.seconds), seconds=200).strip())
    finally:
        server.stop()
        shutil.rmtree(server.data)


main()
