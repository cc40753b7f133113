# SPDX-License-Identifier: Apache-2.0
"""`atoll check isolation` on every provider that this machine has. With ATOLL_WRITE_TABLES=1 it writes docs/isolation.md."""

import json
import os
import pathlib

import pytest

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "isolation.md"
pytestmark = pytest.mark.needs_root


@pytest.fixture(scope="module")
def report(world, tmp_path_factory):
    page = tmp_path_factory.mktemp("page") / "isolation.md"
    done = world.cli("check", "isolation", "--json", "--write", str(page), "--template", "microvm=small")
    assert done.returncode == 1, done.stderr  # of the provider host
    if os.environ.get("ATOLL_WRITE_TABLES"):
        PAGE.write_text(page.read_text())
    providers = json.loads(done.stdout)["providers"]
    return {"page": page.read_text(), **{p["name"]: p for p in providers}}


def outcomes(provider):
    return {attempt["id"]: attempt["outcome"] for attempt in provider["attempts"]}


@pytest.mark.parametrize("name", ["native", "gvisor", "docker", "microvm"])
def test_nothing_gets_out(world, report, name):
    if name not in world.names:
        pytest.skip(f"no {name} on this machine")
    provider = report[name]
    assert provider["failure"] is None
    got_out = {a["id"]: a["detail"] for a in provider["attempts"] if a["outcome"] == "not_held"}
    assert set(got_out) <= KNOWN.get(name, set()), got_out
    tried = [a for a in provider["attempts"] if a["outcome"] != "not_tried"]
    assert len(tried) >= 60, [a for a in provider["attempts"] if a["outcome"] == "not_tried"]
    assert provider["own_kernel"] == (name in ("gvisor", "microvm"))


# docs/providers/docker.md says that a container with a network reaches the host.
KNOWN = {"docker": {"connect_to_host"}}


def test_without_isolation_the_attempts_get_through(report):
    """The control: each kind of attempt can fail."""
    host = outcomes(report["host"])
    for attempt in ("read_host_marker", "see_host_processes", "connect_to_host", "connect_abstract_socket",
                    "connect_neighbour_abstract_socket", "find_neighbour_files", "find_shared_memory", "see_neighbour_processes"):
        assert host[attempt] == "not_held", attempt
    for attempt in ("use_keyring", "run_without_filter", "open_raw_sockets", "unshare_namespaces"):
        assert host[attempt] == "weaker", attempt
    assert host["unmount_masks"] == "not_tried"


def test_the_page_has_every_attempt_and_provider(world, report):
    page = report["page"]
    for attempt in report["native"]["attempts"]:
        assert f"`{attempt['id']}`" in page and attempt["title"] in page
    for name in set(world.names) - {"null"}:
        assert f"### `{name}`" in page


def test_the_page_of_the_documentation_knows_every_attempt(report):
    text = PAGE.read_text()
    missing = [a["id"] for a in report["native"]["attempts"] if f"`{a['id']}`" not in text]
    assert not missing, "write it again: ./dev test providers --write-tables"
