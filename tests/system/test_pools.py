# SPDX-License-Identifier: Apache-2.0
"""Prepared sandboxes: whoever gets one cannot tell it from one that was made for him; docs/use/pools.md."""

import concurrent.futures
import contextlib
import itertools
import os
import pathlib
import re
import shutil
import tarfile
import threading
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
FLAGS = ["--log-level", "debug", "--debug", "provider"]


@pytest.fixture(scope="module")
def pooled():
    running = atoll.Server(flags=FLAGS).start()
    yield running
    running.remove_all()


@pytest.fixture
def pooled_api(pooled):
    connection = pooled.api()
    yield connection
    connection.close()


def steps_of(server, sandbox):
    """What the broker says of a create; a claim is a step of a prepared one alone."""
    text = (server.data / "serve.log").read_text(errors="replace")
    return re.search(rf'sandbox={sandbox} .*steps="([^"]+)"', text).group(1)


def was_prepared(server, sandbox):
    return "claim=" in steps_of(server, sandbox)


def make_until(server, api, wanted=True, tries=100, **options):
    """Creates until one was prepared (or was not)."""
    options = {"internet": False, "template": "host", **options}
    for _ in range(tries):
        made = api.post(PATH, options)
        if was_prepared(server, made["id"]) == wanted:
            return made
        api.remove(made["id"])
        time.sleep(0.05)
    raise AssertionError(f"none of {tries} was {'prepared' if wanted else 'new'}")


def test_who_asks_again_gets_a_prepared_one(pooled, pooled_api):
    made = make_until(pooled, pooled_api)
    assert made["state"] == "started"
    assert pooled_api.exec(made["id"], "echo works")["stdout"] == "works\n"
    pooled_api.remove(made["id"])


def test_it_has_its_own_name_and_machine_id(pooled, pooled_api):
    script = "hostname; cat /etc/hostname /etc/machine-id; getent hosts $(hostname)"
    first = make_until(pooled, pooled_api, name="first-of-two")
    second = make_until(pooled, pooled_api, name="second-of-two")
    said = [pooled_api.exec(one["id"], script)["stdout"].splitlines() for one in (first, second)]
    assert said[0][:2] == ["first-of-two"] * 2 and said[1][:2] == ["second-of-two"] * 2
    for lines in said:
        assert re.fullmatch("[0-9a-f]{32}", lines[2])
        assert lines[1] in lines[3]
    assert said[0][2] != said[1][2]
    pooled_api.post(f"{PATH}/{first['id']}/stop")
    pooled_api.post(f"{PATH}/{first['id']}/start")
    assert pooled_api.exec(first["id"], script)["stdout"].splitlines()[:3] == said[0][:3], "it stays the same machine"
    for one in (first, second):
        pooled_api.remove(one["id"])


def test_nobody_can_tell_it_from_a_new_one(pooled, pooled_api):
    """The same mounts, limits, rights, files and environment, whichever way it was made."""
    script = """cut -d' ' -f5- /proc/self/mountinfo | sed 's/s[0-9]*\\/upper//g; s/[0-9]*:[0-9]*//g' | cut -d' ' -f1-3 | sort
        grep -E 'Cap|Seccomp|NoNew' /proc/1/status; ulimit -a; env | sort; ls -la / /etc /home/user /run /run/atoll |
        awk '{print $1, $3, $4, $NF}'; cat /proc/self/cgroup | wc -l; cat /proc/keys 2>/dev/null"""
    new = make_until(pooled, pooled_api, wanted=False, resources={"memory_mb": 777}, name="the-name")
    expected = pooled_api.exec(new["id"], script)["stdout"]
    pooled_api.remove(new["id"])
    prepared = make_until(pooled, pooled_api, resources={"memory_mb": 777}, name="the-name")
    assert pooled_api.exec(prepared["id"], script)["stdout"] == expected
    pooled_api.remove(prepared["id"])


def test_its_life_begins_when_it_is_asked_for(pooled, pooled_api):
    pooled_api.remove(make_until(pooled, pooled_api)["id"])
    time.sleep(1.5)  # the age of the prepared sandbox, which its uptime must not show
    asked = time.monotonic()
    made = make_until(pooled, pooled_api)
    stats = pooled_api.get(f"{PATH}/{made['id']}/stats")
    assert stats["uptime_ms"] <= 1000 * (time.monotonic() - asked)
    pooled_api.remove(made["id"])


def test_another_size_or_network_is_made_anew(pooled, pooled_api):
    pooled_api.remove(make_until(pooled, pooled_api)["id"])
    made = pooled_api.create(internet=False, resources={"memory_mb": 333, "pids": 99})
    assert not was_prepared(pooled, made["id"])
    stats = pooled_api.get(f"{PATH}/{made['id']}/stats")
    assert stats["memory_limit_bytes"] == 333 << 20
    pooled_api.remove(made["id"])


def group_of(api, sandbox, seconds):
    """Its cgroup of the memory controller: a new one has another inode, whatever its name."""
    api.exec(sandbox, f"sleep {seconds}", background=True)
    pid = atoll.wait_for(lambda: atoll.first_process(f"sleep {seconds}"), 15, "a process of the sandbox")
    path = re.search("memory:(.*)", pathlib.Path(f"/proc/{pid}/cgroup").read_text())[1]
    return os.stat(f"/sys/fs/cgroup/memory{path}").st_ino


def groups_now():
    found = set()
    for path in pathlib.Path("/sys/fs/cgroup/memory/atoll").glob("s*"):
        with contextlib.suppress(OSError):  # they come and go
            found.add(path.stat().st_ino)
    return found


@pytest.mark.skipif(not os.path.exists("/sys/fs/cgroup/memory"), reason="cgroups of version 2 are not used again")
def test_who_gets_the_cgroups_of_another_cannot_tell(pooled, pooled_api):
    """Whoever had them used a processor and memory, made processes and stood still; who ran out of memory leaves none."""
    lines = ["i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done; head -c 20M /dev/zero > /dev/shm/full; sleep 1000 & :",
             "head -c 100M /dev/zero | tail -c 90M"]
    groups, used = [], []
    for i, line in enumerate(lines[:1] * 3 + lines[1:] * 2):
        made = pooled_api.create(internet=False, resources={"cpu": 2, "memory_mb": 64, "pids": 40})["id"]
        groups.append(group_of(pooled_api, made, 7200100 + i))
        pooled_api.exec(made, line)
        stats = pooled_api.get(f"{PATH}/{made}/stats")
        assert stats["oom_kills"] > 0 if i >= 3 else stats["memory_bytes"] > 20 << 20, stats
        used.append(stats["cpu_usage_us"])
        pooled_api.post(f"{PATH}/{made}/pause")
        pooled_api.remove(made)
    again, left = set(), 200
    for i in range(200):
        made = pooled_api.create(internet=False, resources={"memory_mb": 128 + i % 3, "pids": 60 + i % 3})["id"]
        stats = pooled_api.get(f"{PATH}/{made}/stats")
        assert (stats["memory_limit_bytes"], stats["pids_limit"]) == ((128 + i % 3) << 20, 60 + i % 3)
        assert stats["oom_kills"] == 0 and stats["cpu_usage_us"] < min(used[:3]) and stats["memory_bytes"] < 20 << 20, stats
        if groups_now() & set(groups):  # of a cell at least
            again |= {group_of(pooled_api, made, 7200200 + i)} & set(groups)
        pooled_api.remove(made)
        left = min(left, 12) if again else left  # those that ran out of memory would come next
        left -= 1
        if not left:
            break
    assert again and not again & set(groups[3:])


def test_a_prepared_one_that_dies_is_nobodys_loss(pooled, pooled_api):
    """All agents that wait are killed: the next creates succeed all the same."""
    pooled_api.remove(make_until(pooled, pooled_api)["id"])
    atoll.kill_and_wait(atoll.Host(pooled.data).agents())
    made = [pooled_api.create(internet=False)["id"] for _ in range(6)]
    for one in made:
        assert pooled_api.exec(one, "echo alive")["stdout"] == "alive\n"
        pooled_api.remove(one)
    atoll.Host(pooled.data).wait_clean()


def test_many_who_ask_at_once_all_get_one_of_their_own(pooled, pooled_api):
    pooled_api.remove(make_until(pooled, pooled_api)["id"])

    def use(number):
        api = pooled.api()
        made = api.create(internet=False, name=f"many-{number}")["id"]
        said = api.exec(made, "hostname; cat /etc/machine-id")["stdout"]
        api.remove(made)
        api.close()
        return said
    with concurrent.futures.ThreadPoolExecutor(12) as workers:
        said = list(workers.map(use, range(36)))
    assert sorted(text.splitlines()[0] for text in said) == sorted(f"many-{i}" for i in range(36))
    assert len({text.splitlines()[1] for text in said}) == 36


def test_forks_of_one_snapshot_are_prepared_too(pooled, pooled_api):
    origin = pooled_api.create(internet=False)["id"]
    pooled_api.exec(origin, "echo kept > /home/user/file")
    snapshot = pooled_api.post(f"{PATH}/{origin}/snapshot")["id"]
    made = make_until(pooled, pooled_api, snapshot=snapshot)
    assert pooled_api.exec(made["id"], "cat /home/user/file")["stdout"] == "kept\n"
    for one in (made["id"], origin):
        pooled_api.remove(one)
    pooled_api.delete(f"/api/sandbox/snapshots/{snapshot}")
    with pytest.raises(atoll.ApiError):
        pooled_api.create(internet=False, snapshot=snapshot)


def pool_of(api, template):
    return next((pool for pool in api.get("/api/sandbox/pools")["items"] if pool["template"] == template
                 and not pool["automatic"]), None)


def fill(api, template, ready):
    return atoll.wait_for(lambda: (pool := pool_of(api, template)) and pool["ready"] == ready and pool, 30,
                          f"{ready} prepared of {template}: {pool_of(api, template)}")


@pytest.fixture
def with_pool(pooled, pooled_api):
    """A template of the project with three prepared ones."""
    pooled.cli("template", "create", "pooled", "--from", "host", "--memory", "96m", "--pool", "3:2:5")
    fill(pooled_api, "pooled", 2)  # nobody has asked yet: the minimum
    yield "pooled"
    pooled.cli("template", "rm", "pooled")


def test_the_first_who_asks_gets_one_of_the_templates_pool(pooled, pooled_api, with_pool):
    made = pooled_api.create(template=with_pool)
    assert was_prepared(pooled, made["id"])
    assert pooled_api.get(f"{PATH}/{made['id']}/stats")["memory_limit_bytes"] == 96 << 20
    pool = pool_of(pooled_api, with_pool)
    assert (pool["hits"], pool["hit_ratio"]) == (1, 1)
    atoll.wait_for(lambda: f'atoll_pool_hit_ratio{{template="{pool["template_id"]}"}} 1.0' in
                   pooled_api.raw("GET", "/metrics").body.decode(), 15, "metrics tell of it")
    fill(pooled_api, with_pool, 3)  # it is in use: the target
    pooled_api.remove(made["id"])


def test_misses_let_a_pool_grow(pooled, pooled_api, with_pool):
    def make(_):
        api = pooled.api()
        made = api.create(template=with_pool)["id"]
        api.close()
        return made
    with concurrent.futures.ThreadPoolExecutor(8) as workers:
        made = list(workers.map(make, range(16)))
    pool = pool_of(pooled_api, with_pool)
    assert pool["hits"] + pool["misses"] == 16 and pool["misses"] > 0
    assert pool["hit_ratio"] == pytest.approx(pool["hits"] / 16)
    fill(pooled_api, with_pool, min(5, 3 + pool["misses"]))
    for one in made:
        pooled_api.remove(one)


def test_a_change_of_the_template_changes_what_is_prepared(pooled, pooled_api, with_pool):
    pooled_api.call("PATCH", f"/api/sandbox/templates/{with_pool}", {"resources": {"memory_mb": 80}})
    fill(pooled_api, with_pool, 2)
    made = pooled_api.create(template=with_pool)
    assert was_prepared(pooled, made["id"])
    assert pooled_api.get(f"{PATH}/{made['id']}/stats")["memory_limit_bytes"] == 80 << 20
    pooled_api.remove(made["id"])
    pooled_api.call("PATCH", f"/api/sandbox/templates/{with_pool}", {"pool": {"target": 0}})
    assert pool_of(pooled_api, with_pool) is None


def test_no_create_gets_what_was_prepared_before_a_change(pooled, pooled_api, with_pool):
    """Sizes change all the time while sandboxes are prepared and asked for: each has what its row says."""
    done = threading.Event()

    def change():
        api = pooled.api()
        # Now faster than any is prepared, now slower.
        for memory_mb, pause_s in itertools.cycle(itertools.product((80, 96), (0.015, 0.2))):
            if done.is_set():
                break
            api.call("PATCH", f"/api/sandbox/templates/{with_pool}", {"resources": {"memory_mb": memory_mb}})
            time.sleep(pause_s)  # no wait: the rhythm of the changes
        api.close()
    changer = threading.Thread(target=change)
    changer.start()
    try:
        prepared = 0
        for _ in range(60):
            made = pooled_api.create(template=with_pool)
            limit = pooled_api.get(f"{PATH}/{made['id']}/stats")["memory_limit_bytes"]
            assert limit == made["resources"]["memory_mb"] << 20
            prepared += was_prepared(pooled, made["id"])
            pooled_api.remove(made["id"])
    finally:
        done.set()
        changer.join()
    assert prepared > 0


def test_a_template_made_anew_is_never_the_old_one(pooled, pooled_api, tmp_path):
    program = shutil.which("busybox")
    if not program:
        pytest.skip("'busybox' is not installed (Debian package busybox-static)")
    for number in range(3):
        root = tmp_path / str(number)
        (root / "bin").mkdir(parents=True)
        shutil.copy(program, root / "bin" / "busybox")
        os.symlink("busybox", root / "bin" / "cat")
        (root / "marker").write_text(str(number))
        with tarfile.open(root / "root.tar", "w") as tar:
            for name in ("bin", "marker"):
                tar.add(root / name, name)
        pooled_api.call("POST", "/api/sandbox/templates/import?name=anew", (root / "root.tar").read_bytes(),
                        {"Content-Type": "application/octet-stream"})
        pooled_api.call("PUT", "/api/sandbox/pools/anew", {"target": 2})
        if number % 2 == 0:  # else it is removed while they are being prepared
            fill(pooled_api, "anew", 2)
        with pooled_api.sandbox(template="anew") as made:
            assert pooled_api.exec(made, cmd="/bin/cat", args=["/marker"])["stdout"] == str(number)
        pooled_api.delete("/api/sandbox/templates/anew")


def test_one_templates_burst_leaves_anothers_pool_alone(pooled, pooled_api, with_pool):
    pooled.cli("template", "create", "other", "--from", "host", "--memory", "97m", "--pool", "2")
    fill(pooled_api, "other", 2)
    for _ in range(8):
        pooled_api.remove(pooled_api.create(template=with_pool)["id"])
    assert pool_of(pooled_api, "other")["ready"] == 2
    pooled.cli("template", "rm", "other")
    atoll.wait_for(lambda: pool_of(pooled_api, "other") is None, 30, "the pool goes with its template")


def test_sizes_are_checked_and_everybodys_templates_are_the_admins(pooled, pooled_api, with_pool):
    path = "/api/sandbox/pools"
    for body, status in (({}, 400), ({"target": 4, "min": 5}, 400), ({"target": 400}, 400), ({"target": "x"}, 400)):
        with pytest.raises(atoll.ApiError) as refused:
            pooled_api.call("PUT", f"{path}/{with_pool}", body)
        assert refused.value.status == status, body
    with pytest.raises(atoll.ApiError) as refused:
        pooled_api.call("PUT", f"{path}/nowhere", {"target": 1})
    assert refused.value.status == 404
    # Of the server's network, and of no other: who says that he wants another is told.
    default = pooled_api.call("PUT", f"{path}/{with_pool}", {"target": 1})["internet"]
    assert pooled_api.call("PUT", f"{path}/{with_pool}", {"target": 1, "internet": default})["internet"] == default
    for call in (lambda body: pooled_api.call("PUT", f"{path}/{with_pool}", body),
                 lambda body: pooled_api.call("PATCH", f"/api/sandbox/templates/{with_pool}", {"pool": body})):
        with pytest.raises(atoll.ApiError) as refused:
            call({"target": 1, "internet": not default})
        assert refused.value.status == 501 and "network" in refused.value.message
        assert "pool_automatic" in refused.value.hint
    key = pooled_api.post("/api/sandbox/keys", {"name": "tenant", "scopes": ["sandbox:read", "template:write"]})["key"]
    tenant = pooled.api(key)
    with pytest.raises(atoll.ApiError) as refused:
        tenant.call("PUT", f"{path}/host", {"target": 1})
    assert refused.value.status == 403
    assert not any(pool["automatic"] for pool in tenant.get(path)["items"])
    assert tenant.call("PUT", f"{path}/{with_pool}", {"target": 1})["max"] == 2
    tenant.close()


def test_the_admin_sets_everybodys_and_the_cli_shows_it(pooled, pooled_api):
    assert pooled.cli("pool", "set", "host", "2:1").stdout == b"host: target 2, min 1, max 4\n"
    fill(pooled_api, "host", 1)
    table = pooled.cli("pool", "ls").stdout.decode().splitlines()
    assert table[0].split() == ["TEMPLATE", "MIN", "TARGET", "MAX", "READY", "HITS", "MISSES", "STATE"]
    assert any(line.split()[:4] == ["host", "1", "2", "4"] for line in table)
    atoll.wait_for(lambda: re.search(r'^atoll_pool_target\{template="host"\} 2$',
                                     pooled_api.raw("GET", "/metrics").body.decode(), re.M), 30, "metrics tell of it")
    assert pooled.cli("pool", "set", "host", "0").returncode == 0
    assert pool_of(pooled_api, "host") is None


def test_a_restarted_broker_fills_its_pools_again(pooled, pooled_api, with_pool):
    pooled.kill9("broker")

    def is_full():
        try:
            return (pool_of(pooled_api, with_pool) or {"ready": 0})["ready"] == 2
        except (atoll.ApiError, OSError):
            return False
    atoll.wait_for(is_full, 15, "a full pool")
    made = pooled_api.create(template=with_pool)
    assert was_prepared(pooled, made["id"])
    pooled_api.remove(made["id"])


def test_without_automatic_pools_nothing_is_prepared(private_server):
    private_server.flags = [*FLAGS, "--pool-automatic", "0"]
    private_server.start()
    api = private_server.api()
    for _ in range(4):
        made = api.create(internet=False)["id"]
        assert not was_prepared(private_server, made)
        api.remove(made)
        time.sleep(0.1)  # nothing may be prepared during this time
