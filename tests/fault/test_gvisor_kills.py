# SPDX-License-Identifier: Apache-2.0
"""kill -9 at steps of the broker, with sandboxes in gVisor: the tests of test_kills.py with another provider."""

import pytest

import atoll
import gvisor_parts
from test_kills import clean_after, test_files_outlive_a_snapshot_that_is_cut_short, use  # noqa: F401

pytestmark = [pytest.mark.providers, pytest.mark.needs_root, gvisor_parts.needed]


@pytest.fixture
def private_server():
    running = atoll.Server(provider="gvisor")
    yield running
    if running.process is None or running.process.poll() is not None:
        running.process = None
        running.start()
    running.remove_all()


@pytest.mark.parametrize("step", ["limits", "plan", "snapshot-marked", "snapshot-copied", "snapshot-known", "restore-folder"])
def test_the_broker_dies_at_a_step(private_server, step):
    private_server.environment["ATOLL_FAULT"] = f"broker:{step}:kill"
    private_server.start()
    use(private_server.api(timeout=20))
    clean_after(private_server)
