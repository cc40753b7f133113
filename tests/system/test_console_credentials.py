# SPDX-License-Identifier: Apache-2.0
"""The console's pages for credentials, network decisions and the audit, in Debian's Chromium: see test_console.py."""

import pytest

import chromium

pytestmark = pytest.mark.needs_root


@pytest.fixture(scope="module")
def server():
    # The OAuth service of the journeys is on this machine.
    running = chromium.start_server("--webhook-allow-private", "true")
    yield running
    running.remove_all()


@pytest.mark.parametrize("journey", chromium.journeys(__file__))
def test_pages(server, journey):
    chromium.run_journeys(server, journey)
