# SPDX-License-Identifier: Apache-2.0
"""Signing in from a browser: users, passwords, keys, sessions by cookie, and each way to misuse them."""

import contextlib
import http.cookies
import json
import os
import re
import select
import socket
import sqlite3
import subprocess
import threading
import sqlite3
import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PASSWORD, OTHER = "correct horse battery", "another long password"
INSTANCES = "/api/sandbox/instances"


class Browser:
    """A client with a cookie jar that sends what a page of the server's own origin sends."""

    def __init__(self, server, **headers):
        self.api, self.cookies, self.csrf = server.api(key=""), {}, None
        self.api.key = None
        self.own = f"http://127.0.0.1:{server.port}"
        self.headers = headers

    def raw(self, method, path, body=None, headers=None):
        sent = {"Origin": self.own} if method != "GET" else {}
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        if self.csrf:
            sent["X-Atoll-CSRF"] = self.csrf
        sent = {name: value for name, value in {**sent, **self.headers, **(headers or {})}.items() if value is not None}
        answer = self.api.raw(method, path, body, sent)
        for line in answer.headers.get_all("Set-Cookie") or []:
            for name, morsel in http.cookies.SimpleCookie(line).items():
                self.cookies.pop(name, None)
                if morsel.value:
                    self.cookies[name] = morsel.value
        return answer

    def call(self, method, path, body=None, headers=None):
        answer = self.raw(method, path, body, headers)
        value = json.loads(answer.body) if answer.body else None
        if answer.status >= 400:
            raise atoll.ApiError(answer.status, value)
        return value

    def get(self, path, **headers):
        return self.call("GET", path, headers=headers)

    def sign_in(self, **offer):
        session = self.call("POST", "/v1/session", {name: value for name, value in offer.items() if value is not None})
        self.csrf = session["csrf_token"]
        return session


def refused(status, call, *arguments, **options):
    with pytest.raises(atoll.ApiError) as failure:
        call(*arguments, **options)
    assert failure.value.status == status, failure.value
    return failure.value


@pytest.fixture(scope="module")
def place():
    """A server without a template to start: nothing here runs in a sandbox."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    running = atoll.Server(provider="null").start()
    yield running
    running.remove_all()


@pytest.fixture(scope="module")
def owner(place):
    """The first user's browser, by the link that `atoll serve` printed."""
    found = re.search(r"/console/setup#([a-z2-7]{40})", (place.data / "serve.log").read_text())
    browser = Browser(place)
    assert browser.get("/v1/sign-in")["setup"] is True
    session = browser.sign_in(setup_token=found[1], email="Ann@Example.com", name="Ann", password=PASSWORD)
    assert session["user"] == {"id": session["user"]["id"], "email": "ann@example.com", "name": "Ann", "is_admin": True}
    assert browser.get("/v1/sign-in") == {"password": True, "oidc": None, "setup": False, "version": session_version(place),
                                          "console": f"{browser.own}/console/"}
    browser.token = found[1]
    return browser


def session_version(server):
    return server.api().get("/healthz")["version"]


@pytest.fixture
def admin(place):
    return place.api()


def test_the_link_works_once_and_makes_an_admin(place, owner):
    session = owner.get("/v1/session")
    assert (session["kind"], session["project"], session["projects"][0]["role"]) == ("user", "default", "admin")
    assert "admin" in session["scopes"] and "hash" not in json.dumps(session)
    again = Browser(place)
    refused(404, again.sign_in, setup_token=owner.token, email="eve@example.com", name="Eve", password=PASSWORD)
    assert not again.cookies
    assert refused(409, place.api().post, "/v1/sign-in/setup").code == "conflict"


def test_a_password_opens_a_session_that_is_no_other(place, owner):
    browser = Browser(place)
    assert refused(401, browser.get, "/v1/session").code == "unauthenticated"
    first = browser.sign_in(email="ANN@example.com", password=PASSWORD)
    old = dict(browser.cookies)
    second = browser.sign_in(email="ann@example.com", password=PASSWORD)
    assert first["id"] != second["id"] and first["csrf_token"] != second["csrf_token"]
    stale = Browser(place)
    stale.cookies = old  # what a thief of the first cookie has
    refused(401, stale.get, "/v1/session")
    refused(401, stale.get, INSTANCES)
    me = browser.get("/accounts/me")
    assert (me["user"], me["key"], me["role"], me["project"]) == ("ann@example.com", None, "admin", "default")


@pytest.mark.parametrize("offer", [
    {"email": "ann@example.com", "password": "not the password"}, {"email": "no@example.com", "password": PASSWORD},
    {"key": "atoll_" + "a" * 40}, {"key": "nonsense"}])
def test_what_is_not_right_is_refused_in_the_same_words(place, owner, offer):
    browser = Browser(place)
    error = refused(401, browser.sign_in, **offer)
    assert error.message == ("this key is not valid" if "key" in offer else "the e-mail address or the password is not right")
    assert not browser.cookies


def test_an_unknown_address_takes_as_long_as_a_wrong_password(place, owner):
    def timed(email):
        began = time.monotonic()
        refused(401, Browser(place).sign_in, email=email, password="not the password")
        return time.monotonic() - began
    times = {email: min(timed(email) for _ in range(3)) for email in ("ann@example.com", "nobody@example.com")}
    Browser(place).sign_in(email="ann@example.com", password=PASSWORD)
    shorter, longer = sorted(times.values())
    assert shorter > 0.02 and longer < 3 * shorter, times


def test_the_cookie_is_for_this_host_and_no_script(place, owner):
    browser = Browser(place)
    plain = browser.raw("POST", "/v1/session", {"email": "ann@example.com", "password": PASSWORD})
    words = {word.strip().split("=")[0] for word in plain.headers["Set-Cookie"].split(";")}
    assert words == {"atoll_session", "Path", "HttpOnly", "SameSite", "Max-Age"}
    assert "Path=/;" in plain.headers["Set-Cookie"] and "SameSite=Lax" in plain.headers["Set-Cookie"]
    assert plain.headers["Cache-Control"] == "no-store"
    behind = Browser(place, **{"X-Forwarded-Proto": "https"})
    behind.own = behind.own.replace("http:", "https:")
    secure = behind.raw("POST", "/v1/session", {"email": "ann@example.com", "password": PASSWORD})
    assert secure.headers["Set-Cookie"].startswith("__Host-atoll_session=")
    assert "Secure" in secure.headers["Set-Cookie"] and "Domain" not in secure.headers["Set-Cookie"]
    behind.get("/v1/session")
    # The name without the prefix, which a neighbour could set, counts for nothing on TLS.
    behind.cookies = {"atoll_session": behind.cookies["__Host-atoll_session"]}
    refused(401, behind.get, "/v1/session")


def test_two_cookies_of_the_name_are_refused(place, owner):
    browser = Browser(place)
    browser.sign_in(email="ann@example.com", password=PASSWORD)
    value = browser.cookies["atoll_session"]
    refused(401, Browser(place, Cookie=f"atoll_session={'a' * 40}; atoll_session={value}").get, "/v1/session")


def test_a_write_needs_its_own_page_and_its_own_token(place, owner):
    browser, other = Browser(place), Browser(place)
    mine = browser.sign_in(email="ann@example.com", password=PASSWORD)["csrf_token"]
    stolen = other.sign_in(email="ann@example.com", password=PASSWORD)["csrf_token"]
    body = {"name": "made by a page"}

    def post(**headers):
        return browser.call("POST", "/api/sandbox/keys", body, headers)
    assert post()["name"] == body["name"]
    assert post(Origin=None, **{"Sec-Fetch-Site": "same-origin"})
    for headers in [{"X-Atoll-CSRF": None}, {"X-Atoll-CSRF": stolen}, {"X-Atoll-CSRF": mine[:-1]},
                    {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": None},
                    {"Origin": browser.own + ".evil.example"}, {"Origin": None, "Sec-Fetch-Site": "same-site"},
                    {"Origin": None, "Sec-Fetch-Site": "cross-site"}]:
        assert refused(403, post, **headers).code == "forbidden", headers
    # A read answers a link on another page, but no script or element of one.
    browser.get(INSTANCES, **{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"})
    refused(403, browser.get, INSTANCES, **{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"})
    refused(403, browser.get, INSTANCES, Origin="http://evil.example")
    # Nor may another page sign its visitor in, or out.
    refused(403, Browser(place).call, "POST", "/v1/session", {"email": "ann@example.com", "password": PASSWORD},
            {"Origin": "http://evil.example"})
    refused(403, browser.call, "DELETE", "/v1/session", None, {"X-Atoll-CSRF": stolen})
    browser.get("/v1/session")


def test_a_key_needs_no_token_beside_a_cookie(place, owner):
    browser = Browser(place)
    browser.sign_in(email="ann@example.com", password=PASSWORD)
    headers = {"Authorization": f"Bearer {place.key}", "Origin": None, "X-Atoll-CSRF": None}
    assert browser.call("POST", "/api/sandbox/keys", {"name": "by key"}, headers)["name"] == "by key"


def test_a_websocket_needs_the_origin(place, owner):
    browser = Browser(place)
    browser.sign_in(email="ann@example.com", password=PASSWORD)
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
               "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    path = "/api/sandbox/terminal/none.1/browser"
    assert refused(403, browser.get, path, **upgrade).code == "forbidden"
    refused(403, browser.get, path, Origin="http://evil.example", **upgrade)
    refused(404, browser.get, path, Origin=browser.own, **upgrade)


def test_signing_out_ends_the_session_everywhere(place, owner):
    browser = Browser(place)
    browser.sign_in(email="ann@example.com", password=PASSWORD)
    thief = Browser(place)
    thief.cookies = dict(browser.cookies)
    thief.get(INSTANCES)
    assert browser.raw("DELETE", "/v1/session").status == 204
    assert not browser.cookies
    refused(401, thief.get, INSTANCES)
    refused(401, thief.get, "/v1/session")


def test_sessions_are_listed_and_ended(place, owner):
    browser, other = Browser(place), Browser(place, **{"User-Agent": "old telephone"})
    mine = browser.sign_in(email="ann@example.com", password=PASSWORD)
    lost = other.sign_in(email="ann@example.com", password=PASSWORD)
    found = {row["id"]: row for row in browser.get("/v1/sessions")["items"]}
    assert found[mine["id"]]["is_current"] and not found[lost["id"]]["is_current"]
    assert (found[lost["id"]]["user_agent"], found[lost["id"]]["address"]) == ("old telephone", "127.0.0.1")
    browser.call("DELETE", f"/v1/sessions/{lost['id']}")
    refused(401, other.get, "/v1/session")
    refused(404, browser.call, "DELETE", f"/v1/sessions/{lost['id']}")


def test_a_session_of_a_key_may_what_the_key_may_and_ends_with_it(place, owner, admin):
    made = admin.post("/api/sandbox/keys", {"name": "reads", "scopes": ["sandbox:read"]})
    browser = Browser(place)
    session = browser.sign_in(key=made["key"])
    assert (session["kind"], session["user"], session["scopes"]) == ("key", None, ["sandbox:read"])
    assert browser.get("/accounts/me")["key"] == made["id"]
    refused(403, browser.call, "POST", INSTANCES, {})
    admin.delete(f"/api/sandbox/keys/{made['id']}")
    refused(401, browser.get, INSTANCES)
    refused(401, browser.get, "/v1/session")
    refused(401, Browser(place).sign_in, key=made["key"])


def test_a_new_secret_of_a_key_ends_the_sessions_of_the_old_one(place, owner, admin):
    made = admin.post("/api/sandbox/keys", {"name": "turns"})
    browser = Browser(place)
    browser.sign_in(key=made["key"])
    admin.post(f"/api/sandbox/keys/{made['id']}/rotate", {"grace_ms": 60000})
    refused(401, browser.get, "/v1/session")


def test_a_key_that_expires_takes_its_session_along(place, owner, admin):
    made = admin.post("/api/sandbox/keys", {"name": "short", "expires_in_ms": 3000})
    browser = Browser(place)
    session = browser.sign_in(key=made["key"])
    assert session["expires_at"] == made["expires_at"]
    browser.get(INSTANCES)
    atoll.wait_for(lambda: browser.raw("GET", INSTANCES).status == 401, 20)


def test_a_session_acts_in_the_project_that_a_request_names(place, owner, admin):
    project = admin.post("/v1/projects", {"name": f"second-{time.time_ns()}", "owner": "ann@example.com"})["id"]
    browser = Browser(place)
    session = browser.sign_in(email="ann@example.com", password=PASSWORD)
    assert {row["id"] for row in session["projects"]} >= {"default", project}
    assert browser.get("/accounts/me")["project"] == session["project"] == "default"
    assert browser.get("/accounts/me", **{"X-Atoll-Project": project})["project"] == project
    assert browser.get(f"/accounts/me?project={project}")["project"] == project
    assert browser.get(f"{INSTANCES}?limit=5&project={project}")["items"] == []
    refused(404, browser.get, "/accounts/me?project=none-such")
    admin.delete(f"/v1/projects/{project}?force=true")


def test_attempts_for_an_account_are_limited(place, owner):
    browser = Browser(place, **{"X-Forwarded-For": "198.51.100.7"})
    for _ in range(10):
        refused(401, browser.sign_in, email="limited@example.com", password="not the password")
    answer = browser.raw("POST", "/v1/session", {"email": "limited@example.com", "password": "not the password"})
    assert answer.status == 429 and 0 < int(answer.headers["Retry-After"]) <= 900
    # Other accounts are not concerned.
    browser.sign_in(email="ann@example.com", password=PASSWORD)


def test_refusals_say_what_helps(place, owner, admin):
    email = f"hinted{time.time_ns()}@example.com"
    admin.post("/v1/users", {"email": email, "password": OTHER})
    assert "atoll user link" in str(refused(409, admin.post, "/v1/users", {"email": email}).body)
    assert "atoll user link" in str(refused(401, Browser(place).sign_in, email=email, password="not the password").body)
    path = "/v1/projects/default/members"
    admin.post(path, {"user": email, "role": "member"})
    assert "atoll member set" in str(refused(409, admin.post, path, {"user": email, "role": "admin"}).body)
    organization = admin.post("/v1/organizations", {"name": f"full{time.time_ns()}", "owner": email})["id"]
    project = admin.post("/v1/projects", {"name": f"in{time.time_ns()}", "organization": organization})["id"]
    assert "move each" in str(refused(409, admin.delete, f"/v1/organizations/{organization}").body)
    admin.delete(f"/v1/projects/{project}")
    admin.delete(f"/v1/organizations/{organization}")
    error = refused(400, admin.post, "/v1/users", {"email": "a@example.com", "name": "a\0b"})
    assert "U+0000" in error.message and "JSON_" not in str(error.body)
    boss = admin.post("/api/sandbox/keys", {"name": "k", "scopes": ["project:write"]})["key"]
    assert "organization" in refused(403, place.api(boss).call, "PATCH", "/v1/projects/me", {"organization": "default"}).message
    admin.delete(f"/v1/users/{email}")


def test_the_last_owner_of_an_organization_stays(place, owner, admin):
    stamp = time.time_ns()
    first, second = f"one{stamp}@example.com", f"two{stamp}@example.com"
    for email in (first, second):
        admin.post("/v1/users", {"email": email, "password": OTHER})
    organization = admin.post("/v1/organizations", {"name": f"owned{stamp}", "owner": first})["id"]
    assert "last owner" in refused(409, admin.delete, f"/v1/users/{first}").message
    admin.call("PUT", f"/v1/organizations/{organization}/members", {"user": second, "role": "owner"})
    admin.call("PATCH", f"/v1/users/{second}", {"is_disabled": True})
    refused(409, admin.delete, f"/v1/users/{first}")
    admin.call("PATCH", f"/v1/users/{second}", {"is_disabled": False})
    admin.delete(f"/v1/users/{first}")
    admin.delete(f"/v1/organizations/{organization}")
    admin.delete(f"/v1/users/{second}")


def test_the_last_admin_of_a_project_who_can_act_stays(place, owner, admin):
    stamp = time.time_ns()
    first, second = f"chief{stamp}@example.com", f"deputy{stamp}@example.com"
    for email in (first, second):
        admin.post("/v1/users", {"email": email, "password": OTHER})
    project = admin.post("/v1/projects", {"name": f"led{stamp}"})["id"]
    members = f"/v1/projects/{project}/members"
    admin.post(members, {"user": first, "role": "admin"})
    admin.post(members, {"user": second, "role": "admin"})
    Browser(place).sign_in(email=first, password=OTHER)
    # The second has never signed in.
    assert "last admin" in refused(409, admin.delete, f"{members}/{first}").message
    refused(409, admin.call, "PATCH", f"{members}/{first}", {"role": "member"})
    refused(409, admin.delete, f"/v1/users/{first}")
    Browser(place).sign_in(email=second, password=OTHER)
    admin.call("PATCH", f"/v1/users/{second}", {"is_disabled": True})
    refused(409, admin.delete, f"{members}/{first}")
    admin.call("PATCH", f"/v1/users/{second}", {"is_disabled": False})
    admin.delete(f"{members}/{first}")
    # A name that only the platform in front knows counts as one who can act.
    admin.post(members, {"user": "platform-id", "role": "admin"})
    admin.delete(f"{members}/{second}")
    admin.delete(f"/v1/projects/{project}")
    for email in (first, second):
        admin.delete(f"/v1/users/{email}")


def test_addresses_of_an_older_version_are_lowered_and_two_that_collide_stay(private_server):
    server = private_server.start()
    api = server.api()
    api.post("/v1/users", {"email": "root@example.com", "password": OTHER, "is_admin": True})
    for email in ("up@example.com", "twin@example.com", "other@example.com"):
        api.post("/v1/users", {"email": email, "password": OTHER})
    api.post("/v1/projects/default/members", {"user": "root@example.com", "role": "admin"})
    for email in ("up@example.com", "other@example.com"):
        api.post("/v1/projects/default/members", {"user": email, "role": "member"})
    key = api.post("/api/sandbox/keys", {"name": "of-up", "member": "up@example.com", "scopes": ["sandbox:read"]})
    server.stop()
    with contextlib.closing(sqlite3.connect(server.data / "store" / "atoll.db", timeout=20)) as database, database:
        database.execute("UPDATE users SET email = 'Up@Example.com' WHERE email = 'up@example.com'")
        database.execute("UPDATE members SET user_id = 'Up@Example.com' WHERE user_id = 'up@example.com'")
        database.execute("UPDATE keys SET user_id = 'Up@Example.com' WHERE user_id = 'up@example.com'")
        database.execute("UPDATE users SET email = 'Twin@example.com' WHERE email = 'other@example.com'")
        database.execute("UPDATE members SET user_id = 'Twin@example.com' WHERE user_id = 'other@example.com'")
    server.start()
    api = server.api()
    roles = {member["user"]: member["role"] for member in api.get("/v1/projects/default/members")["items"]}
    assert roles.get("up@example.com") == "member" and roles.get("Twin@example.com") == "member", roles
    assert server.api(key["key"]).get("/api/sandbox/instances")["items"] == []
    log = (server.data / "serve.log").read_text()
    assert "an address stays in upper case" in log and "Twin@example.com" in log
    Browser(server).sign_in(email="Up@Example.com", password=OTHER)
    # Both of the two sign in, each by its exact spelling.
    for spelled in ("Twin@example.com", "twin@example.com"):
        browser = Browser(server)
        browser.sign_in(email=spelled, password=OTHER)
        assert browser.get("/v1/session")["user"]["email"] == spelled
    api.delete("/v1/projects/default/members/Twin@example.com")
    api.delete("/v1/users/twin@example.com")
    server.stop()
    server.start()
    assert [user["email"] for user in server.api().get("/v1/users")["items"]].count("twin@example.com") == 1
    Browser(server).sign_in(email="twin@example.com", password=OTHER)


def test_an_admin_who_never_signed_in_is_no_other_admin(place, owner, admin):
    email = f"invited{time.time_ns()}@example.com"
    admin.post("/v1/users", {"email": email, "is_admin": True})
    refused(409, admin.delete, "/v1/users/ann@example.com")
    refused(409, admin.call, "PATCH", "/v1/users/ann@example.com", {"is_admin": False})
    admin.delete(f"/v1/users/{email}")


def test_a_user_in_no_project_manages_what_is_the_users_own(place, owner, admin):
    email = f"alone{time.time_ns()}@example.com"
    user = admin.post("/v1/users", {"email": email, "password": OTHER})["id"]
    organization = admin.post("/v1/organizations", {"name": f"empty{time.time_ns()}", "owner": email})["id"]
    browser = Browser(place)
    assert browser.sign_in(email=email, password=OTHER)["project"] is None
    assert [row["is_current"] for row in browser.get("/v1/sessions")["items"]] == [True]
    assert browser.get(f"/v1/users/{user}")["email"] == email
    assert [row["id"] for row in browser.get("/v1/organizations")["items"]] == [organization]
    assert [row["user"] for row in browser.get(f"/v1/organizations/{organization}/members")["items"]] == [email]
    browser.call("POST", f"/v1/users/{user}/password", {"old": OTHER, "new": "a whole new password"})
    Browser(place).sign_in(email=email, password="a whole new password")
    for path in (INSTANCES, "/v1/projects", "/accounts/me", "/v1/users", "/api/sandbox/keys"):
        assert "member of no project" in refused(403, browser.get, path).message
    refused(404, browser.get, "/v1/users/ann@example.com")
    refused(404, browser.get, "/v1/organizations/default")
    admin.delete(f"/v1/organizations/{organization}")
    admin.delete(f"/v1/users/{email}")


def test_an_address_in_upper_case_is_the_same_user(place, owner, admin):
    email = f"caps{time.time_ns()}@example.com"
    admin.post("/v1/users", {"email": email, "password": OTHER})
    assert admin.get(f"/v1/users/{email.upper()}")["email"] == email
    project = admin.post("/v1/projects", {"name": f"caps{time.time_ns()}", "owner": email.upper()})["id"]
    organization = admin.post("/v1/organizations", {"name": f"caps{time.time_ns()}", "owner": email.upper()})["id"]
    assert admin.get(f"/v1/organizations/{organization}/members")["items"][0]["user"] == email
    browser = Browser(place)
    assert [row["id"] for row in browser.sign_in(email=email, password=OTHER)["projects"]] == [project]
    members = f"/v1/projects/{project}/members"
    assert admin.post(members, {"user": "Other@Example.com", "role": "admin"})["user"] == "other@example.com"
    refused(409, admin.post, members, {"user": "OTHER@example.com", "role": "admin"})
    assert admin.call("PATCH", f"{members}/{email.title()}", {"role": "viewer"})["role"] == "viewer"
    admin.delete(f"{members}/{email.upper()}")
    for wrong in ("a@-", "a@b..c", "a@.b", "a@b.", "a@b@c", "a@-b.example"):
        refused(400, admin.post, members, {"user": wrong, "role": "viewer"})
        refused(400, admin.post, "/v1/users", {"email": wrong})
    admin.delete(f"/v1/projects/{project}")
    admin.delete(f"/v1/organizations/{organization}")
    admin.delete(f"/v1/users/{email}")


def test_what_a_removed_admin_made(place, owner, admin):
    project = admin.post("/v1/projects", {"name": f"made{time.time_ns()}", "owner": "ann@example.com"})["id"]
    email = f"maker{time.time_ns()}@example.com"
    admin.post("/v1/users", {"email": email, "password": OTHER})
    members = f"/v1/projects/{project}/members"
    admin.post(members, {"user": email, "role": "admin"})
    maker = Browser(place)
    maker.sign_in(email=email, password=OTHER)
    own = maker.call("POST", "/api/sandbox/keys", {"name": "own"})
    projects = maker.call("POST", "/api/sandbox/keys", {"name": "project's", "member": ""})
    assert (own["member"], own["made_by"], projects["member"], projects["made_by"]) == (email, email, None, email)
    holder = place.api(own["key"])
    # A key of a person makes keys of that person.
    again = holder.post("/api/sandbox/keys", {"name": "again"})
    assert again["member"] == email
    link = maker.call("POST", f"/v1/projects/{project}/invitations", {"email": "friend@example.com", "role": "admin"})["link"]
    # A demoted admin's keys keep what the role allows; the invitation is withdrawn.
    admin.call("PATCH", f"{members}/{email}", {"role": "viewer"})
    refused(403, holder.get, "/api/sandbox/keys")
    holder.get(INSTANCES)
    refused(404, join, place, link)
    admin.call("PATCH", f"{members}/{email}", {"role": "admin"})
    link = maker.call("POST", f"/v1/projects/{project}/invitations", {"email": "friend@example.com", "role": "admin"})["link"]
    admin.delete(f"{members}/{email}")
    refused(401, holder.get, INSTANCES)
    refused(401, place.api(again["key"]).get, INSTANCES)
    refused(404, join, place, link)
    left = place.api(projects["key"])
    assert {row["name"]: row["made_by"] for row in left.get("/api/sandbox/keys")["items"] if not row["revoked_at"]} == {"project's": email}
    admin.delete(f"/v1/projects/{project}")
    admin.delete(f"/v1/users/{email}")


def test_the_scheme_of_the_origin_counts(place, owner):
    secure = {"Origin": owner.own.replace("http:", "https:")}
    refused(403, Browser(place, **secure).sign_in, email="ann@example.com", password=PASSWORD)
    behind_a_proxy = Browser(place, **{"X-Forwarded-Proto": "https", "X-Forwarded-For": "198.51.100.27"})
    refused(403, behind_a_proxy.sign_in, email="ann@example.com", password=PASSWORD)
    Browser(place, **secure, **behind_a_proxy.headers).sign_in(email="ann@example.com", password=PASSWORD)


def test_guesses_of_a_stranger_do_not_keep_the_owner_out(place, owner, admin):
    email = f"guessed{time.time_ns()}@example.com"
    admin.post("/v1/users", {"email": email, "password": OTHER})
    stranger = Browser(place, **{"X-Forwarded-For": "198.51.100.17"})
    for _ in range(10):
        refused(401, stranger.sign_in, email=email, password="not the password")
    refused(429, stranger.sign_in, email=email, password=OTHER)
    Browser(place, **{"X-Forwarded-For": "198.51.100.18"}).sign_in(email=email, password=OTHER)
    refused(429, stranger.sign_in, email=email, password=OTHER)


def test_guesses_of_many_addresses_together_are_limited(place, owner, admin):
    """Each guess takes a tenth of a second of a processor, so that the first 190 are counted here as the server counts them."""
    email = f"guessed{time.time_ns()}@example.com"
    admin.post("/v1/users", {"email": email, "password": OTHER})
    guesses = [Browser(place, **{"X-Forwarded-For": f"198.51.101.{number}"}) for number in range(12)]
    refused(401, guesses[0].sign_in, email=email, password="not the password")
    with contextlib.closing(sqlite3.connect(place.data / "store" / "atoll.db", timeout=30)) as store, store:
        counted = store.execute("UPDATE sign_in_attempts SET attempts = attempts + 190 WHERE id = ?", [f"account {email}"])
        assert counted.rowcount == 1
    for guess in guesses[1:10]:
        refused(401, guess.sign_in, email=email, password="not the password")
    refused(429, guesses[10].sign_in, email=email, password="not the password")
    refused(429, guesses[11].sign_in, email=email, password=OTHER)


def test_attempts_of_an_address_are_limited(place, owner):
    """Behind the proxy on this machine: its last entry counts, what the client claims before it does not."""
    for number in range(30):
        browser = Browser(place, **{"X-Forwarded-For": f"203.0.113.{number}, 192.0.2.9"})
        refused(401, browser.sign_in, key="atoll_" + "b" * 40)
    refused(429, browser.sign_in, key="atoll_" + "b" * 40)
    refused(429, browser.sign_in, email="ann@example.com", password=PASSWORD)
    # A client has a whole network of version 6.
    for number in range(30):
        refused(401, Browser(place, **{"X-Forwarded-For": f"2001:db8::{number:x}"}).sign_in, key="nonsense")
    refused(429, Browser(place, **{"X-Forwarded-For": "2001:db8::ffff"}).sign_in, key="nonsense")


def test_many_passwords_at_once_leave_the_server_answering(place, owner):
    """Each takes 64 MiB and a processor; no more than a few wait, and nothing else waits for them."""
    import concurrent.futures

    def attempt(number):
        browser = Browser(place, **{"X-Forwarded-For": f"192.0.2.{100 + number}"})
        return browser.raw("POST", "/v1/session", {"email": f"u{number}@example.com", "password": "x" * 20 + "abcd"}).status
    with concurrent.futures.ThreadPoolExecutor(24) as pool:
        tries = [pool.submit(attempt, number) for number in range(24)]
        began = time.monotonic()
        place.api().get("/healthz")
        assert time.monotonic() - began < 5
        assert {one.result() for one in tries} <= {401, 503}


def test_sessions_end_by_their_age_and_by_idleness(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("needs root")
    running = atoll.Server(provider="null", flags=["--sign-in-idle", "60s", "--sign-in-lifetime", "60s"]).start()
    try:
        browser = Browser(running)
        session = browser.sign_in(key=running.key)
        assert 50 < _seconds(session["expires_at"]) - _seconds(session["created_at"]) <= 60
        # A restart forgets no session.
        running.stop()
        running.start()
        browser.api.close()
        assert browser.get("/v1/session")["id"] == session["id"]
    finally:
        running.remove_all()


def _seconds(text):
    import datetime
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def test_only_hashes_are_stored(place, owner):
    browser = Browser(place)
    browser.sign_in(email="ann@example.com", password=PASSWORD)
    stored = b"".join(path.read_bytes() for path in (place.data / "store").iterdir())
    assert b"$argon2id$v=19$m=65536,t=2,p=1$" in stored
    for secret in (PASSWORD, browser.cookies["atoll_session"], owner.token, browser.csrf):
        assert secret.encode() not in stored

def link_token(link):
    return link.rsplit("#", 1)[1]


def join(place, link, name="Bob", password=OTHER):
    browser = Browser(place)
    browser.session = browser.sign_in(invitation=link_token(link), name=name, password=password)
    return browser


@pytest.fixture
def bob(place, owner, admin):
    """A member of the project "default", whose browser is signed in."""
    email = f"bob{time.time_ns()}@example.com"
    made = admin.post("/v1/projects/default/invitations", {"email": email.title(), "role": "member"})
    assert made["email"] == email and made["link"].startswith(f"{owner.own}/console/join#")
    browser = join(place, made["link"])
    browser.email, browser.link = email, made["link"]
    return browser


def set_role(admin, email, role):
    admin.call("PATCH", f"/v1/projects/default/members/{email}", {"role": role})


def test_an_invitation_makes_a_member_once(place, bob, admin):
    assert bob.session["user"]["email"] == bob.email and not bob.session["user"]["is_admin"]
    assert [(row["id"], row["role"]) for row in bob.session["projects"]] == [("default", "member")]
    assert bob.session["scopes"] == ["sandbox:read", "sandbox:write", "template:write"]
    refused(404, join, place, bob.link)
    assert bob.email not in [row["email"] for row in admin.get("/v1/projects/default/invitations")["items"]]
    refused(409, admin.post, "/v1/projects/default/invitations", {"email": bob.email, "role": "admin"})
    Browser(place).sign_in(email=bob.email, password=OTHER)


def test_an_invitation_is_withdrawn_or_replaced(place, owner, admin):
    path = "/v1/projects/default/invitations"
    first = admin.post(path, {"email": "cy@example.com", "role": "admin"})
    second = admin.post(path, {"email": "cy@example.com", "role": "viewer"})
    refused(404, join, place, first["link"])
    assert [row["role"] for row in admin.get(path)["items"] if row["email"] == "cy@example.com"] == ["viewer"]
    assert "link" not in admin.get(path)["items"][0]
    admin.delete(f"{path}/{second['id']}")
    refused(404, join, place, second["link"])
    refused(404, admin.delete, f"{path}/{second['id']}")
    for body in [{"email": "no address", "role": "viewer"}, {"email": "a@b.example", "role": "owner"}, {"email": "a@b.example"}]:
        refused(400, admin.post, path, body)


def test_an_invitation_expires(tmp_path):
    running = atoll.Server(provider="null", flags=["--invitation-keep", "1s"]).start()
    try:
        made = running.api().post("/v1/projects/default/invitations", {"email": "bob@example.com", "role": "admin"})
        time.sleep(1.1)  # its whole life
        refused(404, join, running, made["link"])
    finally:
        running.remove_all()


def test_the_owner_of_an_address_joins_with_the_old_password(place, bob, admin):
    project = admin.post("/v1/projects", {"name": f"joined-{time.time_ns()}", "owner": "ann@example.com"})["id"]
    made = admin.post(f"/v1/projects/{project}/invitations", {"email": bob.email, "role": "viewer"})
    assert "another password" in refused(401, join, place, made["link"], password="chosen by a thief").message
    session = join(place, made["link"]).session
    assert {row["id"]: row["role"] for row in session["projects"]} == {"default": "member", project: "viewer"}
    # In the other project the other role counts.
    refused(403, bob.call, "POST", "/api/sandbox/templates", {"name": "t"}, {"X-Atoll-Project": project})
    assert bob.get("/accounts/me", **{"X-Atoll-Project": project})["scopes"] == ["sandbox:read"]
    admin.delete(f"/v1/projects/{project}?force=true")
    refused(404, bob.get, "/accounts/me", **{"X-Atoll-Project": project})


def test_an_address_with_roles_and_no_user_is_not_taken_over(place, owner, admin):
    """An admin of one project invites such an address, and opens the link."""
    email = "boss@example.com"
    other = admin.post("/v1/projects", {"name": "with-a-role"})["id"]
    admin.post(f"/v1/projects/{other}/members", {"user": email, "role": "admin"})
    try:
        made = admin.post("/v1/projects/default/invitations", {"email": email, "role": "viewer"})
        browser = Browser(place)
        offer = {"invitation": link_token(made["link"]), "name": "Boss", "password": OTHER}
        refused(409, browser.sign_in, **offer)
        assert email not in [user["email"] for user in admin.get("/v1/users")["items"]]
        admin.delete(f"/v1/projects/default/invitations/{made['id']}")
    finally:
        admin.delete(f"/v1/projects/{other}")


def test_links_of_a_removed_user_are_gone(place, owner, admin):
    email = "leaver@example.com"
    made = admin.post("/v1/projects/default/invitations", {"email": email, "role": "member"})
    join(place, made["link"])
    password = admin.post(f"/v1/users/{email}/link", {})["link"]
    other = admin.post("/v1/projects", {"name": "later"})["id"]
    invitation = admin.post(f"/v1/projects/{other}/invitations", {"email": email, "role": "admin"})["link"]
    admin.delete(f"/v1/users/{email}")
    for link in (password, invitation):
        refused(404, Browser(place).sign_in, invitation=link_token(link), name="Back", password=OTHER)
    admin.delete(f"/v1/projects/{other}")


def test_a_viewer_looks_and_does_nothing(place, bob, admin):
    set_role(admin, bob.email, "viewer")
    assert bob.get(INSTANCES)["items"] == []
    for method, path, body in [("POST", INSTANCES, {}), ("POST", "/api/sandbox/keys", {"name": "k"}), ("GET", "/api/sandbox/keys", None),
                               ("POST", "/v1/projects/default/invitations", {"email": "x@example.com", "role": "admin"}),
                               ("GET", "/v1/users", None), ("POST", "/v1/users", {"email": "x@example.com"}),
                               ("POST", "/v1/sign-in/setup", {}), ("GET", "/v1/projects/default/invitations", None)]:
        error = refused(403, bob.call, method, path, body)
        assert "this session lacks the scope" in error.message, path


def test_another_projects_things_do_not_exist(place, bob, admin):
    project = admin.post("/v1/projects", {"name": f"other-{time.time_ns()}", "owner": "ann@example.com"})["id"]
    refused(404, bob.get, INSTANCES, **{"X-Atoll-Project": project})
    refused(404, bob.get, f"{INSTANCES}?project={project}")
    refused(404, bob.get, "/v1/projects/" + project)
    refused(404, bob.get, "/v1/users/ann@example.com")
    admin.delete(f"/v1/projects/{project}?force=true")


def test_a_member_that_leaves_and_a_disabled_user_are_out_at_once(place, bob, admin):
    key = admin.post("/api/sandbox/keys", {"name": "bobs", "member": bob.email})
    holder = place.api(key["key"])
    holder.get(INSTANCES)
    bob.get(INSTANCES)
    admin.call("PATCH", f"/v1/users/{bob.email}", {"is_disabled": True})
    refused(401, bob.get, INSTANCES)
    refused(401, bob.get, "/v1/session")
    refused(403, holder.get, INSTANCES)
    assert "is disabled" in refused(401, Browser(place).sign_in, email=bob.email, password=OTHER).message
    admin.call("PATCH", f"/v1/users/{bob.email}", {"is_disabled": False})
    holder.get(INSTANCES)
    again = Browser(place)
    again.sign_in(email=bob.email, password=OTHER)
    admin.delete(f"/v1/projects/default/members/{bob.email}")
    assert "member of no project" in refused(403, again.get, INSTANCES).message
    assert again.get("/v1/session")["projects"] == [] and again.get("/v1/session")["project"] is None
    refused(401, holder.get, INSTANCES)


def sign_in_counts(server):
    text = atoll.Api("127.0.0.1", server.port).raw("GET", "/metrics").body.decode()
    found = dict(re.findall(r'^atoll_sign_ins_total\{result="(\w+)"\} (\d+)$', text, re.M), forged=re.search(r"^atoll_csrf_refused_total (\d+)$", text, re.M)[1])
    return {name: int(value) for name, value in found.items()}


def test_the_metrics_count_what_signing_in_came_to(place, owner):
    before = sign_in_counts(place)
    browser = Browser(place)
    browser.sign_in(email="ann@example.com", password=PASSWORD)
    refused(401, Browser(place).sign_in, email="nobody@example.com", password=PASSWORD)
    refused(403, browser.call, "POST", "/api/sandbox/keys", {"name": "k"}, {"X-Atoll-CSRF": "0" * 40})
    after = sign_in_counts(place)
    assert {name: after[name] - before[name] for name in before} == {"made": 1, "refused": 1, "limited": 0, "forged": 1}


def test_a_new_password_ends_the_other_sessions(place, bob, admin):
    other = Browser(place)
    other.sign_in(email=bob.email, password=OTHER)
    mine = f"/v1/users/{bob.session['user']['id']}/password"
    refused(403, bob.call, "POST", mine, {"old": "not the old one", "new": "a whole new password"})
    refused(400, bob.call, "POST", mine, {"new": "a whole new password"})
    least = admin.get("/openapi.json")["components"]["schemas"]["PasswordChange"]["properties"]["new"]["minLength"]
    assert str(least) in refused(400, bob.call, "POST", mine, {"old": OTHER, "new": "a short password"[:least - 1]}).message
    refused(404, bob.call, "POST", "/v1/users/ann@example.com/password", {"old": PASSWORD, "new": "a whole new password"})
    other.get("/v1/session")
    bob.call("POST", mine, {"old": OTHER, "new": "a whole new password"})
    bob.get("/v1/session")
    refused(401, other.get, INSTANCES)
    refused(401, Browser(place).sign_in, email=bob.email, password=OTHER)
    # An admin sets it without the old one, and then no session stays.
    admin.post(f"/v1/users/{bob.email}/password", {"new": "set by the admin"})
    refused(401, bob.get, "/v1/session")
    Browser(place).sign_in(email=bob.email, password="set by the admin")


def test_a_user_gets_a_link_for_the_password(place, owner, admin):
    email = f"dora{time.time_ns()}@example.com"
    made = admin.post("/v1/users", {"email": email, "name": "Dora"})
    assert not made["has_password"] and not made["is_admin"]
    refused(401, Browser(place).sign_in, email=email, password=OTHER)
    refused(409, admin.post, "/v1/users", {"email": email.upper()})
    dora = join(place, made["link"], name=None)
    assert dora.session["user"]["name"] == "Dora" and dora.session["projects"] == []
    again = admin.post(f"/v1/users/{email}/link")
    anew = join(place, again["link"], password="a third password")
    refused(401, dora.get, "/v1/session")
    anew.get("/v1/session")
    assert [row["is_current"] for row in admin.get(f"/v1/users/{email}/sessions")["items"]] == [False]
    admin.delete(f"/v1/users/{email}/sessions")
    refused(401, anew.get, "/v1/session")
    admin.delete(f"/v1/users/{email}")
    refused(404, admin.get, f"/v1/users/{email}")
    refused(401, Browser(place).sign_in, email=email, password="a third password")


def test_the_last_admin_of_the_server_stays(place, owner, admin):
    for call in [lambda: admin.call("PATCH", "/v1/users/ann@example.com", {"is_disabled": True}),
                 lambda: admin.call("PATCH", "/v1/users/ann@example.com", {"is_admin": False}),
                 lambda: admin.delete("/v1/users/ann@example.com")]:
        refused(409, call)
    Browser(place).sign_in(email="ann@example.com", password=PASSWORD)


def test_users_are_listed_in_pages(place, owner, bob, admin):
    page = admin.get("/v1/users?limit=1")
    found = [row["email"] for row in page["items"]]
    while page["next_page"]:
        page = admin.get(f"/v1/users?limit=1&page={page['next_page']}")
        found += [row["email"] for row in page["items"]]
    assert found == sorted(found) and {"ann@example.com", bob.email} <= set(found)
    assert "argon2" not in json.dumps(admin.get("/v1/users"))


def test_changes_of_users_are_in_the_audit(place, bob, admin):
    bob_admin = Browser(place)
    bob_admin.sign_in(email="ann@example.com", password=PASSWORD)
    bob_admin.call("PATCH", f"/v1/users/{bob.email}", {"name": "Robert"})
    lines = [line for line in (place.data / "serve.log").read_text().splitlines() if "audit" in line and bob.email in line]
    assert any("PATCH" in line and "user=ann@example.com" in line for line in lines), lines


def test_the_command_line_does_the_same(place, owner, admin):
    email = f"eve{time.time_ns()}@example.com"
    invited = place.cli("user", "invite", "--role", "viewer", email)
    assert invited.returncode == 0, invited.stderr
    link = invited.stdout.decode().strip()
    assert link.startswith(f"{owner.own}/console/join#")
    eve = join(place, link)
    assert email in place.cli("user", "ls").stdout.decode()
    assert "127.0.0.1" in place.cli("user", "sessions", email).stdout.decode()
    assert place.cli("user", "password", email, input=b"from the command line\n").returncode == 0
    refused(401, eve.get, "/v1/session")
    assert place.cli("user", "disable", email).returncode == 0
    refused(401, Browser(place).sign_in, email=email, password="from the command line")
    assert place.cli("user", "enable", email).returncode == 0
    eve.sign_in(email=email, password="from the command line")
    assert place.cli("user", "sign-out", email).returncode == 0
    refused(401, eve.get, "/v1/session")
    assert place.cli("user", "rm", email).returncode == 0
    assert email not in place.cli("user", "ls").stdout.decode()
    added = place.cli("user", "add", "--admin", "--password", "--name", "Eve", email, input=b"from standard input\n")
    assert added.returncode == 0 and added.stdout.decode().strip() == email, added.stderr
    assert Browser(place).sign_in(email=email, password="from standard input")["user"]["is_admin"]
    admin.delete(f"/v1/users/{email}")
    assert place.cli("console", "--print").stdout.decode().strip() == f"{owner.own}/console/"


def test_the_command_line_prints_the_first_link(tmp_path):
    running = atoll.Server(provider="null", flags=["--public-url", "https://atoll.example.com"]).start()
    try:
        link = running.cli("console").stdout.decode().strip()
        assert link.startswith("https://atoll.example.com/console/setup#")
        assert "https://atoll.example.com/console/setup#" in running.log_text()
        browser = Browser(running)
        for body in [{"email": "no address", "password": PASSWORD}, {"email": "ann@example.com", "password": "short"}]:
            refused(400, browser.sign_in, setup_token=link_token(link), name="Ann", **body)
        browser.sign_in(setup_token=link_token(link), email="ann@example.com", name="Ann", password=PASSWORD)
        # A page at the public address is our own, whatever the proxy made of Host.
        browser.call("POST", "/api/sandbox/keys", {"name": "k"}, {"Origin": "https://atoll.example.com"})
    finally:
        running.remove_all()


@contextlib.contextmanager
def unix_socket_of(running, path):
    """Passes connections of a unix socket on to the server, one at a time."""
    def serve():
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client, socket.create_connection(("127.0.0.1", running.port)) as server:
                sides = {client: server, server: client}
                while True:
                    side = select.select(list(sides), [], [], 30)[0]
                    data = side[0].recv(65536) if side else b""
                    if not data:
                        break
                    sides[side[0]].sendall(data)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"unix:{path}"
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(30)


def test_the_command_line_names_no_address_of_a_server_at_a_unix_socket(tmp_path):
    running = atoll.Server(provider="null").start()
    try:
        with unix_socket_of(running, tmp_path / "s") as url:
            done = subprocess.run([atoll.ATOLL, "console"], env={**running.cli_environment(), "ATOLL_API_URL": url}, capture_output=True, timeout=60)
        assert done.returncode != 0 and done.stdout == b""
        assert b"unix socket only" in done.stderr and b"--listen" in done.stderr
        assert running.cli("console").stdout.decode().startswith(f"http://127.0.0.1:{running.port}/console/setup#")
    finally:
        running.remove_all()


def test_the_command_line_manages_organizations(place, owner):
    made = place.cli("org", "add", "--owner", "ann@example.com", "Acme")
    org = made.stdout.decode().strip()
    assert org and made.returncode == 0, made.stderr
    assert place.cli("org", "rename", org, "Ajax").returncode == 0
    assert "Ajax" in place.cli("org", "ls").stdout.decode()
    assert place.cli("org", "set-member", "--role", "member", org, "bob@example.com").returncode == 0
    listed = json.loads(place.cli("org", "members", org, "--json").stdout)
    assert {m["user"]: m["role"] for m in listed}.get("bob@example.com") == "member" or len(listed) == 2, listed
    assert place.cli("org", "set-member", "--role", "emperor", org, "bob@example.com").returncode != 0
    assert place.cli("org", "rm-member", org, "bob@example.com").returncode == 0
    assert b"last owner" in place.cli("org", "rm-member", org, "ann@example.com").stderr
    assert place.cli("org", "rm", org).returncode == 0
    assert place.cli("org", "members", org).returncode != 0


def test_an_organization_is_above_projects(place, owner, bob, admin):
    made = admin.post("/v1/organizations", {"name": f"acme-{time.time_ns()}", "owner": "ann@example.com"})
    path = f"/v1/organizations/{made['id']}"
    project = admin.post("/v1/projects", {"name": f"of-{made['name']}", "organization": made["id"], "owner": "ann@example.com"})
    assert project["organization"] == made["id"] and admin.get("/v1/projects/default")["organization"] == "default"
    refused(404, admin.post, "/v1/projects", {"name": "nowhere", "organization": "none"})
    # A stranger does not see it; a member sees it and no project of it.
    refused(404, bob.get, path)
    assert bob.get("/v1/organizations")["items"] == []

    def put(user, role, by=admin):
        return by.call("PUT", path + "/members", {"user": user, "role": role})
    put(bob.email, "member")
    assert [row["id"] for row in bob.get("/v1/organizations")["items"]] == [made["id"]]
    refused(404, bob.get, "/accounts/me", **{"X-Atoll-Project": project["id"]})
    set_role(admin, bob.email, "admin")
    assert refused(403, put, bob.email, "owner", bob).code == "forbidden"
    refused(403, put, "cy@example.com", "member", bob)
    # An admin of it administers its projects and members, but neither admins nor owners.
    put(bob.email, "admin")
    assert bob.get("/accounts/me", **{"X-Atoll-Project": project["id"]})["role"] == "admin"
    assert bob.call("POST", "/api/sandbox/keys", {"name": "k"}, {"X-Atoll-Project": project["id"]})["project"] == project["id"]
    put("cy@example.com", "member", bob)
    refused(403, put, "cy@example.com", "admin", bob)
    refused(403, bob.call, "DELETE", path + "/members/ann@example.com")
    refused(403, bob.call, "PATCH", path, {"name": "taken over"})
    # The last owner stays; who is out has no role below any more.
    refused(409, put, "ann@example.com", "member")
    refused(409, admin.delete, path + "/members/ann@example.com")
    admin.delete(path + "/members/" + bob.email)
    refused(404, bob.get, "/accounts/me", **{"X-Atoll-Project": project["id"]})
    refused(409, admin.delete, path)
    admin.call("PATCH", f"/v1/projects/{project['id']}", {"organization": "default"})
    admin.delete(path)
    refused(404, admin.get, path)
    refused(409, admin.delete, "/v1/organizations/default")
    admin.delete(f"/v1/projects/{project['id']}?force=true")
