# SPDX-License-Identifier: Apache-2.0
"""kill -9 in the middle of `atoll key rotate-secrets`: every environment can still be read, and the next
rotation finishes what was begun."""

import re
import sqlite3

import pytest

import atoll

pytestmark = pytest.mark.needs_root
STEPS = sorted(set(re.findall(r'fault_point\("api", "(rotate-[a-z-]+)"\)',
                              (atoll.ROOT / "src/store/secrets.c").read_text())))


def resting(server):
    """The environments as the database has them, with the keys that they name."""
    with sqlite3.connect(f"file:{server.data}/store/atoll.db?mode=ro", uri=True) as db:
        return [row[0] for row in db.execute("SELECT env_json FROM sandboxes WHERE actual <> 'deleted'")]


def key_names(server):
    return [line.split()[0] for line in (server.data / "keys" / "secret.key").read_text().splitlines()]


def check(server, made):
    api = server.api()
    for number, sandbox in enumerate(made):
        assert api.exec(sandbox, "echo $SECRET")["stdout"] == f"hunter{number}\n"
    api.close()
    for text in resting(server):
        assert text.startswith('"sealed.') and "hunter" not in text
        assert text.split(".")[1] in key_names(server)


def test_the_steps_are_known():
    assert STEPS == ["rotate-key-added", "rotate-page", "rotate-resealed"]


@pytest.mark.parametrize("step", STEPS)
def test_a_rotation_that_is_killed_loses_nothing(private_server, step):
    server = private_server.start()
    api = server.api()
    made = [api.create(internet=False, env={"SECRET": f"hunter{i}"})["id"] for i in range(3)]
    api.close()
    check(server, made)
    first = key_names(server)
    assert len(first) == 1
    server.stop()
    server.environment["ATOLL_FAULT"] = f"api:{step}:kill"
    server.start()
    old = server.pid_of("api")
    assert server.cli("key", "rotate-secrets").returncode != 0
    atoll.wait_for(lambda: server.pid_of("api") not in (None, old), 15, "another api process")
    server.wait_ready(20)
    server.environment.pop("ATOLL_FAULT")
    server.stop()
    server.start()
    check(server, made)
    ended = server.cli("key", "rotate-secrets")
    assert ended.returncode == 0 and b"7 values" in ended.stdout, ended
    check(server, made)
    names = key_names(server)
    assert len(names) == 2 and first[0] not in names
    assert {text.split(".")[1] for text in resting(server)} == {names[0]}
