# SPDX-License-Identifier: Apache-2.0
"""What an operator gets wrong, or a machine: what is said, what is kept, and how it goes on (docs/operations.md has the table).

/readyz says what a create would find: each case compares both."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
KINDS = ["sandbox without internet", "sandbox with internet", "sandbox with network rules"]


def world(script):
    """A mount namespace of the server's own."""
    return ["unshare", "-m", "sh", "-c", f'{script}; exec "$@"', "sh"]


def readiness(server):
    """(status, body) of /readyz as soon as anything answers."""
    def ask():
        assert server.process.poll() is None, server.log_text()
        try:
            return server.api(key="none").raw("GET", "/readyz")
        except OSError:
            return None
    answer = atoll.wait_for(ask, 30, "an answer of /readyz")
    return answer.status, answer.json()


def wait_until(server, code, seconds=20):
    """The failure with this code, or the readiness (None)."""
    def look():
        _, body = readiness(server)
        return body if (body.get("error") or {}).get("code") == code else None
    return atoll.wait_for(look, seconds, lambda: f"readiness {code}: {readiness(server)}\n{server.log_text()}")


@pytest.fixture
def servers():
    """Servers in worlds of their own; all of them end, with what they have made."""
    made = []

    def make(environment=None, **options):
        probes = {} if "ATOLL_FAULT" in (environment or {}) else {"ATOLL_READY_PROBE_EVERY": "10s"}
        made.append(atoll.Server(environment={**probes, **(environment or {})}, **options))
        return made[-1]
    yield make
    for server in made:
        for role in ("broker", "api"):
            pid = server.process and server.pid_of(role)
            if pid:
                os.kill(pid, signal.SIGCONT)
        server.remove_all()


# ---- /readyz makes sandboxes ----

def test_ready_means_that_a_sandbox_of_each_network_was_made_and_has_left_nothing(servers):
    server = servers().start(wait=False)
    status, body = readiness(server)
    assert (status, body["status"]) == (200, "ready"), body
    assert [check["name"] for check in body["checks"]] == ["store", "provider", *KINDS]
    assert all(check["ok"] for check in body["checks"])
    api = server.api()
    assert server.rows(api) == []
    assert [event for event in api.get("/v1/events")["items"] if "sandbox" in event["kind"]] == []
    metrics = api.raw("GET", "/metrics").body.decode()
    assert re.search(r"^atoll_sandboxes_created_total 0$", metrics, re.M)
    assert re.search(r"^atoll_pool_misses_total\S* 0$", metrics, re.M), "a probe does not count for pools"
    assert server.cli("ps", "--all").stdout.count(b"\n") <= 1
    atoll.Host(server.data).wait_clean()


def test_a_probe_every_second_costs_little(servers):
    server = servers().start()
    first = readiness(server)[1]["checked_at"]
    assert {readiness(server)[1]["checked_at"] for _ in range(200)} == {first}
    begin = time.monotonic()
    for _ in range(50):
        readiness(server)
    assert time.monotonic() - begin < 2, "answers come from memory"


@pytest.mark.parametrize("step", ["limits", "overlay", "plan", "state", "files", "run-folder", "probe-made", "destroy-files",
                                  "destroy-run"])
def test_a_broker_that_dies_in_a_probe_leaves_nothing(servers, step):
    server = servers(environment={"ATOLL_FAULT": f"broker:{step}:kill", "ATOLL_READY_PROBE_EVERY": "1s"}).start(wait=False)
    status, body = readiness(server)
    assert (status, body["status"]) == (503, "not_ready") and body["error"]["code"] == "unavailable", body
    server.stop()
    del server.environment["ATOLL_FAULT"]
    server.start()
    assert server.rows(server.api()) == []
    atoll.Host(server.data).wait_clean()


def test_an_api_process_that_dies_in_a_probe_leaves_nothing(servers):
    server = servers(environment={"ATOLL_FAULT": "broker:probe-made:stop", "ATOLL_READY_PROBE_EVERY": "1s"}).start(wait=False)

    def ask():
        with contextlib.suppress(AssertionError, OSError, ValueError):
            readiness(server)
    threading.Thread(target=ask, daemon=True).start()
    broker = atoll.wait_for(lambda: server.pid_of("broker"), 20, "a broker")
    stat = pathlib.Path(f"/proc/{broker}/stat")
    atoll.wait_for(lambda: stat.read_text().rsplit(")", 1)[1].split()[0] == "T", 20, "the broker in the middle of a probe")
    server.kill9("api")
    end = time.monotonic() + 30
    while time.monotonic() < end and atoll.Host(server.data).files():
        if stat.read_text().rsplit(")", 1)[1].split()[0] == "T":
            os.kill(broker, signal.SIGCONT)
        time.sleep(0.02)
    server.stop()
    del server.environment["ATOLL_FAULT"]
    server.start()
    assert server.rows(server.api()) == []
    atoll.Host(server.data).wait_clean()


def test_a_probe_that_hangs_is_not_ready_and_holds_up_nothing_else(servers):
    server = servers(environment={"ATOLL_READY_PROBE_EVERY": "1s"}).start()
    broker = server.pid_of("broker")
    time.sleep(1.1)
    os.kill(broker, signal.SIGSTOP)
    begin, slowest, answer = time.monotonic(), 0, []
    asking = threading.Thread(target=lambda: answer.append(server.api(key="none").raw("GET", "/readyz")))
    asking.start()
    while asking.is_alive():
        asked = time.monotonic()
        assert server.api(key="none").raw("GET", "/healthz").status == 200
        slowest = max(slowest, time.monotonic() - asked)
        time.sleep(0.05)
    assert time.monotonic() - begin < 15
    assert slowest < 1, "/healthz waits for nothing"
    assert answer[0].status == 503 and answer[0].json()["error"]["code"] == "timeout", answer[0].body
    os.kill(broker, signal.SIGCONT)
    wait_until(server, None)


def test_busy_workers_are_not_ready(servers):
    """Creates hold every worker of their lane: the broker that would make them stands still."""
    server = servers(environment={"ATOLL_READY_PROBE_EVERY": "1s"}).start()
    time.sleep(1.1)
    broker = server.pid_of("broker")
    os.kill(broker, signal.SIGSTOP)

    def create():
        with contextlib.suppress(atoll.ApiError, OSError):
            server.api(timeout=60).create(internet=False)
    creates = [threading.Thread(target=create) for _ in range(20)]
    for create in creates:
        create.start()
    time.sleep(0.5)
    status, body = readiness(server)
    assert status == 503 and body["error"]["code"] in ("workers_busy", "timeout"), body
    assert server.api(key="none").raw("GET", "/healthz").status == 200
    os.kill(broker, signal.SIGCONT)
    wait_until(server, None)
    for create in creates:
        create.join()


# ---- what makes creates fail ----

def test_read_only_cgroups_refuse_a_start_or_are_not_ready(servers):
    """The start is refused, unless another server of this host has made the groups: then /readyz says what is wrong."""
    server = servers(before=world("for m in $(awk '$3 ~ /^cgroup/ {print $2}' /proc/mounts); do mount -o remount,bind,ro $m; done"))
    server.start(wait=False)

    def settled():
        if server.process.poll() is not None:
            return True
        with contextlib.suppress(OSError):
            return server.api(key="none").raw("GET", "/readyz").json()
        return None
    body = atoll.wait_for(settled, 30, "an end or an answer")
    if body is True:
        assert server.process.returncode == 1
        said = server.log_text()
        assert "Read-only file system" in said and "mount /sys/fs/cgroup and what is below it writable" in said
        server.process = None
    else:
        assert body["error"]["code"] == "read_only" and "cgroup" in body["error"]["hint"], body


def test_cgroups_that_become_read_only_are_not_ready(servers):
    server = servers(environment={"ATOLL_READY_PROBE_EVERY": "1s"}).start()
    kept = server.api().create(internet=False, persistent=True)["id"]
    inside = ["nsenter", "-t", str(server.pid_of("broker")), "-m", "sh", "-c"]
    each = "for m in $(awk '$3 ~ /^cgroup/ {print $2}' /proc/mounts); do mount -o remount,bind,%s $m; done"
    subprocess.run([*inside, each % "ro"], check=True)
    failure = wait_until(server, "read_only")["error"]
    assert "cgroup" in failure["hint"], failure
    assert server.api().exec(kept, "echo still")["stdout"] == "still\n"
    subprocess.run([*inside, each % "rw"], check=True)
    wait_until(server, None)
    assert server.api().exec(server.api().create(internet=False)["id"], "echo on")["stdout"] == "on\n"


@pytest.fixture
def broken_nft(tmp_path):
    """A script in place of nft, and the file that tells it to fail."""
    flag, script, real = tmp_path / "fails", tmp_path / "nft", shutil.which("nft")
    copy = tmp_path / "nft-real"
    shutil.copy2(real, copy)
    script.write_text(f"#!/bin/sh\n[ -e {flag} ] && {{ echo no table for you; exit 1; }}\nexec {copy} \"$@\"\n")
    script.chmod(0o755)
    flag.touch()
    tmp_path.chmod(0o755)
    return flag, world(f"mount --bind {script} {os.path.realpath(real)}")


def test_a_failing_nft_is_not_ready_until_it_works(servers, broken_nft):
    flag, before = broken_nft
    server = servers(before=before, environment={"ATOLL_READY_PROBE_EVERY": "1s"}).start(wait=False)
    status, body = readiness(server)
    assert status == 503 and body["error"]["code"] == "network", body
    assert "no table for you" in body["error"]["message"] and "nft list ruleset" in body["error"]["hint"]
    assert [check["name"] for check in body["checks"] if check["ok"]] == ["store", "provider", KINDS[0]]
    api = server.api()
    assert api.exec(api.create(internet=False)["id"], "echo without")["stdout"] == "without\n"
    with pytest.raises(atoll.ApiError) as refused:
        api.create(internet=True)
    assert refused.value.status >= 500
    flag.unlink()
    wait_until(server, None)
    assert api.exec(api.create(internet=True)["id"], "echo with")["stdout"] == "with\n"


def test_a_host_without_internet_is_ready_when_its_operator_says_so(servers, broken_nft):
    server = servers(before=broken_nft[1], flags=["--ready-networks", "off"]).start(wait=False)
    status, body = readiness(server)
    assert status == 200 and [check["name"] for check in body["checks"]] == ["store", "provider", KINDS[0]]


def test_missing_rights_are_said(servers):
    server = servers(before=["setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin"]).start(wait=False)
    status, body = readiness(server)
    assert status == 503 and body["error"]["code"] == "rights" and "capability" in body["error"]["hint"], body
    with pytest.raises(atoll.ApiError) as refused:
        server.api().create(internet=False)
    assert refused.value.status == 503, "a server's error: the client did nothing wrong"


def test_a_server_without_the_right_to_mount_says_which(servers):
    server = servers(before=["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"])
    server.start(wait=False)
    assert server.process.wait(30) == 1 and "CAP_SYS_ADMIN" in server.log_text()
    server.process = None


def test_too_few_descriptors_are_the_servers_error(servers):
    server = servers(before=["prlimit", "--nofile=256:256"], environment={"ATOLL_READY_PROBE_EVERY": "1s"}).start()
    assert "the limit of open files is low" in server.log_text()
    api, made, failures = server.api(), [], 0
    while failures < 3:
        assert len(made) < 100
        try:
            made.append(api.create(internet=False)["id"])
        except atoll.ApiError as failure:
            assert failure.status == 503 and "LimitNOFILE" in failure.hint, failure
            failures += 1
    assert len(made) >= 15
    for sandbox in made:
        assert api.exec(sandbox, "echo here")["stdout"] == "here\n"
    for sandbox in made:
        api.remove(sandbox)
    wait_until(server, None)
    api.remove(api.create(internet=False)["id"])


def test_a_soft_limit_of_descriptors_is_raised(servers):
    server = servers(before=["prlimit", "--nofile=256:4096"]).start()
    for role in ("broker", "api"):
        limits = pathlib.Path(f"/proc/{server.pid_of(role)}/limits").read_text()
        assert int(re.search(r"Max open files\s+(\d+)", limits)[1]) >= 4096, role


# ---- disks ----

@pytest.fixture
def small_disk():
    """A data folder on a filesystem of 400 MiB."""
    folder = tempfile.mkdtemp(prefix="atoll-small-")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400m,nr_inodes=20k,mode=755", "none", folder], check=True)
    try:
        data = pathlib.Path(folder, "data")
        data.mkdir()
        yield data
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
        os.rmdir(folder)


def fill(path, keep=0):
    """To the last byte but these; a server that writes meanwhile may take some. What it gives up afterwards is its own."""
    with open(path, "wb") as out:
        for _ in range(100):
            status = os.statvfs(path.parent)
            with contextlib.suppress(OSError):
                os.posix_fallocate(out.fileno(), 0, status.f_bavail * status.f_frsize - keep)
                return


def test_a_full_disk_is_not_ready(small_disk, servers):
    server = servers(data=small_disk, environment={"ATOLL_READY_PROBE_EVERY": "1s"}).start()
    kept = server.api().create(internet=False, persistent=True)["id"]
    fill(small_disk / "filler", keep=1 << 20)
    failure = wait_until(server, "disk_full")["error"]
    assert "free room" in failure["hint"]
    (small_disk / "filler").unlink()
    wait_until(server, None)
    assert server.api().exec(kept, "echo kept")["stdout"] == "kept\n"


def test_no_inodes_are_not_ready(small_disk, servers):
    server = servers(data=small_disk, environment={"ATOLL_READY_PROBE_EVERY": "1s"}).start()
    many = small_disk / "many"
    many.mkdir()
    for number in range(os.statvfs(small_disk).f_favail - 5000):
        (many / str(number)).touch()
    failure = wait_until(server, "disk_full")["error"]
    assert "files" in failure["message"]
    shutil.rmtree(many)
    wait_until(server, None)


# ---- a data folder in a home that is closed to others ----

@pytest.fixture
def home(tmp_path):
    """A home of mode 0700: the server's user may not pass it."""
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    tmp_path.chmod(0o700)
    yield folder
    assert {folder.stat().st_mode & 0o777, tmp_path.stat().st_mode & 0o777} == {0o700}, "homes are left as they are"


def test_a_data_folder_in_a_closed_home_works(home, servers):
    data = home / "deep" / "data"
    data.mkdir(parents=True)
    data.parent.chmod(0o700)
    server = servers(data=data, environment={"ATOLL_READY_PROBE_EVERY": "1s"}).start()
    api = server.api()
    made = api.create(internet=False, persistent=True)["id"]
    api.write(made, "/home/user/file", b"x" * (2 << 20))
    assert api.read(made, "/home/user/file") == b"x" * (2 << 20)
    assert api.exec(made, "wc -c < /home/user/file")["stdout"] == "2097152\n"
    snapshot = api.post(f"{PATH}/{made}/snapshot", {})["id"]
    assert api.exec(api.create(internet=False, snapshot=snapshot)["id"], "wc -c < /home/user/file")["stdout"] == "2097152\n"
    backup = api.post(f"/api/sandbox/snapshots/{snapshot}/export", {})
    atoll.wait_for(lambda: [row for row in api.get("/api/sandbox/backups")["items"] if row["id"] == backup["id"] and row["state"] == "ready"],
                   30, lambda: str(api.get("/api/sandbox/backups")))
    for role in ("api", "broker"):
        server.kill9(role)
        wait_until(server, None)
    assert api.exec(made, "echo still")["stdout"] == "still\n"
    server.stop()
    server.start()
    assert server.api().exec(made, "echo again")["stdout"] == "again\n"
    assert str(data) in server.log_text(), "the log names the folder as the operator knows it"


# ---- starts on a full disk, and under load ----

def test_a_start_on_a_full_disk_works_and_deletes_make_room(small_disk, servers):
    server = servers(data=small_disk, environment={"ATOLL_READY_PROBE_EVERY": "1s"}).start()
    kept = server.api().create(internet=False, persistent=True)["id"]
    server.api().write(kept, "/home/user/big", b"x" * (6 << 20))
    reserve = small_disk / "reserve"
    atoll.wait_for(lambda: (reserve / "space").exists(), 10, "a reserve")
    assert (reserve / "space").stat().st_blocks >= 8192, "the room is taken"
    server.stop()
    server.process = None
    fill(small_disk / "filler")
    assert os.statvfs(small_disk).f_bavail == 0
    server.start(wait=False)
    wait_until(server, "disk_full")
    assert not (reserve / "space").exists()
    api = server.api()
    assert api.exec(kept, "echo runs")["stdout"] == "runs\n"
    api.remove(kept)
    atoll.wait_for(lambda: not atoll.Host(small_disk).files(), 20, "the files to go")
    (small_disk / "filler").unlink()
    wait_until(server, None)
    atoll.wait_for(lambda: (reserve / "space").exists(), 20, "a reserve again")


def test_a_disk_that_is_full_in_the_middle_lets_sandboxes_be_deleted(small_disk, servers):
    server = servers(data=small_disk, environment={"ATOLL_READY_PROBE_EVERY": "1s"}).start()
    api = server.api()
    made = [api.create(internet=False)["id"] for _ in range(3)]
    atoll.wait_for(lambda: (small_disk / "reserve/space").exists(), 10, "a reserve")
    fill(small_disk / "filler")
    atoll.wait_for(lambda: not (small_disk / "reserve/space").exists(), 10, "the reserve to be given up")
    for sandbox in made:
        assert api.exec(sandbox, "echo runs")["stdout"] == "runs\n"
        api.remove(sandbox)
    atoll.wait_for(lambda: not atoll.Host(small_disk).files(), 20, "the files to go")


def test_a_start_waits_for_a_broker_that_is_slow(servers):
    """At a load of 300 the broker takes longer than any fixed time; here it stands still for 22 s."""
    server = servers(environment={"ATOLL_FAULT": "broker:starting:stop"}).start(wait=False)
    broker = atoll.wait_for(lambda: server.pid_of("broker"), 20, "a broker")
    stat = pathlib.Path(f"/proc/{broker}/stat")
    atoll.wait_for(lambda: stat.read_text().rsplit(")", 1)[1].split()[0] == "T", 20, "the broker in the middle of its start")
    time.sleep(22)
    assert server.process.poll() is None, server.log_text()
    assert server.pid_of("broker") == broker
    os.kill(broker, signal.SIGCONT)
    server.wait_ready()
    assert "waiting for the broker" in server.log_text()


# ---- a stop ----

@pytest.fixture
def draining(servers):
    return servers(environment={"ATOLL_DRAIN": "30s"}).start()


def in_background(call):
    done = []

    def run():
        try:
            done.append(call())
        except Exception as failure:  # noqa: BLE001 — whatever the client was told
            done.append(failure)
    thread = threading.Thread(target=run)
    thread.start()
    return thread, done


def slow_upload(server, sandbox, seconds):
    """PUT of a file whose body takes its time."""
    with socket.create_connection(("127.0.0.1", server.port)) as sock:
        pieces = 10
        sock.sendall(f"PUT {PATH}/{sandbox}/files/content?path=/home/user/slow HTTP/1.1\r\nHost: localhost\r\n"
                     f"Authorization: Bearer {server.key}\r\nContent-Type: application/octet-stream\r\n"
                     f"Content-Length: {pieces * 1000}\r\n\r\n".encode())
        for _ in range(pieces):
            sock.sendall(b"u" * 1000)
            time.sleep(seconds / pieces)
        return sock.recv(4096).decode()


def test_a_stop_ends_what_runs_and_refuses_what_is_new(draining):
    server, api = draining, draining.api()
    sandbox = api.create(internet=False, persistent=True)["id"]
    execution, output = in_background(lambda: server.api().exec(sandbox, "sleep 2; echo whole"))
    upload, uploaded = in_background(lambda: slow_upload(server, sandbox, 2))
    time.sleep(0.5)
    begin = time.monotonic()
    server.process.terminate()
    atoll.wait_for(lambda: server.api().raw("GET", "/readyz").json()["status"] == "draining", 1, "readyz says so at once")
    answer = server.api().raw("GET", "/readyz")
    assert answer.status == 503 and answer.json()["error"]["code"] == "draining"
    assert server.api().raw("GET", "/healthz").status == 200
    refused = server.api().raw("GET", PATH)
    assert refused.status == 503 and refused.json()["error"]["code"] == "draining", refused.body
    assert int(refused.headers["Retry-After"]) > 0
    execution.join()
    upload.join()
    assert output[0]["stdout"] == "whole\n", output
    assert uploaded[0].startswith("HTTP/1.1 2"), uploaded
    assert server.process.wait(10) == 0
    assert time.monotonic() - begin < 8, "it waits for what runs and not for the whole of 'drain'"
    assert "cut off" not in server.log_text()
    server.start()
    assert server.api().read(sandbox, "/home/user/slow") == b"u" * 10000


def test_a_second_stop_ends_at_once(draining):
    api = draining.api()
    sandbox = api.create(internet=False)["id"]
    execution, output = in_background(lambda: draining.api().exec(sandbox, "sleep 20"))
    time.sleep(0.5)
    draining.process.terminate()
    time.sleep(0.5)
    assert draining.process.poll() is None
    begin = time.monotonic()
    draining.process.terminate()
    assert draining.process.wait(10) == 0 and time.monotonic() - begin < 5
    execution.join()
    assert isinstance(output[0], Exception), "the client sees that its call was cut"
    draining.start()


def test_what_does_not_end_is_cut_when_the_time_is_over(servers):
    server = servers(environment={"ATOLL_DRAIN": "1s"}).start()
    sandbox = server.api().create(internet=False)["id"]
    execution, output = in_background(lambda: server.api().exec(sandbox, "sleep 20"))
    time.sleep(0.5)
    begin = time.monotonic()
    server.process.terminate()
    assert server.process.wait(10) == 0 and time.monotonic() - begin < 5
    execution.join()
    assert "calls have not ended in time" in server.log_text()
    server.start()
    assert server.api().exec(sandbox, "echo goes on")["stdout"] == "goes on\n"


def test_terminals_and_feeds_are_told_and_hold_up_no_stop(draining):
    api = draining.api()
    sandbox = api.create(internet=False)["id"]
    path = api.post(f"{PATH}/{sandbox}/terminal", {})["path"]
    terminal = socket.create_connection(("127.0.0.1", draining.port))
    terminal.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                     "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode())
    assert terminal.recv(4096).startswith(b"HTTP/1.1 101")
    feed = socket.create_connection(("127.0.0.1", draining.port))
    feed.sendall(f"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
                 f"Authorization: Bearer {draining.key}\r\n\r\n".encode())
    assert feed.recv(4096).startswith(b"HTTP/1.1 200")
    begin = time.monotonic()
    draining.process.terminate()
    assert draining.process.wait(10) == 0 and time.monotonic() - begin < 5
    while feed.recv(65536):
        pass
    feed.close()
    heard = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := terminal.recv(65536):
            heard += piece
    assert b"\x03\xe9the server is stopping" in heard, "a close frame with 1001"
    terminal.close()
    draining.start()


def test_a_stop_under_load_leaves_nothing_half_made(draining):
    """Clients that create without an end: each create is answered or refused, and the store agrees with the host."""
    made, stop = [], threading.Event()

    def create():
        while not stop.is_set():
            with contextlib.suppress(atoll.ApiError, OSError):
                made.append(draining.api().create(internet=False, persistent=True)["id"])
    threads = [threading.Thread(target=create) for _ in range(6)]
    for thread in threads:
        thread.start()
    time.sleep(1)
    draining.process.terminate()
    assert draining.process.wait(40) == 0
    stop.set()
    for thread in threads:
        thread.join()
    draining.start()
    rows = {row["id"]: row["state"] for row in draining.rows(draining.api())}
    assert set(made) <= set(rows), "what was answered is there"
    assert set(rows.values()) == {"started"}, rows
    assert set(atoll.Host(draining.data).files()) == set(rows)


# ---- atoll doctor makes sandboxes ----

@pytest.fixture
def place():
    """A folder for a data folder that does not exist; a socket below it has a short path."""
    with tempfile.TemporaryDirectory(prefix="atoll-doctor-") as folder:
        yield pathlib.Path(folder)
        atoll.wait_for(lambda: not processes_of(folder), 20, lambda: f"the end of {processes_of(folder)}")


def processes_of(folder):
    """Command lines of servers and brokers that name this folder."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if f"{folder}/.atoll-doctor-" in line:
                found.append(line)
    return found


def doctor_environment(**options):
    return {name: value for name, value in os.environ.items() if name not in ("ATOLL_API_URL", "ATOLL_API_KEY")} | options


def doctor(*arguments, before=(), **options):
    return subprocess.run([*before, atoll.ATOLL, "doctor", *map(str, arguments)], env=doctor_environment(**options),
                          capture_output=True, timeout=60, text=True)


def left_in(place):
    mounts = [line for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines() if str(place) in line]
    return [*os.listdir(place), *mounts, *processes_of(place)]


def test_doctor_makes_sandboxes_by_a_temporary_server_and_leaves_nothing(place):
    result = doctor("--json", "--data", place / "data")
    assert result.returncode == 0, result
    readiness_said = json.loads(result.stdout)["readiness"]
    assert readiness_said["ready"] and readiness_said["asked"] is None
    assert [check["name"] for check in readiness_said["answer"]["checks"]] == ["store", "provider", *KINDS]
    assert all(check["ok"] for check in readiness_said["answer"]["checks"])
    assert left_in(place) == []


def test_doctor_asks_the_server_that_runs(servers, place):
    server = servers().start()
    by_url = json.loads(server.cli("doctor", "--json").stdout)["readiness"]
    assert by_url["ready"] and by_url["asked"] == f"http://127.0.0.1:{server.port}"
    by_folder = json.loads(doctor("--json", "--data", server.data).stdout)["readiness"]
    assert by_folder["ready"] and by_folder["asked"] == f"unix:{server.data}/run/api.sock"
    assert by_folder["answer"]["checked_at"] == by_url["answer"]["checked_at"], "the round of one server"
    (server.data / "run/api.sock").unlink()
    lost = doctor("--data", server.data)
    assert lost.returncode == 1 and "ATOLL_API_URL" in lost.stdout and f"holds '{server.data}'" in lost.stdout, lost.stdout
    away = doctor("--data", place / "data", ATOLL_API_URL=f"http://127.0.0.1:{server.port}")
    assert away.returncode == 0 and "A temporary server makes" in away.stdout, "--data wins"


@pytest.mark.parametrize("runs", [True, False], ids=["running", "temporary"])
def test_doctor_says_what_fails_and_the_cure(servers, broken_nft, place, runs):
    if runs:
        server = servers(before=broken_nft[1]).start(wait=False)
        readiness(server)
        result = doctor(ATOLL_API_URL=f"http://127.0.0.1:{server.port}")
    else:
        result = doctor("--data", place / "data", before=broken_nft[1])
    assert result.returncode == 1, result
    rows = [line.split() for line in result.stdout.splitlines()]
    assert ["fails", *KINDS[1].split(), "network:"] in [row[:5] for row in rows], result.stdout
    assert "no table for you" in result.stdout and "-> run 'nft list ruleset'" in result.stdout
    assert "Sandboxes CANNOT be made now" in result.stdout
    assert left_in(place) == []


def test_doctor_tries_the_networks_that_the_operator_has_chosen(broken_nft, place):
    (place / "data").mkdir()
    (place / "data/atoll.yaml").write_text("ready_networks: off\n")
    result = doctor("--data", place / "data", before=broken_nft[1])
    assert result.returncode == 0 and KINDS[0] in result.stdout and KINDS[1] not in result.stdout, result
    assert left_in(place) == ["data"] and os.listdir(place / "data") == ["atoll.yaml"]


def test_doctor_uses_a_data_folder_that_is_a_file_system_of_its_own(place):
    """The folder above it is read-only here: the temporary one must be on the file system that sandboxes will use."""
    script = f'mount -t tmpfs none {place}; mkdir {place}/data; mount -t tmpfs none {place}/data; mount -o remount,ro {place}; ' \
             f'"$@"; status=$?; ls -A {place}/data; exit $status'
    result = doctor("--data", place / "data", before=["unshare", "-m", "sh", "-c", script, "sh"])
    assert result.returncode == 0 and "A temporary server makes" in result.stdout, result
    assert result.stdout.rstrip().endswith("(provider native)."), f"left: {result.stdout}"


def test_doctor_says_that_it_cannot_make_its_folder(place):
    result = doctor("--data", place / "data", before=world(f"mount -t tmpfs -o ro none {place}"))
    assert result.returncode == 1 and "Read-only file system" in result.stdout and ".atoll-doctor-" in result.stdout, result
    assert left_in(place) == []


@pytest.mark.parametrize("moment", ["", "s", "sandboxes/readyprobe*"], ids=["made", "listens", "probes"])
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL], ids=["interrupted", "killed"])
def test_a_doctor_that_is_ended_leaves_nothing(place, moment, end):
    process = subprocess.Popen([atoll.ATOLL, "doctor", "--data", place / "data"], env=doctor_environment(),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    pattern = f".atoll-doctor-*/{moment}".rstrip("/")
    end_of_wait = time.monotonic() + 30
    while not list(place.glob(pattern)) and process.poll() is None:
        assert time.monotonic() < end_of_wait
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, end)
    process.wait(30)
    atoll.wait_for(lambda: not left_in(place), 30, lambda: f"nothing left, but {left_in(place)}")


def test_doctor_says_what_holds_for_disks_and_bursts(servers):
    server = servers().start()
    url = f"http://127.0.0.1:{server.port}"

    def check(name, **options):
        said = json.loads(doctor("--json", ATOLL_API_URL=url, **options).stdout)["checks"]
        return next((c["verdict"], c["found"]) for c in said if c["name"] == name)
    assert check("disk limits")[0] == "ok" and "disk_watch pauses" in check("disk limits")[1]
    verdict, found = check("disk limits", ATOLL_DISK_WATCH="off")
    assert verdict == "less" and "nothing enforces" in found
    verdict, found = check("disk limits", ATOLL_DISK_WATCH="off", ATOLL_DISK_QUOTA="on")
    possible = shutil.which("mkfs.ext4") and os.path.exists("/dev/loop-control")
    assert (verdict, "disk image" in found) == (("ok", True) if possible else ("less", False)), found
    bursts = [*pathlib.Path("/sys/fs/cgroup").glob("cpu*/cpu.cfs_burst_us"), *pathlib.Path("/sys/fs/cgroup").glob("*/cpu.max.burst")]
    assert check("processor burst")[0] == ("ok" if bursts else "less")
