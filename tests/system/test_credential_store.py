# SPDX-License-Identifier: Apache-2.0
"""Credentials in the store: write-only values, hosts that cannot be widened without them, owners, the audit, the key's rotation."""

import subprocess

import pytest

import atoll
from test_audit import export, wait_row

pytestmark = pytest.mark.needs_root
BASE = "/v1/credentials"
SECRET = "s3cr3t-v4lue-of-a-credential"


def add(api, name, **more):
    return api.post(BASE, {"name": name, "hosts": ["api.example.com"], "fields": {"token": SECRET}, **more})


def refusal(call, *arguments):
    with pytest.raises(atoll.ApiError) as refused:
        call(*arguments)
    assert SECRET not in str(refused.value)
    return refused.value


@pytest.fixture
def named(api, request):
    """A name of its own for each test, whose credential is removed."""
    name = request.node.name.replace("_", "-")[:40]
    yield name
    if any(item["name"] == name for item in api.get(BASE)["items"]):
        api.delete(f"{BASE}/{name}")


def test_no_answer_has_a_value(api, named):
    made = add(api, named, about="reads issues", hosts=["API.example.com.", "*.example.org"])
    assert made["hosts"] == ["api.example.com", "*.example.org"] and made["field_names"] == ["token"]
    assert (made["kind"], made["owner"], made["consent"], made["state"], made["version"]) == ("token", "project", "conversation", "ok", 1)
    assert api.get(f"{BASE}/{named}") == made and made in api.get(BASE)["items"]
    changed = api.call("PATCH", f"{BASE}/{named}", {"about": "writes issues"})
    assert changed["about"] == "writes issues" and changed["version"] == 1
    for answer in (made, changed, api.get(BASE)):
        assert SECRET not in str(answer)
    assert refusal(add, api, named).status == 409


def test_a_fingerprint_tells_values_apart(api, named):
    first = add(api, named)
    second = api.call("PATCH", f"{BASE}/{named}", {"fields": {"token": "another"}})
    third = api.call("PATCH", f"{BASE}/{named}", {"fields": {"token": SECRET}})
    assert first["fingerprint"] == third["fingerprint"] != second["fingerprint"]
    assert [a["version"] for a in (first, second, third)] == [1, 2, 3]


def test_a_host_is_added_with_the_values_only(api, named):
    add(api, named, hosts=["api.example.com", "*.example.org"])
    where = f"{BASE}/{named}"
    assert refusal(api.call, "PATCH", where, {"hosts": ["api.example.com", "evil.example.net"]}).status == 403
    assert refusal(api.call, "PATCH", where, {"consent": "project"}).status == 403
    assert api.get(where)["hosts"] == ["api.example.com", "*.example.org"]
    assert api.call("PATCH", where, {"hosts": ["a.example.org"]})["hosts"] == ["a.example.org"]
    assert refusal(api.call, "PATCH", where, {"hosts": ["*.example.org"]}).status == 403
    widened = api.call("PATCH", where, {"hosts": ["new.example.net"], "consent": "project", "fields": {"token": SECRET}})
    assert (widened["hosts"], widened["consent"], widened["version"]) == (["new.example.net"], "project", 2)
    assert api.call("PATCH", where, {"consent": "sandbox"})["consent"] == "sandbox"


def test_bad_input_is_refused_by_name(api, named):
    for change, word in [({"hosts": []}, "hosts"), ({"hosts": ["*.com"]}, "*.com"), ({"hosts": ["10.0.0.1"]}, "10.0.0.1"),
                         ({"fields": {}}, "token"), ({"fields": {"token": SECRET + "\n"}}, "token"), ({"fields": {"password": SECRET}}, "token"),
                         ({"name": "No"}, "No"), ({"kind": "oauth"}, "kind"), ({"expires_at": "2001-01-01T00:00:00Z"}, "expires_at")]:
        error = refusal(lambda change=change: add(api, change.pop("name", named), **change))
        assert error.status == 400 and word in str(error), (change, error)


def test_its_end_can_be_moved(api, named):
    made = add(api, named, expires_at="2100-01-01T00:00:00Z")
    assert made["expires_at"] == "2100-01-01T00:00:00.000Z" and made["state"] == "ok"
    assert api.call("PATCH", f"{BASE}/{named}", {"expires_at": "2100-02-01T00:00:00Z"})["expires_at"] == "2100-02-01T00:00:00.000Z"


def test_a_user_sees_the_own_ones_and_the_project_s(api, named):
    project = api.post("/v1/projects", {"name": "cred-owners"})["id"]
    header = {"X-Atoll-Project": project}
    keys = {}
    for user, role in (("boss@example.com", "admin"), ("anna@example.com", "member"), ("bert@example.com", "member")):
        api.call("POST", f"/v1/projects/{project}/members", {"user": user, "role": role})
        keys[user] = api.clone(api.call("POST", "/api/sandbox/keys", {"name": user, "member": user}, header)["key"])
    boss, anna, bert = keys.values()
    assert refusal(add, anna, named).status == 403
    own = add(anna, named, owner="user")
    assert own["owner"] == "user" and anna.get(f"{BASE}/{named}")["id"] == own["id"]
    for other in (bert, boss):
        assert refusal(other.get, f"{BASE}/{named}").status == 404 and other.get(BASE)["items"] == []
        assert refusal(other.get, f"{BASE}/{own['id']}").status == 404
    shared = add(boss, named)
    assert bert.get(f"{BASE}/{named}")["id"] == shared["id"] and anna.get(f"{BASE}/{named}")["id"] == own["id"]
    assert refusal(bert.delete, f"{BASE}/{named}").status == 403
    assert refusal(bert.call, "PATCH", f"{BASE}/{named}", {"about": "mine"}).status == 403
    anna.delete(f"{BASE}/{named}")
    assert anna.get(f"{BASE}/{named}")["id"] == shared["id"]
    for client in keys.values():
        client.close()


def test_writes_are_in_the_audit_without_values(api, server, named, tmp_path):
    made = add(api, named)
    api.call("PATCH", f"{BASE}/{named}", {"fields": {"token": SECRET + "2"}})
    row = wait_row(api, action="credentials.update", target=named)
    assert row["after"][f"credential {made['id']}"]["fields_json"] == "set"
    api.delete(f"{BASE}/{named}")
    wait_row(api, action="credentials.delete", target=named)
    assert SECRET not in "\n".join(export(server, tmp_path / "audit.jsonl", "--all"))


def test_a_value_rests_encrypted_and_its_key_is_rotated(private_server):
    private_server.start()
    api = private_server.api()
    add(api, "kept")
    assert api.post("/api/sandbox/secrets/rotate", {})["resealed"] >= 1
    private_server.stop()
    found = subprocess.run(["grep", "-rlaF", SECRET, str(private_server.data)], capture_output=True, text=True, timeout=60)
    assert found.stdout == "" and SECRET not in private_server.log_text()


def test_the_command_line_reads_values_from_files_and_input(server, api, named, tmp_path):
    def cli(*words, **options):
        return server.cli(*words, text=True, **options)
    path = tmp_path / "token"
    path.write_text(SECRET + "\n")
    done = cli("credential", "add", named, "--host", "api.example.com", "--field", f"token=@{path}", "--about", "by a file")
    assert done.returncode == 0 and done.stdout.strip() == named, done.stderr
    first = api.get(f"{BASE}/{named}")
    done = cli("credential", "set", named, "--field", "token=-", input=SECRET + "x")
    assert done.returncode == 0 and done.stdout.strip() == api.get(f"{BASE}/{named}")["fingerprint"] != first["fingerprint"], done.stderr
    assert named in cli("credential", "ls").stdout and SECRET not in cli("credential", "show", named).stdout
    assert "KEY=VALUE" in cli("credential", "set", named, "--field", "token").stderr
    assert cli("credential", "rm", named).returncode == 0
