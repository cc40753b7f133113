# SPDX-License-Identifier: Apache-2.0
"""Credentials in requests without TLS, where a rule says so: docs/use/credentials-in-requests.md."""

import json
import shutil

import pytest

import atoll
import secured

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not all(map(shutil.which, ("ip", "nft", "openssl", "curl"))), reason="needs ip, nft, openssl and curl")]
PATH = "/api/sandbox/instances"
TOKEN = "ghp_0123456789/abcdefghijklmnop+qrst"

# In a sandbox: requests without TLS.
PLAIN = """
def plain(data, host="api.test"):
    try:
        with socket.create_connection((host, 80), 10) as s:
            s.settimeout(20)
            s.sendall(data)
            return read_all(s).decode("latin-1")
    except OSError as failure:
        return "failed " + str(failure)
def asked(path, host="api.test", more="", method="GET", last=True):
    return f"{method} {path} HTTP/1.1\\r\\nHost: {host}\\r\\n{more}{'Connection: close' + chr(13) + chr(10) if last else ''}\\r\\n".encode()
"""


@pytest.fixture(scope="module")
def world():
    with secured.running() as (there, server):
        server.api().post("/v1/credentials", {"name": "inside", "hosts": ["api.test"], "consent": "project", "fields": {"token": TOKEN}})
        yield there, server


@pytest.fixture(scope="module")
def there(world):
    return world[0]


@pytest.fixture(scope="module")
def server(world):
    return world[1]


def inject(**more):
    return {"id": "inside", "host": "api.test", "action": "inject",
            "inject": [{"kind": "header", "name": "authorization", "value": "Bearer ${credential.inside.token}"}], **more}


def network(*rules):
    return {"allow": secured.ALLOWED, "deny": ["0.0.0.0/0"], "rules": list(rules)}


@pytest.fixture(scope="module")
def box(server):
    deny = {"id": "no-admin", "host": "api.test", "scheme": "http", "action": "deny", "match": {"path": {"prefix": "/admin"}}}
    with server.api().sandbox(internet=True, egress=network(deny, inject(scheme="http"))) as sandbox:
        yield sandbox


def said(api, box, code):
    out = secured.said(api, box, PLAIN + code)
    assert TOKEN not in out, out
    return out


def test_a_rule_has_to_say_that_the_value_can_be_read_on_the_way(api, box):
    for more in ({"port": 80}, {"port": 8080, "scheme": "http"}, {"port": 443, "scheme": "http"}, {"scheme": "ftp"}, {"scheme": "http", "upstream": {"http2": "always"}}):
        with pytest.raises(atoll.ApiError) as refusal:
            api.call("PUT", f"{PATH}/{box}/egress", network(inject(**more)))
        assert refusal.value.code == "invalid_request", more
    rules = api.get(f"{PATH}/{box}")["egress"]["rules"]
    assert [(rule["scheme"], rule["port"]) for rule in rules] == [("http", 80)] * 2


def test_a_request_without_tls_gets_the_credential(api, there, box):
    result = api.exec(box, cmd="/usr/bin/curl", args=["-sS", "-H", "Authorization: mine", "http://api.test/headers?plain=curl"])
    assert result["exit_code"] == 0 and "*" * len(TOKEN) in result["stdout"] and TOKEN not in result["stdout"], result
    assert ["Authorization", f"Bearer {TOKEN}"] in [[name.title(), value] for name, value in there.last("/headers?plain=curl")]
    assert "mine" not in str(there.last("/headers?plain=curl"))
    out = said(api, box, """
print(plain(asked("/x", last=False) + asked("/echo", method="POST", more="Content-Length: 4\\r\\n") + b"body").count("200 OK"))
print(plain(asked("/headers?port", "api.test:80")).split("\\r\\n")[0], plain(asked("/chunks")).count("*") > 30)
""")
    assert out.split() == ["2", "HTTP/1.1", "200", "OK", "True"], out
    seen = atoll.wait_for(lambda: [row for row in api.get(f"{PATH}/{box}/egress/log?host=api.test")["items"] if row["rule"] == "inside"], 20)
    assert {(row["port"], row["protocol"], row["decision"], row["credential"]) for row in seen} == {(80, "http", "allowed", "inside")}, seen


def test_refusals_are_as_with_tls(api, there, box):
    out = said(api, box, """
answer = plain(asked("/admin/x"))
print(answer.split("\\r\\n")[0], "rule-denied" in answer, "no-admin" in answer)
for request in (asked("/a/../admin/x"), asked("/%2e%2e/admin"), asked("/x", method="TRACE"), asked("http://api.test/x"), asked("/x", more="Host: other.test\\r\\n"),
                asked("/x", more="Content-Length: 1\\r\\nTransfer-Encoding: chunked\\r\\n") + b"0\\r\\n\\r\\n", b"CONNECT api.test:443 HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n",
                b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n", b"GET /x HTTP/1.1\\r\\n\\r\\n"):
    print("refused" if plain(request).split(" ")[1:2] in (["403"], ["400"]) else plain(request))
""")
    lines = out.strip().split("\n")
    assert lines[0] == "HTTP/1.1 403 Refused by sandbox network rules True True", out
    assert lines[1:] == ["refused"] * 9, out
    assert not [target for *_, target, _ in there.requests() if "admin" in target]


def test_the_host_of_the_connection_is_that_of_each_request(api, there, box):
    out = said(api, box, """
answer = plain(asked("/first-of-two", last=False) + asked("/second-of-two", "other.test"))
print("200 OK" in answer, "421" in answer, "host-mismatch" in answer)
print("200 OK" in plain(asked("/for-other", "other.test"), "api.test"), "421" in plain(asked("/x", last=False) + asked("/x", "api.test:443")))
print(plain(asked("/redirect")).split("\\r\\n")[0])
""")
    assert out.split("\n")[:2] == ["True True True", "True True"], out
    assert "302" in out
    for target, fields in [(target, fields) for *_, target, fields in there.requests() if target in ("/for-other", "/second-of-two")]:
        assert target == "/for-other" and TOKEN not in json.dumps(fields)


def test_a_rule_is_about_its_own_scheme_alone(api, there, server):
    ca = there.authority.certificate.read_text()
    with api.sandbox(internet=True, egress=network(inject(upstream={"ca": ca}))) as sandbox:
        assert "200 OK" in said(api, sandbox, 'print(plain(asked("/headers?of-tls")))')
        assert TOKEN not in str(there.last("/headers?of-tls"))
        api.call("PUT", f"{PATH}/{sandbox}/egress", network(inject(scheme="http")))
        api.write(sandbox, "/tmp/ca.crt", there.authority.certificate.read_bytes())
        assert "200 OK" in said(api, sandbox, 'print(get("/headers?of-plain"))'), "TLS is from end to end"
        assert TOKEN not in str(there.last("/headers?of-plain"))
        assert "200 OK" in said(api, sandbox, 'print(plain(asked("/headers?after")))')
        assert TOKEN in str(there.last("/headers?after"))


def test_a_withdrawn_credential_ends_the_connection(api, there, server):
    with api.sandbox(internet=True, egress=network(inject(scheme="http"))) as sandbox:
        api.post("/v1/credentials", {"name": "short", "hosts": ["api.test"], "consent": "project", "fields": {"token": "another-" + TOKEN}})
        rule = inject(scheme="http")
        rule["inject"][0]["value"] = "Bearer ${credential.short.token}"
        api.call("PUT", f"{PATH}/{sandbox}/egress", network(rule))
        assert "200 OK" in said(api, sandbox, 'print(plain(asked("/headers?before-end")))')
        api.delete("/v1/credentials/short")
        answer = atoll.wait_for(lambda: (lambda out: out if "403" in out.split("\n")[0] else None)(said(api, sandbox, 'print(plain(asked("/headers?end")))')), 20)
        assert "short" in answer or "rule-denied" in answer, answer
        # Without the proxy nothing passes, with or without a credential.
        server.kill9("credentials")
        assert "200 OK" not in said(api, sandbox, 'print(plain(asked("/headers?killed")))')
        assert not [target for *_, target, _ in there.requests() if "killed" in target]
