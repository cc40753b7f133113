#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns queries/*.sql and migrations/*.sql into C, so that no SQL is put together at run time.

A query file is made of blocks. A block starts with its header lines and ends at the next header;
other comment lines are for readers and are dropped.

    -- fragment: NAME         a text that later blocks of the file use as {NAME}
    -- name: NAME             one statement, QUERY_NAME in C
    -- takes: SHAPE           its parameters (:member) are members of this shape in columns.c
    -- gives: SHAPE           its result columns are, too; absent when there are none

Usage: generate.py OUT.h OUT.c FILE.sql…   (migrations are the files named NNNN_word.sql)
"""

import pathlib
import re
import sys

HEADER = re.compile(r"--\s*(fragment|name|takes|gives):\s*([a-z][a-z0-9_]*)\s*$")
MIGRATION = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql$")


class Block:
    def __init__(self, kind, name, place):
        self.kind, self.name, self.place = kind, name, place
        self.takes = self.gives = None
        self.lines = []


def fail(place, text):
    sys.exit(f"{place}: {text}")


def read_blocks(path):
    blocks = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        place = f"{path}:{number}"
        header = HEADER.match(line)
        if header and header[1] in ("fragment", "name"):
            blocks.append(Block(header[1], header[2], place))
        elif header and blocks and blocks[-1].kind == "name":
            setattr(blocks[-1], header[1], header[2])
        elif header:
            fail(place, "belongs to no query")
        elif not line.strip() or line.startswith("--"):
            continue
        elif not blocks:
            fail(place, "text before the first header")
        else:
            blocks[-1].lines.append(line)
    return blocks


def expand(text, fragments, place):
    def put(found):
        if found[1] not in fragments:
            fail(place, f"no fragment '{found[1]}' above")
        return fragments[found[1]]

    return re.sub(r"\{([a-z_]+)\}", put, text)


def check(query, known):
    if query.name in known:
        fail(query.place, f"a second query '{query.name}'")
    if not query.sql.endswith(";") or query.sql.count(";") != 1:
        fail(query.place, "must be one statement that ends with ';'")
    if bool(re.search(r":[a-z]", query.sql)) != bool(query.takes):
        fail(query.place, "has parameters exactly when it says what it takes")


def read_queries(paths):
    queries = {}
    for path in paths:
        fragments = {}
        for block in read_blocks(path):
            text = expand("\n".join(block.lines), fragments, block.place)
            if block.kind == "fragment":
                fragments[block.name] = text
                continue
            block.sql = text
            check(block, queries)
            queries[block.name] = block
    return list(queries.values())


def read_migrations(paths):
    migrations = []
    for number, path in enumerate(paths, 1):
        parts = MIGRATION.match(path.name)
        if int(parts[1]) != number:
            fail(path, f"should be number {number:04}")
        # The number that a database is at changes in the transaction that changes its tables.
        mark = f"PRAGMA user_version = {number};\n"
        migrations.append((number, parts[2], path.read_text() + mark))
    return migrations


def quote(text):
    """As a C string of several lines."""
    lines = text.replace("\\", "\\\\").replace('"', '\\"').rstrip("\n").split("\n")
    return "\n\t\t".join(f'"{line}\\n"' for line in lines)


def write_header(queries):
    names = "".join(f"\tQUERY_{query.name.upper()},\n" for query in queries)
    return (
        "/* Made by generate.py from queries/. */\n#pragma once\n\n"
        f"enum query_name {{\n{names}\tQUERY_COUNT,\n}};\n"
    )


def write_query(query):
    takes = f"columns_of_{query.takes}" if query.takes else "NULL"
    gives = f"columns_of_{query.gives}" if query.gives else "NULL"
    return (
        f'\t[QUERY_{query.name.upper()}] = {{"{query.name}", {takes}, {gives},\n'
        f"\t\t{quote(query.sql)}}},\n"
    )


def write_source(queries, migrations):
    rows = "".join(write_query(query) for query in queries)
    steps = "".join(
        f'\t{{{number}, "{name}",\n\t\t{quote(text)}}},\n' for number, name, text in migrations
    )
    return (
        "/* Made by generate.py from queries/ and migrations/. */\n"
        '#include "store/driver.h"\n\n#include <stddef.h>\n\n'
        f"const struct query store_queries[] = {{\n{rows}}};\n\n"
        f"const struct migration store_migrations[] = {{\n{steps}\t{{0, NULL, NULL}},\n}};\n"
    )


def main():
    header, source, *files = map(pathlib.Path, sys.argv[1:])
    files.sort(key=lambda path: path.name)
    queries = read_queries([path for path in files if not MIGRATION.match(path.name)])
    migrations = read_migrations([path for path in files if MIGRATION.match(path.name)])
    header.write_text(write_header(queries))
    source.write_text(write_source(queries, migrations))


main()
