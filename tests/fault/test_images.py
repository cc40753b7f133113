# SPDX-License-Identifier: Apache-2.0
"""kill -9 while a create pulls its image: nothing half-made is used or left, and the next create pulls again."""

import contextlib
import http.client
import threading

import pytest

import atoll
from image_registry import Registry
from small_root import as_tar, busybox
from test_kills import named_steps

pytestmark = pytest.mark.needs_root
TEMPLATES, INSTANCES = "/api/sandbox/templates", "/api/sandbox/instances"
FAILURES = (atoll.ApiError, OSError, http.client.HTTPException, AssertionError)
STEPS = [step for step in named_steps("fleet", r'fault_point\("api", ') if step.startswith("template-")]


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    folder = busybox(tmp_path_factory.mktemp("root"))
    tar = as_tar(folder, folder.parent / "root.tar").read_bytes()
    running = Registry(tmp_path_factory.mktemp("registry"))
    try:
        running.wait().put_image("app", "1", [(tar, "gzip")], {"Env": ["FROM_IMAGE=yes"]})
        yield f"{running.address}/app:1"
    finally:
        running.stop()


def works_again(server, image, folders):
    api = server.api()
    for template in api.get(TEMPLATES)["items"]:
        assert template["state"] != "building" and (template["base_image"] != image or template["state"] != "failed"), template
    box = api.post(INSTANCES, {"image": image, "internet": False})
    assert api.exec(box["id"], "echo $FROM_IMAGE")["stdout"] == "yes\n"
    api.delete(f"{INSTANCES}/{box['id']}")
    made, = [t for t in api.get(TEMPLATES)["items"] if t["base_image"] == image]
    left = {path.name for path in (server.data / "templates").iterdir()} - folders
    assert len(left) == 2, f"more than the folder and the description of {made['id']}: {left}"
    for other in api.get(INSTANCES)["items"]:
        assert other["state"] == "failed", other
        api.delete(f"{INSTANCES}/{other['id']}")


def test_the_steps_are_known():
    assert len(STEPS) >= 2


@pytest.mark.parametrize("wait", ["true", "false"])
@pytest.mark.parametrize("step", STEPS)
def test_the_api_process_dies_at_a_step_of_a_pull(private_server, image, step, wait):
    private_server.flags = ["--registry-allow-private", "true"]
    private_server.environment["ATOLL_FAULT"] = f"api:{step}:kill"
    private_server.start()
    folders = {path.name for path in (private_server.data / "templates").iterdir()}
    with contextlib.suppress(*FAILURES):
        private_server.api(timeout=8).post(f"{INSTANCES}?wait={wait}", {"image": image, "internet": False})
        atoll.wait_for(lambda: False, 3, "the end of the process")
    private_server.environment.pop("ATOLL_FAULT")
    private_server.stop()
    private_server.start()
    works_again(private_server, image, folders)


def test_the_broker_dies_during_a_pull(private_server, image):
    private_server.flags = ["--registry-allow-private", "true"]
    private_server.start()
    folders = {path.name for path in (private_server.data / "templates").iterdir()}
    failures = []

    def create():
        try:
            api = private_server.api(timeout=60)
            api.delete(f"{INSTANCES}/{api.post(INSTANCES, {'image': image, 'internet': False})['id']}")
        except FAILURES as failure:
            failures.append(failure)

    running = threading.Thread(target=create)
    running.start()
    atoll.wait_for(lambda: any(t["state"] == "building" for t in private_server.api().get(TEMPLATES)["items"]), 20, "the pull")
    private_server.kill9("broker")
    running.join(60)
    assert not running.is_alive()
    atoll.wait_for(lambda: private_server.pid_of("broker"), 30, "another broker")
    works_again(private_server, image, folders)
