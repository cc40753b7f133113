# SPDX-License-Identifier: Apache-2.0
"""What was removed comes back: rm --all, undelete, recover, the trash; and down, which ends all."""

import contextlib
import datetime
import http.client
import json
import os
import pty
import shutil
import sqlite3
import subprocess
import tarfile
import threading
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"


def with_file(api, name, **options):
    box = api.create(name=name, internet=False, **options)["id"]
    api.exec(box, f"echo {name} > note")
    return box


def states(server, api):
    return {row["name"]: row["state"] for row in server.rows(api)}


def note(api, box):
    return api.exec(box, "cat note")["stdout"]


def wait_noted(server, *names, since_ns=0):
    """since_ns: those that were written before do not count, in time.time_ns()."""
    def missing():
        notes = {name: server.data / "pairing" / name for name in names}
        return [name for name, note in notes.items() if not note.exists() or note.stat().st_mtime_ns <= since_ns]
    atoll.wait_for(lambda: not missing(), 15, lambda: f"notes of {missing()}")


def restart_noted(server, *names):
    """A start writes all notes again, at once; what is there may be from before the last change."""
    server.stop()
    begun_ns = time.time_ns()
    server.start()
    wait_noted(server, *names, since_ns=begun_ns)


@pytest.fixture
def empty(server, api):
    for row in server.rows(api):
        api.remove(row["id"])
    return api


def test_rm_all_without_a_terminal_refuses(server, empty):
    with_file(empty, "spared")
    done = server.cli("rm", "--all")
    assert done.returncode == 122 and b"--yes" in done.stderr
    assert states(server, empty) == {"spared": "started"}


def test_rm_all_asks_at_a_terminal(server, empty):
    with_file(empty, "asked")
    here, there = pty.openpty()
    asking = subprocess.Popen([atoll.ATOLL, "rm", "--all"], env=server.cli_environment(),
                              stdin=there, stdout=there, stderr=there, close_fds=True)
    os.close(there)
    said = b""
    while b"[y/N]" not in said:
        said += os.read(here, 4096)
    assert b"Remove 1 sandboxes?" in said
    os.write(here, b"n\n")
    assert asking.wait(20) != 0
    os.close(here)
    assert states(server, empty) == {"asked": "started"}


def test_rm_all_spares_builds_and_can_be_undone(server, empty):
    box = with_file(empty, "undone", persistent=True)
    built = with_file(empty, "of-a-build")
    # No caller sets that label.
    with contextlib.closing(sqlite3.connect(server.data / "store/atoll.db", timeout=30)) as store, store:
        store.execute("UPDATE sandboxes SET labels_json = '{\"atoll.build\":\"b\"}', traits = traits | 64 WHERE id = ?", (built,))
    assert b"started (build)" in server.cli("ps", "--all").stdout and b"of-a-build" not in server.cli("ps").stdout
    done = server.cli("rm", "--all", "--yes")
    assert done.returncode == 0 and b"running builds" in done.stderr and b"atoll undelete --all" in done.stderr
    assert states(server, empty) == {"of-a-build": "started"}
    listed, = empty.get("/api/sandbox/trash")["items"]
    assert (listed["id"], listed["name"], listed["reason"]) == (box, "undone", "deleted")
    assert b"undone" in server.cli("undelete").stdout
    done = server.cli("undelete", "undone")
    assert done.returncode == 0, done.stderr
    assert states(server, empty)["undone"] == "stopped"
    empty.post(f"{PATH}/{box}/start")
    assert note(empty, box) == "undone\n"
    assert not empty.get("/api/sandbox/trash")["items"]


def test_a_delete_by_the_api_is_immediate(server, empty):
    box = with_file(empty, "gone")
    empty.remove(box)
    assert not empty.get("/api/sandbox/trash")["items"]
    with pytest.raises(atoll.ApiError) as refused:
        empty.post(f"{PATH}/{box}/undelete")
    assert refused.value.code == "not_found"


def volume(api, name):
    return api.post("/api/sandbox/volumes", {"name": name, "size_mb": 16})["id"]


def test_an_undelete_attaches_the_volumes_again_and_names_those_that_are_lost(server, empty):
    """Another sandbox had the volume meanwhile, which is enough for its mount to be forgotten."""
    names = ["vol-back", "vol-borrowed", "vol-gone", "vol-taken"]
    ids = {name: volume(empty, name) for name in names}
    box = with_file(empty, "with-volumes", volumes=[{"volume": name, "path": f"/mnt/{name}"} for name in names])
    empty.exec(box, "for v in /mnt/*; do echo here > $v/file; done; sync")
    empty.delete(f"{PATH}/{box}?keep=true")
    empty.remove(empty.create(internet=False, volumes=[{"volume": "vol-borrowed", "path": "/mnt/x"}])["id"])
    taker = empty.create(name="taker", internet=False, volumes=[{"volume": "vol-taken", "path": "/mnt/x"}])["id"]
    empty.delete(f"/api/sandbox/volumes/{ids['vol-gone']}")
    done = server.cli("undelete", "with-volumes")
    assert done.returncode == 0, done.stderr
    assert b"without volume 'vol-gone', which was deleted and volume 'vol-taken', which is attached to 'taker'" in done.stderr, done.stderr
    told = empty.get(f"{PATH}/{box}")["last_event"]["text"]
    assert "vol-gone" in told and "vol-taken" in told and "vol-back" not in told and "vol-borrowed" not in told, told
    empty.post(f"{PATH}/{box}/start")
    assert empty.exec(box, "grep -ls here /mnt/*/file")["stdout"].split() == ["/mnt/vol-back/file", "/mnt/vol-borrowed/file"]
    assert not list((server.data / "pairing").glob("kept-*")), "the note goes with the trash"
    empty.remove(taker)
    empty.remove(box)
    for name in names:
        with contextlib.suppress(atoll.ApiError):
            empty.delete(f"/api/sandbox/volumes/{ids[name]}")


def test_an_undelete_whose_name_is_taken_is_refused_and_keeps_the_files(server, empty):
    box = with_file(empty, "taken")
    empty.delete(f"{PATH}/{box}?keep=true")
    other = empty.create(name="taken", internet=False)["id"]
    with pytest.raises(atoll.ApiError) as refused:
        empty.post(f"{PATH}/{box}/undelete")
    assert refused.value.code == "conflict" and "taken" in refused.value.message
    empty.remove(other)
    assert empty.post(f"{PATH}/{box}/undelete")["state"] == "stopped"


def test_layers_below_a_sandbox_in_the_trash_stay(private_server):
    private_server.start()
    api = private_server.api()
    box = with_file(api, "layered")
    snapshot = api.post(f"{PATH}/{box}/snapshot", {"name": "below"})["id"]
    api.delete(f"{PATH}/{box}?keep=true")
    api.delete(f"/api/sandbox/snapshots/{snapshot}")
    private_server.kill9("broker")
    private_server.stop()
    private_server.start()
    api = private_server.api()
    api.post(f"{PATH}/{box}/undelete")
    api.post(f"{PATH}/{box}/start")
    assert note(api, box) == "layered\n"


def test_another_project_can_neither_see_nor_undo(server, empty):
    box = with_file(empty, "secret")
    empty.delete(f"{PATH}/{box}?keep=true")
    project = empty.post("/v1/projects", {"name": f"other{time.time_ns()}", "owner": "ann@example.com"})["id"]
    made = empty.call("POST", "/api/sandbox/keys", {"name": "k"}, {"X-Atoll-Project": project})
    other = server.api(made["key"])
    assert not other.get("/api/sandbox/trash")["items"]
    with pytest.raises(atoll.ApiError):
        other.get("/api/sandbox/trash?all=true")
    with pytest.raises(atoll.ApiError) as refused:
        other.post(f"{PATH}/{box}/undelete")
    assert refused.value.status == 404


def recover(server):
    """`atoll recover` in place of `atoll serve`."""
    with open(server.data / "serve.log", "ab") as log:
        server.process = subprocess.Popen(
            [atoll.ATOLL, "recover", "--data", server.data, "--listen", f"127.0.0.1:{server.port}", "--default-template", "host"],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={**atoll.DEFAULTS, **server.environment}, start_new_session=True)
    server.wait_ready()
    return server.api()


def whole_log(server):
    return (server.data / "serve.log").read_text(errors="replace")


def test_recover_brings_back_environment_volumes_snapshots_and_leases(private_server):
    server = private_server.start()
    api = server.api()
    volume = api.post("/api/sandbox/volumes", {"name": "data", "size_mb": 64})["id"]
    box = with_file(api, "main", persistent=True, env={"TOKEN": "s3cr3t-value"}, volumes=[{"volume": "data", "path": "/data"}])
    api.exec(box, "echo in-volume > /data/file")
    snapshot = api.post(f"{PATH}/{box}/snapshot", {"name": "taken"})["id"]
    lease = api.post("/v1/leases/acquire", {"key": "tenant/one", "template": "host", "internet": False, "env": {"L": "lease-value"}})
    leased = lease["sandbox"]["id"] if "sandbox" in lease else lease["sandbox_id"]
    restart_noted(server, box, leased, f"volume-{volume}", f"snapshot-{snapshot}")
    for path in (server.data / "pairing").iterdir():
        assert b"s3cr3t-value" not in path.read_bytes() and b"lease-value" not in path.read_bytes(), "sealed, as in the store"
    server.stop()
    shutil.rmtree(server.data / "store")
    api = recover(server)
    assert api.exec(box, "echo $TOKEN; cat note /data/file")["stdout"] == "s3cr3t-value\nmain\nin-volume\n"
    assert [(v["id"], v["name"], v["size_mb"]) for v in api.get("/api/sandbox/volumes")["items"]] == [(volume, "data", 64)]
    assert [v["path"] for v in api.get(f"{PATH}/{box}")["volumes"]] == ["/data"]
    assert [s["name"] for s in api.get("/api/sandbox/snapshots")["items"]] == ["taken"]
    fork = api.create(name="of-snapshot", snapshot="taken", internet=False)["id"]
    assert note(api, fork) == "main\n"
    again = api.post("/v1/leases/acquire", {"key": "tenant/one", "template": "host", "internet": False})
    assert (again["sandbox"]["id"] if "sandbox" in again else again["sandbox_id"]) == leased
    assert api.exec(leased, "echo $L")["stdout"] == "lease-value\n"
    said = whole_log(server)
    assert "sandboxes=2 leases=1 volumes=1 mounts=1 snapshots=1" in said and "lost with the store: keys but the first" in said
    # And it lasts.
    server.stop()
    server.start()
    assert api.exec(box, "echo $TOKEN; cat /data/file")["stdout"] == "s3cr3t-value\nin-volume\n"


def small_root(path):
    """A template's content: the host's shell, and what it is linked with."""
    with tarfile.open(path, "w") as tar:
        for name in ("/bin/sh", "/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libc.so.6"):
            tar.add(os.path.realpath(name), name.lstrip("/"))
        for name in ("opt", "etc"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(folder)
    return path.read_bytes()


SETTINGS = {"sandboxes_max": 77, "defaults": {"memory_mb": 333}, "maximums": {"memory_mb": 4444}}


def test_recover_brings_back_settings_and_timeouts(private_server, tmp_path):
    server = private_server.start()
    api = server.api()
    for project in ("default", api.post("/v1/projects", {"name": "team", "owner": "ann@example.com"})["id"]):
        api.call("PATCH", f"/v1/projects/{project}", SETTINGS)
    tar = small_root(tmp_path / "root.tar")
    api.call("POST", "/api/sandbox/templates/import?name=own", tar, {"Content-Type": "application/octet-stream"})
    atoll.wait_for(lambda: api.get("/api/sandbox/templates/own")["state"] == "ready", 60, "the template")
    template = api.call("PATCH", "/api/sandbox/templates/own",
                        {"description": "as it was", "env": {"FROM": "s3cr3t-template"}, "workdir": "/opt", "resources": {"pids": 99}})
    box = api.create(name="own", template="own", internet=False, persistent=True, timeout_ms=9000000, previewEnabled=False)["id"]
    soon = api.create(name="soon", internet=False, persistent=True, timeout_ms=600000)["id"]
    guessed = api.create(name="guessed", internet=False, persistent=True)["id"]
    theirs = api.call("POST", PATH, {"template": "host", "internet": False, "persistent": True}, {"X-Atoll-Project": project})["id"]
    until = api.get(f"{PATH}/{box}")["timeout_at"]
    restart_noted(server, box, soon, theirs, f"project-{project}", "project-default", f"template-{template['id']}")
    assert b"s3cr3t-template" not in (server.data / f"pairing/template-{template['id']}").read_bytes(), "sealed, as in the store"
    server.stop()
    (server.data / "pairing" / guessed).unlink()
    shutil.rmtree(server.data / "store")
    api = recover(server)
    api.call("DELETE", f"{PATH}/{theirs}", headers={"X-Atoll-Project": project})
    assert api.get(f"{PATH}/{box}")["timeout_at"] == until
    assert not api.get(f"{PATH}/{box}")["preview"]["enabled"]
    put_off = datetime.datetime.fromisoformat(api.get(f"{PATH}/{soon}")["timeout_at"].replace("Z", "+00:00"))
    assert put_off.timestamp() > time.time() + 1800, "there is time to look"
    idle = api.get(f"{PATH}/{guessed}")
    fresh = api.get(f"{PATH}/{api.create(internet=False)['id']}")
    times = [name for name in idle if name.endswith("_ms") and name != "uptime_ms"]
    assert [idle[name] for name in times] == [fresh[name] for name in times]
    for project_id in ("default", project):
        settings = api.get(f"/v1/projects/{project_id}")
        assert settings["sandboxes_max"] == 77 and settings["defaults"]["memory_mb"] == 333, settings
        assert settings["maximums"]["memory_mb"] == 4444, settings
    assert api.get(f"/v1/projects/{project}")["name"] == "team"
    again = api.get("/api/sandbox/templates/own")
    assert {key: again[key] for key in ("id", "description", "env", "workdir", "resources")} == \
        {key: template[key] for key in ("id", "description", "env", "workdir", "resources")}
    assert api.exec(api.create(template="own", internet=False)["id"], "echo $FROM; pwd")["stdout"] == "s3cr3t-template\n/opt\n"
    said = whole_log(server)
    assert "settings of everybody's templates" in said and "lost with the store" in said


def test_recover_without_the_keys_says_that_an_environment_is_sealed(private_server):
    server = private_server.start()
    api = server.api()
    box = with_file(api, "main", persistent=True, env={"TOKEN": "s3cr3t-value"})
    wait_noted(server, box)
    server.stop()
    shutil.rmtree(server.data / "store")
    (server.data / "keys/secret.key").unlink()
    api = recover(server)
    assert "sealed with a key that is not in keys/secret.key" in whole_log(server)
    with pytest.raises(atoll.ApiError) as refused:
        api.exec(box, "echo $TOKEN")
    assert "sealed" in refused.value.message, "it does not run with another environment than its own"


def test_recover_on_an_older_store_loses_no_file(private_server, tmp_path):
    """The backup of the database lacks what was made since, and has what was deleted since."""
    server = private_server.start()
    api = server.api()
    early, kept = with_file(api, "early", persistent=True), with_file(api, "kept", persistent=True)
    server.stop()
    shutil.copytree(server.data / "store", tmp_path / "old")
    server.start()
    api = server.api()
    api.remove(early)
    late = with_file(api, "late", persistent=True)
    wait_noted(server, late)
    server.stop()
    owner = (server.data / "pairing").stat().st_uid
    for file in (server.data / "store").iterdir():
        file.unlink()
    for file in (tmp_path / "old").iterdir():
        shutil.copy2(file, server.data / "store")
        shutil.chown(server.data / "store" / file.name, owner)
    server.start(wait=False)
    assert server.process.wait(30) == 1
    assert "it is an older copy" in server.log_text()
    api = recover(server)
    assert note(api, late) == "late\n" and note(api, kept) == "kept\n"
    row = api.get(f"{PATH}/{early}")
    assert row["state"] == "failed", "its owner sees that its files are gone"
    assert "its files are gone" in row["last_event"]["text"]


KEPT_DELETE = [("api", "delete-recorded"), ("api", "trash-noted"), ("api", "delete-destroyed"), ("broker", "trash-entry"), ("broker", "trash-moved")]


@pytest.mark.parametrize("role, step", atoll.sample(KEPT_DELETE, [("api", "trash-noted"), ("broker", "trash-moved")]))
def test_a_kept_delete_in_which_a_process_dies_can_be_undone(private_server, role, step):
    server = private_server.start()
    volume(server.api(), "own")
    box = with_file(server.api(), "kept", persistent=True, volumes=[{"volume": "own", "path": "/mnt/own"}])
    server.api().exec(box, "echo in-volume > /mnt/own/file; sync")
    server.stop()
    server.environment["ATOLL_FAULT"] = f"{role}:{step}:kill"
    server.start()
    with contextlib.suppress(atoll.ApiError, OSError, http.client.HTTPException):
        server.api(timeout=3).delete(f"{PATH}/{box}?keep=true")
    server.stop()
    del server.environment["ATOLL_FAULT"]
    server.start()
    api = server.api()
    atoll.wait_for(lambda: "kept" not in states(server, api), 30, "the end of the delete")
    listed = atoll.wait_for(lambda: api.get("/api/sandbox/trash")["items"], 10, "an entry of the trash")
    assert [(entry["id"], entry["reason"]) for entry in listed] == [(box, "deleted")], listed
    assert api.post(f"{PATH}/{box}/undelete")["state"] == "stopped"
    api.post(f"{PATH}/{box}/start")
    assert api.exec(box, "cat note /mnt/own/file")["stdout"] == "kept\nin-volume\n"


def test_recover_makes_the_rows_again(private_server):
    private_server.start()
    api = private_server.api()
    runs = with_file(api, "runs", persistent=True, resources={"memory_mb": 300})
    rests = with_file(api, "rests", labels={"a": "b"})
    api.post(f"{PATH}/{rests}/stop")
    unknown = with_file(api, "unknown")
    wait_noted(private_server, runs, rests, unknown)
    private_server.stop()
    shutil.rmtree(private_server.data / "store")
    (private_server.data / "pairing" / unknown).unlink()
    api = recover(private_server)
    assert states(private_server, api) == {"runs": "started", "rests": "stopped", f"recovered-{unknown[:8]}": "started"}
    row = api.get(f"{PATH}/{runs}")
    assert row["persistent"] and row["resources"]["memory_mb"] == 300 and row["network"] == "blocked"
    assert api.get(f"{PATH}/{rests}")["labels"] == {"a": "b"}
    assert note(api, runs) == "runs\n" and note(api, unknown) == "unknown\n"
    api.post(f"{PATH}/{rests}/start")
    assert note(api, rests) == "rests\n"
    assert "are guessed" in private_server.log_text()


def test_an_orphan_in_the_trash_comes_back_with_a_row(private_server):
    private_server.start()
    api = private_server.api()
    box = with_file(api, "orphan")
    wait_noted(private_server, box)
    private_server.stop()
    with sqlite3.connect(private_server.data / "store/atoll.db") as store:
        store.execute("DELETE FROM sandboxes")
    private_server.start()
    listed = private_server.cli("recover", "--trash")
    assert box.encode() in listed.stdout and b"orphan" in listed.stdout
    done = private_server.cli("recover", "--trash", box)
    assert done.returncode == 0, done.stderr
    api = private_server.api()
    assert states(private_server, api) == {"orphan": "stopped"}
    api.post(f"{PATH}/{box}/start")
    assert note(api, box) == "orphan\n"


@pytest.mark.parametrize("runs", [True, False])
def test_down_stops_all_and_the_server(private_server, runs):
    private_server.start()
    api = private_server.api()
    box = with_file(api, "downed")
    process = private_server.process
    if not runs:
        private_server.stop()
    environment = {**private_server.environment, "ATOLL_DATA": str(private_server.data)}
    refused = subprocess.run([atoll.ATOLL, "down"], env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    assert refused.returncode == 122 and b"--yes" in refused.stderr
    done = subprocess.run([atoll.ATOLL, "down", "--yes"], env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert b"1 sandboxes stopped" in done.stdout
    process.wait(20)
    assert not atoll.Host(private_server.data).runs()
    private_server.process = None
    private_server.start()
    api = private_server.api()
    assert states(private_server, api) == {"downed": "stopped"}
    api.post(f"{PATH}/{box}/start")
    assert note(api, box) == "downed\n"


def is_refused_for_now(answer):
    return answer.status == 503 and int(answer.headers["Retry-After"]) > 0


def test_nothing_runs_after_a_down_beside_clients_that_create(private_server):
    """Creates, commands and starts go on while every sandbox is ended: each ends up stopped, or is refused."""
    private_server.environment["ATOLL_DRAIN"] = "10s"
    private_server.start()
    api = private_server.api()
    first = with_file(api, "first")
    api.post(f"{PATH}/{first}/pause")
    made, refused, stop = [first], [], threading.Event()

    def call(method, path, body):
        while not stop.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException):
                answer = private_server.api(timeout=60).raw(method, path, body)
                if answer.status == 201:
                    made.append(answer.json()["id"])
                elif is_refused_for_now(answer):
                    refused.append(answer)
    create = json.dumps({"template": "host", "internet": False, "persistent": True})
    threads = [threading.Thread(target=call, args=("POST", path, body)) for path, body in
               [(PATH, create)] * 4 + [(f"{PATH}/{first}/exec", '{"command": "true"}'), (f"{PATH}/{first}/start", "{}")]]
    for thread in threads:
        thread.start()
    atoll.wait_for(lambda: len(made) > 8, 60, "some creates")
    done = subprocess.run([atoll.ATOLL, "down", "--yes"], env={**private_server.environment, "ATOLL_DATA": str(private_server.data)},
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
    runs, agents = atoll.Host(private_server.data).runs(), atoll.Host(private_server.data).agents()
    stop.set()
    for thread in threads:
        thread.join()
    assert done.returncode == 0, done.stderr + private_server.log_text().encode()
    private_server.process.wait(20)
    private_server.process = None
    assert (runs, agents) == ([], []), "what runs after 'down' said that all is stopped"
    assert refused, "creates beside 'down' are told to come again"
    private_server.start()
    rows = {row["id"]: row["state"] for row in private_server.rows(private_server.api())}
    assert set(made) <= set(rows) and set(rows.values()) <= {"stopped", "failed"}, rows
    assert all(rows[box] == "stopped" for box in made), rows


def test_the_end_of_serve_says_how_many_go_on(private_server):
    here, there = pty.openpty()
    process = subprocess.Popen(
        [atoll.ATOLL, "serve", "--data", private_server.data, "--listen", f"127.0.0.1:{private_server.port}",
         "--default-template", "host"], stdin=there, stdout=there, stderr=there,
        env=private_server.environment, start_new_session=True)
    os.close(there)
    private_server.process = process
    private_server.wait_ready()
    private_server.api().create(internet=False)
    process.terminate()
    said = b""
    try:
        while True:
            said += os.read(here, 4096)
    except OSError:
        pass
    process.wait(20)
    os.close(here)
    assert b"1 sandboxes keep running" in said and b"atoll down" in said


def test_a_row_is_kept_as_long_as_the_trash_has_its_files(private_server):
    private_server.flags = ["--deleted-keep", "72h"]
    private_server.start()
    api = private_server.api()
    box, old = with_file(api, "long"), with_file(api, "old")
    api.delete(f"{PATH}/{box}?keep=true")
    api.remove(old)
    private_server.stop()
    store = sqlite3.connect(private_server.data / "store/atoll.db")
    for sandbox, hours in [(box, 48), (old, 100)]:
        store.execute("UPDATE sandboxes SET last_event_at = last_event_at - ?, metered_ms = active_ms WHERE id = ?", (hours * 3600000, sandbox))
    store.commit()
    private_server.start()
    atoll.wait_for(lambda: not store.execute("SELECT 1 FROM sandboxes WHERE id = ?", (old,)).fetchone(), 60, "old rows are removed")
    store.close()
    api = private_server.api()
    assert api.post(f"{PATH}/{box}/undelete")["state"] == "stopped"


def test_notes_of_sandboxes_that_are_gone_are_removed(private_server):
    private_server.start()
    api = private_server.api()
    living, kept, gone = (with_file(api, name) for name in ("living", "kept", "gone"))
    wait_noted(private_server, living, kept, gone)
    for box in (kept, gone):
        api.delete(f"{PATH}/{box}?keep=true")
    private_server.stop()
    with sqlite3.connect(private_server.data / "store/atoll.db") as store:
        store.execute("DELETE FROM sandboxes WHERE id IN (?, ?)", (kept, gone))
    for entry in (private_server.data / "trash/kept").glob(f"*.{gone}.*"):
        shutil.rmtree(entry)
    (private_server.data / "pairing" / f"{living}.next").touch()
    private_server.start()
    def names():
        return {path.name for path in (private_server.data / "pairing").iterdir()}
    atoll.wait_for(lambda: names() == {"store", "clock", "project-default", living, kept}, 30, names)


def lost_snapshot(api, name):
    """A sandbox on a layer that nothing else needs: whoever forgets its chain deletes its files."""
    box = with_file(api, name)
    snapshot = api.post(f"{PATH}/{box}/snapshot", {"name": f"below-{name}"})["id"]
    api.delete(f"/api/sandbox/snapshots/{snapshot}")
    return box


def run_with_fault(server, fault, call):
    """Until the fault has killed its process; then the server starts again without it."""
    server.environment["ATOLL_FAULT"] = f"{fault}:kill"
    server.start()
    before = server.pid_of(fault.partition(":")[0])
    # What dies at a step of its recovery dies again and again, and never answers.
    with contextlib.suppress(atoll.ApiError, OSError, http.client.HTTPException):
        call(server.api(timeout=10))
    atoll.wait_for(lambda: server.pid_of(fault.partition(":")[0]) != before, 30, f"a kill at {fault}")
    del server.environment["ATOLL_FAULT"]
    server.stop()
    server.start()
    return server.api()


# test_a_kept_delete_in_which_a_process_dies_can_be_undone has other steps, without layers below.
@pytest.mark.parametrize("fault", atoll.sample(["api:delete-recorded", "api:delete-destroyed", "broker:trash-entry", "broker:trash-moved"],
                                               ["api:delete-destroyed", "broker:trash-entry"]))
def test_a_kill_in_the_middle_of_a_kept_delete_loses_nothing(private_server, fault):
    private_server.start()
    box = lost_snapshot(private_server.api(), "kept")
    private_server.stop()
    api = run_with_fault(private_server, fault, lambda api: api.delete(f"{PATH}/{box}?keep=true"))
    atoll.wait_for(lambda: not states(private_server, api), 30, "the delete is finished")
    private_server.kill9("broker")
    private_server.stop()
    private_server.start()
    api = private_server.api()
    listed, = api.get("/api/sandbox/trash")["items"]
    assert listed["id"] == box and "cannot be read" not in private_server.log_text()
    api.post(f"{PATH}/{box}/undelete")
    api.post(f"{PATH}/{box}/start")
    assert note(api, box) == "kept\n"


@pytest.mark.parametrize("fault", ["api:undelete-files", "broker:trash-back"])
def test_a_kill_in_the_middle_of_an_undelete_loses_nothing(private_server, fault):
    private_server.start()
    api = private_server.api()
    box = lost_snapshot(api, "undone")
    api.delete(f"{PATH}/{box}?keep=true")
    private_server.stop()
    api = run_with_fault(private_server, fault, lambda api: api.post(f"{PATH}/{box}/undelete"))
    # The interrupted call may be repeated: its files are in the trash again, or it is refused since it came back.
    with contextlib.suppress(atoll.ApiError):
        api.post(f"{PATH}/{box}/undelete")
    api.post(f"{PATH}/{box}/start")
    assert note(api, box) == "undone\n"
    assert not api.get("/api/sandbox/trash?all=true")["items"]
