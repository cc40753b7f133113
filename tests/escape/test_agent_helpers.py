# SPDX-License-Identifier: Apache-2.0
"""Root inside attacks the processes that work for its agent: file workers, keepers of commands, the standby process. It may break its own
calls, which end by their deadlines, and nothing else: the agent goes on, and a neighbour notices nothing."""

import contextlib
import http.client
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
ANSWER_S = 2
# Does something to each process of the agent's but process 1 and its own keeper, until there is a file.
ATTACK = """import os, resource, signal, sys
def prlimit(what):
    return lambda pid: resource.prlimit(pid, what, (0, 0))
def write(name, text):
    def act(pid):
        with open(f"/proc/{pid}/{name}", "w") as file: file.write(text)
    return act
acts = {
    "kill": lambda pid: os.kill(pid, signal.SIGKILL), "stop": lambda pid: os.kill(pid, signal.SIGSTOP),
    "terminate": lambda pid: os.kill(pid, signal.SIGTERM),
    "files": prlimit(resource.RLIMIT_NOFILE), "size": prlimit(resource.RLIMIT_FSIZE), "memory": prlimit(resource.RLIMIT_AS),
    "seconds": prlimit(resource.RLIMIT_CPU), "stack": prlimit(resource.RLIMIT_STACK),
    "nice": lambda pid: os.setpriority(os.PRIO_PROCESS, pid, 19), "score": write("oom_score_adj", "1000"),
    "clear": write("clear_refs", "1"), "cpus": lambda pid: os.sched_setaffinity(pid, {0}),
    "class": lambda pid: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)),
}
act, own, did = acts[sys.argv[1].split()[0]], (1, os.getpid(), os.getppid()), 0
print("begun", flush=True)
while sys.argv[1] == "stop all" and not os.path.exists("/tmp/over"):
    for i in range(1000):
        os.kill(-1, signal.SIGSTOP)
while not os.path.exists("/tmp/over"):
    for name in os.listdir("/proc"):
        try:
            if not name.isdigit() or int(name) in own: continue
            with open(f"/proc/{name}/comm") as file:
                if not file.read().startswith("atoll-"): continue
            act(int(name))
            did += 1
        except OSError: pass
print(did)
"""
KINDS = ["kill", "stop", "stop all", "terminate", "files", "size", "memory", "seconds", "stack", "nice", "score", "clear", "cpus", "class"]


@pytest.fixture(scope="module")
def server():
    running = atoll.Server(flags=["--agent-timeout", f"{ANSWER_S}s"]).start()
    yield running
    running.remove_all()


@contextlib.contextmanager
def under_attack(api, box, kind):
    """Yields when it has begun. No call of this needs a file worker, which the attack may break."""
    made = api.exec(box, cmd="/usr/bin/python3", args=["-Sc", ATTACK, kind], user="root", background=True)["process"]
    atoll.wait_for(lambda: any(row["process"] == made and row["stdout_bytes"] > 0 for row in api.get(f"{PATH}/{box}/processes")["items"]),
                   60, "the attack begins")
    try:
        yield
    finally:
        api.delete(f"{PATH}/{box}/processes/{made}")


@pytest.mark.parametrize("kind", KINDS)
def test_calls_end_in_time_and_only_those_of_the_sandbox_suffer(server, api, kind):
    with api.sandbox(internet=False) as box, api.sandbox(internet=False) as neighbour:
        api.write(box, "/home/user/file", b"x" * 100000)
        score = api.exec(box, "cat /proc/1/oom_score_adj", user="root")["stdout"]
        with under_attack(api, box, kind):
            statuses, own = [], server.api(timeout=ANSWER_S + 6)
            for method, path, body in [("GET", "files?path=/etc", None), ("GET", "files/content?path=/home/user/file", None),
                                       ("PUT", "files/content?path=/home/user/new", b"y" * 100000), ("GET", "processes", None),
                                       ("POST", "exec", {"command": "true", "timeout_ms": 1000})] * 2:
                begun = time.monotonic()
                headers = {"Content-Type": "application/octet-stream"} if isinstance(body, bytes) else {}
                try:
                    answer = own.raw(method, f"{PATH}/{box}/{path}", body, headers)
                except (ConnectionError, http.client.HTTPException):  # a reply that had begun was cut
                    assert path.startswith("files") and method == "GET", (kind, path)
                    own.close()
                    answer = None
                statuses.append(answer.status if answer else 0)
                assert time.monotonic() - begun < ANSWER_S + 8, (kind, path, statuses)
                begun = time.monotonic()
                assert api.get(f"{PATH}/{neighbour}/files?path=/etc")["items"]
                assert time.monotonic() - begun < 5
                if not answer:
                    continue
                # A worker that may open no file finds no user, and one may be left no size of files.
                assert answer.status in (200, 201, 404, 413, 429, 500, 502, 503, 504), (kind, path, answer.body)
                if answer.status >= 400:
                    assert answer.json(), path
            own.close()
            assert statuses[3] == 200, "the agent lists its commands itself"
        # After it everything works, and process 1 is as it was.
        assert atoll.wait_for(lambda: api.raw("GET", f"{PATH}/{box}/files?path=/etc").status == 200, 10 if kind.startswith("stop") else 20, "a listing")
        assert api.read(box, "/home/user/file") == b"x" * 100000
        atoll.wait_for(lambda: api.exec(box, "cat /proc/1/oom_score_adj", user="root")["stdout"] == score, 20, "the score of process 1")
        assert api.get(f"{PATH}/{box}")["state"] == "started"


# Gives the agent, by way of its keepers, the highest score for a kill by memory, and itself the lowest; then it takes all the memory.
TAKE_MEMORY = """import os
def score(pid, text):
    with open(f"/proc/{pid}/oom_score_adj", "w") as file: file.write(text)
score("self", "0")
if os.fork() == 0:
    own = str(os.getppid()), str(os.getpid()), "1"
    while True:
        for name in os.listdir("/proc"):
            if not name.isdigit() or name in own: continue
            try:
                with open(f"/proc/{name}/comm") as file:
                    if file.read().startswith("atoll-"): score(name, "1000")
            except OSError: pass
taken = []
while True: taken.append(bytearray(b"x" * 1000000))
"""


def test_root_that_takes_all_memory_ends_at_most_its_own_sandbox(server, api):
    """The kernel may choose the agent then (docs/decisions/agent-is-out-of-reach.md). The server says why the sandbox ended, and starts it again with its files."""
    with api.sandbox(internet=False, persistent=True, resources={"memory_mb": 128}) as box, api.sandbox(internet=False) as neighbour:
        api.write(box, "/home/user/file", b"kept")
        for _ in range(5):
            try:
                assert api.exec(box, cmd="/usr/bin/python3", args=["-Sc", TAKE_MEMORY], user="root", timeout_ms=20000)["signal"] == "SIGKILL"
            except atoll.ApiError as ended:
                assert ended.status == 503, ended
                row = atoll.wait_for(lambda: (row := api.get(f"{PATH}/{box}"))["state"] != "started" and row, 20, "the end of the sandbox")
                assert row["state"] == "stopped" and row["reason"] == "oom", row
                api.post(f"{PATH}/{box}/start")
            assert api.get(f"{PATH}/{neighbour}/files?path=/etc")["items"]
        assert api.read(box, "/home/user/file") == b"kept"
        assert api.exec(box, "echo works")["stdout"] == "works\n"
