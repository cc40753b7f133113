# SPDX-License-Identifier: Apache-2.0
"""A volume comes into a sandbox that runs, and leaves it, without a stop."""

import concurrent.futures
import contextlib
import json

import pytest

import atoll
from test_volumes import INSTANCES, PATH, put, refused, take, volume

pytestmark = pytest.mark.needs_root
KINDS = pytest.mark.parametrize("kind", [{}, {"size_mb": 32}], ids=["folder", "image"])


def attach(api, sandbox, name, **options):
    return api.post(f"{INSTANCES}/{sandbox}/volume", {"volume": name, **options})["items"]


def detach(api, sandbox, query=""):
    return api.delete(f"{INSTANCES}/{sandbox}/volume{query}")["items"]


def mounted(api, sandbox, path="/workspace"):
    return api.exec(sandbox, f"grep -c ' {path} ' /proc/self/mounts")["stdout"].strip() == "1"


def lines(api, sandbox, path):
    return int(api.exec(sandbox, f"cat {path} | wc -l")["stdout"])


@KINDS
def test_it_comes_and_goes_while_commands_run(api, kind):
    with volume(api, "live", **kind), api.sandbox(internet=False) as sandbox:
        put(api, "live", "before", b"was here")
        api.exec(sandbox, "(while sleep 0.05; do date >> /tmp/ticks; done) >/dev/null 2>&1 &")
        (row,) = attach(api, sandbox, "live")
        assert row["path"] == "/workspace" and row["volume"] == "live"
        assert api.exec(sandbox, "cat /workspace/before; echo mine > /workspace/mine")["stdout"] == "was here"
        assert api.exec(sandbox, "stat -c '%u %a' /workspace /workspace/mine")["stdout"] == "1000 755\n1000 644\n"
        options = api.exec(sandbox, "grep ' /workspace ' /proc/self/mounts")["stdout"]
        assert "nosuid" in options and "nodev" in options
        assert api.get(f"{PATH}/live")["attachments"][0]["sandbox_id"] == sandbox
        refused(409, api.get, f"{PATH}/live/files?path=")
        assert detach(api, sandbox) == []
        assert api.exec(sandbox, "ls -A /workspace")["stdout"] == "" and not mounted(api, sandbox)
        assert take(api, "live", "mine") == b"mine\n"
        ticks = lines(api, sandbox, "/tmp/ticks")
        atoll.wait_for(lambda: lines(api, sandbox, "/tmp/ticks") > ticks, 15, "the command goes on")


@KINDS
def test_many_read_and_one_writes_as_ever(api, kind):
    with volume(api, "shelf", **kind), api.sandbox(internet=False) as one, api.sandbox(internet=False) as two:
        put(api, "shelf", "book", b"words")
        for reader in (one, two):
            attach(api, reader, "shelf", path="/data", read_only=True)
            assert api.exec(reader, "cat /data/book")["stdout"] == "words"
            assert "Read-only" in api.exec(reader, "echo x > /data/book", user="root")["stderr"]
        detach(api, two)
        assert "read-only" in refused(409, attach, api, two, "shelf").message
        detach(api, one)
        attach(api, two, "shelf")
        refused(409, attach, api, one, "shelf", read_only=True)


@KINDS
def test_a_folder_of_it_is_all_that_is_seen(api, kind):
    part = {"path": "/data", "subpath": "users/alice b"}
    with volume(api, "parts", **kind), api.sandbox(internet=False, persistent=True) as sandbox:
        put(api, "parts", "secret", b"of nobody here")
        try:
            (row,) = attach(api, sandbox, "parts", **part)
        except atoll.ApiError as old:
            assert kind and old.status == 501 and "6.15" in old.message
            pytest.skip(old.message)
        assert row["subpath"] == "users/alice b"
        # What was missing is made, the user's as a new volume is.
        assert api.exec(sandbox, "stat -c '%u %a' /data; echo mine > /data/mine; find / -xdev -name secret 2>/dev/null; ls /data/..")["stdout"].startswith("1000 755\n")
        assert api.exec(sandbox, "ls -A /data")["stdout"] == "mine\n"
        assert detach(api, sandbox) == [] and not mounted(api, sandbox, "/data")
        attach(api, sandbox, "parts", **part)
        api.post(f"{INSTANCES}/{sandbox}/stop")
        api.post(f"{INSTANCES}/{sandbox}/start")
        assert api.exec(sandbox, "ls -A /data")["stdout"] == "mine\n"
        detach(api, sandbox)
        assert take(api, "parts", "users/alice b/mine") == b"mine\n"
        with api.sandbox(internet=False, volumes=[{"volume": "parts", "path": "/data", "subpath": "users"}]) as other:
            assert api.exec(other, "cat '/data/alice b/mine'")["stdout"] == "mine\n"
        for wrong in ("../up", "/users", "users/", "a//b", ".", "a/./b", "x" * 256):
            refused(400, attach, api, sandbox, "parts", subpath=wrong)
        assert api.get(f"{INSTANCES}/{sandbox}/volume")["items"] == []


@KINDS
def test_a_folder_of_it_leaves_whatever_it_is_called_by_now(api, kind):
    """Who kept a folder open over a forced detach renames in it, while another sandbox has it."""
    with volume(api, "renamed", **kind), api.sandbox(internet=False) as one, api.sandbox(internet=False) as two:
        attach(api, one, "renamed", path="/data")
        api.exec(one, "mkdir /data/a && cd /data && { (while ! [ -e /tmp/go ]; do sleep 0.05; done; mv a b; touch /tmp/done) >/dev/null 2>&1 & }")
        detach(api, one, "?force=true")
        try:
            attach(api, two, "renamed", path="/part", subpath="a")
        except atoll.ApiError as old:
            assert kind and old.status == 501 and "6.15" in old.message
            api.exec(one, "touch /tmp/go")
            pytest.skip(old.message)
        api.exec(one, "touch /tmp/go")
        atoll.wait_for(lambda: api.exec(one, "test -e /tmp/done")["exit_code"] == 0, 15, "the folder is renamed")
        assert detach(api, two) == [] and not mounted(api, two, "/part")
        # A detach makes nothing.
        assert [row["path"] for row in api.get(f"{PATH}/renamed/files?path=")["items"]] == ["b"]


@KINDS
def test_one_that_was_moved_inside_leaves_when_it_is_back(api, kind):
    with volume(api, "moved", **kind), api.sandbox(internet=False) as sandbox:
        attach(api, sandbox, "moved", path="/srv/deep/er")
        api.exec(sandbox, "mv /srv/deep /srv/other; mkdir -p /srv/deep/er; echo mine > /srv/other/er/mine", user="root")
        for query in ("", "?force=true"):
            held = refused(409, detach, api, sandbox, query)
            assert "moved inside" in held.message and "move it back" in held.hint
        assert mounted(api, sandbox, "/srv/other/er") and not mounted(api, sandbox, "/srv/deep/er")
        api.exec(sandbox, "rm -r /srv/deep; mv /srv/other /srv/deep", user="root")
        assert detach(api, sandbox) == [] and not mounted(api, sandbox, "/srv/deep/er")
        assert take(api, "moved", "mine") == b"mine\n"


def test_a_name_is_one_volumes_as_long_as_that_is_there(api):
    with volume(api, "named") as first, api.sandbox(internet=False) as sandbox:
        attach(api, sandbox, "named")
        api.exec(sandbox, "echo first > /workspace/file")
        refused(400, api.call, "PATCH", f"{PATH}/named", {"name": "other"})
        refused(409, api.post, PATH, {"name": "named"})
        refused(409, api.delete, f"{PATH}/named")
        refused(404, detach, api, sandbox, "?volume=other")
        assert detach(api, sandbox, f"?volume={first['id']}") == []
        api.delete(f"{PATH}/named")
        refused(404, attach, api, sandbox, "named")
        with volume(api, "named") as second:
            refused(404, attach, api, sandbox, first["id"])
            attach(api, sandbox, "named", path="/data")
            assert api.get(f"{PATH}/named")["id"] == second["id"] != first["id"]
            assert api.exec(sandbox, "ls -A /data")["stdout"] == "" and detach(api, sandbox, "?volume=/data") == []


@KINDS
def test_what_is_used_stays_unless_forced(api, kind):
    with volume(api, "used", **kind), api.sandbox(internet=False) as sandbox:
        attach(api, sandbox, "used", path="/data")
        api.exec(sandbox, "cd /data && { sleep 1000 >/dev/null 2>&1 & }")
        held = refused(409, detach, api, sandbox)
        assert "/data" in held.message and "force" in held.hint
        assert api.get(f"{INSTANCES}/{sandbox}/volume")["items"][0]["path"] == "/data" and mounted(api, sandbox, "/data")
        assert detach(api, sandbox, "?force=true") == [] and not mounted(api, sandbox, "/data")
        api.exec(sandbox, "pkill sleep; while pgrep sleep; do :; done")
        attach(api, sandbox, "used", path="/data")
        detach(api, sandbox, "?volume=used")


def test_what_cannot_be_is_refused_and_changes_nothing(api):
    with volume(api, "odd"), volume(api, "second"), api.sandbox(internet=False) as sandbox:
        api.exec(sandbox, "mkdir /srv/real; ln -s /srv/real /srv/link; ln -s /etc /srv/out; touch /srv/file", user="root")
        for path in ("/srv/link", "/srv/link/deep", "/srv/out", "/srv/out/deep", "/srv/file", "/srv/file/deep"):
            assert path in refused(409, attach, api, sandbox, "odd", path=path).message
        for path in ("/etc/x", "/proc", "/usr/local", "relative", "/a/../b"):
            refused(400, attach, api, sandbox, "odd", path=path)
        refused(404, attach, api, sandbox, "nothing")
        assert api.get(f"{INSTANCES}/{sandbox}/volume")["items"] == []
        assert api.exec(sandbox, "ls -A /srv/real; grep -c volumes /proc/self/mountinfo")["stdout"] == "0\n"
        attach(api, sandbox, "odd", path="/srv/deep/er")
        refused(409, attach, api, sandbox, "second", path="/srv/deep")
        refused(409, attach, api, sandbox, "second", path="/srv/deep/er")
        refused(409, attach, api, sandbox, "odd", path="/other")
        attach(api, sandbox, "second", path="/srv/other")
        refused(400, detach, api, sandbox)
        assert [row["path"] for row in detach(api, sandbox, "?volume=/srv/deep/er")] == ["/srv/other"]


@KINDS
def test_a_paused_one_gets_it_and_it_stays_over_a_pause_and_a_restart(api, kind):
    with volume(api, "lasting", **kind), api.sandbox(internet=False, persistent=True) as sandbox:
        api.post(f"{INSTANCES}/{sandbox}/pause")
        attach(api, sandbox, "lasting")
        assert api.get(f"{INSTANCES}/{sandbox}")["state"] == "paused"
        assert api.exec(sandbox, "echo 1 > /workspace/file; cat /workspace/file")["stdout"] == "1\n"
        api.post(f"{INSTANCES}/{sandbox}/pause")
        api.post(f"{INSTANCES}/{sandbox}/resume")
        assert api.exec(sandbox, "cat /workspace/file")["stdout"] == "1\n"
        api.post(f"{INSTANCES}/{sandbox}/stop")
        api.post(f"{INSTANCES}/{sandbox}/start")
        assert api.exec(sandbox, "cat /workspace/file")["stdout"] == "1\n"
        # What its own start has mounted leaves the same way.
        api.post(f"{INSTANCES}/{sandbox}/pause")
        assert detach(api, sandbox) == []
        assert not mounted(api, sandbox) and take(api, "lasting", "file") == b"1\n"


@KINDS
def test_snapshots_and_forks_are_as_with_any_volume(api, kind):
    with volume(api, "beside", **kind), api.sandbox(internet=False) as sandbox:
        attach(api, sandbox, "beside")
        api.exec(sandbox, "echo 1 > /workspace/file; echo 2 > ~/project/file")
        shot = api.post(f"{INSTANCES}/{sandbox}/snapshot", {})
        fork = api.post(f"{INSTANCES}/{sandbox}/fork", {})["items"][0]["id"]
        assert api.exec(sandbox, "cat /workspace/file")["stdout"] == "1\n"
        assert api.exec(fork, "cat ~/project/file; ls -A /workspace")["stdout"] == "2\n"
        api.remove(fork)
        assert detach(api, sandbox) == [] and not mounted(api, sandbox)
        attach(api, sandbox, "beside", path="/again")
        assert api.exec(sandbox, "cat /again/file ~/project/file")["stdout"] == "1\n2\n"
    api.delete(f"/api/sandbox/snapshots/{shot['id']}")


def test_handed_on_in_order(api, server):
    """A create or an attach right behind a detach that is under way gets the volume."""
    with volume(api, "baton") as made, contextlib.ExitStack() as stack:
        runners = [stack.enter_context(api.sandbox(internet=False)) for _ in range(3)]
        attach(api, runners[0], "baton")
        for turn in range(12):
            here, there = runners[turn % 3], runners[(turn + 1) % 3]
            api.exec(here, f"echo {turn} >> /workspace/turns")
            detach(api, here)
            attach(api, there, made["id"])
        assert api.exec(runners[0], "cat /workspace/turns")["stdout"].split() == [str(i) for i in range(12)]

        def grab(sandbox):
            connection = server.api()
            try:
                return len(attach(connection, sandbox, "baton"))
            except atoll.ApiError as failure:
                assert failure.status == 409, failure
                return 0
            finally:
                connection.close()
        detach(api, runners[0])
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            assert sum(pool.map(grab, runners)) == 1
        assert len(api.get(f"{PATH}/baton")["attachments"]) == 1


def test_every_step_is_told(api):
    last = api.get("/v1/events?last=1")["items"][-1]["sequence"]

    def told():
        events = api.get(f"/v1/events?after={last}&kind=volume.*&limit=1000")["items"]
        return [(e["kind"], e["sandbox"]) for e in events if e["text"] == "told"]

    with volume(api, "told"), api.sandbox(internet=False, persistent=True) as sandbox:
        attach(api, sandbox, "told")
        refused(409, attach, api, sandbox, "told", path="/etc2")
        detach(api, sandbox)
        api.post(f"{INSTANCES}/{sandbox}/stop")
        attach(api, sandbox, "told")
        detach(api, sandbox)
        with api.sandbox(internet=False, volume="told") as other:
            pass
        seen = told()
        assert seen == [("volume.created", None)] + [("volume.attached", sandbox), ("volume.detached", sandbox)] * 2 + \
            [("volume.attached", other)]
        with api.sandbox(internet=False, volume="told") as third:
            # What the one before has let go of is told before the next one has it.
            seen = told()
            assert seen[-2:] == [("volume.detached", other), ("volume.attached", third)]
    assert told()[-2:] == [("volume.detached", third), ("volume.deleted", None)]


def test_the_command_line(api, server):
    with volume(api, "cli-live"), api.sandbox(internet=False) as sandbox:
        assert server.cli("volume", "attach", "--path", "/data", sandbox, "cli-live").returncode == 0
        api.exec(sandbox, "cd /data && { sleep 1000 >/dev/null 2>&1 & }")
        held = server.cli("volume", "detach", sandbox)
        assert held.returncode != 0 and b"uses the volume" in held.stderr
        assert server.cli("volume", "detach", "--force", sandbox, "cli-live").returncode == 0
        assert json.loads(server.cli("volume", "inspect", "cli-live").stdout)["attachments"] == []
