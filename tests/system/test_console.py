# SPDX-License-Identifier: Apache-2.0
"""The web console: how atolld serves it, and its pages in Debian's Chromium against a real server with native sandboxes
(tests/browser/console/*.test.mjs; one test for each of these files, here, in test_console_sandbox.py or in test_console_manage.py)."""

import contextlib
import gzip
import re
import subprocess
import threading

import pytest

import atoll
import chromium
from chromium import page

PAGE_SECONDS = 240

pytestmark = pytest.mark.needs_root


@pytest.fixture(scope="module")
def server():
    running = chromium.start_server()
    yield running
    running.remove_all()


@pytest.fixture(scope="module")
def console(server):
    return chromium.require_console(server)


def nonce_of(answer):
    return re.search(r"'nonce-([0-9a-f]{32})'", answer.headers["Content-Security-Policy"])[1]


def test_the_page_has_a_strict_policy_and_a_nonce_of_its_own(console):
    one, two = page(console), page(console, "/console/p/default/sandboxes")
    policy = one.headers["Content-Security-Policy"]
    for part in ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"):
        assert part in policy.split("; "), policy
    assert "unsafe" not in policy
    assert nonce_of(one) != nonce_of(two)
    assert nonce_of(one).encode() in one.body
    assert "style=" not in one.body.decode()
    assert re.findall(rb"<script(?![^>]*\bsrc=)", one.body) == [], "no inline script"
    expected = {"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY", "Cache-Control": "no-cache",
                "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin"}
    assert {name: one.headers.get(name) for name in expected} == expected


def test_a_known_page_is_not_sent_again(console):
    first = page(console)
    again = page(console, **{"If-None-Match": first.headers["ETag"]})
    assert (again.status, again.body) == (304, b"")
    assert "Content-Security-Policy" not in again.headers, "the policy of the first answer has the nonce of its body"


def test_files_are_immutable_and_compressed(console):
    path = re.search(rb'src="(/console/assets/index\.[^"]+)"', page(console).body)[1].decode()
    plain = page(console, path)
    assert plain.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert plain.headers["Content-Type"] == "text/javascript; charset=utf-8"
    zipped = page(console, path, **{"Accept-Encoding": "gzip"})
    assert zipped.headers["Content-Encoding"] == "gzip" and gzip.decompress(zipped.body) == plain.body
    brotli = page(console, path, **{"Accept-Encoding": "gzip, br;q=0.5"})
    assert brotli.headers["Content-Encoding"] == "br" and len(brotli.body) < len(zipped.body)
    assert "Content-Encoding" not in page(console, path, **{"Accept-Encoding": "br;q=0, gzip;q=0.0"}).headers
    assert page(console, path, **{"If-None-Match": plain.headers["ETag"]}).status == 304


def test_every_file_is_served_as_it_was_built(console):
    """What is in console/dist may be newer than the program: files that the program does not name are left out."""
    dist = atoll.ROOT / "console/dist"
    listed = [line.split("\t")[0] for line in (dist / "files.txt").read_text().splitlines()]
    answers = {path: page(console, f"/console/{path}") for path in listed if path != "index.html"}
    assert len(answers) > 5
    for path, answer in answers.items():
        assert answer.status in (200, 404)
        assert answer.status == 404 or answer.body == (dist / path).read_bytes(), path
    assert max(len(answer.body) for answer in answers.values()) > 200_000


@pytest.mark.parametrize("path", ["/console/assets/none.js", "/console/assets/", "/console/assets/../index.html", "/console/assets/%2e%2e/%2e%2e/etc/passwd"])
def test_a_file_that_does_not_exist_is_refused_or_the_page(console, path):
    answer = page(console, path)
    assert answer.status in (400, 404) or b'id="app"' in answer.body
    assert b"root:" not in answer.body


@pytest.mark.parametrize("path, status", [
    ("nosuch.js", 404), ("a/b.css", 404), (".env", 404), ("favicon.none", 404), ("sign-in", 200), ("nothing/here", 200), ("p/default/sandboxes/a/files/home/user/a.js", 200),
])
def test_a_missing_file_is_not_the_page(console, path, status):
    answer = page(console, f"/console/{path}")
    assert answer.status == status
    assert (b'id="app"' in answer.body) == (status == 200)


def test_browsers_are_sent_from_the_root_to_the_console(server):
    assert page(server, "/").status == 404
    answer = page(server, "/", Accept="text/html,application/xhtml+xml")
    assert (answer.status, answer.headers["Location"]) == (302, "/console/")


def test_the_address_without_a_slash_is_the_page_and_the_server_lives_on(server):
    before = server.pid_of("api")
    for path in ("/console", "/console?x=1"):
        assert b"id=\"app\"" in page(server, path).body or not has_console(server)
    assert server.pid_of("api") == before


def test_the_console_takes_no_writes(server):
    with contextlib.closing(server.api()) as api:
        assert api.raw("POST", "/console/").status == 405


@pytest.mark.parametrize("journey", chromium.journeys(__file__))
def test_pages(server, journey):
    chromium.run_journeys(server, journey)


def test_an_open_page_survives_a_restart_of_the_server():
    chromium.install()
    server = atoll.Server().start()
    limit = None
    try:
        chromium.require_console(server)
        page = subprocess.Popen(["node", chromium.BROWSER / "console/restart.mjs"], env=chromium.environment_of(server), text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

        def expect(word):
            line = page.stdout.readline()
            if not line.startswith(word):
                page.kill()
                raise AssertionError(line + page.stdout.read())

        limit = threading.Timer(PAGE_SECONDS, page.kill)
        limit.start()
        expect("open")
        server.stop()
        print("", file=page.stdin, flush=True)
        expect("away")
        server.start()
        print("", file=page.stdin, flush=True)
        expect("back")
        expect("fine")
        assert page.wait(30) == 0
    finally:
        if limit:
            limit.cancel()
        server.remove_all()
