# SPDX-License-Identifier: Apache-2.0
"""What the console shows and changes of the network, in Debian's Chromium, with machines beyond the host that sandboxes can reach: see test_console.py."""

import contextlib
import shutil

import pytest

import atoll
import chromium
import named

pytestmark = [pytest.mark.needs_root,
              pytest.mark.skipif(not all(map(shutil.which, ("ip", "nft", "openssl"))), reason="needs ip, nft and openssl")]


@pytest.fixture(scope="module")
def there():
    # In the host's network: /sys shows no counters of links in another one.
    with contextlib.closing(named.Named()) as there:
        yield there


@pytest.fixture(scope="module")
def server(there):
    running = chromium.start_server("--network-nameservers", there.addresses[0], "--usage-flush", "1s")
    yield running
    running.remove_all()


@pytest.mark.parametrize("journey", chromium.journeys(__file__))
def test_pages(server, there, journey):
    """FAR: an address that all its names lead to; NEAR: an address of this host."""
    chromium.run_journeys(server, journey, FAR=there.addresses[1], NEAR=there.near)
