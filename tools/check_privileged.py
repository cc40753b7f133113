#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the lines of the program with full privilege, atoll-launch: all sources that are linked into it, and their headers.

The debug information of the program names its sources, and ninja knows the headers of each. At most
8,000 lines are allowed (docs/decisions/full-privilege-in-one-program.md). An optional argument names the build folder, which must be built; with
--list the folders and their lines are printed.
"""

import collections
import re
import subprocess
import sys

import tree

PROGRAM = "atoll-launch"
LINES_MAX = 8000


def output_of(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def linked_sources(build):
    """The paths below src/ of the compile units in the program."""
    units = output_of("readelf", "--debug-dump=info", "--dwarf-depth=1", build / PROGRAM)
    return {name for name in re.findall(r"DW_AT_name\s*:.*?(src/\S+\.c)\s*$", units, re.M)}


def headers_of(build, sources):
    headers = set()
    source = None
    for line in output_of("ninja", "-C", build, "-t", "deps").splitlines():
        found = re.fullmatch(r"    \S*?(src/\S+\.[ch])", line)
        if not line.startswith(" "):
            source = None
        elif not found:
            continue
        elif source is None:
            source = found[1]
        elif source in sources:
            headers.add(found[1])
    return headers


def lines_of(path):
    return len((tree.ROOT / path).read_text().splitlines())


def main():
    words = [word for word in sys.argv[1:] if word != "--list"]
    build = tree.ROOT / (words[0] if words else "build")
    if not (build / PROGRAM).exists():
        tree.report([f"{build.name} has no {PROGRAM}; build it"], "")
        return
    sources = linked_sources(build)
    lines = {path: lines_of(path) for path in sources | headers_of(build, sources)}
    total = sum(lines.values())
    if "--list" in sys.argv:
        folders = collections.Counter()
        for path, count in lines.items():
            folders["/".join(path.split("/")[:3 if path.startswith("src/launch/") and path.count("/") > 2 else 2])] += count
        for folder, count in sorted(folders.items()):
            print(f"{count:7} {folder}")
    mistakes = [f"{PROGRAM} has {total} lines, at most {LINES_MAX}"] if total > LINES_MAX else []
    tree.report(mistakes, f"{PROGRAM} has {total} lines in {len(lines)} files, at most {LINES_MAX}")


main()
