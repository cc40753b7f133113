#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns the presets of credentials, NAME.json, into C texts.

Usage: embed.py OUT.c FILE…
"""

import json
import pathlib
import sys


def read(file):
    """The preset as one line of JSON."""
    preset = json.loads(file.read_text())
    if preset["name"] != file.stem:
        sys.exit(f"{file}: its name is '{preset['name']}'")
    return json.dumps(preset, separators=(",", ":"))


def main(out, *files):
    text = ["/* Made by connect/presets/embed.py. */", '#include "connect/preset.h"', "",
            "const char *const connect_preset_texts[] = {"]
    text += [f"\t{json.dumps(read(file))}," for file in map(pathlib.Path, files)]
    text += ["\tNULL,", "};", ""]
    pathlib.Path(out).write_text("\n".join(text))


main(*sys.argv[1:])
