#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each file of tests that ./dev test runs a part of, or nothing of, is named by a suite that runs all of it (tools/dev/test.sh)."""

import re

import tree

TESTS = tree.ROOT / "tests"
PARTIAL = re.compile(r"pytest\.mark\.(slow|providers)\b|atoll\.sample\(|atoll\.IS_SLOW")
WORD = re.compile(r"[\w/.{},*]*test_[\w/.{},*]+|tests/(?:kubernetes|operator|ide|package)\b")
# Lists of files that ./dev test itself runs.
OWN = re.compile(r"^(LONG_FILES|LONE_FILES|TSAN_FILES)=\(.*?\)", re.M | re.S)


def expand(word):
    """Braces, as bash expands them."""
    found = re.search(r"\{([^{}]*)\}", word)
    if not found:
        return [word]
    return [end for part in found[1].split(",") for end in expand(word[:found.start()] + part + word[found.end():])]


def named_files(script):
    """Files, relative to tests/, that a suite of its own name runs."""
    found = set()
    for word in WORD.findall(OWN.sub("", script)):
        for name in expand(word):
            name = name.removeprefix("tests/").removesuffix(".py")
            found |= set(TESTS.glob(f"{name}.py")) | set((TESTS / name).glob("test_*.py"))
    return found


def main():
    named = named_files((tree.ROOT / "tools/dev/test.sh").read_text())
    partial = [path for path in sorted(TESTS.rglob("test_*.py")) if PARTIAL.search(path.read_text())]
    mistakes = [f"{tree.name_of(path)}: ./dev test runs a part of it, and no suite of tools/dev/test.sh names it" for path in partial if path not in named]
    tree.report(mistakes, f"{len(partial)} files of which ./dev test runs a part are whole in a suite")


if __name__ == "__main__":
    main()
