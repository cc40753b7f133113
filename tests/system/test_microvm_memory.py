# SPDX-License-Identifier: Apache-2.0
"""Memory of virtual machines on disk: pause, snapshots and forks with the processes of a machine."""

import contextlib
import os
import re
import signal
import time

import pytest

import atoll
import microvm_parts

PATH = "/api/sandbox/instances"
pytestmark = [pytest.mark.providers, pytest.mark.skipif(microvm_parts.reason() is not None, reason=str(microvm_parts.reason()))]
MEMORY_MB = 256
FORKS = 20


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    # Emulated on every host, so that the figures of memory are comparable.
    server = atoll.Server(flags=["--providers", "native,vm=microvm", "--microvm-kernel", microvm_parts.KERNEL, "--microvm-accelerator", "tcg"]).start()
    try:
        microvm_parts.template(server, tmp_path_factory.mktemp("small"))
        yield server
    finally:
        server.remove_all()


@pytest.fixture
def api(server):
    with contextlib.closing(server.api()) as connection:
        yield connection


def machine(api, **options):
    return api.sandbox(**{"template": "small", "internet": False, "provider": "vm", "persistent": True,
                          "resources": {"memory_mb": MEMORY_MB, "disk_mb": 64}, **options})


def said(api, box, command, **options):
    result = api.exec(box, command, **{"user": "root", **options})
    assert result["exit_code"] == 0, result
    return result["stdout"].strip()


def begin_work(api, box):
    """A process with memory of its own, a file in memory, and one on the disk that is not written out yet."""
    said(api, box, "echo remembered > /run/note; echo kept > /home/user/file; (while true; do sleep 1; done) >/dev/null 2>&1 & echo $! > /run/pid")


def check_work(api, box):
    assert said(api, box, "cat /run/note /home/user/file") == "remembered\nkept"
    assert said(api, box, "kill -0 $(cat /run/pid) && echo runs") == "runs"


def qemus(api, box):
    return microvm_parts.machines([api.get(f"{PATH}/{box}")["name"]])


def kept(server):
    return sorted(path.name for path in (server.data / "microvm/kept").iterdir())


def test_a_pause_to_the_disk_frees_memory_and_keeps_processes(server, api):
    with machine(api) as box:
        begin_work(api, box)
        shown = api.post(f"{PATH}/{box}/pause", {"disk": True})
        assert shown["state"] == "paused" and qemus(api, box) == [] and kept(server) == [box]
        api.post(f"{PATH}/{box}/pause", {"disk": True})
        begun = time.time()
        check_work(api, box)
        assert api.get(f"{PATH}/{box}")["state"] == "started" and kept(server) == []
        assert abs(int(said(api, box, "date +%s")) - time.time()) < 5 and time.time() - begun < 60
        folder = server.data / "sandboxes" / box
        assert not [path for path in folder.rglob("ram") if path.is_file()], "memory is left on disk"


def test_a_sandbox_paused_in_memory_moves_to_the_disk(server, api):
    with machine(api) as box:
        begin_work(api, box)
        api.post(f"{PATH}/{box}/pause")
        assert len(qemus(api, box)) == 1
        api.post(f"{PATH}/{box}/pause", {"disk": True})
        assert qemus(api, box) == []
        api.post(f"{PATH}/{box}/resume")
        check_work(api, box)


def test_a_pause_of_e2bs_api_moves_the_memory_to_the_disk(server, api):
    with machine(api) as box:
        begin_work(api, box)
        assert api.raw("POST", f"/sandboxes/{box}/pause", {"memory": True}).status == 204
        assert api.get(f"{PATH}/{box}")["state"] == "paused" and qemus(api, box) == [] and kept(server) == [box]
        assert api.raw("POST", f"/sandboxes/{box}/connect", {"timeout": 300}).status == 201
        check_work(api, box)


def test_memory_on_disk_goes_with_a_stop_and_with_a_delete(server, api):
    with machine(api) as box:
        begin_work(api, box)
        api.post(f"{PATH}/{box}/pause", {"disk": True})
        api.post(f"{PATH}/{box}/stop")
        assert kept(server) == []
        api.post(f"{PATH}/{box}/start")
        assert said(api, box, "cat /run/note 2>/dev/null; cat /home/user/file") == "kept"
        api.post(f"{PATH}/{box}/pause", {"disk": True})
        assert kept(server) == [box]
    assert kept(server) == []


def kill_all(server):
    """As a power cut: the server, its helpers, and all that they started."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, IndexError, ValueError):
                parents[int(name)] = int(open(f"/proc/{name}/stat").read().rsplit(")", 1)[1].split()[1])
    doomed = {server.process.pid}
    while more := {pid for pid, parent in parents.items() if parent in doomed} - doomed:
        doomed |= more
    for pid in doomed:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    server.process.wait()
    for pid in doomed:
        atoll.wait_for(lambda: not os.path.exists(f"/proc/{pid}") or open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] == "Z", 20, f"the end of {pid}")


def test_a_pause_to_the_disk_outlives_a_restart_of_the_host(server, api):
    with machine(api) as box, machine(api) as other:
        begin_work(api, box)
        api.post(f"{PATH}/{box}/pause", {"disk": True})
        said(api, other, "true")
        kill_all(server)
        server.start()
        with contextlib.closing(server.api()) as again:
            assert again.get(f"{PATH}/{box}")["state"] == "paused"
            check_work(again, box)
            assert again.get(f"{PATH}/{box}")["state"] == "started"


def test_a_snapshot_has_the_memory_of_a_machine_that_goes_on(server, api):
    with machine(api) as box:
        begin_work(api, box)
        taken = api.post(f"{PATH}/{box}/snapshot", {"memory": True})
        assert (taken["method"], taken["provider"]) == ("memory", "vm") and kept(server) == []
        check_work(api, box)
        said(api, box, "rm /run/note; echo newer > /home/user/file; sync")
        with api.sandbox(template="small", snapshot=taken["id"], internet=False, resources={"memory_mb": MEMORY_MB, "disk_mb": 64}) as copy:
            assert api.get(f"{PATH}/{copy}")["provider"] == "vm"
            check_work(api, copy)
            assert abs(int(said(api, copy, "date +%s")) - time.time()) < 5
            # A boot uses the files alone.
            api.post(f"{PATH}/{copy}/stop")
            api.post(f"{PATH}/{copy}/start")
            assert said(api, copy, "ls /run/note 2>/dev/null; cat /home/user/file") == "kept"
        with pytest.raises(atoll.ApiError) as caught, api.sandbox(template="small", snapshot=taken["id"], internet=False, resources={"memory_mb": 160, "disk_mb": 64}):
            pass
        assert "memory=256" in caught.value.message and "memory=160" in caught.value.message
        api.delete(f"/api/sandbox/snapshots/{taken['id']}")


def test_services_of_a_fork_run_once(api):
    """The memory has the services of the source, which the fork has under ids of its own."""
    with machine(api) as box:
        api.call("PUT", f"{PATH}/{box}/services/web", {"command": "echo begun >>/run/begun; exec sleep 54321"})
        atoll.wait_for(lambda: api.get(f"{PATH}/{box}/services/web")["state"] == "running", 60, "the service")
        running = "ps | grep -c '[s]leep 54321'; wc -l </run/begun"
        assert said(api, box, running).split() == ["1", "1"]
        made = api.post(f"{PATH}/{box}/fork", {"count": 1, "memory": True})["items"][0]["id"]
        taken = api.post(f"{PATH}/{box}/snapshot", {"memory": True})["id"]
        try:
            atoll.wait_for(lambda: api.get(f"{PATH}/{made}/services/web")["state"] == "running", 60, "the service of the fork")
            atoll.wait_for(lambda: said(api, made, running).split() == ["1", "2"], 60, "one process of the service")
            assert said(api, box, running).split() == ["1", "1"]
            # Of a snapshot no sandbox has services, as with files.
            with api.sandbox(template="small", snapshot=taken, internet=False, resources={"memory_mb": MEMORY_MB, "disk_mb": 64}) as copy:
                assert api.get(f"{PATH}/{copy}/services")["items"] == []
                atoll.wait_for(lambda: said(api, copy, "ps | grep -c '[s]leep 54321' || true") == "0", 60, "the end of the service")
        finally:
            api.delete(f"{PATH}/{made}")
            api.delete(f"/api/sandbox/snapshots/{taken}")


def test_a_snapshot_of_files_boots(api):
    with machine(api) as box:
        begin_work(api, box)
        said(api, box, "sync")
        taken = api.post(f"{PATH}/{box}/snapshot", {})
        check_work(api, box)
        with api.sandbox(template="small", snapshot=taken["id"], internet=False, resources={"memory_mb": MEMORY_MB, "disk_mb": 64}) as copy:
            assert said(api, copy, "ls /run/note 2>/dev/null; cat /home/user/file") == "kept"
        said(api, box, "echo newer > /home/user/file; sync")
        api.post(f"/api/sandbox/snapshots/{taken['id']}/restore")
        assert said(api, box, "cat /home/user/file") == "kept"
        api.delete(f"/api/sandbox/snapshots/{taken['id']}")


def memory_of(pid):
    """MiB: its share of what is mapped, and what it maps alone."""
    text = open(f"/proc/{pid}/smaps_rollup").read()
    return tuple(int(re.search(rf"^{name}: +(\d+) kB", text, re.M)[1]) / 1024 for name in ("Pss", "Private_Dirty"))


def test_twenty_forks_share_the_memory_of_a_running_machine(api):
    """Each has its own identity, and at most a fifth of its size in memory."""
    with machine(api) as box:
        begin_work(api, box)
        made = api.post(f"{PATH}/{box}/fork", {"memory": True, "count": FORKS})
        forks = [item["id"] for item in made["items"]]
        try:
            told = [said(api, fork, "hostname; cat /proc/sys/kernel/random/uuid; cat /proc/sys/kernel/random/boot_id; head -c 16 /dev/urandom | od -An -tx1").splitlines()
                    for fork in [box, *forks]]
            for values in zip(*told, strict=True):
                assert len(set(values)) == FORKS + 1, values
            for fork in forks:
                check_work(api, fork)
            shares = [memory_of(pid)[0] / MEMORY_MB for pid in microvm_parts.machines([item["name"] for item in made["items"]])]
            print(f"{FORKS} forks: {sum(shares) / len(shares):.3f} of their size each, most {max(shares):.3f}")
            assert len(shares) == FORKS and max(shares) <= 0.2, shares
            # What one writes, no other sees.
            said(api, forks[0], "echo other > /run/note; echo other > /home/user/file")
            check_work(api, forks[1])
            check_work(api, box)
        finally:
            for fork in forks:
                api.delete(f"{PATH}/{fork}")
            api.delete(f"/api/sandbox/snapshots/{made['snapshot']['id']}")


def refused(api, call):
    with pytest.raises(atoll.ApiError) as caught:
        call()
    return caught.value.status, caught.value.message


def test_what_cannot_keep_memory_says_so(api):
    with api.sandbox(internet=False) as box:
        for path, body in (("pause", {"disk": True}), ("fork", {"memory": True}), ("snapshot", {"memory": True})):
            status, message = refused(api, lambda path=path, body=body: api.post(f"{PATH}/{box}/{path}", body))
            assert status == 501, message
        taken = api.post(f"{PATH}/{box}/snapshot", {})
        status, message = refused(api, lambda: api.create(snapshot=taken["id"], provider="vm", internet=False))
        assert "the snapshot or template has folders" in message, message
        api.delete(f"/api/sandbox/snapshots/{taken['id']}")
    with machine(api) as box:
        taken = api.post(f"{PATH}/{box}/snapshot", {})["id"]
        for call in (lambda: api.post(f"/api/sandbox/snapshots/{taken}/export", {}), lambda: api.get(f"/api/sandbox/snapshots/{taken}/changes")):
            status, message = refused(api, call)
            assert status == 501, message
        api.delete(f"/api/sandbox/snapshots/{taken}")
        status, message = refused(api, lambda: api.post(f"{PATH}/{box}/reset"))
        assert status == 501 and "reset" in message
        api.post(f"{PATH}/{box}/stop")
        for path, body in (("pause", {"disk": True}), ("snapshot", {"memory": True}), ("fork", {"memory": True})):
            assert refused(api, lambda path=path, body=body: api.post(f"{PATH}/{box}/{path}", body))[0] == 409


def test_memory_with_a_credential_in_it_is_not_kept(api):
    api.post("/v1/credentials", {"name": "db", "hosts": ["db.test"], "fields": {"token": "pw-0123456789"}, "environment": {"DB_TOKEN": "token"}})
    person = api.clone(api.post("/api/sandbox/keys", {"name": "person"})["key"])

    def call(box, tool, **data):
        return api.raw("POST", f"/v1/tools/{tool}", {"sandboxId": box, "approvalWaitMs": 0, "conversationId": "c1", "input": data}).json()

    with contextlib.closing(person), machine(api) as box:
        waiting = call(box, "activate_credential", name="db")["structuredContent"]["approvalId"]
        person.post(f"/v1/approvals/{waiting}/approve", {})
        call(box, "execute_command", command="true", window="mine")  # without bash the window stays open all the same
        assert [w["name"] for w in api.get(f"{PATH}/{box}/windows")["items"]] == ["mine"]
        for path, body in (("pause", {"disk": True}), ("fork", {"memory": True, "count": 1}), ("snapshot", {"memory": True})):
            answer = api.raw("POST", f"{PATH}/{box}/{path}", body)
            assert answer.status == 409 and "credentials" in answer.body.decode(), (path, answer.body)
        assert api.get(f"{PATH}/{box}")["state"] == "started"
        assert api.post(f"{PATH}/{box}/snapshot", {})["id"]
        api.delete("/v1/credentials/db")
        atoll.wait_for(lambda: not api.get(f"{PATH}/{box}/windows")["items"], 20, "the window's end")
