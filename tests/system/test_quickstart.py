# SPDX-License-Identifier: Apache-2.0
"""docs/quickstart.md as a reader follows it: each block of commands runs in bash and prints what the page says.

Only what belongs to this machine is replaced: the port, the data folder, the log. Packages of a registry come from tests/node, where
`./dev test` has installed them; the newer Node.js that E2B wants comes from there, too."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

import atoll
import clients

pytestmark = pytest.mark.needs_root
PAGE = (atoll.ROOT / "docs/quickstart.md").read_text()
FENCE = re.compile(r"(<!-- once: .*-->\n)?```(\w+)\n(.*?)```\n", re.S)
SECTIONS = {title: text for title, text in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.S | re.M)}
CLIENTS = [title for title in SECTIONS if title != "End"]
NEEDS = {"E2B's SDK": ("e2b", clients.E2B), "MCP client": ("@modelcontextprotocol/sdk", (18, 0))}

# `npm install PACKAGE` of a registry: what tests/node has. A folder or a file is npm's own affair.
NPM = """#!/bin/sh
for last; do :; done
case $last in
/*) exec /usr/bin/npm "$@" --offline --no-audit ;;
esac
mkdir -p node_modules && exec ln -s -t node_modules "$NODE_MODULES"/*
"""


def blocks(text):
    """(commands, what they print) of a part of the page; the blocks that compile Atoll are left out."""
    found = [(kind, code) for once, kind, code in FENCE.findall(text) if not once]
    for (kind, code), (next_kind, printed) in zip(found, [*found[1:], ("", "")]):
        if kind == "sh":
            assert next_kind == "text", f"nothing says what this prints: {code}"
            yield code, printed


def group_lives(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def assert_printed(expected, said):
    pattern = "".join("(?:.*\n)*" if line == "…" else re.escape(line) + "\n" for line in expected.splitlines())
    assert re.fullmatch(pattern, said), f"expected:\n{expected}\nprinted:\n{said}"


class Reader:
    """A shell that keeps its variables and its folder from block to block."""

    def __init__(self, folder):
        self.data, self.folder = folder / "data", atoll.ROOT
        self.replaced = {"127.0.0.1:7777": f"127.0.0.1:{atoll.free_port()}", "/var/lib/atoll": str(self.data),
                         "/tmp/atoll.log": str(folder / "atoll.log"), "$PWD/build": str(atoll.ATOLL.parent)}
        self.environment = {k: v for k, v in {**os.environ, **atoll.DEFAULTS}.items() if not k.startswith("E2B_")}
        for name in ("ATOLL_API_URL", "ATOLL_API_KEY"):
            self.environment.pop(name, None)
        self.environment.update(ATOLL_DATA=str(self.data), TMPDIR=str(folder))
        self.kept = folder / "kept"  # a file: a server that a block starts would hold a pipe open
        self.server = None  # the process group that the page's server is in

    def paste(self, code):
        for page, here in self.replaced.items():
            code = code.replace(page, here)
        process = subprocess.Popen(["bash", "-e", "-o", "pipefail", "-c", f"{code}\n{{ pwd; env -0; }} >'{self.kept}'"], cwd=self.folder,
                                   env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   start_new_session=True)
        said, _ = process.communicate(timeout=60)
        if group_lives(process.pid):
            self.server = process.pid
        folder, _, variables = self.kept.read_text().partition("\n")
        assert process.returncode == 0, f"{code}\n{said}"
        self.folder = folder
        self.environment = dict(pair.split("=", 1) for pair in variables.rstrip("\0").split("\0"))
        return said

    def follow(self, text):
        for code, printed in blocks(text):
            assert_printed(printed, self.paste(code))


@pytest.fixture(scope="module")
def reader():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="atoll-quickstart-"))  # pytest's own folders are root's alone
    folder.chmod(0o755)
    reader = Reader(folder)
    try:
        reader.follow(PAGE.split("\n## ")[0])
        yield reader
        reader.follow(SECTIONS["End"])
        atoll.wait_for(lambda: not group_lives(reader.server), 20, "the end of the server")
        reader.server = None
    finally:
        if reader.server:
            os.killpg(reader.server, signal.SIGTERM)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def shell(reader, tmp_path):
    """The reader in an empty folder."""
    before, path = reader.folder, reader.environment["PATH"]
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/npm").write_text(NPM)
    (tmp_path / "bin/npm").chmod(0o755)
    reader.folder = tmp_path
    reader.environment.update(PATH=f"{tmp_path / 'bin'}:{path}", NODE_MODULES=str(clients.FOLDER / "node_modules"))
    yield reader
    reader.folder = before
    reader.environment["PATH"] = path


@pytest.mark.parametrize("section", CLIENTS)
def test_a_section_does_what_it_says(shell, tmp_path, section):
    package, since = NEEDS.get(section, (None, None))
    node = clients.node(package, since=since) if package else "node"
    if "/" in node:
        (tmp_path / "bin/node").symlink_to(node)
    begun = time.monotonic()
    shell.follow(SECTIONS[section])
    assert time.monotonic() - begun < 60


def test_the_file_of_an_mcp_client_starts_a_server(shell):
    [configuration] = [json.loads(code) for _, kind, code in FENCE.findall(SECTIONS["MCP client"]) if kind == "json"]
    server = configuration["mcpServers"]["atoll"]
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}
    done = subprocess.run([server["command"], *server["args"]], input=json.dumps(hello) + "\n", capture_output=True, text=True, timeout=30,
                          env=shell.environment)
    assert json.loads(done.stdout)["result"]["serverInfo"]["name"] == "atoll", done.stderr


def test_the_page_is_short_and_names_its_sections():
    assert len(PAGE.split()) < 1200
    for title in CLIENTS:
        assert f"(#{re.sub(r'[^a-z0-9 ]', '', title.lower()).replace(' ', '-')})" in PAGE
