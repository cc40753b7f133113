# SPDX-License-Identifier: Apache-2.0
"""Links and tokens that work without a key are for callers who may do what they open: by role, each place that makes one."""

import json
import re

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


# ---- every route that a viewer may call ----

# Words of members and addresses that open something without a key.
OPENS = re.compile(r'"[^"]*(?:token|signature|signed|ticket|secret)[^"]*"\s*:\s*(?!null|""|false|true|\[\]|\{\})|[?&](?:signature|token|ticket|sig)=', re.I)
# Members that are so called and open nothing: names, and whether something can be shared.
HARMLESS = re.compile(r'"(?:sharingEnabled|secret_names|secrets)"\s*:\s*')
DIALECTS = ["/sandboxes", "/v2/sandboxes", "/sandboxes/{box}", "/sandboxes/{box}/logs", "/v2/sandboxes/{box}/logs", "/sandboxes/{box}/metrics",
            "/sandboxes/metrics?sandbox_ids={box}", "/secrets", "/snapshots", "/volumes",
            "/daytona/api/sandbox", "/daytona/api/sandbox/{box}", "/daytona/api/sandbox/{box}/toolbox-proxy-url", "/daytona/api/volumes",
            "/daytona/api/snapshots", "/daytona/toolbox/{box}/files", "/daytona/toolbox/{box}/process/session", "/daytona/toolbox/{box}/process/pty"]


def readable_routes():
    """The paths of all GET routes of the reference that want sandbox:read, with what they name filled in where there is one."""
    document = json.loads((atoll.ROOT / "docs/api/openapi.json").read_text())
    known = {"job": "{job}", "volume": "{volume}", "template": "host", "project": "me"}
    for path, methods in document["paths"].items():
        route = methods.get("get", {})
        # A stream has no end, and a process of another number has none to wait for.
        if route.get("x-scopes") != ["sandbox:read"] or path.endswith(("/watch", "/stream", "/mcp")):
            continue
        of_artifact = "/artifacts" in path
        known["id"] = "{artifact}" if of_artifact and "/instances" not in path else "{box}"
        if path == "/v1/credential-presets":
            continue  # constants of the program, among them addresses and names of tokens
        wanted = re.findall(r"\{(\w+)\}", path)
        if all(name in known for name in wanted):
            yield re.sub(r"\{(\w+)\}", lambda found: known[found[1]], path)


@pytest.mark.parametrize("path", [*readable_routes(), *DIALECTS])
def test_no_answer_to_a_viewer_opens_anything(made, path):
    path = path.format(**{k: made[k] for k in ("box", "artifact", "job", "volume")})
    answer = made["viewer"].raw("GET", path, None, {})
    text = HARMLESS.sub("", answer.body.decode(errors="replace"))
    assert answer.status in (200, 400, 403, 404, 409, 501), (answer.status, text[:300])
    assert not OPENS.search(text), OPENS.search(text)[0]


def test_a_viewer_makes_no_link_by_mcp(made):
    def call(role, method, params):
        answer = made[role].raw("POST", f"/mcp?sandbox={made['box']}", json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}),
                                {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28",
                                 "Mcp-Method": method, **({"Mcp-Name": params["name"]} if "name" in params else {})})
        return answer.body.decode()
    meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
                      "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"}}}
    told = call("viewer", "tools/call", {"name": "preview_url", "arguments": {"port": 8000}, **meta})
    assert "sandbox:write" in told and not OPENS.search(told), told
    assert not OPENS.search(call("viewer", "resources/list", meta))
