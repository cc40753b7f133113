# SPDX-License-Identifier: Apache-2.0
"""Volumes: storage that outlives sandboxes, who may have it, and its files while nobody does."""

import concurrent.futures
import contextlib
import io
import json
import tarfile
import threading
import urllib.parse

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/volumes"
INSTANCES = "/api/sandbox/instances"


@contextlib.contextmanager
def volume(api, name, **options):
    made = api.post(PATH, {"name": name, **options})
    try:
        yield made
    finally:
        with contextlib.suppress(atoll.ApiError):
            api.delete(f"{PATH}/{made['id']}")


def refused(status, call, *arguments, **options):
    with pytest.raises(atoll.ApiError) as refusal:
        call(*arguments, **options)
    assert refusal.value.status == status, refusal.value
    return refusal.value


def files(name, path="", **query):
    return f"{PATH}/{name}/files?" + urllib.parse.urlencode({"path": path, **query})


def content(name, path, **query):
    return f"{PATH}/{name}/files/content?" + urllib.parse.urlencode({"path": path, **query})


def put(api, name, path, data, **query):
    return api.call("PUT", content(name, path, **query), data, {"Content-Type": "application/octet-stream"})


def take(api, name, path):
    answer = api.raw("GET", content(name, path))
    if answer.status >= 400:
        raise atoll.ApiError(answer.status, answer.json())
    return answer.body


def test_a_volume_is_made_shown_and_deleted(api):
    with volume(api, "shown", size_mb=64) as made:
        assert made["state"] == "ready" and made["size_mb"] == 64 and made["attachments"] == []
        assert made["provider"] == "native"
        shown = api.get(f"{PATH}/shown")
        assert shown["id"] == made["id"] and 0 <= shown["used_bytes"] < 1 << 20
        assert "shown" in [row["name"] for row in api.get(PATH)["items"]]
        assert refused(409, api.post, PATH, {"name": "shown"}).code == "conflict"
    refused(404, api.get, f"{PATH}/shown")
    refused(404, api.delete, f"{PATH}/shown")


@pytest.mark.parametrize("body", [{}, {"name": ""}, {"name": "../x"}, {"name": "a b"}, {"name": "a" * 64},
                                  {"name": "ok", "size_mb": 0}, {"name": "ok", "size_mb": -1},
                                  {"name": "ok", "size_mb": 1 << 40}, {"name": "ok", "bucket": "x"}])
def test_a_volume_that_cannot_be_is_refused(api, body):
    assert refused(400, api.post, PATH, body).code == "invalid_request"


def test_files_outlive_the_sandbox_with_their_owners(api):
    with volume(api, "kept"):
        with api.sandbox(internet=False, volume="kept") as first:
            api.exec(first, "echo mine > /workspace/mine; id -un > /workspace/who")
            api.exec(first, "echo roots > /workspace/roots; chmod 600 /workspace/roots", user="root")
            attached = api.get(f"{INSTANCES}/{first}/volume")["items"]
            assert [(m["volume"], m["path"], m["read_only"]) for m in attached] == [("kept", "/workspace", False)]
            assert api.get(f"{PATH}/kept")["attachments"][0]["sandbox_id"] == first
            of_first = [{"volume": "kept", "volume_id": attached[0]["volume_id"], "path": "/workspace", "read_only": False}]
            assert api.get(f"{INSTANCES}/{first}")["volumes"] == of_first
            assert {s["id"]: s["volumes"] for s in api.get(INSTANCES)["items"]}[first] == of_first
        assert api.get(f"{PATH}/kept")["attachments"] == []
        with api.sandbox(internet=False, volume="kept") as second:
            out = api.exec(second, "cat /workspace/mine /workspace/who; stat -c '%u %a' /workspace/*")["stdout"]
            assert out == "mine\nuser\n1000 644\n0 600\n1000 644\n"
            assert api.exec(second, "cat /workspace/roots")["exit_code"] != 0
            assert api.exec(second, "cat /workspace/roots", user="root")["stdout"] == "roots\n"


def test_one_writes_or_many_read(api):
    with volume(api, "shared") as made:
        with api.sandbox(internet=False, volume="shared", name="the-writer") as writer:
            api.exec(writer, "echo hello > /workspace/hello")
            for read_only in (False, True):
                held = refused(409, api.create, internet=False,
                               volumes=[{"volume": "shared", "read_only": read_only}])
                assert "the-writer" in held.message and "started" in held.message and "detach" in held.hint
            assert "the-writer" in refused(409, api.delete, f"{PATH}/shared").message
        mounts = [{"volume": made["id"], "path": "/data", "read_only": True}]
        with api.sandbox(internet=False, volumes=mounts) as one, api.sandbox(internet=False, volumes=mounts) as two:
            for reader in (one, two):
                assert api.exec(reader, "cat /data/hello")["stdout"] == "hello\n"
                assert "Read-only" in api.exec(reader, "echo x > /data/hello", user="root")["stderr"]
            assert "read-only" in refused(409, api.create, internet=False, volume="shared").message


def test_a_refused_create_leaves_no_row(api):
    before = {row["id"] for row in api.get(f"{INSTANCES}?limit=1000")["items"]}
    refused(404, api.create, internet=False, volume="nothing-of-the-kind")
    with volume(api, "one"), volume(api, "two"):
        refused(409, api.create, internet=False, volumes=[{"volume": "one"}, {"volume": "two"}])
        refused(409, api.create, internet=False,
                volumes=[{"volume": "one", "path": "/a"}, {"volume": "two", "path": "/a/b"}])
        refused(409, api.create, internet=False,
                volumes=[{"volume": "one", "path": "/a"}, {"volume": "one", "path": "/b"}])
        for path in ("etc", "/etc", "/usr/local", "/proc", "/", "/a/../etc", "/home", "/a/", "/a\nb"):
            wanted = [{"volume": "one", "path": path}]
            assert refused(400, api.create, internet=False, volumes=wanted).code == "invalid_request"
        refused(400, api.create, internet=False, volumes=[{"volume": "one", "path": f"/v{i}"} for i in range(9)])
    assert {row["id"] for row in api.get(f"{INSTANCES}?limit=1000")["items"]} == before


def test_several_volumes_in_one_sandbox(api):
    names = [f"several-{i}" for i in range(8)]
    with contextlib.ExitStack() as stack:
        for name in names:
            stack.enter_context(volume(api, name))
        mounts = [{"volume": name, "path": f"/srv/{name}"} for name in names]
        with api.sandbox(internet=False, volumes=mounts) as sandbox:
            api.exec(sandbox, "for v in /srv/*; do basename $v > $v/name; done")
        with api.sandbox(internet=False, volumes=[{"volume": n, "path": f"/mnt/{n}", "read_only": True}
                                                  for n in names]) as sandbox:
            assert api.exec(sandbox, "cat /mnt/*/name")["stdout"].split() == names


def test_attach_and_detach_while_stopped(api):
    with volume(api, "later"), api.sandbox(internet=False, persistent=True) as sandbox:
        place = f"{INSTANCES}/{sandbox}/volume"
        api.post(f"{INSTANCES}/{sandbox}/stop")
        assert api.post(place, {"volume": "later", "path": "/data"})["items"][0]["path"] == "/data"
        refused(409, api.post, place, {"volume": "later", "path": "/elsewhere"})
        refused(400, api.post, place, {"volume": "later", "path": "/etc/x"})
        api.post(f"{INSTANCES}/{sandbox}/start")
        api.exec(sandbox, "echo here > /data/file")
        api.post(f"{INSTANCES}/{sandbox}/stop")
        assert "stopped" in refused(409, api.create, internet=False, volume="later").message
        refused(404, api.delete, place + "?volume=other")
        assert api.delete(place)["items"] == []
        refused(404, api.delete, place)
        api.post(f"{INSTANCES}/{sandbox}/start")
        assert api.exec(sandbox, "ls /data")["stdout"] == ""
        assert take(api, "later", "file") == b"here\n"


def test_detach_then_recreate_is_in_order(api, server):
    """A create that comes while the volume's sandbox is being deleted waits for that."""
    with volume(api, "handed-on"):
        holder = api.create(internet=False, volume="handed-on")["id"]
        for turn in range(8):
            api.exec(holder, f"echo {turn} >> /workspace/turns")
            other, begun = server.api(), threading.Event()

            def remove(victim=holder, connection=other, event=begun):
                event.set()
                connection.remove(victim)
            thread = threading.Thread(target=remove)
            thread.start()
            begun.wait()
            while True:
                try:
                    holder = api.create(internet=False, volume="handed-on")["id"]
                    break
                except atoll.ApiError as failure:
                    # Only before the delete has begun at all.
                    assert failure.status == 409 and "(started)" in failure.message, failure
            thread.join()
            other.close()
        assert api.exec(holder, "cat /workspace/turns")["stdout"].split() == [str(i) for i in range(8)]
        api.remove(holder)


def test_one_of_many_gets_it(api, server):
    with volume(api, "wanted"):
        def attempt(_):
            connection = server.api()
            try:
                return connection.create(internet=False, volume="wanted")["id"]
            except atoll.ApiError as failure:
                assert failure.status == 409, failure
                return None
            finally:
                connection.close()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            made = [sandbox for sandbox in pool.map(attempt, range(16)) if sandbox]
        assert len(made) == 1
        assert len(api.get(f"{PATH}/wanted")["attachments"]) == 1
        api.remove(made[0])


def test_the_files_of_a_volume_that_nobody_has(api):
    with volume(api, "browsed"):
        assert api.get(files("browsed"))["items"] == []
        assert put(api, "browsed", "notes/a.txt", b"first", mode="0640")["path"] == "notes/a.txt"
        put(api, "browsed", "/notes/b.txt", b"x" * 100000)
        listed = {row["path"]: row for row in api.get(files("browsed", depth=2))["items"]}
        assert set(listed) == {"notes", "notes/a.txt", "notes/b.txt"}
        assert listed["notes/a.txt"]["mode"] == "0640" and listed["notes/a.txt"]["uid"] == 1000
        assert take(api, "browsed", "notes/a.txt") == b"first"
        part = api.raw("GET", content("browsed", "notes/b.txt"), headers={"Range": "bytes=5-9"})
        assert part.status == 206 and part.body == b"xxxxx"
        api.post(f"{PATH}/browsed/files/mkdir", {"path": "deep/er", "parents": True})
        api.post(f"{PATH}/browsed/files/rename", {"path": "notes/a.txt", "target": "deep/er/a"})
        assert api.get(f"{PATH}/browsed/files/stat?path=deep/er/a")["size"] == 5
        assert api.get(f"{PATH}/browsed")["used_bytes"] >= 100000
        with api.sandbox(internet=False, volume="browsed") as sandbox:
            assert api.exec(sandbox, "cat /workspace/deep/er/a; echo more >> /workspace/deep/er/a")["exit_code"] == 0
        assert take(api, "browsed", "deep/er/a") == b"firstmore\n"
        assert refused(409, api.delete, files("browsed", "deep")).code == "conflict"
        assert api.delete(files("browsed", "deep", recursive="true"))["count"] == 3
        refused(404, take, api, "browsed", "deep/er/a")


def test_folders_come_and_go_as_tar(api):
    with volume(api, "tarred"):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for name in ("x/one", "x/y/two"):
                info = tarfile.TarInfo(name)
                info.size = 3
                tar.addfile(info, io.BytesIO(b"abc"))
        api.call("POST", f"{PATH}/tarred/files/tar?path=in", packed.getvalue(), {"Content-Type": "application/x-tar"})
        back = api.raw("GET", f"{PATH}/tarred/files/tar?path=")
        with tarfile.open(fileobj=io.BytesIO(back.body)) as tar:
            assert {m.name.lstrip("./") for m in tar.getmembers() if m.isfile()} == {"in/x/one", "in/x/y/two"}


def test_the_files_of_a_volume_that_somebody_writes_are_that_ones(api):
    with volume(api, "busy") as made:
        put(api, "busy", "file", b"1")
        with api.sandbox(internet=False, volume="busy", name="busy-one", persistent=True) as sandbox:
            for call in (lambda: api.get(files("busy")), lambda: put(api, "busy", "file", b"2")):
                held = refused(409, call)
                assert "busy-one" in held.message and "/workspace" in held.hint
            api.post(f"{INSTANCES}/{sandbox}/stop")
            put(api, "busy", "file", b"2")
            api.post(f"{INSTANCES}/{sandbox}/start")
            assert api.exec(sandbox, "cat /workspace/file")["stdout"] == "2"
            refused(409, api.get, files("busy"))
        mounts = [{"volume": made["id"], "read_only": True}]
        with api.sandbox(internet=False, volumes=mounts):
            assert take(api, "busy", "file") == b"2"
            refused(409, put, api, "busy", "file", b"3")


def test_a_transfer_does_not_hold_up_a_start_for_ever(api, server):
    with volume(api, "slow"):
        put(api, "slow", "large", b"x" * (32 << 20))
        other = server.api()
        response = other.open("GET", content("slow", "large"))
        assert response.read(1000)
        with api.sandbox(internet=False, volume="slow") as sandbox:
            assert api.exec(sandbox, "stat -c %s /workspace/large")["stdout"] == f"{32 << 20}\n"
        with contextlib.suppress(Exception):
            response.read()
        other.close()


def test_browsing_leaves_nothing_behind(private_server):
    private_server.start()
    api = private_server.api()
    api.post(PATH, {"name": "left"})
    put(api, "left", "file", b"1")
    assert atoll.Host(private_server.data).runs()
    assert api.get(INSTANCES)["items"] == [], "it is no sandbox of anybody"
    private_server.stop()
    assert not atoll.Host(private_server.data).leftovers()
    private_server.start()
    api = private_server.api()
    assert take(api, "left", "file") == b"1"
    private_server.kill9("api")
    private_server.wait_ready()
    atoll.Host(private_server.data).wait_clean()
    assert take(private_server.api(), "left", "file") == b"1"
    private_server.kill9("broker")
    atoll.wait_for(lambda: private_server.pid_of("broker"), 30, "a broker")
    assert take(private_server.api(), "left", "file") == b"1"
    private_server.api().delete(f"{PATH}/left")
    assert not list((private_server.data / "volumes").iterdir())


def test_a_persistent_home_is_made_once_and_comes_back(api):
    try:
        with api.sandbox(internet=False, persistentHome="ann", persistentDiskGb=2) as sandbox:
            assert api.exec(sandbox, "pwd; echo hi > ~/note; mkdir ~/.cache")["stdout"] == "/home/user/project\n"
            assert "home-ann" in refused(409, api.create, internet=False, persistentHome="ann").message
        assert api.get(f"{PATH}/home-ann")["size_mb"] == 2048
        with api.sandbox(internet=False, persistentHome="ann") as sandbox:
            assert api.exec(sandbox, "cat ~/note; ls -A ~")["stdout"].split() == ["hi", ".cache", "note", "project"]
        with api.sandbox(internet=False, persistentHome="bob") as sandbox:
            assert api.exec(sandbox, "ls -A ~")["stdout"].split() == ["project"]
        for body in ({"persistentHome": "a/b"}, {"persistentHome": "x" * 59}, {"persistentDiskGb": 3}):
            refused(400, api.create, internet=False, **body)
    finally:
        for name in ("home-ann", "home-bob"):
            with contextlib.suppress(atoll.ApiError):
                api.delete(f"{PATH}/{name}")


def test_volumes_survive_a_restart_of_everything(private_server):
    private_server.start()
    api = private_server.api()
    api.post(PATH, {"name": "lasting"})
    sandbox = api.create(internet=False, volume="lasting", persistent=True)["id"]
    api.exec(sandbox, "echo kept > /workspace/file")
    private_server.stop()
    private_server.start()
    api = private_server.api()
    assert api.exec(sandbox, "cat /workspace/file")["stdout"] == "kept\n"
    api.post(f"{INSTANCES}/{sandbox}/stop")
    api.post(f"{INSTANCES}/{sandbox}/start")
    assert api.exec(sandbox, "cat /workspace/file")["stdout"] == "kept\n"
    api.remove(sandbox)
    assert take(api, "lasting", "file") == b"kept\n"


def test_a_snapshot_leaves_the_volume_where_it_is(api):
    """It is no part of the files that a snapshot keeps, and stays in place when the root below it is changed."""
    with volume(api, "beside"), api.sandbox(internet=False, volume="beside") as sandbox:
        api.exec(sandbox, "echo 1 > /workspace/file; echo 2 > ~/project/file")
        shot = api.post(f"{INSTANCES}/{sandbox}/snapshot", {})
        assert api.exec(sandbox, "cat /workspace/file; echo 3 > /workspace/more")["stdout"] == "1\n"
        with api.sandbox(internet=False, snapshot=shot["id"]) as copy:
            assert api.exec(copy, "cat ~/project/file; ls /workspace")["stdout"] == "2\n"
        api.delete(f"/api/sandbox/snapshots/{shot['id']}")
        assert api.exec(sandbox, "cat /workspace/more")["stdout"] == "3\n"


def test_a_provider_that_cannot_says_so():
    server = atoll.Server(provider="null").start()
    try:
        api = server.api()
        assert "null" in refused(501, api.post, PATH, {"name": "none"}).message
        assert "null" in refused(501, api.create, persistentHome="x").message
        assert api.get(PATH)["items"] == []
    finally:
        server.remove_all()


def test_the_command_line(server, tmp_path):
    assert server.cli("volume", "create", "--size", "64m", "cli-volume").returncode == 0
    api = server.api()
    try:
        assert b"cli-volume" in server.cli("volume", "ls").stdout
        (tmp_path / "up").write_text("from here\n")
        assert server.cli("volume", "put", tmp_path / "up", "cli-volume", "folder/up").returncode == 0
        assert b"up" in server.cli("volume", "files", "cli-volume", "folder").stdout
        assert server.cli("volume", "get", "cli-volume", "folder/up", tmp_path / "down").returncode == 0
        assert (tmp_path / "down").read_text() == "from here\n"
        assert server.cli("volume", "put", tmp_path, "cli-volume", "all").returncode == 0
        assert server.cli("volume", "get", "cli-volume", "all", tmp_path / "back").returncode == 0
        assert (tmp_path / "back" / "up").read_text() == "from here\n"
        sandbox = api.create(internet=False, persistent=True)["id"]
        api.post(f"{INSTANCES}/{sandbox}/stop")
        assert server.cli("volume", "attach", "--read-only", "--path", "/data", sandbox, "cli-volume").returncode == 0
        assert json.loads(server.cli("volume", "inspect", "cli-volume").stdout)["attachments"][0]["path"] == "/data"
        held = server.cli("volume", "rm", "cli-volume")
        assert held.returncode != 0 and b"attached" in held.stderr
        assert server.cli("volume", "detach", sandbox).returncode == 0
        api.remove(sandbox)
        run = server.cli("run", "--no-internet", "--volume", "cli-volume:/data:ro", "--", "cat", "/data/folder/up")
        assert run.stdout == b"from here\n", run.stderr
        assert b"NAME[:/PATH[:ro]]" in server.cli("run", "--volume", "x:y", "--", "true").stderr
        assert server.cli("volume", "rm", "cli-volume").returncode == 0
    finally:
        with contextlib.suppress(atoll.ApiError):
            api.delete(f"{PATH}/cli-volume")
        api.close()
