# SPDX-License-Identifier: Apache-2.0
"""Snapshots that an account of a remote provider keeps, for a server whose first provider this is."""

import pytest

import atoll

PATH = "/api/sandbox/instances"


def refused(call, *arguments, **options):
    with pytest.raises(atoll.ApiError) as caught:
        call(*arguments, **options)
    return caught.value


def check_copy(api, account, state):
    """A sandbox in this state has a snapshot, from which another sandbox is made."""
    with api.sandbox(internet=False, persistent=True) as box:
        api.exec(box, "echo first > file")
        if state != "started":
            api.post(f"{PATH}/{box}/{'pause' if state == 'paused' else 'stop'}")
        snapshot = api.post(f"{PATH}/{box}/snapshot", {})["id"]
        assert api.get(f"{PATH}/{box}")["state"] == state
        assert any(snapshot in name for name in account.snapshots()), account.snapshots()
        if state == "stopped":
            api.post(f"{PATH}/{box}/start")
        api.exec(box, "echo second > file")
        with api.sandbox(internet=False, snapshot=snapshot) as copy:
            assert api.exec(copy, "cat file")["stdout"] == "first\n"
            assert api.exec(box, "cat file")["stdout"] == "second\n"
            api.delete(f"/api/sandbox/snapshots/{snapshot}")
            assert account.snapshots() == []
            assert api.exec(copy, "cat file")["stdout"] == "first\n"


def check_lost_answer(api, account, fault, end):
    """The answer to the call of the service whose path has this end is lost."""
    with api.sandbox(internet=False) as box:
        account.proxy.fault = lambda method, target: fault if method == "POST" and target.endswith(end) else None
        assert refused(api.post, f"{PATH}/{box}/snapshot", {}).status >= 500
        account.proxy.fault = None
        assert account.snapshots() == []
        assert api.get("/api/sandbox/snapshots")["items"] == []


def check_forks(api):
    with api.sandbox(internet=False) as box:
        api.exec(box, "echo text > file")
        forks = [fork["id"] for fork in api.post(f"{PATH}/{box}/fork", {"count": 2})["items"]]
        try:
            assert [api.exec(fork, "cat file")["stdout"] for fork in forks] == ["text\n"] * 2
        finally:
            for fork in forks:
                api.remove(fork)


def check_reset_is_refused(api):
    with api.sandbox(internet=False, persistent=True) as box:
        api.post(f"{PATH}/{box}/stop")
        assert "cannot do this: give an existing sandbox other files" in refused(api.post, f"{PATH}/{box}/reset", {}).message
