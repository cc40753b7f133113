# SPDX-License-Identifier: Apache-2.0
"""serverless-offline, which runs functions as AWS Lambda does but checks no signature, and in front of it a judge of
signatures. Its functions are the program of deploy/lambda (tests/node/offline/function.js)."""

import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time

import atoll
import aws_signature
import clients
import lambda_service

FOLDER = clients.FOLDER / "offline"
FILES = ("package.json", "serverless.yml", "function.js")
TIMEOUT_S = 310
# serverless-offline knows no DryRun, and says so.
NO_TRIAL = "DryRun"
PASSED = ("content-type", "x-amz-invocation-type", "x-amz-client-context", "x-amz-log-type")
TOLD = ("content-type", "x-amzn-errortype", "x-amz-function-error", "x-amzn-requestid")


class Judge(lambda_service.Handler):
    """Refuses as Lambda does what is not signed, and passes on all else."""

    def do_POST(self):
        offline, body = self.server.offline, self.body()
        headers = {name.lower(): value for name, value in self.headers.items()}
        refusal = aws_signature.refusal(offline.keys, "POST", self.path, headers, body, now=time.time())
        offline.seen.append((self.path, headers, body, refusal))
        if refusal:
            return self.say(403, {"message": refusal}, [("x-amzn-ErrorType", f"{refusal}:http://internal.amazon.com/coral/")])
        if headers.get("x-amz-invocation-type") == NO_TRIAL:
            return self.say(204)
        connection = http.client.HTTPConnection("127.0.0.1", offline.port, timeout=TIMEOUT_S + 10)
        with contextlib.closing(connection):
            connection.request("POST", self.path, body, {name: headers[name] for name in PASSED if name in headers})
            answer = connection.getresponse()
            self.say(answer.status, answer.read(), [(name, answer.headers[name]) for name in TOLD if answer.headers[name]])


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Offline:
    """`url` is the judge's. `seen` are its requests: path, headers, body, and why it refused or None."""

    def __init__(self, folder):
        node = clients.node("serverless", "serverless-offline", folder=FOLDER)
        self.keys, self.seen = {lambda_service.KEY: lambda_service.SECRET}, []
        self.workspaces = folder / "workspaces"
        self.workspaces.mkdir()
        os.chown(self.workspaces, lambda_service.USER, lambda_service.USER)
        for name in FILES:
            shutil.copy(FOLDER / name, folder)
        (folder / "node_modules").symlink_to(FOLDER / "node_modules")
        self.port = free_port()
        start = lambda_service.start_of(str(atoll.BUILD / "atoll-lambda"))
        # The environment ends with the thread of serverless-offline that has begun it.
        variables = {"ATOLL_FUNCTION_START": json.dumps(["setpriv", "--pdeathsig", "KILL", *start]), "ATOLL_FUNCTION_TIMEOUT": str(TIMEOUT_S),
                     "ATOLL_WORKSPACES": str(self.workspaces), "HOME": str(folder), "PATH": os.environ["PATH"], "CI": "1",
                     "SLS_TELEMETRY_DISABLED": "1", "SLS_NOTIFICATIONS_MODE": "off", "SLS_ANALYTICS_DISABLED": "1"}
        self.log = open(folder / "offline.log", "w+")
        self.process = subprocess.Popen(
            [node, "node_modules/serverless/bin/serverless.js", "offline", "start", "--host", "127.0.0.1", "--lambdaPort", str(self.port),
             "--httpPort", str(free_port()), "--noPrependStageInUrl"], cwd=folder, env=variables, stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True)
        self.listener = lambda_service.Quiet(("127.0.0.1", 0), Judge)
        self.listener.offline = self
        self.url = f"http://127.0.0.1:{self.listener.server_address[1]}"
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()
        try:
            atoll.wait_for(self.answers, 60, "serverless-offline")
        except BaseException:
            self.close()
            raise

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def answers(self):
        assert self.process.poll() is None, self.said()
        with contextlib.suppress(OSError), contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)) as connection:
            connection.request("GET", "/")
            return connection.getresponse().status > 0
        return False

    def call(self, path, headers, body):
        """A request to the judge as it is: the status and the JSON of the answer."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.listener.server_address[1], timeout=30)) as connection:
            connection.request("POST", path, body, {name: value for name, value in headers.items() if name != "content-length"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"{}"), answer.headers

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.listener.shutdown()
        self.listener.server_close()
        self.log.close()
