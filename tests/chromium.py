# SPDX-License-Identifier: Apache-2.0
"""The web console in Debian's Chromium: what the tests in tests/browser/console need from Python."""

import contextlib
import os
import shutil
import subprocess

import pytest

import atoll
import clients

BROWSER = atoll.ROOT / "tests/browser"
# The headless shell draws a page with half of the processor time of a whole Chromium.
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, PROGRAMS)), None)


# Files of journeys by the first word of their names; each group is run by a file of its own in tests/system, so that they share the processors.
GROUPS = {"sandbox": "test_console_sandbox.py", "manage": "test_console_manage.py", "build": "test_console_manage.py",
          "credentials": "test_console_credentials.py", "audit": "test_console_credentials.py",
          "network": "test_console_network.py"}
# Every ./dev test runs these: signing in, the list and the page of a sandbox, and attacks. The suite console runs all.
ALWAYS = {"shell", "sandboxes", "sandbox_overview", "attack", "injection"}
JOURNEY_SECONDS = 600


def journeys(test_file):
    """The *.test.mjs that this file of tests runs; test_console.py runs those of no group."""
    names = sorted(path.name.split(".")[0] for path in (BROWSER / "console").glob("*.test.mjs"))
    return [pytest.param(f"{name}.test.mjs", id=name, marks=() if name in ALWAYS else pytest.mark.slow)
            for name in names if GROUPS.get(name.split("_")[0], "test_console.py") == test_file.rsplit("/", 1)[-1]]


def start_server(*flags):
    """Previews are hosts below the console's own site, so that it may frame them."""
    running = atoll.Server(flags=["--hosts", "atoll.localhost", *flags])
    running.environment["SANDBOX_PREVIEW_DOMAIN"] = f"p.atoll.localhost:{running.port}"
    return running.start()


def install():
    """The npm packages of the tests. Skips without Chromium, and where npm cannot install them."""
    if not CHROMIUM:
        pytest.skip("there is no chromium (apt-get install chromium-headless-shell)")
    clients._install(BROWSER, "playwright-core", "axe-core", "jsqr")


def page(server, path="/console/", **headers):
    with contextlib.closing(atoll.Api("127.0.0.1", server.port)) as anybody:
        return anybody.raw("GET", path, headers=headers)


def require_console(server):
    if b"/console/assets/" not in page(server).body:
        pytest.skip("this atolld was built without the console (npm)")
    return server


def environment_of(server, **more):
    return {**os.environ, **more, "ATOLL_URL": f"http://127.0.0.1:{server.port}", "ATOLL_API_KEY": server.key, "CHROMIUM": CHROMIUM}


def run_journeys(server, name, **environment):
    install()
    run_node(require_console(server), "--test", name, seconds=JOURNEY_SECONDS, **environment)


def run_node(server, *arguments, seconds, **environment):
    """Runs a program of tests/browser/console; returns what it printed. A failure shows the end of its output."""
    try:
        done = subprocess.run(["node", *arguments], cwd=BROWSER / "console", env=environment_of(server, **environment), capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired as late:
        raise AssertionError(f"{arguments} did not end within {seconds} s:\n{(late.stdout or b'').decode(errors='replace')[-12000:]}") from None
    assert done.returncode == 0, f"{done.stdout[-12000:]}\n{done.stderr[-2000:]}"
    return done.stdout
