#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a preview costs: small bodies over kept connections, and a large one, beside nginx and caddy before the same server.

The server is nginx with one worker: for Atoll in a sandbox, for the other two on the host's loopback. Each proxy has one
thread for it, too (caddy: GOMAXPROCS=1). In alternation; the best and the middle of all rounds are told.
"""

import argparse
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import atoll  # noqa: E402

PORT, LARGE = 8000, 256 << 20
SERVER = """daemon off; worker_processes 1; pid {folder}/server.pid; error_log {folder}/server.log;
events {{ worker_connections 1024; }}
http {{ access_log off; sendfile on; keepalive_requests 100000000; client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2;
fastcgi_temp_path {folder}/t3; uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
server {{ listen 127.0.0.1:{port}; location = /small {{ default_type text/plain; return 200 "hello, world"; }} location / {{ root {folder}; }} }} }}
"""
PROXY = """daemon off; worker_processes 1; pid {folder}/proxy.pid; error_log {folder}/proxy.log;
events {{ worker_connections 1024; }}
http {{ access_log off; keepalive_requests 100000000; client_body_temp_path {folder}/p1; proxy_temp_path {folder}/p2;
fastcgi_temp_path {folder}/p3; uwsgi_temp_path {folder}/p4; scgi_temp_path {folder}/p5;
upstream u {{ server 127.0.0.1:{to}; keepalive 64; keepalive_requests 100000000; }}
server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://u; proxy_http_version 1.1; proxy_set_header Connection "";
proxy_max_temp_file_size 0; proxy_buffers 16 64k; proxy_buffer_size 64k; proxy_busy_buffers_size 128k; }} }} }}
"""
CADDY = """{{
admin off
auto_https off
}}
http://127.0.0.1:{port} {{
reverse_proxy 127.0.0.1:{to}
}}
"""


def small(port, path, headers, seconds):
    """Requests a second."""
    done = subprocess.run(["wrk", "-t1", "-c32", f"-d{seconds}s", *(f"-H{h}" for h in headers), f"http://127.0.0.1:{port}{path}/small"],
                          capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in done:
        raise RuntimeError(done)
    return float(done.split("Requests/sec:")[1].split()[0])


def large(port, path, headers):
    """GB a second."""
    room = bytearray(1 << 20)
    with socket.create_connection(("127.0.0.1", port)) as sock:
        head = "".join(f"{h}\r\n" for h in headers)
        start = time.monotonic()
        sock.sendall(f"GET {path}/large HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n{head}\r\n".encode())
        got = sock.recv_into(room)
        if b" 200 " not in room[:20]:
            raise RuntimeError(bytes(room[:got]))
        while got < LARGE:
            size = sock.recv_into(room)
            if not size:
                raise RuntimeError(f"{port}{path}: the body ended early, after {got} bytes")
            got += size
        return got / (time.monotonic() - start) / 1e9


@contextlib.contextmanager
def running(folder, name, argv, text, **values):
    config = folder / name
    config.write_text(text.format(folder=folder, **values))
    process = subprocess.Popen([*argv, str(config)], env={**os.environ, "GOMAXPROCS": "1", "HOME": str(folder)},
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        atoll.wait_for(lambda: socket.socket().connect_ex(("127.0.0.1", values["port"])) == 0, 10, name)
        yield
    finally:
        process.terminate()
        process.wait()


def peers(stack, folder):
    """{name: (port, path, headers)}"""
    (folder / "large").touch()
    os.truncate(folder / "large", LARGE)
    folder.chmod(0o755)
    direct = atoll.free_port()
    stack.enter_context(running(folder, "server.conf", ["nginx", "-c"], SERVER, port=direct))
    found = {"no proxy": (direct, "", [])}
    port = atoll.free_port()
    stack.enter_context(running(folder, "proxy.conf", ["nginx", "-c"], PROXY, port=port, to=direct))
    found["nginx"] = (port, "", [])
    if shutil.which("caddy"):
        port = atoll.free_port()
        stack.enter_context(running(folder, "Caddyfile", ["caddy", "run", "--adapter", "caddyfile", "--config"], CADDY, port=port, to=direct))
        found["caddy"] = (port, "", [])
    return found


def preview(stack):
    """The same server in a sandbox, by way of Atoll."""
    server = atoll.Server(environment={"SANDBOX_PREVIEW_SECRET": "a secret of the bench"}).start()
    stack.callback(server.remove_all)
    api = server.api()
    box = api.create(internet=True, previewPublic=True, resources={"cpu": 2, "memory_mb": 512})["id"]
    config = SERVER.format(folder="/tmp/n", port=PORT).replace("daemon off;", "daemon off; user root;")
    api.exec(box, f"mkdir -p /tmp/n && truncate -s {LARGE} /tmp/n/large && chmod 755 /tmp/n")
    api.write(box, "/tmp/n/server.conf", config.encode())
    api.exec(box, "(setsid /usr/sbin/nginx -c /tmp/n/server.conf >/tmp/n/out 2>&1 </dev/null &)")
    by_key = f"/api/sandbox/instances/{box}/preview/{PORT}"
    atoll.wait_for(lambda: api.raw("GET", by_key + "/small").status == 200, 10, "nginx inside")
    link = api.post(f"/api/sandbox/instances/{box}/preview-tokens", {"port": PORT})["path"].rstrip("/")
    return {"atoll, by a link": (server.port, link, []),
            "atoll, by a key": (server.port, by_key, [f"Authorization: Bearer {api.key}"])}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=3)
    options = parser.parse_args()
    for program in ("wrk", "nginx"):
        if not shutil.which(program):
            sys.exit(f"{program} is missing: see tools/packages-bench.txt")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        targets = {**peers(stack, folder), **preview(stack)}
        results = {name: ([], []) for name in targets}
        for _ in range(options.rounds):
            for name, target in targets.items():
                results[name][0].append(small(*target, options.seconds))
                results[name][1].append(large(*target))
        print(f"{'':20}{'requests/s':>12}{'best':>10}{'GB/s':>8}{'best':>7}")
        for name, (rates, speeds) in results.items():
            print(f"{name:20}{statistics.median(rates):12.0f}{max(rates):10.0f}{statistics.median(speeds):8.2f}{max(speeds):7.2f}")


if __name__ == "__main__":
    main()
