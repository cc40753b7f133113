# SPDX-License-Identifier: Apache-2.0
"""What several projects can hold together: threads for calls of minutes and for work on files, connections."""

import contextlib
import os
import socket
import threading
import time

import pytest

import atoll
from test_fairness import PATH, Tenant, agent_of, metric, stopped

pytestmark = pytest.mark.needs_root
AGENT_TIMEOUT_S = 60  # so long a call waits for a stopped agent
BOUND_S = 30
FLAGS = ["--workers", "4", "--agent-calls-max", "16", "--agent-calls-per-project-max", "4", "--agent-timeout", f"{AGENT_TIMEOUT_S}s"]


@pytest.fixture(scope="module")
def small():
    """A server with few threads, whose agents may take long."""
    running = atoll.Server(flags=FLAGS).start()
    yield running
    running.remove_all()


@pytest.fixture
def quiet(small):
    return Tenant(small, "quiet")


def processes_of(agent):
    """The agent and all other processes of its sandbox: helpers of the agent answer calls for files."""
    space, found = os.readlink(f"/proc/{agent}/ns/pid"), []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            found += [int(pid)] if os.readlink(f"/proc/{pid}/ns/pid") == space else []
    return found


@contextlib.contextmanager
def held_by(agents, calls):
    """Makes each call (tenant, method, path, body) on a thread of its own while these agents are stopped; yields the statuses of
    those that have ended."""
    statuses = []

    def make(tenant, *request):
        api = tenant.open(timeout=4 * AGENT_TIMEOUT_S)
        with contextlib.suppress(OSError):
            statuses.append(api.raw(*request).status)
        api.close()
    threads = [threading.Thread(target=make, args=call, daemon=True) for call in calls]
    try:
        with contextlib.ExitStack() as stops:
            for agent in agents:
                for pid in processes_of(agent):
                    stops.enter_context(stopped(pid))
            for thread in threads:
                thread.start()
            yield statuses
    finally:
        for thread in threads:
            thread.join(4 * AGENT_TIMEOUT_S)


def in_lanes(server, *lanes):
    """Tasks that run or wait there; a server without such a lane has none."""
    text = server.api().raw("GET", "/metrics").body.decode()
    rows = [row for row in text.splitlines() if any(row.startswith(f'atoll_workers{{lane="{lane}"') for lane in lanes)]
    return sum(float(row.rsplit(" ", 1)[1]) for row in rows)


def timed(call):
    begun = time.monotonic()
    call()
    return time.monotonic() - begun


def test_long_calls_of_four_projects_leave_threads_for_calls_of_a_fifth(small, quiet):
    loud = [Tenant(small, f"loud{i}") for i in range(4)]
    with contextlib.ExitStack() as ends:
        own = ends.enter_context(quiet.api.sandbox(internet=False))
        boxes = [ends.enter_context(tenant.api.sandbox(internet=False)) for tenant in loud]
        calls = []
        for tenant, box in zip(loud, boxes):
            clone = ("POST", f"{PATH}/{box}/git/clone", {"url": "https://127.0.0.1/x", "path": "/tmp/x"})
            calls += [(tenant, *clone)] * 4
        agents = [agent_of(tenant.api, box) for tenant, box in zip(loud, boxes)]
        ends.enter_context(held_by(agents, calls))
        atoll.wait_for(lambda: in_lanes(small, "agent", "long") >= 16, 30, "calls that are held")
        # A call that finds no thread for agent_wait is refused.
        assert quiet.api.get(f"{PATH}/{own}/files?path=/etc")
        assert quiet.api.exec(own, "echo well")["stdout"] == "well\n"
        assert in_lanes(small, "agent", "long") >= 16


def revert(tenant, box):
    """A call that waits for the box's agent as long as that may take."""
    return tenant, "POST", f"{PATH}/{box}/changes/revert", {"paths": ["/var/tmp/new"]}


def test_work_on_files_does_not_hold_up_creates_pauses_and_deletes_of_others(small, quiet):
    loud = Tenant(small, "loud")
    with contextlib.ExitStack() as ends:
        boxes = [ends.enter_context(loud.api.sandbox(internet=False)) for _ in range(3)]
        for box in boxes:
            loud.api.exec(box, "touch /var/tmp/new")
        agents = [agent_of(loud.api, box) for box in boxes]
        statuses = ends.enter_context(held_by(agents, [revert(loud, box) for box in boxes * 3]))
        atoll.wait_for(lambda: in_lanes(small, "slow", "files") >= 2, 30, "calls that are held")
        for _ in range(2):
            begun = time.monotonic()
            box = quiet.api.create(internet=False)["id"]
            assert time.monotonic() - begun < BOUND_S
            assert timed(lambda: quiet.api.post(f"{PATH}/{box}/pause")) < BOUND_S
            assert timed(lambda: quiet.api.post(f"{PATH}/{box}/snapshot", {})) < BOUND_S
            assert timed(lambda: quiet.api.remove(box)) < BOUND_S
        assert statuses == [], "the calls were not held"


def test_calls_on_a_busy_sandbox_and_volume_are_parked(small):
    loud = Tenant(small, "busy")
    with contextlib.ExitStack() as ends:
        box = ends.enter_context(loud.api.sandbox(internet=False))
        volume = loud.api.post("/api/sandbox/volumes", {"name": "data"})["id"]
        snapshot = loud.api.post(f"{PATH}/{box}/snapshot", {})["id"]
        loud.api.exec(box, "touch /var/tmp/new")
        agent = agent_of(loud.api, box)
        with held_by([agent], [revert(loud, box)] * 2):
            # One of the two acts on the sandbox; the other waits for it without a thread.
            atoll.wait_for(lambda: metric(small, "atoll_requests_parked ") >= 1, 30, "a parked call")
            later = [(loud, "POST", f"/api/sandbox/snapshots/{snapshot}/restore", {}), (loud, "POST", f"{PATH}/{box}/snapshot", {}),
                     (loud, "POST", f"{PATH}/{box}/volume", {"volume": volume, "path": "/data"})]
            others = ends.enter_context(held_by([], later))
            atoll.wait_for(lambda: metric(small, "atoll_requests_parked ") >= 4, 30, lambda: f"four parked calls, {others} ended")
            assert others == []
        # They go on when the agent does.
        atoll.wait_for(lambda: sorted(others) in ([200, 200, 201], [201, 201, 200]), 60, f"the ends of the calls, not {others}")



def remove_all_of(server, tenant):
    rows = server.rows(tenant.api)
    for row in rows:
        tenant.api.remove(row["id"])
    return len(rows)


def test_forks_of_a_busy_sandbox_are_parked(small):
    loud = Tenant(small, "forks")
    with loud.api.sandbox(internet=False) as box:
        loud.api.exec(box, "touch /var/tmp/new")
        forks = [(f"{PATH}/{box}/fork", {}), (f"/sandboxes/{box}/fork", {}), (f"/daytona/api/sandbox/{box}/fork", {})]
        with contextlib.ExitStack() as ends:
            with held_by([agent_of(loud.api, box)], [revert(loud, box)]) as reverted:
                atoll.wait_for(lambda: in_lanes(small, "files") >= 1, 30, "a call that is held")
                made = ends.enter_context(held_by([], [(loud, "POST", *fork) for fork in forks]))
                atoll.wait_for(lambda: metric(small, "atoll_requests_parked ") >= 3, 30, lambda: f"three parked forks, {made} ended")
                atoll.wait_for(lambda: in_lanes(small, "slow") == 0, 30, "free threads")
                assert made == reverted == []
            atoll.wait_for(lambda: sorted(made) == [200, 201, 201], 60, lambda: f"the ends of the forks, not {made}")
    remove_all_of(small, loud)


@contextlib.contextmanager
def volume_in_use(server, tenant, volume):
    """A call has begun to open the volume's files and waits for the broker, which is stopped."""
    files = (tenant, "GET", f"/api/sandbox/volumes/{volume}/files?path=", None)
    with contextlib.ExitStack() as ends:
        broker = server.pid_of("broker")
        with stopped(broker):
            statuses = ends.enter_context(held_by([], [files]))
            atoll.wait_for(lambda: in_lanes(server, "files") >= 1, 30, "a call that uses the volume")
            yield statuses


@pytest.mark.parametrize("call", ["create", "start"])
def test_what_wants_a_volume_in_use_is_parked(small, call):
    loud = Tenant(small, "volumes")
    volume = loud.api.post("/api/sandbox/volumes", {"name": "data"})["id"]
    wanted = {"template": "host", "internet": False, "persistent": True, "volumes": [{"volume": volume, "read_only": True}]}
    calls = [(loud, "POST", PATH, wanted)] * 4
    if call == "start":
        boxes = [loud.api.create(**wanted)["id"] for _ in range(3)]
        for box in boxes:
            loud.api.post(f"{PATH}/{box}/stop")
        calls = [(loud, "POST", f"{PATH}/{box}/start", {}) for box in boxes]
    with contextlib.ExitStack() as ends:
        # The stops are followed by work that would wait for the broker, too.
        atoll.wait_for(lambda: in_lanes(small, "slow") == 0, 30, "the end of the work after the stops")
        with volume_in_use(small, loud, volume) as opened:
            statuses = ends.enter_context(held_by([], calls))
            atoll.wait_for(lambda: metric(small, "atoll_requests_parked ") >= len(calls), 30,
                           lambda: f"{len(calls)} parked calls, {statuses} ended")
            # They hold no thread for longer than a look.
            atoll.wait_for(lambda: in_lanes(small, "slow") == 0, 30, "free threads")
            assert opened == statuses == []
            assert len(small.rows(loud.api)) == (0 if call == "create" else len(calls))
        # They go on when the volume is free.
        atoll.wait_for(lambda: set(statuses) == {201 if call == "create" else 200} and len(statuses) == len(calls), 60,
                       lambda: f"the ends of the calls, not {statuses}")
        assert opened == [200]
    assert remove_all_of(small, loud) == len(calls)


def open_held(server, request, count):
    """Opens `count` connections, sends the request on each, and neither reads from them nor closes them."""
    held = []
    for _ in range(count):
        client = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        with contextlib.suppress(OSError):  # the server may have refused it
            client.sendall(request)
        held.append(client)
    return held


HELD = {"idle": "", "half a head": "GET /v1/ev", "after a request": "GET /api/sandbox/instances HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n\r\n",
        "streams": "GET /v1/events?stream=sse HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\nAuthorization: Bearer {key}\r\n\r\n"}


@pytest.mark.parametrize("kind", HELD)
def test_connections_of_a_project_leave_some_to_another(private_server, kind):
    private_server.flags += ["--connections-max", "64"]
    server = private_server.start()
    loud, quiet = Tenant(server, "loud"), Tenant(server, "quiet")
    loud.api.close()
    held = open_held(server, HELD[kind].format(key=loud.key).encode(), 200)
    try:
        # A server that has not read yet what the burst has sent may refuse for a moment.
        atoll.wait_for(lambda: quiet.open().raw("GET", "/v1/events").status == 200, 20, "an answer")
        for _ in range(3):
            api = quiet.open()
            with api.sandbox(internet=False) as box:
                assert api.exec(box, "echo well")["stdout"] == "well\n"
            api.close()
        assert metric(server, "atoll_http_connections ") <= 64
        refused = metric(server, 'atoll_http_connections_refused_total{by="project"}')
        assert refused > 0 if kind == "streams" else metric(server, "atoll_http_connections_closed_idle_total ") > 0
    finally:
        for client in held:
            client.close()


def test_parked_requests_leave_the_places_of_their_key_to_others(private_server):
    private_server.flags += ["--requests-per-key-max", "4", "--request-wait", "2s", "--agent-timeout", f"{AGENT_TIMEOUT_S}s"]
    server = private_server.start()
    tenant = Tenant(server, "busy")
    with tenant.api.sandbox(internet=False) as box:
        tenant.api.exec(box, "touch /var/tmp/new")
        with held_by([agent_of(tenant.api, box)], [revert(tenant, box)] * 8) as statuses:
            # One acts on the sandbox. The others have no thread and no place among the requests of the key.
            atoll.wait_for(lambda: metric(server, "atoll_requests_parked ") >= 4, 30, "parked calls")
            api = tenant.open()
            for _ in range(5):
                assert api.get("/api/sandbox/templates")
            with api.sandbox(internet=False) as other:
                assert api.exec(other, "echo well")["stdout"] == "well\n"
            api.close()
            assert statuses == []
        assert statuses == [200] * 8
