# SPDX-License-Identifier: Apache-2.0
"""What the network rules of a sandbox decided, as data: docs/operate/network.md."""

import json
import os
import shutil
import urllib.parse

import pytest

import atoll
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


def run(api, sandbox, code, *args):
    return api.exec(sandbox, cmd="/usr/bin/python3", args=["-c", named.CLIENT + code, *args], timeout_ms=60000)


def log_of(api, sandbox, **filters):
    query = "?" + urllib.parse.urlencode(filters) if filters else ""
    return api.get(f"{PATH}/{sandbox}/egress/log{query}")["items"]


def logged(api, sandbox, wanted, **filters):
    """The rows of the log, once there is one that is wanted."""
    atoll.wait_for(lambda: any(map(wanted, log_of(api, sandbox, **filters))), 30, lambda: log_of(api, sandbox))
    return [row for row in log_of(api, sandbox, **filters) if wanted(row)]


UDP = """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2); s.connect((sys.argv[1], 9999))
try:
    s.send(b"x"); s.recv(9)
except OSError:
    pass
"""

# rules, what runs, and the host or address, the port, the protocol, the code and the rule of its refusal
KINDS = {
    "http": (["allowed.test"], 'http("other.test", sys.argv[1])', "other.test", 80, "http", "host-not-allowed", None),
    "tls": (["allowed.test"], 'https("other.test", sys.argv[1])', "other.test", 443, "tls", "host-not-allowed", None),
    "name": (["allowed.test"], 'look_up("secret.test")', "secret.test", 53, "dns", "host-not-allowed", None),
    "port": (["allowed.test"], 'raw(b"x", sys.argv[1], 22)', None, 22, "tcp", "address-denied", "0.0.0.0/0"),
    "datagram": (["allowed.test"], UDP, None, 9999, "udp", "address-denied", "0.0.0.0/0"),
    "quic": (["allowed.test"], UDP.replace("9999", "443"), None, 443, "udp", "address-denied", "0.0.0.0/0"),
    "no name": (["allowed.test"], 'https(None, sys.argv[1])', None, 443, "tls", "bad-request", None),
    "two hosts": (["allowed.test"], 'http("allowed.test", sys.argv[1], more="Host: other.test\\r\\n")', None, 80, "http",
                  "bad-request", None),
    "private name": (["private.test"], 'http("private.test", sys.argv[1])', "private.test", 80, "http", "range-refused", "private.test"),
    "loopback name": (["*.test"], 'https("loop.test", sys.argv[1])', "loop.test", 443, "tls", "range-refused", "*.test"),
    "no address": (["nowhere.test"], 'http("nowhere.test", sys.argv[1])', "nowhere.test", 80, "http", "upstream-unreachable",
                   "nowhere.test"),
    "one range": ({"deny": ["9.9.9.0/24", "OTHER/32"]}, 'raw(b"x", sys.argv[1], 8080)', None, 8080, "tcp", "address-denied", "OTHER/32"),
    "private range": ({"deny": ["9.9.9.0/24"]}, 'raw(b"x", "10.0.0.7", 8080)', None, 8080, "tcp", "range-refused", None),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_refusal_is_in_the_result_of_its_command_and_in_the_log(api, there, kind):
    rules, code, host, port, protocol, why, rule = KINDS[kind]
    other = there.addresses[2]
    rules = named.only(*rules) if isinstance(rules, list) else {"deny": [r.replace("OTHER", other) for r in rules["deny"]]}
    rule = rule and rule.replace("OTHER", other)
    with api.sandbox(internet=True, egress=rules) as sandbox:
        result = run(api, sandbox, "\n" + code, other)
        [refusal] = result["network"]
        assert (refusal["host"], refusal["port"], refusal["protocol"], refusal["code"], refusal["rule"]) == (
            host, port, protocol, why, rule), refusal
        assert refusal["message"].startswith("[network] ") and (host or refusal["address"] or "0.0.0.0") in refusal["message"]
        [row] = logged(api, sandbox, lambda row: row["code"] == why)
        assert (row["decision"], row["host"], row["port"], row["protocol"], row["rule"]) == ("denied", host, port, protocol, rule), row
        assert "network" not in api.exec(sandbox, cmd="true")


def test_allowed_connections_are_logged_with_their_bytes(api, there):
    _, allowed, other = there.addresses
    with api.sandbox(internet=True, egress=named.only("*.test", other)) as sandbox:
        result = run(api, sandbox, f'print(http("allowed.test", body=b"x" * 5000)); print(http("x", "{other}"))')
        assert "network" not in result and result["stdout"].count("hello") == 2, result
        [by_name] = logged(api, sandbox, lambda row: row["host"] == "allowed.test" and row["bytes_in"] > 0)
        assert by_name["decision"] == "allowed" and by_name["rule"] == "*.test" and by_name["address"] == allowed
        assert by_name["bytes_out"] >= 5000 and 5000 < by_name["bytes_in"] < 6000 and by_name["count"] == 1, by_name
        [by_address] = logged(api, sandbox, lambda row: row["address"] == other)
        assert (by_address["decision"], by_address["protocol"], by_address["port"]) == ("allowed", "tcp", 80), by_address


DENIED = "/run/atoll/denied.jsonl"


def denied_inside(api, sandbox):
    shown = api.exec(sandbox, cmd="cat", args=[DENIED])
    return [json.loads(line) for line in shown["stdout"].splitlines()]


def test_a_program_inside_reads_what_was_refused_and_how_to_ask(api, there):
    other = there.addresses[2]
    with api.sandbox(internet=True, egress=named.only("allowed.test")) as sandbox:
        assert api.exec(sandbox, cmd="test", args=["-e", DENIED])["exit_code"] == 1
        run(api, sandbox, f'http("allowed.test"); http("one.test", "{other}"); https("one.test", "{other}")\nraw(b"x", "{other}", 22)')
        atoll.wait_for(lambda: len(denied_inside(api, sandbox)) >= 3, 20, lambda: denied_inside(api, sandbox))
        lines = {(line["host"], line["port"]): line for line in denied_inside(api, sandbox)}
        assert set(lines) == {("one.test", 80), ("one.test", 443), (None, 22)}, lines
        assert lines["one.test", 443]["ask"] == {"tool": "request_access", "host": "one.test", "port": 443}
        assert lines[None, 22]["ask"]["host"] == lines[None, 22]["address"] == other and lines[None, 22]["rule"] == "0.0.0.0/0"
        assert lines["one.test", 80]["message"].startswith("refused: one.test:80 (no rule allows it)") and lines["one.test", 80]["at"]
        assert api.exec(sandbox, cmd="stat", args=["-c", "%a %u", DENIED])["stdout"] == "644 0\n"
        user = api.exec(sandbox, command=f"echo x > {DENIED}; echo x > /run/atoll/more", user="nobody")
        assert user["stderr"].count("ermission denied") == 2, user


def test_what_a_sandbox_makes_of_its_file_harms_nothing(api, there):
    other = there.addresses[2]
    with api.sandbox(internet=True, egress=named.only("allowed.test")) as sandbox:
        def inside(command):
            return api.exec(sandbox, command=command, user="root")["stdout"]
        before = inside("sha256sum /etc/passwd")
        traps = (f"ln -s /etc/passwd {DENIED}", f"mkfifo {DENIED}", f"mkdir -p {DENIED}/full", f"rmdir /run/atoll; ln -s /etc /run/atoll")
        for number, trap in enumerate(traps):
            inside(f"mkdir -p /run/atoll; rm -rf {DENIED}; {trap}")
            assert run(api, sandbox, f'http("trap{number}.test", "{other}")')["network"][0]["host"] == f"trap{number}.test"
            logged(api, sandbox, lambda row, host=f"trap{number}.test": row["host"] == host)
        assert inside("sha256sum /etc/passwd; ls /etc/denied.jsonl") == before
        inside("rm /run/atoll")
        run(api, sandbox, f'http("last.test", "{other}")')
        atoll.wait_for(lambda: any(line["host"] == "last.test" for line in denied_inside(api, sandbox)), 20, lambda: denied_inside(api, sandbox))


def test_the_log_has_filters_and_pages(api, there):
    other = there.addresses[2]
    with api.sandbox(internet=True, egress=named.only("allowed.test")) as sandbox:
        run(api, sandbox, f'http("allowed.test"); http("one.test", "{other}"); https("two.test", "{other}"); look_up("three.test")')
        logged(api, sandbox, lambda row: row["host"] == "three.test")
        logged(api, sandbox, lambda row: row["host"] == "allowed.test")
        hosts = [row["host"] for row in log_of(api, sandbox, decision="denied")]
        assert sorted(hosts) == ["one.test", "three.test", "two.test"], hosts
        assert [row["host"] for row in log_of(api, sandbox, decision="allowed")] == ["allowed.test"]
        assert [row["protocol"] for row in log_of(api, sandbox, protocol="dns")] == ["dns"]
        assert [row["host"] for row in log_of(api, sandbox, host="two.test", code="host-not-allowed")] == ["two.test"]
        first = api.get(f"{PATH}/{sandbox}/egress/log?limit=2")
        rest = api.get(f"{PATH}/{sandbox}/egress/log?after={first['after']}")
        every = log_of(api, sandbox)
        assert first["items"] + rest["items"] == every and log_of(api, sandbox, last=1) == every[-1:]
        for wrong in ("decision=maybe", "limit=0", "after=-1", "last=5&limit=5", "code=none", "nothing=1"):
            with pytest.raises(atoll.ApiError) as refused:
                api.get(f"{PATH}/{sandbox}/egress/log?{wrong}")
            assert refused.value.status == 400, wrong
    with pytest.raises(atoll.ApiError) as refused:
        api.get(f"{PATH}/nowhere/egress/log")
    assert refused.value.status == 404


def test_refusals_are_events_once_for_each_host(api, there):
    other = there.addresses[2]
    with api.sandbox(internet=True, egress=named.only("allowed.test")) as sandbox:
        run(api, sandbox, f'for _ in range(5): http("one.test", "{other}")\nhttp("allowed.test"); http("two.test", "{other}")')

        def events(kind):
            return api.get(f"/v1/events?sandbox={sandbox}&kind={kind}&last=100")["items"]
        atoll.wait_for(lambda: len(events("egress.denied")) == 2 and events("egress.allowed"), 10, lambda: events("egress.*"))
        denied = {event["text"]: event for event in events("egress.denied")}
        assert set(denied) == {"one.test", "two.test"} and denied["one.test"]["reason"] == "host-not-allowed"
        detail = denied["one.test"]["detail"]
        detail = json.loads(detail) if isinstance(detail, str) else detail
        assert detail["port"] == 80 and detail["decision"] == "denied", detail
        assert [event["text"] for event in events("egress.allowed")] == ["allowed.test"]


FLOOD = """
for at in range(1500):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setblocking(False)
    try:
        s.sendto(b"\\x12\\x34\\1\\0\\0\\1" + bytes(6) + bytes([len(str(at)) + 1]) + b"n" + str(at).encode() + b"\\4test\\0\\0\\1\\0\\1", (sys.argv[1], 53))
        s.sendto(b"x", (sys.argv[1], 10000 + at))
    except OSError:
        pass
    s.close()
"""


def test_a_flood_of_refusals_fills_no_log_and_holds_up_nobody(api, there):
    names, _, other = there.addresses
    with api.sandbox(internet=True, egress=named.only("allowed.test")) as sandbox, \
            api.sandbox(internet=True, egress=named.only("allowed.test")) as neighbour:
        result = run(api, sandbox, FLOOD, names)
        assert 1 <= len(result["network"]) <= 8
        result = run(api, neighbour, f'http("quiet.test", "{other}")')
        assert [refusal["host"] for refusal in result["network"]] == ["quiet.test"]
        logged(api, neighbour, lambda row: row["host"] == "quiet.test")
        rows = log_of(api, sandbox, limit=1000)
        assert len(rows) <= 260, len(rows)
        events = api.get(f"/v1/events?sandbox={sandbox}&kind=egress.*&last=1000")["items"]
        assert len(events) <= 25, len(events)
    assert 'atoll_egress_decisions_total{decision="denied"}' in api.raw("GET", "/metrics").body.decode()


def test_decisions_are_logged_after_a_kill_of_each_process(api, there, server):
    other = there.addresses[2]
    with api.sandbox(internet=True, egress=named.only("allowed.test")) as sandbox:
        for number, role in enumerate(("names", "api", "broker")):
            run(api, sandbox, f'http("before{number}.test", "{other}")')
            logged(api, sandbox, lambda row, name=f"before{number}.test": row["host"] == name)
            server.kill9(role)
            server.wait_ready()
            result = run(api, sandbox, f'http("after{number}.test", "{other}"); raw(b"x", "{other}", 22)')
            assert {refusal["host"] for refusal in result["network"]} == {f"after{number}.test", None}, result["network"]
            logged(api, sandbox, lambda row, name=f"after{number}.test": row["host"] == name)


def test_the_rows_of_a_deleted_sandbox_are_found_by_its_id(api, there):
    with api.sandbox(internet=True, egress=named.only("allowed.test")) as sandbox:
        run(api, sandbox, 'look_up("gone.test")')
        logged(api, sandbox, lambda row: row["host"] == "gone.test")
        own = api.get(f"{PATH}/{sandbox}")["id"]
    assert [row["host"] for row in log_of(api, own)] == ["gone.test"]


@pytest.fixture
def person(api):
    """Another key of the project: the key that asks cannot allow."""
    key = api.post("/api/sandbox/keys", {"name": f"person-{os.getpid()}", "scopes": ["sandbox:read", "sandbox:write"]})
    yield api.clone(key["key"])
    api.delete(f"/api/sandbox/keys/{key['id']}")


def tool(api, sandbox, name, wait=0, **arguments):
    answer = api.raw("POST", f"/v1/tools/{name}", {"sandboxId": sandbox, "approvalWaitMs": wait, "input": arguments})
    return answer.status, answer.json()


def bash(api, sandbox, command):
    status, answer = tool(api, sandbox, "bash", command=command)
    assert status == 200, answer
    return "\n".join(part["text"] for part in answer["content"] if part["type"] == "text")


def fetch(code):
    return f"python3 -c '{named.CLIENT.replace(chr(39), chr(34))}\n{code}'"


# what a model runs, and the host of the refusal that it reads
ASKED = {
    "by http": ('print(http("other.test", "OTHER"))', "other.test"),
    "by tls": ('print(https("other.test", "OTHER"))', "other.test"),
    "by name": ('print(look_up("other.test"))', "other.test"),
    "other port": ('print(raw(b"GET / HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n", "OTHER", 8080))', "OTHER"),
    "address alone": ('print(http("x.test", "OTHER"))', "x.test"),
}


@pytest.mark.parametrize("kind", ASKED)
def test_a_model_reads_a_refusal_asks_and_tries_again(api, person, there, kind):
    other = there.addresses[2]
    code, host = (text.replace("OTHER", other) for text in ASKED[kind])
    with api.sandbox(internet=True, egress=named.only("allowed.test")) as sandbox:
        text = bash(api, sandbox, fetch(code))
        assert f"[network] refused: {host}" in text and "request_access" in text, text
        status, asked = tool(api, sandbox, "request_access", host=host, reason="a test")
        assert status == 202 and "waiting for a person" in asked["content"][0]["text"], asked
        assert tool(api, sandbox, "request_access", host=host, reason="again")[1]["approvalId"] == asked["approvalId"]
        [request] = api.get(f"{PATH}/{sandbox}/egress/requests")["items"]
        assert request["id"] == asked["approvalId"] and request["inputObject"]["host"] == host, request
        path = f"{PATH}/{sandbox}/egress/requests/{request['id']}"
        with pytest.raises(atoll.ApiError) as own:
            api.post(path + "/allow")
        assert own.value.status == 403
        assert person.post(path + "/allow", {"note": "fine"})["state"] == "used"
        status, answer = tool(api, sandbox, "request_access", host=host)
        assert status == 200 and answer["structuredContent"]["state"] == "allowed", answer
        text = bash(api, sandbox, fetch(code))
        assert "[network] refused" not in text, text
        assert host in api.get(f"{PATH}/{sandbox}")["egress"]["allow"]


def test_a_refused_request_says_so_and_is_not_asked_again(api, person, there):
    with api.sandbox(internet=True, egress=named.only("allowed.test")) as sandbox:
        _, asked = tool(api, sandbox, "request_access", host="other.test")
        path = f"{PATH}/{sandbox}/egress/requests/{asked['approvalId']}"
        assert person.post(path + "/deny", {"note": "not this one"})["state"] == "refused"
        status, answer = tool(api, sandbox, "request_access", host="other.test")
        assert status == 403 and "not this one" in json.dumps(answer), answer
        assert api.get(f"{PATH}/{sandbox}/egress/requests")["items"] == []
        assert [item["state"] for item in api.get(f"{PATH}/{sandbox}/egress/requests?all=true")["items"]] == ["refused"]
        for wrong in ("allow", "deny"):
            with pytest.raises(atoll.ApiError) as late:
                person.post(f"{path}/{wrong}")
            assert late.value.status == 409, wrong


def test_the_approval_of_a_request_is_the_same_as_allowing_it(api, person, there):
    with api.sandbox(internet=True, egress=named.only("allowed.test")) as sandbox:
        _, asked = tool(api, sandbox, "request_access", host="other.test")
        assert person.post(f"/v1/approvals/{asked['approvalId']}/approve")["state"] == "used"
        assert "other.test" in api.get(f"{PATH}/{sandbox}")["egress"]["allow"]


@pytest.mark.parametrize("host, status, said", [
    ("not a host", 400, "no host name"), ("10.0.0.0/8", 400, "one address"), ("10.0.0.7", 403, "no sandbox may reach"),
    ("169.254.169.254", 403, "no sandbox may reach"), ("*.test", 400, "no host name"), ("", 400, "host"),
])
def test_what_cannot_be_asked_for(api, host, status, said):
    with api.sandbox(internet=True, egress=named.only("allowed.test")) as sandbox:
        got, answer = tool(api, sandbox, "request_access", host=host)
        assert got == status and said in json.dumps(answer), answer


def test_so_many_requests_of_a_sandbox_wait(api, there):
    with api.sandbox(internet=True, egress=named.only("allowed.test")) as sandbox:
        statuses = [tool(api, sandbox, "request_access", host=f"n{at}.test")[0] for at in range(21)]
        assert statuses[:20] == [202] * 20 and statuses[20] == 429, statuses


def test_the_mode_ask_asks_by_itself_once_for_each_host(api, person, there):
    other = there.addresses[2]
    rules = named.only("allowed.test") | {"mode": "ask"}
    with api.sandbox(internet=True, egress=rules) as sandbox:
        assert api.get(f"{PATH}/{sandbox}")["egress"]["mode"] == "ask"
        run(api, sandbox, f'http("other.test", "{other}"); https("other.test", "{other}"); look_up("other.test")')

        def requests():
            return api.get(f"{PATH}/{sandbox}/egress/requests")["items"]
        atoll.wait_for(requests, 10, "a request")
        run(api, sandbox, f'http("other.test", "{other}")')
        [request] = requests()
        assert request["inputObject"]["host"] == "other.test" and request["keyName"] is None
        assert api.post(f"{PATH}/{sandbox}/egress/requests/{request['id']}/allow")["state"] == "used"
        egress = api.get(f"{PATH}/{sandbox}")["egress"]
        assert "other.test" in egress["allow"] and egress["mode"] == "ask"
        assert "hello" in run(api, sandbox, f'print(http("other.test", "{other}"))')["stdout"]


def test_the_mode_watch_lets_through_and_tells(api, there):
    other = there.addresses[2]
    with api.sandbox(internet=True, egress=named.only("allowed.test") | {"mode": "watch"}) as sandbox:
        result = run(api, sandbox, f'print(http("other.test")); print(raw(b"GET / HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n", "{other}", 8080))')
        assert result["stdout"].count("hello") == 2 and "network" not in result, result
        [by_name] = logged(api, sandbox, lambda row: row["host"] == "other.test")
        assert (by_name["decision"], by_name["code"]) == ("watched", "host-not-allowed"), by_name
        [by_address] = logged(api, sandbox, lambda row: row["port"] == 8080)
        assert (by_address["decision"], by_address["rule"]) == ("watched", "0.0.0.0/0"), by_address
        api.call("PUT", f"{PATH}/{sandbox}/egress", named.only("allowed.test"))
        assert "hello" not in run(api, sandbox, f'print(http("other.test", "{other}"))')["stdout"]


def test_a_host_is_allowed_by_one_call_and_others_stay(api, there):
    with api.sandbox(internet=True, egress=named.only("allowed.test")) as sandbox:
        egress = api.post(f"{PATH}/{sandbox}/egress/allow", {"host": "other.test"})["egress"]
        assert egress == named.only("allowed.test", "other.test")
        assert api.post(f"{PATH}/{sandbox}/egress/allow", {"host": "other.test"})["egress"] == egress
        for wrong in ("a b", "*", ""):
            with pytest.raises(atoll.ApiError) as refused:
                api.post(f"{PATH}/{sandbox}/egress/allow", {"host": wrong})
            assert refused.value.status == 400, wrong
    with api.sandbox(internet=True, egress={"deny": ["9.9.9.9"]}) as sandbox:
        with pytest.raises(atoll.ApiError) as refused:
            api.post(f"{PATH}/{sandbox}/egress/allow", {"host": "other.test"})
        assert refused.value.status == 400 and "not all addresses are denied" in refused.value.message


def test_presets_are_lists_of_hosts(api):
    presets = {item["name"]: item["hosts"] for item in api.get("/api/sandbox/egress/presets")["items"]}
    assert {"package-registries", "git-hosts", "ai-apis", "nothing"} <= set(presets) and presets["nothing"] == []
    with api.sandbox(internet=True, egress={"presets": ["git-hosts", "nothing"], "allow": ["allowed.test"]}) as sandbox:
        egress = api.get(f"{PATH}/{sandbox}")["egress"]
        assert egress == {"allow": ["allowed.test", *presets["git-hosts"]], "deny": ["0.0.0.0/0"]}, egress
        api.call("PUT", f"{PATH}/{sandbox}/egress", {"presets": ["nothing"]})
        assert api.get(f"{PATH}/{sandbox}")["egress"] == {"allow": [], "deny": ["0.0.0.0/0"]}
        with pytest.raises(atoll.ApiError) as refused:
            api.call("PUT", f"{PATH}/{sandbox}/egress", {"presets": ["everything"]})
        assert refused.value.status == 400 and "package-registries" in (refused.value.hint or ""), refused.value


@pytest.mark.parametrize("rules, query, decision, code, rule", [
    (named.only("*.test"), "host=a.test", "allowed", "ok", "*.test"),
    (named.only("*.test"), "host=a.test&port=22", "denied", "host-not-allowed", None),
    (named.only("*.test"), "host=other.example", "denied", "host-not-allowed", None),
    (named.only("*.test"), "host=9.9.9.9", "denied", "address-denied", "0.0.0.0/0"),
    (named.only("9.9.9.9"), "host=9.9.9.9", "allowed", "ok", None),
    ({"deny": ["9.9.9.0/24"]}, "host=9.9.9.9", "denied", "address-denied", "9.9.9.0/24"),
    ({"deny": ["9.9.9.0/24"]}, "host=10.0.0.1", "denied", "range-refused", None),
    (named.only("*.test") | {"mode": "watch"}, "host=other.example", "watched", "host-not-allowed", None),
])
def test_it_is_told_what_would_be_decided(api, rules, query, decision, code, rule):
    with api.sandbox(internet=True, egress=rules) as sandbox:
        answer = api.get(f"{PATH}/{sandbox}/egress/check?{query}")
        assert (answer["decision"], answer["code"], answer["rule"]) == (decision, code, rule), answer
        for wrong in ("host=a%20b", "port=4", "host=a.test&port=99999"):
            with pytest.raises(atoll.ApiError) as refused:
                api.get(f"{PATH}/{sandbox}/egress/check?{wrong}")
            assert refused.value.status == 400, wrong


def said(server, *words):
    ended = server.cli(*words)
    assert ended.returncode == 0, ended
    return ended.stdout.decode()


def test_the_command_line(api, there, server):
    other = there.addresses[2]
    with api.sandbox(internet=True, egress=named.only("allowed.test") | {"mode": "ask"}) as sandbox:
        run(api, sandbox, f'http("other.test", "{other}")')
        logged(api, sandbox, lambda row: row["host"] == "other.test")
        assert "other.test" in said(server, "egress", "log", sandbox, "--decision", "denied")
        assert "other.test" in said(server, "egress", "requests", sandbox)
        [request] = api.get(f"{PATH}/{sandbox}/egress/requests")["items"]
        assert "denied (no rule allows it)" in said(server, "egress", "check", sandbox, "--host", "other.test")
        assert said(server, "egress", "allow", sandbox, request["id"]).strip() == "used"
        assert said(server, "egress", "allow", sandbox, "third.test").strip() == "third.test"
        assert "allowed" in said(server, "egress", "check", sandbox, "--host", "third.test")
        assert "package-registries" in said(server, "egress", "preset")
        said(server, "network", sandbox, "--preset", "nothing", "--mode", "watch")
        assert api.get(f"{PATH}/{sandbox}")["egress"] == {"allow": [], "deny": ["0.0.0.0/0"], "mode": "watch"}
