# SPDX-License-Identifier: Apache-2.0
"""kill -9 at each step of the audit: an answered write has one row, no row is there twice, and the chain verifies."""

import json
import os
import subprocess

import pytest

import atoll

pytestmark = pytest.mark.needs_root
# In the order in which a request meets them. "recover" is met by the next start.
STEPS = ["begin", "end", "rows", "head", "appended", "sign", "signed", "recover"]
WRITES = 12


def write_until_death(server):
    """The projects whose making was answered."""
    answered = []
    for number in range(WRITES):
        api = server.api(timeout=5)
        try:
            answered.append(api.post("/v1/projects", {"name": f"step-{number}"})["id"])
        except (atoll.ApiError, OSError):
            break
        finally:
            api.close()
    return answered


def export(server, path):
    path.unlink(missing_ok=True)
    env = {**os.environ, "ATOLL_API_URL": f"http://127.0.0.1:{server.port}", "ATOLL_API_KEY": server.key}
    for words in (["export", "--all", "-o", path], ["verify", path]):
        done = subprocess.run([atoll.ATOLL, "audit", *words], env=env, text=True, capture_output=True, timeout=60)
        assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in path.read_text().splitlines() if '"sequence":' in line]


@pytest.mark.parametrize("step", STEPS)
def test_the_server_dies_at(private_server, tmp_path, step):
    server = private_server
    server.environment["ATOLL_FAULT"] = f"audit:{step}:kill"
    server.start()
    victim = server.pid_of("api")
    answered = write_until_death(server)
    if step in ("sign", "signed"):
        # The last checkpoint of a server that ends is one, too.
        server.stop()
    elif step == "recover":
        server.kill9("api")
    else:
        atoll.wait_for(lambda: server.pid_of("api") != victim, 30, "the end of the api process")
    server.environment.pop("ATOLL_FAULT")
    if server.process:
        server.stop()
    server.start()
    made = {project["id"] for project in server.api().get("/v1/projects")["items"]}
    rows = export(server, tmp_path / "audit.jsonl")
    creates = [row for row in rows if row["action"] == "projects.create"]
    targets = [row["target"] for row in creates if row["target"]]
    assert set(answered) <= set(targets) and len(targets) == len(set(targets))
    assert len({row["id"] for row in rows}) == len(rows)
    assert [row["sequence"] for row in rows] == list(range(1, len(rows) + 1))
    # A write without an answer has its intent at least: none happened unseen.
    own = {project for project in made if project != "default"}
    unseen = own - set(targets)
    assert len(unseen) <= sum(row["result"] == "interrupted" for row in creates)
    if step == "begin":
        assert not answered and creates and creates[0]["result"] == "interrupted"
