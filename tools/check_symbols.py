#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""No two folders that are linked together define the same name with external linkage.

Their libraries are archives: a linker takes the first member that defines a name, and says nothing
about the second. A test once ran another folder's `target_parse`. Folders that no program brings
together, such as agent and http, may use the same words. An optional argument names the build
folder, which must be built.
"""

import collections
import itertools
import subprocess
import sys

import tree


def names_of(archive):
    """How often each name is defined in it."""
    command = ["nm", "--defined-only", "--extern-only", "--format=posix", archive]
    listing = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout
    words = (line.split() for line in listing.splitlines())
    # The compiler's own names, such as a sanitizer's, begin with '_'; a line of one word is a heading.
    return collections.Counter(word[0] for word in words if len(word) > 1 and word[0][0] != "_")


def linked_with(layers, folder):
    """The folder and all that it uses, directly or not."""
    found = {folder}
    for below in layers[folder].below:
        found |= linked_with(layers, below)
    return found


def mistakes_in(layers, names):
    told = set()
    for folder, own in names.items():
        for name in sorted(name for name, count in own.items() if count > 1):
            yield f"{name}: defined twice in {folder}"
    for folder in layers:
        for one, other in itertools.combinations(sorted(linked_with(layers, folder)), 2):
            if (one, other) in told:
                continue
            told.add((one, other))
            for name in sorted(names[one].keys() & names[other].keys()):
                yield f"{name}: defined in {one} and in {other}, which {folder} is linked with"


def main():
    build = tree.ROOT / (sys.argv[1] if len(sys.argv) > 1 else "build")
    layers = tree.layers()
    missing = [folder for folder in layers if not (build / layers[folder].archive).exists()]
    if missing:
        tree.report([f"{build.name} has no library of {folder}; build it" for folder in missing], "")
        return
    names = {folder: names_of(build / layers[folder].archive) for folder in layers}
    count = sum(map(len, names.values()))
    tree.report(list(mistakes_in(layers, names)), f"{count} names are clear to the linker")


if __name__ == "__main__":
    main()
