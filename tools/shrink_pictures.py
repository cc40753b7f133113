#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""shrink_pictures.py FROM TO: the PNG files of FROM with at most 256 colours. A picture that looks as the one in TO is not written."""

import pathlib
import sys

from PIL import Image, ImageChops

COLOURS = 256
# Of a channel; times and ids differ in each run, and are a small part of a picture.
SAME = 0.002


def is_same(new, old_path):
    if not old_path.is_file():
        return False
    old = Image.open(old_path).convert("RGB")
    if old.size != new.size:
        return False
    histogram = ImageChops.difference(old, new.convert("RGB")).convert("L").histogram()
    return sum(histogram[24:]) < SAME * new.size[0] * new.size[1]


def main():
    source, target = map(pathlib.Path, sys.argv[1:])
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.glob("*.png")):
        picture = Image.open(path).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        if not is_same(picture, target / path.name):
            picture.save(target / path.name, optimize=True)
            print(f"{target / path.name}: {(target / path.name).stat().st_size // 1024} KiB")


main()
