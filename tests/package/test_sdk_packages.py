# SPDX-License-Identifier: Apache-2.0
"""The wheel and the npm tarball: installed without a network into empty folders, and used against a server."""

import json
import re
import subprocess
import sys

import pytest

import atoll

pytestmark = pytest.mark.needs_root
BUILT = atoll.ROOT / "build-package"
VERSION = re.search(r"version: '([^']+)'", (atoll.ROOT / "meson.build").read_text())[1]


def built(name):
    if not (BUILT / name).exists():
        pytest.skip(f"{name} is not built: run './dev package'")
    return BUILT / name


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=120, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_works_in_an_empty_environment(server, tmp_path):
    wheel, python = built(f"atoll_sdk-{VERSION}-py3-none-any.whl"), tmp_path / "bin/python"
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path)
    run(sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--disable-pip-version-check", wheel)
    program = """
import importlib.metadata
from atoll_sdk import Sandbox
with Sandbox.create(template="host", internet=False) as sandbox:
    print(importlib.metadata.version("atoll-sdk"), sandbox.commands.run("echo $((6 * 7))").stdout, end="")
"""
    said = run(python, "-I", "-c", program, env=server.cli_environment(), cwd=tmp_path)
    assert said == f"{VERSION} 42\n"
    listed = run(sys.executable, "-m", "zipfile", "-l", wheel)
    assert "atoll_sdk/py.typed" in listed and "LICENSE" in listed


def test_the_tarball_works_in_an_empty_folder(server, tmp_path):
    tarball = built(f"atoll-sdk-{VERSION}.tgz")
    run("npm", "install", "--offline", "--no-audit", "--no-fund", "--prefix", tmp_path, tarball)
    installed = tmp_path / "node_modules/atoll-sdk"
    assert json.loads((installed / "package.json").read_text())["version"] == VERSION
    assert {"index.d.ts", "types.d.ts", "LICENSE", "README.md"} <= {path.name for path in installed.iterdir()}
    (tmp_path / "program.mjs").write_text("""
import { Sandbox } from 'atoll-sdk';
const sandbox = await Sandbox.create({ template: 'host', internet: false });
process.stdout.write((await sandbox.commands.run('echo $((6 * 7))')).stdout);
await sandbox.kill();
""")
    assert run("node", "program.mjs", env=server.cli_environment(), cwd=tmp_path) == "42\n"


def test_the_version_is_said_once(server):
    assert server.cli("--version").stdout.decode() == f"atoll {VERSION}\n"
    run(sys.executable, atoll.ROOT / "tools/sdk_types.py")
    document = json.loads((atoll.ROOT / "docs/api/openapi.json").read_text())
    assert document["info"]["version"] == VERSION
    for package in BUILT.glob("*.deb"):
        assert f"_{VERSION}_" in package.name
