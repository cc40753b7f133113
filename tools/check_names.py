#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Names of functions and tags in src/.

- A function is named by a verb and a noun: "run" or "set_up" says nothing in a backtrace. `main` is
  the only exception.
- A struct, union or enum tag is defined in one file only, so that a search finds one definition.
"""

import collections
import json
import re
import subprocess

import tree

# What follows a verb without naming a thing.
PARTICLES = ("again", "all", "at", "away", "back", "by", "down", "for", "from", "in", "it", "now",
             "off", "on", "one", "out", "over", "through", "to", "up", "with")
BARE = re.compile(rf"[a-z0-9]+(_({'|'.join(PARTICLES)}))*")
CTAGS = ["ctags", "--languages=C", "--langmap=C:.c.h", "--kinds-C=fsug", "--fields=+n",
         "--output-format=json", "-I", "MUST_CHECK,UNUSED,NORETURN,PRINTF+", "-L", "-", "-f", "-"]


def definitions():
    names = "\n".join(tree.name_of(path) for path in tree.c_files("src"))
    output = subprocess.run(CTAGS, cwd=tree.ROOT, input=names, text=True, check=True,
                            stdout=subprocess.PIPE).stdout
    return [json.loads(line) for line in output.splitlines()]


def bare_functions(found):
    for tag in found:
        if tag["kind"] == "function" and BARE.fullmatch(tag["name"]) and tag["name"] != "main":
            yield f"{tag['path']}:{tag['line']}: {tag['name']}: name the thing as well as the verb"


def shared_tags(found):
    places = collections.defaultdict(set)
    for tag in found:
        if tag["kind"] in ("struct", "union", "enum") and not tag["name"].startswith("__anon"):
            places[tag["name"]].add(f"{tag['path']}:{tag['line']}")
    for name, at in sorted(places.items()):
        if len(at) > 1:
            yield f"{name}: defined {len(at)} times: {', '.join(sorted(at))}"


def main():
    found = definitions()
    tree.report([*bare_functions(found), *shared_tags(found)], f"{len(found)} names are clear")


if __name__ == "__main__":
    main()
