# SPDX-License-Identifier: Apache-2.0
"""git in a sandbox: repositories, remotes with logins, and repositories that mean ill."""

import base64
import json
import urllib.parse

import pytest

import atoll

pytestmark = pytest.mark.needs_root
SERVER = atoll.ROOT / "tests/git_server.py"


class Git:
    def __init__(self, api, box):
        self.api, self.base, self.box = api, f"/api/sandbox/instances/{box}/git", box

    def post(self, call, **body):
        return self.api.post(f"{self.base}/{call}", body)

    def get(self, call, **query):
        return self.api.get(f"{self.base}/{call}?{urllib.parse.urlencode(query)}")

    def refused(self, status, call, **body):
        with pytest.raises(atoll.ApiError) as refused:
            self.api.post(f"{self.base}/{call}", body)
        assert refused.value.status == status, refused.value
        return str(refused.value)

    def sh(self, command, ok=True):
        done = self.api.exec(self.box, command)
        assert not ok or done["exit_code"] == 0, done
        return done["stdout"]


@pytest.fixture(scope="module")
def git(server):
    connection = server.api()
    with connection.sandbox(internet=False) as box:
        made = Git(connection, box)
        if not made.api.exec(box, "git --version")["ok"]:
            pytest.skip("the host has no git for its sandboxes")
        made.sh("git config --global user.name Me && git config --global user.email me@example.com"
                " && git config --global init.defaultBranch main")
        yield made
    connection.close()


@pytest.fixture(scope="module")
def remote(git):
    """A bare repository with one commit, behind a server that wants a login."""
    connection = git.api
    connection.write(git.box, "server.py", SERVER.read_bytes())
    git.sh("mkdir -p srv && git init -q --bare srv/p.git && git -C srv/p.git config http.receivepack true"
           " && git init -q seed && cd seed && echo one > one && git add . && git commit -qm first && git push -q ../srv/p.git HEAD")
    for port, login in ((4801, "me:s3cret-p4ss"), (4802, "me:other")):
        connection.post(f"/api/sandbox/instances/{git.box}/exec", {"background": True, "command":
                        f"exec python3 server.py $PWD/srv {login} {port} $PWD/log{port} http://localhost:4802"})
        atoll.wait_for(lambda: git.sh(f"curl -s -o /dev/null -w %{{http_code}} 127.0.0.1:{port}", ok=False) == "401", 20, "the git server")
    git.sh("rm -f log480*")
    return "http://127.0.0.1:4801/p.git"


LOGIN = {"username": "me", "password": "s3cret-p4ss"}


def test_a_repository_is_cloned_changed_committed_and_pushed(git, remote):
    git.post("clone", url=remote, path="work", **LOGIN)
    status = git.get("status", path="work")
    assert status["branch"] == "main" and status["upstream"] == "origin/main" and status["clean"] and len(status["commit"]) == 40
    git.sh("cd work && echo more >> one && echo two > two && git mv one uno")
    files = {f["path"]: f for f in git.get("status", path="work")["files"]}
    assert files["uno"]["staged"] == "renamed" and files["uno"]["old_path"] == "one" and files["two"]["worktree"] == "untracked"
    git.post("add", path="work", files=["."])
    git.refused(400, "commit", path="work", message="x", author="A <a@b>")
    made = git.post("commit", path="work", message="-second\n\nwith a body", author="-An Author", email="a@example.com")
    log = git.get("log", path="work")["items"]
    assert [c["message"] for c in log] == ["-second\n\nwith a body", "first"] and log[0]["hash"] == made["hash"]
    assert log[0]["author"] == "-An Author" and log[0]["email"] == "a@example.com"
    assert git.get("status", path="work")["ahead"] == 1
    git.post("push", path="work", **LOGIN)
    assert git.get("status", path="work")["ahead"] == 0
    assert git.sh("git -C srv/p.git log --format=%s main").splitlines() == ["-second", "first"]


def test_a_password_is_nowhere_afterwards(git, remote):
    git.post("clone", url=remote, path="quiet", **LOGIN)
    assert git.sh("grep -rl s3cret-p4ss quiet ~/.git* ~/.config 2>/dev/null; true") == ""
    log = git.sh("cat log4801")
    assert "LOGIN Basic " + base64.b64encode(b"me:s3cret-p4ss").decode() in log and "ARGUMENT" not in log


def test_a_wrong_or_missing_login_is_told_and_asks_nobody(git, remote):
    assert "Authentication failed" in git.refused(403, "clone", url=remote, path="no", username="me", password="wrong")
    assert "could not read Username" in git.refused(403, "clone", url=remote, path="no")
    assert "holds a password" in git.refused(400, "clone", url=remote.replace("//", "//me:s3cret-p4ss@"), path="no")
    assert "https or http" in git.refused(400, "clone", url="git@example.com:a/b", path="no", **LOGIN)
    assert "line feed" in git.refused(400, "clone", url=remote, path="no", username="me", password="a\nhost=evil")
    assert git.sh("ls -d no 2>/dev/null; true") == ""


def test_a_login_is_not_given_to_where_a_server_leads(git, remote):
    git.refused(403, "clone", url="http://127.0.0.1:4801/away/p.git", path="away", **LOGIN)
    assert set(git.sh("cat log4802").split("\n")) <= {"LOGIN None", ""}


def test_hooks_do_not_run_while_a_login_is_at_hand(git, remote):
    git.post("clone", url=remote, path="hooked", **LOGIN)
    git.sh("""cd hooked && git config core.fsmonitor 'env > ~/leak1; false' && for hook in pre-push post-merge reference-transaction; do
           printf '#!/bin/sh\\nenv >> ~/leak2\\n' > .git/hooks/$hook && chmod +x .git/hooks/$hook; done
           git -c core.hooksPath=/dev/null -c core.fsmonitor= commit -q --allow-empty -m third""")
    git.post("push", path="hooked", **LOGIN)
    git.post("pull", path="hooked", **LOGIN)
    assert git.sh("cat ~/leak1 ~/leak2 2>/dev/null; true") == ""


def test_what_a_remote_refuses_has_its_own_code(git, remote):
    git.post("clone", url=remote, path="a", **LOGIN)
    git.post("clone", url=remote, path="b", **LOGIN)
    for name in "ab":
        git.sh(f"cd {name} && echo {name} > clash && git add . && git commit -qm {name}")
    git.post("push", path="a", **LOGIN)
    assert "rejected" in git.refused(409, "push", path="b", **LOGIN)
    git.refused(409, "pull", path="b", **LOGIN)
    assert {"path": "clash", "old_path": None, "staged": "unmerged", "worktree": "unmerged"} in git.get("status", path="b")["files"]
    git.sh("cd b && git merge --abort && git reset -q --hard origin/main")
    assert git.get("status", path="b")["clean"]


def test_branches(git, remote):
    git.post("clone", url=remote, path="branched", **LOGIN)
    git.post("branches", path="branched", name="feature/x")
    assert git.get("branches", path="branched") == {"current": "main", "branches": ["feature/x", "main"]}
    git.post("checkout", path="branched", name="feature/x")
    assert git.get("status", path="branched")["branch"] == "feature/x"
    git.refused(409, "branches", path="branched", name="main")
    git.refused(404, "checkout", path="branched", name="nosuch")
    git.post("checkout", path="branched", name="main")
    git.api.delete(f"{git.base}/branches?path=branched&name=feature/x")
    assert git.get("branches", path="branched")["branches"] == ["main"]
    git.post("branches", path="branched", name="y", checkout=True)
    assert git.get("branches", path="branched")["current"] == "y"
    git.sh("cd branched && echo x >> two && git commit -qam x && echo y >> two")
    assert "overwritten" in git.refused(409, "checkout", path="branched", name="main")
    git.sh("cd branched && git checkout -q -- two")
    git.post("checkout", path="branched", name=git.get("log", path="branched", limit=2)["items"][-1]["hash"])
    assert git.get("status", path="branched")["branch"] is None


def test_a_diff_is_a_patch(git):
    git.sh("git init -q patch && cd patch && echo one > f && git add . && git commit -qm one && echo two > f && echo three > g && git add g")
    text = git.get("diff", path="patch").decode()
    assert "-one" in text and "+two" in text and "three" not in text
    assert "+three" in git.get("diff", path="patch", staged="true").decode()
    assert "+two" in git.get("diff", path="patch", **{"from": "HEAD"}).decode()
    assert git.get("diff", path="patch", file="g") == b""


def test_names_are_data(git):
    """Files that look like options, patterns, several lines or no text at all."""
    git.sh(r"""git init -q odd && cd odd && git commit -q --allow-empty -m start && printf x > "$(printf 'two\nlines')" && printf x > -f
           printf x > ':(top)x' && printf x > '*' && printf x > 'ü "q" \' && printf x > "$(printf 'latin\351')" && printf x > plain""")
    status = git.get("status", path="odd")
    assert {f["path"] for f in status["files"]} == {"two\nlines", "-f", ":(top)x", "*", 'ü "q" \\', "latin\ufffd", "plain"}
    git.post("add", path="odd", files=["*", ":(top)x", "-f", "two\nlines"])
    assert {f["path"] for f in git.get("status", path="odd")["files"] if f["staged"] == "added"} == {"*", ":(top)x", "-f", "two\nlines"}
    git.sh("git init -q --initial-branch=main subject && cd subject && git commit -q --allow-empty -m \"$(printf 'a\\036b')\"")
    assert git.get("log", path="subject")["items"][0]["message"] == "a\x1eb"


@pytest.mark.parametrize("name, body", [
    ("clone", {"url": "ext::sh -c touch% /tmp/pwned", "path": "x"}),
    ("clone", {"url": "--upload-pack=touch /tmp/pwned", "path": "x"}),
    ("clone", {"url": "/srv", "path": "x", "branch": "--upload-pack=touch /tmp/pwned"}),
    ("checkout", {"path": "patch", "name": "--orphan=x"}),
    ("branches", {"path": "patch", "name": "-D"}),
    ("push", {"path": "patch", "remote": "--receive-pack=touch /tmp/pwned"}),
    ("pull", {"path": "patch", "remote": "--upload-pack=touch /tmp/pwned"}),
    ("push", {"path": "patch", "branch": "--exec=touch /tmp/pwned"}),
])
def test_what_callers_name_is_no_option(git, name, body):
    git.refused(400, name, **body)
    assert git.sh("ls /tmp/pwned 2>/dev/null; true") == ""


def test_what_is_no_repository_is_not_found(git):
    for path in ("nosuch", "/etc"):
        with pytest.raises(atoll.ApiError) as refused:
            git.get("status", path=path)
        assert refused.value.status == 404 and "git" in str(refused.value)
    assert git.get("log", path="patch")["items"]
    git.sh("git init -q empty")
    assert git.get("log", path="empty")["items"] == []
    assert git.get("status", path="empty")["commit"] is None


def test_a_status_that_is_too_long_is_refused(git):
    git.sh("git init -q many && cd many && for i in $(seq 15); do mkdir $(printf %0200d 0); cd $(printf %0200d 0); done"
           " && for i in $(seq 3000); do : > $i; done")
    with pytest.raises(atoll.ApiError) as refused:
        git.get("status", path="many")
    assert refused.value.status == 413
    git.sh("rm -r many")


def test_the_daytona_surface_names_failures(git, remote):
    base = f"/daytona/toolbox/{git.box}/git"
    def refusal(path, body):
        answer = git.api.raw("POST", base + path, json.dumps(body), {"Content-Type": "application/json"})
        return answer.status, answer.json()["code"], answer.json()["source"]
    assert refusal("/clone", {"url": remote, "path": "no"}) == (401, "GIT_AUTH_FAILED", "DAYTONA_DAEMON")
    assert refusal("/clone", {"url": "http://127.0.0.1:4899/x", "path": "no"}) == (502, "GIT_TRANSPORT_FAILED", "DAYTONA_DAEMON")
    assert refusal("/checkout", {"path": "patch", "branch": "nosuch"})[:2] == (404, "GIT_BRANCH_NOT_FOUND")
    assert refusal("/branches", {"path": "patch", "name": "main"})[:2] == (409, "GIT_BRANCH_EXISTS")
    assert refusal("/add", {"path": "/etc", "files": ["."]})[:2] == (404, "GIT_REPO_NOT_FOUND")
