# SPDX-License-Identifier: Apache-2.0
"""Ways to get at a credential over HTTP/2, and through its translation to HTTP/1.1: test_credentials.py has those that no version is special to.
api.test speaks HTTP/2, other.test HTTP/1.1 alone."""

import shutil

import pytest

import atoll
import secured
import secured_http2

pytestmark = [pytest.mark.needs_root,
              secured_http2.NEEDS_HPACK,
              pytest.mark.skipif(not all(map(shutil.which, ("ip", "nft", "openssl", "node"))), reason="needs ip, nft, openssl and node")]
TOKEN = "ghp_S3cret/0123456789abcdef-ghij+klmn"
BEARER = [{"kind": "header", "name": "authorization", "value": "Bearer ${credential.github.token}"}]
RULES = [{"id": "deny-admin", "host": "*.test", "match": {"path": {"prefix": "/admin"}}, "action": "deny"},
         {"id": "keyed", "host": "*.test", "match": {"path": {"exact": "/headers"}, "query": [{"name": "keyed", "present": True}]}, "action": "inject",
          "inject": [{"kind": "header", "name": "x-key", "value": "${credential.github.token}"}], "remove": ["x-gone"]},
         {"id": "open", "host": "api.test", "match": {"path": {"exact": "/without"}}, "action": "allow"},
         {"id": "api", "host": "api.test", "action": "inject", "inject": BEARER},
         {"id": "other", "host": "other.test", "action": "inject", "inject": BEARER}]
CREDENTIALS = [{"name": "github", "hosts": ["api.test", "other.test"], "fields": {"token": TOKEN}}]
HOSTS = ["api.test", "other.test"]


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
    with secured.vault(server.api(), there, server, HOSTS) as v:
        v.put(RULES, CREDENTIALS)
        yield v


def attempt(api, vault, code, *args):
    """What the code says, in which the value is not; the proxy works afterwards."""
    before = vault.server.pid_of("credentials")
    out = secured_http2.said(api, vault.sandbox, code, *args)
    assert TOKEN not in out and TOKEN[4:] not in out, out
    assert vault.server.pid_of("credentials") == before
    return out


def came(there, part):
    return [headers for _, _, _, target, headers in there.requests() if part in target]


def told(there, part):
    """The same for what has come: its line may be on the way."""
    atoll.wait_for(lambda: came(there, part), 10, lambda: there.came[-10:])
    return came(there, part)


def test_an_echo_in_body_header_pieces_and_trailers(api, there, vault):
    out = attempt(api, vault, """
for host in ("api.test", "other.test"):
    for path in ("/headers?echo", "/header", "/pieces", "/grpc"):
        print(two(path, host=host, more=[("te", "trailers")]))
""")
    assert out.count("***") >= 7 and out.count("'200'") == 16, out
    assert ["authorization", "Bearer " + TOKEN] in told(there, "/headers?echo")[-1]


# What comes after the pseudo-headers of a request, or in their place.
HEADS = [
    ("a line end in a value", [("x-a", "b\r\nx-c: d")]), ("a zero in a value", [("x-a", "b\0")]), ("a line feed in a name", [("x-a\nb", "c")]),
    ("an upper case name", [("X-A", "b")]), ("a blank in a name", [("x a", "b")]), ("a colon in a name", [("x:a", "b")]), ("an empty name", [("", "b")]),
    ("transfer-encoding", [("transfer-encoding", "chunked")]), ("connection", [("connection", "close")]), ("upgrade", [("upgrade", "h2c")]),
    ("keep-alive", [("keep-alive", "1")]), ("te", [("te", "gzip")]), ("another host", [("host", "free.test")]), ("two hosts", [("host", "api.test"), ("host", "api.test")]),
    ("two lengths", [("content-length", "5"), ("content-length", "6")]), ("a length with a sign", [("content-length", "+5")]),
    ("a late pseudo-header", [("x-a", "b"), (":path", "/late")]), ("a second path", [(":path", "/second")]), ("a second method", [(":method", "POST")]),
    ("a second authority", [(":authority", "free.test")]), ("an unknown pseudo-header", [(":x", "y")]), ("a status", [(":status", "200")]),
    ("a websocket", [(":protocol", "websocket")]), ("blanks around a value", [("x-a", " b ")]),
]
PSEUDO = [
    ("no path", [(":method", "GET"), (":scheme", "https"), (":authority", "api.test")]), ("no method", [(":scheme", "https"), (":authority", "api.test"), (":path", "/smuggled")]),
    ("no authority", [(":method", "GET"), (":scheme", "https"), (":path", "/smuggled")]),
    ("another scheme", [(":method", "GET"), (":scheme", "http"), (":authority", "api.test"), (":path", "/smuggled")]),
    ("a request in the path", [(":method", "GET"), (":scheme", "https"), (":authority", "api.test"), (":path", "/x HTTP/1.1\r\nhost: api.test\r\n\r\nGET /smuggled")]),
    ("a blank in the path", [(":method", "GET"), (":scheme", "https"), (":authority", "api.test"), (":path", "/smuggled b")]),
    ("a request in the method", [(":method", "GET /smuggled HTTP/1.1\r\n"), (":scheme", "https"), (":authority", "api.test"), (":path", "/x")]),
    ("an absolute path", [(":method", "GET"), (":scheme", "https"), (":authority", "api.test"), (":path", "https://free.test/smuggled")]),
    ("a line end in the authority", [(":method", "GET"), (":scheme", "https"), (":authority", "api.test\r\nx: y"), (":path", "/smuggled")]),
    ("a user in the authority", [(":method", "GET"), (":scheme", "https"), (":authority", "a@api.test"), (":path", "/smuggled")]),
    ("connect", [(":method", "CONNECT"), (":authority", "api.test:443")]), ("trace", [(":method", "TRACE"), (":scheme", "https"), (":authority", "api.test"), (":path", "/smuggled")]),
    ("an extended connect", [(":method", "CONNECT"), (":protocol", "websocket"), (":scheme", "https"), (":authority", "api.test"), (":path", "/smuggled")]),
    ("dots in the path", [(":method", "GET"), (":scheme", "https"), (":authority", "api.test"), (":path", "/smuggled/../admin")]),
]


@pytest.mark.parametrize("host", HOSTS)
def test_heads_that_mean_something_else_elsewhere(api, there, vault, host):
    before = len(there.came)
    out = attempt(api, vault, """
host = sys.argv[1]
for name, fields in json.loads(sys.argv[2]):
    c = Two(host)
    print(name, short(c.answer(c.ask(c.fields("/smuggled", "POST") + [tuple(f) for f in fields], b"hello"))))
for name, fields in json.loads(sys.argv[3]):
    c = Two(host)
    print(name, short(c.answer(c.ask([(n, v.replace("api.test", host)) for n, v in fields]))))
""", host, secured.json.dumps(HEADS), secured.json.dumps(PSEUDO))
    lines = out.strip().split("\n")
    assert len(lines) == len(HEADS) + len(PSEUDO), out
    assert not [line for line in lines if "'200'" in line], out
    # The host was asked nothing.
    assert not [line for line in there.came[before:] if line.startswith("came")], (there.came[before:], out)


def test_an_authority_that_is_not_the_name_of_tls(api, there, vault):
    before = len(there.came)
    out = attempt(api, vault, """
for authority in ("other.test", "free.test", "api.test.free.test", "api.test:80", "203.0.113.1", "api.test."):
    print(short(two("/other", authority=authority)))
c = Two(); first = c.answer(c.ask(c.fields("/x")))
print(short(first), short(c.answer(c.ask(c.fields("/other", authority="other.test")))), short(c.answer(c.ask(c.fields("/x")))))
""")
    assert out.count("'421'") == 7 and out.count("'200'") == 2, out
    assert not [line for line in there.came[before:] if " /other " in line]


@pytest.mark.parametrize("host", HOSTS)
def test_a_body_of_another_length_than_its_head_says(api, there, vault, host):
    out = attempt(api, vault, """
smuggled = b"GET /smuggled-length HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n"
for length, body in (("1", b"a" + smuggled), ("0", smuggled), ("500", b"a" * 5), ("5", b"")):
    print(short(two("/upload", host=sys.argv[1], method="POST", more=[("content-length", length)], body=body)))
c = Two(sys.argv[1])
c.ask(c.fields("/upload", "POST", more=[("content-length", "100")]), b"begun", end=False)
c.s.close()
print(short(two("/upload?next", host=sys.argv[1], method="POST", body=b"0\\r\\n\\r\\n" + smuggled)))
""", host)
    lines = out.strip().split("\n")
    # One without a body can be answered before more comes, which then is of no stream.
    assert ["'200'" in line for line in lines[:1] + lines[2:]] == [False, False, False, True], out
    assert not came(there, "/smuggled-length")


def test_a_header_of_ones_own_by_a_name_that_servers_read_alike(api, there, vault):
    attempt(api, vault, """
for host in ("api.test", "other.test"):
    print(short(two("/headers?keyed", host=host, more=[("x_key", "mine"), ("x-key", "mine"), ("x_key", "mine"), ("x_gone", "mine")])))
""")
    for host in HOSTS:
        atoll.wait_for(lambda: [1 for _, own, *_ in there.requests() if own == host], 10)
    for fields in told(there, "/headers?keyed"):
        assert [(name.lower(), value) for name, value in fields if name.lower().startswith("x")] == [("x-key", TOKEN)], fields


def test_trailers_of_a_request_add_nothing(api, there, vault):
    out = attempt(api, vault, """
for host in ("api.test", "other.test"):
    c = Two(host)
    stream = c.ask(c.fields("/headers?trailed", "POST"), b"body", end=False)
    c.send(frame(HEADERS, 5, stream, c.encoder.encode([("authorization", "mine"), ("x-trailer", "a")])))
    print(short(c.answer(stream)))
""")
    assert out.count("'200'") == 2, out
    for fields in told(there, "/headers?trailed"):
        assert [value for name, value in fields if name.lower() == "authorization"] == ["Bearer " + TOKEN] and "x-trailer" not in str(fields)


def test_a_value_of_one_stream_is_in_no_other(api, there, vault):
    # The table of HPACK is of a connection: an indexed value would be a number in a later head.
    out = attempt(api, vault, """
c = Two()
c.answer(c.ask(c.fields("/headers?with")))
for i in range(3):
    print(c.answer(c.ask(c.fields("/without", more=[("cookie", "a=%d" % i)])))["body"])
""")
    assert "uthorization" not in out.replace("authorization_", ""), out
    assert all("ghp_S3cret" not in str(fields) for fields in told(there, "/without"))


def test_answers_that_are_cut(api, there, vault):
    out = attempt(api, vault, """
for host in ("api.test", "other.test"):
    c = Two(host); x = c.answer(c.ask(c.fields("/cut")))
    print(x["head"].get(":status"), len(x["body"]) < 1000, x["reset"] is not None or c.ended)
    print(short(two("/x", host=host)))
""")
    assert out.count("200 True True") == 2 and out.count("('200'") == 2, out


FLOODS = {
    "resets": "for i in range(400):\n    s = c.ask(c.fields('/slow?flood'), end=True); c.send(frame(RESET, 0, s, (8).to_bytes(4, 'big')))",
    "provoked resets": "for i in range(400):\n    s = c.ask(c.fields('/slow?provoked'), end=True); c.send(frame(8, 0, s, (2**31 - 1).to_bytes(4, 'big')))",
    "pings": "for i in range(2000):\n    c.send(frame(PING, 0, 0, bytes(8)))",
    "settings": "for i in range(2000):\n    c.send(frame(SETTINGS, 0, 0))",
    "empty data": "s = c.ask(c.fields('/upload', 'POST'), end=False)\nfor i in range(2000):\n    c.send(frame(DATA, 0, s))",
    "continuations": "c.send(frame(HEADERS, 0, 1, c.encoder.encode(c.fields())))\nfor i in range(100):\n    c.send(frame(CONTINUATION, 0, 1, b'\\x00\\x01a\\x01b' * 2000))",
    "priorities": "for i in range(2000):\n    c.send(frame(PRIORITY, 0, 1, bytes(4) + b'\\x10'))",
}


@pytest.mark.parametrize("flood", FLOODS)
def test_floods_end_the_connection(api, there, vault, flood):
    out = attempt(api, vault, f"c = Two()\n{FLOODS[flood]}\nprint('away', c.rest(), c.ended); print(short(two('/x')))")
    # ENHANCE_YOUR_CALM, or PROTOCOL_ERROR where a frame is for a stream that has ended meanwhile; it may be lost with the connection.
    assert out.split("\n")[0] in ("away 11 True", "away 1 True", "away None True") and "'200'" in out, out


def test_streams_heads_and_windows_have_limits(api, there, vault):
    out = attempt(api, vault, """
c = Two()
many = [c.ask(c.fields("/slow?many")) for i in range(150)]
while sum(c.streams[s]["reset"] is not None for s in many) < 50 and c.away is None and c.step():
    pass
print("refused", c.away == 1 or sum(c.streams[s]["reset"] == 7 for s in many) == 50)
c.s.close()
c = Two(); print(short(c.answer(c.ask(c.fields("/x", more=[("x-a", "b" * 9000)])))))
c = Two(); print(short(c.answer(c.ask(c.fields("/x", more=[("x-%d" % i, "b" * 10) for i in range(150)])))))
c = Two(); print(short(c.answer(c.ask(c.fields("/" + "a" * 9000)))))
# A client that takes nothing: the host is not read on its behalf.
c = Two(settings=b"\\x00\\x04\\x00\\x00\\x00\\x00")
for i in range(20):
    c.ask(c.fields("/big?size=50000000"))
print(short(two("/x")))
c.s.settimeout(1)
c.rest()
""")
    lines = out.strip().split("\n")
    assert lines[0] == "refused True", out
    assert "'200'" in lines[1] and "'200'" not in lines[2] + lines[3] and "'200'" in lines[4], out
    with open(f"/proc/{vault.server.pid_of('credentials')}/status") as status:
        resident = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    assert resident < 200 * 1024, resident


def test_a_withdrawn_set_ends_streams(api, there, server):
    with secured.vault(api, there, server, HOSTS) as v:
        v.put(RULES, CREDENTIALS)
        out = secured_http2.said(api, v.sandbox, 'c = Two(); s = c.ask(c.fields("/slow?withdrawn")); c.step(); print(short(c.answer(c.ask(c.fields("/x")))))')
        assert "'200'" in out
        assert v.send(secured.REMOVE, v.sandbox.encode()) == b"d"
        out = secured.said(api, v.sandbox, 'print(get("/x")[:40])')
        assert "failed" in out, out
