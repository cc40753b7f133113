# SPDX-License-Identifier: Apache-2.0
"""kill -9 of warm interpreters, of what they are forked from and of the agent while calls run: the caller gets the cold result or
a clear error, and nothing is left. docs/use/warm.md."""

import contextlib
import os
import pathlib
import signal
import threading
import time

import pytest

import atoll
from test_kills import clean_after, named_steps

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/templates"
STEPS = [step for step in named_steps("agent", r'fault_point\("agent", ') if step.startswith("warm-")]
LANGUAGES = [name for name, program in (("python", "python3"), ("javascript", "node")) if os.path.exists(f"/usr/bin/{program}")]
CODE = {
    "python": {"say": "print('said')", "wait": "import time; print('begun', flush=True); time.sleep(60); print('over')"},
    "javascript": {"say": "console.log('said')", "wait": "console.log('begun'); setTimeout(() => console.log('over'), 60000)"},
}


def make_template(api):
    api.post(PATH, {"name": "warm", "from": "host",
                    "warm": [{"language": name} for name in LANGUAGES]})


def call(api, sandbox, language, what, **options):
    return api.post(f"/api/sandbox/instances/{sandbox}/code", {"language": language, "code": CODE[language][what], **options})


def wait_warm(server, api, sandbox, language):
    atoll.wait_for(lambda: call(api, sandbox, language, "say").get("warm") or time.sleep(0.2), 30, "a warm interpreter")
    # And the next one: of Python what it is forked from, its keeper and itself.
    atoll.wait_for(lambda: len(waiting_for(server, language)) >= (3 if language == "python" else 1), 30, "the next one")


def interpreters(server):
    """pid: arguments, of those below the server's agents that wait or run."""
    parents, known, found = {}, set(atoll.Host(server.data).agents()), {}
    for path in atoll.proc_files("stat"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            parents[int(path.parent.name)] = int(path.read_text().rsplit(")", 1)[1].split()[1])
    for _ in range(4):
        known |= {pid for pid, parent in parents.items() if parent in known}
    for pid in sorted(known):
        with contextlib.suppress(OSError):
            line = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
            if "atoll_warm" in line:
                found[pid] = line
    return found


def waiting_for(server, language):
    return [pid for pid, line in interpreters(server).items() if line.startswith("python3") == (language == "python")]


def first_of(pids):
    """What the others were forked from has begun before them. Numbers of processes begin anew now and then: it need not have the least."""
    return min(pids, key=lambda pid: int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]))


def kill(pids):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@contextlib.contextmanager
def served(server):
    server.start()
    api = server.api(timeout=30)
    make_template(api)
    made = api.create(template="warm", internet=False)["id"]
    yield api, made
    api.close()


def test_all_that_waits_is_killed_again_and_again(private_server):
    """Every call has its result, cold or warm, whenever the kill comes."""
    with served(private_server) as (api, made):
        for language in LANGUAGES:
            wait_warm(private_server, api, made, language)
            for round_ in range(6):
                killer = threading.Timer(0.002 * round_, kill, [waiting_for(private_server, language)])
                killer.start()
                result = call(api, made, language, "say")
                killer.join()
                # One that had begun was the call itself.
                assert result["stdout"] == "said\n" or (result.get("warm") and result["signal"] == "SIGKILL"), result
        api.remove(made)
    clean_after(private_server)


def die_with_a_call(server, api, made, language):
    waiting = waiting_for(server, language)
    for pid in waiting:
        os.kill(pid, signal.SIGSTOP)
    results = []
    caller = threading.Thread(target=lambda: results.append(call(api, made, language, "say")))
    caller.start()
    processes = f"/api/sandbox/instances/{made}/processes"
    with contextlib.closing(server.api(timeout=30)) as other:
        atoll.wait_for(lambda: results or any(p["state"] == "running" for p in other.get(processes)["items"]), 30, "the call")
    kill(waiting)
    caller.join(20)
    return results


def test_one_that_dies_with_a_call_that_it_has_not_begun(private_server):
    """It stands still when the call is given to it, and dies then: the call is executed."""
    with served(private_server) as (api, made):
        for language in LANGUAGES:
            wait_warm(private_server, api, made, language)
            results = die_with_a_call(private_server, api, made, language)
            assert results and results[0]["stdout"] == "said\n" and "warm" not in results[0]
            wait_warm(private_server, api, made, language)
        api.remove(made)
    clean_after(private_server)


def start_warm(server, api, made, language):
    """What waited, and a call that it runs. Where the machine was too busy for the next one to be ready in time: once more."""
    def begin():
        waiting = waiting_for(server, language)
        started = call(api, made, language, "wait", background=True)
        return started.get("warm") and (waiting, started) or time.sleep(1.2)
    return atoll.wait_for(begin, 30, "a call that is warm")


def kill_what_runs(server, api, made, language):
    waiting, started = start_warm(server, api, made, language)
    base = f"/api/sandbox/instances/{made}/processes/{started['process']}"
    logs = f"/api/sandbox/instances/{made}/logs?process={started['process']}"
    atoll.wait_for(lambda: "begun" in api.raw("GET", logs).body.decode(), 30, "its beginning")
    if language == "python":
        # What it was forked from goes first: the call goes on.
        kill([first_of(waiting)])
        time.sleep(0.2)
        assert api.get(base)["state"] == "running"
    inside = api.get(base)["pid"]
    for pid in interpreters(server):
        with contextlib.suppress(OSError):
            if f"NSpid:\t{pid}\t{inside}\n" in pathlib.Path(f"/proc/{pid}/status").read_text():
                kill([pid])
    atoll.wait_for(lambda: api.get(base)["state"] != "running", 30, "its end")
    assert api.get(base)["signal"] == "SIGKILL" and "over" not in api.raw("GET", logs).body.decode()


def test_the_one_that_runs_is_killed(private_server):
    with served(private_server) as (api, made):
        for language in LANGUAGES:
            wait_warm(private_server, api, made, language)
            kill_what_runs(private_server, api, made, language)
            assert call(api, made, language, "say")["stdout"] == "said\n"
        api.remove(made)
    clean_after(private_server)


def test_the_steps_are_known():
    assert STEPS == ["warm-begun", "warm-ended", "warm-given"]


def call_until_it_fails(api, made, language):
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            assert call(api, made, language, "say")["stdout"] == "said\n"
        except atoll.ApiError as error:
            return error
        time.sleep(0.2)
    raise AssertionError("the agent never came to the step")


@pytest.mark.parametrize("step", STEPS)
def test_the_agent_dies_at_a_step_of_a_call(private_server, step):
    """The caller is told, the sandbox has ended with a reason, nothing of it runs on."""
    private_server.environment["ATOLL_FAULT"] = f"agent:{step}:kill"
    with served(private_server) as (api, made):
        for language in LANGUAGES:
            made = made or api.create(template="warm", internet=False)["id"]
            failure = call_until_it_fails(api, made, language)
            assert failure.status in (409, 410, 500, 502, 503) and failure.message, failure
            atoll.wait_for(lambda: api.get(f"/api/sandbox/instances/{made}")["state"] != "started", 30, "the sandbox's end")
            assert not interpreters(private_server)
            api.remove(made)
            made = None
    clean_after(private_server)
