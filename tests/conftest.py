# SPDX-License-Identifier: Apache-2.0
"""Fixtures for all Python tests. A test that cannot run says why: skips are counted and printed."""

import contextlib
import fcntl
import itertools
import os
import random
import resource
import sys
import time

import pytest
from _pytest.junitxml import xml_key

sys.path.insert(0, os.path.dirname(__file__))

import atoll  # noqa: E402

# As many processes share the files of this run. They are made when all files are read, which takes as long as many of them run.
RUNS = int(os.environ.get("ATOLL_TEST_RUNS", "1"))
# A folder: several such runs, one of each suite, have as many files under way in all.
SLOTS = os.environ.get("ATOLL_TEST_SLOTS")
# A file that gets a line for each file of tests, in seconds: processor time of its servers, of the tests themselves, the time, and its name.
TIMES = os.environ.get("ATOLL_TEST_TIMES")


def take_slot():
    """A file that is locked until it is closed, or its process ends."""
    while True:
        for number in range(RUNS):
            slot = os.open(f"{SLOTS}/{number}", os.O_CREAT | os.O_RDWR)
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(slot, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return slot
            os.close(slot)
        time.sleep(0.2)


def begin_run(config, number):
    """In a process of its own: what the parent has opened for output is shared with its other children."""
    random.seed()
    capture = config.pluginmanager.getplugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    capture.suspend_global_capture()
    report = config.stash[xml_key]
    report.logfile = report.logfile.replace(".xml", f"-{number}.xml")


def run_files(config, files, queue):
    """One file after the other, each as the whole of a run: its server ends with it. A file is taken when the one before has ended."""
    while True:
        slot = take_slot()
        taken = os.read(queue, 2)
        if not taken:
            return os.close(slot)
        items = files[int.from_bytes(taken, "big")]
        for item, following in zip(items, [*items[1:], None]):
            config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        os.close(slot)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    if RUNS < 2 or session.testsfailed:
        return None  # what could not be read fails, and nothing runs
    files = [list(items) for _, items in itertools.groupby(session.items, lambda item: item.path)]
    queue, ends = os.pipe()
    os.write(ends, b"".join(number.to_bytes(2, "big") for number in range(len(files))))
    os.close(ends)
    children = []
    for number in range(1, RUNS + 1):
        children.append(os.fork())
        if children[-1] == 0:
            begin_run(session.config, number)
            run_files(session.config, files, queue)
            return True
    for child in children:
        os.waitpid(child, 0)
    session.config.pluginmanager.unregister(session.config.stash[xml_key])  # each child writes its own
    return True


def spent():
    """Seconds so far: processor time of children that have ended, of this process, and the time."""
    children, own = (sum(resource.getrusage(of)[:2]) for of in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF))
    return children, own, time.monotonic()


begun = {}  # by file: spent() before its first test


def note_times(item):
    took = "\t".join(f"{now - before:.1f}" for now, before in zip(spent(), begun.pop(item.path)))
    with open(TIMES, "a") as notes:
        notes.write(f"{took}\t{item.path.relative_to(atoll.ROOT / 'tests')}\n")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    begun.setdefault(item.path, spent())


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_teardown(item, nextitem):
    """The servers of a file end with it: a sandbox that lives on is a leak of its tests."""
    yield
    if nextitem is None or nextitem.path != item.path:
        left = atoll.end_abandoned()
        if TIMES:
            note_times(item)
        assert not left, f"{item.path.name} left sandboxes of servers that have ended: {left}"


def is_of_a_named_suite(item):
    return item.get_closest_marker("slow") or item.get_closest_marker("providers") and not item.get_closest_marker("smoke")


def pytest_collection_modifyitems(config, items):
    # Of a suite that is run by name, such as ./dev test operator; a test that is named itself runs, too.
    if not os.environ.get("ATOLL_SLOW") and not any("::" in argument for argument in config.args):
        named = [item for item in items if is_of_a_named_suite(item)]
        config.hook.pytest_deselected(items=named)
        items[:] = [item for item in items if item not in named]
    for item in items:
        if not atoll.ATOLL.exists():
            item.add_marker(pytest.mark.skip(reason=f"{atoll.ATOLL} is not built; run ./dev build"))
        elif os.geteuid() != 0 and "needs_root" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="needs root: the native provider's broker makes namespaces"))


def pytest_configure(config):
    config.addinivalue_line("markers", "needs_root: runs real native sandboxes")
    config.addinivalue_line("markers", "slow: only in the suite of its own name")
    config.addinivalue_line("markers", "providers: only in the suite providers, but for tests that are marked smoke, too")
    config.addinivalue_line("markers", "smoke: a test of a file of the suite providers that ./dev test runs, too")


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
