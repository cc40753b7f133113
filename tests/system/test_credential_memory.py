# SPDX-License-Identifier: Apache-2.0
"""What the credential proxy holds for a sandbox is limited, and the limit is that sandbox's own: docs/use/credentials-in-requests.md."""

import contextlib
import json
import pathlib
import re
import shutil
import statistics
import threading
import time

import pytest

import atoll
import secured
import secured_http2

pytestmark = [pytest.mark.needs_root,
              secured_http2.NEEDS_HPACK,
              pytest.mark.skipif(not all(map(shutil.which, ("ip", "nft", "openssl", "curl", "node"))), reason="needs ip, nft, openssl, curl and node")]
TOKEN = "ghp_0123456789/abcdefghijklmnop+qrst"
CREDENTIAL = {"name": "github", "hosts": ["api.test", "other.test"], "fields": {"token": TOKEN}}
MEGABYTE = 1 << 20
BUDGET = 96 * MEGABYTE
# Of the process, beyond what it has without this sandbox: the budget, and what the C library keeps beside it.
RESIDENT_MAX = 128 * MEGABYTE


def inject(host):
    return {"id": host.replace(".", "-"), "host": host, "action": "inject",
            "inject": [{"kind": "header", "name": "authorization", "value": "Bearer ${credential.github.token}"}]}


@pytest.fixture(scope="module")
def world():
    with secured_http2.running() as both:
        yield both


@pytest.fixture(scope="module")
def server(world):
    return world[1]


@pytest.fixture
def vaults(api, world):
    """The sandbox that attacks, and another one."""
    with contextlib.ExitStack() as stack:
        both = [stack.enter_context(secured.vault(api, *world, ("api.test", "other.test"))) for _ in range(2)]
        for v in both:
            v.put([inject("api.test"), inject("other.test")], [CREDENTIAL])
        yield both


FILL = secured_http2.CLIENT + """
import itertools, threading
kept, counts = [], {"opened": 0, "refused": 0}
def unread(host):
    s = connect(host)
    s.sendall(f"GET /big?size=1000000000 HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n".encode())
    return s
def half_head():
    s = connect("other.test")
    s.sendall(b"GET / HTTP/1.1\\r\\nHost: other.test\\r\\nX-Long: " + b"a" * 60000)
    return s
def upload():
    s = connect("other.test")
    s.sendall(b"POST /stuck HTTP/1.1\\r\\nHost: other.test\\r\\nContent-Length: 1000000000\\r\\n\\r\\n")
    s.settimeout(1)
    try:
        for _ in range(64):
            s.sendall(bytes(65536))
    except OSError:
        pass
    return s
def streams():
    c = Two(settings=(4).to_bytes(2, "big") + (0x7fffffff).to_bytes(4, "big"))
    c.send(frame(WINDOW, 0, 0, (0x7fffffff - 65535).to_bytes(4, "big")))
    for i in range(100):
        c.ask(c.fields(f"/big?size=100000000&{i}", more=[("x-long", "b" * 3000)]))
    c.s.settimeout(1)
    return c
def fill(kinds):
    for kind in kinds:
        try:
            kept.append(kind())
            counts["opened"] += 1
        except (OSError, AssertionError):
            counts["refused"] += 1
KINDS = {"unread": lambda: unread("api.test"), "heads": half_head, "uploads": upload, "streams": streams}
kinds = [KINDS[name] for name in sys.argv[1].split(",")]
threads = [threading.Thread(target=fill, args=([kinds[i % len(kinds)]] * 40,)) for i in range(8)]
for one in threads: one.start()
for one in threads: one.join()
print("full", counts, flush=True)
time.sleep(float(sys.argv[2]))
for one in kept: (one.s if isinstance(one, Two) else one).close()
print("closed", flush=True)
time.sleep(300)
"""


def resident(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) * 1024


class Watch(threading.Thread):
    """The most that the proxy has, until it is told to end."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.pid, self.most, self.over = server.pid_of("credentials"), 0, threading.Event()
        self.held, self.control = 0, secured.Control(server)
        self.start()

    def run(self):
        while not self.over.wait(0.05):
            self.most = max(self.most, resident(self.pid))
            self.held = max(self.held, self.control.usage()[3])

    def end(self):
        self.over.set()
        self.join()
        self.control.close()


ASK = """
times = []
for i in range(int(sys.argv[1])):
    begun = time.monotonic()
    answer = get(f"/x{i}", host="other.test")
    assert "200 OK" in answer, answer
    times.append(time.monotonic() - begun)
    time.sleep(0.02)
print(json.dumps(times))
"""


def latencies(api, vault, count=60):
    return json.loads(secured.said(api, vault.sandbox, ASK, str(count)))


@pytest.mark.parametrize("kinds", ["unread,heads,uploads,streams", pytest.param("streams", marks=pytest.mark.slow)])
def test_a_sandbox_that_fills_the_proxy_fills_its_own_budget_alone(api, server, vaults, kinds):
    attacker, other = vaults
    quiet = latencies(api, other)
    before = resident(server.pid_of("credentials"))
    watch = Watch(server)
    process = api.post(f"/api/sandbox/instances/{attacker.sandbox}/exec",
                       {"cmd": "/usr/bin/python3", "background": True, "args": ["-c", secured.CLIENT + FILL, kinds, "8"]})["process"]

    def told():
        return api.raw("GET", f"/api/sandbox/instances/{attacker.sandbox}/logs?process={process}").body.decode()
    try:
        busy = []
        while "full" not in told():
            busy += latencies(api, other, 20)
        begun = time.monotonic()
        busy += latencies(api, other)
        atoll.wait_for(lambda: "closed" in told(), 60, told)
    finally:
        watch.end()
    grown = watch.most - before
    print(f"{kinds}: resident {before / MEGABYTE:.0f} MiB, at most {grown / MEGABYTE:.0f} MiB more; charged at most {watch.held / MEGABYTE:.0f} MiB; "
          f"latency of the other sandbox: median {statistics.median(quiet) * 1000:.1f} ms, then {statistics.median(busy) * 1000:.1f} ms; "
          f"longest {max(quiet) * 1000:.0f} ms, then {max(busy) * 1000:.0f} ms; {time.monotonic() - begun:.0f} s; {told()[:200]}")
    assert watch.held > 32 * MEGABYTE, "the attack is none"
    assert grown < RESIDENT_MAX, (grown / MEGABYTE, watch.held / MEGABYTE)
    assert statistics.median(busy) < 10 * statistics.median(quiet) + 0.1 and max(busy) < 5, (max(quiet), max(busy))
    # The room is free again at once, also for the sandbox itself.
    atoll.wait_for(lambda: watch_free(server), 20)
    assert "200 OK" in secured.said(api, attacker.sandbox, 'print(get("/x", host="other.test"))')


def watch_free(server):
    with contextlib.closing(secured.Control(server)) as control:
        return control.usage()[2] < MEGABYTE
