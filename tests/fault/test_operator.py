# SPDX-License-Identifier: Apache-2.0
"""What an operator gets wrong, or a machine: what is said, what is kept, and how it goes on (docs/operate/troubleshooting.md has the table).

/readyz says what a create would find: each case compares both."""

import contextlib
import glob
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import tarfile
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


def steps(quick, slow):
    return atoll.sample([*quick, *slow], quick)


@pytest.mark.parametrize("step", steps(["probe-made"], ["files", "destroy-run", "limits", "overlay", "plan", "state", "run-folder",
                                                                               "destroy-files"]))
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


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_a_missing_nft_is_not_ready_and_says_what_to_install(servers, tmp_path):
    (tmp_path / "nft").write_text("#!/nonexistent/program\n")
    (tmp_path / "nft").chmod(0o755)
    server = servers(before=world(f"mount --bind {tmp_path}/nft {os.path.realpath(shutil.which('nft'))}")).start(wait=False)
    status, body = readiness(server)
    assert status == 503 and body["error"]["code"] == "network", body
    assert "nftables" in body["error"]["message"] and "install" in body["error"]["hint"]


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


# ---- limits of the server's processes ----

def end_of_start(server):
    """What a server said whose start is refused."""
    assert server.process.wait(30) == 1, server.log_text()
    server.process = None
    return server.log_text()


def test_too_little_address_space_refuses_the_start_with_a_cure(servers):
    """Under 'ulimit -v' the stacks of the server's threads do not fit."""
    said = end_of_start(servers(before=["prlimit", f"--as={200 << 20}"]).start(wait=False))
    assert "Resource temporarily unavailable" in said and "the address space is limited to 200 MiB" in said, said
    assert "LimitAS=infinity in the unit, or ulimit -v unlimited" in said and "the last line of its log above says why" in said, said


def test_a_limit_of_address_space_is_a_warning_and_calls_wait_for_threads(servers):
    mib = min(600 * max(os.cpu_count(), 2), 15000)  # the C library reserves some for each processor
    server = servers(before=["prlimit", f"--as={mib << 20}"]).start()
    warned, = readiness(server)[1]["warnings"]
    assert warned["code"] == "address_space" and f" {mib} MiB" in warned["message"] and "LimitAS" in warned["hint"], warned
    ran = doctor(ATOLL_API_URL=f"http://127.0.0.1:{server.port}")
    assert ran.returncode == 0 and "address_space" in ran.stdout and "LimitAS=infinity" in ran.stdout, ran.stdout
    sandbox = server.api().create(internet=False)["id"]
    api = server.pid_of("api")
    calls = [in_background(lambda: server.api().exec(sandbox, "sleep 0.2; ulimit -v")["stdout"]) for _ in range(60)]
    for thread, _ in calls:
        thread.join()
    assert {answer[0] if isinstance(answer[0], str) else repr(answer[0]) for _, answer in calls} == {f"{mib << 10}\n"}
    assert server.pid_of("api") == api, "no process of the server has ended"
    assert server.log_text().count("no further worker thread") <= 2, "said once a minute by each of two pools"


@pytest.fixture
def task_group():
    """A control group of its own for a server, as systemd makes one of a unit; its limit is set by calling it."""
    tree = pathlib.Path("/sys/fs/cgroup/pids")
    if not (tree / "cgroup.procs").exists():
        pytest.skip("the pids controller is not mounted as version 1 here")
    group = tree / f"atoll-test-{os.getpid()}"
    group.mkdir()

    def limit(tasks):
        (group / "pids.max").write_text(str(tasks))
    limit.before = ["sh", "-c", f'echo $$ >{group}/cgroup.procs; exec "$@"', "sh"]
    limit.path = group
    yield limit

    def remove():
        with contextlib.suppress(OSError):
            group.rmdir()
        return not group.exists()
    atoll.wait_for(remove, 30, lambda: f"an empty group, which has {(group / 'cgroup.procs').read_text().split()}")


def test_too_few_tasks_refuse_the_start_with_a_cure(task_group, servers):
    task_group(10)
    said = end_of_start(servers(before=task_group.before).start(wait=False))
    assert "Resource temporarily unavailable" in said and "TasksMax=infinity in the unit" in said, said
    assert f"{task_group.path}' (" in said and "the last line of its log above says why" in said, said


def test_a_group_that_is_full_of_tasks_is_not_ready_until_it_has_room(task_group, servers):
    server = servers(before=task_group.before, environment={"ATOLL_READY_PROBE_EVERY": "1s"}).start()
    api = server.api()
    kept = api.create(internet=False, persistent=True)["id"]
    task_group(1)
    failure = wait_until(server, "processes")["error"]
    assert "TasksMax=infinity" in failure["hint"] and str(task_group.path) in failure["hint"], failure
    ran = doctor(ATOLL_API_URL=f"http://127.0.0.1:{server.port}")
    assert ran.returncode == 1 and "processes" in ran.stdout and "TasksMax=infinity" in ran.stdout, ran.stdout
    refused = None
    for _ in range(10):  # what is prepared is given out first
        try:
            api.create(internet=False)
        except atoll.ApiError as failure:
            refused = failure
            break
    assert refused and refused.status == 503 and "TasksMax=infinity" in refused.hint, refused
    assert api.exec(kept, "echo runs")["stdout"] == "runs\n", "sandboxes have groups of their own"
    task_group("max")
    wait_until(server, None)
    assert api.exec(api.create(internet=False)["id"], "echo on")["stdout"] == "on\n"
    assert api.exec(kept, "echo kept")["stdout"] == "kept\n"
    server.remove_all()


def test_a_group_with_little_room_for_tasks_is_a_warning(task_group, servers):
    server = servers(before=task_group.before, environment={"ATOLL_READY_PROBE_EVERY": "1s"}).start()
    task_group(int((task_group.path / "pids.current").read_text()) + 20)

    def tasks():
        return next((w for w in readiness(server)[1].get("warnings", []) if w["code"] == "tasks"), None)
    warned = atoll.wait_for(tasks, 20, "a warning")
    assert "TasksMax=infinity" in warned["hint"] and "of at most" in warned["message"], warned
    task_group("max")
    atoll.wait_for(lambda: not tasks(), 20, "no warning")
    server.remove_all()


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


@contextlib.contextmanager
def standing_still(server):
    """Between two looks at a disk that gets full its processes would give up their reserve, which the filler would take, too."""
    pids = [server.process.pid, *server.descendants()]
    try:
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def test_a_full_disk_is_not_ready(small_disk, servers):
    server = servers(data=small_disk, environment={"ATOLL_READY_PROBE_EVERY": "1s"}).start()
    kept = server.api().create(internet=False, persistent=True)["id"]
    fill(small_disk / "filler", keep=1 << 20)
    failure = wait_until(server, "disk_full")["error"]
    assert "free room" in failure["hint"]
    (small_disk / "filler").unlink()
    wait_until(server, None)
    assert server.api().exec(kept, "echo kept")["stdout"] == "kept\n"


@pytest.mark.slow
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
    with standing_still(server):
        fill(small_disk / "filler")
    atoll.wait_for(lambda: not (small_disk / "reserve/space").exists(), 10, "the reserve to be given up")
    for sandbox in made:
        assert api.exec(sandbox, "echo runs")["stdout"] == "runs\n"
        api.remove(sandbox)
    atoll.wait_for(lambda: not atoll.Host(small_disk).files(), 20, "the files to go")


def test_a_reserve_that_is_half_given_up_goes_at_the_next_start(small_disk, servers):
    """The supervisor dies when it has given up the room, and not the files, which are the last free ones of a disk without inodes."""
    server = servers(data=small_disk, environment={"ATOLL_FAULT": "supervisor:reserve-given:kill"}).start()
    reserve = small_disk / "reserve"
    atoll.wait_for(lambda: (reserve / "63").exists(), 20, "a reserve")
    fill(small_disk / "filler")
    assert server.process.wait(30) == -signal.SIGKILL
    assert not (reserve / "space").exists() and len(list(reserve.iterdir())) == 64
    server.process = None
    del server.environment["ATOLL_FAULT"]
    server.start(wait=False)
    atoll.wait_for(lambda: not list(reserve.iterdir()), 30, lambda: f"no files of the reserve: {list(reserve.iterdir())}")
    (small_disk / "filler").unlink()
    wait_until(server, None)


@pytest.mark.slow
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


def test_a_server_that_stops_takes_requests_until_a_load_balancer_knows(servers):
    server = servers(environment={"ATOLL_DRAIN": "5s", "ATOLL_DRAIN_DELAY": "2s"}).start()
    sandbox = server.api().create(internet=False)["id"]
    begin = time.monotonic()
    server.process.terminate()
    atoll.wait_for(lambda: server.api().raw("GET", "/readyz").status == 503, 1, "readyz says so at once")
    assert server.api().exec(sandbox, "echo served")["stdout"] == "served\n"
    assert server.api().raw("GET", "/readyz").json()["error"]["code"] == "draining"
    assert server.process.wait(10) == 0
    assert 1.9 < time.monotonic() - begin < 6, "the delay, and nothing runs that a drain waits for"
    server.start()
    server.api().remove(sandbox)


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


@pytest.mark.slow
def test_what_does_not_end_is_cut_when_the_time_is_over(servers):
    server = servers(environment={"ATOLL_DRAIN": "1s"}).start()
    sandbox = server.api().create(internet=False)["id"]
    execution, output = in_background(lambda: server.api().exec(sandbox, "sleep 20"))
    time.sleep(0.5)
    begin = time.monotonic()
    server.process.terminate()
    assert server.process.wait(10) == 0 and time.monotonic() - begin < 5
    execution.join()
    assert "calls did not end in time" in server.log_text()
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

# ---- a host without a way out ----

def unix_call(server, method, path, body=None):
    """(status, answer), by the socket in the data folder: the server's ports are in a network of its own."""
    connection = http.client.HTTPConnection("localhost", timeout=30)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(str(server.data / "run/api.sock"))
    with contextlib.closing(connection):
        connection.request(method, path, json.dumps(body) if body is not None else None,
                           {"Authorization": f"Bearer {server.key}", "Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or "{}")


@pytest.fixture
def cut_off():
    """A server on a host without any route; its broker's network namespace can be entered."""
    server = atoll.Server(before=["unshare", "-n", "sh", "-c", 'ip link set lo up; exec "$@"', "sh"],
                          environment={"ATOLL_READY_PROBE_EVERY": "1s"})
    server.start(wait=False)
    atoll.wait_for(lambda: server.process.poll() is not None or (server.data / "run/api.sock").exists(), 30, server.log_text)

    def answers():
        assert server.process.poll() is None, server.log_text()
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            return unix_call(server, "GET", "/readyz")
    atoll.wait_for(answers, 30, server.log_text)
    yield server
    for row in unix_call(server, "GET", PATH)[1].get("items", []):
        unix_call(server, "DELETE", f"{PATH}/{row['id']}")
    server.stop()
    server.remove_all()


def test_a_host_without_a_default_route_is_ready_and_warned(cut_off):
    server = cut_off
    status, body = unix_call(server, "GET", "/readyz")
    assert (status, body["status"]) == (200, "ready"), body
    warning, = body["warnings"]
    assert warning["code"] == "no_route" and "default route" in warning["message"] and "nothing needs to be done" in warning["hint"]
    status, made = unix_call(server, "POST", PATH, {"template": "host", "internet": True})
    assert status in (200, 201), made
    status, said = unix_call(server, "POST", f"{PATH}/{made['id']}/exec", {"command": "echo works"})
    assert said["stdout"] == "works\n"
    ran = subprocess.run(["nsenter", "-t", str(server.pid_of("broker")), "-n", atoll.ATOLL, "doctor", "--data", server.data],
                         env=doctor_environment(), capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0 and "warns" in ran.stdout and "no_route" in ran.stdout, ran
    # The laptop joins a network: nothing is restarted.
    inside = ["nsenter", "-t", str(server.pid_of("broker")), "-n"]
    subprocess.run([*inside, "sh", "-c", "ip link add way-out type veth peer name far-end && ip addr add 198.51.100.2/24 dev way-out && "
                    "ip link set way-out up && ip link set far-end up && ip route add default via 198.51.100.1"], check=True)
    atoll.wait_for(lambda: "warnings" not in unix_call(server, "GET", "/readyz")[1], 20, server.log_text)
    forwards = subprocess.run([*inside, "cat", "/proc/sys/net/ipv4/conf/way-out/forwarding"], capture_output=True, text=True, check=True)
    assert forwards.stdout == "1\n"
    assert unix_call(server, "POST", f"{PATH}/{made['id']}/exec", {"command": "echo still"})[1]["stdout"] == "still\n"


# ---- the database ----

def refused_start(server):
    """What a start that is expected to fail says."""
    server.start(wait=False)
    assert server.process.wait(60) == 1
    server.process = None
    return server.log_text()


def keep_one(server, name="kept"):
    api = server.api()
    box = api.create(name=name, internet=False, persistent=True)["id"]
    api.exec(box, "echo kept > note")
    api.close()
    return box


def test_a_database_of_a_newer_version_is_refused_and_not_touched(servers):
    server = servers().start()
    box = keep_one(server)
    server.stop()
    database = server.data / "store/atoll.db"
    with contextlib.closing(sqlite3.connect(database)) as store:
        version, = store.execute("PRAGMA user_version").fetchone()
        store.execute("PRAGMA user_version = 9999")
    said = refused_start(server)
    assert "the database is at version 9999, this program knows up to" in said and "newer Atoll" in said
    with contextlib.closing(sqlite3.connect(database)) as store:
        assert store.execute("PRAGMA user_version").fetchone() == (9999,)
        store.execute(f"PRAGMA user_version = {version}")
    server.start()
    assert server.api().exec(box, "cat note")["stdout"] == "kept\n"


def test_a_second_server_on_the_folder_is_refused_and_the_first_goes_on(servers):
    server = servers().start()
    box = keep_one(server)
    second = atoll.Server(data=server.data)
    second.log = open(server.data / "second.log", "ab")
    ran = subprocess.run([atoll.ATOLL, "serve", "--data", server.data, "--listen", f"127.0.0.1:{second.port}"], capture_output=True,
                         text=True, timeout=60)
    second.log.close()
    assert ran.returncode == 1 and f"another server runs on '{server.data}'" in ran.stderr and "atoll down" in ran.stderr, ran
    assert server.api().exec(box, "cat note")["stdout"] == "kept\n"


def test_a_read_only_data_folder_is_refused(servers, tmp_path):
    place = tmp_path / "data"
    place.mkdir()
    ran = subprocess.run([*world(f"mount -t tmpfs -o ro none {place}"), atoll.ATOLL, "serve", "--data", place], capture_output=True,
                         text=True, timeout=60)
    assert ran.returncode == 1 and "Read-only file system" in ran.stderr, ran


# ---- the clock ----

@pytest.fixture
def clock():
    """Sets the wall clock of the server that is given its environment, in seconds from the right time."""
    with tempfile.NamedTemporaryFile(prefix="atoll-clock-") as file:
        os.chmod(file.name, 0o644)  # the api process is not root

        def turn(seconds):
            file.seek(0)
            file.write(struct.pack("=q", int(seconds * 1000)))
            file.flush()
        turn(0)
        turn.environment = {"ATOLL_FAULT_CLOCK": file.name, "ATOLL_READY_PROBE_EVERY": "1s"}
        yield turn


DAY = 86400


def jumps(server):
    return int(re.search(r"^atoll_clock_jumps_total (\d+)$", server.api().raw("GET", "/metrics").body.decode(), re.M)[1])


def test_a_clock_that_goes_forward_removes_nothing(servers, clock):
    server = servers(environment=clock.environment, flags=["--deleted-keep", "1h"]).start()
    api = server.api()
    box = api.create(internet=False, timeout_ms=3600000, idle_reap_ms=1800000)["id"]
    gone = api.create(name="gone", internet=False)["id"]
    api.delete(f"{PATH}/{gone}?keep=true")
    clock(400 * DAY)
    atoll.wait_for(lambda: jumps(server) == 1, 30, server.log_text)
    assert "the machine's clock was set" in server.log_text()
    warned = atoll.wait_for(lambda: readiness(server)[1].get("warnings"), 20, "a warning")
    assert [warning["code"] for warning in warned] == ["clock"] and readiness(server)[0] == 200
    assert "timedatectl" in warned[0]["hint"]
    assert api.exec(box, "echo on")["stdout"] == "on\n"
    assert [item["name"] for item in api.get("/api/sandbox/trash")["items"]] == ["gone"]
    # A start in between changes nothing.
    server.stop()
    server.start()
    api = server.api()
    assert api.exec(box, "echo on")["stdout"] == "on\n"
    assert [item["name"] for item in api.get("/api/sandbox/trash")["items"]] == ["gone"]
    clock(0)
    atoll.wait_for(lambda: jumps(server) == 1, 30, server.log_text)
    atoll.wait_for(lambda: not readiness(server)[1].get("warnings"), 20, "no warning")
    assert api.post(f"{PATH}/{gone}/undelete")["state"] == "stopped"


@pytest.mark.slow
def test_a_clock_that_goes_back_ends_nothing_and_timeouts_come_in_time(servers, clock):
    clock(30 * DAY)
    server = servers(environment=clock.environment).start()
    api = server.api()
    box = api.create(internet=False, idle_reap_ms=8000)["id"]
    long = api.create(internet=False)["id"]
    clock(0)
    atoll.wait_for(lambda: jumps(server) == 1, 30, server.log_text)
    assert readiness(server)[0] == 200
    assert api.exec(long, "echo on")["stdout"] == "on\n"
    atoll.wait_for(lambda: box not in {row["id"] for row in server.rows(api) if row["state"] == "started"}, 60,
                   "the end of an idle sandbox, 30 days early by the old clock")


# ---- pools that cannot be filled ----

@pytest.fixture
def small_template(tmp_path):
    """The content of a template of one file."""
    root = tmp_path / "root"
    (root / "bin").mkdir(parents=True)
    (root / "bin/sh").write_text("#!\n")
    with tarfile.open(tmp_path / "root.tar", "w") as tar:
        tar.add(root / "bin", "bin")
    return (tmp_path / "root.tar").read_bytes()


def pool_of(api, template):
    return next(pool for pool in api.get("/api/sandbox/pools")["items"] if pool["template"] == template)


def test_a_projects_pool_that_cannot_be_filled_is_told_and_the_node_is_ready(servers, small_template):
    server = servers(environment={"ATOLL_READY_PROBE_EVERY": "1s"}).start()
    api = server.api()
    template = api.call("POST", "/api/sandbox/templates/import?name=own", small_template, {"Content-Type": "application/octet-stream"})
    atoll.wait_for(lambda: api.get("/api/sandbox/templates/own")["state"] == "ready", 30, "the template")
    root, = [path for path in (server.data / "templates").iterdir() if path.name.startswith("own") or path.name == template.get("id")] \
        or [max((server.data / "templates").iterdir(), key=lambda path: path.stat().st_mtime)]
    root.rename(server.data / "taken-away")
    api.call("PUT", "/api/sandbox/pools/own", {"target": 1})
    pool = atoll.wait_for(lambda: (found := pool_of(api, "own"))["state"] == "failing" and found, 30, lambda: f"{pool_of(api, 'own')}")
    assert pool["problem"]["message"] and pool["problem"]["hint"], pool
    event = atoll.wait_for(lambda: [e for e in api.get("/v1/events?kind=pool.failed")["items"]], 10, "an event")[0]
    assert "the pool of template 'own' cannot be filled" in event["text"]
    metrics = api.raw("GET", "/metrics").body.decode()
    assert re.search(rf'^atoll_pool_failing{{template="{pool["template_id"]}"}} 1$', metrics, re.M), metrics
    listed = server.cli("pool", "ls")
    assert b"failing" in listed.stdout and pool["problem"]["hint"].encode() in listed.stderr, listed
    assert readiness(server)[0] == 200, "the node can make sandboxes"
    (server.data / "taken-away").rename(root)
    with contextlib.suppress(atoll.ApiError):
        api.create(template="own", internet=True)  # asks for one, so that the pool is tried again
    atoll.wait_for(lambda: pool_of(api, "own")["state"] != "failing", 90, lambda: f"{pool_of(api, 'own')}")
    atoll.wait_for(lambda: api.get("/v1/events?kind=pool.recovered")["items"], 10, "an event")


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
    for path in atoll.proc_files("cmdline"):
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


@pytest.mark.parametrize("moment, end", steps([("", signal.SIGKILL), ("sandboxes/readyprobe*", signal.SIGINT)],
                                              [("", signal.SIGINT), ("s", signal.SIGINT), ("s", signal.SIGKILL), ("sandboxes/readyprobe*", signal.SIGKILL)]))
def test_a_doctor_that_is_ended_leaves_nothing(place, moment, end):
    process = subprocess.Popen([atoll.ATOLL, "doctor", "--data", place / "data"], env=doctor_environment(),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    pattern = f".atoll-doctor-*/{moment}".rstrip("/")
    end_of_wait = time.monotonic() + 30
    while not glob.glob(f"{place}/{pattern}") and process.poll() is None:
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
