# SPDX-License-Identifier: Apache-2.0
"""Running sandboxes lose their network while the quota egress_mb_per_day is used up, and get it back: docs/operate/quotas.md."""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import time

import pytest

import atoll
import named
from test_egress_quota import new_project, send
from test_quotas import limit, refused

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not all(map(shutil.which, ("ip", "nft", "openssl"))), reason="needs ip, nft and openssl")]
PATH = "/api/sandbox/instances"
DENIED = "/run/atoll/denied.jsonl"
ASK = 'print(raw(b"GET / HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n", "{}", 8080))'


@pytest.fixture(scope="module")
def there():
    # In the host's network: /sys shows no counters of links in another one.
    with contextlib.closing(named.Named()) as there:
        yield there


@pytest.fixture(scope="module")
def server(there):
    server = atoll.Server(flags=["--network-nameservers", there.addresses[0], "--usage-flush", "1s"]).start()
    try:
        yield server
    finally:
        server.remove_all()


def run(api, sandbox, code, **options):
    return api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", named.CLIENT + code], timeout_ms=60000, **options)


def reaches(api, sandbox, there):
    return "hello" in run(api, sandbox, "\n" + ASK.format(there.addresses[1]))["stdout"]


def cut_of(api, sandbox):
    return api.get(f"{PATH}/{sandbox}")["egress_cut"]


def comes_back(api, sandbox, there):
    atoll.wait_for(lambda: cut_of(api, sandbox) is None, 20, lambda: cut_of(api, sandbox))
    assert reaches(api, sandbox, there)


@contextlib.contextmanager
def spent(server, **options):
    """A project whose quota one of its sandboxes has used up."""
    admin, api = new_project(server)
    limit(admin, "project", api.project, egress_mb_per_day=2)
    sandbox = api.create(internet=True, **options)["id"]
    try:
        send(api, sandbox, 3)
        atoll.wait_for(lambda: cut_of(api, sandbox), 30, "the network to be taken away")
        yield admin, api, sandbox
    finally:
        server.wait_ready()
        server.api(api.key).remove(sandbox)


# A connection that is open while the quota is used up, and what a program sees afterwards.
DOWNLOAD = """
s = connect("ALLOWED", 8080)
def ask(s):
    s.sendall(b"GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
    return s.recv(65536)
print(ask(s)[:15], flush=True)
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(3 * 1049):
    u.sendto(bytes(1000), ("203.0.113.1", 9))
started = time.time()
try:
    while ask(s) and time.time() < started + 40:
        time.sleep(0.2)
except OSError as failure:
    print("broke off", failure, flush=True)
print(raw(b"x", "ALLOWED", 22)); print(http("x.test", "ALLOWED")); print(https("x.test", "ALLOWED")); print(look_up("allowed.test"))
sys.exit(3)
"""


def test_a_download_breaks_off_with_a_readable_reason(server, there):
    admin, api = new_project(server)
    limit(admin, "project", api.project, egress_mb_per_day=2)
    midnight = time.strftime("%Y-%m-%dT00:00:00", time.gmtime(time.time() + 86400))
    with api.sandbox(internet=True) as sandbox:
        result = run(api, sandbox, DOWNLOAD.replace("ALLOWED", there.addresses[1]))
        out = result["stdout"]
        assert result["exit_code"] == 3 and "broke off" in out and "hello" not in out, result
        assert "Quota of sent bytes used up" in out and "X-Atoll-Refused: quota" in out, out
        assert "2 MB a day" in out and midnight in out and "no such name" in out, out
        reasons = {(row["host"], row["port"]): row for row in result["network"]}
        assert {row["code"] for row in reasons.values()} == {"quota"}, result["network"]
        assert (None, 22) in reasons and ("x.test", 80) in reasons and ("x.test", 443) in reasons, reasons
        for row in reasons.values():
            assert f"of project '{api.project}' is used up: 2 MB a day" in row["message"] and midnight in row["message"], row
        cut = cut_of(api, sandbox)
        assert api.project in cut and "2 MB a day" in cut and midnight in cut
        log = f"{PATH}/{sandbox}/egress/log?code=quota"
        rows = atoll.wait_for(lambda: api.get(log)["items"], 20, "the log of decisions")
        assert all(row["rule"].startswith(f"egress_mb_per_day/project/{api.project}/2/") for row in rows), rows
        atoll.wait_for(lambda: api.exec(sandbox, cmd="test", args=["-e", DENIED])["exit_code"] == 0, 20, "the file of refusals")
        lines = [json.loads(line) for line in api.exec(sandbox, cmd="cat", args=[DENIED])["stdout"].splitlines()]
        assert lines[0]["code"] == "quota" and lines[0]["ask"] is None and "is used up" in lines[0]["message"], lines
        check = api.get(f"{PATH}/{sandbox}/egress/check?host=allowed.test")
        assert check["decision"] == "denied" and check["code"] == "quota" and midnight in check["reason"], check
        kinds = [event["kind"] for event in api.get(f"/v1/events?sandbox={sandbox}")["items"]]
        assert "sandbox.cut_off" in kinds and "egress.denied" in kinds, kinds
        metrics = admin.raw("GET", "/metrics").body.decode()
        assert "atoll_quota_cut_sandboxes 1\n" in metrics
        refused(api.create)
        limit(admin, "project", api.project, egress_mb_per_day=0)
        comes_back(api, sandbox, there)
        kinds = [event["kind"] for event in api.get(f"/v1/events?sandbox={sandbox}&kind=sandbox.*")["items"]]
        assert "sandbox.reconnected" in kinds, kinds


def test_the_tenant_cannot_lift_it_and_keeps_its_own_rules(server, there):
    allowed = there.addresses[1]
    with spent(server, egress=named.only("allowed.test", allowed)) as (admin, api, sandbox):
        assert api.exec(sandbox, "echo goes on")["stdout"] == "goes on\n"
        api.raw("PUT", f"{PATH}/{sandbox}/files/content?path=/tmp/x", b"files", {"Content-Type": "application/octet-stream"})
        assert api.exec(sandbox, "cat /tmp/x")["stdout"] == "files"
        for rules in ({}, {"allow": [allowed]}, {**named.only(allowed), "mode": "watch"}, {**named.only(), "mode": "ask"},
                      {"presets": ["package-registries"]} | {"deny": [named.ALL]}, named.only("allowed.test", allowed)):
            api.call("PUT", f"{PATH}/{sandbox}/egress", rules)
            assert not reaches(api, sandbox, there), rules
        assert "hello" not in named.said(api, sandbox, '\nprint(http("allowed.test")); print(http("allowed.test", "203.0.113.9"))')
        api.post(f"{PATH}/{sandbox}/pause")
        api.post(f"{PATH}/{sandbox}/resume")
        assert not reaches(api, sandbox, there)
        refused(api.post, f"{PATH}/{sandbox}/fork", {})
        assert api.get(f"{PATH}/{sandbox}/egress/requests")["items"] == []  # the mode "ask" asks for nothing
        got = api.get(f"{PATH}/{sandbox}")["egress"]
        assert set(got["allow"]) == {"allowed.test", allowed} and got["deny"] == [named.ALL], got
        limit(admin, "project", api.project, egress_mb_per_day=1000)
        comes_back(api, sandbox, there)
        assert "hello" in named.said(api, sandbox, '\nprint(http("allowed.test"))')
        assert "broken" in named.said(api, sandbox, f'\nprint("broken", raw(b"x", "{there.addresses[2]}", 22))')


def test_kill_9_neither_lifts_it_nor_keeps_it(server, there):
    with spent(server) as (admin, api, sandbox):
        for roles in (("api",), ("broker",), ("api", "broker")):
            for role in roles:
                os.kill(server.pid_of(role), signal.SIGKILL)
            server.wait_ready()
            api = server.api(api.key)
            for _ in range(3):
                assert not reaches(api, sandbox, there), roles
            assert cut_of(api, sandbox)
        admin = server.api()
        project = api.get(f"{PATH}/{sandbox}")["project"]
        limit(admin, "project", project, egress_mb_per_day=1000)
        os.kill(server.pid_of("api"), signal.SIGKILL)
        server.wait_ready()
        comes_back(server.api(api.key), sandbox, there)


def test_the_next_day_gives_the_network_back(server, there):
    with spent(server) as (_, api, sandbox):
        # As if today's bytes were yesterday's.
        with contextlib.closing(sqlite3.connect(server.data / "store/atoll.db", timeout=30)) as store, store:
            store.execute("UPDATE egress_days SET day = day - 86400000 WHERE project_id = ?", (api.project,))
        comes_back(api, sandbox, there)
        api.remove(api.create()["id"])


def test_a_key_cuts_its_own_sandboxes_alone(server, there):
    admin, api = new_project(server)
    made = admin.call("POST", "/api/sandbox/keys", {"name": "other", "scopes": ["sandbox:read", "sandbox:write"]},
                      {"X-Atoll-Project": api.project})
    other = server.api(made["key"])
    with api.sandbox(internet=True) as own, other.sandbox(internet=True) as others:
        limit(admin, "key", api.key_id, egress_mb_per_day=1)
        send(api, own, 2)
        atoll.wait_for(lambda: cut_of(api, own), 30, "the network to be taken away")
        assert "of key" in cut_of(api, own) and cut_of(api, others) is None
        assert not reaches(api, own, there) and reaches(api, others, there)
        limit(admin, "organization", "default", egress_mb_per_day=1)
        atoll.wait_for(lambda: cut_of(api, others), 20, "the organisation's quota to hold")
        limit(admin, "organization", "default", egress_mb_per_day=0)
        comes_back(api, others, there)
        limit(admin, "key", api.key_id, egress_mb_per_day=0)
        comes_back(api, own, there)
