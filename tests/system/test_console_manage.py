# SPDX-License-Identifier: Apache-2.0
"""The console's pages for templates, builds, volumes and snapshots, and those for keys, members, usage and settings, in Debian's Chromium: see test_console.py."""

import pytest

import chromium

pytestmark = pytest.mark.needs_root


@pytest.fixture(scope="module")
def server():
    running = chromium.start_server("--providers", "native,bare=host:allow_weaker=true;max_sandboxes=20,nothing=null:allow_weaker=true")
    yield running
    running.remove_all()


@pytest.mark.parametrize("journey", chromium.journeys(__file__))
def test_pages(server, journey):
    chromium.run_journeys(server, journey)
