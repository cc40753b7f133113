#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How many headers below src/ a reader of a file has before them, directly or not.

The compiler recorded them in the build folder (`ninja -t deps`). The median of each folder of src/
is limited. `--list FOLDER` prints each file of a folder with its headers, and how many files see
each header: a header that many see and few use is worth a forward declaration. An optional argument
names the build folder, which must be built.
"""

import argparse
import collections
import statistics
import subprocess

import tree

MEDIAN_MAX = 15
# Not there yet: may only become smaller.
MEDIAN_MAX_OF = {"fleet": 19}


def recorded(build):
    """By .c file below src/: the headers below src/ that its compilation read."""
    listing = subprocess.run(["ninja", "-C", build, "-t", "deps"], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    found = {}
    for block in listing.split("\n\n"):
        paths = [(build / line.strip()).resolve() for line in block.splitlines()[1:]
                 if line.strip().startswith("../src/")]
        # A file that is gone is still recorded.
        if paths and paths[0].suffix == ".c" and paths[0].exists():
            names = [str(path.relative_to(tree.ROOT / "src")) for path in paths]
            found[names[0]] = {name for name in names[1:] if name.endswith(".h")}
    return found


def by_folder(headers):
    folders = collections.defaultdict(dict)
    for name, seen in headers.items():
        folders[name.split("/")[0]][name] = seen
    return folders


def median_of(files):
    return statistics.median(len(seen) for seen in files.values())


def print_folder(folder, headers):
    files = {name: seen for name, seen in headers.items() if name.startswith(folder + "/")}
    for name, seen in sorted(files.items(), key=lambda item: (len(item[1]), item[0])):
        print(f"{len(seen):3} {name}: {' '.join(sorted(seen))}")
    counts = collections.Counter(header for seen in files.values() for header in seen)
    for header, count in counts.most_common():
        print(f"{count:5} {header}")


def print_medians(headers):
    folders = by_folder(headers)
    for folder in sorted(folders, key=lambda folder: -median_of(folders[folder])):
        files = folders[folder]
        print(f"{median_of(files):5g} of {len(files):3} files: {folder}")


def mistakes_in(headers):
    for folder, files in sorted(by_folder(headers).items()):
        most = MEDIAN_MAX_OF.get(folder, MEDIAN_MAX)
        if median_of(files) > most:
            yield f"src/{folder}: the median file sees {median_of(files):g} headers, at most {most}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", nargs="?", default="build")
    parser.add_argument("--list", metavar="FOLDER")
    parser.add_argument("--medians", action="store_true")
    options = parser.parse_args()
    headers = recorded(tree.ROOT / options.build)
    if options.list:
        print_folder(options.list, headers)
    elif options.medians:
        print_medians(headers)
    elif not headers:
        tree.report([f"{options.build} has no dependencies; build it"], "")
    else:
        median = median_of(headers)
        tree.report(list(mistakes_in(headers)), f"the median file sees {median:g} headers")


if __name__ == "__main__":
    main()
