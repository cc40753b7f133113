# SPDX-License-Identifier: Apache-2.0
"""The audit: each write has a row in one signed chain; exports verify without the server, and a changed row is found."""

import json
import os
import sqlite3
import subprocess

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"


def rows(api, **query):
    """The newest rows, the newest first. They are appended a moment after the answer."""
    return api.get("/v1/audit?" + "&".join(f"{k}={v}" for k, v in {"limit": 1000, **query}.items()))["items"]


def wait_row(api, **wanted):
    def found():
        return [row for row in rows(api) if all(row[name] == value for name, value in wanted.items())]
    return atoll.wait_for(found, 20, lambda: f"a row with {wanted} among {rows(api)[:5]}")[0]


def export(server, path, *options):
    path.unlink(missing_ok=True)
    done = cli(server, "audit", "export", "-o", path, *options)
    assert done.returncode == 0, done.stderr
    return path.read_text().splitlines()


def cli(server, *words, key=None):
    env = {**os.environ, "ATOLL_API_URL": f"http://127.0.0.1:{server.port}", "ATOLL_API_KEY": key or server.key}
    return subprocess.run([atoll.ATOLL, *map(str, words)], env=env, text=True, capture_output=True, timeout=60)


def verify(path, *options):
    """Without any server."""
    env = {**os.environ, "ATOLL_API_URL": "http://127.0.0.1:1", "ATOLL_API_KEY": "none"}
    return subprocess.run([atoll.ATOLL, "audit", "verify", path, *options], env=env, text=True, capture_output=True, timeout=60)


def test_a_write_has_a_row_with_what_it_changed(api):
    project = api.post("/v1/projects", {"name": "audited"})["id"]
    api.call("PATCH", f"/v1/projects/{project}", {"name": "renamed"})
    row = wait_row(api, action="projects.update", target=project)
    assert (row["result"], row["status"], row["method"], row["via"], row["target_kind"]) == ("ok", 200, "PATCH", "key", "projects")
    assert row["path"] == f"/v1/projects/{project}" and row["key"] and row["request_id"] and row["address"].startswith("127.")
    assert row["before"] == {f"project {project}": {"name": "audited"}} and row["after"] == {f"project {project}": {"name": "renamed"}}
    made = wait_row(api, action="projects.create", target=project)
    assert made["before"] is None and made["after"][f"project {project}"]["name"] == "audited"
    assert made["sequence"] < row["sequence"]


def test_a_secret_is_in_no_row(api, server, box, tmp_path):
    secret = "s3cr3t-v4lue-of-the-audit"
    api.exec(box, "true", env={"TOKEN": secret})
    api.post(f"{PATH}/{box}/env", {"set": {"TOKEN": secret}})
    key = api.post("/api/sandbox/keys", {"name": "k"})
    api.post("/v1/webhooks", {"url": f"https://example.com/{secret}", "events": ["*"]})
    row = wait_row(api, action="instances.env")
    assert row["after"][f"sandbox {box}"]["env_json"] == "set"
    wait_row(api, action="webhooks.create")
    text = "\n".join(export(server, tmp_path / "audit.jsonl", "--all"))
    assert secret not in text and key["key"] not in text and server.key not in text


def test_a_refusal_has_a_row_and_a_read_has_none(api, server):
    weak = api.post("/api/sandbox/keys", {"name": "weak", "scopes": ["sandbox:read"]})
    other = api.clone(weak["key"])
    with pytest.raises(atoll.ApiError):
        other.post(PATH, {"template": "base"})
    with pytest.raises(atoll.ApiError) as refused:
        other.get("/v1/audit")
    assert refused.value.status == 403
    other.get(PATH)
    row = wait_row(api, action="instances.create", key=weak["id"])
    assert (row["result"], row["status"]) == ("refused", 403)
    assert [r["action"] for r in rows(api, key=weak["id"])] == ["instances.create"]
    with pytest.raises(atoll.ApiError):
        api.clone("atoll_" + "a" * 40).post(PATH, {"template": "base"})
    other.close()


def test_filters_and_pages(api):
    for name in "abc":
        api.post("/v1/projects", {"name": f"page-{name}"})
    wait_row(api, action="projects.create")
    atoll.wait_for(lambda: len(rows(api, action="projects.create")) >= 3, 20, "three rows")
    assert all(row["action"].startswith("projects.") for row in rows(api, action="projects.*"))
    page = api.get("/v1/audit?limit=2&action=projects.create")
    rest = api.get(f"/v1/audit?limit=1000&action=projects.create&before={page['next']}")
    numbers = [row["sequence"] for row in page["items"] + rest["items"]]
    assert numbers == sorted(numbers, reverse=True) and len(numbers) >= 3 and rest["next"] == 0
    forward = api.get("/v1/audit?after=0&limit=1000")["items"]
    assert [row["sequence"] for row in forward] == list(range(1, len(forward) + 1))
    request = forward[-1]["request_id"]
    assert [row["request_id"] for row in rows(api, request=request)] == [request]
    assert rows(api, since="2100-01-01T00:00:00Z") == []


def test_an_export_verifies_and_each_change_of_it_is_found(api, server, tmp_path):
    for name in range(5):
        api.post("/v1/projects", {"name": f"export-{name}"})
    wait_row(api, action="projects.create")
    path, changed = tmp_path / "audit.jsonl", tmp_path / "changed.jsonl"
    lines = export(server, path, "--all")
    key = api.get("/v1/audit/key")["key"]
    assert verify(path).returncode == 0 and verify(path, "--key", key).returncode == 0
    assert cli(server, "audit", "verify", "--all", "--key", key).returncode == 0
    assert "another key" in verify(path, "--key", "0" * 64).stderr
    at = [number for number, line in enumerate(lines) if '"sequence":' in line]
    one, two, last = at[1], at[2], at[-1]

    def refused(text, *words):
        changed.write_text("\n".join(text) + "\n")
        done = verify(changed)
        assert done.returncode == 1, done.stdout
        assert all(word in done.stderr for word in words), done.stderr

    refused(lines[:one] + lines[one + 1:], "removed")
    refused(lines[:one] + [lines[two], lines[one]] + lines[two + 1:], "reordered")
    refused(lines[:one + 1] + lines[one:], "inserted")
    refused(lines[:one] + [lines[one].replace('"result":"ok"', '"result":"no"')] + lines[one + 1:], "was changed")
    refused(lines[:last + 1], "cut off")
    refused([lines[0]] + lines[2:], "removed")
    row = json.loads(lines[one])
    hidden = json.dumps({"v": 1, "hidden": row["sequence"], "digest": "0" * 64, "hash": row["hash"]}, separators=(",", ":"))
    refused(lines[:one] + [hidden] + lines[one + 1:], "hidden")
    refused([line.replace('"signature":"', '"signature":"00')[:-4] + '"}' if '"checkpoint":' in line else line for line in lines])
    changed.write_text("\n".join(lines))
    assert "cut off" in verify(changed).stderr
    newest = json.loads(lines[-1])
    assert verify(path, "--checkpoint", f"{newest['checkpoint']}:{newest['hash']}").returncode == 0
    assert "another hash" in verify(path, "--checkpoint", f"{newest['checkpoint']}:{'0' * 64}").stderr


def test_a_projects_export_hides_the_rows_of_others_and_verifies(api, server, tmp_path):
    project = api.post("/v1/projects", {"name": "own"})["id"]
    other = api.post("/v1/projects", {"name": "other"})["id"]
    keys = {}
    for where in (project, other):
        own = atoll.Api(api.host, api.port, api.key)
        keys[where] = own.call("POST", "/api/sandbox/keys", {"name": "admin", "scopes": ["project:write", "key:write"]},
                               headers={"X-Atoll-Project": where})["key"]
        own.close()
    mine = api.clone(keys[project])
    mine.post("/api/sandbox/keys", {"name": "more", "scopes": ["key:write"]})
    wait_row(mine, action="keys.create")
    assert {row["project"] for row in rows(mine)} == {project}
    for refused in ("all=true", "organization=default"):
        with pytest.raises(atoll.ApiError):
            mine.get(f"/v1/audit?{refused}")
    path = tmp_path / "project.jsonl"
    done = cli(server, "audit", "export", "-o", path, key=keys[project])
    assert done.returncode == 0, done.stderr
    shown = [json.loads(line) for line in path.read_text().splitlines() if '"sequence":' in line]
    assert shown and {row["project"] for row in shown} == {project} and other not in path.read_text()
    done = verify(path)
    assert done.returncode == 0 and f"project={project}" in done.stdout, done.stderr
    mine.close()


def test_hostile_texts_stay_one_line(api, server, tmp_path):
    agent = "evil \x9b31m \u202egnp.exe" + "A" * 5000
    api.raw("POST", "/v1/projects", {"name": "x\n\x1b[31m\u202e"}, headers={"User-Agent": agent.encode("utf-8").decode("latin-1")})
    atoll.wait_for(lambda: any("evil" in r["user_agent"] for r in rows(api)), 20, "the row")
    row = next(r for r in rows(api) if "evil" in r["user_agent"])
    assert len(row["user_agent"]) <= 256 and "\x1b" not in row["user_agent"] and "\u202e" not in row["user_agent"]
    done = cli(server, "audit", "ls")
    assert done.returncode == 0 and not any(c in done.stdout for c in "\x1b\x9b\u202e")
    path = tmp_path / "audit.jsonl"
    export(server, path, "--all")
    assert b"\x1b" not in path.read_bytes() and verify(path).returncode == 0


def test_what_was_answered_is_there_after_kill_9(server, api, tmp_path):
    ids = [api.post("/v1/projects", {"name": f"killed-{n}"})["id"] for n in range(20)]
    server.kill9("api")
    fresh = server.api()
    atoll.wait_for(lambda: is_ready(fresh), 30, "the server is there again")
    have = {row["target"] for row in rows(fresh, action="projects.create")}
    assert set(ids) <= have
    path = tmp_path / "audit.jsonl"
    lines = export(server, path, "--all")
    assert verify(path).returncode == 0
    targets = [json.loads(line)["target"] for line in lines if '"action":"projects.create"' in line]
    assert sorted(t for t in targets if t in ids) == sorted(ids), "a row is there twice"


def is_ready(api):
    try:
        return api.raw("GET", "/readyz").status == 200
    except OSError:
        api.close()
        return False


def test_a_row_that_is_changed_in_the_database_is_found(private_server):
    server = private_server.start()
    api = server.api()
    api.post("/v1/projects", {"name": "forged"})
    wait_row(api, action="projects.create")
    assert cli(server, "audit", "verify", "--all").returncode == 0
    server.stop()
    with sqlite3.connect(server.data / "store/atoll.db") as db:
        db.execute("UPDATE audit SET user_id = 'mallory' WHERE sequence = 2")
    server.start()
    done = cli(server, "audit", "verify", "--all")
    assert done.returncode == 1 and "row 2 was changed" in done.stderr, done.stderr


def test_a_begin_that_other_hands_have_cut_is_found(private_server):
    """Who can write to the database, and cannot sign, may drop old rows up to a checkpoint that is there; no row tells of it."""
    server = private_server.start()
    api = server.api()
    for name in range(4):
        api.post("/v1/projects", {"name": f"old-{name}"})
    wait_row(api, action="projects.create")
    assert cli(server, "audit", "verify", "--all").returncode == 0
    server.stop()  # signs
    with sqlite3.connect(server.data / "store/atoll.db") as db:
        newest, = db.execute("SELECT max(sequence) FROM audit_checkpoints").fetchone()
        db.execute("DELETE FROM audit WHERE sequence <= ?", [newest])
        db.execute("DELETE FROM audit_checkpoints WHERE sequence < ?", [newest])
        db.execute("UPDATE audit_head SET base = ?", [newest])
    server.start()
    api.close()
    api.post("/v1/projects", {"name": "newest"})
    wait_row(api, action="projects.create")
    done = cli(server, "audit", "verify", "--all")
    assert done.returncode == 1 and f"rows 1 to {newest} are missing" in done.stderr, done.stdout + done.stderr


def test_metrics(api):
    api.post("/v1/projects", {"name": "metered"})
    text = api.raw("GET", "/metrics").body.decode()
    for name in ("atoll_audit_rows_total", "atoll_audit_queue", "atoll_audit_checkpoints_total", "atoll_audit_dropped_total"):
        assert f"\n{name} " in text
