# SPDX-License-Identifier: Apache-2.0
"""E2B's rules for requests and Daytona's secrets are rules of credentials: their values go to hosts, and nowhere else."""

import contextlib
import json
import shutil
import sqlite3

import pytest

import atoll
import far_services

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not all(map(shutil.which, ("ip", "nft", "openssl", "curl"))), reason="needs ip, nft, openssl and curl")]
CLOSED = {"allowOut": ["*.test"], "denyOut": ["0.0.0.0/0"]}


@pytest.fixture(scope="module")
def world():
    with far_services.running() as both:
        yield both


@pytest.fixture(scope="module")
def there(world):
    return world[0]


@pytest.fixture(scope="module")
def server(world):
    return world[1]


def bearer(value):
    return {"api.test": [{"transform": {"headers": {"Authorization": f"Bearer {value}", "X-Team": value}}}]}


class Made:
    """A sandbox of E2B's or Daytona's client."""

    def __init__(self, api, path, body):
        answer = api.post(path, body)
        self.api, self.id = api, answer.get("sandboxID") or answer["id"]

    def __enter__(self):
        return self.id

    def __exit__(self, *_):
        self.api.remove(self.id)


def e2b(api, network, **more):
    return Made(api, "/v2/sandboxes", {"templateID": "host", "timeout": 600, "network": network, **more})


def shown(api, sandbox):
    return api.get(f"/sandboxes/{sandbox}").get("network", {})


def ask(api, sandbox, path, host="api.test", more=""):
    """The answer of the page, whose values the proxy has masked; None: there is none."""
    done = api.exec(sandbox, f"curl -sSf {more} https://{host}{path}", timeout_ms=30000)
    return json.loads(done["stdout"]) if done["exit_code"] == 0 else None


def ask_trusting(api, sandbox, path, **more):
    return atoll.wait_for(lambda: ask(api, sandbox, path, **more), 30, lambda: str(api.exec(sandbox, f"curl -sSv https://api.test{path}")))


def came(there, path):
    return [line.split(" ")[-1] for line in list(there.came) if f" {path} " in line]


def last(there, path):
    """The service tells of a request after it has answered it."""
    return atoll.wait_for(lambda: came(there, path), 20, f"a request for {path}")[-1]


def refused(api, status, word, path, body):
    answer = api.raw("POST", path, body)
    assert answer.status == status and word in answer.body.decode(), (answer.status, answer.body, body)


@pytest.mark.parametrize("network", [{}, CLOSED], ids=["open", "closed"])
def test_e2b_puts_a_literal_value_in_and_shows_it_to_no_client(api, there, server, network):
    value = there.kept["token"]
    with e2b(api, {**network, "rules": bearer(value)}) as sandbox:
        answer = ask_trusting(api, sandbox, "/literal")
        assert last(there, "/literal") == "good" and set(answer["headers"]["X-Team"]) == {"*"}
        headers = {"Authorization": "***", "X-Team": "***"}
        assert shown(api, sandbox) == {**network, "rules": {"api.test": [{"transform": {"headers": headers}}]}}
        assert value not in json.dumps(api.get(f"/api/sandbox/instances/{sandbox}")) + json.dumps(api.get("/v1/credentials"))
        assert far_services.places_with(server, api, sandbox, [value]) == []
        fork = api.post(f"/api/sandbox/instances/{sandbox}/fork", {})["items"][0]["id"]
        try:
            ask_trusting(api, fork, "/of-the-fork")
            assert last(there, "/of-the-fork") == "good"
        finally:
            api.remove(fork)


def test_e2b_s_rules_are_replaced_and_end(api, there):
    value = there.kept["token"]
    with e2b(api, {**CLOSED, "rules": bearer("old-value")}) as sandbox:
        atoll.wait_for(lambda: ask(api, sandbox, "/old") or came(there, "/old"), 30, "the old value")
        assert last(there, "/old") == "bad"
        api.call("PUT", f"/sandboxes/{sandbox}/network", {**CLOSED, "rules": bearer(value)})
        ask_trusting(api, sandbox, "/new")
        assert last(there, "/new") == "good"
        api.call("PUT", f"/sandboxes/{sandbox}/network", CLOSED)
        assert shown(api, sandbox) == CLOSED
        assert not ask(api, sandbox, "/ended") and last(there, "/ended") == "none"


NEVER = {"id": "never", "host": "api.test", "action": "deny", "match": {"path": {"prefix": "/never"}}}


def ids(api, sandbox):
    return [rule["id"] for rule in api.get(f"/api/sandbox/instances/{sandbox}")["egress"].get("rules", [])]


def native_rule(api, sandbox, **more):
    own = api.get(f"/api/sandbox/instances/{sandbox}")["egress"]
    api.call("PUT", f"/api/sandbox/instances/{sandbox}/egress", {"allow": own["allow"], "deny": own["deny"], "rules": [NEVER, *own.get("rules", [])], **more})


def test_rules_of_the_native_api_stay_when_e2b_s_are_replaced(api, there):
    value = there.kept["token"]
    with e2b(api, {**CLOSED, "rules": bearer(value)}) as sandbox:
        native_rule(api, sandbox)
        assert ids(api, sandbox) == ["never", "e2b-1"]
        for network, wanted in (({**CLOSED, "rules": bearer(value)}, ["never", "e2b-1"]), (CLOSED, ["never"]), ({"allowOut": ["free.test"], "denyOut": ["0.0.0.0/0"]}, ["never"]),
                                ({"allow_internet_access": False}, ["never"]), ({}, ["never"]), ({"rules": bearer(value)}, ["never", "e2b-1"])):
            api.call("PUT", f"/sandboxes/{sandbox}/network", network)
            assert ids(api, sandbox) == wanted, network
            assert NEVER["id"] not in json.dumps(shown(api, sandbox))
            if network.get("allow_internet_access") is False or network.get("allowOut") == ["free.test"]:
                assert not ask(api, sandbox, "/cut")
            else:
                ask_trusting(api, sandbox, "/kept") if "rules" in network else ask(api, sandbox, "/kept")
                assert not ask(api, sandbox, "/never/x"), network
        assert last(there, "/kept") == "good" and not came(there, "/never/x") and not came(there, "/cut")


def test_a_value_is_kept_only_for_a_sandbox_that_can_have_it(api, server):
    def kept():
        with contextlib.closing(sqlite3.connect(server.data / "store/atoll.db", timeout=30)) as db:
            return db.execute("SELECT COUNT(*) FROM credentials WHERE name LIKE 'literal%'").fetchone()[0]
    before = kept()
    with Made(api, "/v2/sandboxes", {"templateID": "host", "timeout": 600, "allow_internet_access": False}) as sandbox:
        answer = api.raw("PUT", f"/sandboxes/{sandbox}/network", {"rules": bearer("a-value")})
        assert answer.status >= 400, answer.body
    assert api.raw("PUT", "/sandboxes/nothing/network", {"rules": bearer("a-value")}).status == 404
    # The first domain is sound, the second is not.
    refused(api, 400, "wildcard", "/v2/sandboxes", {"templateID": "host", "network": {"rules": {**bearer("a-value"), "*.b.test": [{}]}}})
    refused(api, 400, "no network", "/v2/sandboxes", {"templateID": "host", "allow_internet_access": False, "network": {"rules": bearer("a-value")}})
    assert kept() == before


def test_e2b_s_placeholders_name_secrets(api, there):
    api.post("/secrets", {"name": "Api_Token", "value": "first-value"})
    rules = bearer("${e2b.secrets.API_token}")
    with e2b(api, {"rules": rules}) as sandbox:
        atoll.wait_for(lambda: ask(api, sandbox, "/first") or came(there, "/first"), 30, "the first value")
        assert last(there, "/first") == "bad"
        api.call("POST", "/secrets/api_token", {"value": there.kept["token"]})
        atoll.wait_for(lambda: ask(api, sandbox, "/second"), 20, "the second value")
        assert shown(api, sandbox)["rules"] == bearer("${e2b.secrets.api_token}")
        api.delete("/secrets/api_token")
        atoll.wait_for(lambda: not ask(api, sandbox, "/third"), 20, "a refusal")


def test_e2b_s_wrong_rules_are_refused_with_a_sentence(api):
    def refuse(status, word, rules, **network):
        refused(api, status, word, "/v2/sandboxes", {"templateID": "host", "network": {**network, "rules": rules}})
    value = bearer
    for rules, word in [({"*.api.test": [{}]}, "wildcard"), ({"1.2.3.4": [{}]}, "domain name"), ({"a" * 129: [{}]}, "128"),
                        ({f"a{i}.test": [{}] for i in range(11)}, "10 domains"), ({"api.test": [{}, {}]}, "more than one rule"),
                        ({"api.test": [{"transform": {"headers": {f"x-{i}": "v" for i in range(21)}}}]}, "20 headers"),
                        ({"api.test": [{"transform": {"headers": {"x" * 65: "v"}}}]}, "64"), (value("x" * 2049), "2048"), (value("a\nb"), "printable"),
                        ({"api.test": [{"transform": {"headers": {"Host": "other.test"}}}]}, "header"),
                        (value("${e2b.secrets.a"), "not closed"), (value("${e2b.secrets.}"), "no name"), (value("${e2b.secrets.${e2b.secrets.a}}"), "malformed"),
                        (value("${e2b.other}"), "${e2b.secrets.NAME}")]:
        refuse(400, word, rules)
    refuse(404, "nothing", value("${e2b.secrets.nothing}"))
    refuse(501, "identity", value("${e2b.identity.tokens.a}"))
    refuse(400, "api.test", value("v"), allowOut=["free.test"], denyOut=["0.0.0.0/0"])
    refuse(400, "allow", value("v"), denyOut=["1.2.3.4"])
    refused(api, 400, "no network", "/v2/sandboxes", {"templateID": "host", "allow_internet_access": False, "network": {"rules": value("v")}})


def test_a_kept_value_goes_to_its_own_host_only(api, there):
    """A member of the project reads the name of the value in the rules, and directs it elsewhere."""
    with e2b(api, {**CLOSED, "rules": bearer(there.kept["token"])}) as sandbox:
        ruled = api.get(f"/api/sandbox/instances/{sandbox}")["egress"]
        assert "${credential.literal_" in json.dumps(ruled)
        ruled["rules"][0]["host"] = "free.test"
        answer = api.raw("PUT", f"/api/sandbox/instances/{sandbox}/egress", ruled)
        assert answer.status == 400 and "free.test" in answer.body.decode(), answer.body
        name = ruled["rules"][0]["inject"][0]["value"].split("${credential.")[1].split(".")[0]
        assert api.raw("GET", f"/v1/credentials/{name}").status == 404
    api.post("/daytona/api/secret", {"name": "bound", "value": "a-value", "hosts": ["api.test"]})
    refused(api, 400, "free.test", "/v2/sandboxes", {"templateID": "host", "network": {
        "rules": {"free.test": [{"transform": {"headers": {"A": "${e2b.secrets.bound}"}}}]}}})


SECRET = "/daytona/api/secret"
BOX = "/daytona/api/sandbox"


def test_daytona_s_secret_is_put_in_where_its_placeholder_stands(api, there, server):
    value = there.kept["token"]
    made = api.post(SECRET, {"name": "API_KEY", "value": value, "hosts": ["api.test", "*.wild.test"]})
    assert made["hosts"] == ["api.test", "*.wild.test"] and value not in json.dumps(made) and "warning" not in made
    with Made(api, BOX, {"secrets": [{"TOKEN": "API_KEY"}]}) as sandbox:
        assert api.exec(sandbox, "printf %s $TOKEN")["stdout"] == made["placeholder"]
        ask_trusting(api, sandbox, "/daytona?in=$TOKEN", more='-H "Authorization: Bearer $TOKEN" -A "$TOKEN"')
        atoll.wait_for(lambda: [line for line in there.came if line.startswith(f"came api.test GET /daytona?in={value} good")], 20, lambda: there.came[-10:])
        answer = ask(api, sandbox, "/echo", more='-H "Authorization: Bearer $TOKEN" -A "$TOKEN"')
        assert answer["headers"]["User-Agent"] == made["placeholder"]
        # Another host gets the placeholder.
        api.exec(sandbox, 'curl -sS -H "Authorization: Bearer $TOKEN" https://free.test/elsewhere')
        assert last(there, "/elsewhere") == "bad"
        found = api.get(f"{BOX}/{sandbox}")
        assert not found.get("domainAllowList") and not found["networkBlockAll"]
        assert far_services.places_with(server, api, sandbox, [value]) == []


def test_daytona_s_secrets_are_replaced_and_detached(api, there):
    api.post(SECRET, {"name": "one", "value": "another-value", "hosts": ["api.test"]})
    two = api.post(SECRET, {"name": "two", "value": there.kept["token"], "hosts": ["api.test"]})
    with Made(api, BOX, {"secrets": [{"ONE": "one"}], "domainAllowList": "*.test"}) as sandbox:
        atoll.wait_for(lambda: ask(api, sandbox, "/one", more='-H "Authorization: Bearer $ONE"') or came(there, "/one"), 30, "an answer")
        api.call("PUT", f"{BOX}/{sandbox}/secrets", {"secrets": [{"TWO": "two"}]})
        assert api.exec(sandbox, "printf %s-%s \"$ONE\" \"$TWO\"")["stdout"] == f"-{two['placeholder']}"
        ask_trusting(api, sandbox, "/two", more='-H "Authorization: Bearer $TWO"')
        assert last(there, "/two") == "good"
        assert api.get(f"{BOX}/{sandbox}")["domainAllowList"] == "*.test"
        # The network changes, and the secret stays where it may go.
        api.post(f"{BOX}/{sandbox}/network-settings", {"domainAllowList": "api.test"})
        ask_trusting(api, sandbox, "/narrow", more='-H "Authorization: Bearer $TWO"')
        api.post(f"{BOX}/{sandbox}/network-settings", {"domainAllowList": "free.test"})
        assert not ask(api, sandbox, "/gone", more='-H "Authorization: Bearer $TWO"')
        api.call("PUT", f"{BOX}/{sandbox}/secrets", {"secrets": []})
        assert api.exec(sandbox, "printf %s \"$TWO\"")["stdout"] == ""
        assert "rules" not in api.get(f"/api/sandbox/instances/{sandbox}")["egress"]


def test_rules_of_the_native_api_stay_when_daytona_s_are_replaced(api, there):
    api.post(SECRET, {"name": "STAYS", "value": there.kept["token"], "hosts": ["api.test"]})
    with Made(api, BOX, {"secrets": [{"TOKEN": "STAYS"}], "domainAllowList": "api.test"}) as sandbox:
        native_rule(api, sandbox)
        assert ids(api, sandbox)[0] == "never" and len(ids(api, sandbox)) == 2
        api.post(f"{BOX}/{sandbox}/network-settings", {"domainAllowList": "api.test,free.test"})
        assert ids(api, sandbox)[0] == "never" and len(ids(api, sandbox)) == 2
        ask_trusting(api, sandbox, "/stays", more='-H "Authorization: Bearer $TOKEN"')
        assert not ask(api, sandbox, "/never/y") and not came(there, "/never/y")
        api.post(f"{BOX}/{sandbox}/network-settings", {"networkBlockAll": True})
        assert ids(api, sandbox) == ["never"]


def test_daytona_s_secret_without_hosts_says_so(api, there):
    made = api.post(SECRET, {"name": "nowhere", "value": there.kept["token"]})
    assert made["hosts"] == [] and "hosts" in made["warning"]
    with Made(api, BOX, {"secrets": [{"TOKEN": "nowhere"}]}) as sandbox:
        assert api.exec(sandbox, "printf %s $TOKEN")["stdout"] == made["placeholder"]
        assert "rules" not in api.get(f"/api/sandbox/instances/{sandbox}")["egress"]


def test_daytona_s_wrong_secrets_are_refused(api):
    api.post(SECRET, {"name": "many", "value": "a-value", "hosts": ["api.test"]})
    for secrets, status, word in [([{"A": "no-such"}], 404, "no-such"), ([{"A": "x", "B": "y"}], 400, "one variable"), ([{}], 400, "one variable"),
                                  ([{"A": 1}], 400, "one variable"), ([{f"A{i}": "many"} for i in range(33)], 429, "32")]:
        refused(api, status, word, BOX, {"secrets": secrets})
