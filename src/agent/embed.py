#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns the programs that the agent starts in a sandbox into C texts: NAME.py, NAME.js become NAME[]. A library NAME.so
becomes bytes, NAME[] and NAME_size.

Usage: embed.py OUT.h OUT.c FILE…
"""

import pathlib
import sys

COMMENTS = {".py": "#", ".js": "//"}
LIMIT = 65535  # what their loaders read


def literal(line):
    text = line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    return f'\t"{text}\\n"'


def add_library(file, head, body):
    content = file.read_bytes()
    if len(content) > LIMIT:
        sys.exit(f"{file}: more than {LIMIT} bytes")
    head += [f"extern const unsigned char {file.stem}[];", f"extern const size_t {file.stem}_size;"]
    body += [f"const unsigned char {file.stem}[] = {{", ",".join(map(str, content)), "};", f"const size_t {file.stem}_size = {len(content)};"]


def main(header, source, *files):
    head = ["/* Made by agent/embed.py. */", "#pragma once", "#include <stddef.h>", ""]
    body = ["/* Made by agent/embed.py. */", f'#include "agent/{pathlib.Path(header).name}"', ""]
    for file in map(pathlib.Path, files):
        if file.suffix == ".so":
            add_library(file, head, body)
            continue
        # Comments are for readers of the source.
        lines = [line for line in file.read_text().splitlines()
                 if line.strip() and not line.lstrip().startswith(COMMENTS[file.suffix])]
        if sum(len(line.encode()) + 1 for line in lines) > LIMIT:
            sys.exit(f"{file}: more than {LIMIT} bytes")
        head.append(f"extern const char {file.stem}[];")
        body += [f"const char {file.stem}[] =", *map(literal, lines), ";"]
    pathlib.Path(header).write_text("\n".join(head) + "\n")
    pathlib.Path(source).write_text("\n".join(body) + "\n")


main(*sys.argv[1:])
