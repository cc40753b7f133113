#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The reference pages against the programs and tests that they come from. --write brings them up to date."""

import re
import subprocess
import sys

import tree


def output_of(*arguments):
    command = [tree.ROOT / "build" / arguments[0], *arguments[1:]]
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def openapi():
    return output_of("atolld", "--openapi")


def options():
    return "# Options\n\n" + OPTIONS_HEAD + output_of("atoll", "config", "--reference")


OPTIONS_HEAD = """\
Each can be a flag (`--log-level=debug`), a line of `DATA/atoll.yaml` or of the file that `--config` names
(`log_level: debug`), or an environment variable; a flag wins over the environment, and that over the file.
`atoll config` prints the values in force. Written by `tools/check_reference.py --write`.

"""
PAGES = {"docs/api/openapi.json": openapi, "docs/operate/configuration.md": options}


def missing_tests():
    """docs/operate/reliability.md names the test that proves each guarantee."""
    for name, test in re.findall(r"`((?:fault|system|unit)/[\w/]+\.(?:py|c))(?:::(\w+))?`", (tree.ROOT / "docs/operate/reliability.md").read_text()):
        path = tree.ROOT / "tests" / name
        if not path.exists() or test and not re.search(rf"\bdef {test}\(", path.read_text()):
            yield f"docs/operate/reliability.md names {name}::{test}, which is not there"


def main():
    mistakes = list(missing_tests())
    for name, make in PAGES.items():
        page = tree.ROOT / name
        now = make()
        if sys.argv[1:] == ["--write"]:
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(now)
        lines = tree.difference(page, now)
        if lines:
            mistakes += [line[:200] for line in lines[:40]] + [f"{name} is stale: run tools/check_reference.py --write"]
    tree.report(mistakes, "the reference is what the programs say")


if __name__ == "__main__":
    main()
