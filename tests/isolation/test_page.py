# SPDX-License-Identifier: Apache-2.0
"""`atoll check isolation` on every provider that this machine has. With ATOLL_WRITE_TABLES=1 it writes docs/isolation.md.

Server, daemon and command run in one network namespace, so that a container's network reaches what the command listens on."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

import atoll
import docker_daemon
import microvm_parts
import small_root

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "isolation.md"
pytestmark = pytest.mark.needs_root
PROVIDERS = {"native": "native", "gvisor": "gvisor", "docker": "docker:allow_weaker=true", "microvm": "microvm",
             "host": "host:allow_weaker=true"}


def present(daemon):
    missing = {"gvisor": not os.access("/usr/bin/runsc", os.X_OK), "docker": daemon is None,
               "microvm": microvm_parts.reason() is not None}
    return [name for name in PROVIDERS if not missing.get(name)]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    try:
        daemon = docker_daemon.Daemon(network=True)
    except pytest.skip.Exception:
        yield None
        return
    try:
        daemon.import_busybox(tmp_path_factory.mktemp("busybox"))
        yield daemon
        assert daemon.containers() == []
    finally:
        daemon.remove()


class World:
    """A server that is reached by its socket, in the daemon's network namespace if there is a daemon."""

    def __init__(self, daemon):
        self.names = present(daemon)
        self.before = ["nsenter", f"--net=/proc/{daemon.process.pid}/ns/net"] if daemon else []
        environment = {"DOCKER_HOST": daemon.host, "SANDBOX_WORKER_IMAGE": docker_daemon.IMAGE} if daemon else {}
        self.server = atoll.Server(environment=environment, before=self.before, flags=[
            "--providers", ",".join(PROVIDERS[name] for name in self.names), "--microvm-kernel", microvm_parts.KERNEL])
        self.server.start(wait=False)
        atoll.wait_for(lambda: self.cli("provider", "ls").returncode == 0, 60, "the server")

    def cli(self, *arguments):
        key = self.server.data / "admin.key"
        environment = {**self.server.environment, "ATOLL_API_URL": f"unix:{self.server.data}/run/api.sock",
                       "ATOLL_DATA": str(self.server.data), "ATOLL_API_KEY": key.read_text().strip() if key.exists() else ""}
        return subprocess.run([*self.before, atoll.ATOLL, *arguments], env=environment, capture_output=True, text=True, timeout=900)

    def close(self):
        left = self.cli("ps", "--json").stdout
        self.server.stop()
        shutil.rmtree(self.server.data, ignore_errors=True)
        assert json.loads(left) == []


@pytest.fixture(scope="module")
def world(daemon, tmp_path_factory):
    world = World(daemon)
    try:
        if "microvm" in world.names:
            folder = tmp_path_factory.mktemp("small")
            root = small_root.as_tar(microvm_parts.root(folder), folder / "root.tar")
            made = world.cli("template", "import", "small", str(root))
            assert made.returncode == 0, made.stderr
        yield world
    finally:
        world.close()


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


# docs/providers.md says that a container with a network reaches the host.
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
    for name in world.names:
        assert f"### `{name}`" in page


def test_the_page_of_the_documentation_knows_every_attempt(report):
    text = PAGE.read_text()
    missing = [a["id"] for a in report["native"]["attempts"] if f"`{a['id']}`" not in text]
    assert not missing, "write it again: ./dev test providers --write-tables"
