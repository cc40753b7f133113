# SPDX-License-Identifier: Apache-2.0
"""OpenID Connect against a certified provider: code with PKCE, both algorithms, groups, and answers that are not for this browser."""

import http.client
import http.cookies
import json
import os
import subprocess
import time
import urllib.parse

import pytest

import atoll
import clients
import test_sign_in
from test_audit import wait_row
from test_sign_in import Browser, refused

pytestmark = pytest.mark.needs_root
START = "/v1/sign-in/oidc"
ROLES = "admins=admin@default,devs=member@default,viewers=viewer@other,root=admin@*"


class Provider:
    def __init__(self, algorithm, callback):
        self.port = atoll.free_port()
        self.issuer = f"http://127.0.0.1:{self.port}"
        program = [clients.node("oidc-provider", since=(20, 0)), clients.program("oidc.mjs"), str(self.port), algorithm, callback]
        self.process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline().strip() == "up"

    def ask(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        answer.text = answer.read().decode()
        connection.close()
        return answer

    def seat(self, **person):
        """Who sits at the browser next."""
        self.ask("PUT", "/person", json.dumps(person or None))

    def walk(self, location):
        """What the browser does at the provider, until it is sent back: the address that it is sent to."""
        cookies = {}
        while location.startswith((self.issuer, "/")):
            path = location.removeprefix(self.issuer)
            answer = self.ask("GET", path, headers={"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())} if cookies else {})
            for line in answer.headers.get_all("Set-Cookie") or []:
                for name, morsel in http.cookies.SimpleCookie(line).items():
                    cookies[name] = morsel.value
            assert answer.status in (302, 303), answer.text
            location = answer.headers["Location"]
        return location

    def stop(self):
        self.process.terminate()
        self.process.wait(10)
        self.process.stdout.close()


def begin(browser, path=START):
    answer = browser.raw("GET", path)
    assert answer.status == 302, answer.body
    return answer.headers["Location"]


def come_back(browser, location):
    answer = browser.raw("GET", location.removeprefix(browser.own))
    assert answer.status == 302 and answer.headers["Cache-Control"] == "no-store"
    return answer.headers["Location"]


def sign_in(place, browser=None, **person):
    browser = browser or Browser(place)
    place.oidc.seat(**person)
    browser.page = come_back(browser, place.oidc.walk(begin(browser)))
    return browser


@pytest.fixture(scope="module", params=["RS256", "ES256"])
def place(request):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    running = atoll.Server(provider="null")
    provider = Provider(request.param, f"http://127.0.0.1:{running.port}/v1/sign-in/oidc/callback")
    running.flags += ["--oidc-issuer", provider.issuer, "--oidc-client-id", "atoll", "--oidc-client-secret", "a secret: with % and &",
                      "--oidc-name", "Our login", "--oidc-scopes", "openid email profile groups", "--oidc-roles", ROLES]
    running.start()
    running.oidc = provider
    running.api().post("/v1/projects", {"name": "other", "owner": "ann@example.com"})
    yield running
    running.remove_all()
    provider.stop()


def other_project(place):
    return next(row["id"] for row in place.api().get("/v1/projects")["items"] if row["name"] == "other")


def test_the_sign_in_page_is_told(place):
    assert Browser(place).get("/v1/sign-in")["oidc"] == {"name": "Our login", "path": START}


def test_the_question_is_complete(place):
    browser = Browser(place)
    answer = browser.raw("GET", START)
    asked = urllib.parse.parse_qs(urllib.parse.urlsplit(answer.headers["Location"]).query)
    assert asked["response_type"] == ["code"] and asked["code_challenge_method"] == ["S256"] and asked["client_id"] == ["atoll"]
    assert asked["redirect_uri"] == [f"{browser.own}/v1/sign-in/oidc/callback"]
    texts = {asked[name][0] for name in ("state", "nonce", "code_challenge")}
    secret = browser.cookies["atoll_oidc"].split(".")[0]
    assert len(texts) == 3 and not any(secret in text or len(text) < 43 for text in texts)
    assert "HttpOnly" in answer.headers["Set-Cookie"] and "SameSite=Lax" in answer.headers["Set-Cookie"]


def test_a_person_with_a_group_becomes_a_member(place):
    cy = sign_in(place, sub="cy", email="Cy@Example.com", email_verified=True, name="Cy", groups=["admins", "more"])
    assert cy.page == "/console/"
    session = cy.get("/v1/session")
    assert (session["user"]["email"], session["user"]["name"], session["user"]["is_admin"]) == ("cy@example.com", "Cy", False)
    assert [(row["id"], row["role"]) for row in session["projects"]] == [("default", "admin")]
    assert "atoll_oidc" not in cy.cookies
    cy.csrf = session["csrf_token"]
    assert cy.call("POST", "/api/sandbox/keys", {"name": "mine"})["name"] == "mine"
    assert place.api().get("/v1/users/cy@example.com")["issuer"] == place.oidc.issuer
    row = wait_row(place.api(), action="session.create", target="cy@example.com")
    assert (row["user"], row["result"], row["status"], row["via"]) == ("cy@example.com", "ok", 302, "public")
    assert row["path"] == "/v1/sign-in/oidc/callback" and row["address"] == "127.0.0.1"
    assert any(name.startswith("member cy@example.com") for name in row["after"]), row["after"]


def test_groups_decide_at_each_sign_in(place):
    sign_in(place, sub="boss", email="boss@example.com", email_verified=True, name="B", groups=["admins"])
    person = {"sub": "dan", "email": "dan@example.com", "email_verified": True, "name": "Dan"}
    dan = sign_in(place, **person, groups=["devs", "viewers", "root"])
    session = dan.get("/v1/session")
    assert session["user"]["is_admin"]
    roles = {row["id"]: row["role"] for row in session["projects"]}
    assert roles["default"] == "member" and roles[other_project(place)] == "viewer"
    sign_in(place, sub="second", email="second@example.com", email_verified=True, name="S", groups=["root"])
    dan = sign_in(place, **person, groups=["viewers"])
    session = dan.get("/v1/session")
    assert not session["user"]["is_admin"]
    assert {row["id"]: row["role"] for row in session["projects"]} == {other_project(place): "viewer"}


def test_a_stranger_without_a_group_is_refused(place):
    eve = sign_in(place, sub="eve", email="eve@example.com", email_verified=True, name="Eve", groups=["guests"])
    assert eve.page.startswith("/console/sign-in?error=forbidden&request=")
    wait_row(place.api(), action="session.create", result="refused", status=403)
    assert "atoll_session" not in eve.cookies
    refused(404, place.api().get, "/v1/users/eve@example.com")


@pytest.mark.parametrize("claims", [{"email_verified": False}, {}, {"email": None, "email_verified": True}])
def test_an_address_that_nobody_vouches_for_counts_for_nothing(place, claims):
    if not known(place, "zoe@example.com"):
        place.api().post("/v1/users", {"email": "zoe@example.com", "is_admin": True})
    thief = sign_in(place, **{"sub": "thief", "email": "zoe@example.com", "name": "T", "groups": ["admins"], **claims})
    assert thief.page.startswith("/console/sign-in?error=forbidden")
    assert not place.api().get("/v1/users/zoe@example.com")["issuer"]


def known(place, email):
    return email in [row["email"] for row in place.api().get("/v1/users?limit=1000")["items"]]


def test_an_invited_person_is_the_same_user_and_the_first_password_ends(place):
    admin = place.api()
    sign_in(place, sub="boss", email="boss@example.com", email_verified=True, name="B", groups=["admins"])
    email = f"fay{time.time_ns()}@example.com"
    made = admin.post(f"/v1/projects/{other_project(place)}/invitations", {"email": email, "role": "member"})
    planted = test_sign_in.join(place, made["link"], password="set by the inviter")
    fay = sign_in(place, sub=email, email=email, email_verified=True, name="Fay", groups=["devs"])
    assert fay.get("/v1/session")["user"]["id"] == planted.session["user"]["id"]
    refused(401, planted.get, "/v1/session")
    refused(401, Browser(place).sign_in, email=email, password="set by the inviter")
    # The address does not move to another person of the provider.
    again = sign_in(place, sub=email + "2", email=email, email_verified=True, name="F", groups=["devs"])
    assert again.page.startswith("/console/sign-in?error=forbidden")


def test_a_disabled_user_stays_out(place):
    person = {"sub": "gus", "email": "gus@example.com", "email_verified": True, "name": "Gus", "groups": ["devs"]}
    gus = sign_in(place, **person)
    place.api().call("PATCH", "/v1/users/gus@example.com", {"is_disabled": True})
    refused(401, gus.get, "/v1/session")
    assert sign_in(place, **person).page.startswith("/console/sign-in?error=unauthenticated")


def test_an_answer_is_for_one_browser_and_once(place):
    place.oidc.seat(sub="cy", email="cy@example.com", email_verified=True, name="Cy", groups=["admins"])
    mine, other, none = Browser(place), Browser(place), Browser(place)
    location = place.oidc.walk(begin(mine))
    begin(other)
    for thief in (other, none):
        assert come_back(thief, location).startswith("/console/sign-in?error=forbidden")
        assert "atoll_session" not in thief.cookies
    kept = dict(mine.cookies)
    assert come_back(mine, location) == "/console/"
    # The same answer again, with the cookie that was taken away: the provider knows the code no more.
    again = Browser(place)
    again.cookies = kept
    assert come_back(again, location).startswith("/console/sign-in?error=unavailable")
    assert "atoll_session" not in again.cookies


def test_a_wrong_answer_is_refused(place):
    place.oidc.seat(sub="cy", email="cy@example.com", email_verified=True, name="Cy", groups=["admins"])
    for change in [{"state": "0" * 64}, {"state": None}, {"iss": "https://other.example"}, {"code": None}, {"code": "wrong"}]:
        browser = Browser(place)
        parts = urllib.parse.urlsplit(place.oidc.walk(begin(browser)))
        query = {**dict(urllib.parse.parse_qsl(parts.query)), **change}
        path = parts.path + "?" + urllib.parse.urlencode({name: value for name, value in query.items() if value})
        assert come_back(browser, path).startswith("/console/sign-in?error="), change
        assert "atoll_session" not in browser.cookies
    refusing = Browser(place)
    place.oidc.seat()
    assert come_back(refusing, place.oidc.walk(begin(refusing))).startswith("/console/sign-in?error=unauthenticated")


@pytest.mark.parametrize("page, expected", [
    ("/console/sandboxes?x=1", "/console/sandboxes?x=1"), ("//evil.example", "/console/"), ("https://evil.example", "/console/"),
    ("/console//evil.example", "/console/"), ("/console/../v1/session", "/console/"), ("/console/\\evil", "/console/"),
    ("/console/a;b", "/console/"), ("/v1/session", "/console/")])
def test_it_returns_to_pages_of_the_console_only(place, page, expected):
    place.oidc.seat(sub="cy", email="cy@example.com", email_verified=True, name="Cy", groups=["admins"])
    browser = Browser(place)
    location = place.oidc.walk(begin(browser, START + "?" + urllib.parse.urlencode({"return_to": page})))
    assert come_back(browser, location) == expected


def test_new_keys_of_the_provider_are_found(place):
    sign_in(place, sub="cy", email="cy@example.com", email_verified=True, name="Cy", groups=["admins"])
    place.oidc.ask("POST", "/keys")

    addresses = iter(range(1, 250))

    def works():
        # From many addresses: each has a limit of failures.
        visitor = Browser(place, **{"X-Forwarded-For": f"192.0.2.{next(addresses)}"})
        browser = sign_in(place, visitor, sub="cy", email="cy@example.com", email_verified=True, name="Cy", groups=["admins"])
        return browser.page == "/console/"
    atoll.wait_for(works, 60, "the new key")


def test_a_provider_that_is_gone_is_named(place):
    running = atoll.Server(provider="null", flags=["--oidc-issuer", "http://127.0.0.1:1", "--oidc-client-id", "atoll"]).start()
    try:
        answer = running.api().raw("GET", START)
        assert answer.status == 503 and "127.0.0.1:1" in answer.body.decode()
    finally:
        running.remove_all()


@pytest.mark.parametrize("flags", [["--oidc-issuer", "login.example.com"], ["--oidc-roles", "admins"], ["--oidc-roles", "a=owner@default"],
                                   ["--oidc-roles", "a=viewer@*"]])
def test_a_wrong_option_is_refused(flags):
    done = subprocess.run([atoll.ATOLL, "config", *flags], capture_output=True, text=True, timeout=20)
    assert done.returncode != 0 and flags[1] in done.stderr
