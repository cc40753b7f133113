#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns the kernels into C texts: kernel_NAME.py, .js, .sh become kernel_NAME[]. The Python one holds the text
of kernel_python_rich.py, which it compiles when it needs it. kernel_typescript[] is Node's with the text of
kernel_typescript.js in its function; probe_typescript[] exits with status 1 where that finds no transpiler.

Usage: embed.py OUT.h OUT.c FILE…
"""

import pathlib
import sys

COMMENTS = {".py": "#", ".sh": "#", ".js": "//", ".R": "#", ".java": "//"}
# Of a language whose interpreter takes no argument of that size. Java reads files only, and deletes this one.
PROGRAMS = {
    ".R": ["exec R --no-echo --vanilla --file=/dev/fd/3 3<<'__ATOLL'", "__ATOLL"],
    ".java": ["file=$(mktemp -d)/AtollKernel.java", "cat >\"$file\" <<'__ATOLL'", "__ATOLL",
              "exec java -Xshare:auto -XX:+UseSerialGC -XX:TieredStopAtLevel=1 --source 11 \"$file\" \"$file\""],
}
PROBE = "process.exit(hasTranspiler() ? 0 : 1);"
LIMIT = 100000  # an argument of a command has 128 KiB


def literal(line):
    text = line.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?")
    return f'\t"{text}\\n"'


def stripped(file):
    """Without comments, which are for readers of the source."""
    return [line for line in file.read_text().splitlines()
            if line.strip() and not line.lstrip().startswith(COMMENTS[file.suffix])]


def texts(files):
    """The lines of each text, by its name."""
    files = {pathlib.Path(file).stem: pathlib.Path(file) for file in files}
    rich = "\n".join(stripped(files.pop("kernel_python_rich")))
    made = {name: stripped(file) for name, file in files.items()}
    made["kernel_python"].insert(0, f"RICH = {ascii(rich)}")
    added, node = made["kernel_typescript"], made["kernel_node"]
    made["kernel_typescript"] = [node[0], *added, *node[1:]]
    made["probe_typescript"] = ["(() => {", *added, PROBE, "})();"]
    for name, file in files.items():
        if file.suffix in PROGRAMS:
            program = PROGRAMS[file.suffix]
            at = program.index("__ATOLL")
            made[name] = [*program[:at], *made[name], *program[at:]]
    return made


def main(header, source, *files):
    head = ["/* Made by code/embed.py. */", "#pragma once", ""]
    body = ["/* Made by code/embed.py. */", f'#include "code/{pathlib.Path(header).name}"', ""]
    for name, lines in texts(files).items():
        if sum(len(line.encode()) + 1 for line in lines) > LIMIT:
            sys.exit(f"{name}: more than {LIMIT} bytes")
        head.append(f"extern const char {name}[];")
        body += [f"const char {name}[] =", *map(literal, lines), ";"]
    pathlib.Path(header).write_text("\n".join(head) + "\n")
    pathlib.Path(source).write_text("\n".join(body) + "\n")


main(*sys.argv[1:])
