# SPDX-License-Identifier: Apache-2.0
"""The table of docs/providers.md: abilities as the API reports them, and figures. With ATOLL_WRITE_TABLES=1 it is written."""

import os
import pathlib
import statistics
import time

import pytest

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "providers.md"
BEGIN, END = "<!-- begin: written by ./dev test providers --write-tables -->\n", "<!-- end -->\n"
ROUNDS = 5
pytestmark = pytest.mark.needs_root


@pytest.fixture(scope="module")
def api(world):
    api = world.api()
    yield api
    api.close()


@pytest.fixture(scope="module")
def abilities(api):
    """{provider: {ability: whether it has it}}, in the order of the API."""
    return {p["name"]: {**{name: True for name in p["abilities"]}, **{name: False for name in p["unsupported"]}}
            for p in api.get("/v1/providers")["items"]}


def measured(action):
    started = time.monotonic()
    action()
    return (time.monotonic() - started) * 1000


def create_and_run(api, name):
    options = {"provider": name, "internet": False} if name != "host" else {"provider": name}
    made = api.create(template="small" if name == "microvm" else "host", **options)["id"]
    assert api.exec(made, cmd="/bin/true")["exit_code"] == 0
    return made


def figures_of(api, name):
    """Medians; the first create may make a template and is left out."""
    creates, commands, memory = [], [], []
    for turn in range(ROUNDS + 1):
        made = None

        def create():
            nonlocal made
            made = create_and_run(api, name)
        took = measured(create)
        try:
            if turn == 0:
                continue
            creates.append(took)
            commands += [measured(lambda: api.exec(made, cmd="/bin/true")) for _ in range(5)]
            memory.append(api.get(f"/api/sandbox/instances/{made}/stats")["memory_bytes"] / (1 << 20))
        finally:
            api.remove(made)
    return statistics.median(creates), statistics.median(commands), statistics.median(memory)


def row(*cells):
    return "| " + " | ".join(cells) + " |\n"


# Whether the kernel can count a sandbox's files depends on the filesystem of the data folder.
BY_FILESYSTEM = {("native", "limit the disk"), ("gvisor", "limit the disk")}


def cell_of(name, ability, has):
    if (name, ability) in BY_FILESYSTEM:
        return "with quotas"
    return "yes" if has else "no"


def written(abilities, figures):
    names = list(abilities)
    every = sorted({ability for found in abilities.values() for ability in found})
    text = row("ability, by the API", *(f"`{name}`" for name in names)) + "|---" * (len(names) + 1) + "|\n"
    for ability in every:
        text += row(ability, *(cell_of(name, ability, abilities[name][ability]) for name in names))
    for index, title, digits in ((0, "create and first command, ms", 0), (1, "a further command, ms", 1),
                                 (2, "memory of an idle sandbox, MiB", 1)):
        text += row(title, *(f"{figures[name][index]:.{digits}f}" if name in figures else "-" for name in names))
    return text


def table_of_page():
    text = PAGE.read_text()
    return text[text.index(BEGIN) + len(BEGIN):text.index(END)]


@pytest.mark.skipif(not os.environ.get("ATOLL_WRITE_TABLES"), reason="only with --write-tables")
def test_write_the_table(world, api, abilities):
    figures = {name: figures_of(api, name) for name in world.names if name != "null"}
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    PAGE.write_text(before + BEGIN + written(abilities, figures) + END + rest.split(END, 1)[1])


def differences(table, abilities):
    """(provider, ability) where the table and the API disagree, also by a missing row or column."""
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
    page = {}
    for ability, *cells in lines[2:]:
        for name, cell in zip(lines[0][1:], cells):
            page[name.strip("`"), ability] = cell
    return [(name, ability) for name, found in abilities.items() for ability, has in found.items()
            if page.get((name, ability)) != cell_of(name, ability, has)]


def test_the_table_says_what_the_api_says(abilities):
    table = table_of_page()
    assert differences(table, abilities) == [], "write the table again: ./dev test providers --write-tables"
    assert differences(table.replace("| take snapshots | yes", "| take snapshots | no"), abilities) == [("native", "take snapshots")]
    assert differences(table.replace("| pause |", "| paused |"), abilities) == [(name, "pause") for name in abilities]
