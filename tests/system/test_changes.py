# SPDX-License-Identifier: Apache-2.0
"""Change review: what a sandbox changed, as a list and as a patch, accepted as a snapshot, and taken back."""

import base64
import contextlib
import io
import json
import os
import pathlib
import subprocess
import tarfile
import urllib.parse

import pytest

import atoll

pytestmark = pytest.mark.needs_root
INSTANCES = "/api/sandbox/instances"
SNAPSHOTS = "/api/sandbox/snapshots"
HOME = "home/user/project"


def changes(api, sandbox, what="changes", **query):
    """All pages, as {path: item}; bytes where a path is no text. Their order is checked."""
    prefix = f"{SNAPSHOTS}/{sandbox[1]}" if isinstance(sandbox, tuple) else f"{INSTANCES}/{sandbox}"
    found, order = {}, []
    while True:
        page = api.get(f"{prefix}/{what}?" + urllib.parse.urlencode(query))
        for item in page["items"]:
            path = item["path"]
            if item.get("path_encoding") == "base64":
                path = base64.b64decode(path)
            order.append((path if isinstance(path, bytes) else path.encode()).split(b"/"))
            found[path] = item
        if not page["next_page"]:
            break
        query["page"] = page["next_page"]
    assert order == sorted(order) and len(order) == len(found)
    return found


def kinds(found):
    return {path: item["kind"] for path, item in found.items()}


def run(api, sandbox, script, user="root"):
    done = api.exec(sandbox, script, user=user, cwd="/" + HOME)
    assert done["exit_code"] == 0, done["stderr"]
    return done["stdout"]


def revert(api, sandbox, *paths, **options):
    answer = api.post(f"{INSTANCES}/{sandbox}/changes/revert", {"paths": list(paths), **options})
    assert [item["path"] for item in answer["items"]] == list(paths)
    return answer["items"]


def refused(status, call, *arguments, **options):
    with pytest.raises(atoll.ApiError) as refusal:
        call(*arguments, **options)
    assert refusal.value.status == status, refusal.value
    return refusal.value


@contextlib.contextmanager
def snapshot(api, sandbox, **options):
    taken = api.post(f"{INSTANCES}/{sandbox}/snapshot", options)["id"]
    try:
        yield taken
    finally:
        with contextlib.suppress(atoll.ApiError):
            api.delete(f"{SNAPSHOTS}/{taken}")


PREPARE = r"""
set -e
echo one > kept; echo two > edited; echo three > gone; echo four > renamed; printf 'x\0y' > binary; echo m > mode; echo o > owner
ln -s kept link; mkdir -p tree/deep whole/in empty reopened/a swapped; echo t > tree/deep/t; echo w > whole/in/w; echo w > whole/x
echo r > reopened/a/r; echo s > swapped/s; echo file > turned; ln twin twin 2>/dev/null || true; echo twins > twin; ln twin twin2
echo -n noline > noline; seq 1 40 > long; touch void
"""
CHANGE = r"""
set -e
echo TWO >> edited; rm gone; mv renamed new-name; printf 'x\0z' > binary; chmod 4711 mode; chown 7:8 owner
ln -sfn elsewhere link; echo more > tree/deep/u; rm -r whole; mkdir opened; rmdir empty
rm -r reopened; mkdir reopened; echo n > reopened/n
rm -r swapped; echo now a file > swapped; rm turned; mkdir turned; echo i > turned/i
echo -n '' > void2; sed -i 's/^20$/twenty/' long; echo with line >> noline; touch kept
mkfifo pipe; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("sock")'
"""
EXPECTED = {
    "edited": "modified", "gone": "deleted", "renamed": "deleted", "new-name": "added", "binary": "modified",
    "mode": "mode", "owner": "mode", "link": "modified", "tree/deep/u": "added", "whole": "deleted", "whole/in": "deleted",
    "whole/in/w": "deleted", "whole/x": "deleted", "opened": "added", "empty": "deleted", "reopened/a": "deleted",
    "reopened/a/r": "deleted", "reopened/n": "added", "swapped": "type", "swapped/s": "deleted", "turned": "type",
    "turned/i": "added", "void2": "added", "long": "modified", "noline": "modified", "pipe": "added", "sock": "added",
}


@pytest.fixture(scope="module")
def reviewed(server):
    """A sandbox with a snapshot and changes of every kind since."""
    api = server.api()
    with api.sandbox(internet=False) as sandbox:
        run(api, sandbox, PREPARE)
        with snapshot(api, sandbox, name="prepared") as base:
            run(api, sandbox, CHANGE)
            yield sandbox, base
    api.close()


def test_a_new_sandbox_has_changed_nothing(api):
    with api.sandbox(internet=False) as sandbox:
        answer = api.get(f"{INSTANCES}/{sandbox}/changes")
        assert answer == {"items": [], "base": "template", "next_page": None}


def test_every_kind_of_change_is_told(api, reviewed):
    sandbox, base = reviewed
    found = changes(api, sandbox, base="prepared")
    assert kinds(found) == {f"{HOME}/{path}": kind for path, kind in EXPECTED.items()}
    edited, mode, swapped = found[f"{HOME}/edited"], found[f"{HOME}/mode"], found[f"{HOME}/swapped"]
    assert (edited["size_before"], edited["size"], edited["type"]) == (4, 8, "file")
    assert (mode["mode_before"], mode["mode"]) == ("0644", "4711")
    assert (swapped["type_before"], swapped["type"]) == ("dir", "file")
    assert (found[f"{HOME}/owner"]["uid"], found[f"{HOME}/owner"]["gid_before"]) == (7, 0)
    assert (found[f"{HOME}/link"]["link_before"], found[f"{HOME}/link"]["link"]) == ("kept", "elsewhere")
    assert found[f"{HOME}/gone"]["type"] is None and found[f"{HOME}/new-name"]["type_before"] is None
    assert {found[f"{HOME}/{name}"]["type"] for name in ("pipe", "sock")} == {"fifo", "socket"}


def test_all_layers_count_against_the_template(api, reviewed):
    sandbox, base = reviewed
    found = kinds(changes(api, sandbox))
    assert found[f"{HOME}/kept"] == found[f"{HOME}/edited"] == "added"
    assert f"{HOME}/gone" not in found and f"{HOME}/whole" not in found
    assert kinds(changes(api, sandbox, path=f"/{HOME}/tree/")) == {
        f"{HOME}/tree": "added", f"{HOME}/tree/deep": "added", f"{HOME}/tree/deep/t": "added", f"{HOME}/tree/deep/u": "added"}


def test_a_path_narrows_it_and_pages_join(api, reviewed):
    sandbox, base = reviewed
    whole = changes(api, sandbox, base=base)
    for limit in (1, 2, 7):
        assert changes(api, sandbox, base=base, limit=limit) == whole
    part = changes(api, sandbox, base=base, path=f"{HOME}/reopened", limit=1)
    assert part == {path: item for path, item in whole.items() if path.startswith(f"{HOME}/reopened")}
    assert kinds(changes(api, sandbox, base=base, path=f"{HOME}/gone")) == {f"{HOME}/gone": "deleted"}
    assert changes(api, sandbox, base=base, path=f"{HOME}/kept") == {}


def test_a_stopped_sandbox_and_a_snapshot_say_the_same(api, reviewed):
    sandbox, base = reviewed
    running = changes(api, sandbox, base=base)
    with snapshot(api, sandbox) as second:
        assert changes(api, ("snapshot", second)) == running
        assert changes(api, sandbox, base=second) == {}
        assert kinds(changes(api, ("snapshot", base)))[f"{HOME}/gone"] == "added"
        # The other way round: what the older one has is what the newer one lost.
        back = kinds(changes(api, ("snapshot", base), base=second))
        assert back[f"{HOME}/gone"] == "added" and back[f"{HOME}/new-name"] == "deleted"
        api.post(f"{INSTANCES}/{sandbox}/stop")
        assert changes(api, sandbox, base=base) == running
        api.post(f"{INSTANCES}/{sandbox}/start")
        api.exec(sandbox, "true")


def test_two_branches_are_compared(api):
    """Neither lies on the other: what both have in common is below both."""
    with api.sandbox(internet=False) as sandbox:
        run(api, sandbox, "echo a > a; echo b > b")
        forked = api.post(f"{INSTANCES}/{sandbox}/fork")["items"][0]["id"]
        run(api, sandbox, "echo left > a; mkdir left; echo l > left/l")
        run(api, forked, "rm b; mkdir right; echo r > right/r")
        with snapshot(api, sandbox) as left:
            found = changes(api, forked, base=left)
            assert kinds(found) == {f"{HOME}/a": "modified", f"{HOME}/b": "deleted", f"{HOME}/left": "deleted",
                                    f"{HOME}/left/l": "deleted", f"{HOME}/right": "added", f"{HOME}/right/r": "added"}
        api.remove(forked)
        for row in api.get(SNAPSHOTS + f"?sandbox={sandbox}")["items"]:
            api.delete(f"{SNAPSHOTS}/{row['id']}")


def test_git_applies_the_patch(api, reviewed, tmp_path):
    sandbox, base = reviewed
    patch = api.raw("GET", f"{INSTANCES}/{sandbox}/diff?base={base}&format=patch")
    assert patch.headers["Content-Type"].startswith("text/x-diff")
    text = patch.body.decode()
    assert "Binary files a/" + HOME in text and "\\ No newline at end of file" in text
    assert f"diff --git a/{HOME}/gone b/{HOME}/gone\ndeleted file mode 100644\n--- a/{HOME}/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-three\n" in text
    forked = api.create(internet=False, snapshot=base)["id"]
    work = tmp_path / "work"
    for box, folder in ((forked, work), (sandbox, tmp_path / "wanted")):
        folder.mkdir()
        archive = api.raw("GET", f"{INSTANCES}/{box}/files/tar?path=/{HOME}&user=root").body
        subprocess.run(["tar", "x", "-C", folder], input=archive, check=True)
    api.remove(forked)
    # What git has no patch for: contents without lines.
    parts = ["diff --git" + part for part in text.split("diff --git")[1:] if "Binary files" not in part]
    subprocess.run(["git", "apply", "-p4", "--whitespace=nowarn", "-"], input="".join(parts).encode(), check=True, cwd=work)
    for name in ("edited", "link", "tree/deep/u", "new-name", "noline", "long", "swapped", "turned/i", "reopened/n", "void2"):
        have, want = work / name, tmp_path / "wanted" / name
        assert os.readlink(have) == os.readlink(want) if want.is_symlink() else have.read_bytes() == want.read_bytes(), name
    for name in ("gone", "renamed", "whole/x", "reopened/a/r"):
        assert not (work / name).exists()


def test_the_diff_counts_lines(api, reviewed):
    sandbox, base = reviewed
    found = changes(api, sandbox, "diff", base=base, limit=5)
    assert kinds(found) == {f"{HOME}/{path}": kind for path, kind in EXPECTED.items()}
    long = found[f"{HOME}/long"]
    assert (long["lines_added"], long["lines_deleted"]) == (1, 1) and "-20\n+twenty\n" in long["diff"]
    assert found[f"{HOME}/binary"]["binary"] is True


def test_the_command_line_speaks_git(server, reviewed):
    sandbox, base = reviewed
    names = server.cli("diff", "--base", base, "--name-status", sandbox).stdout.decode().splitlines()
    assert f"M\t{HOME}/edited" in names and f"D\t{HOME}/whole/in/w" in names and f"D\t{HOME}/turned" in names
    assert f"A\t{HOME}/swapped" in names and f"D\t{HOME}/whole" not in names
    only = server.cli("diff", "--base", base, "--name-only", sandbox, HOME + "/tree").stdout.decode()
    assert only == f"{HOME}/tree/deep/u\n"
    stat = server.cli("diff", "--base", base, "--stat", sandbox).stdout.decode()
    assert f" {HOME}/long | 2 +-\n" in stat and f" {HOME}/binary | Bin 3 -> 3 bytes\n" in stat
    assert stat.splitlines()[-1].endswith("deletions(-)")
    assert json.loads(server.cli("diff", "--base", base, "--json", sandbox).stdout)[0]["kind"]
    patch = server.cli("diff", "--base", base, sandbox, "/" + HOME + "/edited")
    assert patch.stdout.decode().endswith("@@ -1 +1,2 @@\n two\n+TWO\n") and patch.returncode == 0
    wrong = server.cli("diff", "--base", "nosuch", sandbox)
    assert wrong.returncode != 0 and b"nosuch" in wrong.stderr


STATE = r"""find . ! -name . -printf '%P %y %m %U:%G %l\n' | sort; for f in $(find . -type f | sort); do md5sum $f; done"""


@pytest.mark.parametrize("stopped", [False, True], ids=["running", "stopped"])
def test_a_revert_brings_back_everything(api, stopped):
    with api.sandbox(internet=False, persistent=True) as sandbox:
        run(api, sandbox, PREPARE)
        before = run(api, sandbox, STATE)
        with snapshot(api, sandbox) as base:
            run(api, sandbox, CHANGE.replace("mkfifo pipe", "chmod 700 tree; mkfifo pipe"))
            if stopped:
                api.post(f"{INSTANCES}/{sandbox}/stop")
            done = revert(api, sandbox, f"/{HOME}", base=base)[0]
            assert done["ok"], done
            assert changes(api, sandbox, base=base) == {}
            if stopped:
                api.post(f"{INSTANCES}/{sandbox}/start")
            assert run(api, sandbox, STATE) == before
            assert run(api, sandbox, "stat -c %h twin") == "2\n"
            # Against the template nothing of it was ever there.
            assert revert(api, sandbox, "/")[0]["ok"]
            assert changes(api, sandbox) == {} and run(api, sandbox, "ls -A") == ""


def test_paths_are_reverted_one_by_one(api):
    with api.sandbox(internet=False) as sandbox:
        run(api, sandbox, PREPARE)
        with snapshot(api, sandbox) as base:
            run(api, sandbox, CHANGE)
            done = revert(api, sandbox, f"{HOME}/gone", f"{HOME}/whole/in/w", f"{HOME}/nosuch", "../etc", f"{HOME}/kept",
                          "tmp/x", base=base)
            assert [item["ok"] for item in done] == [True, True, False, False, True, False]
            assert done[2]["error"] == "not_found" and done[3]["error"] == "invalid_request"
            assert (done[1]["restored"], done[4]["restored"]) == (1, 0)
            left = kinds(changes(api, sandbox, base=base))
            assert f"{HOME}/gone" not in left and f"{HOME}/whole/in/w" not in left and f"{HOME}/whole" not in left
            assert left[f"{HOME}/whole/x"] == "deleted" and left[f"{HOME}/edited"] == "modified"
            assert run(api, sandbox, "cat whole/in/w gone; stat -c %a whole") == "w\nthree\n755\n"


def test_processes_go_on_during_a_review_and_a_revert(api):
    """Writers at work: every answer is whole, and what they hold open stays theirs."""
    with api.sandbox(internet=False) as sandbox:
        job = api.exec(sandbox, "i=0; while :; do i=$((i+1)); mkdir -p d$((i%7)); echo $i > d$((i%7))/f$((i%31)); "
                                "rm -rf d$(((i+3)%7)); ln -sfn d$((i%5)) l; done", background=True, cwd="/" + HOME)
        for _ in range(12):
            assert set(kinds(changes(api, sandbox)).values()) <= {"added"}
            assert api.raw("GET", f"{INSTANCES}/{sandbox}/diff?format=patch").status == 200
        done = revert(api, sandbox, f"{HOME}")
        assert done[0]["ok"] or done[0]["error"] in ("conflict", "not_found", "system", "limit"), done
        api.delete(f"{INSTANCES}/{sandbox}/processes/{job['process']}")


def test_accepting_takes_a_snapshot(api):
    with api.sandbox(internet=False) as sandbox:
        run(api, sandbox, "echo good > good")
        taken = api.post(f"{INSTANCES}/{sandbox}/changes/accept", {"name": "accepted"})
        assert taken["name"] == "accepted" and taken["state"] == "ready"
        assert changes(api, sandbox, base="accepted") == {}
        assert kinds(changes(api, ("snapshot", "accepted"))) == {f"{HOME}/good": "added"}
        api.delete(f"{SNAPSHOTS}/accepted")


def test_odd_names_are_told_and_reverted(api):
    names = [b"new\nline", b" ", b"-rf", b'"quoted"', b"bad\xffutf8", b"back\\slash", b"tab\there", "ünïcödé".encode(),
             b"esc\x1b[31m", b"# next_page: 00"]
    with api.sandbox(internet=False) as sandbox:
        for name in names:
            script = "printf x > \"$(printf '" + "".join(f"\\{byte:03o}" for byte in name) + "')\""
            run(api, sandbox, script)
        found = changes(api, sandbox, limit=3)
        got = {path if isinstance(path, bytes) else path.encode() for path in found}
        assert got == {f"{HOME}/".encode() + name for name in names}
        patch = api.raw("GET", f"{INSTANCES}/{sandbox}/diff?format=patch").body.decode()
        assert f'"b/{HOME}/new\\nline"' in patch and f'"b/{HOME}/bad\\377utf8"' in patch and f"+++ b/{HOME}/ \t\n" in patch
        assert "\x1b" not in patch, [line for line in patch.splitlines() if "\x1b" in line]
        assert f"+++ b/{HOME}/# next_page: 00\t\n@@" in patch
        paths = [base64.b64encode(f"{HOME}/".encode() + name).decode() for name in names]
        assert all(item["ok"] for item in revert(api, sandbox, *paths, encoding="base64"))
        assert changes(api, sandbox) == {}


def test_ten_thousand_files(api):
    with api.sandbox(internet=False) as sandbox:
        run(api, sandbox, "mkdir many; cd many; seq 1 10000 | split -l 1 -a 4 -d - f")
        with snapshot(api, sandbox) as base:
            run(api, sandbox, "cd many; rm f0*; for i in f1*; do echo x >> $i; done; mkdir new; cd new; seq 1 2000 | split -l 1 -a 4 -d - n")
            found = changes(api, sandbox, base=base)
            assert len(found) == 1000 + 1000 + 1 + 2000
            done = revert(api, sandbox, f"{HOME}/many", base=base)[0]
            assert done == {"path": f"{HOME}/many", "ok": True, "restored": 2000, "removed": 2001}
            assert changes(api, sandbox, base=base) == {}
            assert run(api, sandbox, "cat many/* | md5sum; seq 1 10000 | md5sum").splitlines()[0].split()[0] == \
                run(api, sandbox, "seq 1 10000 | md5sum").split()[0]


def test_large_and_sparse_files(api):
    with api.sandbox(internet=False) as sandbox:
        run(api, sandbox, "truncate -s 300M big; head -c 20M /dev/urandom > noise; seq 1 400000 > lines")
        with snapshot(api, sandbox) as base:
            # Same size and time: only its contents tell.
            run(api, sandbox, "cp -p noise ref; printf x | dd of=noise bs=1 seek=10000000 conv=notrunc status=none; touch -r ref noise; "
                              "rm ref; echo 1 >> lines; touch big")
            found = changes(api, sandbox, "diff", base=base)
            assert kinds(found) == {f"{HOME}/lines": "modified", f"{HOME}/noise": "modified"}
            assert found[f"{HOME}/lines"]["diff"].endswith(f"Large files a/{HOME}/lines and b/{HOME}/lines differ\n")
            assert found[f"{HOME}/noise"]["binary"] is True
            assert revert(api, sandbox, "/", base=base)[0]["ok"] and changes(api, sandbox, base=base) == {}


def test_a_volume_is_no_change_and_is_left_alone(api):
    api.post("/api/sandbox/volumes", {"name": "beside"})
    try:
        with api.sandbox(internet=False, volume="beside") as sandbox:
            run(api, sandbox, "echo precious > /workspace/precious; echo x > x")
            found = kinds(changes(api, sandbox))
            assert f"{HOME}/x" in found and not any(path.startswith("workspace/") for path in found)
            assert revert(api, sandbox, "/")[0]["ok"]
            assert run(api, sandbox, "cat /workspace/precious; ls") == "precious\n"
    finally:
        api.delete("/api/sandbox/volumes/beside")


def test_what_cannot_be_done_is_refused(api, server):
    refused(404, api.get, f"{INSTANCES}/nosuch/changes")
    refused(404, api.get, f"{SNAPSHOTS}/nosuch/changes")
    with api.sandbox(internet=False) as sandbox:
        path = f"{INSTANCES}/{sandbox}/changes"
        refused(404, api.get, path + "?base=nosuch")
        for query in ("path=../etc", "path=a//b", "path=.", "page=zz", "page=00", "page=abc", "limit=1001", "limit=0", "nosuch=1", "path=proc",
                      "path=etc/hosts"):
            assert refused(400, api.get, f"{path}?{query}").message
        refused(400, api.get, f"{INSTANCES}/{sandbox}/diff?format=html")
        refused(404, api.get, path + "?path=no/such")
        for body in ({}, {"paths": []}, {"paths": ["a"] * 1001}, {"paths": "a"}, {"paths": ["!"], "encoding": "base64"}):
            refused(400, api.post, path + "/revert", body)
        refused(404, api.post, path + "/revert", {"paths": ["a"], "base": "nosuch"})


def test_what_lies_on_an_imported_template_is_compared_with_a_snapshot(api):
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as root:
        for name in ("bin", "usr", "etc", "tmp"):
            info = tarfile.TarInfo(name)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            root.addfile(info)
    api.call("POST", "/api/sandbox/templates/import?name=imported", tar.getvalue())
    try:
        with api.sandbox(template="imported", internet=False) as sandbox:
            path = f"{INSTANCES}/{sandbox}"
            for number in (1, 2):
                api.post(f"{path}/files/write", {"path": f"/file{number}", "content": "x", "user": "0"})
                api.post(f"{path}/snapshot", {"name": f"imported-{number}"})
            assert kinds(changes(api, sandbox, base="imported-1")) == {"file2": "added"}
            assert kinds(changes(api, ("snapshot", "imported-2"))) == {"file2": "added"}
            assert revert(api, sandbox, "file2", base="imported-1")[0]["ok"]
            assert kinds(changes(api, sandbox, base="imported-1")) == {}
    finally:
        for number in (2, 1):
            api.delete(f"{SNAPSHOTS}/imported-{number}")
        api.delete("/api/sandbox/templates/imported")


def test_nothing_of_a_review_is_left(api, server):
    with api.sandbox(internet=False) as sandbox:
        for _ in range(5):
            changes(api, sandbox)
        atoll.wait_for(lambda: atoll.Host(server.data).runs() == sorted(
            row["id"] for row in api.get(f"{INSTANCES}?limit=1000")["items"] if row["state"] in ("started", "paused")), 30, "no sandbox of a review is left")
        assert not [row for row in api.get(f"{INSTANCES}?limit=1000")["items"] if row["name"] == "review"]


def test_a_snapshot_that_is_removed_during_a_review_stays_for_it(api):
    with api.sandbox(internet=False) as sandbox:
        run(api, sandbox, "echo a > a")
        with snapshot(api, sandbox) as base:
            api.delete(f"{SNAPSHOTS}/{base}")
            refused(404, changes, api, sandbox, base=base)
            assert kinds(changes(api, sandbox)) == {f"{HOME}/a": "added"}


def test_other_projects_see_nothing(api, server):
    made = api.post("/v1/projects", {"name": "strangers"})
    key = api.call("POST", "/api/sandbox/keys", {"name": "stranger"}, {"X-Atoll-Project": made["id"]})
    stranger = server.api(key=key["key"])
    with api.sandbox(internet=False) as sandbox:
        refused(404, stranger.get, f"{INSTANCES}/{sandbox}/changes")
        refused(404, stranger.get, f"{INSTANCES}/{sandbox}/diff")
        refused(404, stranger.post, f"{INSTANCES}/{sandbox}/changes/revert", {"paths": ["/"]})
        with snapshot(api, sandbox) as base:
            refused(404, stranger.get, f"{SNAPSHOTS}/{base}/changes")
    stranger.close()
    api.delete(f"/v1/projects/{made['id']}?force=true")
