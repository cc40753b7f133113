# SPDX-License-Identifier: Apache-2.0
"""Snapshots, forks and rollback: of stopped and of started sandboxes, their order, their limits, their end."""

import json
import os
import threading

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"
SNAPSHOTS = "/api/sandbox/snapshots"
MAKE = """
set -e
printf mine > mine; chmod 640 mine
sudo -n true 2>/dev/null || true
mkdir -p deep/er; printf x > deep/er/file; ln -s ../mine deep/link; ln mine twin
"""


def snapshot(api, sandbox, **body):
    return api.post(f"{PATH}/{sandbox}/snapshot", body)


def fork(api, sandbox, **body):
    return api.post(f"{PATH}/{sandbox}/fork", body)


def out(api, sandbox, command, **options):
    answer = api.exec(sandbox, command, **options)
    assert answer["ok"], answer
    return answer["stdout"].strip()


@pytest.fixture
def made(api):
    """Ids of sandboxes and snapshots that a test makes: they go again."""
    class Made:
        sandboxes, snapshots = [], []

        def create(self, **options):
            options.setdefault("internet", False)
            self.sandboxes.append(api.create(**options)["id"])
            return self.sandboxes[-1]

        def snapshot(self, sandbox, **body):
            taken = snapshot(api, sandbox, **body)
            self.snapshots.append(taken["id"])
            return taken

        def fork(self, sandbox, **body):
            forked = fork(api, sandbox, **body)
            self.sandboxes += [item["id"] for item in forked["items"]]
            self.snapshots.append(forked["snapshot"]["id"])
            return forked

    made = Made()
    made.sandboxes, made.snapshots = [], []
    yield made
    for sandbox in made.sandboxes:
        try:
            api.remove(sandbox)
        except atoll.ApiError as gone:
            assert gone.status == 404
    for name in made.snapshots:
        try:
            api.delete(f"{SNAPSHOTS}/{name}")
        except atoll.ApiError as gone:
            assert gone.status == 404


def layers(server):
    return set(os.listdir(server.data / "snapshots"))


def test_a_stopped_sandbox_is_snapshotted_by_a_rename(api, made):
    box = made.create()
    out(api, box, MAKE)
    api.post(f"{PATH}/{box}/stop")
    taken = made.snapshot(box, name="rest")
    assert (taken["method"], taken["frozen_ms"], taken["state"]) == ("rename", 0, "ready")
    assert taken["sandbox"] == box and taken["parent"] is None and taken["depth"] == 1
    api.post(f"{PATH}/{box}/start")
    assert out(api, box, "cat mine deep/er/file twin") == "minexmine"


def test_a_started_sandbox_goes_on_with_another_root(api, made):
    box = made.create()
    out(api, box, MAKE)
    out(api, box, "echo kept > /tmp/kept; echo kept > /run/kept || true; rm /etc/profile", user="root")
    taken = made.snapshot(box)
    assert taken["method"] == "switch" and taken["because"] is None
    assert 0 < taken["frozen_ms"] < 2000
    # what is mounted has come along, and memory keeps what it has
    assert out(api, box, "cat /tmp/kept; cat /etc/hostname > /dev/null; echo > /dev/null; ls /proc/1/comm") \
        == "kept\n/proc/1/comm"
    # the files are there, and can be changed, replaced and deleted
    assert out(api, box, "cat mine; echo more >> mine; cat mine; rm twin; mkdir twin; ls -A twin") \
        == "minemine" + "more"
    assert not api.exec(box, "test -e /etc/profile")["ok"]
    api.write(box, "by-api", b"bytes")
    assert api.read(box, "by-api") == b"bytes"
    assert out(api, box, "wc -c < by-api") == "5"


def test_snapshots_of_a_started_sandbox_do_not_change_after_they_were_taken(api, made):
    box = made.create()
    for number in range(4):
        out(api, box, f"echo {number} > number; echo {number} > only-{number}; rm -f only-{number - 1}")
        made.snapshot(box, name=f"number-{number}", sync=False)
    out(api, box, "echo last > number; rm -f only-*")
    for number in range(4):
        child = made.create(snapshot=f"number-{number}")
        assert out(api, child, "cat number; ls only-*") == f"{number}\nonly-{number}"


def test_who_works_in_a_folder_of_the_old_root_has_its_files_copied(api, made):
    box = made.create()
    out(api, box, MAKE)
    process = api.exec(box, "while :; do echo $((i += 1)) > next; mv next counter; sleep 0.01; done",
                       background=True)["process"]
    atoll.wait_for(lambda: api.exec(box, "cat counter")["ok"], 30, "a counter")
    taken = made.snapshot(box)
    assert taken["method"] == "copy" and "process" in taken["because"], taken
    # it goes on, and still writes where everybody sees it
    before = int(out(api, box, "cat counter"))
    atoll.wait_for(lambda: int(api.exec(box, "cat counter")["stdout"] or 0) > before, 30, "a process that goes on")
    child = made.create(snapshot=taken["id"])
    copied = int(out(api, child, "cat counter"))
    assert copied <= before
    assert out(api, child, "cat mine deep/er/file deep/link twin; stat -c '%h %a %U' mine") == "minexminemine2 640 user"
    assert process > 0


def test_an_open_file_is_never_cut_off_by_a_switch(api, made):
    box = made.create()
    opened = api.exec(box, "cd /; exec 7>>/home/user/project/log; while sleep 0.01; do echo line >&7; done",
                      background=True)
    atoll.wait_for(lambda: api.exec(box, "test -s log")["ok"], 30, "a log")
    taken = made.snapshot(box)
    assert taken["method"] == "copy"
    size = int(out(api, box, "stat -c %s log"))
    atoll.wait_for(lambda: int(out(api, box, "stat -c %s log")) > size, 30, "a log that grows")
    assert opened["process"] > 0


USERS = {
    "a watch on files": "import ctypes; c = ctypes.CDLL(None); c.inotify_add_watch(c.inotify_init(), b'/home/user', 2)",
    "a file in shared memory": "import mmap, os; fd = os.open('/home/user/mapped', os.O_RDWR | os.O_CREAT); os.truncate(fd, 4096); m = mmap.mmap(fd, 4096);"
                               "os.close(fd); [os.close(n) for n in range(3, 9) if os.path.exists(f'/proc/self/fd/{n}')]",
    "a socket listens at": "import socket; s = socket.socket(socket.AF_UNIX); s.bind('/home/user/socket'); s.listen()",
}


@pytest.mark.parametrize("because", USERS)
def test_what_a_process_has_of_the_old_root_is_found(api, made, because):
    box = made.create()
    api.exec(box, f'exec python3 -c "{USERS[because]}; open(\'/tmp/ready\', \'w\').close(); import time; time.sleep(1000)"', cwd="/", background=True)
    atoll.wait_for(lambda: api.exec(box, "test -e /tmp/ready")["ok"], 30, "a process")
    taken = made.snapshot(box)
    assert taken["method"] == "copy" and because in taken["because"], taken


def test_a_fork_has_everything_and_both_go_their_way(api, made):
    box = made.create(env={"COLOUR": "blue"}, labels={"of": "fork"})
    out(api, box, MAKE)
    out(api, box, "install -m 4755 /bin/true /opt/tool && mkdir -m 700 /srv/root", user="root")
    forked = made.fork(box, count=3, name="twig")
    assert [item["name"] for item in forked["items"]] == ["twig-1", "twig-2", "twig-3"]
    assert all(item["state"] == "started" and item["labels"] == {"of": "fork"} for item in forked["items"])
    ids = [item["id"] for item in forked["items"]]
    for number, child in enumerate(ids):
        # owners by number are the same in another range of ids
        assert out(api, child, "stat -c '%u %g %a' mine /opt/tool /srv/root; echo $COLOUR") \
            == "1000 1000 640\n0 0 4755\n0 0 700\nblue"
        assert not api.exec(child, "ls /srv/root")["ok"]
        out(api, child, f"echo {number} > number; rm -r deep")
    assert out(api, box, "cat deep/er/file; test -e number || echo none") == "xnone"
    assert [out(api, child, "cat number") for child in ids] == ["0", "1", "2"]


def test_a_sandbox_says_what_it_was_made_of_and_what_it_lies_on(api, made):
    def steps(path):
        return [(step["kind"], step["id"], step["sandbox"]) for step in api.get(path)["lineage"]]

    box = made.create(name="trunk")
    first = api.get(f"{PATH}/{box}")
    template = first["lineage"][0]
    assert first["made_from"] == {"kind": "template", "snapshot": None, "snapshot_name": None, "sandbox": None,
                                  "sandbox_name": None}
    assert (template["kind"], template["name"], len(first["lineage"])) == ("template", first["template"], 1)
    assert first["volumes"] == []
    root = ("template", template["id"], None)
    one = made.snapshot(box, name="ring")
    two = made.fork(box)
    (twig,), below = [item["id"] for item in two["items"]], two["snapshot"]["id"]
    # a fork says whose files it began with, and both show the whole way down
    lies_on = [("snapshot", below, box), ("snapshot", one["id"], box), root]
    assert api.get(f"{PATH}/{twig}")["made_from"] == {
        "kind": "snapshot", "snapshot": below, "snapshot_name": below, "sandbox": box, "sandbox_name": "trunk"}
    assert steps(f"{PATH}/{twig}") == steps(f"{PATH}/{box}") == lies_on
    assert steps(f"{SNAPSHOTS}/{below}") == lies_on[1:]
    leaf = made.snapshot(twig, name="leaf")
    assert steps(f"{SNAPSHOTS}/leaf") == lies_on
    # going back is not being made anew
    api.post(f"{SNAPSHOTS}/ring/restore")
    assert steps(f"{PATH}/{box}") == lies_on[1:] and api.get(f"{PATH}/{box}")["made_from"]["kind"] == "template"
    # in a list, for all by one look; what is removed has no name any more
    listed = {item["id"]: item for item in api.get(PATH)["items"]}
    assert listed[twig]["made_from"]["snapshot"] == below and listed[box]["made_from"]["kind"] == "template"
    assert listed[twig]["lineage"] is None and listed[twig]["volumes"] == []
    assert api.get(SNAPSHOTS)["items"][0]["lineage"] is None
    api.delete(f"{SNAPSHOTS}/{below}")
    gone = api.get(f"{PATH}/{twig}")["made_from"]
    assert (gone["kind"], gone["snapshot"], gone["snapshot_name"], gone["sandbox"]) == ("snapshot", below, None, None)
    assert steps(f"{PATH}/{twig}") == [("snapshot", leaf["id"], twig), ("snapshot", below, None), root]


def test_rollback_gives_the_files_back_and_starts_it_again(api, made):
    box = made.create()
    out(api, box, MAKE)
    taken = made.snapshot(box)
    out(api, box, "rm -r deep mine; echo new > new")
    assert api.post(f"{SNAPSHOTS}/{taken['id']}/restore")["state"] == "started"
    assert out(api, box, "cat mine deep/er/file; test -e new || echo none") == "minexnone"
    api.post(f"{PATH}/{box}/stop")
    assert api.post(f"{SNAPSHOTS}/{taken['id']}/restore")["state"] == "stopped"
    # the snapshot can be gone back to again and again
    later = made.snapshot(box)
    assert later["parent"] == taken["id"]


def test_a_snapshot_whose_sandbox_is_deleted_is_restored_into_a_new_one(api, made):
    box = made.create(name="restored-from")
    out(api, box, "echo kept > note")
    taken = made.snapshot(box, name="restored-to")
    out(api, box, "echo lost > note")

    def restore(status, body=None):
        answer = api.raw("POST", f"{SNAPSHOTS}/restored-to/restore", body)
        assert answer.status == status, answer.body
        made.sandboxes.append(answer.json().get("id", box))
        return answer.json()

    # a new one beside its own, which stays as it is
    new = restore(201, {"name": "restored-here"})
    assert (new["name"], new["state"]) == ("restored-here", "started") and new["id"] != box
    assert (out(api, new["id"], "cat note"), out(api, box, "cat note")) == ("kept", "lost")
    assert restore(409, {"name": "restored-here"})["error"]["code"] == "conflict"
    assert restore(200)["id"] == box and out(api, box, "cat note") == "kept"
    api.remove(box)
    for body in (None, {"new": True}):
        again = restore(201, body)
        assert again["network"] == "blocked"  # as its own was, whatever the server's default is
        assert again["id"] != box and out(api, again["id"], "cat note") == "kept"
        assert api.get(f"{PATH}/{again['id']}")["made_from"]["snapshot"] == taken["id"]


def test_forks_read_the_same_volumes_and_are_told_what_they_do_not_write_to(server, api, made):
    for name in ("to-read", "to-write"):
        api.post("/api/sandbox/volumes", {"name": name})
    try:
        box = made.create(volumes=[{"volume": "to-read", "path": "/read", "read_only": True},
                                   {"volume": "to-write", "path": "/write"}])
        forked = made.fork(box)
        twig = forked["items"][0]["id"]
        assert [(v["volume"], v["path"], v["read_only"]) for v in forked["volumes"]] == [("to-read", "/read", True)]
        assert [(v["volume"], v["path"]) for v in forked["volumes_left_out"]] == [("to-write", "/write")]
        assert [v["volume"] for v in api.get(f"{PATH}/{twig}")["volumes"]] == ["to-read"]
        assert out(api, twig, "touch /read/x 2>/dev/null || echo read-only; test -e /write/x || echo none") == "read-only\nnone"
        done = server.cli("fork", "--name", "cli-twig", box)
        made.sandboxes.append(api.get(f"{PATH}/cli-twig")["id"])
        made.snapshots.append(api.get(f"{PATH}/cli-twig")["made_from"]["snapshot"])
        assert done.returncode == 0 and b"'to-write' is not attached" in done.stderr and done.stdout == b"cli-twig\n"
    finally:
        for sandbox in made.sandboxes:
            api.remove(sandbox)
        for name in ("to-read", "to-write"):
            api.delete(f"/api/sandbox/volumes/{name}")


def test_the_cli_takes_lists_shows_and_gives_back(server, api, made):
    def atoll_cli(*words):
        done = server.cli(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()

    box = made.create(name="cli-box")
    out(api, box, "echo old > note")
    atoll_cli("snapshot", "create", "--name", "cli-taken", "cli-box")
    taken = json.loads(atoll_cli("snapshot", "inspect", "cli-taken"))
    made.snapshots.append(taken["id"])
    assert (taken["sandbox"], taken["name"], taken["state"]) == (box, "cli-taken", "ready")
    assert "cli-taken" in atoll_cli("snapshot", "ls", "--sandbox", box)
    assert "cli-taken" in atoll_cli("snapshot", "ls", "--sandbox", "cli-box")
    refused = server.cli("snapshot", "ls", "--sandbox", "no-such")
    assert refused.returncode != 0 and b"no-such" in refused.stderr and b"by its id" in refused.stderr
    assert atoll_cli("run", "--snapshot", "cli-taken", "--no-internet", "--", "cat", "note") == "old\n"
    elsewhere = server.cli("run", "--snapshot", "cli-taken", "-t", "base", "--", "true")
    assert elsewhere.returncode != 0 and b"cli-taken" in elsewhere.stderr
    out(api, box, "echo new > note; echo new > other")
    atoll_cli("revert", "--base", "cli-taken", "cli-box", out(api, box, "pwd") + "/note")
    assert out(api, box, "cat note other") == "old\nnew"
    assert atoll_cli("fork", "--name", "cli-twig", "cli-box").split() == ["cli-twig"]
    twig = api.get(f"{PATH}/cli-twig")["id"]
    made.sandboxes.append(twig)
    made.snapshots += [row["id"] for row in api.get(f"{SNAPSHOTS}?sandbox={box}")["items"] if row["id"] != taken["id"]]
    assert out(api, twig, "cat note other") == "old\nnew"
    assert atoll_cli("rollback", "cli-taken").startswith("cli-box has the files of cli-taken and is started")
    assert out(api, box, "cat note; test -e other || echo none") == "old\nnone"
    atoll_cli("snapshot", "rm", "cli-taken")
    assert "cli-taken" not in atoll_cli("snapshot", "ls")
    gone = server.cli("rollback", "cli-taken")
    assert gone.returncode != 0 and b"cli-taken" in gone.stderr


def test_lineage_is_kept_and_shown(api, made):
    box = made.create()
    first = made.snapshot(box, name="first", sync=False)
    second = made.snapshot(box, name="second", sync=False)
    assert (first["parent"], second["parent"], second["depth"]) == (None, first["id"], 2)
    child = made.create(snapshot="first")
    assert made.snapshot(child, sync=False)["parent"] == first["id"]
    api.post(f"{SNAPSHOTS}/first/restore")
    assert made.snapshot(box, sync=False)["parent"] == first["id"]
    listed = api.get(f"{SNAPSHOTS}?sandbox={box}")["items"]
    assert [item["name"] for item in listed][-2:] == ["second", "first"]
    page = api.get(f"{SNAPSHOTS}?sandbox={box}&limit=2")
    rest = api.get(f"{SNAPSHOTS}?sandbox={box}&limit=2&page={page['next_page']}")
    assert [item["id"] for item in page["items"] + rest["items"]] == [item["id"] for item in listed]
    assert api.get(f"{SNAPSHOTS}/second")["id"] == second["id"]


def test_a_layer_lives_as_long_as_anything_lies_on_it(api, server, made):
    box = made.create()
    out(api, box, "echo one > one")
    first = made.snapshot(box, sync=False)["id"]
    out(api, box, "echo two > two")
    second = made.snapshot(box, sync=False)["id"]
    child = made.create(snapshot=second)
    api.delete(f"{SNAPSHOTS}/{first}")
    api.delete(f"{SNAPSHOTS}/{second}")
    with pytest.raises(atoll.ApiError) as gone:
        api.get(f"{SNAPSHOTS}/{first}")
    assert gone.value.status == 404
    assert {first, second} <= layers(server)
    api.remove(box)
    assert {first, second} <= layers(server)
    api.post(f"{PATH}/{child}/stop")
    api.post(f"{PATH}/{child}/start")
    assert out(api, child, "cat one two") == "one\ntwo"
    api.remove(child)
    atoll.wait_for(lambda: not {first, second} & layers(server), 30, "layers that go with their last user")


def test_bad_requests_are_refused(api, made):
    box = made.create()
    made.snapshot(box, name="taken", sync=False)
    cases = [
        (lambda: snapshot(api, box, name="taken"), 409),
        (lambda: snapshot(api, box, name="../x"), 400),
        (lambda: snapshot(api, "nobody"), 404),
        (lambda: snapshot(api, box, nonsense=1), 400),
        (lambda: fork(api, box, count=0), 400),
        (lambda: fork(api, box, count=101), 400),
        (lambda: api.create(snapshot="nosuch"), 404),
        (lambda: api.post(f"{SNAPSHOTS}/nosuch/restore"), 404),
        (lambda: api.delete(f"{SNAPSHOTS}/nosuch"), 404),
        (lambda: api.get(f"{SNAPSHOTS}?page=7"), 400),
        (lambda: api.post(PATH, {"snapshot": "taken", "template": "nosuch"}), 400),
    ]
    for call, status in cases:
        with pytest.raises(atoll.ApiError) as refused:
            call()
        assert refused.value.status == status, refused.value
    assert [item["name"] for item in api.get(f"{SNAPSHOTS}?sandbox={box}")["items"]] == ["taken"]


def test_many_forks_are_made_by_several_threads_and_keep_their_order(api, made):
    box = made.create()
    assert out(api, box, "echo data > /home/user/data; id -u") == "1000"
    forked = made.fork(box, count=12, name="many")
    assert [item["name"] for item in forked["items"]] == [f"many-{i}" for i in range(1, 13)]
    assert len({item["id"] for item in forked["items"]}) == 12
    for item in forked["items"]:
        assert out(api, item["id"], "cat /home/user/data") == "data"
        assert api.get(f"{PATH}/{item['id']}")["name"] == item["name"]


def test_forks_that_fetch_up_at_a_limit_are_all_taken_back(private_server):
    private_server.flags += ["--sandboxes-max", "9"]
    private_server.start()
    api = private_server.api()
    box = api.create(internet=False)["id"]
    # Several are there already when the ninth is refused.
    with pytest.raises(atoll.ApiError, match=r"fork \d+ of 20: the project has 9 sandboxes already") as refused:
        fork(api, box, count=20)
    assert refused.value.status == 429
    assert [row["id"] for row in atoll.Server.rows(api)] == [box]
    assert api.get(SNAPSHOTS)["items"] == []
    assert fork(api, box, count=8)["items"][7]["state"] == "started"


def test_a_fork_that_cannot_be_named_leaves_nothing(api, server, made):
    box = made.create()
    made.create(name="branch-2")
    before = layers(server), len(api.get(f"{PATH}?limit=1000")["items"])
    with pytest.raises(atoll.ApiError) as refused:
        fork(api, box, count=3, name="branch")
    assert refused.value.status == 409
    assert api.get(f"{SNAPSHOTS}?sandbox={box}")["items"] == []
    assert len(api.get(f"{PATH}?limit=1000")["items"]) == before[1]
    # the layer is still the sandbox's own
    assert len(layers(server)) == len(before[0]) + 1


def test_snapshots_beside_commands_lose_none_of_them(api, server, made):
    box = made.create()
    failures, done = [], threading.Event()

    def work(number):
        own = server.api()
        for turn in range(40):
            answer = own.exec(box, f"echo {turn} > file-{number} && cat file-{number}")
            if answer["stdout"] != f"{turn}\n":
                failures.append(answer)
        own.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        if len(made.snapshots) < 25:
            made.snapshot(box, sync=False)
    done.set()
    assert not failures, failures[0]
    assert out(api, box, "cat file-0 file-1 file-2") == "39\n39\n39"


def test_a_restart_of_the_server_knows_them_all(private_server):
    private_server.start()
    api = private_server.api()
    box = api.create(internet=False, persistent=True)["id"]
    out(api, box, "echo one > one")
    taken = snapshot(api, box, name="kept")["id"]
    out(api, box, "echo two > two")
    (private_server.data / "snapshots" / "strayed").mkdir()
    private_server.stop()
    private_server.start()
    api = private_server.api()
    assert out(api, box, "cat one two") == "one\ntwo"
    assert snapshot(api, box)["method"] == "switch"
    assert api.get(f"{SNAPSHOTS}/kept")["id"] == taken
    assert "strayed" not in layers(private_server)
    for row in api.get(SNAPSHOTS)["items"]:
        api.delete(f"{SNAPSHOTS}/{row['id']}")
    api.remove(box)
    atoll.wait_for(lambda: not layers(private_server), 30, "no layer is left")


def test_a_snapshot_whose_files_are_gone_is_said_to_be_lost(private_server):
    private_server.start()
    api = private_server.api()
    box = api.create(internet=False)["id"]
    taken = snapshot(api, box)["id"]
    api.remove(box)
    private_server.stop()
    (private_server.data / "snapshots" / taken / "kept").unlink()
    private_server.start()
    api = private_server.api()
    assert api.get(f"{SNAPSHOTS}/{taken}")["state"] == "lost"
    assert [e["kind"] for e in api.get(f"/v1/events?sandbox={box}&kind=snapshot.*")["items"]] == ["snapshot.created", "snapshot.lost"]
    with pytest.raises(atoll.ApiError) as refused:
        api.create(snapshot=taken)
    assert refused.value.status == 409
    api.delete(f"{SNAPSHOTS}/{taken}")
    assert api.get(SNAPSHOTS)["items"] == []


def test_what_cannot_be_snapshotted_is_refused_by_name():
    server = atoll.Server(provider="host").start()
    try:
        api = server.api()
        box = api.create(template="host", internet=True)["id"]
        for call in (lambda: snapshot(api, box), lambda: fork(api, box)):
            with pytest.raises(atoll.ApiError) as refused:
                call()
            assert "host" in refused.value.message and "snapshot" in refused.value.message
        api.remove(box)
    finally:
        server.remove_all()
