# SPDX-License-Identifier: Apache-2.0
"""Ways past the bounds of a credential: names, addresses and sessions of hosts, limits over many connections, names of headers."""

import pathlib
import shutil

import pytest

import atoll
import secured

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not all(map(shutil.which, ("ip", "nft", "openssl"))), reason="needs ip, nft and openssl")]
TOKEN = "ghp_S3cret0123456789abcdefghij"


class Named(secured.Secured):
    """Every name below wild.test is api.test's address; six.test has addresses of IPv6 alone."""
    serve = secured.SERVE.replace('    return {"api.test"', '    if name.endswith(".wild.test"):\n        return [allowed]\n    return {"api.test"').replace(
        '        found = addresses_of(".".join(labels).lower())',
        '        name, kind = ".".join(labels).lower(), data[at + 2]\n        found = addresses_of(name) if kind == 1 else []').replace(
        '        server.sendto(data[:2]',
        '        sixes = ["::1", "::ffff:10.0.0.7", "64:ff9b::a00:7", "fd00::7", "fe80::1", "2002:a00:7::1"] if name == "six.test" and kind == 28 else []\n'
        '        records += [b"\\xc0\\x0c\\0\\x1c\\0\\1\\0\\0\\0\\x3c\\0\\x10" + socket.inet_pton(socket.AF_INET6, one) for one in sixes]\n'
        '        found = found or sixes or (["nothing"] if name == "six.test" else [])\n'
        '        server.sendto(data[:2]')


def inject(host, **more):
    return {"id": host.strip("*.").replace(".", "-"), "host": host, "action": "inject",
            "inject": [{"kind": "header", "name": "x-key", "value": "${credential.github.token}"}], **more}


RULES = [{"id": "refused", "host": "api.test", "match": {"headers": [{"name": "x-as-admin", "present": True}]}, "action": "deny"},
         inject("*.wild.test"), inject("six.test"), inject("other.test", limits={"requests_per_second": 2, "burst": 4}), inject("api.test")]
CREDENTIALS = [{"name": "github", "hosts": ["api.test", "*.wild.test", "six.test", "other.test"], "fields": {"token": TOKEN}}]
HOSTS = ["api.test", "other.test", "*.wild.test", "six.test"]


@pytest.fixture(scope="module")
def world():
    before, allowed = secured.Secured, secured.ALLOWED
    secured.Secured, secured.ALLOWED = Named, [*allowed, "six.test"]
    try:
        with secured.running() as both:
            yield both
    finally:
        secured.Secured, secured.ALLOWED = before, allowed


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
    out = secured.said(api, vault.sandbox, code, *args)
    assert TOKEN not in out, out
    return out


def test_a_header_of_ones_own_by_a_name_that_servers_read_alike(api, there, vault):
    attempt(api, vault, 'print(get("/headers?alike", more="X_Key: mine1\\r\\nx_KEY: mine2\\r\\nX-KEY: mine3\\r\\n"))')
    assert [(name.lower(), value) for name, value in there.last("/headers?alike") if "key" in name.lower()] == [("x-key", TOKEN)]
    before = len(there.came)
    out = attempt(api, vault, 'print(get("/headers", more="x_as_admin: 1\\r\\n").split("\\r\\n")[0]); print(get("/headers", more="X-As_Admin: 1\\r\\n").split("\\r\\n")[0])')
    assert out.count(" 403 ") == 2 and not [line for line in there.came[before:] if line.startswith("came")], out


def test_an_answer_that_comes_before_the_body_takes_no_second_request(api, there, vault):
    out = attempt(api, vault, """
smuggled = b"GET /headers?early HTTP/1.1\\r\\nHost: api.test\\r\\n\\r\\n"
with connect("api.test") as s:
    s.sendall(b"POST /early HTTP/1.1\\r\\nHost: api.test\\r\\nExpect: 100-continue\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(smuggled))
    answer = s.recv(4096)
    while b"no" not in answer[-4:]:
        more = s.recv(4096)
        if not more:
            break
        answer += more
    print(answer)
    try:
        s.sendall(smuggled + smuggled); print(read_all(s))
    except OSError as failure:
        print(failure)
""")
    assert "413" in out and not any(target == "/headers?early" for *_, target, _ in there.requests()), out


def test_forms_of_a_target_that_name_a_host(api, there, vault):
    before = len(there.came)
    out = attempt(api, vault, r"""
for line in (b"GET https://api.test/headers HTTP/1.1", b"GET http://api.test/headers HTTP/1.1", b"GET https://api.test:443/headers HTTP/1.1", b"GET api.test:443 HTTP/1.1",
             b"GET //api.test/headers HTTP/1.1", b"GET /\\api.test/headers HTTP/1.1", b"GET ?x HTTP/1.1", b"GET * HTTP/1.1", b"GET headers HTTP/1.1"):
    print(raw("api.test", line + b"\r\nHost: api.test\r\nConnection: close\r\n\r\n").split("\r\n")[0], line)
""")
    # An absolute form for the host itself may be taken for its path, but for nothing else.
    for line in there.came[before:]:
        assert not line.startswith("came") or line.split(" ")[4] in ("/headers", "*"), (line, out)


def test_names_with_addresses_of_ipv6_that_lead_inside(api, there, vault):
    before = len(there.came)
    out = attempt(api, vault, """
for i in range(3):
    print(raw("six.test", b"GET /headers HTTP/1.1\\r\\nHost: six.test\\r\\n\\r\\n", address="203.0.113.7")[:60])
""")
    assert "200" not in out and not [line for line in there.came[before:] if line.startswith("came")], out


def test_a_rate_holds_over_many_connections(api, there, vault):
    out = attempt(api, vault, """
import threading
codes, begun = [], time.monotonic()
def run():
    for i in range(4):
        codes.append(get("/x", host="other.test").split(" ")[1])
threads = [threading.Thread(target=run) for _ in range(16)]
for one in threads:
    one.start()
for one in threads:
    one.join()
print(codes.count("200"), codes.count("429"), time.monotonic() - begun)
""")
    taken, refused, seconds = out.split()
    assert int(taken) <= 4 + 2 * float(seconds) + 1 and int(refused) > 0, out


def test_many_names_below_a_wildcard_take_little_memory(api, there, vault):
    """Each gets a certificate of its own, which the sandbox chooses the number of."""
    def resident():
        text = pathlib.Path(f"/proc/{vault.server.pid_of('credentials')}/status").read_text()
        return next(int(line.split()[1]) for line in text.split("\n") if line.startswith("VmRSS"))
    code = """
done = 0
for i in range(int(sys.argv[1]), int(sys.argv[2])):
    try:
        s = connect(f"n{i}.wild.test", address="203.0.113.7"); s.close(); done += 1
    except OSError as failure:
        print(failure)
print("done", done)
"""
    out = attempt(api, vault, code, "0", "300")
    assert "done 300" in out, out
    before = resident()
    out = attempt(api, vault, code, "300", "900")
    assert "done 600" in out and resident() < before + 8 * 1024, (out[-200:], before, resident())
    out = attempt(api, vault, 'print(get("/headers?below", host="n5.wild.test"))')
    assert "200 OK" in out and ["x-key", TOKEN] in there.last("/headers?below")


def test_a_session_of_one_sandbox_is_worth_nothing_in_another(api, there, server, vault):
    ask = ["openssl", "s_client", "-connect", "203.0.113.7:443", "-servername", "api.test", "-CAfile", "/tmp/ca.crt"]
    code = f"""
import subprocess
done = subprocess.run({ask!r} + sys.argv[1:], input="GET /x HTTP/1.1\\r\\nHost: api.test\\r\\nConnection: close\\r\\n\\r\\n", capture_output=True, text=True, timeout=30)
print(done.stdout, done.stderr, os.path.exists("/tmp/session"))
"""
    out = secured.said(api, vault.sandbox, code, "-ign_eof", "-sess_out", "/tmp/session")
    assert "New, TLS" in out and "True" in out, out
    with secured.vault(api, there, server, ["api.test"]) as second:
        second.put([inject("api.test")], [{"name": "github", "hosts": ["api.test"], "fields": {"token": "another-" + TOKEN}}])
        api.write(second.sandbox, "/tmp/session", api.read(vault.sandbox, "/tmp/session"))
        out = secured.said(api, second.sandbox, code, "-ign_eof", "-sess_in", "/tmp/session")
        assert "New, TLS" in out and "Reused" not in out, out
