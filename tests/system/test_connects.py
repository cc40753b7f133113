# SPDX-License-Identifier: Apache-2.0
"""Connects against a real OAuth server: code with PKCE, device, client credentials, renewal, revocation; answers that are not for this login."""

import contextlib
import json
import os
import subprocess
import urllib.parse

import pytest

import atoll
from test_audit import wait_row
import clients
from test_single_sign_on import Provider

pytestmark = pytest.mark.needs_root
SECRET = "a secret: with % and &"


class OAuth(Provider):
    def __init__(self, callback):
        self.port = atoll.free_port()
        self.issuer = f"http://localhost:{self.port}"
        program = [clients.node("oidc-provider", since=(20, 0)), clients.program("oauth.mjs"), str(self.port), callback]
        self.process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline().strip() == "up"

    def ask(self, method, path, body=None, headers=None):
        return super().ask(method, path, body, {**(headers or {}), "Host": f"localhost:{self.port}"})

    def calls(self, grant):
        return [call for call in json.loads(self.ask("GET", "/calls").text) if call["grant"] == grant]


@contextlib.contextmanager
def refused(code, word=""):
    with pytest.raises(atoll.ApiError) as failure:
        yield
    assert failure.value.code == code and word in str(failure.value), failure.value


@pytest.fixture(scope="module")
def place():
    if os.geteuid() != 0:
        pytest.skip("needs root")
    running = atoll.Server(provider="null", flags=["--webhook-allow-private", "true"])
    running.oauth = OAuth(f"http://127.0.0.1:{running.port}/v1/connects/callback")
    running.start()
    api = running.api()
    api.post("/v1/credentials", {"name": "app", "kind": "client", "hosts": ["localhost"], "fields": {"client_id": "app", "client_secret": SECRET}})
    api.post("/v1/credentials", {"name": "public", "kind": "client", "hosts": ["localhost"], "fields": {"client_id": "public"}})
    yield running
    running.remove_all()
    running.oauth.stop()


@pytest.fixture(autouse=True)
def person(place):
    place.oauth.seat(refuses=False, life=3600)


def begin(place, name, **more):
    body = {"name": name, "issuer": place.oauth.issuer, "client": "app", "hosts": ["api.example.com"], "scopes": ["openid", "repo"], **more}
    return place.api().post("/v1/connects", body)


def come_back(place, location):
    path = location.removeprefix(f"http://127.0.0.1:{place.port}")
    assert path.startswith("/v1/connects/callback?"), location
    return place.api().raw("GET", path)


def connect(place, name, **more):
    made = begin(place, name, **more)
    answer = come_back(place, place.oauth.walk(made["url"]))
    assert answer.status == 200 and name in answer.body.decode(), answer.body
    return place.api().get(f"/v1/connects/{made['id']}")


def state_of(place, made):
    return place.api().get(f"/v1/connects/{made['id']}")


def wait_state(place, made, state):
    return atoll.wait_for(lambda: state_of(place, made)["state"] == state and state_of(place, made), 60, lambda: f"{state}: {state_of(place, made)}")


def test_a_login_in_a_browser_makes_a_credential(place):
    made = begin(place, "by-code", about="reads repositories")
    asked = urllib.parse.parse_qs(urllib.parse.urlsplit(made["url"]).query)
    assert asked["response_type"] == ["code"] and asked["code_challenge_method"] == ["S256"] and len(asked["state"][0]) >= 32
    assert made["state"] == "pending" and state_of(place, made).get("url") is None
    back = place.oauth.walk(made["url"])
    assert come_back(place, back).status == 200
    done = state_of(place, made)
    assert done["state"] == "done" and done["renews_at"] and done["problem"] is None
    credential = place.api().get("/v1/credentials/by-code")
    assert (credential["kind"], credential["hosts"], credential["field_names"]) == ("oauth", ["api.example.com"], ["token"])
    assert credential["about"] == "reads repositories" and credential["expires_at"] and credential["state"] == "ok"
    assert place.oauth.calls("authorization_code")[-1] == {"grant": "authorization_code", "status": 200, "error": None, "client": "basic"}
    row = wait_row(place.api(), action="connects.finish", target=made["id"])
    assert (row["result"], row["status"], row["via"], row["project"]) == ("ok", 200, "public", "default")
    assert f"credential {credential['id']}" in row["after"] and row["path"] == "/v1/connects/callback"
    # The same answer again is another's.
    again = come_back(place, back)
    assert again.status == 403 and b"credential" not in again.body
    wait_row(place.api(), action="connects.finish", result="refused", status=403)
    assert len(place.oauth.calls("authorization_code")) == 1


def test_a_login_again_replaces_the_values(place):
    first, one = connect(place, "again"), place.api().get("/v1/credentials/again")
    second, two = connect(place, "again"), place.api().get("/v1/credentials/again")
    assert one["id"] == two["id"] and one["fingerprint"] != two["fingerprint"] and two["version"] == one["version"] + 1
    with refused("not_found"):
        place.api().get(f"/v1/connects/{first['id']}")
    assert state_of(place, second)["state"] == "done"
    assert kinds_about(place, "again") == ["credential.created", "credential.updated"]


def kinds_about(place, name):
    return [e["kind"] for e in place.api().get("/v1/events?last=1000&kind=credential.*")["items"] if e["text"] == name and e["kind"] != "credential.used"]


def test_a_refusal_and_a_foreign_answer_fail(place):
    place.oauth.seat(refuses=True)
    made = begin(place, "no")
    assert b"access_denied" in come_back(place, place.oauth.walk(made["url"])).body
    assert state_of(place, made)["state"] == "failed" and "access_denied" in state_of(place, made)["problem"]
    place.oauth.seat(refuses=False)
    made = begin(place, "no")
    state = urllib.parse.parse_qs(urllib.parse.urlsplit(made["url"]).query)["state"][0]
    base = f"http://127.0.0.1:{place.port}/v1/connects/callback?"
    assert come_back(place, base + urllib.parse.urlencode({"code": "x", "state": state, "iss": "https://other.example.com"})).status == 403
    assert state_of(place, made)["state"] == "pending"
    assert come_back(place, base + urllib.parse.urlencode({"code": "x", "state": "0" * 64})).status == 403
    assert come_back(place, base + urllib.parse.urlencode({"code": "made-up", "state": state})).status == 403
    assert state_of(place, made)["state"] == "failed"
    with refused("not_found"):
        place.api().get("/v1/credentials/no")


def test_a_device_gets_its_tokens(place):
    made = begin(place, "by-device", client="public", method="device", scopes=["openid", "offline_access"])
    assert made["user_code"] and made["verification_uri"].startswith(place.oauth.issuer) and made["interval_ms"] >= 1000
    atoll.wait_for(lambda: place.oauth.calls("urn:ietf:params:oauth:grant-type:device_code"), 60, "a first question")
    assert place.oauth.calls("urn:ietf:params:oauth:grant-type:device_code")[0]["error"] == "authorization_pending"
    place.oauth.seat(userCode=made["user_code"])
    wait_state(place, made, "done")
    assert place.api().get("/v1/credentials/by-device")["kind"] == "oauth"


def test_an_application_gets_its_tokens(place):
    made = begin(place, "by-client", method="client", scopes=["repo"])
    assert made["state"] == "done" and place.api().get("/v1/credentials/by-client")["state"] == "ok"
    with refused("unavailable", "refused"):
        begin(place, "by-public", method="client", client="public")
    assert not [row for row in place.api().get("/v1/connects")["items"] if row["name"] == "by-public"]


def test_tokens_are_renewed_before_their_end(place):
    place.oauth.seat(life=6)
    made = connect(place, "renewed")
    first = place.api().get("/v1/credentials/renewed")

    def renewed():
        now = place.api().get("/v1/credentials/renewed")
        return now["fingerprint"] != first["fingerprint"] and now["expires_at"] > first["expires_at"] and now
    now = atoll.wait_for(renewed, 60, "other tokens")
    # A renewal is no other version: consents stay.
    assert now["version"] == first["version"] and state_of(place, made)["state"] == "done"
    assert kinds_about(place, "renewed") == ["credential.created"]
    assert all(call["status"] == 200 for call in place.oauth.calls("refresh_token"))


def test_a_refresh_token_that_is_refused_needs_a_login(place):
    place.oauth.seat(life=6)
    made = connect(place, "lost")
    place.oauth.ask("PUT", "/person", json.dumps({"forget": True}))
    wait_state(place, made, "needs_login")
    assert place.api().get("/v1/credentials/lost")["state"] == "needs_login"
    place.oauth.ask("PUT", "/person", json.dumps({"forget": False}))
    connect(place, "lost")
    assert place.api().get("/v1/credentials/lost")["state"] == "ok"


def test_a_removal_revokes_at_the_service(place):
    made = connect(place, "gone")
    before = len(place.oauth.calls("revocation"))
    place.api().delete(f"/v1/connects/{made['id']}")
    # The refresh token and the access token.
    assert [call["status"] for call in place.oauth.calls("revocation")[before:]] == [200, 200]
    for path in (f"/v1/connects/{made['id']}", "/v1/credentials/gone"):
        with refused("not_found"):
            place.api().get(path)


def test_the_client_s_secret_goes_to_its_hosts_only(place):
    place.api().post("/v1/credentials", {"name": "elsewhere", "kind": "client", "hosts": ["auth.example.com"],
                                         "fields": {"client_id": "app", "client_secret": SECRET}})
    with refused("forbidden", "localhost"):
        begin(place, "x", client="elsewhere")
    place.api().post("/v1/credentials", {"name": "plain", "hosts": ["localhost"], "fields": {"token": "t"}})
    for more, kind, word in [({"client": "plain"}, "invalid_request", "kind"), ({"client": "none"}, "not_found", "none"),
                             ({"issuer": "http://localhost:1"}, "unavailable", "issuer"), ({"preset": "npm", "issuer": None}, "unsupported", "npm"),
                             ({"preset": "unknown"}, "invalid_request", "github"), ({"name": "plain"}, "conflict", "plain"),
                             ({"hosts": ["*.com"]}, "invalid_request", "*.com")]:
        body = {"name": "x", "issuer": place.oauth.issuer, "client": "app", "hosts": ["api.example.com"], **more}
        with refused(kind, word):
            place.api().post("/v1/connects", {name: value for name, value in body.items() if value})


def test_presets_say_hosts_fields_and_addresses(place):
    presets = {item["name"]: item for item in place.api().get("/v1/credential-presets")["items"]}
    assert set(presets) == {"anthropic", "aws", "github", "gitlab", "google", "notion", "npm", "openai", "pypi", "slack"}
    assert presets["github"]["oauth"]["token"].startswith("https://github.com/") and "token" not in presets["npm"].get("oauth", {})
    for name, preset in presets.items():
        fields = {field["name"]: "x" for field in preset["fields"]}
        made = place.api().post("/v1/credentials", {"name": f"preset-{name}", "kind": preset["kind"], "hosts": preset["hosts"], "fields": fields})
        assert made["state"] == "ok"


def test_no_secret_is_told_or_stored_in_plain(place):
    connect(place, "sealed")
    told = json.dumps([place.api().get("/v1/connects"), place.api().get("/v1/credentials")])
    assert SECRET not in told and "refresh_token" not in told and "verifier" not in told
    found = subprocess.run(["grep", "-rlaF", SECRET, str(place.data)], capture_output=True, text=True, timeout=60)
    assert found.stdout == "" and SECRET not in place.log_text()
