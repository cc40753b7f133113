# SPDX-License-Identifier: Apache-2.0
"""What the rows of the audit say, for each way to write: who, which thing, before and after, and no secret."""

import base64
import hashlib
import hmac
import json
import re
import time
import urllib.parse

import pytest

import atoll
import test_mcp
from test_audit import is_ready, rows, wait_row
from test_previews import PROGRAM
from test_sign_in import OTHER, PASSWORD, Browser, refused

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"


def settled(api, **query):
    """Rows that are there once a later write has its row."""
    mark = api.post("/v1/projects", {"name": f"mark-{time.time_ns()}"})["id"]
    wait_row(api, action="projects.create", target=mark)
    return [row for row in rows(api, **query) if row["target"] != mark]


def test_a_sign_in_says_who(server, api):
    api.post("/v1/users", {"email": "ann@example.com", "password": PASSWORD})
    browser = Browser(server)
    refused(401, browser.sign_in, email="ann@example.com", password=OTHER)
    refused(400, browser.sign_in, email="my own password", password=OTHER)
    browser.sign_in(email="ANN@example.com", password=PASSWORD)
    browser.call("DELETE", "/v1/session")
    key = api.post("/api/sandbox/keys", {"name": "k"})
    Browser(server).sign_in(key=key["key"])
    by_key, *rest = settled(api, action="session.*")
    assert (by_key["result"], by_key["status"], by_key["user"], by_key["key"], by_key["project"], by_key["via"]) == (
        "ok", 201, "", key["id"], "default", "public")
    session = by_key["after"][f"session {by_key['target']}"]
    assert session["hash"] == "set" and session["owner_id"] == key["id"] and session["address"] == "127.0.0.1"
    found = [(row["result"], row["status"], row["user"], row["key"], row["target"], row["via"]) for row in rest]
    assert found == [
        ("ok", 204, "ann@example.com", "", "ann@example.com", "public"),
        ("ok", 201, "ann@example.com", "", "ann@example.com", "public"),
        ("refused", 400, "", "", "", "public"),
        ("refused", 401, "", "", "ann@example.com", "public"),
    ]


def test_a_sign_in_that_waits_its_turn_has_no_row(server, api):
    browser = Browser(server)
    statuses = [browser.raw("POST", "/v1/session", json.dumps({"email": "eve@example.com", "password": OTHER}),
                            {"Content-Type": "application/json"}).status for _ in range(30)]
    assert statuses.count(429) > 0
    found = [row for row in settled(api, action="session.create") if row["target"] == "eve@example.com"]
    assert len(found) == len(statuses) - statuses.count(429)
    assert {row["status"] for row in found} == {401}


def test_a_tool_that_mcp_calls_has_a_row_and_a_message_that_reads_has_none(server, api):
    mcp = test_mcp.Mcp(api)
    mcp.initialize()
    mcp.old("tools/list", {})
    mcp.old("ping", {})
    made = mcp.old("tools/call", {"name": "create_sandbox", "arguments": {}})["result"]["structuredContent"]["sandbox"]
    told = mcp.old("tools/call", {"name": "read", "arguments": {"sandbox": made, "file_path": "/none"}})["result"]
    assert told["isError"]
    read, create = settled(api, action="mcp.*")
    for row in (create, read):
        assert (row["action"], row["target_kind"], row["method"], row["path"]) == ("mcp.tools.call", "tools", "POST", "/mcp")
        assert row["key"] and row["address"].startswith("127.") and row["request_id"]
    assert (create["target"], create["result"]) == ("create_sandbox", "ok")
    assert create["after"][f"sandbox {made}"]["id"] == made
    assert (read["target"], read["result"]) == ("read", "refused") and read["status"] >= 400
    weak = api.clone(api.post("/api/sandbox/keys", {"name": "weak", "scopes": ["sandbox:read"]})["key"])
    mcp = test_mcp.Mcp(weak)
    mcp.initialize()
    with pytest.raises(AssertionError):
        mcp.old("tools/call", {"name": "bash", "arguments": {"command": "id"}})  # 403
    row, = settled(api, action="mcp.*")[:-2]
    assert (row["target"], row["result"], row["status"]) == ("bash", "refused", 403)
    api.remove(made)


def test_a_create_names_what_it_made(api):
    headers = {"Content-Type": "application/json"}
    native = api.create()["id"]
    e2b = api.raw("POST", "/sandboxes", json.dumps({"templateID": "host"}), {**headers, "X-API-Key": api.key}).json()["sandboxID"]
    daytona = api.raw("POST", "/daytona/api/sandbox", json.dumps({"snapshot": "host"}), headers).json()["id"]
    for made, action in ((native, "instances.create"), (e2b, "sandboxes.create"), (daytona, "daytona.api.sandbox")):
        row = wait_row(api, action=action, target=made)
        assert row["after"][f"sandbox {made}"]["id"] == made
        api.remove(made)


def test_a_quota_has_before_and_after(api):
    api.call("PATCH", "/v1/quotas/organization/default", {"cpu": 64, "memory_mb": 100000})
    api.call("PATCH", "/v1/quotas/organization/default", {"cpu": 0})
    second, first = settled(api, action="quotas.update")
    assert first["before"] is None and first["after"]["quota cpu"]["value"] == 64 and first["after"]["quota memory_mb"]["value"] == 100000
    assert second["before"]["quota cpu"] == {"scope": "organization", "subject": "default", "name": "cpu", "value": 64}
    assert second["after"] is None
    api.call("PATCH", "/v1/quotas/organization/default", {"memory_mb": 0})


def test_a_link_of_a_preview_has_a_row_for_each_client(server, api):
    with api.sandbox(internet=True) as box:
        api.write(box, "/tmp/server.py", PROGRAM)
        api.exec(box, "setsid python3 /tmp/server.py 8000 >/tmp/log 2>&1 </dev/null & for i in $(seq 600); do "
                      "grep -q ':1F40 .* 0A' /proc/net/tcp && exit; sleep 0.05; done; exit 1")
        token = api.post(f"{PATH}/{box}/preview-tokens", {"port": 8000, "private": True})["token"]
        stranger = atoll.Api(api.host, api.port)
        for address in ("203.0.113.7", "203.0.113.7", "203.0.113.8", None):
            answer = stranger.raw("GET", f"/api/sandbox/preview/{token}/", headers={"X-Forwarded-For": address} if address else {})
            assert answer.status == 200, answer.body
        assert stranger.raw("GET", f"/api/sandbox/preview/{token[:-1]}x/").status >= 400
        found = [row for row in settled(api, action="previews.open") if row["target"] == box]
        assert [(row["via"], row["target_kind"], row["after"]) for row in found] == [("link", "instances", {"port": 8000, "link": "private"})] * 3
        assert {row["address"] for row in found} == {"127.0.0.1", "127.0.0.1 for 203.0.113.7", "127.0.0.1 for 203.0.113.8"}
        assert all(row["project"] == "default" for row in found)
        many = [stranger.raw("GET", f"/api/sandbox/preview/{token}/", headers={"X-Forwarded-For": f"198.51.100.{n}"}).status for n in range(100)]
        assert set(many) == {200}
        found = [row for row in settled(api, action="previews.open") if row["target"] == box]
        assert 60 <= len(found) <= 120  # 60 a minute
        assert token not in json.dumps(rows(api))
        stranger.close()


def test_a_link_that_daytona_makes_by_get_has_a_row_and_no_row_has_its_token(api):
    with api.sandbox(internet=True) as box:
        made = api.get(f"/daytona/api/sandbox/{box}/ports/8000/signed-preview-url")
        row = wait_row(api, action="preview-tokens.create", target=box)
        assert (row["result"], row["method"]) == ("ok", "GET")
        api.post(f"/daytona/api/sandbox/{box}/ports/8000/signed-preview-url/{made['token']}/expire")
        settled(api)
        assert made["token"] not in json.dumps(rows(api))


def test_strangers_do_not_fill_the_audit(private_server):
    """A caller without a key does not drive out the rows of others: 600 refusals a minute have a row."""
    server = private_server.start()
    api, stranger = server.api(), atoll.Api("127.0.0.1", server.port)
    sent = [("POST", "/v1/session", "{"), ("GET", "/v1/connects/callback?code=x&state=y", None), ("GET", "/v1/sign-in/oidc/callback", None)] * 300
    statuses = {stranger.raw(method, path, body, {"Content-Type": "application/json"}).status for method, path, body in sent}
    assert statuses <= {302, 400, 403}, statuses
    settled(api)
    count = len(rows(api, result="refused"))
    left_out = int(re.search(r"^atoll_audit_strangers_total (\d+)$", api.raw("GET", "/metrics").body.decode(), re.M)[1])
    assert 600 <= count <= 1000 and count + left_out == len(sent)
    api.post("/v1/users", {"email": "ann@example.com", "password": PASSWORD})
    Browser(server).sign_in(email="ann@example.com", password=PASSWORD)
    wait_row(api, action="session.create", user="ann@example.com")
    server.kill9("api")
    atoll.wait_for(lambda: is_ready(api), 30, "the server is there again")
    assert rows(api, result="interrupted") == [], "what has no row has none after a restart either"
    stranger.close()


def test_a_timeout_that_is_set_has_before_and_after(api):
    with api.sandbox() as box:
        headers = {"Content-Type": "application/json", "X-API-Key": api.key}
        assert api.raw("POST", f"/sandboxes/{box}/timeout", json.dumps({"timeout": 600}), headers).status == 204
        row = wait_row(api, action="sandboxes.timeout", target=box)
        before, after = (row[side][f"sandbox {box}"] for side in ("before", "after"))
        assert before.keys() == after.keys() and before != after, row
        api.post(f"{PATH}/{box}/keepalive", {"timeoutMs": 600000})
        row = wait_row(api, action="instances.keepalive", target=box)
        assert row["before"] != row["after"], row


def test_the_use_of_a_link_has_a_row(api):
    """To a file, of each dialect that has such links, and to an artifact."""
    stranger = atoll.Api(api.host, api.port)
    with api.sandbox() as box:
        api.write(box, "/tmp/x", "hello")
        link = api.post(f"{PATH}/{box}/files/link", {"path": "/tmp/x"})["path"]
        artifact = api.post(f"{PATH}/{box}/artifacts", {"path": "/tmp/x"})["id"]
        address = urllib.parse.urlsplit(api.post(f"/api/sandbox/artifacts/{artifact}/url", {"expires_in_seconds": 600})["url"])
        key = api.get(f"/daytona/api/sandbox/{box}/signing-key")
        for path in (link, f"{address.path}?{address.query}", signed_by_daytona(box, key)):
            assert stranger.raw("GET", path).body == b"hello", path
            assert stranger.raw("GET", re.sub("signature=(v1_)?....", r"signature=\1AAAA", path)).status in (401, 403)
        opened = settled(api, action="files.link.open")
        assert [(row["target_kind"], row["target"], row["project"], row["via"], row["result"]) for row in opened] == [
            ("instances", box, "default", "link", "ok")] * 2
        assert opened[1]["after"] == {"path": "/tmp/x"}
        row = wait_row(api, action="artifacts.download", target=artifact)
        assert (row["target_kind"], row["project"], row["via"], row["address"]) == ("artifacts", "default", "link", "127.0.0.1")
        assert "signature" not in json.dumps(rows(api))
        assert {stranger.raw("GET", link).status for _ in range(80)} == {200}
        assert 60 <= len(settled(api, action="files.link.open")) <= 82  # 60 a minute
    stranger.close()


def signed_by_daytona(box, key):
    text = f"v1:files:GET:/tmp/x:{int(time.time()) + 600}"
    expires = text.rsplit(":", 1)[1]
    mac = hmac.new((key if isinstance(key, str) else key["key"]).encode(), text.encode(), hashlib.sha256).digest()
    signature = "v1_" + base64.urlsafe_b64encode(mac).decode().rstrip("=")
    query = urllib.parse.urlencode({"path": "/tmp/x", "expires": expires, "signature": signature})
    return f"/daytona/toolbox/{box}/files/download?{query}"
