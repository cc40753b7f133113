# SPDX-License-Identifier: Apache-2.0
"""A whole server as one file, and back: docs/operate/backup.md."""

import contextlib
import io
import json
import os
import pathlib
import shlex
import shutil
import signal
import sqlite3
import stat
import subprocess
import tarfile
import tempfile
import threading

import pytest

import atoll

pytestmark = pytest.mark.needs_root
LAYER_FILES = """
set -e
cd /home/user
echo text > plain; ln plain second; ln -s /etc/passwd link; mkfifo fifo
cp /bin/true suid; chmod 4755 suid
truncate -s 300M hole; printf end | dd of=hole bs=1 seek=200000000 conv=notrunc 2>/dev/null
mkdir folder; echo x > folder/x; touch "$(printf 'odd\\nname\\377')"
python3 -c 'import os; os.setxattr("plain", "user.kind", b"a\\0b"); os.utime("plain", (1, 1000000007))'
rm -rf /opt; mkdir /opt; echo mine > /opt/mine; rm /etc/profile
"""
LOOK = """
cd /home/user
cat plain second; readlink link; stat -c '%F %a %h %U %s %Y' plain fifo suid hole folder; du -k hole | cut -f1
tail -c 3 <(head -c 200000003 hole); python3 -c 'import os; print(os.getxattr("plain", "user.kind"), sorted(map(os.fsencode, os.listdir("."))))'
ls /opt; ls /etc/profile 2>&1
"""


def run(*arguments, environment=None, check=True):
    done = subprocess.run([atoll.ATOLL, *map(str, arguments)], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **(environment or {})})
    assert not check or done.returncode == 0, done.stderr
    return done


def backup(server, target, **options):
    return run("backup", "--json", "--data", server.data, target, **options)


def refused(done, *texts):
    assert done.returncode != 0 and all(text in done.stderr for text in texts), (done.returncode, done.stderr)


@pytest.fixture
def folder():
    path = pathlib.Path(tempfile.mkdtemp(prefix="atoll-test-backup-"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def restored(folder):
    """A server on what a file holds; its first one has ended, because both are one node."""
    begun = []

    def restore(file, **options):
        data = pathlib.Path(tempfile.mkdtemp(prefix="atoll-test-"))
        run("restore", "--data", data, file)
        begun.append(atoll.Server(data=data, **options))
        return begun[-1].start()
    yield restore
    for server in begun:
        server.own_data = True
        server.remove_all()


def end(server):
    """Ends its sandboxes and the server, as 'atoll down' does."""
    run("down", "--yes", environment={"ATOLL_DATA": str(server.data)})
    server.stop()


def bash(api, sandbox, script, **options):
    return api.exec(sandbox, "bash -c " + shlex.quote(script), **options)


def look(api, sandbox):
    return bash(api, sandbox, LOOK)["stdout"]


def test_a_server_comes_back_as_it_was(private_server, folder, restored):
    server = private_server.start()
    api = server.api()
    volume = api.post("/api/sandbox/volumes", {"name": "store"})["id"]
    api.post("/api/sandbox/volumes", {"name": "sized", "size_mb": 64})
    box = api.create(internet=False, name="lab", persistent=True, env={"TOKEN": "secret"},
                     volumes=[{"volume": "store", "path": "/data"}, {"volume": "sized", "path": "/sized"}])["id"]
    made = bash(api, box, "echo kept | tee /data/file > /sized/file; " + LAYER_FILES, user="root")
    assert made["exit_code"] == 0, made["stderr"]
    snapshot = api.post(f"/api/sandbox/instances/{box}/snapshot", {"name": "first"})["id"]
    api.exec(box, "echo after > /home/user/after; rm second", user="root")
    stopped = api.create(internet=False, name="rest", persistent=True)["id"]
    api.exec(stopped, "echo still > /home/user/still")
    api.post(f"/api/sandbox/instances/{stopped}/stop")
    before = look(api, box)
    ticker = api.exec(box, "nohup sh -c 'while :; do date +%s%N > /tmp/tick; sleep .02; done' >/dev/null 2>&1 & echo $!")["stdout"]
    result = json.loads(backup(server, folder).stdout)
    file = pathlib.Path(result["file"])
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and file.parent == folder
    assert (result["sandboxes"], result["snapshots"], result["volumes"]) == (2, 1, 2)
    assert result["changed"] == result["left_out"] == [] and result["gone"] == 0
    # The server goes on as it was, and nothing of the backup is left in it.
    assert api.exec(box, f"kill -0 {ticker.strip()}")["exit_code"] == 0
    assert [row["id"] for row in api.get("/api/sandbox/snapshots")["items"]] == [snapshot]
    assert not [path for path in (server.data / "run").iterdir() if path.name.startswith("backup.") and path.name != "backup.lock"]
    api.exec(box, "echo late > /home/user/late")
    end(server)

    again = restored(file)
    assert again.key == server.key
    api = again.api()
    rows = {row["name"]: row for row in again.rows(api)}
    assert set(rows) == {"lab", "rest"} and rows["lab"]["id"] == box and rows["lab"]["state"] == "stopped"
    assert [row["name"] for row in api.get("/api/sandbox/snapshots")["items"]] == ["first"]
    for name in ("lab", "rest"):
        api.post(f"/api/sandbox/instances/{rows[name]['id']}/start")
    assert look(api, box) == before
    assert api.exec(box, "cat /data/file /sized/file /home/user/after; echo $TOKEN; ls /home/user/late")["stdout"] == "kept\nkept\nafter\nsecret\n"
    assert api.exec(stopped, "cat /home/user/still")["stdout"] == "still\n"
    assert api.get(f"/api/sandbox/volumes/{volume}")["name"] == "store"
    fork = api.create(internet=False, snapshot="first")["id"]
    assert api.exec(fork, "cat /home/user/second; ls /home/user/after 2>&1 | wc -l")["stdout"] == "text\n1\n"


def generation(data):
    return int((data / "pairing/store").read_text().split()[3])


def restore_file(file, folder):
    run("restore", "--data", folder, file)
    with sqlite3.connect(f"file:{folder}/store/atoll.db?mode=ro", uri=True) as store:
        (row,) = store.execute("SELECT generation FROM data_folders").fetchall()
    assert row[0] == generation(folder)
    return row[0]


def test_a_backup_fits_together_when_the_server_restarts_meanwhile(private_server, folder, restored):
    """The restart raises the generation after the database was copied; the user's snapshots are made after it, too."""
    server = private_server.start()
    api = server.api()
    box = api.create(internet=False, name="lab", persistent=True)["id"]
    api.exec(box, "echo kept > /home/user/file")
    before = generation(server.data)
    packing = subprocess.Popen([atoll.ATOLL, "backup", "--json", "--data", server.data, folder / "file"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env={**os.environ, "ATOLL_FAULT": "backup:copied:stop"})
    stat_file = pathlib.Path(f"/proc/{packing.pid}/stat")
    atoll.wait_for(lambda: stat_file.read_text().rsplit(")", 1)[1].split()[0] == "T", 30, "the backup at its database's copy")
    try:
        server.stop()
        server.start()
        api = server.api()
        late = api.create(internet=False, name="late", persistent=True)["id"]
        for number in range(30):
            api.exec(late, f"echo {number} > /home/user/late")
            api.post(f"/api/sandbox/instances/{late}/snapshot", {"name": f"late-{number}"})
        assert generation(server.data) > before
    finally:
        os.kill(packing.pid, signal.SIGCONT)
        said = packing.communicate(timeout=120)
    assert packing.returncode == 0, said
    end(server)
    assert restore_file(folder / "file", folder / "data") == before
    again = restored(folder / "file", flags=["--orphans-max", "0"])
    api = again.api()
    assert [row["name"] for row in again.rows(api)] == ["lab"] and api.get("/api/sandbox/snapshots")["items"] == []
    assert not list((again.data / "trash/kept").iterdir())
    api.post(f"/api/sandbox/instances/{box}/start")
    assert api.exec(box, "cat /home/user/file")["stdout"] == "kept\n"


def churn(server, stop, failures):
    """Creates, snapshots and deletes until `stop` is set."""
    api = server.api()
    try:
        while not stop.is_set():
            box = api.create(internet=False, persistent=True)["id"]
            api.exec(box, "echo short > /home/user/file")
            snapshot = api.post(f"/api/sandbox/instances/{box}/snapshot", {})["id"]
            api.remove(box)
            api.delete(f"/api/sandbox/snapshots/{snapshot}")
    except Exception as failure:  # noqa: BLE001
        failures.append(failure)


def test_backups_during_creates_and_deletes_are_whole(private_server, folder, restored):
    server = private_server.start()
    api = server.api()
    stop, failures = threading.Event(), []
    workers = [threading.Thread(target=churn, args=(server, stop, failures)) for _ in range(2)]
    expected = []
    for worker in workers:
        worker.start()
    try:
        for number in range(4):
            box = api.create(internet=False, name=f"lab-{number}", persistent=True)["id"]
            api.exec(box, f"echo {number} > /home/user/file")
            expected.append((box, f"{number}\n"))
            backup(server, folder / str(number))
    finally:
        stop.set()
        for worker in workers:
            worker.join()
    assert not failures
    end(server)
    for number in range(4):
        again = restored(folder / str(number), flags=["--orphans-max", "0"])
        api = again.api()
        rows = {row["id"]: row for row in again.rows(api)}
        for box, text in expected[:number + 1]:
            assert rows[box]["state"] == "stopped"
            api.post(f"/api/sandbox/instances/{box}/start")
            assert api.exec(box, "cat /home/user/file")["stdout"] == text
        assert not [row for row in rows.values() if row["name"].startswith("lab-") and row["id"] not in dict(expected[:number + 1])]
        end(again)


def stop_in(process, part, data):
    """Stops the process as soon as it reads below this part of the data folder."""
    def reads():
        for name in pathlib.Path(f"/proc/{process.pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                if os.readlink(name).startswith(f"{data}/{part}/"):
                    return True
        return process.poll() is not None

    atoll.wait_for(reads, what=f"the backup reads {part}")
    assert process.poll() is None
    process.send_signal(signal.SIGSTOP)


def test_a_sandbox_and_its_snapshot_may_be_deleted_after_its_files_were_read(private_server, folder, restored):
    server = private_server.start()
    api = server.api()
    volume = api.post("/api/sandbox/volumes", {"name": "store"})["id"]
    filler = api.create(internet=False, volumes=[{"volume": "store", "path": "/data"}])["id"]
    api.exec(filler, "head -c 200000000 /dev/urandom > /data/file")
    box = api.create(internet=False, persistent=True)["id"]
    api.exec(box, "echo text > /home/user/file")
    snapshot = api.post(f"/api/sandbox/instances/{box}/snapshot", {})["id"]
    with subprocess.Popen([atoll.ATOLL, "backup", "--json", "--data", server.data, folder / "file"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        try:
            stop_in(process, f"volumes/{volume}", server.data)
            api.remove(box)
            api.delete(f"/api/sandbox/snapshots/{snapshot}")
            atoll.wait_for(lambda: not pathlib.Path(server.data, "snapshots", snapshot).exists(), what="the layer is deleted")
        finally:
            process.send_signal(signal.SIGCONT)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    end(server)
    again = restored(folder / "file").api()
    with pytest.raises(atoll.ApiError) as caught:
        again.post(f"/api/sandbox/instances/{box}/start")
    assert "No such file" in str(caught.value)
    again.remove(box)


def test_a_sandbox_with_a_disk_of_its_own_is_paused_meanwhile(private_server, folder, restored):
    server = private_server
    server.flags += ["--disk-quota", "image"]
    try:
        api = server.start().api()
    except AssertionError as why:
        server.flags = []
        pytest.skip(f"no disk images here: {str(why)[-200:]}")
    box = api.create(internet=False, name="lab", persistent=True)["id"]
    api.exec(box, "echo kept > /home/user/file")
    result = json.loads(backup(server, folder).stdout)
    assert result["changed"] == [] and api.get(f"/api/sandbox/instances/{box}")["state"] == "started"
    end(server)
    again = restored(result["file"], flags=["--disk-quota", "image"])
    api = again.api()
    api.post(f"/api/sandbox/instances/{box}/start")
    assert api.exec(box, "cat /home/user/file")["stdout"] == "kept\n"


@pytest.fixture(scope="module")
def small():
    """A file of a server without sandboxes, and its server."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="atoll-test-backup-"))
    server = atoll.Server(provider="null").start()
    try:
        backup(server, path / "small.tar.zst")
        yield server, path / "small.tar.zst"
    finally:
        server.stop()
        shutil.rmtree(server.data, ignore_errors=True)
        shutil.rmtree(path, ignore_errors=True)


def nothing_in(folder, *names):
    assert sorted(path.name for path in folder.iterdir()) == sorted(names)


def test_a_file_is_not_replaced_unless_it_may_be(small, folder):
    server, file = small
    shutil.copy(file, folder / "a")
    refused(backup(server, folder / "a", check=False), "exists", "--force")
    run("backup", "--force", "--data", server.data, folder / "a")
    run("restore", "--check", folder / "a")
    refused(backup(server, folder / "missing/a", check=False), "missing")
    refused(run("backup", "--data", folder, folder / "b", check=False), "no data folder of a server")
    nothing_in(folder, "a")


def test_a_folder_that_is_in_use_is_not_overwritten(small, folder):
    server, file = small
    refused(run("restore", "--data", server.data, file, check=False), "is not empty", "--data")
    (folder / "empty").mkdir()
    shown = json.loads(run("restore", "--json", "--data", folder / "empty", file).stdout)
    assert shown["data"] == str(folder / "empty") and shown["atoll"]
    assert (folder / "empty/admin.key").read_text() == (server.data / "admin.key").read_text()
    assert stat.S_IMODE((folder / "empty/keys/secret.key").stat().st_mode) == 0o600
    owner = (server.data / "keys").stat().st_uid
    assert (folder / "empty/store/atoll.db").stat().st_uid == (folder / "empty/keys/secret.key").stat().st_uid == owner
    nothing_in(folder, "empty")


def write_tar(path, *members):
    """Members: the name and text of a file, or a name and None for a folder."""
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for name, text in members:
            member = tarfile.TarInfo(name)
            member.type = tarfile.DIRTYPE if text is None else tarfile.REGTYPE
            member.size = len(text or "")
            tar.addfile(member, io.BytesIO((text or "").encode()))
    return path


def manifest(**changes):
    return "manifest.json", json.dumps({"format": "atoll-server", "version": 1, "uid": 65534, "gid": 65534, **changes})


def test_files_that_are_no_whole_backups_are_refused_and_leave_nothing(small, folder):
    _, file = small
    whole = file.read_bytes()
    half = len(whole) // 2
    cases = {
        whole[:-10]: "not a whole backup",
        whole[:half]: "not a whole backup",
        b"": "not a whole backup",
        b"something else": "not a whole backup",
        whole[:half] + bytes(50) + whole[half + 50:]: "",
    }
    for content, why in cases.items():
        (folder / "bad").write_bytes(content)
        refused(run("restore", "--data", folder / "data", folder / "bad", check=False), why)
        nothing_in(folder, "bad")
    for members, why in (
            ((manifest(version=2, atoll="9.9"),), "version 2 of the format"),
            ((manifest(format="other"),), "other"),
            ((("manifest.json", "[]"),), "manifest"),
            ((manifest(), ("data", None), ("data/../../out", "x")), "leads out"),
            ((manifest(), ("data", None)), "end.json")):
        write_tar(folder / "bad", *members)
        refused(run("restore", "--data", folder / "data", folder / "bad", check=False), why)
        nothing_in(folder, "bad")


def test_a_disk_without_room_is_left_alone(small, folder):
    server, file = small
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", folder], check=True)
    try:
        refused(backup(server, folder, check=False), "less than 512 MiB")
        refused(run("restore", "--data", folder / "data", file, check=False), "needs", "are free")
        nothing_in(folder)
    finally:
        subprocess.run(["umount", folder], check=True)


def test_postgresql_is_refused_by_name(small, folder):
    server, _ = small
    (folder / "atoll.yaml").write_text("store: postgresql://atoll@db/atoll\n")
    refused(run("backup", "--data", server.data, "--config", folder / "atoll.yaml", folder / "x", check=False), "PostgreSQL", "pg_dump")
    nothing_in(folder, "atoll.yaml")


@pytest.mark.parametrize("step", ["copied", "packed", "finish"])
def test_a_killed_backup_leaves_no_file_and_the_next_cleans_up(server, api, folder, step):
    with api.sandbox(internet=False) as box:
        api.exec(box, "echo x > /home/user/x")
        killed = run("backup", "--data", server.data, folder, check=False, environment={"ATOLL_FAULT": f"backup:{step}:kill"})
        assert killed.returncode == -signal.SIGKILL
        nothing_in(folder)
        left = api.get("/api/sandbox/snapshots")["items"]
        assert len(left) == (step != "copied") and all(row["name"].startswith("server-backup-") for row in left)
        api.exec(box, "echo y > /home/user/x")
        backup(server, folder / "next")
        assert api.get("/api/sandbox/snapshots")["items"] == []
        assert api.exec(box, "cat /home/user/x")["stdout"] == "y\n"


@pytest.mark.parametrize("step", ["unpacking", "rename"])
def test_a_killed_restore_leaves_no_data_folder_and_the_next_goes_through(small, folder, step):
    _, file = small
    killed = run("restore", "--data", folder / "data", file, check=False, environment={"ATOLL_FAULT": f"restore:{step}:kill"})
    assert killed.returncode == -signal.SIGKILL and not (folder / "data").exists()
    run("restore", "--data", folder / "data", file)
    nothing_in(folder, "data")
    with sqlite3.connect(f"file:{folder}/data/store/atoll.db?mode=ro", uri=True) as store:
        assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_without_its_server_only_a_quiet_folder_is_read(private_server, folder):
    server = private_server.start()
    api = server.api()
    box = api.create(internet=False, persistent=True)["id"]
    api.exec(box, "echo x > /home/user/x")
    server.stop()
    refused(backup(server, folder / "a", check=False), "its sandboxes may run", "atoll down")
    server.start()
    end(server)
    result = json.loads(backup(server, folder / "a").stdout)
    assert result["sandboxes"] == 1 and result["changed"] == []
    with subprocess.Popen(["zstd", "-dcq", folder / "a"], stdout=subprocess.PIPE) as unpacked:
        with tarfile.open(fileobj=unpacked.stdout, mode="r|") as tar:
            names = tar.getnames()
    assert f"data/sandboxes/{box}/upper/home/user/x" in names and not [name for name in names if name.startswith("data/run")]
