#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Sizes of functions, files and parameter lists. There is no list of exceptions.

A last `struct error *err` is not counted: every function that can fail has it, so it says nothing
about how much a caller must know.
"""

import json
import re
import subprocess

import tree

FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = {".c": 800, ".h": 200}
PARAMETERS_MAX = 5
INTERNAL_INCLUDES_MAX = 16

# Attributes and cmocka's TEST(name) hide a function's name from ctags.
CTAGS = ["ctags", "--languages=C", "--langmap=C:.c.h", "--kinds-C=fp", "--fields=+neS",
         "--output-format=json", "-I", "MUST_CHECK,UNUSED,NORETURN", "-L", "-", "-f", "-"]


def parameter_count(signature):
    """Of "(int a, void (*f)(int, int))": commas at the outermost level."""
    inside = signature.strip()[1:-1].strip()
    inside = re.sub(r"(^|,)\s*struct error \*\s*\w*$", "", inside)
    inside = re.sub(r",\s*\.\.\.$", "", inside)
    if inside in ("", "void"):
        return 0
    depth = 0
    count = 1
    for char in inside:
        depth += char in "([{"
        depth -= char in ")]}"
        count += char == "," and depth == 0
    return count


def check_tag(tag):
    name = f"{tag['path']}:{tag['line']}: {tag['name']}"
    lines = tag.get("end", tag["line"]) - tag["line"] + 1
    parameters = parameter_count(tag.get("signature", "()"))
    if tag["kind"] == "function" and lines > FUNCTION_LINES_MAX:
        yield f"{name}: {lines} lines, at most {FUNCTION_LINES_MAX}"
    if parameters > PARAMETERS_MAX:
        yield f"{name}: {parameters} parameters, at most {PARAMETERS_MAX}"


def check_functions(files):
    names = "\n".join(tree.name_of(path) for path in files)
    output = subprocess.run(CTAGS, cwd=tree.ROOT, input=names, text=True, check=True,
                            stdout=subprocess.PIPE).stdout
    for line in output.splitlines():
        yield from check_tag(json.loads(line))


def check_file(path):
    text = path.read_text()
    lines = text.count("\n")
    includes = len(re.findall(r'^#include "', text, re.MULTILINE))
    most = FILE_LINES_MAX[path.suffix]
    if lines > most:
        yield f"{tree.name_of(path)}: {lines} lines, at most {most}"
    if includes > INTERNAL_INCLUDES_MAX:
        yield f"{tree.name_of(path)}: {includes} internal includes, at most " \
              f"{INTERNAL_INCLUDES_MAX}"


def main():
    files = list(tree.c_files("src", "tests"))
    mistakes = [mistake for path in files for mistake in check_file(path)]
    mistakes += check_functions(files)
    tree.report(mistakes, f"{len(files)} files are of reasonable size")


if __name__ == "__main__":
    main()
