#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""embed_console.py DIST TABLE.c BYTES.S: the built console as a table for src/surface/console/files.h and as an assembler file that takes
the bytes from DIST. Without DIST the table is empty. A file that is as it was is not written."""

import hashlib
import json
import pathlib
import sys

CODINGS = ("", ".gz", ".br")
NOTE = "/* SPDX-License-Identifier: Apache-2.0 */\n/* Written by tools/embed_console.py. */\n"
STACK_NOTE = '\n\t.section .note.GNU-stack,"",@progbits\n'


def listed(dist):
    """(path, type) of each file, sorted as strcmp does."""
    listing = dist / "files.txt"
    if not listing.is_file():
        return []
    rows = [line.split("\t") for line in listing.read_text().splitlines()]
    return sorted((path, kind) for path, kind in rows)


def bytes_text(symbol, path, content):
    """The hash makes the assembler file change with the content, which the build cannot see."""
    return (f"\t/* sha256 {hashlib.sha256(content).hexdigest()} */\n"
            f"\t.global {symbol}_start, {symbol}_end\n\t.hidden {symbol}_start, {symbol}_end\n"
            f"{symbol}_start:\n\t.incbin {json.dumps(str(path))}\n{symbol}_end:\n\t.byte 0\n")


def row_text(index, path, kind, content, found):
    starts = ", ".join(f"console_{index}_{n}_start" if there else "NULL" for n, there in enumerate(found))
    ends = starts.replace("_start", "_end")
    etag = hashlib.sha256(content).hexdigest()[:20]
    return (f'\t{{{json.dumps(path)}, {json.dumps(kind)}, "\\"{etag}\\"",\n'
            f"\t {{{starts}}}, {{{ends}}}}},\n")


def texts(dist):
    declarations, rows, parts = [], [], [NOTE, '\t.section .rodata, "a"\n']
    for index, (path, kind) in enumerate(listed(dist)):
        files = [dist / (path + coding) for coding in CODINGS]
        found = [file.is_file() for file in files]
        for n, file in enumerate(files):
            if found[n]:
                symbol = f"console_{index}_{n}"
                parts.append(bytes_text(symbol, file, file.read_bytes()))
                declarations.append(f"extern const unsigned char {symbol}_start[], {symbol}_end[];\n")
        rows.append(row_text(index, path, kind, files[0].read_bytes(), found))
    # C has no empty arrays: the last row is not counted.
    table = (f'{NOTE}#include "surface/console/files.h"\n\n{"".join(declarations)}\n'
             f'const struct console_file console_files[] = {{\n{"".join(rows)}\t{{.path = NULL}},\n}};\n'
             f"const size_t console_file_count = {len(rows)};\n")
    return table, "".join(parts) + STACK_NOTE


def main():
    dist, *outputs = map(pathlib.Path, sys.argv[1:])
    for output, text in zip(outputs, texts(dist.resolve())):
        if not output.is_file() or output.read_text() != text:
            output.write_text(text)


main()
