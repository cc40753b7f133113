# SPDX-License-Identifier: Apache-2.0
"""code-server, installed from npm inside a sandbox: its workbench in a real browser, below a path and at a host of its own. A file is opened and
changed, and a command runs in its terminal."""

import contextlib
import pathlib
import shutil
import subprocess

import pytest

import atoll
from chromium import CHROMIUM

HERE = pathlib.Path(__file__).parent
NEEDED = {"chromium": CHROMIUM, **{name: shutil.which(name) for name in ("node", "npm", "g++", "make", "python3", "rg")}}
MISSING = [name for name, path in NEEDED.items() if not path]
pytestmark = [pytest.mark.needs_root, pytest.mark.skipif(bool(MISSING), reason=f"the host has no {', '.join(MISSING)}")]
PORT = 8080
START = ("mkdir /tmp/work && echo one >/tmp/work/readme.txt && (setsid node /tmp/ide/node_modules/code-server/out/node/entry.js --auth none "
         f"--bind-addr 127.0.0.1:{PORT} --disable-workspace-trust --disable-update-check --disable-telemetry /tmp/work >/tmp/log 2>&1 </dev/null &)")


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    for source in (atoll.ROOT / "tests/browser/package.json", atoll.ROOT / "tests/browser/package-lock.json", HERE / "workbench.mjs"):
        shutil.copy(source, folder)
    done = subprocess.run(["npm", "ci", "--omit=optional", "--no-audit", "--no-fund"], cwd=folder, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    return folder


@pytest.fixture(scope="module")
def server():
    running = atoll.Server()
    running.environment["SANDBOX_PREVIEW_DOMAIN"] = f"preview.localhost:{running.port}"
    running.start()
    yield running
    running.remove_all()


@pytest.fixture(scope="module")
def workbench(server):
    with contextlib.closing(server.api(timeout=700)) as api, \
            api.sandbox(internet=True, resources={"memory_mb": 3072, "disk_mb": 3072}) as sandbox:
        api.write(sandbox, "/tmp/install.sh", (HERE / "code-server.sh").read_bytes())
        done = api.exec(sandbox, f"sh /tmp/install.sh /tmp/ide >/tmp/installed 2>&1 && {START}", timeout_ms=600000)
        assert done["exit_code"] == 0, api.read(sandbox, "/tmp/installed").decode(errors="replace")[-3000:]
        atoll.wait_for(lambda: api.raw("GET", f"/api/sandbox/instances/{sandbox}/preview/{PORT}/healthz").status == 200, 60, "code-server")
        yield sandbox


@pytest.mark.parametrize("form, origin", [("url", "null"), ("hostUrl", "http://8080-")])
def test_the_workbench_edits_a_file_and_runs_a_command(server, workbench, modules, form, origin):
    with contextlib.closing(server.api()) as api:
        made = api.post(f"/api/sandbox/instances/{workbench}/preview-tokens", {"port": PORT, "private": True})
        api.write(workbench, "/tmp/work/readme.txt", b"one\n")
        api.exec(workbench, "rm -f /tmp/work/made-*")
        shown = subprocess.run(["node", "workbench.mjs", CHROMIUM, made[form]], cwd=modules, capture_output=True, text=True, timeout=300)
        assert shown.stdout.startswith(f"shown {origin}"), shown.stderr
        assert api.read(workbench, "/tmp/work/readme.txt") == b"typed one\n"
        assert api.read(workbench, "/tmp/work/made-42.txt") == b"typed one\n"
