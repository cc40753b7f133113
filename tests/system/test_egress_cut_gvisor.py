# SPDX-License-Identifier: Apache-2.0
"""The cut by a quota of sent bytes for sandboxes in gVisor: the tests of native sandboxes with another provider."""

import shutil

import pytest

import atoll
import gvisor_parts
from test_egress_cut import *  # noqa: F401,F403

pytestmark = [pytest.mark.needs_root, pytest.mark.slow, gvisor_parts.needed,
              pytest.mark.skipif(not all(map(shutil.which, ("ip", "nft", "openssl"))), reason="needs ip, nft and openssl")]


@pytest.fixture(scope="module")
def server(there):  # noqa: F405
    server = atoll.Server(provider="gvisor", flags=["--network-nameservers", there.addresses[0], "--usage-flush", "1s"]).start()
    try:
        yield server
    finally:
        server.remove_all()
