# SPDX-License-Identifier: Apache-2.0
"""The slow part of the operator's mistakes: folders under load, two hosts. ./dev test operator runs it with
tests/fault/test_operator.py; docs/operate/troubleshooting.md has the table."""

import concurrent.futures
import contextlib
import http.client
import threading
import uuid

import pytest

import atoll
import postgres

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
FAILURES = (atoll.ApiError, OSError, http.client.HTTPException, ValueError)


@pytest.fixture
def servers():
    made = []

    def make(**options):
        made.append(atoll.Server(**options))
        return made[-1]
    yield make
    for server in made:
        if server.process is None or server.process.poll() is not None:
            with contextlib.suppress(AssertionError):
                server.start()
        server.remove_all()


def answer(server, path="/readyz"):
    with contextlib.suppress(*FAILURES):
        return server.api(key="none", timeout=20).raw("GET", path).json()
    return {}


def wait_ready(server, seconds=60):
    atoll.wait_for(lambda: answer(server).get("status") == "ready", seconds, lambda: f"{answer(server)}\n{server.log_text()}")


# ---- the folder goes away while sandboxes are made ----

def test_a_folder_that_goes_away_during_creates_loses_nothing(servers):
    server = servers().start()
    stop, made = threading.Event(), []

    def create():
        while not stop.is_set():
            with contextlib.suppress(*FAILURES):
                made.append(server.api(timeout=10).create(internet=False, persistent=True)["id"])
    threads = [threading.Thread(target=create) for _ in range(4)]
    for thread in threads:
        thread.start()
    atoll.wait_for(lambda: len(made) > 5, 60, "some creates")
    away = server.data.with_name(server.data.name + "-away")
    server.data.rename(away)
    try:
        assert server.process.wait(60) == 1
        said = (away / "serve.log").read_text(errors="replace")
        assert "the data folder was removed or replaced: nothing is served" in said
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        away.rename(server.data)
    server.process = None
    server.start()
    rows = {row["id"]: row["state"] for row in server.rows(server.api())}
    assert set(made) <= set(rows), "what was answered is there"
    assert set(rows.values()) <= {"stopped", "failed"}, rows
    stopped = {box for box, state in rows.items() if state == "stopped"}
    atoll.wait_for(lambda: set(atoll.Host(server.data).files()) == stopped, 30, lambda: f"{rows}, {atoll.Host(server.data).files()}")


def test_a_folder_that_comes_back_in_time_is_served_again(servers):
    server = servers().start()
    box = server.api().create(internet=False, persistent=True)["id"]
    first = server.pid_of("api")
    away = server.data.with_name(server.data.name + "-away")
    server.data.rename(away)
    try:
        atoll.wait_for(lambda: "nothing is served" in (away / "serve.log").read_text(errors="replace"), 20, "the message")
    finally:
        away.rename(server.data)
    atoll.wait_for(lambda: server.pid_of("api") not in (None, first), 30, server.log_text)
    wait_ready(server)
    assert server.api().exec(box, "echo on")["stdout"] == "on\n"


# ---- two hosts on one database ----

def other_host(tmp_path, name):
    """Words that run a server as if on a host of its own: another boot id, no shared /run/atoll/nodes. The provider is "host": a
    kernel mounts no /proc in a sandbox where something of the host's is mounted over."""
    boot = tmp_path / f"boot-{name}"
    boot.write_text(f"{uuid.uuid4()}\n")
    script = f"mkdir -p /run/atoll/nodes; mount -t tmpfs none /run/atoll/nodes; mount --bind {boot} /proc/sys/kernel/random/boot_id"
    return ["unshare", "-m", "sh", "-c", f'{script}; exec "$@"', "sh"]


def test_a_folder_that_moved_to_another_host_is_taken_after_a_silence(tmp_path):
    """Its old host lost power: nobody said goodbye, and no beat comes."""
    if not postgres.programs():
        pytest.skip("Debian's package postgresql is not installed")
    tmp_path.chmod(0o755)
    database, server = postgres.Postgres(), None
    try:
        server = atoll.Server(flags=["--store", database.dsn], provider="host", before=other_host(tmp_path, "one")).start()
        box = server.api().create(persistent=True)["id"]
        server.api().exec(box, "echo kept > note; sync")
        pids = [server.process.pid, *server.descendants()]
        atoll.kill_and_wait(pids[:1])
        atoll.kill_and_wait(pids[1:])
        server.process.wait()
        server.process = None
        server.before = other_host(tmp_path, "two")
        server.start(wait=False)
        atoll.wait_for(lambda: server.process.poll() is not None or answer(server).get("status") == "ready", 90, server.log_text)
        assert "another host had this data folder open: seeing whether it still has" in server.log_text()
        row = server.api().get(f"{PATH}/{box}")
        if row["state"] == "stopped":
            server.api().post(f"{PATH}/{box}/start")
        assert server.api().exec(box, "cat note")["stdout"] == "kept\n"
    finally:
        if server:
            server.remove_all()
        database.remove()


def test_the_other_server_of_a_database_leaves_this_ones_sandboxes_alone(tmp_path):
    """Two servers with folders of their own on one PostgreSQL: neither takes the other's files for orphans."""
    if not postgres.programs():
        pytest.skip("Debian's package postgresql is not installed")
    database, servers = postgres.Postgres(), []
    try:
        for number in range(2):
            servers.append(atoll.Server(flags=["--store", database.dsn, "--cells", "2", "--orphans-max", "0", "--network-subnet",
                                               f"10.{233 + number}.0.0/16"]).start())
        boxes = [server.api().create(internet=False, persistent=True)["id"] for server in servers]
        for number in (0, 1):
            servers[number].stop()
            servers[number].start()
        for server, box in zip(servers, boxes):
            assert server.api().exec(box, "echo here")["stdout"] == "here\n"
            assert not list((server.data / "trash/kept").iterdir())
    finally:
        for server in servers:
            server.remove_all()
        database.remove()


# ---- creates that wait for the first build of "base" ----

def test_creates_wait_for_the_first_real_build_of_base(servers):
    """It comes from the internet or from Debian's cache: minutes, and hold up no other create."""
    server = servers(flags=["--default-template", "base"])
    server.start()
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        waiting = [pool.submit(server.api(timeout=900).post, PATH, {"template": "base", "internet": False}) for _ in range(10)]
        state = atoll.wait_for(lambda: (found := server.api().get("/api/sandbox/templates/base"))["state"] in
                               ("building", "failed", "ready") and found, 60, "the begin of the build")
        if state["state"] == "building":
            for _ in range(5):
                server.api().remove(server.api(timeout=30).create(internet=False)["id"])
            assert answer(server)["status"] == "ready"
        try:
            boxes = [future.result(900)["id"] for future in waiting]
        except atoll.ApiError as failure:
            pytest.skip(f"the template base cannot be built here: {failure}")
    api = server.api()
    assert len(set(boxes)) == 10
    for box in boxes:
        assert api.exec(box, "cat /etc/debian_version")["exit_code"] == 0
