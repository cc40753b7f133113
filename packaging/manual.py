#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the pages of the manual from the programs' own help: manual.py ATOLL ATOLLD FOLDER"""

import pathlib
import re
import subprocess
import sys

OPTION = re.compile(r"^  (\s*-.*?)(?:  +(\S.*))?$")
NAMED = re.compile(r"^  (\S+)\s+(\S.*)$")


def output_of(*arguments):
    return subprocess.run(arguments, check=True, text=True, stdout=subprocess.PIPE).stdout


def escape(text):
    """A text as roff: no character of it is a command."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = "".join(c if c.isascii() else f"\\[u{ord(c):04X}]" for c in text)
    return "\\&" + text if text.startswith((".", "'")) else text


def rows(lines, form):
    """The rows of a table of the help; a row's text may continue on the next line."""
    found = []
    for line in lines:
        row = form.match(line)
        if row and len(line) - len(line.lstrip()) < 10:
            found.append([row.group(1).strip(), row.group(2) or ""])
        elif found:
            found[-1][1] = (found[-1][1] + " " + line.strip()).strip()
    return found


def sections(text):
    """The help as (title, lines); what stands before the first title has the title ""."""
    title, lines = "", []
    for line in text.splitlines():
        if re.match(r"^(Commands|Options|Environment):$|^and each option .*:$", line):
            yield title, lines
            title, lines = line.rstrip(":"), []
        else:
            lines.append(line)
    yield title, lines


def table(lines, form=NAMED):
    for name, text in rows(lines, form):
        yield ".TP\n\\fB" + escape(name) + "\\fR\n" + escape(text or name)


def paragraphs(lines):
    """Indented lines are examples, which keep their line ends."""
    is_example = False
    for line in lines:
        starts_example = line.startswith("  ")
        if starts_example != is_example and line:
            yield ".nf" if starts_example else ".fi"
            is_example = starts_example
        yield escape(line) if line else ".PP"
    if is_example:
        yield ".fi"


def head(title, section, name, about, version):
    return [f'.TH {title} {section} "" "Atoll {version}" "Atoll"', ".SH NAME", f"{escape(name)} \\- {escape(about)}"]


def command_help(atoll, words):
    """The roff of one command, then that of its subcommands."""
    text = output_of(atoll, "help", *words)
    (_, top), *rest = sections(text)
    yield ".SS " + escape(" ".join(["atoll", *words]))
    yield ".B " + escape(top[0].removeprefix("usage: "))
    yield ".PP"
    yield from paragraphs(top[2:])
    tables = dict(rest)
    yield from table([line for line in tables.get("Options", []) if "--help" not in line and line.strip()], OPTION)
    for name, _ in rows(tables.get("Commands", []), NAMED):
        yield from command_help(atoll, [*words, name])


def atoll_page(atoll, version):
    tables = dict(sections(output_of(atoll, "help")))
    page = head("ATOLL", 1, "atoll", "command line of Atoll, isolated computers for AI agents", version)
    page += [".SH SYNOPSIS", "\\fBatoll\\fR COMMAND [OPTION...] [ARGUMENT...]", ".SH COMMANDS"]
    for name, _ in rows(tables["Commands"], NAMED):
        page += command_help(atoll, [name])
    return page + [".SH ENVIRONMENT", *table(tables["Environment"]), ".SH SEE ALSO", ".BR atolld (8),", ".BR atoll.yaml (5)"]


def split_options(atolld):
    """The rows of atolld's help: those of the program alone, and those of the configuration."""
    found = list(sections(output_of(atolld, "--help")))
    return found[0][1], found[1][1]


def atolld_page(atolld, version):
    own, configuration = split_options(atolld)
    page = head("ATOLLD", 8, "atolld", "server of Atoll, isolated computers for AI agents", version)
    page += [".SH SYNOPSIS", "\\fBatolld\\fR [\\-\\-OPTION VALUE]...", ".SH OPTIONS", *table([line for line in own if line.startswith("  ")])]
    page += [".SH OPTIONS OF THE CONFIGURATION", *table([line for line in configuration if line.strip()])]
    return page + [".SH SEE ALSO", ".BR atoll (1),", ".BR atoll.yaml (5)"]


def yaml_page(atolld, version):
    _, configuration = split_options(atolld)
    lines = [re.sub(r"^  --(\S+)", lambda name: "  " + name.group(1).replace("-", "_"), line) for line in configuration if line.strip()]
    page = head("ATOLL.YAML", 5, "atoll.yaml", "options of Atoll's server", version)
    page += [".SH DESCRIPTION", "The file DATA/atoll.yaml, or the file that \\fBatolld \\-\\-config\\fR names. Each line is \\fINAME\\fB: \\fIVALUE\\fR.",
             "A flag wins over the environment (ATOLL_NAME), and that over the file.", ".SH OPTIONS", *table(lines)]
    return page + [".SH SEE ALSO", ".BR atolld (8)"]


def main():
    atoll, atolld, folder = sys.argv[1:]
    version = output_of(atolld, "--version").split()[-1]
    for name, page in {"atoll.1": atoll_page(atoll, version), "atolld.8": atolld_page(atolld, version), "atoll.yaml.5": yaml_page(atolld, version)}.items():
        pathlib.Path(folder, name).write_text("\n".join(page) + "\n")


if __name__ == "__main__":
    main()
