# SPDX-License-Identifier: Apache-2.0
"""Credentials in requests over HTTP/2, and between its versions: docs/use/credentials-in-requests.md."""

import json
import shutil

import pytest

import atoll
import secured
import secured_http2

pytestmark = [pytest.mark.needs_root,
              secured_http2.NEEDS_HPACK,
              pytest.mark.skipif(not all(map(shutil.which, ("ip", "nft", "openssl", "curl", "node"))), reason="needs ip, nft, openssl, curl and node")]
TOKEN = "ghp_0123456789/abcdefghijklmnop+qrst"
CREDENTIAL = {"name": "github", "hosts": ["api.test", "other.test"], "fields": {"token": TOKEN}}


def inject(host="api.test", **more):
    return {"id": host.replace(".", "-"), "host": host, "action": "inject",
            "inject": [{"kind": "header", "name": "authorization", "value": "Bearer ${credential.github.token}"}], **more}


@pytest.fixture(scope="module")
def world():
    with secured_http2.running() as both:
        yield both


@pytest.fixture(scope="module")
def there(world):
    return world[0]


@pytest.fixture(scope="module")
def server(world):
    return world[1]


@pytest.fixture(scope="module")
def vault(there, server):
    with secured.vault(server.api(), there, server, ("api.test", "other.test")) as v:
        v.put([inject(), inject("other.test")], [CREDENTIAL])
        yield v


def curl(api, vault, *args):
    result = api.exec(vault.sandbox, cmd="/usr/bin/curl", args=["-sS", "--cacert", "/tmp/ca.crt", *args], timeout_ms=60000)
    assert result["exit_code"] == 0, (result, vault.server.log_text()[-2000:])
    assert TOKEN not in result["stdout"], result
    return result["stdout"]


@pytest.mark.parametrize("flag,host,seen", [("--http2", "api.test", "2"), ("--http1.1", "api.test", "1.1"), ("--http2", "other.test", "1.1"),
                                            ("--http2-prior-knowledge", "other.test", "2")])
def test_each_version_reaches_hosts_of_each(api, there, vault, flag, host, seen):
    if flag == "--http2-prior-knowledge":
        # curl asks ALPN for both; a client of HTTP/2 alone is one by hand.
        out = secured_http2.said(api, vault.sandbox, 'x = two("/headers?only", host="other.test", method="POST", body=b"12345"); print(short(x), x["body"])')
        assert "'200'" in out and "1.1" in out and '"size":5' in out, out
        assert ["authorization", f"Bearer {TOKEN}"] in there.last("/headers?only")
        return
    out = curl(api, vault, flag, "-H", "Authorization: mine", "-w", "\n%{http_version}", f"https://{host}/headers?{flag}{host}")
    body, version = out.rsplit("\n", 1)
    assert version == seen and "*" * len(TOKEN) in body, out
    assert ["authorization", f"Bearer {TOKEN}"] in there.last(f"/headers?{flag}{host}") and "mine" not in str(there.last(f"/headers?{flag}{host}"))


def test_a_rule_can_ask_for_http2_or_against_it(api, there, vault):
    for choice, flag, wanted in (("always", "--http1.1", ["1.1", "2.0"]), ("never", "--http2", ["1.1", "1.1"])):
        vault.put([inject(upstream={"ca": there.authority.certificate.read_text(), "http2": choice}), inject("other.test")], [CREDENTIAL])
        body, version = curl(api, vault, flag, "-w", "\n%{http_version}", "https://api.test/headers?choice", "-d", "x=1").rsplit("\n", 1)
        assert [version, json.loads(body)["version"]] == wanted, (choice, body, version)
        body = curl(api, vault, flag, "https://api.test/upload", "--data-binary", "@/usr/bin/python3", "-H", "Expect: 100-continue" if choice == "always" else "A: b")
        assert len(body.split()) == 2 and int(body.split()[0]) > 1 << 20, body
    out = secured.said(api, vault.sandbox, 'print(get("/interim"))')
    assert "200 OK" in out and out.strip().endswith("final"), out
    vault.put([inject(), inject("other.test")], [CREDENTIAL])


def test_large_bodies_pass_whole_in_both_directions(api, vault):
    out = secured_http2.said(api, vault.sandbox, """
import hashlib, subprocess
with open("/tmp/large", "wb") as out:
    out.write(bytes(range(256)) * 40000)
for host in ("api.test", "other.test"):
    sent = subprocess.run(["curl", "-sS", "--http2", "--cacert", "/tmp/ca.crt", "--data-binary", "@/tmp/large", f"https://{host}/upload"], capture_output=True, text=True)
    print(sent.stdout == f"{256 * 40000} {hashlib.sha256(bytes(range(256)) * 40000).hexdigest()}", sent)
    got = subprocess.run(["curl", "-sS", "--http2", "--cacert", "/tmp/ca.crt", f"https://{host}/big?size=20000001"], capture_output=True)
    print(got.stdout == (bytes(range(256)) * 78126)[:20000001], len(got.stdout), got.stderr)
""")
    assert [line.split()[0] for line in out.strip().split("\n")] == ["True"] * 4, out


def test_many_streams_of_one_connection(api, there, vault):
    out = secured_http2.said(api, vault.sandbox, """
c = Two()
asked = [c.ask(c.fields("/echo", "POST"), b"%05d" % i * 3000) for i in range(60)]
print([c.answer(stream)["body"] == b"%05d" % i * 3000 for i, stream in enumerate(asked)].count(True))
c = Two("other.test")
asked = [c.ask(c.fields("/echo", "POST"), b"%05d" % i) for i in range(20)]
print([c.answer(stream)["body"] == b"%05d" % i for i, stream in enumerate(asked)].count(True))
""")
    assert out.split() == ["60", "20"], out


def test_a_stream_that_waits_holds_no_other_back(api, there, vault):
    out = secured_http2.said(api, vault.sandbox, """
c = Two()
slow = c.ask(c.fields("/slow?first"))
print(short(c.answer(c.ask(c.fields("/x")))), c.streams[slow]["ended"])
while b"more" not in c.streams[slow]["body"]:
    c.step()
c.send(frame(RESET, 0, slow, (8).to_bytes(4, "big")))
print(short(c.answer(c.ask(c.fields("/x")))))
""")
    assert out.count("'200'") == 2 and "False" in out, out
    atoll.wait_for(lambda: "closed /slow?first" in there.came, 15, lambda: there.came[-10:])


GRPC = """
import json, sys
import grpc
with open("/tmp/ca.crt", "rb") as file:
    trusted = grpc.ssl_channel_credentials(file.read())
with grpc.secure_channel("api.test:443", trusted) as channel:
    call = channel.unary_unary(sys.argv[1])
    try:
        answer, state = call.with_call(b"hello from inside", timeout=20)
        print(json.dumps([answer.decode(), state.code().name, state.details(), dict(state.trailing_metadata())]))
    except grpc.RpcError as failure:
        print(json.dumps(["failed", failure.code().name, failure.details()]))
"""


def test_trailers_reach_a_client_of_grpc(api, there, vault):
    out = secured_http2.said(api, vault.sandbox, 'x = two("/grpc", method="POST", more=[("content-type", "application/grpc"), ("te", "trailers")], body=b"ab"); print(x)')
    assert "'grpc-status': '0'" in out and "set-cookie" not in out and TOKEN not in out, out
    assert ["te", "trailers"] in there.last("/grpc")
    vault.put([{"id": "no-admin", "host": "api.test", "match": {"path": {"prefix": "/admin"}}, "action": "deny"}, inject()], [CREDENTIAL])
    probe = api.exec(vault.sandbox, cmd="/usr/bin/python3", args=["-c", "import grpc"])
    if probe["exit_code"] != 0:
        pytest.skip("needs python3-grpcio")
    result = api.exec(vault.sandbox, cmd="/usr/bin/python3", args=["-c", GRPC, "/grpc"], timeout_ms=60000)
    assert result["exit_code"] == 0, result
    said = json.loads(result["stdout"])
    assert said[:2] == ["hello from inside", "OK"] and said[2] == "said Bearer " + "*" * len(TOKEN), said
    result = api.exec(vault.sandbox, cmd="/usr/bin/python3", args=["-c", GRPC, "/admin/x"], timeout_ms=60000)
    said = json.loads(result["stdout"])
    assert said[:2] == ["failed", "PERMISSION_DENIED"] and "rule no-admin denies it" in said[2], said
    vault.put([inject(), inject("other.test")], [CREDENTIAL])


def test_rules_refuse_and_limit_each_stream(api, there, vault):
    vault.put([{"id": "no-gists", "host": "api.test", "match": {"methods": ["POST"], "path": {"prefix": "/gists"}}, "action": "deny"},
               inject(match={"path": {"exact": "/few"}}, limits={"requests": 2}) | {"id": "few"},
               inject(match={"path": {"exact": "/upload"}}, limits={"bytes_out_request": 1000}) | {"id": "small"},
               inject(match={"path": {"exact": "/one"}}, limits={"connections": 1}) | {"id": "one"}, inject()], [CREDENTIAL])
    out = secured_http2.said(api, vault.sandbox, """
c = Two()
print(short(c.answer(c.ask(c.fields("/gists", "POST"), b"x"))), *(short(c.answer(c.ask(c.fields("/few"))))[0] for _ in range(3)))
x = c.answer(c.ask(c.fields("/upload", "POST"), bytes(1001)))
print(short(x), b"rule" in x["body"])
print(short(c.answer(c.ask(c.fields("/one")))), short(two("/one")), short(c.answer(c.ask(c.fields("/one")))))
""")
    lines = out.strip().split("\n")
    assert "'403'" in lines[0] and "rule-denied" in lines[0] and lines[0].endswith("200 200 429"), out
    assert "'429'" in lines[1] and "limit" in lines[1], out
    assert lines[2].count("'200'") == 2 and lines[2].count("'429'") == 1, out
    assert "200" in secured_http2.said(api, vault.sandbox, 'print(two("/one")["head"])'), "a connection that ended counts still"
    assert not [t for _, _, method, t, _ in there.requests() if "gists" in t]
    vault.put([inject(), inject("other.test")], [CREDENTIAL])


def test_a_host_that_ends_or_resets_is_passed_on(api, there, vault):
    out = secured_http2.said(api, vault.sandbox, """
x = two("/cut"); print(x["head"].get(":status"), x["reset"])
print(two("/refused")["reset"])
c = Two(); print(short(c.answer(c.ask(c.fields("/goaway")))), c.rest())
print(short(two("/x")), short(two("/early", method="POST", body=bytes(100000))))
""")
    lines = out.strip().split("\n")
    assert lines[0] == "200 2" and lines[1] == "7", out
    assert lines[2].startswith("('200'") and lines[2].endswith(" 0"), out
    assert "'200'" in lines[3] and "'413'" in lines[3], out


def test_requests_are_signed_over_http2(api, there, vault):
    keys = {"name": "aws", "hosts": ["api.test"], "fields": {"id": "AKIDOUTSIDE", "secret": "the/secret+outside"}}
    vault.put([{"id": "aws", "host": "api.test", "action": "inject",
                "inject": [{"kind": "sigv4", "access_key_id": "${credential.aws.id}", "secret_access_key": "${credential.aws.secret}"}]}], [keys])
    out = secured_http2.said(api, vault.sandbox, """
scope = "AWS4-HMAC-SHA256 Credential=AKIDINSIDE/20200101/eu-west-1/sts/aws4_request, SignedHeaders=host, Signature=" + "0" * 64
for size in (5, 200000, 300000):
    print(short(two("/upload?signed", method="POST", more=[("authorization", scope)], body=b"a" * size)))
""")
    assert out.count("'200'") == 2 and out.count("bad-request") == 1, out
    fields = dict(there.last("/upload?signed="))
    assert "AKIDOUTSIDE" in fields["authorization"] and fields["content-length"] == "200000"
    vault.put([inject(), inject("other.test")], [CREDENTIAL])


def test_a_host_of_http2_alone():
    with secured_http2.running(protocols="h2") as (alone, server):
        api = server.api()
        with secured.vault(api, alone, server) as v:
            v.put([inject(upstream={"ca": alone.authority.certificate.read_text(), "http2": "always"})], [CREDENTIAL])
            assert json.loads(curl(api, v, "--http1.1", "https://api.test/headers"))["version"] == "2.0"
            assert json.loads(curl(api, v, "--http2", "https://api.test/headers"))["version"] == "2.0"
            key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\nSec-WebSocket-Version: 13\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n"
            out = secured.said(api, v.sandbox, f'print(raw("api.test", b"GET /x HTTP/1.1\\r\\nHost: api.test\\r\\n{key}\\r\\n").split("\\r\\n")[0])')
            assert " 403 " in out, out
