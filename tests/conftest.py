# SPDX-License-Identifier: Apache-2.0
"""Fixtures for all Python tests. A test that cannot run says why: skips are counted and printed."""

import os
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))

import atoll  # noqa: E402

# A folder: several runs share the files that all of them were given, each file runs in one of them.
SHARE = os.environ.get("ATOLL_TEST_SHARE")
taken = {}


def take_file(path):
    """Whether this run is the first that comes to it."""
    if path not in taken:
        try:
            os.close(os.open(os.path.join(SHARE, f"{path.parent.name}-{path.name}"), os.O_CREAT | os.O_EXCL))
            taken[path] = True
        except FileExistsError:
            taken[path] = False
    return taken[path]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    # True: it is seen to, and no result of this run.
    return True if SHARE and not take_file(item.path) else None


def pytest_collection_modifyitems(config, items):
    # Of a suite that is run by name, such as ./dev test operator; a test that is named itself runs, too.
    if not os.environ.get("ATOLL_SLOW") and not any("::" in argument for argument in config.args):
        slow = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in slow]
    for item in items:
        if not atoll.ATOLL.exists():
            item.add_marker(pytest.mark.skip(reason=f"{atoll.ATOLL} is not built; run ./dev build"))
        elif os.geteuid() != 0 and "needs_root" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="needs root: the native provider's broker makes namespaces"))


def pytest_configure(config):
    config.addinivalue_line("markers", "needs_root: runs real native sandboxes")
    config.addinivalue_line("markers", "slow: only in the suite of its own name")


@pytest.fixture(scope="module")
def server():
    """One native server for those tests of a file that do not kill it. What they leave is theirs alone."""
    if os.geteuid() != 0:
        pytest.skip("needs root: the native provider's broker makes namespaces")
    running = atoll.Server().start()
    yield running
    running.remove_all()


@pytest.fixture
def api(server):
    connection = server.api()
    yield connection
    connection.close()


@pytest.fixture(scope="module")
def box(server):
    """One started sandbox on the host template, without network, for a module's tests."""
    connection = server.api()
    with connection.sandbox(internet=False) as sandbox:
        yield sandbox
    connection.close()


@pytest.fixture
def private_server():
    """A server for one test, which may kill it."""
    if os.geteuid() != 0:
        pytest.skip("needs root: the native provider's broker makes namespaces")
    running = atoll.Server()
    yield running
    if running.process is None or running.process.poll() is not None:
        running.process = None
        running.start()
    running.remove_all()
