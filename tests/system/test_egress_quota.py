# SPDX-License-Identifier: Apache-2.0
"""The quota egress_mb_per_day: what sandboxes send counts once, whatever ends them or the server, and refuses creates and starts."""

import contextlib
import json
import os
import signal
import time

import pytest

import atoll
from test_quotas import limit, refused, rows

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
MB = 1 << 20
# An address for documentation: nothing answers, so that the link carries these bytes and nothing else.
SEND = ("import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)\n"
        "for i in range({}): s.sendto(bytes(1000), ('203.0.113.1', 9))")


@contextlib.contextmanager
def serving(flush):
    server = atoll.Server(flags=["--usage-flush", flush]).start()
    try:
        yield server
    finally:
        if server.process is None or server.process.poll() is not None:
            server.start()
        server.remove_all()


@pytest.fixture(scope="module")
def often():
    with serving("1s") as server:
        yield server


@pytest.fixture(scope="module")
def seldom():
    """Only the end of a sandbox writes what it has sent: the first round comes before any of them."""
    with serving("1h") as server:
        yield server


def new_project(server):
    admin = server.api()
    made = admin.post("/v1/projects", {"name": f"p{time.time_ns()}"})
    key = admin.call("POST", "/api/sandbox/keys", {"name": "k", "scopes": ["sandbox:read", "sandbox:write"]},
                     {"X-Atoll-Project": made["id"]})
    api = server.api(key["key"])
    api.project, api.key_id = made["id"], key["id"]
    return admin, api


def send(api, sandbox, mb):
    """The sandbox sends at least so much, and little more."""
    done = api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", SEND.format(mb * 1049)], timeout_ms=30000)
    assert done["exit_code"] == 0, done


def used(api, scope="project"):
    return rows(api.get("/v1/quotas"))[scope, "egress_mb_per_day"]["used"]


def counts(api, mb, scope="project"):
    """Headers of packets come on top."""
    atoll.wait_for(lambda: used(api, scope) >= mb, 30, f"{mb} MB to count")
    time.sleep(2)
    assert mb <= used(api, scope) < mb * 1.2 + 0.1, used(api, scope)


def test_spent_bytes_refuse_creates_and_starts_until_the_next_day(often):
    admin, api = new_project(often)
    limit(admin, "project", api.project, egress_mb_per_day=2)
    rests, runs = (api.create(internet=True)["id"] for _ in range(2))
    api.post(f"{PATH}/{rests}/stop")
    send(api, runs, 3)
    counts(api, 3)
    answer = api.raw("POST", PATH, json.dumps({}), {"Content-Type": "application/json"})
    assert answer.status == 429, answer.body
    error = answer.json()["error"]
    midnight = time.strftime("%Y-%m-%dT00:00:00.000Z", time.gmtime(time.time() + 86400))
    assert error["quota"]["name"] == "egress_mb_per_day" and error["quota"]["scope"] == "project"
    assert error["quota"]["limit"] == 2 and error["quota"]["used"] >= 3 and error["quota"]["reset_at"] == midnight
    assert 0 < int(answer.headers["Retry-After"]) <= 86400 and api.project in error["message"]
    assert refused(api.post, f"{PATH}/{rests}/start")["quota"]["name"] == "egress_mb_per_day"
    assert api.exec(runs, "echo runs")["stdout"] == "runs\n"
    metrics = admin.raw("GET", "/metrics").body.decode()
    assert 'atoll_quota_refusals_total{limit="egress_mb_per_day"} 2\n' in metrics
    limit(admin, "project", api.project, egress_mb_per_day=100)
    api.post(f"{PATH}/{rests}/start")
    limit(admin, "project", api.project, egress_mb_per_day=1)  # less than is used
    refused(api.create)
    limit(admin, "project", api.project, egress_mb_per_day=0)
    for box in (rests, runs, api.create()["id"]):
        api.remove(box)


def test_key_and_organisation_count_the_same_bytes(often):
    admin, api = new_project(often)
    before = used(api, "organization")
    box = api.create(internet=True)["id"]
    send(api, box, 2)
    counts(api, 2, "key")
    assert used(api, "organization") - before == pytest.approx(used(api, "key"), abs=0.1)
    for scope, subject in (("key", api.key_id), ("organization", "default")):
        limit(admin, scope, subject, egress_mb_per_day=1)
        assert refused(api.create)["quota"]["scope"] == scope
        limit(admin, scope, subject, egress_mb_per_day=0)
    _, other = new_project(often)
    assert used(other) == used(other, "key") == 0
    api.remove(box)


def test_what_ends_before_a_round_counts(seldom):
    admin, api = new_project(seldom)
    limit(admin, "project", api.project, egress_mb_per_day=1000)
    for number in range(1, 4):
        box = api.create(internet=True)["id"]
        send(api, box, 1)
        assert used(api) < number
        api.remove(box)
        assert number <= used(api) < number * 1.2 + 0.1


def test_what_ends_by_itself_counts(seldom):
    """Its process 1 is killed before the server has read its counter."""
    admin, api = new_project(seldom)
    limit(admin, "project", api.project, egress_mb_per_day=1000)
    total = 0
    box = api.create(internet=True, persistent=True)["id"]
    for mb in (2, 1, 3):
        marker = f"sleep 4{time.monotonic_ns()}"
        send(api, box, mb)
        total += mb
        api.exec(box, marker, background=True)
        os.kill(atoll.wait_for(lambda: atoll.first_process(marker), 15, "a process of the sandbox"), signal.SIGKILL)
        atoll.wait_for(lambda: api.get(f"{PATH}/{box}")["state"] == "stopped", 20, lambda: api.get(f"{PATH}/{box}")["state"])
        atoll.wait_for(lambda: total <= used(api) < total * 1.2 + 0.1, 10, lambda: (total, used(api)))
        api.post(f"{PATH}/{box}/start")
    api.remove(box)


def test_a_stop_a_start_and_a_pause_count_once(seldom):
    admin, api = new_project(seldom)
    limit(admin, "project", api.project, egress_mb_per_day=1000)
    box = api.create(internet=True, persistent=True)["id"]
    total = 0
    for mb, change, back in ((3, "pause", "resume"), (1, "stop", "start"), (2, "pause", "resume"), (1, "stop", "start")):
        send(api, box, mb)
        total += mb
        api.post(f"{PATH}/{box}/{change}")
        assert total <= used(api) < total * 1.2 + 0.1, (change, total, used(api))
        api.post(f"{PATH}/{box}/{back}")
    api.remove(box)
    assert total <= used(api) < total * 1.2 + 0.1


def test_kill_9_loses_and_doubles_nothing(often):
    admin, api = new_project(often)
    limit(admin, "project", api.project, egress_mb_per_day=1000)
    box = api.create(internet=True)["id"]
    for number in range(1, 4):
        send(api, box, 1)
        for role in ("api", "broker")[:1 + number % 2]:
            os.kill(often.pid_of(role), signal.SIGKILL)
            often.wait_ready()
        api = often.api(api.key)
        counts(api, number)
    api.remove(box)
    counts(api, 3)


@pytest.mark.parametrize("value", [-1, 1e10, "many", True, None])
def test_what_is_no_limit_is_refused(often, value):
    admin, api = new_project(often)
    with pytest.raises(atoll.ApiError) as why:
        admin.call("PATCH", f"/v1/quotas/project/{api.project}", {"egress_mb_per_day": value})
    assert why.value.status == 400
    assert rows(admin.get(f"/v1/quotas/project/{api.project}"))["project", "egress_mb_per_day"]["limit"] == 0
