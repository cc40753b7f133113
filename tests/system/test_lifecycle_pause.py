# SPDX-License-Identifier: Apache-2.0
"""Pause and resume, idleness and what wakes from it, hooks: with real processes, on both real providers."""

import contextlib
import json
import os
import signal
import socket
import threading
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
# By a rename: whoever stops it finds a whole number.
COUNTER = "i=0; while :; do i=$((i+1)); echo $i > next; mv next count; sleep 0.01; done"


def state_of(api, sandbox):
    return api.get(f"{PATH}/{sandbox}")["state"]


def wait_state(api, sandbox, state, seconds=30):
    return atoll.wait_for(lambda: (r := api.get(f"{PATH}/{sandbox}"))["state"] == state and r, seconds,
                          f"{sandbox} {state}, is {state_of(api, sandbox)}")


def start_counter(api, sandbox):
    """A process that counts; detached, so that it is no caller's."""
    api.exec(sandbox, COUNTER, background=True)
    atoll.wait_for(lambda: api.exec(sandbox, "cat count 2>/dev/null || true")["stdout"].strip(), 30, "a count")


@pytest.fixture(scope="module")
def host_server():
    running = atoll.Server(provider="host").start()
    yield running
    running.remove_all()


def pids_in(api, sandbox):
    return api.get(f"{PATH}/{sandbox}/stats")["pids"]


def cpu_of(api, sandbox):
    return api.get(f"{PATH}/{sandbox}/stats")["cpu_usage_us"]


def test_a_paused_sandbox_stands_still_and_goes_on_where_it_was(api):
    with api.sandbox(internet=False) as sandbox:
        start_counter(api, sandbox)
        boot = api.exec(sandbox, "cat /proc/1/stat | cut -d' ' -f22")["stdout"]
        started_at = api.get(f"{PATH}/{sandbox}")["started_at"]
        paused = api.post(f"{PATH}/{sandbox}/pause")
        assert (paused["state"], paused["desired_state"], paused["reason"]) == ("paused", "paused", "user")
        before, processes = cpu_of(api, sandbox), pids_in(api, sandbox)
        time.sleep(0.3)  # thirty steps of the counter, were it running
        assert cpu_of(api, sandbox) == before and pids_in(api, sandbox) == processes > 1
        resumed = api.post(f"{PATH}/{sandbox}/resume")
        assert (resumed["state"], resumed["reason"], resumed["started_at"]) == ("started", "none", started_at)
        assert api.exec(sandbox, "cat /proc/1/stat | cut -d' ' -f22")["stdout"] == boot
        first = int(api.exec(sandbox, "cat count")["stdout"] or 0)
        atoll.wait_for(lambda: int(api.exec(sandbox, "cat count")["stdout"] or 0) > first, 30, "it counts on")


def test_its_events_tell_of_both(api):
    with api.sandbox(internet=False) as sandbox:
        api.post(f"{PATH}/{sandbox}/pause")
        api.post(f"{PATH}/{sandbox}/resume")
        events = api.get(f"{PATH}/{sandbox}/events")["items"]
        assert [(e["kind"], e["text"]) for e in events][-2:] == [("sandbox.paused", "paused"), ("sandbox.resumed", "resumed")]


@pytest.mark.parametrize("use", ["exec", "files", "terminal"])
def test_the_next_call_wakes_it(api, use):
    with api.sandbox(internet=False) as sandbox:
        api.write(sandbox, "kept", b"kept")
        api.post(f"{PATH}/{sandbox}/pause")
        if use == "exec":
            assert api.exec(sandbox, "cat kept")["stdout"] == "kept"
        elif use == "files":
            assert api.read(sandbox, "kept") == b"kept"
        else:
            api.post(f"{PATH}/{sandbox}/terminal")
        assert api.exec(sandbox, "true")["exit_code"] == 0
        assert state_of(api, sandbox) == "started"


def test_what_is_typed_wakes_it_and_a_ping_does_not(server, api):
    def frame(opcode, data):
        return bytes([0x80 | opcode, 0x80 | len(data)]) + b"\0\0\0\0" + data

    with api.sandbox(internet=False) as sandbox:
        path = api.post(f"{PATH}/{sandbox}/terminal")["path"]
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as terminal:
            terminal.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode())
            assert terminal.recv(12) == b"HTTP/1.1 101"
            for typed in (b"echo typed > /home/user/one\n", b"echo again > /home/user/two\n"):
                api.post(f"{PATH}/{sandbox}/pause")
                terminal.sendall(frame(9, b"ping"))
                got = terminal.recv(65536)
                while b"ping" not in got:
                    got += terminal.recv(65536)
                assert state_of(api, sandbox) == "paused"
                terminal.sendall(frame(2, typed))
                wait_state(api, sandbox, "started")
        atoll.wait_for(lambda: api.exec(sandbox, "cat /home/user/one /home/user/two")["stdout"] == "typed\nagain\n", 30,
                       "what was typed is executed")
        kinds = [e["kind"] for e in api.get(f"{PATH}/{sandbox}/events?limit=1000")["items"]]
        assert kinds.count("sandbox.resumed") == 2


def test_many_calls_at_once_wake_it_once_and_are_all_answered(server, api):
    with api.sandbox(internet=False) as sandbox:
        for _ in range(5):
            api.post(f"{PATH}/{sandbox}/pause")
            said = []

            def call(number):
                mine = server.api()
                said.append(mine.exec(sandbox, f"echo {number}")["stdout"])
                mine.close()
            threads = [threading.Thread(target=call, args=(n,)) for n in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(30)
            assert sorted(said) == sorted(f"{n}\n" for n in range(8))
        kinds = [e["kind"] for e in api.get(f"{PATH}/{sandbox}/events?limit=1000")["items"]]
        assert kinds.count("sandbox.paused") == kinds.count("sandbox.resumed") == 5


def test_calls_that_race_with_pauses_are_all_answered(server, api):
    with api.sandbox(internet=False) as sandbox:
        stop, failures = threading.Event(), []

        def pauses():
            mine = server.api()
            while not stop.is_set():
                try:
                    mine.post(f"{PATH}/{sandbox}/pause")
                except atoll.ApiError as error:
                    failures.append(str(error))
                time.sleep(0.002)
            mine.close()
        thread = threading.Thread(target=pauses)
        thread.start()
        answered = 0
        try:
            # A pause may come down on a command that is under way: then it is another call that wakes it.
            waker = server.api(timeout=30)
            end = time.monotonic() + 3
            while time.monotonic() < end or answered <= 20:
                waker.post(f"{PATH}/{sandbox}/resume")
                answered += 1
            waker.close()
        finally:
            stop.set()
            thread.join(30)
        assert not failures
        assert api.exec(sandbox, "echo well")["stdout"] == "well\n"


def test_a_paused_one_is_stopped_and_deleted_with_all_that_runs(server, api):
    made = api.create(internet=False)["id"]
    start_counter(api, made)
    api.post(f"{PATH}/{made}/pause")
    assert api.post(f"{PATH}/{made}/stop")["state"] == "stopped"
    api.post(f"{PATH}/{made}/start")
    assert int(api.exec(made, "cat count")["stdout"]) > 0
    start_counter(api, made)
    api.post(f"{PATH}/{made}/pause")
    begun = time.monotonic()
    api.remove(made)
    assert time.monotonic() - begun < 30
    atoll.wait_for(lambda: made not in atoll.Host(server.data).files(), 30, "no files left")


def test_states_that_cannot_be_paused_say_so(api):
    with api.sandbox(internet=False) as sandbox:
        api.post(f"{PATH}/{sandbox}/stop")
        for verb in ("pause", "resume"):
            with pytest.raises(atoll.ApiError) as refused:
                api.post(f"{PATH}/{sandbox}/{verb}")
            assert refused.value.status == 409 and "stopped" in refused.value.message
        with pytest.raises(atoll.ApiError) as refused:
            api.exec(sandbox, "true")
        assert refused.value.status == 409


def test_the_host_provider_pauses_too(host_server):
    api = host_server.api()
    with api.sandbox() as sandbox:
        api.exec(sandbox, COUNTER, background=True)
        atoll.wait_for(lambda: api.exec(sandbox, "cat count 2>/dev/null || true")["stdout"].strip(), 30, "a count")
        count = host_server.data / "host-files" / sandbox / "count"
        api.post(f"{PATH}/{sandbox}/pause")
        before = count.read_text()
        time.sleep(0.3)  # the paused counter must not count during this time
        assert count.read_text() == before
        api.post(f"{PATH}/{sandbox}/resume")
        atoll.wait_for(lambda: count.read_text() not in (before, ""), 30, "it counts on")
        api.post(f"{PATH}/{sandbox}/pause")
    api.close()


def test_the_null_provider_answers():
    server = atoll.Server(provider="null").start()
    try:
        api = server.api()
        made = api.create()["id"]
        assert api.post(f"{PATH}/{made}/pause")["state"] == "paused"
        assert api.exec(made, "true")["exit_code"] == 0
        assert state_of(api, made) == "started"
    finally:
        server.remove_all()


# ---- idleness ----

@pytest.fixture(scope="module")
def quick_server():
    """Idleness takes a second here."""
    running = atoll.Server(environment={"SANDBOX_IDLE_TIMEOUT_MS": "700"}).start()
    yield running
    running.remove_all()


def test_an_idle_one_is_paused_and_the_next_call_resumes_it(quick_server):
    api = quick_server.api()
    with api.sandbox(internet=False, persistent=True) as sandbox:
        assert api.get(f"{PATH}/{sandbox}")["autoPauseMs"] == 700
        row = wait_state(api, sandbox, "paused")
        assert row["reason"] == "idle" and "idle" in row["last_event"]["text"]
        assert api.exec(sandbox, "echo here")["stdout"] == "here\n"
    api.close()


def test_idle_times_are_the_creators_the_templates_the_projects_or_the_servers(quick_server):
    """And the template's is what happens."""
    api = quick_server.api()
    settings = api.get("/api/sandbox/settings")
    assert settings["idle_pause_seconds"] == 0 and settings["idle_reap_seconds"] > 0
    api.post("/api/sandbox/templates", {"name": "patient", "from": "host", "idle": {"pause_ms": 400, "stop_ms": -1}})
    try:
        changed = api.call("PUT", "/api/sandbox/settings", {"idle_pause_seconds": -1, "idle_stop_seconds": 60, "idle_reap_seconds": 70})
        assert [changed[f"idle_{name}_seconds"] for name in ("pause", "stop", "reap")] == [-1, 60, 70]

        def times(**options):
            with api.sandbox(internet=False, **options) as made:
                row = api.get(f"{PATH}/{made}")
                return row["autoPauseMs"], row["autoStopMs"], row["idle_reap_ms"]
        assert times() == (0, 60000, 70000)
        assert times(template="patient") == (400, 0, 70000)
        assert times(template="patient", autoPauseMs=-1, autoStopMs=5000, idle_reap_ms=6000) == (0, 5000, 6000)
        with api.sandbox(internet=False, template="patient") as made:
            assert wait_state(api, made, "paused")["reason"] == "idle"
        # one member replaces one
        done = quick_server.cli("template", "set", "--idle-reap", "2m", "--idle-pause", "never", "patient")
        assert done.returncode == 0, done
        assert api.get("/api/sandbox/templates/patient")["idle"] == {
            "pause_ms": -1, "stop_ms": -1, "reap_ms": 120000, "lifetime_max_ms": 0}
        assert quick_server.cli("template", "set", "--clear", "idle", "patient").returncode == 0
        assert set(api.get("/api/sandbox/templates/patient")["idle"].values()) == {0}
        for words, hint in ((("--idle-reap", "never"), b"cannot be 'never'"), (("--idle-pause", "5ms"), b"whole seconds")):
            refused = quick_server.cli("settings", "set", *words)
            assert refused.returncode == 122 and hint in refused.stderr
        with pytest.raises(atoll.ApiError) as refused:
            api.call("PATCH", "/api/sandbox/templates/patient", {"idle": {"stop_ms": -2}})
        assert refused.value.status == 400 and "stop_ms" in refused.value.message
    finally:
        assert quick_server.cli("settings", "set", "--idle-pause", "0s", "--idle-stop", "0s", "--idle-reap", "0s").returncode == 0
        api.delete("/api/sandbox/templates/patient")
    assert api.get("/api/sandbox/settings") == settings


def test_work_keeps_it_awake_and_looking_at_it_does_not(quick_server):
    api = quick_server.api()
    with api.sandbox(internet=False) as busy, api.sandbox(internet=False) as watched, \
            api.sandbox(internet=False) as attended:
        api.exec(busy, "sleep 1000", background=True)
        streaming = quick_server.api()
        response = streaming.open("POST", f"{PATH}/{attended}/exec?stream=sse", {"command": "sleep 1000"})
        wait_state(api, watched, "paused")  # asked for again and again
        time.sleep(2)  # neither may be paused during this time
        assert state_of(api, busy) == state_of(api, attended) == "started"
        response.close()
        streaming.close()
    api.close()


def test_never_longer_and_kept_awake_are_heeded(quick_server):
    api = quick_server.api()
    with api.sandbox(internet=False, autoPauseMs=-1) as never, api.sandbox(internet=False, autoPauseMs=600000) as longer, \
            api.sandbox(internet=False) as kept, api.sandbox(internet=False) as persisted, \
            api.sandbox(internet=False) as plain:
        assert api.post(f"{PATH}/{kept}/keepalive", {"timeoutMs": 60000})["awake_until"]
        assert api.post(f"{PATH}/{persisted}/persist", {"hours": 24})["awake_until"]
        for one in (kept, persisted):
            api.exec(one, "true")  # had they been idle before
        wait_state(api, plain, "paused")
        time.sleep(1)  # none may be paused during this time
        assert {state_of(api, s) for s in (never, longer, kept, persisted)} == {"started"}
        assert api.post(f"{PATH}/{persisted}/persist", {"hours": 0})["awake_until"] is None
        wait_state(api, persisted, "paused")
    api.close()


def test_a_longer_idleness_stops_it_and_its_next_use_starts_it(quick_server):
    api = quick_server.api()
    with api.sandbox(internet=False, persistent=True, autoStopMs=2000) as sandbox:
        api.write(sandbox, "kept", b"kept")
        wait_state(api, sandbox, "paused")
        row = wait_state(api, sandbox, "stopped")
        assert row["reason"] == "idle"
        assert api.read(sandbox, "kept") == b"kept"
        assert state_of(api, sandbox) in ("started", "paused")  # it may be idle again
        api.post(f"{PATH}/{sandbox}/stop")
        with pytest.raises(atoll.ApiError) as refused:  # its user's word is not undone
            api.exec(sandbox, "true")
        assert refused.value.status == 409
    api.close()


def test_a_stopped_one_is_deleted_in_its_time(quick_server):
    api = quick_server.api()
    made = api.create(internet=False, persistent=True, autoPauseMs=-1, autoDeleteMs=500)["id"]
    time.sleep(1.5)  # three times its limit: a running sandbox must stay
    assert state_of(api, made) == "started"
    api.post(f"{PATH}/{made}/stop")

    def gone():
        try:
            return not state_of(api, made)
        except atoll.ApiError as error:
            return error.status == 404
    atoll.wait_for(gone, 20, "deleted")
    api.close()


@pytest.mark.parametrize("body,word", [
    ({"autoPauseMs": -2}, "autoPauseMs"),
    ({"autoStopMs": "soon"}, "autoStopMs"),
    ({"autoArchive": True}, "autoArchive"),
    ({"autoArchive": 60000}, "autoArchive"),
])
def test_bad_times_are_refused_by_name(api, body, word):
    with pytest.raises(atoll.ApiError) as refused:
        api.create(internet=False, **body)
    assert 400 <= refused.value.status < 502 and word in refused.value.message + refused.value.hint


@pytest.mark.parametrize("verb,body", [
    ("keepalive", {}), ("keepalive", {"timeoutMs": 0}), ("keepalive", {"timeoutMs": 24 * 3600 * 1000 + 1}),
    ("persist", {"hours": 25}), ("persist", {"hours": -1}),
])
def test_a_sandbox_is_kept_for_a_day_at_most(api, box, verb, body):
    with pytest.raises(atoll.ApiError) as refused:
        api.post(f"{PATH}/{box}/{verb}", body)
    assert refused.value.status == 400


# ---- hooks ----

def put_hook(api, sandbox, name, text):
    api.exec(sandbox, "mkdir -p /etc/atoll/hooks", user="root")
    api.exec(sandbox, f"cat > /etc/atoll/hooks/{name} && chmod 755 /etc/atoll/hooks/{name}", user="root", stdin=text)


def test_hooks_run_as_root_and_their_failure_is_an_event(api):
    with api.sandbox(internet=False, persistent=True) as sandbox:
        put_hook(api, sandbox, "after-resume", "#!/bin/sh\nid -u > /var/tmp/resumed\n")
        put_hook(api, sandbox, "before-stop", "#!/bin/sh\necho bye > /var/tmp/stopped\nexit 7\n")
        api.post(f"{PATH}/{sandbox}/pause")
        assert api.post(f"{PATH}/{sandbox}/resume")["last_event"]["text"] == "resumed"
        assert api.exec(sandbox, "cat /var/tmp/resumed")["stdout"] == "0\n"
        api.post(f"{PATH}/{sandbox}/pause")
        row = api.post(f"{PATH}/{sandbox}/stop")
        assert row["state"] == "stopped" and row["last_event"]["text"] == "stopped; hook before-stop exited with 7"
        api.post(f"{PATH}/{sandbox}/start")
        assert api.exec(sandbox, "cat /var/tmp/stopped")["stdout"] == "bye\n"


def test_a_hook_that_hangs_is_ended_and_the_stop_goes_on(api):
    with api.sandbox(internet=False) as sandbox:
        put_hook(api, sandbox, "before-stop", "#!/bin/sh\nsleep 1000\n")
        begun = time.monotonic()
        row = api.post(f"{PATH}/{sandbox}/stop")
        assert row["state"] == "stopped" and "in time" in row["last_event"]["text"]
        assert 9 < time.monotonic() - begun < 25


# ---- who dies meanwhile ----

@pytest.mark.parametrize("role", ["broker", "api"])
def test_a_paused_one_outlives_our_processes(private_server, role):
    private_server.start()
    api = private_server.api()
    made = api.create(internet=False)["id"]
    start_counter(api, made)
    api.post(f"{PATH}/{made}/pause")
    private_server.kill9(role)
    private_server.wait_ready()
    api = private_server.api()

    def still_paused():
        try:
            return state_of(api, made) == "paused"
        except (OSError, atoll.ApiError):
            return False
    atoll.wait_for(still_paused, 30, "paused as before")

    def its_cpu():
        with contextlib.suppress(OSError, atoll.ApiError):
            return cpu_of(api, made)
        return None
    before = atoll.wait_for(its_cpu, 30, "stats of the new broker")
    time.sleep(0.3)  # a paused sandbox must use no processor during this time
    assert cpu_of(api, made) == before
    assert int(api.exec(made, "cat count")["stdout"] or 0) > 0
    api.remove(made)
    atoll.Host(private_server.data).wait_clean()


def test_one_whose_agent_is_killed_while_it_is_paused_is_noticed(private_server):
    private_server.start()
    api = private_server.api()
    made = api.create(internet=False, persistent=True)["id"]
    api.post(f"{PATH}/{made}/pause")
    state = (private_server.data / "run" / "sandboxes" / made / "state").read_text().split()
    os.kill(int(state[2]), signal.SIGKILL)
    # It cannot die before somebody lets it: a resume does, or a stop.
    api.post(f"{PATH}/{made}/stop")
    assert wait_state(api, made, "stopped")
    api.remove(made)


# ---- the command line ----

def test_the_command_line_pauses_and_resumes(server, api):
    with api.sandbox(internet=False) as sandbox:
        done = server.cli("pause", sandbox)
        assert (done.returncode, done.stdout.decode().strip()) == (0, sandbox)
        listed = json.loads(server.cli("ps", "--json").stdout)
        rows = listed["items"] if isinstance(listed, dict) else listed
        assert [r["state"] for r in rows if r["id"] == sandbox] == ["paused"]
        assert server.cli("resume", sandbox, "--json").stdout.decode().strip() == '{"resumed":1,"failed":0}'
        assert state_of(api, sandbox) == "started"
    assert server.cli("pause").returncode != 0
