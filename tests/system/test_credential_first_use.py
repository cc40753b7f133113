# SPDX-License-Identifier: Apache-2.0
"""The way of a new user through docs/use/credentials.md, with each surface doing its part: the command line stores, the SDK makes the
sandbox and decides, an agent asks over MCP, a program inside uses it, the command line revokes."""

import contextlib
import json
import shutil
import sys

import pytest

import atoll
import far_services
from test_mcp import Mcp

sys.path.insert(0, str(atoll.ROOT / "sdk/python"))
import atoll_sdk  # noqa: E402

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not all(map(shutil.which, ("ip", "nft", "openssl", "curl", "git"))), reason="needs ip, nft, openssl, curl and git")]


@pytest.fixture(scope="module")
def place():
    with far_services.running() as both:
        yield both


def text_of(result):
    return " ".join(part["text"] for part in result["content"])


def test_store_ask_allow_use_and_revoke(place, tmp_path):
    there, server = place
    token = there.kept["token"]
    (tmp_path / "token.txt").write_text(token)
    done = server.cli("credential", "add", "api", "--kind", "token", "--host", "api.test", "--field", f"token=@{tmp_path}/token.txt", "--about", "read issues", text=True)
    assert done.returncode == 0, done.stderr
    assert "api.test" in (listed := server.cli("credential", "ls", text=True).stdout) and "conversation" in listed and token not in listed
    with contextlib.closing(server.api()) as api:
        person = api.post("/api/sandbox/keys", {"name": "person"})["key"]
        url = f"http://127.0.0.1:{server.port}"
        agent, decider = atoll_sdk.Atoll(url, api.key), atoll_sdk.Atoll(url, person)
        rules = [{"id": "api", "host": "api.test", "action": "inject", "inject": [{"kind": "header", "name": "authorization", "value": "Bearer ${credential.api.token}"}]}]
        sandbox = agent.sandboxes.create(internet=True, egress={"allow": ["api.test"], "deny": ["0.0.0.0/0"], "rules": rules})
        try:
            def ask():
                return api.exec(sandbox.id, "curl -sS -w ' %{http_code}' https://api.test/issues")
            refused = atoll.wait_for(lambda: (done := ask())["exit_code"] == 0 and done["stdout"], 30, ask)
            assert refused.endswith(" 403") and "activate_credential" in refused, refused
            mcp = Mcp(api, f"/mcp?sandbox={sandbox.id}")
            assert "api (api.test)" in (said := text_of(mcp.call("list_credentials"))) and "consent" in said and token not in said, said
            waiting = mcp.call("activate_credential", name="api", why="to read the issues")["structuredContent"]
            assert waiting["state"] == "waiting", waiting
            # No person has allowed it yet; the key that asks cannot.
            assert ask()["stdout"].endswith(" 403")
            with pytest.raises(atoll_sdk.AtollError):
                agent.approvals.approve(waiting["approvalId"])
            assert decider.approvals.approve(waiting["approvalId"])["state"] == "used"
            used = ask()["stdout"]
            assert used.endswith(" 200") and json.loads(used[:-4])["headers"]["authorization"] == "Bearer " + "*" * len(token), used
            assert "active" in text_of(mcp.call("list_credentials"))
            assert [one["state"] for one in decider.consents.list(sandbox=sandbox.id)] == ["active"]
            seen = api.exec(sandbox.id, "env; cat /proc/[0-9]*/environ /etc/atoll/*.crt 2>/dev/null | tr '\\0' '\\n'")["stdout"]
            assert token not in seen and "SSL_CERT_FILE=/etc/atoll/ca-bundle.crt" in seen
            done = server.cli("credential", "revoke", sandbox.id, "api", text=True)
            assert done.returncode == 0, done.stderr
            assert ask()["stdout"].endswith(" 403")
            assert "revoked" in server.cli("credential", "consents", text=True).stdout
            rows = api.raw("GET", "/v1/audit?limit=200").body.decode()
            assert token not in rows and "credentials.create" in rows
        finally:
            sandbox.kill()
