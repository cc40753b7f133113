#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Functions that have no safe use here, SQL that is put together at run time, and banners (STYLE.md).

A script and not a poisoned header, because the headers of libraries may name these functions.
"""

import re

import tree

BANNED = {
    "strcpy": "snprintf or a struct buf",
    "strcat": "a struct buf",
    "strncpy": "snprintf or memcpy",
    "sprintf": "snprintf or a struct buf",
    "vsprintf": "vsnprintf or a struct buf",
    "strtok": "span_split",
    "atoi": "span_parse_whole",
    "atol": "span_parse_whole",
    "gets": "fd_read_to_end",
    "system": "an argument vector, never a shell",
    "popen": "an argument vector, never a shell",
    "alloca": "an arena or a bounded array",
    "tmpnam": "mkdtemp or memfd_create",
    "mktemp": "mkdtemp or memfd_create",
}
# Frames of an agent come through provider/agent_reader.h, which holds deadline, order and amount.
# These files read frames that the loop or this very process has written.
RECEIVE = re.compile(r"(?<![\w.>])wire_receive(_from|_with_fd)?\s*\(")
MAY_RECEIVE = ("src/wire/wire.h", "src/wire/socket.c", "src/provider/agent_reader.c",
               "src/provider/null/null.c", "src/surface/native/backups.c",
               "src/surface/native/build_files.c", "src/surface/native/templates.c")
# A test may run a fixed command line.
TESTS_MAY = ("system", "popen")
CALL = re.compile(r"(?<![\w.>])(" + "|".join(BANNED) + r")\s*\(")
STRING = re.compile(r'"((?:\\.|[^"\\\n])*)"')
SQL = re.compile(r"\s*(SELECT\s.+\sFROM|INSERT\s+INTO|UPDATE\s.+\sSET|DELETE\s+FROM|"
                 r"(CREATE|ALTER|DROP)\s+(TABLE|INDEX|VIEW|TRIGGER))\b.*%[\w.*]", re.IGNORECASE)


BANNER = re.compile(r"^/\* [-=*#]{3,}", re.M)


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def check_file(path):
    text = path.read_text()
    code = tree.without_comments(text, keep_strings=False)
    is_test = tree.name_of(path).startswith("tests/")
    for match in BANNER.finditer(text):
        if not is_test:
            yield f"{tree.name_of(path)}:{line_of(text, match.start())}: a banner; the file's functions have names"
    for match in CALL.finditer(code):
        if is_test and match[1] in TESTS_MAY:
            continue
        yield f"{tree.name_of(path)}:{line_of(code, match.start())}: {match[1]} is banned; " \
              f"use {BANNED[match[1]]}"
    for match in RECEIVE.finditer(code):
        if not is_test and tree.name_of(path) not in MAY_RECEIVE:
            yield f"{tree.name_of(path)}:{line_of(code, match.start())}: {match[0]}…) has no " \
                  f"bound that a hostile agent meets; use struct agent_reader"
    for match in STRING.finditer(tree.without_comments(text)):
        if SQL.match(match[1]):
            yield f"{tree.name_of(path)}:{line_of(text, match.start())}: SQL is never built; " \
                  f"name the query in src/store/queries"


def main():
    files = list(tree.c_files("src", "tests"))
    mistakes = [mistake for path in files for mistake in check_file(path)]
    tree.report(mistakes, f"{len(files)} files use nothing that is banned")


if __name__ == "__main__":
    main()
