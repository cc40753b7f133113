# SPDX-License-Identifier: Apache-2.0
"""Leases: the one warm sandbox of a key, over HTTP and by the CLI."""

import json
import os
import pathlib
import signal
import threading
import time
import urllib.parse

import pytest

import atoll

pytestmark = pytest.mark.needs_root
BASE = "/v1/leases"
INSTANCES = "/api/sandbox/instances"


def path(key, verb=""):
    return f"{BASE}/{urllib.parse.quote(key, safe='')}{verb}"


@pytest.fixture
def key(api, request):
    made = f"test:{request.node.name[:80]}"
    yield made
    api.delete(f"{BASE}?prefix={urllib.parse.quote(made, safe='')}")


def acquire(api, key, **options):
    return api.post(f"{BASE}/acquire", {"key": key, "template": "host", "internet": False, **options})


def sandboxes_of(api, key):
    label = urllib.parse.quote(f"atoll.lease={key}", safe="")
    return [row["id"] for row in api.get(f"{INSTANCES}?limit=1000&label={label}")["items"]]


def test_a_key_keeps_its_sandbox(api, key):
    first = acquire(api, key)
    assert first["created"] and first["status"] == "ready" and first["paused"] is False
    assert first["username"] == first["key"] == key and first["type"] == "native"
    api.exec(first["sandbox_id"], "echo kept > note")
    again = acquire(api, key)
    assert not again["created"] and again["sandbox_id"] == first["sandbox_id"]
    assert api.exec(again["sandbox_id"], "cat note")["stdout"] == "kept\n"
    assert sandboxes_of(api, key) == [first["sandbox_id"]]


def test_a_fresh_filesystem_under_the_same_key(api, key):
    first = acquire(api, key)
    api.exec(first["sandbox_id"], "echo gone > note")
    fresh = acquire(api, key, **{"continue": False})
    assert fresh["reset"] and not fresh["created"] and fresh["sandbox_id"] == first["sandbox_id"]
    assert api.exec(fresh["sandbox_id"], "cat note")["exit_code"] != 0
    assert sandboxes_of(api, key) == [fresh["sandbox_id"]]


def test_a_run_begins_clean_and_its_stages_go_on(api, key):
    def stage(run, **options):
        lease = api.call("POST", f"{BASE}/acquire", {"key": key, "template": "host", "internet": False, **options},
                         {"Atoll-Run": run})
        return lease, api.exec(lease["sandbox_id"], "cat /tmp/found 2>/dev/null; echo -n x >>/tmp/found")["stdout"]
    first, seen = stage("run-1")
    assert (first["run"], seen) == ("run-1", "")
    again, seen = stage("run-1")
    assert (again["sandbox_id"], again["reset"], seen) == (first["sandbox_id"], False, "x")
    second, seen = stage("run-2")
    assert (second["sandbox_id"], second["reset"], second["run"], seen) == (first["sandbox_id"], True, "run-2", "")
    third, seen = stage("run-3", **{"continue": True})
    assert (third["run"], seen) == ("run-2", "x")
    with pytest.raises(atoll.ApiError) as refused:
        stage("not a label")
    assert refused.value.status == 400


def test_many_who_want_a_fresh_one_at_once_get_one_reset(server, api, key):
    first = acquire(api, key)
    api.exec(first["sandbox_id"], "echo gone > note; sleep 1000", background=True)
    atoll.wait_for(lambda: api.exec(first["sandbox_id"], "pgrep -x sleep")["exit_code"] == 0, 30, "the command")
    answers = []

    def ask():
        own = server.api()
        answers.append(acquire(own, key, **{"continue": False}))
        own.close()
    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert {a["sandbox_id"] for a in answers} == {first["sandbox_id"]} and sum(a["reset"] for a in answers) >= 1
    assert api.exec(first["sandbox_id"], "cat note; ps ax | grep -c '[s]leep'")["stdout"] == "0\n"
    other = acquire(api, key, env={"A": "b"}, **{"continue": False})
    assert other["created"] and not other["reset"] and sandboxes_of(api, key) == [other["sandbox_id"]]


def test_a_reset_gives_what_it_was_made_with(server, api):
    with api.sandbox(internet=False) as box:
        api.exec(box, "echo one > one; cd /tmp && echo two > two; rm -rf /home/user/.cache")
        api.post(f"{INSTANCES}/{box}/pause")
        assert api.post(f"{INSTANCES}/{box}/reset")["state"] == "started"
        assert api.exec(box, "ls -A . /tmp")["stdout"].split() == [".:", "/tmp:"]
        api.exec(box, "echo seed > seed")
        taken = api.post(f"{INSTANCES}/{box}/snapshot", {"sync": False})["id"]
        with api.sandbox(internet=False, snapshot=taken) as child:
            api.exec(child, "echo more > more; chmod 700 /")
            own = api.post(f"{INSTANCES}/{child}/snapshot", {"sync": False})
            api.delete(f"/api/sandbox/snapshots/{taken}")
            # of a snapshot that is none any more, but below it
            assert server.cli("reset", child).returncode == 0
            assert api.exec(child, "ls; stat -c %a /")["stdout"] == "seed\n755\n"
            again = api.post(f"{INSTANCES}/{child}/snapshot", {"sync": False})
            assert own["parent"] == again["parent"] == taken
            for row in (own, again):
                api.delete(f"/api/sandbox/snapshots/{row['id']}")
            api.post(f"{INSTANCES}/{child}/stop")
            assert api.post(f"{INSTANCES}/{child}/reset")["state"] == "started"
        # below the template's own files there is nothing
        api.post(f"{INSTANCES}/{box}/reset")
        assert api.exec(box, "ls")["stdout"] == ""
    with pytest.raises(atoll.ApiError) as refused:
        api.post(f"{INSTANCES}/{box}/reset")
    assert refused.value.status == 404


def test_many_at_once_get_one_sandbox(server, api, key):
    answers = []

    def ask():
        own = server.api()
        answers.append(acquire(own, key))
        own.close()
    threads = [threading.Thread(target=ask) for _ in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(answers) == 24
    assert len({a["sandbox_id"] for a in answers}) == 1
    assert sum(a["created"] for a in answers) == 1
    assert len(sandboxes_of(api, key)) == 1


def test_what_has_gone_is_made_afresh(api, key):
    first = acquire(api, key)
    api.remove(first["sandbox_id"])
    second = acquire(api, key)
    assert second["created"] and second["sandbox_id"] != first["sandbox_id"]
    assert second["lock_version"] > first["lock_version"]


def test_a_stopped_one_is_started(api, key):
    first = acquire(api, key)
    api.exec(first["sandbox_id"], "echo kept > note")
    api.post(f"{INSTANCES}/{first['sandbox_id']}/stop")
    assert api.get(path(key))["paused"] is True
    again = acquire(api, key)
    assert again["sandbox_id"] == first["sandbox_id"] and again["paused"] is False
    assert api.exec(again["sandbox_id"], "cat note")["stdout"] == "kept\n"


def test_a_paused_one_is_woken(api, key):
    first = acquire(api, key)
    assert api.post(path(key, "/pause"))["paused"] is True
    assert api.get(f"{INSTANCES}/{first['sandbox_id']}")["state"] == "paused"
    again = acquire(api, key)
    assert again["sandbox_id"] == first["sandbox_id"] and again["paused"] is False and not again["created"]
    assert api.exec(again["sandbox_id"], "echo awake")["stdout"] == "awake\n"


def test_keep_alive_and_release(api, key):
    acquire(api, key)
    kept = api.post(path(key, "/keepalive"), {"timeoutMs": 60000})
    assert kept["keep_until"] is not None
    released = api.post(path(key, "/release"))
    assert released["keep_until"] is None and released["status"] == "ready"
    assert api.get(path(key))["sandbox_id"] == released["sandbox_id"]


def test_use_is_what_its_sandbox_was_active_for(api, key):
    first = acquire(api, key)
    assert first["total_usage_seconds"] == 0 and first["created_at"] <= first["last_activity_at"]
    api.exec(first["sandbox_id"], "sleep 1.2")
    released = api.post(path(key, "/release"))
    assert released["total_usage_seconds"] >= 1
    assert released["last_activity_at"] > first["last_activity_at"]
    # Released, it is warm and active still; paused, it is free.
    paused = api.post(path(key, "/pause"))["total_usage_seconds"]
    paused_at = time.monotonic()
    atoll.wait_for(lambda: time.monotonic() - paused_at > 1.1, 30, "a second in which nothing is counted")
    assert api.get(path(key))["total_usage_seconds"] == paused
    # It is what is metered of the sandbox, and outlives it.
    def metered():
        return [int(row["seconds"]) for row in api.get(f"/v1/usage?group_by=sandbox&sandbox={first['sandbox_id']}")["items"]]
    atoll.wait_for(lambda: metered() == [paused], 15, "a log of all of its use")
    api.remove(first["sandbox_id"])
    assert acquire(api, key)["total_usage_seconds"] >= paused


def test_what_is_kept_outlives_the_idle_reaper(private_server):
    private_server.flags += ["--idle-reap", "3s"]
    api = private_server.start().api()
    kept, idle = acquire(api, "kept"), acquire(api, "idle")
    api.post(path("kept", "/keepalive"), {"timeoutMs": 120000})

    def reaped():
        return idle["sandbox_id"] not in [row["id"] for row in api.get(f"{INSTANCES}?limit=100")["items"]]
    atoll.wait_for(reaped, 60, "the idle one is reaped")
    assert api.get(path("kept"))["sandbox_id"] == kept["sandbox_id"]
    assert api.exec(kept["sandbox_id"], "echo alive")["stdout"] == "alive\n"
    api.delete(f"{BASE}?prefix=kept")


def test_exec_on_a_lease_survives_the_loss_of_its_sandbox(server, api, key):
    def run(command):
        return api.post(path(key, "/exec"), {"command": command})["stdout"]

    acquire(api, key)
    assert run("echo one") == "one\n"
    first = api.get(path(key))["sandbox_id"]
    api.remove(first)
    assert run("echo two") == "two\n"
    assert api.get(path(key))["sandbox_id"] != first


@pytest.mark.parametrize("verb,body", [("exec", {"command": "echo two"}), ("code", {"language": "bash", "code": "echo two"})])
def test_a_call_whose_sandbox_dies_unseen_is_made_once_more(private_server, verb, body):
    """Nobody has been told: the row says that it runs."""
    api = private_server.start().api()
    first = acquire(api, "k")["sandbox_id"]
    boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert api.post(path("k", f"/{verb}"), body)["stdout"] == "two\n"
    for _ in range(3):
        state = (private_server.data / "run" / "sandboxes" / first / "state").read_text()
        pid = int(state.split(boot, 1)[1].split()[0])
        os.kill(pid, signal.SIGKILL)
        atoll.wait_for(lambda: not os.path.exists(f"/proc/{pid}"), 30, "the end of process 1")
        assert api.post(path("k", f"/{verb}"), body)["stdout"] == "two\n"
        # its files were there, so that it was started again
        assert api.get(path("k"))["sandbox_id"] == first
    with pytest.raises(atoll.ApiError) as refused:
        api.post(path("k", "/code"), {"language": "cobol", "code": "x"})
    assert refused.value.status == 400
    api.delete(path("k"))


def test_odd_keys_are_keys_and_bad_ones_are_refused(api, key):
    for odd in (f"{key}/a/b", f"{key} with space", f"{key}?x=1&y#z", f"{key}%2e", f"{key}ünïcode"):
        made = acquire(api, odd)
        assert api.get(path(odd))["sandbox_id"] == made["sandbox_id"]
        api.delete(path(odd))
    for bad in ("", "..", "a/../b", "a\nb", "x" * 257):
        with pytest.raises(atoll.ApiError) as refused:
            acquire(api, bad)
        assert refused.value.status == 400


def test_deleting_a_workspace_leaves_nothing(api, key):
    made = [acquire(api, f"{key}:{i}")["sandbox_id"] for i in range(3)]
    assert api.delete(f"{BASE}?prefix={urllib.parse.quote(key + ':', safe='')}") == {"deleted": 3}
    assert not any(row["id"] in made for row in api.get(f"{INSTANCES}?limit=1000")["items"])


def test_leases_survive_a_restart(private_server):
    api = private_server.start().api()
    before = acquire(api, "lasting")
    api.close()
    private_server.stop()
    private_server.start()
    api = private_server.api()
    after = acquire(api, "lasting")
    assert after["sandbox_id"] == before["sandbox_id"] and not after["created"]
    api.delete(path("lasting"))


def test_the_cli(server, api, key):
    made = server.cli("lease", "acquire", "--template", "host", "--no-internet", key)
    assert made.returncode == 0, made.stderr
    sandbox = made.stdout.decode().strip()
    assert api.get(path(key))["sandbox_id"] == sandbox
    assert server.cli("lease", "acquire", key).stdout.decode().strip() == sandbox
    assert key in server.cli("lease", "ls", "--prefix", key).stdout.decode()
    rows = json.loads(server.cli("lease", "ls", "--json", "--prefix", key).stdout)
    assert [row["sandbox_id"] for row in rows] == [sandbox]
    assert json.loads(server.cli("lease", "ls", "--json", "--prefix", "nobody:").stdout) == []
    assert server.cli("lease", "keep", "--for", "1m", key).returncode == 0
    assert server.cli("lease", "release", key).returncode == 0
    assert server.cli("lease", "rm").returncode != 0
    assert server.cli("lease", "rm", key).stdout == b"1 removed\n"
    assert server.cli("lease", "rm", key).returncode != 0
    assert server.cli("lease", "rm", "--prefix", key).stdout == b"0 removed\n"


def test_an_idempotency_key_makes_a_repeated_create_safe(server, api):
    headers = {"Idempotency-Key": "system-93", "Content-Type": "application/json"}
    body = json.dumps({"template": "host", "internet": False})
    answers = []

    def ask():
        own = server.api()
        answers.append(own.raw("POST", INSTANCES, body, headers))
        own.close()
    threads = [threading.Thread(target=ask) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert [a.status for a in answers] == [201] * 6
    assert len({a.json()["id"] for a in answers}) == 1
    assert sum(a.headers.get("Idempotent-Replayed") == "true" for a in answers) == 5
    other = api.raw("POST", INSTANCES, json.dumps({"template": "host", "internet": False, "name": "x"}), headers)
    assert other.status == 409 and "Idempotency-Key" in other.json()["error"]["message"]
    api.remove(answers[0].json()["id"])
    assert api.raw("POST", INSTANCES, body, headers).status == 409


def test_the_leases_of_a_project_go_with_it(server, api):
    project = api.post("/v1/projects", {"name": "leases-93"})["id"]
    inside = {"X-Atoll-Project": project, "Content-Type": "application/json"}
    body = json.dumps({"key": "workspace:1", "template": "host", "internet": False})
    made = api.call("POST", f"{BASE}/acquire", body, inside)
    assert made["created"]
    with pytest.raises(atoll.ApiError) as missing:
        api.get(path("workspace:1"))  # another project's
    assert missing.value.status == 404
    api.delete(f"/v1/projects/{project}?force=true")
    assert made["sandbox_id"] not in atoll.Host(server.data).files()
