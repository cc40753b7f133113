# SPDX-License-Identifier: Apache-2.0
"""The table of docs/providers.md: abilities as the API reports them, and figures. With ATOLL_WRITE_TABLES=1 it is written."""

import contextlib
import os
import pathlib
import statistics
import time

import pytest

import atoll
import kubernetes_cluster

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "providers.md"
BEGIN, END = "<!-- begin: written by ./dev test providers --write-tables -->\n", "<!-- end -->\n"
ROUNDS = 5
pytestmark = pytest.mark.needs_root


@pytest.fixture(scope="module")
def api(world):
    api = world.api()
    yield api
    api.close()


# Of providers whose sandboxes are elsewhere. Nothing answers: what a provider can do is not asked of its service.
NOWHERE = "http://127.0.0.1:1"
SPACE = "atoll-table"
FAR = {"e2b": f"e2b_api_url={NOWHERE};e2b_template=host", "daytona": f"daytona_api_url={NOWHERE};daytona_snapshot=host",
       "kubernetes": "kubernetes_image=a;kubernetes_agent_image=a;kubernetes_network_policy=true;kubernetes_config={config}",
       "lambda": f"lambda_endpoint={NOWHERE};lambda_region=us-east-1;lambda_access_key_id=a;sandbox_fn_nomount_net=a;sandbox_fn_nomount_nonet=b"}
SECRETS = {"E2B_API_KEY": "a", "DAYTONA_API_KEY": "a", "AWS_SECRET_ACCESS_KEY": "a"}


@pytest.fixture(scope="module")
def far(tmp_path_factory):
    """The abilities of these providers, by the API of a server of their own."""
    config = tmp_path_factory.mktemp("far") / "cluster.conf"
    config.write_text(f"clusters: [{{name: c, cluster: {{server: '{NOWHERE}'}}}}]\nusers: [{{name: u, user: {{}}}}]\n"
                      "contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n")
    for folder in (config, *config.parents[:2]):
        folder.chmod(0o755)
    server = atoll.Server(environment=SECRETS, flags=["--providers", ",".join(
        ["native", *(f"{name}:{options.replace('{config}', str(config))};allow_weaker=true" for name, options in FAR.items())])])
    server.start()
    try:
        with contextlib.closing(server.api()) as api:
            yield {name: found for name, found in abilities_of(api).items() if name in FAR}
    finally:
        server.stop()
        server.remove_all()


def abilities_of(api):
    """{provider: {ability: whether it has it}}, in the order of the API."""
    return {p["name"]: {**{name: True for name in p["abilities"]}, **{name: False for name in p["unsupported"]}}
            for p in api.get("/v1/providers")["items"]}


@pytest.fixture(scope="module")
def abilities(api, far):
    return {**abilities_of(api), **far}


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


def figures_of_a_cluster():
    """Of a cluster of one node on this machine. How much memory a pod uses is not known."""
    cluster = kubernetes_cluster.open_cluster(SPACE)
    try:
        server = atoll.Server(flags=["--providers", f"kubernetes:{kubernetes_cluster.options(cluster, SPACE)}"]).start()
        try:
            with contextlib.closing(server.api()) as api:
                return *figures_of(api, "kubernetes")[:2], None
        finally:
            server.remove_all()
    finally:
        cluster.remove()


def row(*cells):
    return "| " + " | ".join(cells) + " |\n"


# Whether the kernel can count a sandbox's files depends on the filesystem of the data folder.
BY_FILESYSTEM = {("native", "limit the disk"), ("gvisor", "limit the disk")}


def cell_of(name, ability, has):
    if (name, ability) in BY_FILESYSTEM:
        return "with quotas"
    return "yes" if has else "no"


def figure_of(value, digits):
    return "-" if value is None else f"{value:.{digits}f}"


FIGURES = (("create and first command, ms", 0), ("a further command, ms", 1), ("memory of an idle sandbox, MiB", 1))


def column_of(name, found, figures):
    """{title: cell}"""
    return {**{ability: cell_of(name, ability, has) for ability, has in found.items()},
            **{title: figure_of(figure, digits) for (title, digits), figure in zip(FIGURES, figures)}}


def columns_of(table):
    """{provider: column_of}, of a table that was written."""
    head, _, *lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
    return {name.strip("`"): {line[0]: line[number] for line in lines} for number, name in enumerate(head) if number > 0}


def written(columns):
    """What a column lacks is an ability that is newer than the column."""
    abilities = sorted({title for column in columns.values() for title in column} - {title for title, _ in FIGURES})
    text = row("ability, by the API", *(f"`{name}`" for name in columns)) + "|---" * (len(columns) + 1) + "|\n"
    for title in abilities:
        text += row(title, *(column.get(title, "no") for column in columns.values()))
    for title, _ in FIGURES:
        text += row(title, *(column.get(title, "-") for column in columns.values()))
    return text


def table_of_page():
    text = PAGE.read_text()
    return text[text.index(BEGIN) + len(BEGIN):text.index(END)]


def wanted(names):
    """Those whose columns are written: ATOLL_WRITE_TABLES names some, or is 1 for all that this machine has."""
    asked = os.environ["ATOLL_WRITE_TABLES"].split(",")
    return [name for name in names if asked == ["1"] or name in asked]


@pytest.mark.skipif(not os.environ.get("ATOLL_WRITE_TABLES"), reason="only with --write-tables")
def test_write_the_table(world, api, abilities):
    names = wanted(abilities)
    figures = {name: figures_of(api, name) for name in names if name in world.names and name != "null"}
    if "kubernetes" in names and not kubernetes_cluster.reason():
        figures["kubernetes"] = figures_of_a_cluster()
    columns = columns_of(table_of_page())
    for name in names:
        columns[name] = column_of(name, abilities[name], figures.get(name, (None,) * 3))
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    PAGE.write_text(before + BEGIN + written(columns) + END + rest.split(END, 1)[1])


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
