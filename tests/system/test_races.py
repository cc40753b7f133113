# SPDX-License-Identifier: Apache-2.0
"""Two things at once: a template that is shared while it goes, an agent's end during the server's."""

import os
import signal
import threading
import time

import pytest

import atoll
from test_templates import PATH, as_tar, import_file

pytestmark = pytest.mark.needs_root
INSTANCES = "/api/sandbox/instances"


def use_and_remove_heir(api):
    with api.sandbox(template="heir", internet=False) as sandbox:
        assert api.read(sandbox, "/etc/os-release") == b"ID=race-test\n"
    api.delete(f"{PATH}/heir")


def test_a_template_derived_from_one_that_goes_works_or_is_not_there(server, api, tmp_path):
    (tmp_path / "root" / "etc").mkdir(parents=True)  # no program: the agent brings what creating needs
    (tmp_path / "root" / "etc" / "os-release").write_text("ID=race-test\n")
    image = as_tar(tmp_path / "root", tmp_path / "root.tar")
    before, outcomes = set(os.listdir(server.data / "templates")), []
    for i in range(20):
        import_file(api, "going", "tar", image)
        start, failure, removal = threading.Barrier(2), [], []

        def call(results, work):
            with_own = server.api()
            start.wait(10)
            if results is removal:
                time.sleep(i * 0.0002)  # from both at once to one after the other
            try:
                work(with_own)
            except atoll.ApiError as error:
                results.append(error)
            with_own.close()
        threads = [threading.Thread(target=call, args=(failure, lambda a: a.post(PATH, {"name": "heir", "from": "going"}))),
                   threading.Thread(target=call, args=(removal, lambda a: a.delete(f"{PATH}/going")))]
        for thread in threads[::1 if i % 2 else -1]:
            thread.start()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
        assert not removal, removal
        names = {t["name"] for t in api.get(PATH)["items"]}
        assert "going" not in names
        assert ("heir" in names) == (not failure), failure
        outcomes.append(not failure)
        if failure:
            assert failure[0].status in (404, 409), failure
        else:
            use_and_remove_heir(api)
        atoll.wait_for(lambda: set(os.listdir(server.data / "templates")) <= before, 30, "no folder without a template")
    print(f"{sum(outcomes)} of {len(outcomes)} were derived")


@pytest.mark.parametrize("agent_first", [True, False])
def test_an_agent_that_dies_while_the_server_ends_is_told_as_gone(private_server, agent_first):
    api = private_server.start().api()
    dying, living = (api.create(internet=False)["id"] for _ in range(2))
    marker = f"sleep 87.{os.getpid()}"
    api.post(f"{INSTANCES}/{dying}/exec", {"command": marker, "background": True})
    agent = atoll.wait_for(lambda: atoll.first_process(marker), 30, "the command")
    supervisor = private_server.process.pid
    api.close()
    victims = [(agent, signal.SIGKILL), (supervisor, signal.SIGTERM)]
    for pid, number in victims if agent_first else victims[::-1]:
        os.kill(pid, number)
    private_server.process.wait(20)
    private_server.process = None
    private_server.start()
    api = private_server.api()
    row = atoll.wait_for(lambda: (r := api.get(f"{INSTANCES}/{dying}"))["state"] != "started" and r, 30, "its end")
    assert row["state"] in ("stopped", "failed", "deleted"), row
    assert row["reason"] in ("exit", "host_lost"), row
    assert api.exec(living, "echo alive")["stdout"] == "alive\n"
    for sandbox in (dying, living):
        api.remove(sandbox)
    atoll.Host(private_server.data).wait_clean()
