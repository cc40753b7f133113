# SPDX-License-Identifier: Apache-2.0
"""A store that does not belong to the data folder is refused, and what no row knows goes to the trash."""

import pathlib
import shutil
import sqlite3

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PROVIDERS = ["native", "host"]


@pytest.fixture
def make_server():
    made = []

    def make(*args, **options):
        # Sandboxes of provider host end with the server without it.
        made.append(atoll.Server(*args, **{**options, "flags": [*options.get("flags", []), "--host-keep", "true"]}))
        return made[-1]

    yield make
    for server in made:
        if server.process is None or server.process.poll() is not None:
            server.process, server.flags = None, [*server.flags, "--adopt"]
            server.start()
        server.remove_all()


def start_refused(server):
    """The log of a start that is expected to fail."""
    server.start(wait=False)
    assert server.process.wait(30) != 0
    server.process = None
    return server.log_text()


def with_files(server, names=("one",)):
    """Sandboxes with a file each: {id: name}."""
    api, made = server.api(), {}
    for name in names:
        box = api.create(name=name, persistent=True, **({} if server.provider == "host" else {"internet": False}))["id"]
        api.exec(box, "echo kept > note")
        made[box] = name
    api.close()
    return made


def folders(server):
    return sorted(path.name for path in (server.data / "sandboxes").iterdir())


def trash(server):
    return sorted(path.name for path in (server.data / "trash/kept").iterdir())


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_lost_store_stops_the_start_and_nothing_is_removed(make_server, provider, tmp_path):
    server = make_server(provider=provider).start()
    boxes = with_files(server)
    server.stop()
    shutil.move(server.data / "store", tmp_path / "store")
    said = start_refused(server)
    assert "does not fit to the data folder" in said and "atoll recover" in said and "--adopt" in said
    assert folders(server) == sorted(boxes) and not trash(server)
    # With its own store it goes on as before.
    shutil.rmtree(server.data / "store")
    shutil.move(tmp_path / "store", server.data / "store")
    server.start()
    api = server.api()
    assert api.exec(*boxes, "cat note")["stdout"] == "kept\n"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_adopted_store_puts_what_it_does_not_know_into_the_trash(make_server, provider, tmp_path):
    server = make_server(provider=provider).start()
    boxes = with_files(server)
    server.stop()
    server.flags += ["--store", f"sqlite:{server.data}/store/other.db"]
    assert "it has no row for this folder's node" in start_refused(server)
    server.flags.append("--adopt")
    server.start()
    assert not folders(server)
    kept, = trash(server)
    box, = boxes
    assert kept.startswith(f"sandbox.{box}.") and kept.endswith(".orphan")
    note = [path.read_text() for path in (server.data / "trash/kept" / kept).rglob("note")]
    assert note == ["kept\n"]
    metrics = server.api().raw("GET", "/metrics").body.decode()
    assert "atoll_orphans_trashed_total 1" in metrics
    # From now on it is the folder's store, also without the option.
    server.flags.remove("--adopt")
    server.stop()
    server.start()


def test_an_older_copy_of_the_store_is_refused(make_server, tmp_path):
    server = make_server().start()
    with_files(server, ["early"])
    server.stop()
    shutil.copytree(server.data / "store", tmp_path / "old")
    server.start()
    late = with_files(server, ["late"])
    server.stop()
    shutil.rmtree(server.data / "store")
    shutil.copytree(tmp_path / "old", server.data / "store")
    for file in (server.data / "store").iterdir():
        shutil.chown(file, pathlib.Path(server.data / "pairing").stat().st_uid)
    shutil.chown(server.data / "store", pathlib.Path(server.data / "pairing").stat().st_uid)
    said = start_refused(server)
    assert "it is an older copy" in said
    assert set(late) < set(folders(server))


def test_a_folder_from_before_there_were_ids_is_taken_silently(make_server):
    server = make_server().start()
    boxes = with_files(server)
    server.stop()
    shutil.rmtree(server.data / "pairing")
    with sqlite3.connect(server.data / "store/atoll.db") as store:
        store.execute("DELETE FROM data_folders")
    server.start()
    assert folders(server) == sorted(boxes)
    assert (server.data / "pairing/store").read_text().startswith("atoll-pairing-1 ")


def test_an_empty_store_beside_sandboxes_is_refused_without_ids_too(make_server, tmp_path):
    server = make_server().start()
    boxes = with_files(server)
    server.stop()
    shutil.rmtree(server.data / "pairing")
    shutil.move(server.data / "store", tmp_path / "store")
    assert "it is empty" in start_refused(server)
    assert folders(server) == sorted(boxes)


def test_more_orphans_than_the_bound_stop_the_start(make_server):
    server = make_server(flags=["--orphans-max", "1"]).start()
    boxes = with_files(server, ["a", "b", "c"])
    server.stop()
    with sqlite3.connect(server.data / "store/atoll.db") as store:
        store.execute("DELETE FROM sandboxes WHERE name IN ('a', 'b')")
    said = start_refused(server)
    assert "orphans_max" in said and "1 of 3 sandboxes" in said
    assert folders(server) == sorted(boxes)


def test_a_running_orphan_is_stopped_and_its_files_are_kept(make_server):
    server = make_server().start()
    box, = with_files(server)
    api = server.api()
    api.exec(box, "trap 'echo ended > last; exit' TERM; touch traps; while :; do sleep 0.05; done", background=True)
    atoll.wait_for(lambda: api.exec(box, "test -e traps")["exit_code"] == 0, 30, "a command that handles SIGTERM")
    server.stop()
    with sqlite3.connect(server.data / "store/atoll.db") as store:
        store.execute("DELETE FROM sandboxes")
    server.start()
    kept, = trash(server)
    files = {path.name: path.read_text() for path in (server.data / "trash/kept" / kept).rglob("*")
             if path.name in ("note", "last")}
    assert files == {"note": "kept\n", "last": "ended\n"}
    assert "an orphan goes to the trash" in server.log_text()


def test_the_trash_forgets_what_is_due(make_server):
    server = make_server(flags=["--orphans-keep", "0"]).start()
    with_files(server)
    server.stop()
    with sqlite3.connect(server.data / "store/atoll.db") as store:
        store.execute("DELETE FROM sandboxes")
    server.start()
    assert not trash(server) and not folders(server)


def test_a_copy_of_the_data_folder_does_not_run_beside_it(make_server, tmp_path):
    server = make_server().start()
    with_files(server)
    copy = tmp_path / "copy"
    # Of a folder that lives: what comes and goes meanwhile is left out.
    shutil.copytree(server.data, copy, symlinks=True, ignore=shutil.ignore_patterns("*.sock", "trash", "cells", "run"))
    second = atoll.Server(data=copy)
    said = start_refused(second)
    assert "is a copy of" in said and str(server.data) in said
    assert server.api().get("/api/sandbox/instances")["items"]


def test_a_server_whose_folder_is_removed_says_so_and_ends_its_sandboxes(make_server):
    server = make_server().start()
    box, = with_files(server)
    pid = int((server.data / "run/sandboxes" / box / "state").read_text().split()[2])
    away = server.data.with_name(server.data.name + "-away")
    server.data.rename(away)
    try:
        assert server.process.wait(30) != 0
        # atoll-launch, whose child the agent is, ends a moment after the broker.
        atoll.wait_for(lambda: not pathlib.Path(f"/proc/{pid}").exists(), 10, "the end of the sandbox")
        assert "the data folder was removed or replaced" in (away / "serve.log").read_text()
    finally:
        away.rename(server.data)
    server.process = None
    server.start()
    row, = server.api().get("/api/sandbox/instances")["items"]
    assert row["state"] == "stopped"
    assert folders(server) == [box]
