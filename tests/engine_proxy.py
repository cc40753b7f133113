# SPDX-License-Identifier: Apache-2.0
"""Stands between a server and a real Docker daemon, and fails when a test says so."""

import os
import socket
import threading

FAILURES = ("refuse", "hang", "500", "die", "garbage")
ANSWERS = {"500": b'HTTP/1.1 500 X\r\nContent-Type: application/json\r\nContent-Length: 27\r\n\r\n{"message":"no space left"}',
           "garbage": b"\1\2 no HTTP at all\r\n\r\n"}
HANG_S = 30


class Proxy:
    """mode: 'pass', or one of FAILURES. 'die' lets the daemon execute the call, and loses the answer."""

    def __init__(self, path, target):
        self.path, self.target, self.mode = path, target, "pass"
        self.host = f"unix://{path}"
        self.released, self.listener = threading.Event(), None
        self.listen()

    def listen(self):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        os.chmod(self.path, 0o666)
        self.listener.listen(256)
        threading.Thread(target=self.accept, args=(self.listener,), daemon=True).start()

    def fail(self, mode):
        self.mode = mode
        if mode == "refuse":
            self.stop_listening()

    def recover(self):
        was, self.mode = self.mode, "pass"
        self.released.set()
        if was == "refuse":
            self.listen()

    def stop_listening(self):
        os.unlink(self.path)
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def accept(self, listener):
        while True:
            try:
                client = listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(self.target)
            threading.Thread(target=self.answer, args=(server, client), daemon=True).start()
            while data := client.recv(65536):
                if self.mode == "hang":
                    self.released.wait(HANG_S)
                    break
                if self.mode in ANSWERS:
                    client.sendall(ANSWERS[self.mode])
                    break
                if self.mode == "refuse":
                    break
                server.sendall(data)
        except OSError:
            pass
        finally:
            for end in (client, server):
                end.close()

    def answer(self, server, client):
        try:
            while data := server.recv(65536):
                if self.mode == "die":
                    client.shutdown(socket.SHUT_RDWR)
                    return
                client.sendall(data)
            client.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
