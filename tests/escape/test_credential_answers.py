# SPDX-License-Identifier: Apache-2.0
"""Ways to read a credential out of what a host repeats: encodings, escapes, pieces, frames, guesses. test_credentials.py has the plain ones."""

import contextlib
import json
import shutil
import time

import pytest

import atoll
import secured

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not all(map(shutil.which, ("ip", "nft", "openssl"))), reason="needs ip, nft and openssl")]
TOKEN = "ghp_S3cret0123456789abcdefghij"
PASSWORD = "p<a&s's\"w/o+r d=="
LATER = "later-one-0123456789"

# What the host answers beside secured.SERVE.
MORE = r"""
        elif path == "/coded":
            codings = {"gzip": gzip.compress, "deflate": zlib.compress, "br": lambda data: data[::-1], "zstd": lambda data: data[::-1]}
            answer, more = codings[q["as"]](token.encode()), [("Content-Encoding", name) for name in q["names"].split("|")]
        elif path == "/coding":
            peer.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n")
            data = gzip.compress(token.encode())
            peer.sendall(b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data)); continue
        elif path == "/hints":
            for early in ("100 Continue", "102 Processing", "103 Early Hints"):
                peer.sendall(f"HTTP/1.1 {early}\r\nLink: <https://x.test/{secret}>; rel=preload\r\n\r\n".encode())
            answer = b"hello"
        elif path == "/extension":
            peer.sendall(f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Token\r\n\r\n2;token={secret}\r\nok\r\n0;{secret}\r\nX-Token: {token}\r\nX-{secret}: b\r\n\r\n".encode()); continue
        elif path == "/escaped":
            text = fields.get("x-password", "")
            table = {"html": {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"}, "go": {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;", "+": "&#43;"},
                     "json": {'"': '\\"', "<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}}
            escaped = "".join(table[q["as"]].get(c, c) for c in text) if q["as"] in table else urllib.parse.quote(text, safe={"quote": "/", "component": "-_.!~*'()", "uri": "-_.!~*'();,/?:@&=+$#"}[q["as"]])
            answer = b"<" + escaped.encode() + b">"
        elif path == "/place":
            status, more = "302 Found", [("Location", target.replace("/place", "/next", 1)), ("Refresh", "0; url=" + target), ("Link", f"<{target}>"), ("Content-Location", target)]
            answer = target.encode()
        elif path == "/tag":
            answer, more = b"tagged", [("ETag", f'"{secret}"'), ("Vary", "Authorization"), ("Cache-Control", "public, max-age=600")]
        elif path == "/frames":
            accept = base64.b64encode(hashlib.sha1((fields.get("sec-websocket-key", "") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
            peer.sendall(f"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n".encode())
            def frame(first, data, masked=0):
                size = bytes([len(data) | masked]) if len(data) < 126 else b"\x7e" + len(data).to_bytes(2, "big")
                return bytes([first]) + size + data
            data, how = b"token " + token.encode() + b" end", q["as"]
            if how == "parts":
                peer.sendall(b"".join(frame((0x80 if at + 1 == len(data) else 0) | (1 if at == 0 else 0), data[at:at + 1]) for at in range(len(data))))
            elif how == "between":
                half = len(data) // 2
                peer.sendall(frame(1, data[:half]) + frame(0x89, b"ping") + frame(0x80, data[half:]))
            elif how == "slow":
                for at in range(0, len(data), 5):
                    peer.sendall(frame((0x80 if at + 5 >= len(data) else 0) | (1 if at == 0 else 0), data[at:at + 5])); time.sleep(0.06)
            elif how == "ping":
                peer.sendall(frame(0x89, data))
            elif how == "long":
                peer.sendall(frame(0x82, b"." * 3000 + data))
            elif how == "packed":
                peer.sendall(frame(0xc1, zlib.compress(data)[2:-4]))
            elif how == "hidden":
                peer.sendall(frame(0x81, bytes(4) + data, 0x80))
            elif how == "raw":
                peer.sendall(b"\xff" + data)
            elif how == "echo":
                while data := p.data or peer.recv(65536):
                    p.data = b""
                    peer.sendall(data)
                return
            peer.sendall(frame(0x81, b"last"))
            return
        elif path == "/drip":
            peer.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for piece in pieces(body, int(q["size"]), float(q["pause"])):
                peer.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
            peer.sendall(b"0\r\n\r\n"); continue
"""


class Repeating(secured.Secured):
    serve = secured.SERVE.replace("import base64, gzip,", "import base64, gzip, zlib,").replace('        elif path == "/alt":', MORE + '        elif path == "/alt":')


BEARER = {"kind": "header", "name": "authorization", "value": "Bearer ${credential.github.token}"}
RULES = [
    {"id": "place", "host": "api.test", "match": {"path": {"exact": "/place"}}, "action": "inject",
     "inject": [{"kind": "query", "name": "key", "value": "${credential.github.token}"}]},
    {"id": "socket", "host": "api.test", "match": {"path": {"exact": "/frames"}}, "action": "inject", "websocket": True, "inject": [BEARER]},
    {"id": "api", "host": "api.test", "action": "inject",
     "inject": [BEARER, {"kind": "header", "name": "x-password", "value": "${credential.github.password}"}]},
]
CREDENTIALS = [{"name": "github", "hosts": ["api.test"], "fields": {"token": TOKEN, "password": PASSWORD}}]


@pytest.fixture(scope="module")
def world():
    before, secured.Secured = secured.Secured, Repeating
    try:
        with secured.running() as both:
            yield both
    finally:
        secured.Secured = before


@pytest.fixture(scope="module")
def there(world):
    return world[0]


@pytest.fixture(scope="module")
def server(world):
    return world[1]


@pytest.fixture(scope="module")
def vault(there, server):
    with secured.vault(server.api(), there, server, ["api.test", "other.test"]) as v:
        v.put(RULES, CREDENTIALS)
        yield v


def attempt(api, vault, code, *args):
    """What the code says; at most three bytes of the value are in it."""
    out = secured.said(api, vault.sandbox, code, *args)
    assert TOKEN[:8] not in out and TOKEN[8:16] not in out and TOKEN[16:] not in out, out
    return out


@pytest.mark.parametrize("coding", [("gzip", "gzip"), ("gzip", "x-gzip"), ("deflate", "deflate"), ("br", "br"), ("zstd", "zstd"), ("gzip", "identity, gzip"),
                                    ("gzip", "identity|gzip"), ("gzip", "gzip|identity"), ("gzip", "GZIP")], ids="/".join)
def test_an_echo_in_a_coding_that_was_not_asked_for(api, there, vault, coding):
    out = attempt(api, vault, 'print(get(sys.argv[1], more="Accept-Encoding: gzip, br, zstd\\r\\nAccept-Encoding: *\\r\\n"))',
                  f"/coded?as={coding[0]}&names={coding[1].replace(' ', '+').replace(',', '%2C')}")
    assert " 502 " in out.split("\r\n")[0], out
    assert [value for name, value in there.last(f"/coded?as={coding[0]}&names={coding[1].replace(' ', '+').replace(',', '%2C')}")
            if name.lower() == "accept-encoding"] == ["identity"]


def test_an_echo_in_a_transfer_coding(api, vault):
    assert " 200 " not in attempt(api, vault, 'print(get("/coding").split("\\r\\n")[0])')


def test_an_echo_in_answers_before_the_answer(api, vault):
    out = attempt(api, vault, 'print(get("/hints"))')
    assert "103 Early Hints" in out and "Link: <https://x.test/***" in out and out.rstrip().endswith("hello"), out


def test_an_echo_in_chunk_extensions_and_trailers(api, vault):
    out = attempt(api, vault, 'print(get("/extension", more="TE: trailers\\r\\n")); print(get("/extension"))')
    assert out.count("200 OK") == 2 and "X-Token: Bearer ***" in out, out


@pytest.mark.parametrize("form", ["html", "go", "json", "quote", "component", "uri"])
def test_an_echo_as_pages_and_programs_escape_it(api, there, vault, form):
    out = secured.said(api, vault.sandbox, 'print(body_of(get(sys.argv[1])))', f"/escaped?as={form}").strip()
    assert ["x-password", PASSWORD] in there.last(f"/escaped?as={form}")
    assert set(out) == set("<*>"), out


def test_an_echo_of_the_query_and_where_it_leads(api, there, vault):
    out = attempt(api, vault, """
answer = get("/place?a=b&key=mine&k%65y=mine2"); print(answer)
place = next(line for line in answer.split("\\r\\n") if line.startswith("Location: "))[10:]
print(get(place))
""")
    assert any(target == f"/place?a=b&key={TOKEN}" for *_, target, _ in there.requests())
    assert out.count("key=***") >= 4, out
    assert any(target.startswith("/next?") and "***" in target for *_, target, _ in there.requests())


def test_an_answer_that_may_be_cached_is_not_given_to_another(api, there, server, vault):
    out = attempt(api, vault, 'print(get("/tag")); print(get("/tag", more="If-None-Match: \\"x\\"\\r\\nCache-Control: only-if-cached\\r\\n"))')
    assert 'ETag: "***' in out, out
    with secured.vault(api, there, server, ["api.test"]) as second:
        second.put([{"id": "plain", "host": "api.test", "action": "allow"}], [])
        before = sum(target == "/tag" for *_, target, _ in there.requests())
        out = secured.said(api, second.sandbox, 'print(get("/tag"))')
        assert "***" not in out and 'ETag: ""' in out, out
        atoll.wait_for(lambda: sum(target == "/tag" for *_, target, _ in there.requests()) == before + 1, 10)


def test_ranges_by_other_names(api, there, vault):
    attempt(api, vault, 'print(get("/headers?ranges", more="Request-Range: bytes=0-3\\r\\nX-MS-Range: bytes=0-3\\r\\nX_MS_Range: bytes=0-3\\r\\nif_range: x\\r\\n"))')
    assert not [name for name, _ in there.last("/headers?ranges") if "range" in name.lower()]


KEY = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\\r\\nSec-WebSocket-Version: 13\\r\\n"
OPEN = f"""
def open_socket(how):
    s = connect("api.test")
    s.sendall(f"GET /frames?as={{how}} HTTP/1.1\\r\\nHost: api.test\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\n{KEY}\\r\\n".encode())
    data = b""
    while b"\\r\\n\\r\\n" not in data:
        data += s.recv(4096) or b"ended\\r\\n\\r\\n"
    return s, data.split(b"\\r\\n\\r\\n", 1)[1]
def messages(data):
    text, at = {{True: b"", False: b""}}, 0
    while at + 2 <= len(data):
        size, is_control = data[at + 1] & 127, data[at] & 15 >= 8
        at += 2
        if size == 126:
            size, at = int.from_bytes(data[at:at + 2], "big"), at + 2
        text[is_control] += data[at:at + size]; at += size
    return text[False].decode("latin-1"), text[True].decode("latin-1")
"""


@pytest.mark.parametrize("how", ["parts", "between", "slow", "ping", "long"])
def test_an_echo_in_frames_of_a_websocket(api, vault, how):
    out = attempt(api, vault, OPEN + 's, begun = open_socket(sys.argv[1]); print(messages(begun + read_all(s)))', how)
    assert "last" in out and "token Bearer " in out and " end" in out and "***" in out and ("ping" in out) == (how == "between"), out


@pytest.mark.parametrize("how", ["packed", "hidden", "raw"])
def test_frames_that_hide_what_they_hold(api, vault, how):
    out = attempt(api, vault, OPEN + 's, begun = open_socket(sys.argv[1]); print(len(begun + read_all(s)))', how)
    assert int(out.strip().split("\n")[-1]) < 60, out


def test_guesses_that_an_echo_shows_to_be_right(api, there, vault):
    # A message that ends with the first bytes of the value waits for the rest, and one with another guess does not. Each answer tells a
    # letter, so that few such answers are given.
    out = secured.said(api, vault.sandbox, OPEN + """
import select
s, _ = open_socket("echo")
s.setblocking(False)
def waits(text):
    try:
        s.sendall(bytes([0x81, len(text)]) + text)
    except OSError as failure:
        return str(failure)
    end, got = time.monotonic() + 1, b""
    while time.monotonic() < end and not got.endswith(text):
        select.select([s], [], [], 0.05)
        try:
            got += s.recv(4096)
        except OSError:
            pass
    return not got.endswith(text)
known, letters = "ghp_", "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
rest = sys.argv[1]
# The right one, of which the test knows that it is: an attacker tries all.
for i in range(20):
    guess = known + rest[len(known)]
    if waits(guess.encode()) is not True:
        break
    known = guess
print(len(known) - 4, waits(b"ghp_zzz"))
""", TOKEN)
    found, other = out.split()
    assert int(found) <= 8 and other == "False", out
    # From here on the host may take its time with the value itself; that is told in the documentation.


def test_values_that_make_the_search_slow_hold_up_no_neighbour(api, there, server, vault):
    """The proxy has one thread. Another sandbox brings the largest set, and a host that sends what looks like its values, with pauses."""
    with secured.vault(api, there, server, ["api.test"]) as second:
        values = {f"f{i}": "a" * 8000 + f"{i:02}" for i in range(4)}
        credentials = [{"name": f"c{n}", "hosts": ["api.test"], "fields": {name: value + f"{n:02}" for name, value in values.items()}} for n in range(30)]
        rules = [{"id": f"r{n}", "host": "api.test", "match": {"path": {"exact": f"/{n}"}}, "action": "inject",
                  "inject": [{"kind": "header", "name": f"x-{name}", "value": "${credential.c%d.%s}" % (n, name)} for name in values]} for n in range(30)]
        begun = time.monotonic()
        second.put(rules, credentials)
        assert time.monotonic() - begun < 2
        process = api.post(f"/api/sandbox/instances/{second.sandbox}/exec", {"cmd": "/usr/bin/python3", "background": True, "args": ["-c", secured.CLIENT + """
import threading
def run():
    while True:
        get("/drip?size=9000&pause=0.03", method="POST", more="Content-Length: 90000\\r\\n", body=(b"a" * 8999 + b"z") * 10)
threads = [threading.Thread(target=run, daemon=True) for _ in range(8)]
for one in threads:
    one.start()
time.sleep(60)
"""]})["process"]
        try:
            atoll.wait_for(lambda: any("/drip" in target for *_, target, _ in there.requests()), 20, lambda: there.came[-5:])
            out = secured.said(api, vault.sandbox, """
took = []
with connect("api.test") as s:
    for i in range(60):
        begun = time.monotonic()
        s.sendall(b"GET /x HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n")
        data = b""
        while not data.endswith(b"hello"):
            data += s.recv(4096)
        took.append(time.monotonic() - begun); time.sleep(0.02)
print(sorted(took)[len(took) * 9 // 10])
""")
            assert float(out) < 0.25, out
        finally:
            with contextlib.suppress(Exception):
                api.post(f"/api/sandbox/instances/{second.sandbox}/processes/{process}/kill", {})


def test_a_new_set_does_not_give_the_limits_of_rules_anew(api, there, vault):
    rules = [{"id": "few", "host": "api.test", "action": "inject", "inject": [BEARER], "limits": {"requests": 3}}]
    vault.put(json.loads(json.dumps(rules)), CREDENTIALS)
    try:
        code = 'print(*(get("/x").split(" ")[1] for i in range(3)))'
        assert attempt(api, vault, code).split() == ["200", "200", "200"]
        vault.put(json.loads(json.dumps(rules)), [{"name": "github", "hosts": ["api.test"], "fields": {"token": LATER, "password": PASSWORD}}])
        assert attempt(api, vault, code).split() == ["429", "429", "429"]
    finally:
        vault.put(RULES, CREDENTIALS)
