# SPDX-License-Identifier: Apache-2.0
"""Images of registries for virtual machines: an image becomes a template, and the template a disk."""

import pytest

import atoll
import microvm_parts
from test_images import INSTANCES, app, created, named  # noqa: F401
from test_registry import public, registry, root  # noqa: F401

pytestmark = [pytest.mark.needs_root, pytest.mark.slow,
              pytest.mark.skipif(microvm_parts.reason() is not None, reason=str(microvm_parts.reason()))]
SIZE = {"memory_mb": 192, "disk_mb": 64}


@pytest.fixture(scope="module")
def server():
    server = atoll.Server(flags=["--providers", "vm=microvm,plain=native:allow_weaker=true", "--microvm-kernel", microvm_parts.KERNEL,
                                 "--registry-allow-private", "true"]).start()
    yield server
    server.remove_all()


def test_a_machine_boots_from_an_image_and_has_its_settings(api, app):  # noqa: F811
    image = f"{app}:kept"
    box = created(api, image, resources=SIZE)
    second = created(api, image, resources=SIZE)
    plain = created(api, image, provider="plain")
    try:
        assert (box["provider"], box["isolation"]) == ("vm", "microvm")
        assert len(named(api, image)) == 1, "machines and native sandboxes have the same template"
        for made in (box, second, plain):
            assert api.exec(made["id"], "pwd; echo $FROM_IMAGE")["stdout"] == "/opt\nyes\n"
        assert api.exec(box["id"], "cat /proc/version")["stdout"] != api.exec(plain["id"], "cat /proc/version")["stdout"]
        api.exec(box["id"], "echo mine >/opt/file")
        api.post(f"{INSTANCES}/{box['id']}/stop")
        api.post(f"{INSTANCES}/{box['id']}/start")
        assert api.exec(box["id"], "cat file; echo $FROM_IMAGE")["stdout"] == "mine\nyes\n"
    finally:
        for made in (box, second, plain):
            api.delete(f"{INSTANCES}/{made['id']}")


def test_an_image_that_is_not_there_leaves_no_machine(api, app):  # noqa: F811
    with pytest.raises(atoll.ApiError) as refused:
        created(api, f"{app}:absent", resources=SIZE)
    assert refused.value.status in (400, 404) and "app:absent" in str(refused.value), refused.value
    assert api.get(INSTANCES)["items"] == []
