# SPDX-License-Identifier: Apache-2.0
"""What the checks of this folder share: the tree's C files and LAYERS, and how mistakes are told."""

import difflib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Layer:
    """One line of LAYERS."""

    def __init__(self, line):
        head, _, headers = line.partition("|")
        self.folder, _, below = head.partition(":")
        self.below = below.split()
        self.headers = headers.split() or [f"{self.folder}.h"]
        self.archive = f"libatoll_{self.folder.replace('/', '_')}.a"


def layers():
    """By folder, bottom up."""
    lines = (ROOT / "LAYERS").read_text().splitlines()
    found = [Layer(line) for line in lines if line.strip() and not line.startswith("#")]
    return {layer.folder: layer for layer in found}


def layer_of(layers, path):
    """The line that a path below src/ ("surface/native/exec.c") belongs to, or None."""
    parts = str(path).split("/")[:-1]
    for size in range(len(parts), 0, -1):
        if "/".join(parts[:size]) in layers:
            return "/".join(parts[:size])
    return None


def c_files(*folders):
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.[ch]")):
            if "node_modules" not in path.parts:
                yield path


def name_of(path):
    return str(path.relative_to(ROOT))


TOKENS = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'""",
    re.DOTALL | re.VERBOSE,
)


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def without_comments(text, keep_strings=True):
    """Same length, same lines; comments, and texts if wanted, are blanks."""

    def replace(match):
        token = match.group()
        if token[0] in "\"'":
            return token if keep_strings else _blank(token)
        return _blank(token)

    return TOKENS.sub(replace, text)


def difference(document, now):
    """What a file of the tree lacks to be `now`, as the lines of a diff."""
    before = document.read_text() if document.exists() else ""
    name = name_of(document)
    return list(difflib.unified_diff(before.splitlines(), now.splitlines(), name, "built",
                                     lineterm="", n=1))


def report(mistakes, good):
    """Prints, and ends the program: 1 when there are mistakes."""
    for mistake in mistakes:
        print(mistake)
    print(f"{len(mistakes)} mistakes" if mistakes else good)
    sys.exit(1 if mistakes else 0)
