# SPDX-License-Identifier: Apache-2.0
"""Long chains of layers get shorter by themselves, and mean what they meant."""

import concurrent.futures
import contextlib
import os
import pathlib
import random
import signal

import pytest

import atoll

pytestmark = pytest.mark.needs_root
INSTANCES = "/api/sandbox/instances"
SNAPSHOTS = "/api/sandbox/snapshots"
LONG = 10
STATE = r"""find . /etc/pam.d -printf '%p %y %m %U:%G %l\n' | sort; find . /etc/pam.d -type f -exec md5sum {} + | sort -k 2"""


@pytest.fixture
def made(api):
    """Sandboxes and snapshots that go again."""
    class Made:
        sandboxes, snapshots = [], []

        def create(self, **options):
            self.sandboxes.append(api.create(internet=False, **options)["id"])
            return self.sandboxes[-1]

        def snapshot(self, box, **options):
            self.snapshots.append(api.post(f"{INSTANCES}/{box}/snapshot", {"sync": False, **options})["id"])
            return self.snapshots[-1]
    things = Made()
    yield things
    for box in things.sandboxes:
        with contextlib.suppress(atoll.ApiError):
            api.remove(box)
    for taken in things.snapshots:
        with contextlib.suppress(atoll.ApiError):
            api.delete(f"{SNAPSHOTS}/{taken}")


def run(api, box, script):
    done = api.exec(box, f"cd /home/user/project; {script}; cd /", user="root", cwd="/")
    assert done["exit_code"] == 0, done["stderr"]
    return done["stdout"]


def chain(server, box, folder="sandboxes"):
    with contextlib.suppress(FileNotFoundError):
        return os.readlink(server.data / folder / box / "chain").split()
    return []


def some_changes(random):
    """What overlays find hard: things that go, and come back as something else."""
    names = [f"{a}/{b}" for a in ("a", "b", "c/d", "c/e") for b in "xyz"] + ["a", "b", "c/d", "c", "t", "u"]
    # The template has something there, which is to stay hidden.
    names += ["/etc/pam.d", "/etc/pam.d/su", "/etc/pam.d/sudo", "/etc/pam.d/new"]
    lines = []
    for _ in range(random.randrange(2, 7)):
        one, two = random.sample(names, 2)
        lines.append(random.choice([
            f"mkdir -p {one}", f"rm -rf {one}", f"rm -rf {one}; mkdir -p {one}; echo {random.random()} > {one}/new",
            f"mkdir -p $(dirname {one}); echo {random.random()} > {one}", f"mv -T {one} {two}", f"ln {one} {two}",
            f"ln -sfn {one} {two}", f"chmod {random.choice(['700', '755', '4711', '600'])} {one}", f"chown -h 7:8 {one}",
            f"rm -rf {one}; echo > {one}", "mkfifo pipe || rm pipe"]))
    return "; ".join(f"({line}) 2> /dev/null" for line in lines) + "; true"


ROW = 100 if atoll.IS_SLOW else 40  # more than twice LONG


def test_many_snapshots_in_a_row_and_each_can_be_gone_back_to(api, made, server):
    box, rng, states = made.create(persistent=True), random.Random(4711), {}
    for i in range(ROW):
        run(api, box, some_changes(rng))
        states[made.snapshot(box)] = run(api, box, STATE)
    atoll.wait_for(lambda: len(chain(server, box)) <= 2 * LONG, 30, "a short chain")
    assert all(len(chain(server, taken, "snapshots")) <= 2 * LONG for taken in states)
    for taken, state in rng.sample(sorted(states.items()), ROW):
        child = api.create(internet=False, snapshot=taken)["id"]
        assert run(api, child, STATE) == state, taken
        api.remove(child)
    for taken in list(states)[::20]:
        api.post(f"{SNAPSHOTS}/{taken}/restore")
        assert run(api, box, STATE) == states[taken], taken


def test_a_sandbox_that_runs_keeps_what_it_has_mounted(api, made, server):
    """Its layers are replaced under its name, the snapshots are removed, and it goes on as before."""
    others = set(os.listdir(server.data / "snapshots"))  # the cache of builds
    box, states = made.create(persistent=True), []
    for i in range(LONG + 3):
        run(api, box, f"echo {i} > f{i}; rm -f f{i - 4}; mkdir -p d; echo {i} > d/{i}")
        made.snapshot(box)
    atoll.wait_for(lambda: len(chain(server, box)) <= LONG, 30, "a short chain")
    before = run(api, box, STATE)
    for taken in made.snapshots:
        api.delete(f"{SNAPSHOTS}/{taken}")
    assert run(api, box, STATE) == before
    api.post(f"{INSTANCES}/{box}/stop")
    atoll.wait_for(lambda: set(os.listdir(server.data / "snapshots")) - others == set(chain(server, box)), 30,
                   "layers that go with the root that had them")
    api.post(f"{INSTANCES}/{box}/start")
    assert run(api, box, STATE) == before
    assert api.get(f"{INSTANCES}/{box}/changes?path=home/user/project/d")["items"][0]["kind"] == "added"


def test_a_reset_goes_back_past_what_was_merged(api, made, server):
    first = made.create()
    run(api, first, "echo origin > origin")
    origin = made.snapshot(first)
    box = made.create(snapshot=origin, persistent=True)
    for i in range(LONG + 3):
        run(api, box, f"echo {i} > f{i}; rm -f origin")
        made.snapshot(box)
    atoll.wait_for(lambda: len(chain(server, box)) <= LONG and origin not in chain(server, box), 30, "a short chain")
    api.delete(f"{SNAPSHOTS}/{origin}")
    api.remove(first)
    api.post(f"{INSTANCES}/{box}/reset")
    assert run(api, box, "ls; cat origin") == "origin\norigin\n"


def test_what_cannot_be_merged_stays_long_and_says_so_in_the_end(api, made, server):
    """Folders deeper than a merge goes: the snapshots work until there are too many layers."""
    box = made.create()
    api.write(box, "/home/user/project/deep.py", b"""
import os
for i in range(700):
    os.mkdir('d'); os.chdir('d')
""")
    run(api, box, "python3 deep.py")
    for i in range(64):
        made.snapshot(box)
    with pytest.raises(atoll.ApiError) as refused:
        made.snapshot(box)
    assert (refused.value.status, refused.value.code) == (429, "limit_exceeded")
    assert "64" in refused.value.message and refused.value.hint
    assert "layers are not merged" in server.log_text()
    assert run(api, box, "ls") == "d\ndeep.py\n"


def stopped_child(server):
    for pid in atoll.processes_below(server.pid_of("broker")):
        with contextlib.suppress(OSError):
            if pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T":
                return pid
    return None


def test_a_chain_that_could_not_be_replaced_then_gets_short_later(private_server):
    """The merge ends while the sandbox does, which is no time to give it another chain."""
    private_server.environment["ATOLL_FAULT"] = "task:flatten-merged:stop"
    private_server.start()
    api = private_server.api()
    box = api.create(internet=False, persistent=True)["id"]
    for i in range(LONG + 1):
        api.exec(box, f"echo {i} > f{i}", cwd="/home/user")
        api.post(f"{INSTANCES}/{box}/snapshot", {"sync": False})
    child = atoll.wait_for(lambda: stopped_child(private_server), 30, "a merge")
    api.exec(box, "trap 'touch told' TERM; touch ready; while :; do sleep 1; done", cwd="/home/user", background=True)
    atoll.wait_for(lambda: api.exec(box, "test -e ready", cwd="/home/user")["exit_code"] == 0, 30, "a command that outlives SIGTERM")
    os.sync()  # what the merge syncs at its end, which must not take longer than the stop

    def is_told():
        return list((private_server.data / "sandboxes" / box).glob("*/home/user/told"))

    def is_short():
        if again := stopped_child(private_server):
            os.kill(again, signal.SIGCONT)
        return len(chain(private_server, box)) <= LONG
    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        stopped = threads.submit(private_server.api(timeout=60).post, f"{INSTANCES}/{box}/stop")
        # The state says "stopping" before the broker knows it; only a stack of an ending sandbox is left as it is.
        atoll.wait_for(is_told, 30, "the stop")
        os.kill(child, signal.SIGCONT)
        atoll.wait_for(lambda: not os.path.exists(f"/proc/{child}"), 30, "the end of the merge")
        assert len(chain(private_server, box)) > LONG
        stopped.result()
    atoll.wait_for(is_short, 30, "a short chain")
    api.post(f"{INSTANCES}/{box}/start")
    assert api.exec(box, "cat f0 f5", cwd="/home/user")["stdout"] == "0\n5\n"
    api.remove(box)


@pytest.mark.parametrize("step", ["task:flatten-folder", "task:flatten-merged", "broker:flatten-replaced"])
def test_a_program_that_dies_in_between_leaves_nothing(private_server, step):
    private_server.environment["ATOLL_FAULT"] = f"{step}:kill"
    private_server.start()
    api = private_server.api(timeout=20)
    box = api.create(internet=False, persistent=True)["id"]
    for i in range(LONG + 2):
        with contextlib.suppress(atoll.ApiError, OSError, ConnectionError):
            api.exec(box, f"echo {i} > f{i}", cwd="/home/user")
            api.post(f"{INSTANCES}/{box}/snapshot", {"sync": False})
    private_server.environment.pop("ATOLL_FAULT")
    private_server.stop()
    private_server.start()
    api = private_server.api()
    if api.get(f"{INSTANCES}/{box}")["state"] == "stopped":
        api.post(f"{INSTANCES}/{box}/start")
    assert api.exec(box, "cat f0 f5", cwd="/home/user")["stdout"] == "0\n5\n"
    atoll.wait_for(lambda: len(chain(private_server, box)) <= LONG + 1, 30, "a short chain")
    api.remove(box)
    for row in api.get(f"{SNAPSHOTS}?limit=1000")["items"]:
        api.delete(f"{SNAPSHOTS}/{row['id']}")
    atoll.wait_for(lambda: not os.listdir(private_server.data / "snapshots"), 30, "no layer is left")
