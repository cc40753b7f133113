# SPDX-License-Identifier: Apache-2.0
"""Volumes that an account of a remote provider keeps, for a server whose first provider this is."""

import pytest

import atoll

PATH = "/api/sandbox/instances"
VOLUMES = "/api/sandbox/volumes"


def refused(call, *arguments, **options):
    with pytest.raises(atoll.ApiError) as caught:
        call(*arguments, **options)
    return caught.value


def check_life(api, account, has_subpaths):
    """A volume outlives the sandboxes that write into it."""
    made = api.post(VOLUMES, {"name": "data", "size_mb": 64})
    assert made["size_advisory"] is True, made
    (name,) = account.volumes()
    assert name.startswith("atoll-") and name.endswith(made["id"]), name
    for number in range(2):
        with api.sandbox(internet=False, volumes=[{"volume": "data", "path": "/data"}]) as box:
            assert api.exec(box, f"cat /data/* 2> /dev/null | wc -l; echo line > /data/file-{number}; sync")["stdout"].strip() == str(number)
            assert refused(api.delete, f"{VOLUMES}/data").status == 409
            for verb in ("pause", "stop", "start"):
                api.post(f"{PATH}/{box}/{verb}")
            assert api.exec(box, f"cat /data/file-{number}")["stdout"] == "line\n"
    if not has_subpaths:
        failure = refused(api.create, internet=False, volumes=[{"volume": "data", "path": "/part", "subpath": "a/b"}])
        assert failure.status == 501 and "folder of a volume" in failure.message, failure
    else:
        with api.sandbox(internet=False, volumes=[{"volume": "data", "path": "/part", "subpath": "a/b"}]) as box:
            api.exec(box, "echo inner > /part/file")
        with api.sandbox(internet=False, volumes=[{"volume": "data", "path": "/data"}]) as box:
            assert api.exec(box, "cat /data/a/b/file")["stdout"] == "inner\n"
    api.delete(f"{VOLUMES}/data")
    assert account.volumes() == []


def check_lost_answer(api, account, fault):
    account.proxy.fault = lambda method, target: fault if method == "POST" and target.endswith("/volumes") else None
    assert refused(api.post, VOLUMES, {"name": "lost"}).status >= 500
    account.proxy.fault = None
    assert atoll.wait_for(lambda: account.volumes() == [] and api.get(VOLUMES)["items"] == [], 30, "no volume")


def check_refusals(api, account):
    """Each before the create, and with a reason."""
    api.post(VOLUMES, {"name": "data"})
    try:
        before = len(account.rows())
        failure = refused(api.create, internet=False, volumes=[{"volume": "data", "path": "/data", "read_only": True}])
        assert failure.status == 501 and "read-only" in failure.message, failure
        assert len(account.rows()) == before
        with api.sandbox(internet=False) as box:
            for state in ("started", "stopped"):
                failure = refused(api.post, f"{PATH}/{box}/volume", {"volume": "data", "path": "/data"})
                assert failure.status == 501 and "change the volumes" in failure.message and "create" in failure.hint, failure
                if state == "started":
                    api.post(f"{PATH}/{box}/stop")
        with api.sandbox(internet=False, volumes=[{"volume": "data", "path": "/data"}]) as box:
            assert refused(api.delete, f"{PATH}/{box}/volume?volume=data").status == 501
    finally:
        api.delete(f"{VOLUMES}/data")


def exercise(server):
    """All calls for volumes that a provider makes, for a judge of them."""
    server.start()
    try:
        api = server.api()
        api.post(VOLUMES, {"name": "data"})
        with api.sandbox(internet=False, volumes=[{"volume": "data", "path": "/data"}]) as box:
            api.exec(box, "echo kept > /data/file")
        api.delete(f"{VOLUMES}/data")
    finally:
        server.remove_all()
