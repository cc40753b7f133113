#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every relative link and every path `docs/….md` of the tree names a file that exists."""

import re
import subprocess

import tree

LINK = re.compile(r"\[[^\]]*\]\(([^)\s#]+)(?:#[^)]*)?\)")
PAGE = re.compile(r"\bdocs/[\w/-]+\.md\b")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def tracked():
    listing = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=tree.ROOT,
                             check=True, text=True, stdout=subprocess.PIPE).stdout
    paths = (tree.ROOT / name for name in listing.split("\0") if name)
    return [path for path in paths if path.is_file() and path.suffix in (".md", ".c", ".h", ".py", ".sh", ".mjs")]


def links_of(path, text):
    """Each with where it leads to."""
    if path.suffix == ".md":
        for link in LINK.findall(FENCE.sub("", text)):
            if "://" not in link and not link.startswith("mailto:"):
                yield link, path.parent / link
    for page in PAGE.findall(text):
        yield page, tree.ROOT / page


def main():
    mistakes = []
    count = 0
    for path in tracked():
        for link, target in links_of(path, path.read_text()):
            count += 1
            if not target.exists():
                mistakes.append(f"{tree.name_of(path)}: '{link}' does not exist")
    tree.report(mistakes, f"{count} links lead to files")


if __name__ == "__main__":
    main()
