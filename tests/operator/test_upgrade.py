# SPDX-License-Identifier: Apache-2.0
"""An upgrade with everything running: an earlier commit is built and run, and then this build on its data folder.

The earlier commit is ATOLL_UPGRADE_FROM, else the newest tag, else, until there is one, a commit with older tables. ./dev test operator
runs it; docs/operate/upgrade.md says what is promised. tests/system/test_older_data.py has an older data folder without its programs.
"""

import os
import shutil
import subprocess

import pytest

import atoll

pytestmark = [pytest.mark.needs_root, pytest.mark.slow]
UNTIL_A_RELEASE = "9c0b3f6a5e8520d384b6e4cf450da669bc5d255f"  # tables 50
TICK = "nohup sh -c 'while :; do date +%s%N > /tmp/tick; sleep .05; done' >/dev/null 2>&1 & echo $!"


def git(*arguments):
    done = subprocess.run(["git", "-C", atoll.ROOT, *arguments], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def earlier_commit():
    named = os.environ.get("ATOLL_UPGRADE_FROM") or git("describe", "--tags", "--abbrev=0") or UNTIL_A_RELEASE
    commit = git("rev-parse", "--verify", "--quiet", f"{named}^{{commit}}")
    if not commit:
        pytest.skip(f"there is no git history with '{named}' to upgrade from")
    return commit


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    """The programs of the earlier commit."""
    commit = earlier_commit()
    tree = tmp_path_factory.mktemp("earlier")
    with subprocess.Popen(["git", "-C", atoll.ROOT, "archive", commit], stdout=subprocess.PIPE) as packed:
        subprocess.run(["tar", "x", "-C", tree], stdin=packed.stdout, check=True)
    compiler = "ccache gcc" if shutil.which("ccache") else "gcc"
    programs = [path.stem for path in (tree / "src/programs").glob("*.c")]
    for command in (["meson", "setup", "build"], ["ninja", "-C", "build", *programs]):
        done = subprocess.run(command, cwd=tree, env={**os.environ, "CC": compiler}, capture_output=True, text=True)
        assert done.returncode == 0, f"commit {commit} does not build: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    yield tree / "build"
    shutil.rmtree(tree, ignore_errors=True)


def pid_is_alive(api, box, pid):
    return api.exec(box, f"kill -0 {pid}")["exit_code"] == 0


def test_sandboxes_and_their_processes_survive_an_upgrade(private_server, earlier, monkeypatch):
    server = private_server
    monkeypatch.setattr(atoll, "ATOLL", earlier / "atoll")
    api = server.start().api()
    volume = api.post("/api/sandbox/volumes", {"name": "store"})["id"]
    running = api.create(internet=False, name="running", persistent=True, env={"TOKEN": "secret"},
                         volumes=[{"volume": "store", "path": "/data"}])["id"]
    api.exec(running, "echo volume > /data/file; echo layer > /home/user/file")
    pid = api.exec(running, TICK)["stdout"].strip()
    api.post(f"/api/sandbox/instances/{running}/snapshot", {"name": "first"})
    api.exec(running, "echo later > /home/user/file")
    stopped = api.create(internet=False, name="stopped", persistent=True)["id"]
    api.exec(stopped, "echo rests > /home/user/file")
    api.post(f"/api/sandbox/instances/{stopped}/stop")
    paused = api.create(internet=False, name="paused", persistent=True)["id"]
    api.exec(paused, "echo frozen > /home/user/file")
    api.post(f"/api/sandbox/instances/{paused}/pause")
    key = api.post("/api/sandbox/keys", {"name": "other"})["key"]
    server.stop()

    monkeypatch.undo()
    api = server.start().api()
    states = {row["name"]: row["state"] for row in server.rows(api)}
    assert states == {"running": "started", "stopped": "stopped", "paused": "paused"}
    assert pid_is_alive(api, running, pid)
    assert api.exec(running, "cat /data/file /home/user/file; echo $TOKEN")["stdout"] == "volume\nlater\nsecret\n"
    assert api.exec(paused, "cat /home/user/file")["stdout"] == "frozen\n"
    api.post(f"/api/sandbox/instances/{stopped}/start")
    assert api.exec(stopped, "cat /home/user/file")["stdout"] == "rests\n"
    fork = api.create(internet=False, snapshot="first")["id"]
    assert api.exec(fork, "cat /home/user/file")["stdout"] == "layer\n"
    assert server.api(key).get("/api/sandbox/instances")["items"]
    # A start gives it the agent of this build, on the files of the earlier one.
    api.post(f"/api/sandbox/instances/{running}/stop")
    api.post(f"/api/sandbox/instances/{running}/start")
    assert api.exec(running, "cat /data/file /home/user/file; echo $TOKEN")["stdout"] == "volume\nlater\nsecret\n"
    assert api.get(f"/api/sandbox/volumes/{volume}")["name"] == "store"
    assert not server.crashes()


def test_the_earlier_programs_refuse_a_newer_database(private_server, earlier):
    server = private_server.start()
    server.stop()
    known = len(list((earlier.parent / "src/store/migrations").glob("*.sql")))
    if known == len(list((atoll.ROOT / "src/store/migrations").glob("*.sql"))):
        pytest.skip("both have the same tables")
    refused = subprocess.run([earlier / "atoll", "serve", "--data", server.data, "--listen", f"127.0.0.1:{atoll.free_port()}"],
                             capture_output=True, text=True, timeout=60)
    assert refused.returncode != 0 and f"this program knows up to {known}" in refused.stdout + refused.stderr
