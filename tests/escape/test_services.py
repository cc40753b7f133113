# SPDX-License-Identifier: Apache-2.0
"""What code inside may do with services: to its own sandbox, and to nobody else."""

import time

import pytest

import atoll

pytestmark = pytest.mark.needs_root
PATH = "/api/sandbox/instances"


def put(api, box, name, **body):
    return api.call("PUT", f"{PATH}/{box}/services/{name}", body)


def log(api, box, name, query=""):
    return api.get(f"{PATH}/{box}/services/{name}/logs{query}")


def test_a_flood_of_output_and_of_crashes_stays_small_and_is_answered(server, api):
    with api.sandbox(internet=False) as box, api.sandbox(internet=False) as neighbour:
        for i in range(8):
            put(api, box, f"flood{i}", command="exec yes $(head -c 2000 /dev/zero | tr '\\0' x)", restart_delay_ms=1)
            put(api, box, f"crash{i}", command="echo x; kill -9 $$", restart_delay_ms=1)
        time.sleep(1)
        begun = time.monotonic()
        rows = api.get(f"{PATH}/{box}/services")["items"]
        answer = log(api, box, "flood0", "?tail=262144")
        assert len(rows) == 16 and time.monotonic() - begun < 20
        assert 0 < len(answer["stdout"]) <= 262144 and answer["stdout_bytes"] > 262144
        # Delays grow: what crashes at once is not started thousands of times.
        assert all(row["restarts"] < 40 for row in rows if row["name"].startswith("crash")), rows
        assert api.exec(neighbour, "echo fine")["stdout"] == "fine\n"


def test_odd_bytes_in_a_log_are_text_in_the_answer(server, api):
    with api.sandbox(internet=False) as box:
        put(api, box, "odd", command="printf '\\377\\000\\033]0;title\\007\\\"}],\\n'; printf '\\303'; exec sleep 1000")
        answer = atoll.wait_for(lambda: (lambda r: r["stdout"].endswith("\ufffd") and r)(log(api, box, "odd")), 30, "its log")
        assert answer["stdout"].endswith("\ufffd") and "title" in answer["stdout"] and '"}],' in answer["stdout"]
        # A terminal of ours gets no command of theirs.
        shown = server.cli("service", "ls", box)
        assert shown.returncode == 0 and b"\x1b" not in shown.stdout


def test_names_and_folders_lead_nowhere_else(api):
    with api.sandbox(internet=False) as box:
        for name in ("..", "a%2Fb", "a%00b", "%2e%2e%2f%2e%2e", ".x", "x" * 300):
            with pytest.raises(atoll.ApiError) as caught:
                put(api, box, name, command="true")
            assert caught.value.status in (400, 404, 405, 414), (name, caught.value)
        with pytest.raises(atoll.ApiError):
            put(api, box, "up", command="true", cwd="../../../..")
        # A folder that is a link out is one inside: the agent has no other.
        api.exec(box, "ln -s /proc/1/root/etc /tmp/link; mkdir -p /tmp/here")
        put(api, box, "linked", command="pwd -P; exec sleep 1000", cwd="/tmp/link")
        seen = atoll.wait_for(lambda: (lambda r: r["state"] in ("running", "backoff") and r)(
            api.get(f"{PATH}/{box}/services/linked")), 30, "it is tried")
        assert seen["state"] == "backoff" or log(api, box, "linked")["stdout"] in ("", "/etc\n")


def test_root_inside_can_end_it_but_not_end_its_keeper_for_good_nor_hide_from_a_stop(api):
    """The keeper is stopped, traced or killed by root inside; children leave their session and ignore SIGTERM."""
    with api.sandbox(internet=False) as box:
        put(api, box, "web", command="(setsid sh -c \"trap '' TERM HUP; while :; do sleep 9001; done\" &) ; exec sleep 9001",
            restart_delay_ms=10, stop_timeout_ms=300)
        pid = api.get(f"{PATH}/{box}/services/web")["pid"]
        keeper = api.exec(box, f"cut -d' ' -f4 /proc/{pid}/stat")["stdout"].strip()
        api.exec(box, f"kill -STOP {keeper}", user="root")
        api.post(f"{PATH}/{box}/services/web/stop")
        atoll.wait_for(lambda: api.get(f"{PATH}/{box}/services/web")["state"] == "stopped", 30, "it has ended")
        left = "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -o '[s]leep 9001' | wc -l"
        assert api.exec(box, left)["stdout"] == "0\n"
        api.post(f"{PATH}/{box}/services/web/start")
        pid = api.get(f"{PATH}/{box}/services/web")["pid"]
        keeper = api.exec(box, f"cut -d' ' -f4 /proc/{pid}/stat")["stdout"].strip()
        assert api.exec(box, f"kill -9 {keeper}", user="root")["exit_code"] == 0
        atoll.wait_for(lambda: api.get(f"{PATH}/{box}/services/web")["restarts"] == 1, 30, "it is restarted")
        # The command that lost its keeper has gone with it.
        atoll.wait_for(lambda: api.exec(box, f"test -d /proc/{pid} || echo gone")["stdout"] == "gone\n", 30, "the old one is gone")


def test_what_one_sandbox_has_no_other_sees(api):
    with api.sandbox(internet=False) as one, api.sandbox(internet=False) as other:
        put(api, one, "web", command="exec sleep 1000", env={"SECRET": "hunter2"})
        with pytest.raises(atoll.ApiError) as caught:
            log(api, other, "web")
        assert caught.value.code == "not_found"
        assert "hunter2" not in str(api.get(f"{PATH}/{one}/services")) and api.get(f"{PATH}/{other}/services")["items"] == []
