# SPDX-License-Identifier: Apache-2.0
"""Previews of sandboxes in gVisor: the tests of native sandboxes with another provider. The agent in gVisor carries the bytes."""

import os

import pytest

import atoll
import gvisor_parts
from test_previews import *  # noqa: F401,F403
from test_previews import DOMAIN

pytestmark = [pytest.mark.needs_root, pytest.mark.slow, gvisor_parts.needed,
              pytest.mark.skipif(not os.path.exists("/usr/bin/python3"), reason="the host's /usr has no python3")]


@pytest.fixture(scope="module")
def shared():
    running = atoll.Server(provider="gvisor", environment={"SANDBOX_PREVIEW_DOMAIN": DOMAIN}).start()
    yield running
    running.remove_all()
