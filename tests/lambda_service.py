# SPDX-License-Identifier: Apache-2.0
"""A service that stands for AWS Lambda: in front its call Invoke, with judged signatures; behind it the Runtime API,
which judges the program of the function. Each environment of a function is that program in namespaces of its own, as a
user without privileges."""

import contextlib
import http.server
import json
import os
import pathlib
import queue
import subprocess
import threading
import time
import urllib.parse
import uuid

import atoll
import aws_signature

KEY, SECRET = "AKIDOFTHETESTS", "secret/of+the/tests"
FUNCTIONS = ("fn-net", "fn-nonet", "fn-mount-net", "fn-mount-nonet")
# Root makes what Lambda has: an own /tmp, no other processes, and a user without privileges. The limit of processes counts all
# of a user, so that no other program may have this user.
USER = 1_000_000 + os.getpid()
ENVIRONMENT = """mount -t tmpfs none /opt && cp "$1" /opt/atoll-lambda && mount -t tmpfs none /mnt &&
if [ -n "$WORKSPACES" ]; then mkdir /mnt/workspaces && mount --bind "$WORKSPACES" /mnt/workspaces; fi &&
mount -t tmpfs none /tmp && mount -t tmpfs none /dev/shm &&
cd / && exec setpriv --reuid="$2" --regid="$2" --clear-groups --no-new-privs env -u WORKSPACES /opt/atoll-lambda"""


def start_of(program):
    """Command and words that start an environment. Its folder of workspaces is in the variable WORKSPACES, if it has one."""
    return ["unshare", "--mount", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", ENVIRONMENT, "sh", program, str(USER)]


class Quiet(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        pass


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def say(self, status, body=b"", headers=()):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class RuntimeApi(Handler):
    """For the program of one environment. What the contract does not allow is kept in `mistakes`."""

    def do_GET(self):
        environment = self.server.environment
        if self.path != "/2018-06-01/runtime/invocation/next":
            return self.refuse(404, f"GET {self.path}")
        if environment.current:
            return self.refuse(403, "next during an invocation")
        invocation = environment.waiting.get()
        if invocation is None:
            return self.say(410)
        environment.current = invocation
        self.say(200, invocation.payload, [
            ("Lambda-Runtime-Aws-Request-Id", invocation.id), ("Content-Type", "application/json"),
            ("Lambda-Runtime-Deadline-Ms", str(int((time.time() + environment.timeout) * 1000))),
            ("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:1:function:f"), ("Lambda-Runtime-Trace-Id", "Root=1-5bef4de7")])

    def do_POST(self):
        environment, body = self.server.environment, self.body()
        if self.path == "/2018-06-01/runtime/init/error":
            environment.init_error = json.loads(body)
            return self.say(202, {"status": "OK"})
        current = environment.current
        kinds = {f"/2018-06-01/runtime/invocation/{current.id}/{kind}": kind for kind in ("response", "error")} if current else {}
        kind = kinds.get(self.path)
        if not kind:
            return self.refuse(400, f"POST {self.path}")
        try:
            said = json.loads(body)
        except ValueError:
            return self.refuse(400, "a body that is no JSON")
        if kind == "error" and not {"errorMessage", "errorType"} <= set(said):
            return self.refuse(400, "an error without errorMessage and errorType")
        if kind == "error" and not self.headers.get("Lambda-Runtime-Function-Error-Type"):
            return self.refuse(400, "an error without its header")
        environment.current = None
        self.say(202, {"status": "OK"})
        current.end(said, "Unhandled" if kind == "error" else None)

    def refuse(self, status, text):
        self.server.environment.mistakes.append(text)
        self.say(status, {"errorMessage": text, "errorType": "InvalidStateTransition"})


class Invocation:
    def __init__(self, payload):
        self.id, self.payload, self.done = str(uuid.uuid4()), payload, threading.Event()
        self.said = self.failure = None

    def end(self, said, failure):
        self.said, self.failure = said, failure
        self.done.set()


class Environment:
    """One program that serves invocations, one after the other."""

    def __init__(self, function, program=None):
        self.function, self.timeout = function, function.timeout
        self.waiting, self.mistakes = queue.Queue(), []
        self.current = self.init_error = None
        self.listener = Quiet(("127.0.0.1", 0), RuntimeApi)
        self.listener.environment = self
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()
        variables = {"PATH": "/usr/bin:/bin", "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self.listener.server_address[1]}", "LAMBDA_TASK_ROOT": "/var/task",
                     "AWS_ACCESS_KEY_ID": "ASIAOFTHEROLE", "AWS_SECRET_ACCESS_KEY": "secret-of-the-role", "AWS_SESSION_TOKEN": "token-of-the-role",
                     "WORKSPACES": str(function.workspaces or "")}
        self.process = subprocess.Popen(
            start_of(program or function.service.program), env=variables, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        self.said = []
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self):
        for line in self.process.stderr:
            self.said.append(line.decode(errors="replace"))
        self.process.wait()
        current, self.current = self.current, None
        if not current and not self.waiting.empty():
            current = self.waiting.get()
        if current:
            current.end({"errorMessage": f"RequestId: {current.id} Error: Runtime exited with error: exit status 1",
                         "errorType": "Runtime.ExitError"}, "Unhandled")

    def run(self, payload):
        invocation = Invocation(payload)
        self.waiting.put(invocation)
        if not invocation.done.wait(self.timeout):
            self.close()
            invocation.end({"errorMessage": f"2026-01-01T00:00:00.000Z {invocation.id} Task timed out after {self.timeout:.2f} seconds"}, "Unhandled")
        return invocation

    def alive(self):
        return self.process.poll() is None

    def close(self):
        self.waiting.put(None)
        with contextlib.suppress(OSError):
            self.process.kill()
        self.process.wait()
        self.listener.shutdown()
        self.listener.server_close()


class Function:
    def __init__(self, service, workspaces=None, timeout=310, environments_max=8):
        self.service, self.workspaces, self.timeout, self.environments_max = service, workspaces, timeout, environments_max
        self.idle, self.all, self.lock, self.calls = [], [], threading.Lock(), []

    def take(self):
        with self.lock:
            while self.idle:
                environment = self.idle.pop()
                if environment.alive():
                    return environment
            if len([one for one in self.all if one.alive()]) >= self.environments_max:
                return None
            environment = Environment(self)
            self.all.append(environment)
            return environment

    def invoke(self, payload):
        environment = self.take()
        if not environment:
            return None
        self.calls.append(payload)
        invocation = environment.run(payload)
        with self.lock:
            if environment.alive():
                self.idle.append(environment)
        return invocation

    def mistakes(self):
        return [mistake for environment in self.all for mistake in environment.mistakes]


class Invoke(Handler):
    def do_POST(self):
        service, body = self.server.service, self.body()
        headers = {name.lower(): value for name, value in self.headers.items()}
        fault = service.fault and service.fault(self.path, headers)
        service.seen.append((time.monotonic(), self.path, headers))
        if fault == "cut":
            self.close_connection = True
            return
        if fault == "hang":
            service.released.wait(60)
            self.close_connection = True
            return
        if isinstance(fault, tuple):
            return self.say(*fault)
        refusal = aws_signature.refusal(service.keys, "POST", self.path, headers, body)
        if refusal:
            return self.say(403, {"message": refusal}, [("x-amzn-ErrorType", f"{refusal}:http://internal.amazon.com/coral/")])
        parts = self.path.split("/")
        function = service.functions.get(urllib.parse.unquote(parts[3])) if len(parts) == 5 else None
        if not function or parts[1:3] != ["2015-03-31", "functions"] or parts[4] != "invocations":
            return self.say(404, {"Type": "User", "Message": f"Function not found: {self.path}"}, [("x-amzn-ErrorType", "ResourceNotFoundException")])
        if headers.get("x-amz-invocation-type") == "DryRun":
            return self.say(204)
        invocation = function.invoke(body)
        if not invocation:
            return self.say(429, {"Type": "User", "Reason": "ReservedFunctionConcurrentInvocationLimitExceeded", "message": "Rate Exceeded."},
                            [("x-amzn-ErrorType", "TooManyRequestsException"), ("Retry-After", "1")])
        said = json.dumps(invocation.said).encode()
        if fault == "half":
            self.send_response(200)
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said[:len(said) // 2])
            self.close_connection = True
            return
        if fault == "garbled":
            said = said[:len(said) // 2]
        self.say(200, said, [("X-Amz-Function-Error", invocation.failure)] if invocation.failure else [])


def options_of(url, functions=FUNCTIONS, **more):
    """Of a provider lambda whose service is there."""
    names = dict(zip(("sandbox_fn_nomount_net", "sandbox_fn_nomount_nonet", "sandbox_fn_mount_net", "sandbox_fn_mount_nonet"), functions))
    options = {"lambda_endpoint": url, "lambda_region": "us-east-1", "lambda_access_key_id": KEY, "allow_weaker": "true", **names, **more}
    return ";".join(f"{name}={value}" for name, value in options.items())


class Service:
    """fault(path, headers) says what becomes of a call: None, "cut", "hang", "half", "garbled", or what Handler.say takes."""

    def __init__(self, folder, names=FUNCTIONS):
        self.keys, self.fault, self.seen, self.released = {KEY: SECRET}, None, [], threading.Event()
        self.workspaces = pathlib.Path(folder) / "workspaces"
        self.workspaces.mkdir()
        os.chown(self.workspaces, USER, USER)
        self.program = str(atoll.BUILD / "atoll-lambda")
        self.functions = {name: Function(self, self.workspaces if "mount" in name else None) for name in names}
        self.listener = Quiet(("127.0.0.1", 0), Invoke)
        self.listener.service = self
        self.url = f"http://127.0.0.1:{self.listener.server_address[1]}"
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()

    def options(self, **more):
        return options_of(self.url, self.functions, **more)

    def calls(self):
        return {name: len(function.calls) for name, function in self.functions.items()}

    def mistakes(self):
        return [mistake for function in self.functions.values() for mistake in function.mistakes()]

    def close(self):
        self.released.set()
        for function in self.functions.values():
            for environment in function.all:
                environment.close()
        self.listener.shutdown()
        self.listener.server_close()
