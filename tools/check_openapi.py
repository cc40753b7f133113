#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""docs/api/openapi.json against what build/atolld says it serves. --write brings it up to date."""

import difflib
import json
import subprocess
import sys

import tree

DOCUMENT = tree.ROOT / "docs/api/openapi.json"
PROGRAM = tree.ROOT / "build/atolld"


def served():
    output = subprocess.run([PROGRAM, "--openapi"], check=True, stdout=subprocess.PIPE).stdout
    return json.dumps(json.loads(output), indent=1, ensure_ascii=False) + "\n"


def main():
    now = served()
    if sys.argv[1:] == ["--write"]:
        DOCUMENT.parent.mkdir(parents=True, exist_ok=True)
        DOCUMENT.write_text(now)
    before = DOCUMENT.read_text() if DOCUMENT.exists() else ""
    name = tree.name_of(DOCUMENT)
    difference = difflib.unified_diff(before.splitlines(), now.splitlines(), name, "atolld",
                                      lineterm="", n=1)
    lines = list(difference)[:60]
    if lines:
        lines.append(f"{name} is stale: run tools/check_openapi.py --write")
    tree.report(lines, f"{name} is what atolld serves")


if __name__ == "__main__":
    main()
