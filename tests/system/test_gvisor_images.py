# SPDX-License-Identifier: Apache-2.0
"""Images of registries for sandboxes in gVisor: they are the templates of native sandboxes."""

import pytest

import atoll
import gvisor_parts
from test_images import (INSTANCES, app, created, named,  # noqa: F401
                         test_a_create_pulls_its_image_once_and_keeps_it, test_a_failed_pull_fails_the_create_with_its_reason_and_leaves_nothing,
                         test_creates_at_once_pull_once)
from test_registry import guarded, public, registry, root  # noqa: F401

pytestmark = [pytest.mark.providers, pytest.mark.needs_root, gvisor_parts.needed]


@pytest.fixture(scope="module")
def server():
    server = atoll.Server(flags=["--providers", "strong=gvisor,plain=native", "--registry-allow-private", "true"]).start()
    yield server
    server.remove_all()


def test_the_image_runs_on_gvisors_kernel_and_has_its_settings(api, app):  # noqa: F811
    box = created(api, f"{app}:kept")
    try:
        assert (box["provider"], box["isolation"]) == ("strong", "gvisor")
        assert api.exec(box["id"], "pwd; echo $FROM_IMAGE")["stdout"] == "/opt\nyes\n"
        assert "gVisor" in api.exec(box["id"], "dmesg")["stdout"]
        api.post(f"{INSTANCES}/{box['id']}/stop")
        api.post(f"{INSTANCES}/{box['id']}/start")
        assert api.exec(box["id"], "echo $FROM_IMAGE")["stdout"] == "yes\n"
    finally:
        api.delete(f"{INSTANCES}/{box['id']}")
    assert len(named(api, f"{app}:kept")) == 1
