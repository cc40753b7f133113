# SPDX-License-Identifier: Apache-2.0
"""In a sandbox: serves bare repositories below a folder by git's own CGI, to who has the login; tells whether the password was
ever in an argument. /away/… leads to another server."""

import base64
import glob
import http.server
import os
import subprocess
import sys

root, login, port, log, away = sys.argv[1:6]
wanted = "Basic " + base64.b64encode(login.encode()).decode()
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def note(self, text):
        with open(log, "a") as out:
            out.write(text + "\n")
    def answer(self, status, headers, body=b""):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_GET(self):
        length, chunked = self.headers.get("Content-Length"), self.headers.get("Transfer-Encoding")
        body = self.rfile.read(int(length or 0))
        while chunked:
            size = int(self.rfile.readline(), 16)
            body += self.rfile.read(size)
            self.rfile.readline()
            if not size:
                break
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                line = open(path, "rb").read()
            except OSError:
                continue
            if login.split(":")[1].encode() in line and b"git" in line.split(b"\0")[0]:
                self.note("ARGUMENT " + repr(line))
        if self.path.startswith("/away/"):
            return self.answer(302, [("Location", away + self.path[5:])])
        self.note("LOGIN " + str(self.headers.get("Authorization")))
        if self.headers.get("Authorization") != wanted:
            return self.answer(401, [("WWW-Authenticate", 'Basic realm="x"')])
        path, _, query = self.path.partition("?")
        made = subprocess.run(["git", "http-backend"], input=body, stdout=subprocess.PIPE, env={
            **os.environ, "GIT_PROJECT_ROOT": root, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query,
            "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("Content-Type") or "", "REMOTE_USER": "me",
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding") or "", "CONTENT_LENGTH": str(len(body))}).stdout
        head, _, body = made.partition(b"\r\n\r\n")
        headers = [tuple(line.split(": ", 1)) for line in head.decode().split("\r\n")]
        status = [int(value.split()[0]) for name, value in headers if name == "Status"]
        self.answer(status[0] if status else 200, [h for h in headers if h[0] != "Status"], body)
    do_POST = do_GET
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()
