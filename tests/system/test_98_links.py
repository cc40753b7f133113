# SPDX-License-Identifier: Apache-2.0
"""Links and tokens that work without a key are for callers who may do what they open: by role, each place that makes one."""

import json

import pytest

import atoll

pytestmark = pytest.mark.needs_root
INSTANCES = "/api/sandbox/instances"
ROLES = {"viewer": ["sandbox:read"], "member": ["sandbox:read", "sandbox:write", "template:write"]}


@pytest.fixture(scope="module")
def made(server):
    """What links can be made of, and a caller of each role."""
    api = server.api()
    box = api.create(template="host", internet=True)["id"]
    job = api.exec(box, "mkdir -p /tmp/out; echo kept > /tmp/out/file", background=True, artifacts="/tmp/out")["resultId"]
    atoll.wait_for(lambda: api.get(f"/v1/jobs/{job}")["status"] != "running", 15, "the job's end")
    artifact = api.get(f"/v1/jobs/{job}")["artifacts"][0]["id"]
    volume = api.post("/volumes", {"name": "links"})["volumeID"]
    keys = {role: api.post("/api/sandbox/keys", {"name": f"links-{role}", "scopes": scopes}) for role, scopes in ROLES.items()}
    callers = {role: server.api(key["key"]) for role, key in keys.items()}
    yield {"box": box, "job": job, "artifact": artifact, "volume": volume, **callers}
    for role in ROLES:
        callers[role].close()
        api.delete(f"/api/sandbox/keys/{keys[role]['id']}")
    api.delete(f"/volumes/{volume}")
    api.delete(f"/api/sandbox/artifacts/{artifact}")
    api.remove(box)


MINTS = [
    ("POST", "/api/sandbox/artifacts/{artifact}/url", {"expires_in_seconds": 60}),
    ("POST", INSTANCES + "/{box}/preview-tokens", {"port": 8000}),
    ("POST", INSTANCES + "/{box}/terminal", {}),
    ("POST", "/v1/tools/preview_url", {"sandboxId": "{box}", "input": {"port": 8000}}),
    ("GET", "/daytona/api/sandbox/{box}/signing-key", None),
    ("GET", "/daytona/api/sandbox/{box}/ports/8000/preview-url", None),
    ("GET", "/volumes/{volume}", None),
    ("GET", "/templates/base/files/" + "a" * 64, None),
    ("POST", "/sandboxes/{box}/connect", {"timeout": 60}),
    ("POST", INSTANCES + "/{box}/artifacts", {"path": "/tmp/out/file"}),
]


def call(made, role, method, path, body):
    text = None if body is None else json.dumps(body).replace("{box}", made["box"])
    return made[role].raw(method, path.format(**{k: made[k] for k in ("box", "artifact", "volume")}), text,
                          {"Content-Type": "application/json"})


@pytest.mark.parametrize("method,path,body", MINTS, ids=[row[1] for row in MINTS])
def test_a_viewer_makes_no_link(made, method, path, body):
    refused = call(made, "viewer", method, path, body)
    assert refused.status == 403, (refused.status, refused.body)
    allowed = call(made, "member", method, path, body)
    assert allowed.status not in (401, 403), (allowed.status, allowed.body)


@pytest.mark.parametrize("path", ["/api/sandbox/artifacts/{artifact}", "/api/sandbox/artifacts?sandbox={box}", "/v1/jobs/{job}"])
def test_a_viewer_is_told_no_signed_address_and_reads_by_its_key(made, path):
    def first(answer):
        return (answer.get("items") or answer.get("artifacts") or [answer])[0]
    path = path.format(**{k: made[k] for k in ("box", "artifact", "job")})
    seen = first(made["viewer"].get(path))
    assert seen["url"] is None and seen["url_expires_at"] is None and seen["sha256"]
    told = first(made["member"].get(path))
    assert made["viewer"].raw("GET", told["url"], None, {"Authorization": ""}).body == b"kept\n"
    assert made["viewer"].raw("GET", f"/api/sandbox/artifacts/{made['artifact']}/content", None, {}).body == b"kept\n"


@pytest.mark.parametrize("path", ["/sandboxes/{box}", "/v2/sandboxes"])
def test_a_viewer_is_told_no_token_of_the_agent(made, path):
    def row(role):
        answer = json.loads(made[role].raw("GET", path.format(box=made["box"]), None, {}).body)
        return answer if isinstance(answer, dict) else next(r for r in answer if r["sandboxID"] == made["box"])
    assert "envdAccessToken" not in row("viewer") and "token" not in json.dumps(row("viewer")).lower()
    if path.endswith("{box}"):
        assert row("member")["envdAccessToken"]
