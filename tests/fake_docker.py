# SPDX-License-Identifier: Apache-2.0
"""A Docker daemon that runs nothing: it answers what the provider asks at its start, and fails creates as a test says.
`containers` is its own list: what it was asked to make and has not removed yet."""

import http.server
import json
import os
import re
import shutil
import socketserver
import tempfile
import threading

IMAGE = "sha256:" + "a" * 64
NONSENSE = {"garbage": b"\1\2 no HTTP at all\r\n\r\n", "half": b'HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{"Id":',
            "400 of a proxy": b"HTTP/1.1 400 Bad\r\nContent-Length: 6\r\n\r\n<html>"}
MISSING = b'{"message":"there is none"}'


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def address_string(self):
        return "client"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"{}"):
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if status != 204:
            self.wfile.write(body)

    def body(self):
        text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return json.loads(text) if text else {}

    def path_here(self):
        return re.sub(r"^/v[0-9.]+", "", self.path)

    def container(self):
        """The name in the path, if there is such a container."""
        found = re.match(r"/containers/([^/?]+)", self.path_here())
        return found[1] if found and found[1] in self.server.daemon.containers else None

    def do_GET(self):
        path = self.path_here()
        self.server.daemon.versions += path == "/version"
        answers = {
            "/version": {"Components": [{"Name": "Engine"}], "ApiVersion": "1.41"},
            "/info": {"ID": "fake", "DockerRootDir": self.server.daemon.folder, "Runtimes": {"runc": {}}, "Images": 0},
        }
        if path in ("/_ping",) or path in answers:
            self.answer(200, json.dumps(answers.get(path, {})).encode())
        elif path.startswith("/containers/json"):
            self.answer(200, json.dumps([
                {"Id": name, "Names": [f"/{name}"], "Image": IMAGE, "State": "created", "Labels": made.get("Labels") or {}}
                for name, made in list(self.server.daemon.containers.items())]).encode())
        elif path.startswith(("/images/json", "/volumes")):
            self.answer(200, b'{"Volumes":[]}' if path.startswith("/volumes") else b"[]")
        elif path.startswith("/images/"):
            self.answer(200, json.dumps({"Id": IMAGE, "Size": 1, "Config": {}}).encode())
        elif path.startswith("/networks/"):
            self.answer(200, b'{"Id":"n"}')
        elif path.startswith("/events"):
            self.server.daemon.ended.wait()
        else:
            self.answer(404, MISSING)

    def do_POST(self):
        body, path, daemon = self.body(), self.path_here(), self.server.daemon
        if not path.startswith("/containers/create"):
            broken = path.endswith("/start")
            self.answer(500 if broken else 204 if "/containers/" in path else 201, b'{"message":"no space left"}' if broken else b"")
            return
        daemon.creates += 1
        daemon.asked.append(body)
        if daemon.mode == "refuse":
            self.close_connection = True
            return
        if daemon.mode in NONSENSE:
            self.wfile.write(NONSENSE[daemon.mode])
            self.close_connection = True
            return
        if daemon.missing:
            self.answer(404, b'{"message":"No such image"}')
            return
        if daemon.mode == "500":
            self.answer(500, b'{"message":"no space left"}')
            return
        name = path.split("name=")[1]
        daemon.containers[name] = body
        if daemon.mode == "start500":
            self.answer(201, json.dumps({"Id": name}).encode())
            return
        if daemon.mode == "hang":
            daemon.released.wait(60)
        self.close_connection = True  # "die": as a daemon that ends in a call

    def do_DELETE(self):
        self.body()
        name = self.container()
        self.server.daemon.containers.pop(name, None)
        self.answer(204 if name else 404, MISSING)


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 256

    def get_request(self):
        connection, _ = super().get_request()
        return connection, ("client", 0)

    def handle_error(self, *_):
        pass


class Daemon:
    """mode: 'refuse' with refuse(), '500' of a create, one of NONSENSE, 'start500', 'hang' or 'die': the last three
    have made the container."""

    def __init__(self, mode):
        self.mode, self.creates, self.containers = mode, 0, {}
        self.asked, self.versions = [], 0  # bodies of creates
        self.missing = False  # it has no image
        self.folder = tempfile.mkdtemp(prefix="atoll-fake-docker-")
        os.chmod(self.folder, 0o755)
        self.host = f"unix://{self.folder}/docker.sock"
        self.ended, self.released = threading.Event(), threading.Event()
        self.server = None
        self.start()

    def start(self):
        self.server = Server(f"{self.folder}/docker.sock", Handler)
        self.server.daemon = self
        os.chmod(f"{self.folder}/docker.sock", 0o666)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def refuse(self):
        """From now on nothing listens."""
        self.server.shutdown()
        self.server.server_close()
        os.unlink(f"{self.folder}/docker.sock")

    def remove(self):
        self.ended.set()
        self.released.set()
        if os.path.exists(f"{self.folder}/docker.sock"):
            self.refuse()
        shutil.rmtree(self.folder, ignore_errors=True)
