# SPDX-License-Identifier: Apache-2.0
"""Rules of a sandbox and stored credentials: checked, kept with what is made again, consented to, revoked, and used by a real program inside."""

import json
import shutil

import pytest

import atoll
import secured

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not all(map(shutil.which, ("ip", "nft", "openssl", "curl"))), reason="needs ip, nft, openssl and curl")]
PATH = "/api/sandbox/instances"
TOKEN = "ghp_0123456789abcdefghijklmnopqrst"
OTHER = "ghp_another-value-of-the-same-name"


@pytest.fixture(scope="module")
def world():
    with secured.running() as (there, server):
        api = server.api()
        for name, consent in (("open", "project"), ("changed", "project"), ("asked", "conversation"), ("kept", "sandbox")):
            api.post("/v1/credentials", {"name": name, "hosts": ["api.test"], "consent": consent, "fields": {"token": TOKEN}})
        yield there, server


@pytest.fixture(scope="module")
def there(world):
    return world[0]


@pytest.fixture(scope="module")
def server(world):
    return world[1]


def rules(there, name="open", host="api.test", **more):
    return {"allow": secured.ALLOWED, "deny": ["0.0.0.0/0"],
            "rules": [{"id": "api", "host": host, "action": "inject", "upstream": {"ca": there.authority.certificate.read_text()},
                       "inject": [{"kind": "header", "name": "authorization", "value": f"Bearer ${{credential.{name}.token}}"}], **more}]}


def get(api, sandbox, path, host="api.test"):
    """By curl, with what the sandbox has been given to trust."""
    return api.exec(sandbox, cmd="/usr/bin/curl", args=["-sS", "--http1.1", "-i", f"https://{host}{path}"], timeout_ms=30000)


def get_trusting(api, sandbox, path):
    """A moment after the start the sandbox trusts its authority."""
    return atoll.wait_for(lambda: (done := get(api, sandbox, path))["exit_code"] == 0 and done, 30, lambda: get(api, sandbox, path))


def came(there, target):
    return [dict(map(tuple, headers)) for _, _, _, t, headers in there.requests() if t == target]


def last(there, target):
    return dict(map(tuple, there.last(target)))


def refused(code, word, call, *arguments):
    with pytest.raises(atoll.ApiError) as failure:
        call(*arguments)
    assert failure.value.code == code and word in str(failure.value), failure.value


@pytest.fixture
def box(api, there):
    with api.sandbox(internet=True, egress=rules(there)) as sandbox:
        yield sandbox


def test_a_field_that_no_rule_uses_is_no_secret_of_answers(api, there):
    """The region of a credential of AWS is a word of many answers."""
    api.post("/v1/credentials", {"name": "cloud", "kind": "aws", "hosts": ["api.test"], "consent": "project",
                                 "fields": {"access_key_id": "AKIA0123456789ABCDEF", "secret_access_key": "s3/secret-0123456789abcdef", "region": "eu-central-1"}})
    sign = [{"kind": "sigv4", "access_key_id": "${credential.cloud.access_key_id}", "secret_access_key": "${credential.cloud.secret_access_key}"}]
    with api.sandbox(internet=True, egress={"allow": ["api.test"], "deny": ["0.0.0.0/0"], "rules": [
            {"id": "sign", "host": "api.test", "action": "inject", "inject": sign, "upstream": {"ca": there.authority.certificate.read_text()}}]}) as sandbox:
        def ask():
            return api.exec(sandbox, cmd="/usr/bin/curl", args=["-sS", "--http1.1", "https://api.test/headers?region=eu-central-1", "-H",
                                                                 "Authorization: AWS4-HMAC-SHA256 Credential=x/20260101/eu-central-1/s3/aws4_request, SignedHeaders=host, Signature=0"])
        done = atoll.wait_for(lambda: (done := ask())["exit_code"] == 0 and done, 30, ask)
        said = done["stdout"]
        assert "region=eu-central-1" in said and "/eu-central-1/s3/aws4_request" in said and "AKIA0" not in said and "Credential=***" in said, said
    api.delete("/v1/credentials/cloud")


def test_a_sandbox_uses_a_credential_that_it_never_has(api, there, box):
    done = get_trusting(api, box, "/headers?by=create")
    assert "200 OK" in done["stdout"] and TOKEN not in done["stdout"]
    assert last(there, "/headers?by=create")["authorization"] == f"Bearer {TOKEN}"
    inside = api.exec(box, "env; cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'; cat /etc/atoll/*.crt")["stdout"]
    assert TOKEN not in inside and "SSL_CERT_FILE" in inside and "BEGIN CERTIFICATE" in inside and "PRIVATE KEY" not in inside
    assert api.exec(box, cmd="/usr/bin/grep", args=["-rsl", TOKEN, "/home", "/tmp", "/etc", "/run", "/var"])["stdout"] == ""
    shown = api.get(f"{PATH}/{box}")["egress"]["rules"]
    assert shown[0]["id"] == "api" and "${credential.open.token}" in str(shown) and TOKEN not in str(shown)


def test_the_first_command_trusts_its_authority(api, there):
    with api.sandbox(internet=True, egress=rules(there)) as sandbox:
        first = get(api, sandbox, "/first")
        api.post(f"{PATH}/{sandbox}/stop")
        atoll.wait_for(lambda: api.get(f"{PATH}/{sandbox}")["state"] == "stopped", 30)
        api.post(f"{PATH}/{sandbox}/start")
        started = get(api, sandbox, "/started")
        fork = api.post(f"{PATH}/{sandbox}/fork", {})["items"][0]
        try:
            forked = get(api, fork["id"], "/forked")
        finally:
            api.delete(f"{PATH}/{fork['id']}")
    for done in (first, started, forked):
        assert "200 OK" in done["stdout"], done
    for path in ("/first", "/started", "/forked"):
        assert last(there, path)["authorization"] == f"Bearer {TOKEN}"


def test_uses_are_noted_and_counted(api, there, server):
    def counted(decision):
        text = api.raw("GET", "/metrics").body.decode()
        return int(text.split(f'atoll_credential_requests_total{{decision="{decision}"}} ')[1].split()[0])
    api.post("/v1/credentials", {"name": "noted", "hosts": ["api.test"], "consent": "project", "fields": {"token": TOKEN}})
    assert api.get("/v1/credentials/noted")["last_used_at"] is None
    allowed, denied = counted("allowed"), counted("denied")
    ruled = rules(there, "noted")
    ruled["rules"].insert(0, {"id": "never", "host": "api.test", "action": "deny", "match": {"path": {"prefix": "/never"}}, "upstream": ruled["rules"][0]["upstream"]})
    with api.sandbox(internet=True, egress=ruled) as sandbox:
        get_trusting(api, sandbox, "/noted")
        assert "403" in get(api, sandbox, "/never")["stdout"]
        atoll.wait_for(lambda: api.get("/v1/credentials/noted")["last_used_at"], 20, "the time of the last use")
        atoll.wait_for(lambda: counted("allowed") > allowed and counted("denied") > denied, 20, "uses and refusals")

        def gauge(name):
            return int(api.raw("GET", "/metrics").body.decode().split(f"\natoll_credential_proxy_{name} ")[1].split()[0])
        assert gauge("refused_total") == 0
        api.post(f"{PATH}/{sandbox}/exec", {"cmd": "/usr/bin/curl", "background": True, "args": ["-sS", "--limit-rate", "1k", "https://api.test/big?size=100000000"]})
        atoll.wait_for(lambda: gauge("connections") == 1 and gauge("memory_bytes") == gauge("memory_largest_bytes") >= 256 * 1024, 20, "a connection")
    atoll.wait_for(lambda: gauge("connections") == gauge("memory_bytes") == 0, 20, "no connection")


def test_rules_are_checked(api, there, box):
    put = lambda body: api.call("PUT", f"{PATH}/{box}/egress", body)
    refused("not_found", "nothing", put, rules(there, "nothing"))
    refused("invalid_request", "other.test", put, rules(there, host="other.test"))
    refused("invalid_request", "elsewhere.test", put, rules(there, host="elsewhere.test"))
    wrong = rules(there)
    wrong["rules"][0]["inject"][0]["value"] = "${credential.open.password}"
    refused("invalid_request", "password", put, wrong)
    refused("invalid_request", "api.test", put, {**rules(there), "allow": ["1.1.1.1"]})
    refused("invalid_request", "allow", put, {"rules": rules(there)["rules"]})
    refused("invalid_request", "rules", put, rules(there, action="dance"))
    refused("not_found", "nothing", api.post, PATH, {"internet": True, "egress": rules(there, "nothing")})
    assert "200 OK" in get_trusting(api, box, "/still")["stdout"]


def test_rules_are_put_changed_and_taken_away(api, there):
    with api.sandbox(internet=True) as sandbox:
        assert "rules" not in api.get(f"{PATH}/{sandbox}")["egress"]
        api.call("PUT", f"{PATH}/{sandbox}/egress", rules(there, "changed"))
        get_trusting(api, sandbox, "/put")
        assert last(there, "/put")["authorization"] == f"Bearer {TOKEN}"
        api.call("PATCH", "/v1/credentials/changed", {"fields": {"token": OTHER}})
        atoll.wait_for(lambda: get(api, sandbox, "/changed") and [h for h in came(there, "/changed") if h["authorization"] == f"Bearer {OTHER}"], 20, "the other value")
        api.call("PUT", f"{PATH}/{sandbox}/egress", {name: rules(there)[name] for name in ("allow", "deny")})
        assert "rules" not in api.get(f"{PATH}/{sandbox}")["egress"]
        # From end to end again: the sandbox does not trust the far machine's own authority.
        assert get(api, sandbox, "/gone")["exit_code"] != 0 and not came(there, "/gone")


def test_what_is_made_again_has_the_rules(api, server, there, box):
    get_trusting(api, box, "/before")
    api.post(f"{PATH}/{box}/stop")
    atoll.wait_for(lambda: api.get(f"{PATH}/{box}")["state"] == "stopped", 30)
    api.post(f"{PATH}/{box}/start")
    get_trusting(api, box, "/restarted")
    assert last(there, "/restarted")["authorization"] == f"Bearer {TOKEN}"
    server.kill9("api")
    server.wait_ready()
    api.close()
    get_trusting(api, box, "/recovered")
    assert last(there, "/recovered")["authorization"] == f"Bearer {TOKEN}"
    fork = api.post(f"{PATH}/{box}/fork", {})["items"][0]["id"]
    try:
        get_trusting(api, fork, "/forked")
        assert last(there, "/forked")["authorization"] == f"Bearer {TOKEN}"
    finally:
        api.remove(fork)


def call(api, sandbox, tool, conversation="c1", **data):
    answer = api.raw("POST", f"/v1/tools/{tool}", {"sandboxId": sandbox, "approvalWaitMs": 0, "input": data, "conversationId": conversation})
    if answer.status >= 400:
        raise atoll.ApiError(answer.status, answer.json())
    return answer.json()


def test_a_conversation_asks_uses_and_loses_a_credential(api, there):
    other = api.clone(api.post("/api/sandbox/keys", {"name": "person"})["key"])
    with api.sandbox(internet=True, egress=rules(there, "asked")) as sandbox:
        refusal = get_trusting(api, sandbox, "/asked")["stdout"]
        assert "403" in refusal and not came(there, "/asked")
        listed = call(api, sandbox, "list_credentials")["structuredContent"]["credentials"]
        assert [item["name"] for item in listed] == ["asked"] and "consent" in listed[0]["state"]
        waiting = call(api, sandbox, "activate_credential", name="asked", why="to test")["structuredContent"]
        assert waiting["state"] == "waiting"
        assert call(api, sandbox, "activate_credential", name="asked")["structuredContent"]["approvalId"] == waiting["approvalId"]
        approval = api.get(f"/v1/approvals/{waiting['approvalId']}")
        assert approval["inputObject"]["credential"] == "asked" and approval["inputObject"]["hosts"] == "api.test" and approval["conversationId"] == "c1"
        refused("forbidden", "key", api.post, f"/v1/approvals/{approval['id']}/approve", {})
        assert other.post(f"/v1/approvals/{approval['id']}/approve", {})["state"] == "used"
        assert "200 OK" in get(api, sandbox, "/consented")["stdout"]
        assert last(there, "/consented")["authorization"] == f"Bearer {TOKEN}"
        assert call(api, sandbox, "activate_credential", name="asked")["structuredContent"]["state"] == "active"
        consent = api.get(f"/v1/consents?sandbox={sandbox}")["items"][0]
        assert (consent["state"], consent["credential"], consent["conversationId"], consent["version"]) == ("active", "asked", "c1", 1) and consent["expiresAt"]
        assert api.post("/v1/conversations/c1/credentials/asked/revoke", {}) == {"revoked": 1}
        assert "403" in get(api, sandbox, "/revoked")["stdout"] and not came(there, "/revoked")
        assert api.get(f"/v1/consents?sandbox={sandbox}")["items"][0]["state"] == "revoked"
        # Each step is an event of the sandbox, without the value.
        told = [e for e in events_of(api, "consent.*") if e["sandbox"] == sandbox]
        assert [(e["kind"], e["text"]) for e in told] == [("consent.requested", "asked"), ("consent.given", "asked"), ("consent.revoked", "asked")]
        assert all(e["detail"]["approvalId"] == approval["id"] and e["detail"]["conversationId"] == "c1" for e in told)
        assert told[1]["detail"]["id"] == told[2]["detail"]["id"] == consent["id"]
    other.close()


def events_of(api, kind):
    items = api.get(f"/v1/events?limit=1000&kind={kind}")["items"]
    assert TOKEN not in str(items) and OTHER not in str(items)
    return items


def audited_uses(api, name):
    return [row for row in api.get("/v1/audit?limit=1000&action=credentials.use")["items"] if row["target"] == name]


def test_each_use_of_a_credential_is_in_the_audit(api, there):
    """At once for the first one, and then as a number once a minute, or when the sandbox or the server ends."""
    api.post("/v1/credentials", {"name": "counted", "hosts": ["api.test"], "consent": "project", "fields": {"token": TOKEN}})
    box = api.create(internet=True, egress=rules(there, "counted"))
    get_trusting(api, box["id"], "/counted")
    api.remove(box["id"])
    row, = atoll.wait_for(lambda: audited_uses(api, "counted"), 20, "the row of a use in a sandbox that was deleted at once")
    assert (row["via"], row["target_kind"], row["result"], row["project"]) == ("sandbox", "credentials", "ok", "default")
    assert row["key"] and row["before"] is None and TOKEN not in str(row)
    assert {name: row["after"][name] for name in ("sandbox", "host", "requests")} == {"sandbox": box["id"], "host": "api.test", "requests": 1}
    with api.sandbox(internet=True, egress=rules(there, "counted")) as busy:
        for _ in range(3):
            get_trusting(api, busy, "/counted")
        counted = lambda: sum(row["after"]["requests"] for row in audited_uses(api, "counted") if row["after"]["sandbox"] == busy)
        atoll.wait_for(lambda: counted() == 3, 90, lambda: f"three uses in {audited_uses(api, 'counted')}")
        assert len([row for row in audited_uses(api, "counted") if row["after"]["sandbox"] == busy]) <= 3
    api.delete("/v1/credentials/counted")


def test_what_happens_to_a_credential_is_told_without_its_value(api, there):
    hook = api.post("/v1/webhooks", {"url": "https://hooks.example.com/x", "events": ["credential.*", "consent.given"]})
    api.delete(f"/v1/webhooks/{hook['id']}")
    refused("invalid_request", "unknown kind", api.post, "/v1/webhooks", {"url": "https://hooks.example.com/x", "events": ["credential.shown"]})
    api.post("/v1/credentials", {"name": "told", "hosts": ["api.test"], "consent": "project", "fields": {"token": TOKEN}})
    refused("conflict", "already", api.post, "/v1/credentials", {"name": "told", "hosts": ["api.test"], "fields": {"token": TOKEN}})
    api.call("PATCH", "/v1/credentials/told", {"fields": {"token": OTHER}})
    with api.sandbox(internet=True, egress=rules(there, "told")) as first, api.sandbox(internet=True, egress=rules(there, "told")) as second:
        for sandbox in (first, second, first):
            get_trusting(api, sandbox, "/told")
        used = lambda: [e for e in events_of(api, "credential.used") if e["text"] == "told"]
        atoll.wait_for(lambda: {e["sandbox"] for e in used()} == {first, second}, 20, lambda: f"both uses in {used()}")
        get_trusting(api, first, "/told")
        api.delete("/v1/credentials/told")
        # One for each sandbox and hour; the hour may have changed meanwhile.
        assert len(used()) in (2, 3, 4) and len({(e["sandbox"], e["at"][:13]) for e in used()}) == len(used())
        atoll.wait_for(lambda: {row["after"]["sandbox"] for row in audited_uses(api, "told")} == {first, second}, 20, "both in the audit")
    kinds = [e["kind"] for e in events_of(api, "credential.*") if e["text"] == "told" and e["kind"] != "credential.used"]
    assert kinds == ["credential.created", "credential.updated", "credential.deleted"]


def test_a_consent_is_for_one_version(api, there):
    other = api.clone(api.post("/api/sandbox/keys", {"name": "person2"})["key"])
    with api.sandbox(internet=True, egress=rules(there, "kept")) as sandbox:
        waiting = call(api, sandbox, "activate_credential", name="kept")["structuredContent"]
        api.call("PATCH", "/v1/credentials/kept", {"fields": {"token": OTHER}})
        refused("conflict", "changed", other.post, f"/v1/approvals/{waiting['approvalId']}/approve", {})
        again = call(api, sandbox, "activate_credential", name="kept")["structuredContent"]
        assert again["approvalId"] != waiting["approvalId"]
        other.post(f"/v1/approvals/{again['approvalId']}/approve", {})
        get_trusting(api, sandbox, "/kept")
        assert last(there, "/kept")["authorization"] == f"Bearer {OTHER}"
        assert api.get(f"/v1/consents?sandbox={sandbox}")["items"][0]["expiresAt"] is None
        api.call("PATCH", "/v1/credentials/kept", {"fields": {"token": TOKEN}})
        atoll.wait_for(lambda: "403" in get(api, sandbox, "/newer")["stdout"], 20, "a refusal")
        assert api.post(f"{PATH}/{sandbox}/credentials/kept/revoke", {}) == {"revoked": 1}
    other.close()


def test_an_agent_cannot_ask_for_what_no_rule_uses(api, there, box):
    with pytest.raises(atoll.ApiError) as failure:
        call(api, box, "activate_credential", name="asked")
    assert "no rule" in str(failure.value)


def test_a_deleted_credential_is_refused_at_once(api, there):
    api.post("/v1/credentials", {"name": "brief", "hosts": ["api.test"], "consent": "project", "fields": {"token": TOKEN}})
    with api.sandbox(internet=True, egress=rules(there, "brief")) as sandbox:
        get_trusting(api, sandbox, "/brief")
        assert last(there, "/brief")["authorization"] == f"Bearer {TOKEN}"
        api.delete("/v1/credentials/brief")
        atoll.wait_for(lambda: "403" in get(api, sandbox, "/deleted")["stdout"], 20, "a refusal")
        answered = get(api, sandbox, "/deleted")["stdout"]
        assert "403" in answered and not [h for h in came(there, "/deleted") if h.get("authorization") is None]


def test_a_user_s_credential_is_named_by_that_user_only(api, there):
    project = api.post("/v1/projects", {"name": "rules-of-users"})["id"]
    clients = {}
    for user, role in (("boss@example.com", "admin"), ("anna@example.com", "member"), ("bert@example.com", "member")):
        api.post(f"/v1/projects/{project}/members", {"user": user, "role": role})
        key = api.call("POST", "/api/sandbox/keys", {"name": user, "member": user}, {"X-Atoll-Project": project})
        clients[user[:4]] = api.clone(key["key"])
    boss, anna, bert = clients.values()
    anna.post("/v1/credentials", {"name": "mine", "owner": "user", "hosts": ["api.test"], "consent": "project", "fields": {"token": OTHER}})
    with anna.sandbox(internet=True, egress=rules(there, "mine")) as sandbox:
        get_trusting(anna, sandbox, "/anna")
        assert last(there, "/anna")["authorization"] == f"Bearer {OTHER}"
        refused("not_found", "mine", bert.call, "PUT", f"{PATH}/{sandbox}/egress", rules(there, "mine"))
        boss.post("/v1/credentials", {"name": "mine", "hosts": ["api.test"], "consent": "project", "fields": {"token": TOKEN}})
        refused("forbidden", "only that user", bert.call, "PUT", f"{PATH}/{sandbox}/egress", rules(there, "mine"))
    with bert.sandbox(internet=True, egress=rules(there, "mine")) as sandbox:
        get_trusting(bert, sandbox, "/bert")
        assert last(there, "/bert")["authorization"] == f"Bearer {TOKEN}"
    for client in clients.values():
        client.close()


def test_the_command_line_gives_rules(api, server, there, tmp_path):
    path = tmp_path / "rules.json"
    path.write_text(json.dumps(rules(there)["rules"]))
    with api.sandbox(internet=True) as sandbox:
        done = server.cli("network", sandbox, "--allow", "api.test", "--rules", path, text=True)
        assert done.returncode == 0 and "rule   api  api.test  inject" in done.stdout, done.stderr
        get_trusting(api, sandbox, "/cli")
        assert last(there, "/cli")["authorization"] == f"Bearer {TOKEN}"
        assert "REVOKED" in server.cli("credential", "revoke", sandbox, "open", text=True).stdout.upper()


def test_a_lease_s_next_sandbox_has_the_rules(api, there):
    first = api.post("/v1/leases/acquire", {"key": "with-rules", "template": "host", "internet": True, "egress": rules(there)})["sandbox_id"]
    get_trusting(api, first, "/first")
    api.remove(first)
    second = api.post("/v1/leases/acquire", {"key": "with-rules"})["sandbox_id"]
    assert second != first
    get_trusting(api, second, "/second")
    assert last(there, "/second")["authorization"] == f"Bearer {TOKEN}"
    api.remove(second)
