# SPDX-License-Identifier: Apache-2.0
"""atoll sync: both ways, what .gitignore says, conflicts, deletions, and sandboxes that mean ill."""

import contextlib
import io
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tarfile
import threading
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
WORK = "/home/user/project/sync"


class Pair:
    """A folder here and one in a sandbox."""

    def __init__(self, server, api, sandbox, folder, state):
        self.api, self.sandbox, self.folder = api, sandbox, folder
        self.environment = {**os.environ, "ATOLL_API_URL": f"http://127.0.0.1:{server.port}", "ATOLL_API_KEY": api.key,
                            "XDG_STATE_HOME": str(state)}

    def sync(self, *flags, fails=False):
        done = subprocess.run([atoll.ATOLL, "sync", "--json", *flags, self.folder, f"{self.sandbox}:{WORK}"],
                              env=self.environment, capture_output=True, text=True, timeout=60)
        assert (done.returncode != 0) == fails, (done.returncode, done.stdout, done.stderr)
        if fails:
            return done.stderr
        told = [json.loads(line) for line in done.stdout.splitlines()]
        return {name: sum(one[name] for one in told) for name in told[0]}

    def inside(self, line):
        result = self.api.exec(self.sandbox, line, cwd=WORK)
        assert result["exit_code"] == 0, result
        return result["stdout"]

    def here(self):
        return {str(path.relative_to(self.folder)): path.read_bytes()
                for path in self.folder.rglob("*") if path.is_file() and not path.is_symlink()}

    def there(self):
        names = self.inside("find . -type f -printf '%P\\n'").splitlines()
        return {name: self.api.read(self.sandbox, f"{WORK}/{name}") for name in names if name}


class Passed:
    """What atoll says to the server meanwhile, and hears from it."""

    def __init__(self, pair):
        self.pair, self.calls, self.answers = pair, bytearray(), bytearray()
        self.listener = socket.create_server(("127.0.0.1", 0))

    def __enter__(self):
        self.url = self.pair.environment["ATOLL_API_URL"]
        self.pair.environment["ATOLL_API_URL"] = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.pair.environment["ATOLL_API_URL"] = self.url
        self.listener.close()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(("127.0.0.1", int(self.url.rsplit(":", 1)[1])))
                threading.Thread(target=self.carry, args=(client, server, self.calls), daemon=True).start()
                threading.Thread(target=self.carry, args=(server, client, self.answers), daemon=True).start()

    @staticmethod
    def carry(source, target, kept):
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                kept += piece
                target.sendall(piece)
            target.shutdown(socket.SHUT_WR)

    def requests(self, path):
        return len(re.findall(rb"^[A-Z]+ \S*/%s[ ?]" % path.encode(), self.calls, re.MULTILINE))


@pytest.fixture
def pair(server, api, tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    with api.sandbox(internet=False) as sandbox:
        api.exec(sandbox, f"mkdir -p {WORK}")
        yield Pair(server, api, sandbox, folder, tmp_path / "state")


def put(pair, name, data):
    path = pair.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def test_both_sides_become_the_same(pair):
    put(pair, "mine.txt", b"mine")
    put(pair, "deep/er/grüße.bin", os.urandom(200_000))
    (pair.folder / "run").write_text("#!/bin/sh\n")
    (pair.folder / "run").chmod(0o755)
    pair.inside("mkdir -p a/b; echo theirs >a/b/theirs; printf x >tool; chmod +x tool; : >empty")
    told = pair.sync()
    assert (told["up"], told["down"], told["conflicts"]) == (3, 3, 0)
    assert pair.here() == pair.there() and len(pair.here()) == 6
    assert os.access(pair.folder / "tool", os.X_OK) and pair.inside("test -x run && echo yes") == "yes\n"
    assert not any(pair.sync()[what] for what in ("up", "down", "compared", "deleted_here", "deleted_there"))
    put(pair, "mine.txt", b"mine, changed")
    (pair.folder / "a/b/theirs").chmod(0o600)
    pair.sync()
    pair.inside("echo changed >a/b/theirs; rm empty")
    told = pair.sync()
    assert (told["up"], told["down"], told["deleted_here"]) == (0, 1, 1)
    os.unlink(pair.folder / "deep/er/grüße.bin")
    assert pair.sync()["deleted_there"] == 1
    assert pair.here() == pair.there() and len(pair.here()) == 4
    assert (pair.folder / "a/b/theirs").stat().st_mode & 0o777 == 0o600
    pair.inside("rm -r a")
    assert pair.sync()["deleted_here"] == 1
    assert not (pair.folder / "a").exists()


def test_what_both_changed_is_kept_twice(pair):
    put(pair, "both", b"old")
    put(pair, "equal", b"old")
    pair.sync()
    put(pair, "both", b"mine")
    put(pair, "equal", b"the same")
    pair.inside("printf theirs >both; printf 'the same' >equal")
    told = pair.sync()
    assert told["conflicts"] == 1
    here = pair.here()
    (beside,) = [name for name in here if name.startswith("both.conflict-")]
    assert here == {"both": b"mine", "equal": b"the same", beside: b"theirs"}
    assert pair.there() == here
    # One side deletes what the other changes: the change stays.
    os.unlink(pair.folder / "both")
    pair.inside("printf again >both; rm equal")
    put(pair, "equal", b"mine again")
    pair.sync()
    assert pair.here() == pair.there()
    assert pair.here()["both"] == b"again" and pair.here()["equal"] == b"mine again"


def test_what_changes_while_the_archive_unpacks_is_kept_beside(pair):
    for attempt in range(4):  # a machine that is busy may write too late
        put(pair, "z", b"at first")
        pair.sync()
        put(pair, "z", b"mine, then")
        with open(pair.folder / "a-large", "wb") as large:
            large.truncate(200 << 20)
        # Written there when the large file before it is on its way.
        written = pair.api.exec(pair.sandbox, "for i in $(seq 20000); do set -- .atoll-*; [ -e \"$1\" ] && break; sleep 0.001; done; "
                                "echo theirs > z", cwd=WORK, background=True)["resultId"]
        pair.sync()
        atoll.wait_for(lambda written=written: pair.api.get(f"/v1/jobs/{written}")["status"] != "running", what="it is written")
        (pair.folder / "a-large").unlink()
        if pair.inside("ls").count("z.conflict-"):
            break
        pair.sync()
    there = pair.inside("cat z; cat z.conflict-*")
    assert there == "mine, thentheirs\n", there
    pair.sync()
    assert sorted(name.split("-")[0] for name in pair.here()) == ["z", "z.conflict"]
    assert pair.here() == pair.there()


def test_an_archive_replaces_what_has_not_changed_since(pair):
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        for name in ("old", "new", "none"):
            entry = tarfile.TarInfo(name)
            entry.size = 4
            archive.addfile(entry, io.BytesIO(b"sent"))
    api, files = pair.api, f"/api/sandbox/instances/{pair.sandbox}/files"

    def send(query):
        return api.call("POST", f"{files}/tar?path={WORK}{query}", tar.getvalue(), {"Content-Type": "application/x-tar"})
    pair.inside("echo old > old; echo new > new; sleep 0.05")
    since = api.get(f"{files}?path={WORK}")["listed_at_ms"]
    assert abs(since - 1000 * time.time()) < 60000
    pair.inside("sleep 0.05; echo newer > new")
    for _ in range(2):
        send(f"&changed_since_ms={since}")
        pair.inside("echo newer > new")
    assert pair.inside("cat old none new; cat new.conflict-* | sort | uniq -c | tr -d ' '") == "sentsentnewer\n2newer\n"
    send("")
    assert pair.inside("cat new; ls | wc -l") == "sent7\n"  # each that was there, each time
    with pytest.raises(atoll.ApiError):
        send("&changed_since_ms=-1")


def test_what_somebody_is_about_to_write_to_is_kept_on_both_sides(pair):
    """A look at the file before it is replaced sees nothing of that: it is as it was."""
    for name in ("above", "below"):
        put(pair, name, b"at first\n")
    pair.sync()
    holder = pair.api.exec(pair.sandbox, "exec 3>>above; touch held; until [ -e go ]; do sleep .05; done; echo late >&3", cwd=WORK, background=True)
    atoll.wait_for(lambda: "held" in pair.inside("ls"), 15, "it is held open")
    put(pair, "above", b"mine, longer\n")
    pair.sync()
    pair.inside("touch go")
    atoll.wait_for(lambda: pair.api.get(f"/v1/jobs/{holder['resultId']}")["status"] != "running", 15, "it is written to")
    assert pair.inside("cat above; cat above.conflict-*") == "mine, longer\nat first\nlate\n"
    pair.inside("rm -f go held; echo theirs, longer >below")
    with open(pair.folder / "below", "ab") as held:
        assert pair.sync()["conflicts"] == 1
        held.write(b"late\n")
    pair.sync()
    assert pair.here()["below"] == b"at first\nlate\n" and pair.here() == pair.there()
    assert b"theirs, longer\n" in pair.here().values()


def test_root_sees_who_writes_to_the_files_of_others(pair):
    """Only the owner of a file may ask whether somebody writes to it; root of a sandbox is not root of the machine."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        for name in ("held", "free", "roots"):
            entry = tarfile.TarInfo(name)
            entry.size = 4
            archive.addfile(entry, io.BytesIO(b"sent"))
    api, files = pair.api, f"/api/sandbox/instances/{pair.sandbox}/files"
    pair.inside("echo first >held; echo first >free")
    api.exec(pair.sandbox, "echo first >roots", cwd=WORK, user="root")
    holder = api.exec(pair.sandbox, "exec 3>>held; touch began; until [ -e go ]; do sleep .05; done; echo late >&3", cwd=WORK, background=True)
    atoll.wait_for(lambda: "began" in pair.inside("ls"), 15, "it is held open")
    since = api.get(f"{files}?path={WORK}")["listed_at_ms"]
    api.call("POST", f"{files}/tar?path={WORK}&changed_since_ms={since}&user=root", tar.getvalue(), {"Content-Type": "application/x-tar"})
    pair.inside("touch go")
    atoll.wait_for(lambda: api.get(f"/v1/jobs/{holder['resultId']}")["status"] != "running", 15, "it is written to")
    assert pair.inside("cat held free roots; cat *.conflict-*") == "sentsentsentfirst\nlate\n"
    # Who is neither cannot know, so it is kept; what is there then is his own.
    api.exec(pair.sandbox, "chown root free; rm *.conflict-*", cwd=WORK, user="root")
    for _ in range(2):
        since = api.get(f"{files}?path={WORK}")["listed_at_ms"] + 1000
        api.call("POST", f"{files}/tar?path={WORK}&changed_since_ms={since}", tar.getvalue(), {"Content-Type": "application/x-tar"})
    assert pair.inside("ls | grep -c ^free.conflict-; stat -c %U free") == "1\nuser\n"


def test_a_run_that_is_killed_while_it_exchanges_loses_nothing(pair):
    put(pair, "notes", b"mine")
    pair.sync()
    pair.inside("echo theirs >notes")
    pair.environment["ATOLL_FAULT"] = "cli:sync-exchanged:kill"
    assert subprocess.run([atoll.ATOLL, "sync", pair.folder, f"{pair.sandbox}:{WORK}"], env=pair.environment,
                          timeout=60).returncode == -signal.SIGKILL
    del pair.environment["ATOLL_FAULT"]
    put(pair, f".atoll-sync-{'a' * 20}", b"bytes that came")
    assert any(name.endswith("-notes") for name in pair.here())
    assert pair.sync("--dry-run")["conflicts"] == 0 and len(pair.here()) == 3
    assert pair.sync()["conflicts"] == 1
    here = pair.here()
    (beside,) = [name for name in here if name.startswith("notes.conflict-")]
    assert here == {"notes": b"theirs\n", beside: b"mine"} == pair.there()


def test_two_full_folders_meet_without_loss(pair):
    put(pair, "same", b"same")
    put(pair, "other", b"mine")
    pair.inside("printf same >same; printf theirs >other")
    assert pair.sync()["conflicts"] == 1
    assert sorted(pair.here().values()) == [b"mine", b"same", b"theirs"] and pair.here() == pair.there()


def test_gitignore_decides_for_both_sides(pair):
    put(pair, ".gitignore", b"*.log\n/build/\n!keep.log\n")
    for name in ("a.log", "keep.log", "build/x", "src/build/y", "src/a.c"):
        put(pair, name, b"x")
    pair.inside("mkdir -p build node_modules/m; echo x >b.log; echo x >build/z; echo x >node_modules/m/i.js;"
                "mkdir theirs; printf 'secret\\n' >theirs/.gitignore; echo x >theirs/secret; echo x >theirs/open")
    put(pair, "src/.gitignore", b"/build/y\n")
    pair.sync()
    assert set(pair.there()) == {".gitignore", "keep.log", "src/.gitignore", "src/a.c", "b.log", "build/z", "node_modules/m/i.js",
                                 "theirs/.gitignore", "theirs/secret", "theirs/open"}
    assert set(pair.here()) == {".gitignore", "a.log", "keep.log", "build/x", "src/.gitignore", "src/build/y", "src/a.c",
                                "node_modules/m/i.js", "theirs/.gitignore", "theirs/open"}
    # What begins to be ignored is left alone, and nowhere deleted.
    put(pair, ".gitignore", b"node_modules/\n")
    assert pair.sync()["deleted_there"] == 0
    shutil.rmtree(pair.folder / "node_modules")
    pair.sync()
    assert "node_modules/m/i.js" in pair.there()


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
def test_gitignore_says_what_git_says(pair):
    names = ["a", "b.log", "c", "build", "x y", "é", "[z]", "tmp"]
    patterns = ["*.log", "/a", "build/", "**/c", "a/**", "c/*/a", "!b.log", "!*", "[a-c]", "[!a]", "x\\ y", "t?p", "/build/a", "*",
                "a/*", "!a/", "\\[z\\]", "b*/", "**/tmp/**", "#a", "é"]
    rng = random.Random(4)
    for _ in range(12):
        shutil.rmtree(pair.folder)
        pair.folder.mkdir()
        subprocess.run(["git", "init", "-q", pair.folder], check=True)
        paths = {"/".join(rng.choices(names, k=rng.randint(1, 4))) for _ in range(25)}
        for path in sorted(paths):
            if not any((pair.folder / parent).is_file() for parent in _parents(path)) and not (pair.folder / path).exists():
                put(pair, path, b"x")
        for place in ("", "a/", "build/"):
            if place == "" or (pair.folder / place).is_dir():
                (pair.folder / f"{place}.gitignore").write_text("\n".join(rng.sample(patterns, 4)) + "\n")
        listed = subprocess.run(["git", "-C", pair.folder, "ls-files", "-z", "--others", "--exclude-standard"], check=True,
                                capture_output=True, text=True).stdout.split("\0")
        pair.inside("find . -mindepth 1 -delete")
        subprocess.run(["rm", "-rf", pair.environment["XDG_STATE_HOME"]], check=True)
        pair.sync()
        assert set(pair.there()) == {name for name in listed if name}, (pair.folder / ".gitignore").read_text()


def _parents(path):
    parts = path.split("/")
    return ["/".join(parts[:i]) for i in range(1, len(parts))]


def test_a_sandbox_writes_nowhere_else(pair, tmp_path):
    """Links, git's own folder in every spelling, names with control characters, files in the place of folders."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "target").write_bytes(b"safe")
    (pair.folder / "link").symlink_to(outside)
    (pair.folder / "file-link").symlink_to(outside / "target")
    put(pair, "plain", b"a file")
    put(pair, ".git/hooks/pre-commit", b"mine")
    pair.inside("mkdir link; echo evil >link/target; echo evil >file-link; mkdir plain; echo evil >plain/x;"
                "mkdir -p .git/hooks .GIT/hooks 'git~1' '.git ' sub/.git; echo evil >.git/hooks/pre-commit; echo evil >.GIT/hooks/pre-commit;"
                "echo evil >'git~1/config'; echo evil >'.git /config'; echo evil >sub/.git/config; echo evil >.git/config;"
                "ln -s /etc/passwd passwd; ln -s ../.. up; mkfifo pipe; printf x >$'new\\nline'; printf x >$'esc\\e[2J';"
                "printf x >$'bad\\xff'; printf x >.atoll-sync-evil; echo fine >fine")
    told = pair.sync(fails=False)
    assert told["skipped"] >= 4 and told["links"] >= 3
    assert (outside / "target").read_bytes() == b"safe" and os.listdir(outside) == ["target"]
    assert sorted(os.listdir(pair.folder)) == [".git", "file-link", "fine", "link", "plain"]
    assert (pair.folder / ".git/hooks/pre-commit").read_bytes() == b"mine" and os.listdir(pair.folder / ".git") == ["hooks"]
    assert (pair.folder / "plain").read_bytes() == b"a file" and (pair.folder / "link").is_symlink()


def test_an_empty_sandbox_does_not_empty_the_folder(pair):
    for i in range(20):
        put(pair, f"file-{i}", b"x")
    pair.sync()
    pair.inside("find . -mindepth 1 -delete")
    assert "would be deleted" in pair.sync(fails=True)
    assert len(pair.here()) == 20
    assert pair.sync("--dry-run")["deleted_here"] == 20 and len(pair.here()) == 20
    assert pair.sync("--delete-all")["deleted_here"] == 20 and pair.here() == {}


def test_large_files_stay_where_they_are(pair):
    put(pair, "large", bytes(3 << 20))
    pair.inside("head -c 3000000 /dev/zero >theirs; echo x >small")
    assert pair.sync("--max-size", "2m")["skipped"] == 2
    assert set(pair.here()) == {"large", "small"} and set(pair.there()) == {"theirs", "small"}
    assert pair.sync()["skipped"] == 0 and pair.here() == pair.there()


def test_many_files_come_as_one_stream(pair):
    pair.inside("for i in $(seq 800); do echo $i >f$i; done")
    start = time.monotonic()
    assert pair.sync()["down"] == 800
    first = time.monotonic() - start
    assert pair.here() == {f"f{i}": f"{i}\n".encode() for i in range(1, 801)}
    for i in range(1, 801):
        put(pair, f"f{i}", b"changed\n")
    assert pair.sync()["up"] == 800
    assert pair.inside("cat f* | sort | uniq -c | tr -s ' '") == " 800 changed\n"
    assert first < 30


def test_a_few_of_many_files_come_as_one_stream_of_just_these(pair):
    pair.inside("for i in $(seq 60); do head -c 10000 /dev/zero >f$i; done")
    with Passed(pair) as passed:
        assert pair.sync()["down"] == 60
        pair.inside("rm f9; ln f8 f9; mkdir -p deep/grüße; for f in f2 f3 f8 deep/grüße/neu 'a \"quoted\" name'; do echo newer >\"$f\"; done")
        passed.calls.clear()
        passed.answers.clear()
        assert pair.sync()["down"] == 6
        assert passed.requests("files/pack") == 1 and passed.requests("files/content") == passed.requests("files/tar") == 0
        assert len(passed.answers) < 100_000
        assert pair.here() == pair.there() and pair.here()["f9"] == b"newer\n"
        pair.inside("echo one >f1")
        passed.calls.clear()
        assert pair.sync()["down"] == 1
        assert passed.requests("files/pack") == 0 and passed.requests("files/content") == 1


def test_of_a_folder_comes_what_is_named(pair):
    api, files = pair.api, f"/api/sandbox/instances/{pair.sandbox}/files"
    pair.inside("mkdir deep; for f in a b deep/c deep/d; do echo $f >$f; done; ln -s /etc out; ln a again; echo x >dark; chmod 0 dark")

    def pack(*names):
        with tarfile.open(fileobj=io.BytesIO(api.post(f"{files}/pack", {"path": WORK, "names": names}))) as archive:
            return {entry.name: archive.extractfile(entry).read() if entry.isfile() else None for entry in archive}
    assert pack("deep/c", "a", "again", "missing", "out/passwd", "dark", "deep") == {"deep/c": b"deep/c\n", "a": b"a\n", "again": b"a\n", "deep": None}
    for names in (["../x"], ["/etc/passwd"], ["a/../../x"], [], ["a\0b"], ["a"] * 10001, ["x" * 300]):
        with pytest.raises(atoll.ApiError) as refused:
            pack(*names)
        assert refused.value.status == 400, names


def test_what_changes_is_followed(pair):
    put(pair, "first", b"1")
    running = subprocess.Popen([atoll.ATOLL, "sync", "--watch", pair.folder, f"{pair.sandbox}:{WORK}"], env=pair.environment,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        atoll.wait_for(lambda: pair.api.exec(pair.sandbox, f"cat {WORK}/first")["stdout"] == "1", 30, "the first round")
        put(pair, "new/deep", b"mine")
        atoll.wait_for(lambda: pair.api.exec(pair.sandbox, f"cat {WORK}/new/deep")["stdout"] == "mine", 30, "a change here")
        pair.inside("mkdir -p out; printf theirs >out/made")
        atoll.wait_for(lambda: pair.here().get("out/made") == b"theirs", 30, "a change there")
        other = subprocess.run([atoll.ATOLL, "sync", pair.folder, f"{pair.sandbox}:{WORK}"], env=pair.environment,
                               capture_output=True, text=True)
        assert other.returncode == 125 and "another sync" in other.stderr
        assert running.poll() is None
    finally:
        running.send_signal(signal.SIGTERM)
        running.wait(5)
