#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns the presets of network rules, NAME.txt with a host in each line, into a C table.

Usage: embed.py OUT.c FILE…
"""

import pathlib
import re
import sys

HOST = re.compile(r"(\*\.)?([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z][a-z0-9-]*$")


def read(file):
    """The comment of the first line, and the hosts."""
    first, *lines = file.read_text().splitlines()
    hosts = [line.strip() for line in lines if line.strip()]
    wrong = [host for host in hosts if not HOST.match(host)]
    if wrong or not first.startswith("# ") or len(set(hosts)) != len(hosts):
        sys.exit(f"{file}: {wrong or 'a comment first, and each host once'}")
    return first[2:], hosts


def main(out, *files):
    text = ["/* Made by sandbox/presets/embed.py. */", '#include "sandbox/egress.h"', "",
            "const struct egress_preset egress_presets[] = {"]
    for file in map(pathlib.Path, files):
        about, hosts = read(file)
        listed = "".join(f'"{host}", ' for host in hosts)
        text.append(f'\t{{"{file.stem}", "{about}", (const char *const[]){{{listed}NULL}}}},')
    text += ["\t{NULL, NULL, NULL},", "};", ""]
    pathlib.Path(out).write_text("\n".join(text))


main(*sys.argv[1:])
