# SPDX-License-Identifier: Apache-2.0
"""GPUs of the provider docker, at a daemon that records what it is asked for and runs nothing."""

import contextlib

import pytest

import atoll
import fake_docker

pytestmark = pytest.mark.providers


@contextlib.contextmanager
def serve(**environment):
    daemon = fake_docker.Daemon("500")
    server = atoll.Server(provider="docker", environment={"DOCKER_HOST": daemon.host, "SANDBOX_WORKER_IMAGE": "fake",
                                                          **environment}).start()
    try:
        yield daemon, server.api()
    finally:
        server.remove_all()
        daemon.remove()


def refused(api, **options):
    with pytest.raises(atoll.ApiError) as failure:
        api.create(**options)
    return failure.value


@pytest.mark.smoke
def test_without_the_switch_gpus_are_refused_by_name():
    with serve() as (daemon, api):
        failure = refused(api, gpus=1, internet=False)
        assert failure.status == 501 and "give GPUs" in failure.message and "SANDBOX_GPU_ENABLED" in str(failure.body), failure.body
        assert daemon.asked == []
        assert refused(api, gpus=65).status == 400 and refused(api, gpus=-1).status == 400


def test_gpus_are_device_requests_and_without_a_network():
    with serve(SANDBOX_GPU_ENABLED="true") as (daemon, api):
        assert refused(api, gpus=2).status == 503  # the daemon makes nothing
        asked = daemon.asked.pop()["HostConfig"]
        assert asked["DeviceRequests"] == [{"Driver": "", "Count": 2, "Capabilities": [["gpu"]]}]
        assert asked["NetworkMode"] == "none"
        failure = refused(api, gpus=1, internet=True)
        assert failure.status == 501 and "has a network" in failure.message and daemon.asked == []
        refused(api, internet=False)
        assert "DeviceRequests" not in daemon.asked.pop()["HostConfig"]


def test_gpus_with_a_network_need_the_second_switch():
    with serve(SANDBOX_GPU_ENABLED="true", SANDBOX_GPU_NETWORK_ENABLED="true") as (daemon, api):
        failure = refused(api, gpus=1, internet=True)
        # The network of the recording daemon is not one that Atoll made: the request got as far as that.
        assert failure.status == 409 and "network 'atoll'" in failure.message, failure.body


def test_a_rule_does_not_send_gpus_to_a_provider_without_them():
    daemon = fake_docker.Daemon("500")
    server = atoll.Server(flags=["--providers", f"native,far=docker:docker_host={daemon.host};docker_image=fake;gpu_enabled=true;allow_weaker=true"]).start()
    try:
        api = server.api()
        failure = refused(api, gpus=1, internet=False, provider="native")
        assert failure.status == 501 and "give GPUs" in failure.message, failure.body
        assert refused(api, gpus=1, internet=False).status == 503 and daemon.asked[-1]["HostConfig"]["DeviceRequests"]
        assert daemon.versions == 1
    finally:
        server.remove_all()
        daemon.remove()
