# SPDX-License-Identifier: Apache-2.0
"""Whom a sandbox may reach, by names of hosts: docs/operate/network.md."""

import os
import shutil
import signal

import pytest

import atoll
import far
import named

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not all(map(shutil.which, ("ip", "nft", "openssl"))), reason="needs ip, nft and openssl")]
PATH = "/api/sandbox/instances"


@pytest.fixture(scope="module")
def world():
    with named.running() as both:
        yield both


@pytest.fixture(scope="module")
def there(world):
    return world[0]


@pytest.fixture(scope="module")
def server(world):
    return world[1]


def test_a_name_that_is_allowed_is_reached_by_http_and_tls_and_nothing_else_is(api, there):
    _, allowed, other = there.addresses
    rules = named.only("allowed.test", "*.allowed.test")
    with api.sandbox(internet=True, egress=rules) as sandbox:
        assert api.get(f"{PATH}/{sandbox}")["egress"] == rules
        out = named.said(api, sandbox, f"""
print(look_up("allowed.test"), look_up("ALLOWED.test"), look_up("sub.allowed.test"), look_up("other.test"))
print(http("allowed.test", body=b"with a body"))
print(https("Sub.Allowed.Test"))
print(http("other.test", "allowed.test").replace("\\r\\n", "|"))
print(https("other.test", "allowed.test"))
print(https(None, "allowed.test"))
print(raw(b"x", "{allowed}", 8080), raw(b"x", "{allowed}", 22))
""")
        lines = out.split("\n")
        assert lines[0] == f"{allowed} {allowed} {allowed} no such name", out
        assert f"hello of {allowed} with a body" in out and out.count(f"hello of {allowed}") == 2, out
        assert "HTTP/1.1 403 Refused by sandbox network rules" in out and "X-Atoll-Refused: host-not-allowed" in out, out
        assert "Refused: other.test:80 from this sandbox (no rule allows it)" in out, out
        assert out.count("ALERT_ACCESS_DENIED") == 2 or out.count("ACCESS_DENIED") == 2, out
        assert "failed" in lines[-2], out
    assert f"tls {allowed} Sub.Allowed.Test" in there.came or f"tls {allowed} sub.allowed.test" in there.came
    assert not [line for line in there.came if other in line or "asked other.test" in line], there.came


def test_addresses_and_names_are_allowed_beside_each_other(api, there):
    _, allowed, other = there.addresses
    with api.sandbox(internet=True, egress=named.only("allowed.test", other)) as sandbox:
        out = named.said(api, sandbox, f"""
print(http("allowed.test"))
print(http("any.name.test", "{other}"))
print(http("any.name.test", "{other}").count("200 OK"), raw(b"GET / HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n", "{other}", 8080))
""")
        assert f"hello of {allowed}" in out and out.count(f"hello of {other}") == 2, out


HALF = r"""
with connect("much.test", 443) as s:
    s.sendall(hello("much.test")); s.shutdown(socket.SHUT_WR); time.sleep(0.5)
    print(len(answer(s)))
"""


def test_an_answer_comes_whole_to_one_who_has_said_all(api):
    with api.sandbox(internet=True, egress=named.only("much.test")) as sandbox:
        assert named.said(api, sandbox, HALF).strip() == str(8 << 20)


LEAVE = r"""
with connect("silent.test", 80) as s:
    s.sendall(b"GET / HTTP/1.1\r\nHost: silent.test\r\n\r\n")
    time.sleep(0.2)
"""


def test_a_client_that_goes_away_without_an_answer_is_gone_for_the_server_too(api, there):
    with api.sandbox(internet=True, egress=named.only("silent.test")) as sandbox:
        named.said(api, sandbox, LEAVE)
        atoll.wait_for(lambda: f"left {there.addresses[1]}" in there.came, 15, lambda: there.came)


STREAM = r"""
context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
with connect("allowed.test", 443) as s, context.wrap_socket(s, server_hostname="allowed.test") as t:
    print("talks", flush=True)
    try:
        while True:
            t.sendall(b"x"); time.sleep(0.05)
    except OSError:
        print("cut", flush=True)
"""


def test_rules_change_while_it_runs_and_cut_what_is_under_way(api, there):
    _, allowed, other = there.addresses
    with api.sandbox(internet=True) as sandbox:
        api.call("PUT", f"{PATH}/{sandbox}/egress", named.only("allowed.test"))
        process = api.post(f"{PATH}/{sandbox}/exec", {"cmd": "/usr/bin/python3", "args": ["-c", named.CLIENT + STREAM],
                                                      "background": True})["process"]

        def told():
            return api.raw("GET", f"{PATH}/{sandbox}/logs?process={process}").body.decode()
        atoll.wait_for(lambda: "talks" in told(), 15, told)
        api.call("PUT", f"{PATH}/{sandbox}/egress", named.only("other.test"))
        atoll.wait_for(lambda: "cut" in told(), 15, "the connection's end")
        out = named.said(api, sandbox, 'print(http("allowed.test", "203.0.113.1")); print(http("other.test"))')
        assert "403 Refused" in out and f"hello of {other}" in out, out
        api.call("PUT", f"{PATH}/{sandbox}/egress", {"deny": [named.ALL]})
        assert "failed" in named.said(api, sandbox, f'print(http("other.test", "{other}"))')
        api.call("PUT", f"{PATH}/{sandbox}/egress", {})
        assert f"hello of {allowed}" in named.said(api, sandbox, f'print(http("who", "{allowed}"))')


def test_connections_end_with_the_rules_they_were_made_by_and_not_with_the_next_ones(api, there, server):
    with api.sandbox(internet=True, egress=named.only("allowed.test")) as sandbox:
        process = api.post(f"{PATH}/{sandbox}/exec", {"cmd": "/usr/bin/python3", "args": ["-c", named.CLIENT + STREAM],
                                                      "background": True})["process"]

        def told():
            return api.raw("GET", f"{PATH}/{sandbox}/logs?process={process}").body.decode()
        atoll.wait_for(lambda: "talks" in told(), 15, told)
        # The address goes to the next sandbox, which is allowed the same, before the gateway looks.
        gateway = server.pid_of("names")
        [rules] = (server.data / "run/names").iterdir()
        text = rules.read_text()
        os.kill(gateway, signal.SIGSTOP)
        try:
            rules.unlink()
            rules.with_suffix(".new").write_text(text)
            rules.with_suffix(".new").rename(rules)
        finally:
            os.kill(gateway, signal.SIGCONT)
        atoll.wait_for(lambda: "cut" in told(), 15, "the connection's end")


def test_names_hold_after_a_stop_and_a_restart_of_each_process_and_end_with_the_sandbox(api, there, server):
    _, allowed, _ = there.addresses
    ask = 'print(http("allowed.test"))'
    with api.sandbox(internet=True, persistent=True, egress=named.only("allowed.test")) as sandbox:
        api.post(f"{PATH}/{sandbox}/stop")
        api.post(f"{PATH}/{sandbox}/start")
        slot = far.slot_of(api, sandbox)
        for role in ("names", "names", "broker", "api"):
            assert f"hello of {allowed}" in named.said(api, sandbox, ask)
            server.kill9(role)
            server.wait_ready()
        assert f"hello of {allowed}" in named.said(api, sandbox, ask)
        files = list((server.data / "run/names").iterdir())
        assert len(files) == 1 and "+allowed.test" in files[0].read_text()
    atoll.wait_for(lambda: slot not in far.slots_with_rules(), 15, "the end of its rules")
    atoll.wait_for(lambda: not list((server.data / "run/names").iterdir()), 15, "the end of what the gateway was told")


ASK = r"""
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(("", 4053)); u.settimeout(2)
for _ in range(5):
    u.sendto(b"\x12\x34\1\0\0\1" + bytes(6) + b"\5other\4test\0\0\1\0\1", (sys.argv[1], 53))
    try:
        print("code", u.recv(999)[3] & 15)
        break
    except OSError:
        continue
"""


def test_questions_by_the_same_port_follow_the_rules_that_hold_now(api, there):
    names = there.addresses[0]
    with api.sandbox(internet=True, egress=named.only("allowed.test")) as sandbox:
        assert named.said(api, sandbox, ASK, names).strip() == "code 3"
        api.call("PUT", f"{PATH}/{sandbox}/egress", {})
        assert named.said(api, sandbox, ASK, names).strip() == "code 0"
        api.call("PUT", f"{PATH}/{sandbox}/egress", named.only("allowed.test"))
        assert named.said(api, sandbox, ASK, names).strip() == "code 3"


def ports_of(server):
    return next(line.split("--gateway ")[1].split()[0] for line in server.descendants().values() if "--gateway" in line)


def test_the_gateways_ports_stay_when_the_server_starts_again(api, there, server):
    before = ports_of(server)
    with api.sandbox(internet=True, persistent=True, egress=named.only("allowed.test")) as sandbox:
        server.stop()
        server.start()
        assert ports_of(server) == before
        assert f"hello of {there.addresses[1]}" in named.said(api, sandbox, 'print(http("allowed.test"))')


def test_refusals_are_in_the_log_and_a_flood_of_them_is_not(api, server):
    with api.sandbox(internet=True, egress=named.only("allowed.test")) as sandbox:
        named.said(api, sandbox, 'for i in range(40): http(f"flood{i}.test", "203.0.113.1")')
    lines = [line for line in server.log_text().splitlines() if "egress refused" in line and "flood" in line]
    assert 1 <= len(lines) < 40 and 'because="the name is not allowed"' in lines[0], lines


@pytest.mark.parametrize("rules, said", [
    ({"allow": ["example.com"]}, "egress.allow has 'example.com', a host name, but not all addresses are denied"),
    ({"deny": ["example.com"]}, "egress.deny[0] 'example.com' is a host name, which can only be allowed"),
    ({"allow": ["*"], "deny": ["0.0.0.0/0"]}, "egress.allow[0] '*' is not an address"),
    ({"allow": ["a.*.com"], "deny": ["0.0.0.0/0"]}, "egress.allow[0] 'a.*.com' is not an address"),
    ({"allow": [f"n{i}.test" for i in range(257)], "deny": ["0.0.0.0/0"]}, "more than 256 names"),
])
def test_what_is_no_rule_is_refused_with_its_place(api, rules, said):
    with pytest.raises(atoll.ApiError) as refused:
        api.create(internet=True, egress=rules)
    assert refused.value.status == 400 and said in refused.value.message, refused.value
