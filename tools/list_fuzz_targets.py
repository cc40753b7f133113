#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One line per tests/fuzz/NAME.c: NAME and the folder whose library it is linked with, which is
the highest layer that it includes a header of."""

import re

import tree


def main():
    layers = tree.layers()
    order = list(layers)
    for path in sorted((tree.ROOT / "tests/fuzz").glob("*.c")):
        used = re.findall(r'#include "(?:unit/)?([\w/]+\.h)"', path.read_text())
        folders = [order.index(folder) for folder in (tree.layer_of(layers, header) for header in used)
                   if folder]
        print(path.stem, order[max(folders, default=0)])


if __name__ == "__main__":
    main()
