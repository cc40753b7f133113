# SPDX-License-Identifier: Apache-2.0
"""kill -9 of atolld at every named step of a background job: none is lost, and the end of each is told once."""

import contextlib
import http.client
import http.server
import json
import threading

import pytest

import atoll
from test_kills import named_steps

pytestmark = pytest.mark.needs_root
ALL = named_steps("job", r'fault_point\("api", ')
MESSAGES = [step for step in ALL if step.startswith("job-message-")]
STEPS = [step for step in ALL if step not in MESSAGES]


def once(server, box, body):
    """Api asks again when a connection breaks; this does not."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("POST", f"/api/sandbox/instances/{box}/exec", json.dumps(body),
                       {"Authorization": f"Bearer {server.key}", "Content-Type": "application/json"})
    connection.getresponse().read()


def rows(api):
    return api.get("/v1/jobs?limit=1000")["items"]


def test_the_steps_are_known():
    assert {"job-recorded", "job-launched", "job-told", "job-kept", "job-ended", "job-settled"} <= set(STEPS) and len(MESSAGES) >= 2


@pytest.mark.parametrize("step", STEPS)
def test_a_job_is_neither_lost_nor_told_twice(private_server, step):
    server = private_server
    server.start()
    api = server.api(timeout=10)
    box = api.create(internet=False, persistent=True)["id"]
    server.stop()
    server.environment["ATOLL_FAULT"] = f"api:{step}:kill"
    server.start()
    victim = server.pid_of("api")
    with contextlib.suppress(OSError, http.client.HTTPException):
        once(server, box, {"command": "sleep 0.2; echo ran >> ran; mkdir left; touch left/file; sleep 0.05; exit 4", "background": True, "artifacts": "left"})
    atoll.wait_for(lambda: atoll.is_dead(victim), 30, f"{step} kills the api process")
    server.environment.pop("ATOLL_FAULT")
    server.stop()
    server.start()
    api = server.api()
    [row] = atoll.wait_for(lambda: (lambda all: len(all) == 1 and all[0]["status"] != "running" and all)(rows(api)), 15,
                           "one job that has ended")
    ran = api.exec(box, "cat ran; true")["stdout"]
    assert row["status"] == "failed"
    if step == "job-recorded":
        assert (ran, row["reason"]) == ("", "it was not started")
    else:
        assert (ran, row["reason"], row["exitCode"]) == ("ran\n", "exit code 4", 4)
        assert len(api.get(f"/v1/jobs/{row['resultId']}")["artifacts"]) == 1, "its file is kept once"
    events = api.get("/v1/events?limit=1000&kind=job.*")["items"]
    assert [(e["kind"], e["detail"]["resultId"]) for e in events] == [("job.failed", row["resultId"])]


@pytest.fixture
def chat():
    """Counts what comes, and takes it."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            running.count += 1
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"ok":true}')

        def log_message(self, *arguments):
            pass
    running = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    running.count = 0
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield running
    running.shutdown()
    running.server_close()


@pytest.mark.parametrize("step", MESSAGES)
def test_a_message_is_never_sent_twice_by_itself_nor_lost_in_silence(private_server, chat, step):
    server = private_server
    server.flags += ["--webhook-allow-private", "true"]
    server.environment["ATOLL_FAULT"] = f"api:{step}:kill"
    server.start()
    api = server.api(timeout=10)
    box = api.create(internet=False, persistent=True)["id"]
    api.call("PUT", "/v1/channels/slack", {"type": "slack", "token": "xoxb-12345",
                                           "base_url": f"http://127.0.0.1:{chat.server_port}"})
    victim = server.pid_of("api")
    with contextlib.suppress(OSError, http.client.HTTPException):
        once(server, box, {"command": "true", "background": True, "origin": {"type": "slack", "channel": "C1"}})
    sent = 1 if step == "job-message-sent" else 0
    atoll.wait_for(lambda: atoll.is_dead(victim), 30, f"{step} kills the api process")
    server.environment.pop("ATOLL_FAULT")
    server.stop()
    server.start()
    api = server.api()
    [row] = atoll.wait_for(lambda: api.get("/v1/job-deliveries?state=dead")["items"], 25, "what nobody knows is listed")
    assert chat.count == sent and "may have arrived" in row["error"]
    api.post(f"/v1/job-deliveries/{row['resultId']}/retry")
    atoll.wait_for(lambda: api.get("/v1/job-deliveries?state=delivered")["items"], 30, "sent again when asked")
    assert chat.count == sent + 1
