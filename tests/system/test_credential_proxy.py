# SPDX-License-Identifier: Apache-2.0
"""Requests that get credentials outside of the sandbox: docs/use/credentials-in-requests.md."""

import base64
import json
import shutil

import pytest

import atoll
import aws_signature
import secured

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not all(map(shutil.which, ("ip", "nft", "openssl", "curl"))), reason="needs ip, nft, openssl and curl")]
TOKEN = "ghp_0123456789/abcdefghijklmnop+qrst"
GITHUB = {"name": "github", "hosts": ["api.test"], "fields": {"token": TOKEN}}


def inject(**more):
    return {"id": "api", "host": "api.test", "action": "inject",
            "inject": [{"kind": "header", "name": "authorization", "value": "Bearer ${credential.github.token}"}], **more}


@pytest.fixture(scope="module")
def world():
    with secured.running() as both:
        yield both


@pytest.fixture(scope="module")
def there(world):
    return world[0]


@pytest.fixture(scope="module")
def server(world):
    return world[1]


@pytest.fixture(scope="module")
def vault(there, server):
    with secured.vault(server.api(), there, server) as v:
        v.put([inject()], [GITHUB])
        yield v


def test_curl_gets_a_credential_that_it_never_had(api, there, vault):
    result = api.exec(vault.sandbox, cmd="/usr/bin/curl", args=["-sS", "--http1.1", "--cacert", "/tmp/ca.crt", "-H", "Authorization: Bearer mine", "https://api.test/headers?by=curl"])
    assert result["exit_code"] == 0, (result, there.came, vault.server.log_text())
    assert ["authorization", f"Bearer {TOKEN}"] in there.last("/headers?by=curl")
    assert "mine" not in str(there.last("/headers?by=curl"))
    assert TOKEN not in result["stdout"] and "*" * len(TOKEN) in result["stdout"]


def test_an_unmatched_name_stays_encrypted_from_end_to_end(api, there, vault):
    out = secured.said(api, vault.sandbox, 'print(get("/headers?by=free", host="free.test"))')
    assert "200 OK" in out and '"x-' not in out
    assert not [name for name, _ in there.last("/headers?by=free") if name == "authorization"]
    out = secured.said(api, vault.sandbox, """
context = ssl.create_default_context(cafile="/tmp/ca.crt")
for host in ("free.test", "api.test"):
    with connect(host) as s:
        print(dict(part[0] for part in s.getpeercert()["issuer"])["commonName"])
""")
    assert out.split() == ["far", f"sandbox-{vault.sandbox}"]


def test_bodies_of_every_kind_pass_whole(api, vault):
    out = secured.said(api, vault.sandbox, """
import hashlib
data = bytes(range(256)) * 1024
sent = b"POST /upload HTTP/1.1\\r\\nHost: api.test\\r\\nConnection: close\\r\\n"
whole = body_of(raw("api.test", sent + b"Content-Length: %d\\r\\n\\r\\n" % len(data) + data))
chunks = b"".join(b"%x\\r\\n%s\\r\\n" % (len(data[at:at + 1000]), data[at:at + 1000]) for at in range(0, len(data), 1000)) + b"0\\r\\n\\r\\n"
parts = body_of(raw("api.test", sent + b"Transfer-Encoding: chunked\\r\\n\\r\\n" + chunks))
print(whole == parts == f"{len(data)} {hashlib.sha256(data).hexdigest()}", whole, parts)
big = get("/big?size=5000000").encode("latin-1").split(b"\\r\\n\\r\\n", 1)[1]
print(len(big), big == (bytes(range(256)) * 20000)[:5000000])
print(get("/headers", method="HEAD").split("\\r\\n\\r\\n")[1] == "")
""")
    assert out.split("\n")[0].startswith("True"), out
    assert "5000000 True" in out and out.strip().endswith("True"), out


def test_a_host_that_reads_slower_than_the_sandbox_sends_gets_all(api, vault):
    out = secured.said(api, vault.sandbox, """
import hashlib
data = bytes(range(256)) * 12288
head = b"POST /upload HTTP/1.1\\r\\nHost: api.test\\r\\nConnection: close\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n"
parts = b"".join(b"%x\\r\\n%s\\r\\n" % (len(data[at:at + 2000]), data[at:at + 2000]) for at in range(0, len(data), 2000))
print(body_of(raw("api.test", head + parts + b"0\\r\\n\\r\\n")) == f"{len(data)} {hashlib.sha256(data).hexdigest()}")
""")
    assert out.strip() == "True", out


def test_one_connection_carries_many_requests_and_expect_is_answered(api, vault):
    out = secured.said(api, vault.sandbox, """
with connect("api.test") as s:
    for i in range(3):
        s.sendall(f"GET /x{i} HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n".encode())
        data = b""
        while not data.endswith(b"hello"):
            data += s.recv(4096)
    s.sendall(b"GET /x HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n" * 3)
    data = b""
    while data.count(b"hello") < 3:
        data += s.recv(4096)
    s.sendall(b"POST /echo HTTP/1.1\\r\\nHost: api.test\\r\\nExpect: 100-continue\\r\\nContent-Length: 4\\r\\n\\r\\n")
    print(s.recv(4096))
    s.sendall(b"body"); print(s.recv(4096))
""")
    assert "100 Continue" in out and "body" in out, out


def test_a_stream_is_not_held_back(api, vault):
    out = secured.said(api, vault.sandbox, """
with connect("api.test") as s:
    s.sendall(b"GET /slow HTTP/1.1\\r\\nHost: api.test\\r\\nConnection: close\\r\\n\\r\\n")
    begun, first, data = time.monotonic(), None, b""
    while more := s.recv(4096):
        data += more
        if first is None and b"data: one\\n\\n" in data:
            first = time.monotonic() - begun
    print(first < 0.3, data.decode())
""")
    assert out.startswith("True"), out
    assert TOKEN[5:] not in out and TOKEN[:8] not in out, out


def test_all_ways_to_put_a_credential_in(api, there, vault):
    values = {"name": "many", "hosts": ["api.test"], "fields": {"user": "a-user-name", "password": "pass word&=/+%", "key": "AKIDEXAMPLE1", "secret": "secret/key+of/aws"}}
    vault.put([
        {"id": "basic", "host": "api.test", "match": {"path": {"prefix": "/basic"}}, "action": "inject",
         "inject": [{"kind": "basic", "username": "${credential.many.user}", "password": "${credential.many.password}"}]},
        {"id": "query", "host": "api.test", "match": {"path": {"prefix": "/query"}}, "action": "inject",
         "inject": [{"kind": "query", "name": "key", "value": "${credential.many.password}"}]},
        {"id": "cookie", "host": "api.test", "match": {"path": {"prefix": "/cookie"}}, "action": "inject",
         "inject": [{"kind": "cookie", "name": "sid", "value": "${credential.many.user}"}]},
        {"id": "marker", "host": "api.test", "match": {"path": {"prefix": "/marker"}}, "action": "inject",
         "inject": [{"kind": "placeholder", "marker": "dtn_secret_1", "value": "${credential.many.password}",
                     "in": ["header:authorization", "header:x-key", "query:k", "path"]}]},
        {"id": "absent", "host": "api.test", "match": {"path": {"prefix": "/absent"}}, "action": "inject",
         "inject": [{"kind": "header", "name": "x-key", "value": "${credential.many.user}", "when": "absent"}]},
    ], [values])
    secured.said(api, vault.sandbox, """
import base64
get("/basic"); get("/query?a=1&key=own&%6bey=two&b"); get("/cookie", more="Cookie: a=b; sid=mine; c=d\\r\\n")
get("/marker/dtn_secret_1?k=dtn_secret_1&other=dtn_secret_1", more="X-Key: it is dtn_secret_1.\\r\\nUser-Agent: dtn_secret_1\\r\\nAuthorization: Basic "
    + base64.b64encode(b"me:dtn_secret_1").decode() + "\\r\\n")
get("/absent"); get("/absent?given", more="X-Key: mine\\r\\n"); get("/absent?alias", more="X_Key: mine\\r\\nX_HTTP_METHOD_OVERRIDE: mine\\r\\n")
""")
    assert ["authorization", "Basic " + base64.b64encode(b"a-user-name:pass word&=/+%").decode()] in there.last("/basic")
    assert there.last("/query?a=1&b&key=pass%20word%26%3D%2F%2B%25")
    assert ["cookie", "a=b; c=d; sid=a-user-name"] in there.last("/cookie")
    came = there.last("/marker/pass%20word%26%3D%2F%2B%25?k=pass%20word%26%3D%2F%2B%25&other=dtn_secret_1")
    assert ["X-Key", "it is pass word&=/+%."] in came and ["User-Agent", "dtn_secret_1"] in came, came
    assert ["Authorization", "Basic " + base64.b64encode(b"me:pass word&=/+%").decode()] in came, came
    assert ["x-key", "a-user-name"] in there.last("/absent") and ["X-Key", "mine"] in there.last("/absent?given")
    # A server of CGI takes X_Key for X-Key.
    assert ["x-key", "a-user-name"] in there.last("/absent?alias") and "mine" not in str(there.last("/absent?alias"))
    vault.put([inject()], [GITHUB])


def test_rules_refuse_limit_and_expire(api, there, vault):
    vault.put([
        {"id": "no-gists", "host": "api.test", "match": {"methods": ["POST"], "path": {"prefix": "/gists"}}, "action": "deny"},
        inject(match={"path": {"exact": "/few"}}, limits={"requests": 2}),
        inject(match={"path": {"exact": "/fast"}}, limits={"requests_per_second": 2}) | {"id": "fast"},
        inject(match={"path": {"exact": "/upload"}}, limits={"bytes_out_request": 100}) | {"id": "small"},
        inject(match={"path": {"exact": "/old"}}, expires_at="2020-01-01T00:00:00Z") | {"id": "old"},
        inject(match={"path": {"exact": "/stale"}}) | {"id": "stale", "inject": [{"kind": "header", "name": "x-key", "value": "${credential.stale.token}"}]},
    ], [GITHUB, {"name": "stale", "hosts": ["api.test"], "fields": {"token": "a-token-that-was"}, "expires_at": "2020-01-01T00:00:00Z"}])
    out = secured.said(api, vault.sandbox, """
def status(answer):
    return answer.split(" ")[1] if " " in answer else answer
print(status(get("/gists", method="POST")), status(get("/%67ists", method="POST")), status(get("/gists")))
print(*(status(get("/few")) for _ in range(3)))
print(*(status(get("/fast")) for _ in range(4)))
print(status(raw("api.test", b"POST /upload HTTP/1.1\\r\\nHost: api.test\\r\\nContent-Length: 101\\r\\n\\r\\n" + bytes(101))))
print(status(get("/old")), status(get("/stale")))
print(get("/gists", method="POST"))
print(get("/few"))
""")
    lines = out.split("\n")
    assert lines[0] == "403 403 200" and lines[1] == "200 200 429" and lines[3] == "429" and lines[4] == "403 403", out
    assert lines[2].startswith("200 200") and lines[2].endswith("429"), out
    assert "rule no-gists denies it" in out and "X-Atoll-Refused: rule-denied" in out and "Retry-After: 1" in out, out
    assert not [t for _, _, method, t, _ in there.requests() if method == "POST" and "gists" in t]
    vault.put([inject()], [GITHUB])


def test_uses_and_refusals_are_network_decisions(api, vault):
    vault.put([{"id": "deny-secret", "host": "api.test", "match": {"path": {"prefix": "/denied"}}, "action": "deny"}, inject()], [GITHUB])
    secured.said(api, vault.sandbox, 'get("/denied"); get("/told")')

    def rows():
        items = api.get(f"/api/sandbox/instances/{vault.sandbox}/egress/log?limit=1000")["items"]
        return {(row["code"], row["rule"], row["credential"], row["host"]) for row in items}
    atoll.wait_for(lambda: {("rule-denied", "deny-secret", None, "api.test"), ("ok", "api", "github", "api.test")} <= rows(), 15, rows)
    vault.put([inject()], [GITHUB])


@pytest.mark.parametrize("end", ["stop", "rules"])
def test_a_connection_that_is_ended_tells_what_it_carried(api, there, server, end):
    """Only the proxy knows, and the gateway ends it: with its sandbox, or because new rules do not allow the host."""
    with secured.vault(api, there, server) as v:
        v.put([{"id": "last", "host": "api.test", "action": "allow"}], [])
        process = api.post(f"/api/sandbox/instances/{v.sandbox}/exec", {"cmd": "/usr/bin/python3", "background": True, "args": ["-c", secured.CLIENT + """
with connect("api.test") as s:
    s.sendall(b"GET /big?size=3000000 HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n")
    got = 0
    while got < 3000000:
        got += len(s.recv(65536))
    print("read", flush=True)
    time.sleep(600)
"""]})["process"]
        path = f"/api/sandbox/instances/{v.sandbox}"
        atoll.wait_for(lambda: b"read" in api.raw("GET", f"{path}/logs?process={process}").body, 20)
        if end == "stop":
            api.post(f"{path}/stop", {})
        else:
            api.call("PUT", f"{path}/egress", {"allow": ["other.test"], "deny": ["0.0.0.0/0"]})

        def carried():
            return sum(row["bytes_in"] for row in api.get(f"{path}/egress/log?host=api.test")["items"])
        atoll.wait_for(lambda: carried() >= 3000000, 20, carried)


def test_a_set_that_is_withdrawn_ends_what_runs(api, there, server):
    with secured.vault(api, there, server) as v:
        v.put([inject()], [GITHUB])
        process = api.post(f"/api/sandbox/instances/{v.sandbox}/exec", {"cmd": "/usr/bin/python3", "background": True, "args": ["-c", secured.CLIENT + """
with connect("api.test") as s:
    s.sendall(b"GET /big?size=100000000000 HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n")
    print("begun", len(s.recv(100)), flush=True)
    try:
        while s.recv(65536):
            pass
    except OSError:
        pass
    print("cut", flush=True)
print(get("/headers?after"))
"""]})["process"]

        def told():
            return api.raw("GET", f"/api/sandbox/instances/{v.sandbox}/logs?process={process}").body.decode()
        atoll.wait_for(lambda: "begun" in told(), 15, told)
        assert v.send(secured.REMOVE, v.sandbox.encode()) == b"d"
        atoll.wait_for(lambda: "failed" in told(), 15, told)
        assert "cut" in told() and not [t for _, _, _, t, _ in there.requests() if t == "/headers?after"]


def test_a_killed_proxy_comes_back_and_holds_nothing(api, there, server):
    with secured.vault(api, there, server) as v:
        v.put([inject()], [GITHUB])
        assert "200 OK" in secured.said(api, v.sandbox, 'print(get("/x"))')
        server.kill9("credentials")
        assert "200 OK" not in secured.said(api, v.sandbox, 'print(get("/x"))')
        v.control = None
        v.put([inject()], [GITHUB])
        assert "200 OK" in secured.said(api, v.sandbox, 'print(get("/x"))')


def test_a_set_that_cannot_work_is_refused(vault):
    vault.put([inject()], [], wanted=b"f")
    vault.put([inject() | {"host": "1.2.3.4"}], [GITHUB], wanted=b"f")
    vault.put([inject(upstream={"ca": "none"})], [GITHUB], wanted=b"f")
    vault.put([inject()], [GITHUB])


def test_many_requests_in_one_write_are_answered_in_order(api, vault):
    out = secured.said(api, vault.sandbox, """
with connect("api.test") as s:
    s.sendall(b"".join(b"POST /echo HTTP/1.1\\r\\nHost: api.test\\r\\nContent-Length: 3\\r\\n\\r\\n%03d" % i for i in range(100)))
    data = b""
    while b"099" not in data:
        data += s.recv(65536)
    print([int(part[:3]) for part in data.split(b"\\r\\n\\r\\n")[1:]] == list(range(100)))
""")
    assert out.strip() == "True"


def test_requests_to_aws_are_signed_with_keys_that_the_program_has_not(api, there, vault):
    keys = {"name": "aws", "hosts": ["api.test"], "fields": {"id": "AKIDOUTSIDE", "secret": "the/secret+outside"}}
    vault.put([{"id": "aws", "host": "api.test", "action": "inject",
                "inject": [{"kind": "sigv4", "access_key_id": "${credential.aws.id}", "secret_access_key": "${credential.aws.secret}", "services": ["s3", "sts"]}]}], [keys])
    out = secured.said(api, vault.sandbox, """
def signed(service, body=b"", more="", query=""):
    scope = f"AWS4-HMAC-SHA256 Credential=AKIDINSIDE/20200101/eu-west-1/{service}/aws4_request, SignedHeaders=host, Signature=" + "0" * 64
    return get("/aws" + query, method="POST", more=f"Authorization: {scope}\\r\\nX-Amz-Date: 20200101T000000Z\\r\\nContent-Length: {len(body)}\\r\\n" + more, body=body)
print(json.dumps([body_of(answer) for answer in (
    signed("s3", b"the body", "X-Amz-Content-Sha256: UNSIGNED-PAYLOAD\\r\\nX-Amz-Meta-A: b\\r\\n", "?acl&a=b%20c"),
    signed("sts", b"Action=GetCallerIdentity&Version=2011-06-15", "Content-Type: application/x-www-form-urlencoded\\r\\n"), signed("sts"))]))
print(signed("iam").split("\\r\\n")[0], get("/aws").split("\\r\\n")[0],
      signed("s3", b"x", "X-Amz-Content-Sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD\\r\\n").split("\\r\\n")[0])
""")
    lines = out.strip().split("\n")
    bodies = (b"the body", b"Action=GetCallerIdentity&Version=2011-06-15", b"")
    sent = [(target, headers) for *_, target, headers in there.requests() if target.startswith("/aws")]
    assert len(sent) == len(json.loads(lines[0])) == 3 and "AKIDOUTSIDE" not in out
    for (target, fields), body in zip(sent, bodies):
        headers = {name.lower(): value for name, value in fields}
        key, day, region, service, names, signature = aws_signature.FORM.fullmatch(headers["authorization"]).groups()
        assert key == "AKIDOUTSIDE" and region == "eu-west-1" and day != "20200101" and headers["x-amz-date"].startswith(day)
        assert signature == aws_signature.signature("the/secret+outside", "POST", target, headers, body, (day, region, service), names.split(";")), fields
    assert lines[1].count("403") == 3 and "AKIDINSIDE" not in str([h for *_, t, h in there.requests() if t.startswith("/aws")]), out
    vault.put([inject()], [GITHUB])


PROGRAMS = {
    "curl": (["-c", "curl -sS https://api.test/headers?program=curl"], "CURL_CA_BUNDLE"),
    "wget": (["-c", "wget -qO- --ca-certificate=/tmp/ca.crt https://api.test/headers?program=wget"], "SSL_CERT_FILE"),
    "git": (["-c", "git ls-remote https://api.test/headers?program=git; true"], "GIT_SSL_CAINFO"),
    "python3": (["-c", "python3 -c 'import urllib.request as r; print(r.urlopen(\"https://api.test/headers?program=python3\").read())'"], "SSL_CERT_FILE"),
    "node": (["-c", "node -e 'fetch(\"https://api.test/headers?program=node\").then(a => a.text()).then(console.log)'"], "NODE_EXTRA_CA_CERTS"),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_works_with_the_variable_that_it_reads(api, there, vault, program):
    if not shutil.which(program):
        pytest.skip(f"needs {program}")
    args, variable = PROGRAMS[program]
    result = api.exec(vault.sandbox, cmd="/bin/sh", args=args, env={variable: "/tmp/ca.crt"}, timeout_ms=60000)
    assert result["exit_code"] == 0, result
    came = atoll.wait_for(lambda: [headers for *_, target, headers in there.requests() if f"program={program}" in target], 20, lambda: there.came[-5:])
    assert ["authorization", f"Bearer {TOKEN}"] in came[-1], (result, there.came[-5:])
    assert TOKEN not in str(result)
