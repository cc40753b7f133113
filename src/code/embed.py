#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns the kernels into C texts: kernel_NAME.py, .js, .sh become kernel_NAME[]. The Python one holds the text
of kernel_python_rich.py, which it compiles when it needs it.

Usage: embed.py OUT.h OUT.c FILE…
"""

import pathlib
import sys

COMMENTS = {".py": "#", ".sh": "#", ".js": "//"}
LIMIT = 100000  # an argument of a command has 128 KiB


def literal(line):
    text = line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    return f'\t"{text}\\n"'


def stripped(file):
    """Without comments, which are for readers of the source."""
    return [line for line in file.read_text().splitlines()
            if line.strip() and not line.lstrip().startswith(COMMENTS[file.suffix])]


def main(header, source, *files):
    files = {pathlib.Path(file).stem: pathlib.Path(file) for file in files}
    rich = "\n".join(stripped(files.pop("kernel_python_rich")))
    head = ["/* Made by code/embed.py. */", "#pragma once", ""]
    body = ["/* Made by code/embed.py. */", f'#include "code/{pathlib.Path(header).name}"', ""]
    for name, file in files.items():
        lines = stripped(file)
        if name == "kernel_python":
            lines.insert(0, f"RICH = {ascii(rich)}")
        if sum(len(line.encode()) + 1 for line in lines) > LIMIT:
            sys.exit(f"{file}: more than {LIMIT} bytes")
        head.append(f"extern const char {name}[];")
        body += [f"const char {name}[] =", *map(literal, lines), ";"]
    pathlib.Path(header).write_text("\n".join(head) + "\n")
    pathlib.Path(source).write_text("\n".join(body) + "\n")


main(*sys.argv[1:])
