# SPDX-License-Identifier: Apache-2.0
"""Projects, members, roles, keys, settings and reusable configs, as a platform team uses them."""

import json
import time
import urllib.parse

import pytest

import atoll

pytestmark = pytest.mark.needs_root
INSTANCES = "/api/sandbox/instances"
CONFIGS = "/accounts/me/sandboxes"


def refused(status, call, *arguments):
    with pytest.raises(atoll.ApiError) as failure:
        call(*arguments)
    assert failure.value.status == status, failure.value
    return failure.value


def in_project(api, project):
    """The same key, in another project."""
    def call(method, path, body=None):
        return api.call(method, path, body, {"X-Atoll-Project": project})
    return call


@pytest.fixture
def project(api):
    made = api.post("/v1/projects", {"name": f"team-{time.time_ns()}", "owner": "ann@example.com"})
    yield made["id"]
    if made["id"] in [row["id"] for row in api.get("/v1/projects?limit=1000")["items"]]:
        api.delete(f"/v1/projects/{made['id']}?force=true")


@pytest.mark.parametrize("role, may", [("viewer", {"read"}), ("member", {"read", "write"}),
                                       ("admin", {"read", "write", "administer"})])
def test_a_member_does_what_his_role_allows(server, api, project, role, may):
    api.post(f"/v1/projects/{project}/members", {"user": "bob", "role": role})
    key = in_project(api, project)("POST", "/api/sandbox/keys", {"name": "bobs", "member": "bob"})
    bob = server.api(key["key"])
    me = bob.get("/accounts/me")
    assert (me["project"], me["user"], me["role"]) == (project, "bob", role)
    assert bob.get(INSTANCES)["items"] == []
    if "write" in may:
        with bob.sandbox(internet=False) as box:
            assert bob.exec(box, "echo mine")["stdout"] == "mine\n"
    else:
        assert "sandbox:write" in refused(403, bob.create).message
    if "administer" in may:
        assert bob.call("PUT", "/api/sandbox/settings", {"idle_reap_seconds": 120})["idle_reap_seconds"] == 120
        bob.post("/v1/projects/me/members", {"user": "cy", "role": "viewer"})
    else:
        refused(403, bob.call, "PUT", "/api/sandbox/settings", {})
        refused(403, bob.post, "/v1/projects/me/members", {"user": "cy", "role": "viewer"})
        refused(403, bob.get, "/api/sandbox/keys")
    # Nobody but the platform's admin sees or makes other projects.
    refused(404, bob.get, "/v1/projects/default")
    refused(403, bob.post, "/v1/projects", {"name": "x"})
    refused(403, in_project(bob, "default"), "GET", INSTANCES)
    bob.close()


def test_a_role_that_changes_changes_his_keys_at_once(server, api, project):
    api.post(f"/v1/projects/{project}/members", {"user": "bob", "role": "member"})
    bob = server.api(in_project(api, project)("POST", "/api/sandbox/keys", {"name": "b", "member": "bob"})["key"])
    bob.post(CONFIGS, {"name": "one"})
    api.call("PATCH", f"/v1/projects/{project}/members/bob", {"role": "viewer"})
    refused(403, bob.post, CONFIGS, {"name": "two"})
    api.delete(f"/v1/projects/{project}/members/bob")
    assert "revoked" in refused(401, bob.get, CONFIGS).message
    bob.close()


def test_a_key_expires_and_is_rotated(server, api):
    brief = api.post("/api/sandbox/keys", {"name": "brief", "expires_in_ms": 6000, "scopes": ["sandbox:read"]})
    holder = server.api(brief["key"])
    assert holder.get("/accounts/me")["scopes"] == ["sandbox:read"]

    def has_expired():
        try:
            holder.get("/accounts/me")
        except atoll.ApiError as failure:
            return failure.status == 401 and "expired" in failure.message
        return False
    atoll.wait_for(has_expired, 30, "the key's end")
    holder.close()
    made = api.post("/api/sandbox/keys", {"name": "turned", "scopes": ["sandbox:read"]})
    old = server.api(made["key"])
    renewed = api.post(f"/api/sandbox/keys/{made['id']}/rotate", {"grace_ms": 60000})
    assert renewed["id"] == made["id"] and renewed["key"] != made["key"]
    for key in (made["key"], renewed["key"]):
        assert server.api(key).get("/accounts/me")["key"] == made["id"]
    api.post(f"/api/sandbox/keys/{made['id']}/rotate")
    assert refused(401, old.get, "/accounts/me").code == "unauthenticated"
    assert "last_used_at" in api.get("/api/sandbox/keys")["items"][0]
    old.close()


def test_a_project_goes_with_everything_in_it(server, api, project):
    call = in_project(api, project)
    key = call("POST", "/api/sandbox/keys", {"name": "k"})["key"]
    worker = server.api(key)
    boxes = [worker.create(internet=False)["id"] for _ in range(3)]
    worker.post("/api/sandbox/templates", {"name": "derived", "from": "host"})
    boxes.append(worker.post("/v1/leases/acquire", {"key": "chat", "template": "host"})["sandbox_id"])
    worker.post("/v1/sandbox/bash", {"session_id": "s", "command": "true"})
    worker.post(f"{INSTANCES}/{boxes[0]}/snapshot", {})
    assert "has sandboxes" in refused(409, api.delete, f"/v1/projects/{project}").message
    assert worker.exec(boxes[0], "echo alive")["stdout"] == "alive\n"
    api.delete(f"/v1/projects/{project}?force=true")
    refused(401, worker.get, INSTANCES)
    refused(404, api.get, f"/v1/projects/{project}")
    atoll.wait_for(lambda: not set(boxes) & set(atoll.Host(server.data).files()), 30, "no files of its sandboxes")
    assert not set(boxes) & set(atoll.Host(server.data).runs())
    worker.close()


def test_a_sandbox_is_made_from_a_config(server, api):
    made = api.post(CONFIGS, {"name": "box", "config": {
        "template": "host", "internet": False, "memoryLimit": 128, "permissionMode": "ask", "timeout": 120,
        "runtimes": ["bash", "python"], "envVars": {"TOKEN": "s3cret-value"},
        "lifecycle": {"idleTimeoutSeconds": 900}}})
    for path in (CONFIGS, f"{CONFIGS}/{made['id']}", f"{CONFIGS}/box"):
        text = json.dumps(api.get(path))
        assert "s3cret-value" not in text and "********" in text
    box = api.post(INSTANCES, {"config": made["id"], "env": {"OTHER": "1"}})
    try:
        assert box["network"] == "blocked" and box["resources"]["memory_mb"] == 128
        assert box["idle_reap_ms"] == 900000 and box["labels"]["atoll.config"] == made["id"]
        assert api.exec(box["id"], 'echo "$TOKEN $OTHER"')["stdout"] == "s3cret-value 1\n"
    finally:
        api.remove(box["id"])
    # Asterisks that come back are no value.
    masked = api.get(f"{CONFIGS}/box")["config"]
    assert api.call("PATCH", f"{CONFIGS}/box", {"config": masked})["config"] == masked
    box = api.post(INSTANCES, {"config": "box"})
    assert api.exec(box["id"], "echo $TOKEN")["stdout"] == "s3cret-value\n"
    api.remove(box["id"])
    assert "300" in refused(400, api.post, CONFIGS, {"name": "x", "config": {"provider": "lambda", "timeout": 301}}).message
    assert "configured: native" in refused(400, api.call, "PATCH", f"{CONFIGS}/box", {"config": {"provider": "cloud"}}).message
    api.call("PATCH", f"{CONFIGS}/box", {"config": {"provider": "lambda"}})
    assert "lambda" in refused(501, api.post, INSTANCES, {"config": "box"}).message
    api.delete(f"{CONFIGS}/box")


def test_a_config_names_a_home_that_outlives_its_sandboxes(api):
    api.post(CONFIGS, {"name": "dev", "config": {"template": "host", "internet": False, "persistent": True,
                                                 "options": {"persistentHome": "/home/node", "persistentDiskGb": 1}}})
    try:
        box = api.post(INSTANCES, {"config": "dev"})["id"]
        api.exec(box, "echo mine > /home/node/kept")
        # The config's own home is one sandbox's at a time; a request names another.
        assert "home-dev" in refused(409, api.post, INSTANCES, {"config": "dev"}).message
        other = api.post(INSTANCES, {"config": "dev", "persistentHome": "ann"})["id"]
        assert api.exec(other, "ls -A /home/node")["stdout"] == ""
        assert {v["name"]: v["size_mb"] for v in api.get("/api/sandbox/volumes")["items"]} == {"home-dev": 1024, "home-ann": 1024}
        api.remove(other)
        api.remove(box)
        box = api.post(INSTANCES, {"config": "dev"})["id"]
        assert api.exec(box, "cat /home/node/kept")["stdout"] == "mine\n"
        api.remove(box)
        # Each workspace of a lease has one of its own, whatever its key is like.
        for key, volume in (("team-1", "home-team-1"), ("team/1: a", None)):
            for command, says in (("cat /home/node/kept 2>&1 || echo once > /home/node/kept", "No such file"),
                                  ("cat /home/node/kept", "once")):
                # A tool under a config keeps to its workspace, which the home is not in.
                told = api.post("/v1/tools/bash", {"lease": key, "config": "dev", "input": {"command": "echo here"}})
                assert "here" in json.dumps(told), told
                told = api.post(f"/v1/leases/{urllib.parse.quote(key, safe='')}/exec", {"command": command})
                assert says in told["stdout"], told
                assert [row["key"] for row in api.get("/v1/leases?limit=200")["items"]] == [key]
                api.delete(f"/v1/leases?prefix={key[:4]}")
            names = {v["name"] for v in api.get("/api/sandbox/volumes")["items"]} - {"home-dev", "home-ann"}
            assert len(names) == 1 and (volume in names or not volume)
            api.delete(f"/api/sandbox/volumes/{names.pop()}")
    finally:
        api.delete(f"{CONFIGS}/dev")
        for volume in api.get("/api/sandbox/volumes")["items"]:
            api.delete(f"/api/sandbox/volumes/{volume['id']}")


def test_options_of_a_config_that_cannot_be_are_refused(api):
    def config(**options):
        return {"name": "odd", "config": {"persistent": True, "options": options}}

    for home, word in (("home", "absolute path"), ("/etc", "/etc"), ("/home/../etc", ".."), ("/home", "/home")):
        assert word in refused(400, api.post, CONFIGS, config(persistentHome=home)).message
    assert "persistent" in refused(400, api.post, CONFIGS, {"name": "odd", "config": {"options": {"persistentDiskGb": 1}}}).message
    for options in ({"mountAwsS3Buckets": True},):
        api.post(CONFIGS, config(**options))
        assert "mountAwsS3Buckets" in refused(501, api.post, INSTANCES, {"config": "odd", "template": "host"}).message
        api.delete(f"{CONFIGS}/odd")


def test_clients_use_their_own_prefix(api):
    prefix = "/api/client/v1/sandbox"
    box = api.post(f"{prefix}/sandboxes", {"template": "host", "internet": False})["id"]
    assert api.post(f"{prefix}/sandboxes/{box}/exec", {"command": "echo hi"})["stdout"] == "hi\n"
    api.call("PUT", f"{prefix}/sandboxes/{box}/files/content?path=a", b"abc", {"Content-Type": "application/octet-stream"})
    assert api.get(f"{prefix}/instances/{box}/files/content?path=a") == b"abc"
    assert api.post(f"{prefix}/templates/seed")["added"] == 0
    taken = api.post(f"{prefix}/sandboxes/{box}/snapshot", {"sync": False})["id"]
    assert api.get(f"{prefix}/snapshots/{taken}")["sandbox"] == box
    assert api.post(f"{prefix}/snapshots/{taken}/restore")["state"] == "started"
    assert api.post(f"{prefix}/sandboxes/{box}/reset")["state"] == "started"
    api.delete(f"{prefix}/snapshots/{taken}")
    volume = api.post(f"{prefix}/volumes", {"name": "by-alias"})["id"]
    assert api.get(f"{prefix}/volumes/{volume}")["name"] == "by-alias"
    api.delete(f"{prefix}/volumes/{volume}")
    lease = api.post(f"{prefix}/leases/acquire", {"key": "by/alias", "template": "host", "internet": False})
    assert api.post(f"{prefix}/leases/by%2Falias/exec", {"command": "echo hi"})["stdout"] == "hi\n"
    assert api.get("/v1/leases/by%2Falias")["sandbox_id"] == lease["sandbox_id"]
    api.delete(f"{prefix}/leases/by%2Falias")
    assert api.get(f"{prefix}/usage?group_by=total")["group_by"] == "total"
    assert api.get(f"{prefix}/budgets")["items"] == api.get("/v1/budgets")["items"]
    assert "balance_usd" in api.get(f"{prefix}/balance")
    assert api.get(f"{prefix}/events?last=1")["items"] and "items" in api.get(f"{prefix}/webhooks")
    with pytest.raises(atoll.ApiError) as missing:
        api.get(f"{prefix}/usages")
    assert missing.value.status == 404
    api.delete(f"{prefix}/sandboxes/{box}")


def test_each_administrative_change_is_a_line_in_the_log(server, api, project):
    api.post(f"/v1/projects/{project}/members", {"user": "dee", "role": "viewer"})
    key = api.post("/api/sandbox/keys", {"name": "audited"})

    def lines():
        return [line for line in server.log_text().splitlines() if " audit " in line]
    atoll.wait_for(lambda: any(key["id"] in line for line in lines()), 30, "the key's line")
    member = next(line for line in lines() if "subject=dee" in line)
    for part in ("method=POST", f"path=/v1/projects/{project}/members", "status=201", "key=", "project=default"):
        assert part in member, member
    assert key["key"] not in server.log_text()


def test_the_command_line_administers(server, api):
    def run(*arguments, fails=False):
        done = server.cli(*arguments)
        assert (done.returncode != 0) == fails, done
        return done.stdout.decode().strip()

    project = run("project", "create", "--owner", "ann", f"cli-{time.time_ns()}")
    assert project in run("project", "ls")
    run("member", "add", "--project", project, "--role", "viewer", "bob@example.com")
    run("member", "set", "--project", project, "--role", "member", "bob@example.com")
    assert "bob@example.com" in run("member", "ls", "--project", project)
    run("member", "rm", "--project", project, "ann", fails=True)
    run("member", "rm", "--project", project, "bob@example.com")
    run("project", "set", project, "--sandboxes-max", "3")
    assert json.loads(run("project", "inspect", project))["sandboxes_max"] == 3
    key = json.loads(run("key", "create", "--scope", "sandbox:read", "--expires", "1d", "--json", "turns"))
    text = run("key", "rotate", "--grace", "1h", key["id"])
    assert text.startswith("atoll_") and text != key["key"]
    assert server.api(text).get("/accounts/me")["key"] == key["id"]
    assert json.loads(run("settings", "set", "--terminal-ttl", "10m"))["terminal_ttl_seconds"] == 600
    run("settings", "set", "--terminal-ttl", "0s")
    assert json.loads(run("settings", "ls"))["terminal_ttl_seconds"] == 3600
    assert json.loads(run("settings", "set", "--record-terminals", "on"))["record_terminals"] is True
    assert json.loads(run("settings", "set", "--record-terminals", "off"))["record_terminals"] is False
    assert json.loads(run("whoami"))["project"] == "default"
    run("project", "rm", project)
    assert project not in run("project", "ls")
