# SPDX-License-Identifier: Apache-2.0
"""Services: commands that are kept running, over crashes of theirs, of ours, and over starts of their sandbox."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
SLEEP = {"command": "echo up; exec sleep 1000", "restart_delay_ms": 10}


def path(box, name="", suffix=""):
    return f"{PATH}/{box}/services" + (f"/{name}{suffix}" if name else "")


def put(api, box, name, **body):
    return api.call("PUT", path(box, name), {**SLEEP, **body} if "cmd" not in body else body)


def get(api, box, name):
    return api.get(path(box, name))


def reach(api, box, name, state, seconds=30, **more):
    def there():
        row = get(api, box, name)
        return row["state"] == state and all(row[key] == value for key, value in more.items()) and row
    return atoll.wait_for(there, seconds, f"service {name} is {state} {more}")


def count(api, box, mark):
    """How many processes of the sandbox have the mark on their command line; the shell that looks is none, and one that
    is just executing another program has none for a moment."""
    line = f"cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -o '[s]leep {mark}' | wc -l"
    return max(int(api.exec(box, line)["stdout"]) for _ in range(4))


@pytest.fixture(name="own")
def own_box(api):
    with api.sandbox(internet=False, persistent=True) as made:
        yield made


@contextlib.contextmanager
def refused(code, *words):
    with pytest.raises(atoll.ApiError) as caught:
        yield
    assert caught.value.code == code, caught.value
    for word in words:
        assert word in f"{caught.value.message} {caught.value.hint}", caught.value


# ---- its life ----

def test_a_service_runs_at_once_and_again_when_it_is_killed(api, own):
    made = put(api, own, "web")
    assert made["state"] == "running" and made["pid"] > 1 and made["exit_code"] == -1 and made["wanted"], made
    atoll.wait_for(lambda: api.get(path(own, "web", "/logs"))["stdout"] == "up\n", 30, "the first run has written")
    api.exec(own, f"kill -9 {made['pid']}")
    row = reach(api, own, "web", "running", restarts=1)
    assert row["pid"] != made["pid"] and row["signal"] == 9 and row["exit_code"] == 137
    assert [item["name"] for item in api.get(path(own))["items"]] == ["web"]
    logs = atoll.wait_for(lambda: (lambda r: r["stdout"] == "up\nup\n" and r)(api.get(path(own, "web", "/logs"))), 30, "both runs")
    assert logs["stdout_next"] == logs["stdout_bytes"] == 6
    assert api.get(path(own, "web", "/logs?since_stdout=3&tail=100"))["stdout"] == "up\n"
    assert api.get(path(own, "web", "/logs?since_stdout=99"))["stdout"] == ""
    api.delete(path(own, "web"))
    assert api.get(path(own))["items"] == []
    with refused("not_found", "web"):
        get(api, own, "web")


def test_stopped_stays_stopped_until_it_is_started(api, own):
    put(api, own, "web", command="exec sleep 7001")
    assert api.post(path(own, "web", "/stop"))["state"] == "stopped"
    assert count(api, own, 7001) == 0
    assert api.post(path(own, "web", "/stop"))["wanted"] is False
    api.post(f"{PATH}/{own}/stop")
    api.post(f"{PATH}/{own}/start")
    assert get(api, own, "web")["state"] == "stopped" and count(api, own, 7001) == 0
    assert api.post(path(own, "web", "/start"))["state"] == "running"
    first = api.post(path(own, "web", "/start"))
    assert first["state"] == "running" and count(api, own, 7001) == 1
    again = api.post(path(own, "web", "/restart"))
    assert again["state"] == "running" and again["pid"] != first["pid"] and count(api, own, 7001) == 1


def test_what_is_said_again_disturbs_nothing_and_a_change_starts_anew(api, own):
    first = put(api, own, "web", env={"A": "1"}, command="echo $A; exec sleep 7002")
    atoll.wait_for(lambda: api.get(path(own, "web", "/logs"))["stdout"] == "1\n", 30, "the first run has written")
    assert put(api, own, "web", env={"A": "1"}, command="echo $A; exec sleep 7002")["pid"] == first["pid"]
    changed = put(api, own, "web", env={"A": "2"}, command="echo $A; exec sleep 7002")
    assert changed["state"] == "running" and changed["pid"] != first["pid"] and count(api, own, 7002) == 1
    assert "env" not in changed
    atoll.wait_for(lambda: api.get(path(own, "web", "/logs"))["stdout"] == "1\n2\n", 30, "both runs have written")


def test_where_as_whom_and_with_what_it_runs(api, own):
    api.exec(own, "mkdir -p /tmp/there")
    put(api, own, "who", cmd="sh", args=["-c", "pwd; id -u; echo \"$1 $KEY\"; exec sleep 1000", "sh", "two words"],
        cwd="/tmp/there", user="1000", env={"KEY": "value"})
    atoll.wait_for(lambda: api.get(path(own, "who", "/logs"))["stdout"] == "/tmp/there\n1000\ntwo words value\n", 30, "it")


def test_policies_and_limits(api, own):
    put(api, own, "done", command="exit 0", restart="on-failure")
    put(api, own, "once", command="exit 3", restart="no")
    assert reach(api, own, "done", "exited") and reach(api, own, "once", "failed")
    put(api, own, "bad", command="exit 3", restart_limit=2, restart_delay_ms=1)
    assert reach(api, own, "bad", "failed", restarts=2)["exit_code"] == 3
    row = put(api, own, "gone", cmd="/no/such/program", restart_delay_ms=60000)
    assert row["state"] == "backoff" and "/no/such/program" in row["error"] and row["restart_in_ms"] > 50000
    # One that has ended for good is started by asking for it.
    api.post(path(own, "done", "/start"))
    assert reach(api, own, "done", "exited")


def test_it_runs_on_over_a_pause_and_again_after_a_stop(api, own):
    first = put(api, own, "web", command="exec sleep 7003")
    api.post(f"{PATH}/{own}/pause")
    assert get(api, own, "web")["state"] == "paused"
    api.post(f"{PATH}/{own}/resume")
    row = get(api, own, "web")
    assert (row["state"], row["pid"], row["restarts"]) == ("running", first["pid"], 0)
    # It is watched over as before.
    api.exec(own, f"kill -9 {row['pid']}")
    reach(api, own, "web", "running", seconds=20, restarts=1)
    api.post(f"{PATH}/{own}/stop")
    assert get(api, own, "web")["state"] == "down"
    put(api, own, "later", command="exec sleep 7004")
    api.post(f"{PATH}/{own}/start")
    assert reach(api, own, "web", "running") and reach(api, own, "later", "running")
    assert count(api, own, 7003) == 1 and count(api, own, 7004) == 1
    api.post(f"{PATH}/{own}/stop")
    api.delete(path(own, "later"))
    api.post(f"{PATH}/{own}/start")
    assert [item["name"] for item in api.get(path(own))["items"]] == ["web"]


def test_a_fork_has_them_a_reset_has_none_a_rollback_starts_them(api, own):
    put(api, own, "web", command="exec sleep 7005", env={"A": "1"})
    [fork] = api.post(f"{PATH}/{own}/fork")["items"]
    try:
        assert reach(api, fork["id"], "web", "running") and count(api, fork["id"], 7005) == 1
        api.delete(path(fork["id"], "web"))
    finally:
        api.remove(fork["id"])
    assert get(api, own, "web")["state"] == "running"
    taken = api.post(f"{PATH}/{own}/snapshot")["id"]
    api.post(f"/api/sandbox/snapshots/{taken}/restore")
    assert reach(api, own, "web", "running") and count(api, own, 7005) == 1
    api.post(f"{PATH}/{own}/reset")
    assert api.get(path(own))["items"] == [] and count(api, own, 7005) == 0
    api.delete(f"/api/sandbox/snapshots/{taken}")


# ---- idleness ----

def test_only_one_that_is_to_keeps_its_sandbox_awake(server, api):
    with api.sandbox(internet=False, autoPauseMs=2500) as idle, api.sandbox(internet=False, autoPauseMs=2500) as awake:
        put(api, idle, "web")
        put(api, awake, "web", keep_awake=True)
        atoll.wait_for(lambda: api.get(f"{PATH}/{idle}")["state"] == "paused", 30, "an idle one is paused")
        # Nor does looking at it.
        assert get(api, idle, "web")["state"] == "paused"
        assert api.get(f"{PATH}/{idle}")["state"] == "paused"
        assert api.get(f"{PATH}/{awake}")["state"] == "started"


# ---- what we die of ----

def test_kill_9_of_all_of_ours_leaves_it_running_and_it_is_supervised_meanwhile(private_server):
    server = private_server
    server.start()
    api = server.api()
    box = api.create(internet=False)["id"]
    mark = 7000000 + os.getpid()  # on the host, where other runs have theirs
    first = put(api, box, "web", command=f"exec sleep {mark}")
    find = "cat /proc/[0-9]*/stat | grep '(sleep)' | cut -d' ' -f1"
    atoll.wait_for(lambda: api.exec(box, find)["stdout"].split() == [str(first["pid"])], 30, "the shell has become sleep")
    on_host = [int(p) for p in os.listdir("/proc") if p.isdigit() and cmdline(p) == f"sleep\0{mark}\0".encode()]
    server.stop()
    [one] = on_host
    os.kill(one, signal.SIGKILL)
    atoll.wait_for(lambda: [p for p in os.listdir("/proc") if p.isdigit() and int(p) != one
                            and cmdline(p) == f"sleep\0{mark}\0".encode()], 30, "restarted without a server")
    server.start()
    api = server.api()
    row = reach(api, box, "web", "running", restarts=1)
    server.kill9("broker")
    server.kill9("api")
    api = server.api()
    atoll.wait_for(lambda: steady(api, box, row["pid"]), 15, "the same process")
    assert count(api, box, mark) == 1


def cmdline(pid):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read()
    return b""


def steady(api, box, pid):
    with contextlib.suppress(OSError, atoll.ApiError):
        return get(api, box, "web")["pid"] == pid
    return False


# ---- bad input ----

def test_nonsense_is_refused(api, box):
    with refused("invalid_request", "command"):
        api.call("PUT", path(box, "web"), {})
    with refused("invalid_request", "command"):
        api.call("PUT", path(box, "web"), {"command": "a", "cmd": "b"})
    with refused("invalid_request", "name"):
        put(api, box, "-x")
    with refused("invalid_request", "name"):
        put(api, box, "x" * 65)
    with refused("invalid_request", "restart"):
        put(api, box, "web", restart="maybe")
    with refused("invalid_request"):
        put(api, box, "web", restart_delay_ms=60001)
    with refused("invalid_request"):
        put(api, box, "web", env={"a=b": "c"})
    with refused("not_found"):
        api.post(path(box, "nobody", "/stop"))
    with refused("not_found"):
        api.delete(path(box, "nobody"))
    with refused("not_found"):
        api.get(path("nobody"))
    assert api.get(path(box))["items"] == []


def test_so_many_and_no_more(api, own):
    for i in range(16):
        put(api, own, f"s{i}")
    with refused("limit_exceeded", "16"):
        put(api, own, "more")
    api.delete(path(own, "s3"))
    assert put(api, own, "more")["state"] == "running"


# ---- the command line ----

def test_the_command_line_has_it_all(server, api, own):
    def run(*words):
        done = server.cli("service", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()
    assert run("create", "--restart", "on-failure", "-e", "A=1", own, "web", "--", "echo $A; exec sleep 1000") == "running\n"
    atoll.wait_for(lambda: run("logs", own, "web") == "1\n", 30, "its log")
    assert "on-failure" in run("ls", own)
    assert run("stop", own, "web") == "stopped\n"
    assert run("start", own, "web") == "running\n"
    assert run("restart", own, "web") == "running\n"
    run("rm", own, "web")
    assert "web" not in run("ls", own)
    assert server.cli("service", "stop", own, "web").returncode != 0


def test_both_sdks_have_them(server, api, own):
    sys.path.insert(0, str(atoll.ROOT / "sdk/python"))
    from atoll_sdk import Sandbox
    where = {"api_url": f"http://127.0.0.1:{server.port}", "api_key": server.key}
    services = Sandbox.connect(own, **where).services
    assert services.put("py", ["sh", "-c", "echo up; exec sleep 1000"], restart="on-failure")["state"] == "running"
    atoll.wait_for(lambda: services.logs("py", tail=10)["stdout"] == "up\n", 30, "its log")
    assert services.stop("py")["state"] == "stopped" and services.start("py")["state"] == "running"
    assert services.restart("py")["restarts"] == 0 and [s["name"] for s in services.list()] == ["py"]
    services.remove("py")
    assert services.list() == []
    if not shutil.which("node"):
        pytest.skip("node is not installed")
    script = f"""
import {{ Sandbox }} from '{atoll.ROOT}/sdk/typescript/src/index.js';
const services = (await Sandbox.connect('{own}')).services;
const say = [(await services.put('js', {{ command: 'echo up; exec sleep 1000' }})).state];
while ((await services.logs('js')).stdout !== 'up\\n');
say.push((await services.stop('js')).state, (await services.start('js')).state, (await services.restart('js')).state);
say.push((await services.get('js')).name, (await services.list()).length);
await services.remove('js');
console.log(say.concat((await services.list()).length).join());"""
    done = subprocess.run(["node", "--input-type=module", "-e", script], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "ATOLL_API_URL": where["api_url"], "ATOLL_API_KEY": where["api_key"]})
    assert done.stdout == "running,stopped,running,running,js,1,0\n", done.stderr


def test_the_host_provider_has_them_too():
    server = atoll.Server(provider="host")
    server.start()
    try:
        api = server.api()
        with api.sandbox() as box:
            made = put(api, box, "web", command="echo $PWD > where; exec sleep 1000", stop_timeout_ms=20000)
            assert made["state"] == "running", made
            os.kill(made["pid"], signal.SIGKILL)
            assert reach(api, box, "web", "running", restarts=1)
            begun = time.monotonic()
            assert api.post(path(box, "web", "/stop"))["state"] == "stopped" and time.monotonic() - begun < 15
    finally:
        server.remove_all()
