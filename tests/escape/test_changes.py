# SPDX-License-Identifier: Apache-2.0
"""What a sandbox leaves in its files for those who review or take back what it changed: links, races, depths, sizes."""

import pathlib
import secrets
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
INSTANCES = "/api/sandbox/instances"
HOME = "home/user/project"


@pytest.fixture(scope="module")
def trap():
    marker = pathlib.Path("/var/tmp") / ("atoll-trap-" + secrets.token_hex(8))
    marker.write_text("only the host may read this\n")
    yield marker
    marker.unlink()


def run(api, sandbox, script, user="root"):
    done = api.exec(sandbox, script, user=user, cwd="/" + HOME)
    assert done["exit_code"] == 0, done["stderr"]
    return done["stdout"]


def patch(api, sandbox, query=""):
    answer = api.raw("GET", f"{INSTANCES}/{sandbox}/diff?format=patch{query}")
    assert answer.status == 200, answer.body
    return answer.body


def every_change(api, sandbox):
    items, page = [], ""
    while page is not None:
        answer = api.get(f"{INSTANCES}/{sandbox}/changes?limit=1000" + (f"&page={page}" if page else ""))
        items, page = items + answer["items"], answer["next_page"]
    return items


def test_links_show_where_they_lead_and_nothing_of_it(api, trap):
    with api.sandbox(internet=False) as sandbox:
        run(api, sandbox, f"ln -s {trap} file; ln -s /var/tmp folder; ln -s /review/base up; ln -s / root; ln -s /proc/1/root magic; "
                          f"ln -s ../../../../../../../var/tmp/{trap.name} relative; rm -rf /srv; ln -s /var/tmp /srv")
        text = patch(api, sandbox)
        assert b"only the host" not in text and f"+{trap}\n".encode() in text
        for path in (f"{HOME}/folder/{trap.name}", f"{HOME}/root/etc/passwd", f"{HOME}/up/etc", f"srv/{trap.name}"):
            answer = api.raw("GET", f"{INSTANCES}/{sandbox}/changes?path={path}")
            assert answer.status == 404, answer.body
        done = api.post(f"{INSTANCES}/{sandbox}/changes/revert", {"paths": [f"srv/{trap.name}", f"{HOME}/folder/x", "/"]})["items"]
        assert [item["ok"] for item in done] == [False, False, True]
        assert trap.read_text() == "only the host may read this\n"
        assert run(api, sandbox, "stat -c %F /srv") == "directory\n"


@pytest.mark.parametrize("stopped", [False, True], ids=["running", "stopped"])
def test_a_revert_writes_nowhere_else(api, trap, stopped):
    """The folder that a file is to come back to is a link to somewhere else now."""
    with api.sandbox(internet=False, persistent=True) as sandbox:
        base = run(api, sandbox, "mkdir -p d/e; echo inside > d/e/f") or api.post(f"{INSTANCES}/{sandbox}/snapshot")["id"]
        run(api, sandbox, f"rm -r d/e; ln -s /var/tmp d/e; rm -rf /var/tmp/*; echo outside > /var/tmp/{trap.name}")
        if stopped:
            api.post(f"{INSTANCES}/{sandbox}/stop")
        done = api.post(f"{INSTANCES}/{sandbox}/changes/revert", {"paths": [f"{HOME}/d/e/f"], "base": base})["items"][0]
        assert not done["ok"], done
        assert not pathlib.Path("/var/tmp/f").exists()
        assert api.post(f"{INSTANCES}/{sandbox}/changes/revert", {"paths": [f"{HOME}/d"], "base": base})["items"][0]["ok"]
        if stopped:
            api.post(f"{INSTANCES}/{sandbox}/start")
        assert run(api, sandbox, f"cat d/e/f /var/tmp/{trap.name}; ls /var/tmp") == f"inside\noutside\n{trap.name}\n"
        api.delete(f"/api/sandbox/snapshots/{base}")


def test_a_race_for_a_link_wins_nothing(api, trap):
    """A file and a folder that become links to the host's names and back, as fast as the sandbox can."""
    with api.sandbox(internet=False) as sandbox:
        api.write(sandbox, f"/{HOME}/race.py", f"""
import os
os.makedirs('real', exist_ok=True); open('real/{trap.name}', 'w').write('mine')
while True:
    for path, target in (('d', '/var/tmp'), ('d', 'real'), ('f', '{trap}'), ('f', '/etc/shadow'), ('f', 'real/{trap.name}')):
        try:
            os.symlink(target, path + '.new'); os.rename(path + '.new', path)
        except OSError:
            pass
        try:
            os.unlink('g'); os.mkfifo('g') if target[0] == '/' else open('g', 'w').write('x')
        except OSError:
            open('g', 'w').close() if not os.path.lexists('g') else None
""".encode())
        api.exec(sandbox, "python3 race.py", background=True, cwd="/" + HOME, user="root")
        end = time.monotonic() + 3
        while time.monotonic() < end:
            answer = api.raw("GET", f"{INSTANCES}/{sandbox}/diff?format=patch&path={HOME}")
            assert b"only the host" not in answer.body
            api.raw("POST", f"{INSTANCES}/{sandbox}/changes/revert", {"paths": [f"{HOME}/d", f"{HOME}/f"]})
        assert trap.read_text() == "only the host may read this\n"


def test_deep_trees_and_many_names_are_bounded(api):
    with api.sandbox(internet=False) as sandbox:
        api.write(sandbox, f"/{HOME}/deep.py", b"""
import os
os.mkdir('top'); os.chdir('top')
for i in range(1500):
    os.mkdir('d' * (200 if i % 3 else 1)); os.chdir('d' * (200 if i % 3 else 1))
open('bottom', 'w').close()
""")
        run(api, sandbox, "python3 deep.py; rm deep.py")
        items = every_change(api, sandbox)
        cut = [item for item in items if item.get("truncated")]
        assert len(cut) == 1 and len(cut[0]["path"]) < 4096 and items[-1] == cut[0]
        assert b"too deep to list its contents" in patch(api, sandbox)
        refused = api.post(f"{INSTANCES}/{sandbox}/changes/revert", {"paths": [f"{HOME}/top"]})["items"][0]
        assert (refused["ok"], refused["error"]) == (False, "limit_exceeded"), refused
        run(api, sandbox, "rm -rf top")
        assert every_change(api, sandbox) == []


def test_huge_and_sparse_files_cost_little(api):
    with api.sandbox(internet=False) as sandbox:
        limit = 10 ** 11
        api.exec(sandbox, f"for i in 1 2 3 4 5 6 7 8; do truncate -s {limit} s$i || truncate -s 900M s$i; done; "
                          "python3 -c \"open('wide','w').write('x\\n' * 500000)\"; python3 -c \"open('line','w').write('y' * 1000000)\"",
                 user="root", cwd="/" + HOME)
        begun = time.monotonic()
        text = patch(api, sandbox)
        assert time.monotonic() - begun < 30
        assert text.count(b"Large files") >= 8 and len(text) < 4 << 20


def test_a_review_is_seen_by_nobody_and_reaches_nobody(api, server):
    with api.sandbox(internet=False) as sandbox:
        run(api, sandbox, "echo x > x")
        seen = api.exec(sandbox, "ls -d /review /run/atoll/review; grep review /proc/self/mountinfo", user="root")
        assert "No such file" in seen["stderr"] and seen["stdout"] == ""
        api.exec(sandbox, "for i in $(seq 200); do ls / | grep review; sleep 0.01; done > /tmp/seen", background=True, user="root")
        for _ in range(20):
            every_change(api, sandbox)
        assert run(api, sandbox, "cat /tmp/seen") == ""
        assert not [row for row in api.get(f"{INSTANCES}?limit=1000")["items"] if row["id"] != sandbox and row["name"] == "review"]
