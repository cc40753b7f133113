# SPDX-License-Identifier: Apache-2.0
"""No tenant slows another: calls into agents run under shares, and every queue takes projects in turn."""

import contextlib
import json
import os
import pathlib
import signal
import threading
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"


class Tenant:
    """A project with a key of its own."""

    def __init__(self, server, name):
        admin = server.api()
        project = admin.post("/v1/projects", {"name": f"{name}-{time.time_ns()}"})["id"]
        self.key = admin.call("POST", "/api/sandbox/keys", {"name": name}, {"X-Atoll-Project": project})["key"]
        admin.close()
        self.server = server
        self.api = self.open()

    def open(self, timeout=60):
        return self.server.api(self.key, timeout=timeout)

    @contextlib.contextmanager
    def repeat(self, count, method, path, body=None):
        """Makes the call by `count` connections again and again; yields the list of the statuses seen."""
        statuses, ends = [], threading.Event()

        def work():
            api = self.open()
            while not ends.is_set():
                with contextlib.suppress(OSError):
                    statuses.append(api.raw(method, path, body).status)
            api.close()
        threads = [threading.Thread(target=work, daemon=True) for _ in range(count)]
        for thread in threads:
            thread.start()
        try:
            yield statuses
        finally:
            ends.set()
            for thread in threads:
                thread.join(90)


@pytest.fixture
def loud(server):
    return Tenant(server, "loud")


@pytest.fixture
def quiet(server):
    return Tenant(server, "quiet")


def agent_of(api, sandbox):
    """The host's number of the sandbox's process 1."""
    marker = f"sleep 2{time.monotonic_ns()}"
    api.exec(sandbox, marker, background=True)
    pid = atoll.wait_for(lambda: atoll.first_process(marker), 15, "a process of the sandbox")
    while "atoll-agent" not in pathlib.Path(f"/proc/{pid}/comm").read_text():
        pid = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    return pid


@contextlib.contextmanager
def stopped(pid):
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def slowest(call, count):
    """Seconds that the slowest of so many calls took."""
    worst = 0
    for _ in range(count):
        start = time.monotonic()
        call()
        worst = max(worst, time.monotonic() - start)
    return worst


def metric(server, line):
    text = server.api().raw("GET", "/metrics").body.decode()
    return float(next(row.rsplit(" ", 1)[1] for row in text.splitlines() if row.startswith(line)))


def test_an_agent_that_stands_still_costs_only_its_own_callers(server, loud, quiet):
    with loud.api.sandbox(internet=False) as hung, loud.api.sandbox(internet=False) as other, quiet.api.sandbox(internet=False) as box:
        agent = agent_of(loud.api, hung)
        list_files = f"{PATH}/%s/files?path=/etc"
        quiet.api.get(list_files % box)
        with loud.repeat(40, "GET", f"{PATH}/{hung}/processes"), stopped(agent):
            atoll.wait_for(lambda: metric(server, 'atoll_workers{lane="agent",state="waiting"}') > 20, 10, "calls that wait")
            # All that wait for the agent are four: of another project, and of the same key in another sandbox, nothing waits.
            assert metric(server, 'atoll_workers{lane="agent",state="running"}') <= 12
            assert metric(server, 'atoll_workers{lane="fast",state="running"}') <= 2
            assert slowest(lambda: quiet.api.get(list_files % box), 20) < 0.5
            assert slowest(lambda: loud.api.get(list_files % other), 20) < 0.5
            assert slowest(lambda: quiet.api.exec(box, "true"), 10) < 1


def test_an_agent_that_does_not_answer_is_marked_until_it_does(private_server):
    private_server.flags += ["--agent-timeout", "500ms"]
    server = private_server.start()
    api = server.api()
    with api.sandbox(internet=False) as hung, api.sandbox(internet=False) as well:
        agent = agent_of(api, hung)
        unresponsive = f"{PATH}/{hung}/processes"

        def is_marked():
            return api.get(f"{PATH}/{hung}")["agent"] == "unresponsive"
        with stopped(agent):
            misses = [api.raw("GET", unresponsive).status for _ in range(3)]
            assert set(misses) == {504} and is_marked() and api.get(f"{PATH}/{well}")["agent"] == "ok"
            shown = {line.split()[0]: line for line in server.cli("ps").stdout.decode().splitlines()}
            assert "started (unresponsive)" in shown[hung] and "unresponsive" not in shown[well]
            agents = {row["id"]: row["agent"] for row in json.loads(server.cli("ps", "--json").stdout)}
            assert agents == {hung: "unresponsive", well: "ok"}
            refused = {}

            def listing():
                answer = api.raw("GET", unresponsive)
                refused[answer.status] = answer.body.decode()
            assert slowest(listing, 5) < 0.25
            assert f"the agent of sandbox '{hung}' has not answered for" in refused[503] and "stop or delete" in refused[503]
            assert slowest(lambda: api.exec(well, "true"), 5) < 1
            assert metric(server, "atoll_agents_unresponsive ") == 1
            atoll.wait_for(lambda: api.get(f"/v1/events?sandbox={hung}&kind=sandbox.unresponsive")["items"], 10, "an event")
            # Behind a probe that got no answer calls rest: a command is refused as well.
            atoll.wait_for(lambda: api.raw("GET", unresponsive).status == 504, 5, "a probe")
            assert api.raw("POST", f"{PATH}/{hung}/exec", {"command": "true"}).status == 503
        atoll.wait_for(lambda: api.raw("GET", unresponsive).status == 200, 10, "an answer after the probe")
        assert not is_marked() and metric(server, "atoll_agents_unresponsive ") == 0
        assert len(api.get(f"/v1/events?sandbox={hung}&kind=sandbox.unresponsive")["items"]) == 1
        assert api.exec(hung, "true")["exit_code"] == 0


def test_480_busy_processes_and_40_listings_do_not_slow_another_project(server, loud, quiet):
    with loud.api.sandbox(internet=False, resources={"pids": 600}) as noisy, quiet.api.sandbox(internet=False) as box:
        loud.api.exec(noisy, "for i in $(seq 480); do (while :; do :; done) & done; wait", background=True)
        quiet.api.get(f"{PATH}/{box}/files?path=/etc")
        with loud.repeat(40, "GET", f"{PATH}/{noisy}/processes") as statuses:
            atoll.wait_for(lambda: len(statuses) > 100, 60, "listings of processes")
            assert slowest(lambda: quiet.api.get(f"{PATH}/{box}/files?path=/etc"), 50) < 0.5
            loud.open().raw("DELETE", f"{PATH}/{noisy}")
        assert set(statuses) <= {200, 404, 409, 429, 503, 504}, set(statuses)


def all_at_once(count, call):
    """The results of so many calls, each on a thread of its own, which begin together."""
    results, gate = [None] * count, threading.Barrier(count)

    def work(i):
        gate.wait()
        try:
            results[i] = call(i)
        except OSError as failure:
            results[i] = repr(failure)
    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return results


def test_500_commands_of_one_key_at_once_take_turns(server, loud):
    with loud.api.sandbox(internet=False, resources={"pids": 1000}) as box:
        def run(_):
            api = loud.open(timeout=120)
            status = api.raw("POST", f"{PATH}/{box}/exec", {"cmd": "/bin/true"}).status
            api.close()
            return status
        assert all_at_once(500, run) == [200] * 500
    assert metric(server, "atoll_requests_waiting ") == 0


def test_creates_and_deletes_of_one_key_take_turns(private_server):
    private_server.flags += ["--requests-per-key-max", "2"]
    server = private_server.start()
    key = server.key

    def cycle(_):
        api = server.api(key)
        made = api.raw("POST", PATH, {"template": "host", "internet": False})
        ended = api.raw("DELETE", f"{PATH}/{made.json()['id']}") if made.status == 201 else made
        api.close()
        return made.status, ended.status
    assert set(all_at_once(12, cycle)) == {(201, 204)}


def test_uploads_past_the_limit_of_a_key_wait_or_are_told_so(private_server):
    private_server.flags += ["--requests-per-key-max", "2", "--requests-waiting-per-key-max", "6", "--request-wait", "20s"]
    server = private_server.start()
    data = os.urandom(1 << 20) * 20
    with server.api().sandbox(internet=False) as box:
        def upload(i):
            api = server.api(server.key)
            status = api.raw("PUT", f"{PATH}/{box}/files/content?path=/tmp/f{i}", data, {"Content-Type": "application/octet-stream"}).status
            api.close()
            return status
        statuses = all_at_once(24, upload)
        # Each gets an answer: those in a place or in the queue are stored, the others are refused, and not by a broken pipe.
        assert set(statuses) <= {200, 201, 204, 429}, statuses
        assert statuses.count(429) <= 16 and statuses.count(429) > 0, statuses


DELETES = 400  # so many wait long enough that a look at the metrics finds them


def test_deletes_of_one_project_do_not_delay_a_create_of_another(server, loud, quiet):
    made = [loud.api.create(internet=False)["id"] for _ in range(DELETES)]
    quiet.api.remove(quiet.api.create(internet=False)["id"])
    deletes = threading.Thread(target=all_at_once, args=(DELETES, lambda i: loud.open().raw("DELETE", f"{PATH}/{made[i]}").status))
    start = time.monotonic()
    deletes.start()
    atoll.wait_for(lambda: metric(server, 'atoll_workers{lane="slow",state="waiting"}') > 40, 10, "deletes that wait")
    start_of_create = time.monotonic()
    box = quiet.api.create(internet=False)["id"]
    took = time.monotonic() - start_of_create
    deletes.join()
    # In one queue it would be made after the deletes.
    assert took < (time.monotonic() - start) / 2, (took, time.monotonic() - start)
    quiet.api.remove(box)
