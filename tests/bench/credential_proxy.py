#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the credential proxy costs: small answers over kept connections with a header put in, a large body, and the time that a
request takes longer, beside nginx with TLS on both sides before the same server.

Each of HTTP/1.1 and HTTP/2; nginx speaks HTTP/1.1 to the server in both. Server and nginx are far machines, each with one worker; the
clients (wrk, h2load, curl) run in sandboxes. In alternation; the best and the middle of
all rounds are told, and nginx's in the same run."""

import argparse
import pathlib
import re
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import atoll  # noqa: E402
import secured  # noqa: E402

LARGE = 256 << 20
NGINX = """daemon off; master_process off; worker_processes 1; pid {folder}/{name}.pid; error_log {folder}/{name}.log; user root;
events {{ worker_connections 1024; }}
http {{ access_log off; sendfile on; keepalive_requests 100000000; client_body_temp_path {folder}/{name}1; proxy_temp_path {folder}/{name}2;
fastcgi_temp_path {folder}/{name}3; uwsgi_temp_path {folder}/{name}4; scgi_temp_path {folder}/{name}5;
ssl_certificate {certificate}; ssl_certificate_key {certificate}; ssl_session_cache off;
{more} }}
"""
ORIGIN = """server {{ listen {address}:443 ssl http2; location = /small {{ default_type text/plain; return 200 "hello, world"; }} location / {{ root {folder}; }} }}"""
PROXY = """upstream u {{ server {origin}:443; keepalive 64; keepalive_requests 100000000; }}
server {{ listen {address}:443 ssl http2; location / {{ proxy_pass https://u; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host api.test;
proxy_set_header Authorization "Bearer 0123456789abcdef0123456789abcdef"; proxy_ssl_server_name on; proxy_ssl_name api.test; proxy_ssl_verify on;
proxy_ssl_trusted_certificate {authority}; proxy_max_temp_file_size 0; proxy_buffers 16 64k; proxy_buffer_size 64k; proxy_busy_buffers_size 128k; }} }}"""
SERVE = secured.SERVE.replace("for thread in (threading.Thread(target=nameserver, daemon=True), accept(443, tls)):",
                              "import subprocess\n"
                              "programs = [subprocess.Popen(['nginx', '-c', path]) for path in sys.argv[6:8]]\n"
                              "for thread in (threading.Thread(target=nameserver, daemon=True),):").replace(
    "threading.Event().wait()", "sys.stdin.read()\nfor one in programs:\n    one.kill()\n    one.wait()")


class World(secured.Secured):
    serve = SERVE

    def arguments(self):
        folder = pathlib.Path(self.folder.name)
        with open(folder / "large", "wb") as out:
            out.truncate(LARGE)
        folder.chmod(0o755)
        given = {"folder": folder, "certificate": self.good, "authority": self.authority.certificate, "origin": self.addresses[1]}
        paths = []
        for name, text, address in (("origin", ORIGIN, self.addresses[1]), ("proxy", PROXY, self.addresses[2])):
            paths.append(folder / f"{name}.conf")
            paths[-1].write_text(NGINX.format(name=name, more=text.format(address=address, **given), **given))
        return super().arguments() + [str(path) for path in paths]

    def close(self):
        self.process.stdin.close()
        self.process.wait(20)
        super().close()


def requests(api, sandbox, url, connections, seconds):
    out = api.exec(sandbox, cmd="/usr/bin/wrk", args=["-t1", f"-c{connections}", f"-d{seconds}s", "--latency", f"{url}/small"], timeout_ms=60000)["stdout"]
    assert "Non-2xx" not in out and "Socket errors" not in out, out
    middle = re.search(r"50%\s+([\d.]+)(us|ms|s)", out)
    return float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1]), float(middle[1]) * {"us": 0.001, "ms": 1, "s": 1000}[middle[2]]


def streams(api, sandbox, url, connections, at_once, seconds):
    """Requests a second of HTTP/2."""
    out = api.exec(sandbox, cmd="/usr/bin/h2load", args=["-t1", f"-c{connections}", f"-m{at_once}", f"-D{seconds}", f"{url}/small"], timeout_ms=60000)["stdout"]
    failed = re.search(r"(\d+) failed, (\d+) errored", out)
    assert "Application protocol: h2" in out and failed[1] == failed[2] == "0", out
    return float(re.search(r"([\d.]+) req/s", out)[1])


def body(api, sandbox, url, version):
    """Gigabytes a second."""
    result = api.exec(sandbox, cmd="/usr/bin/curl", args=["-sSk", f"--http{version}", "-o", "/dev/null", "-w", "%{size_download} %{speed_download}", f"{url}/large"], timeout_ms=60000)
    size, speed = result["stdout"].split()
    assert int(size) == LARGE, result
    return float(speed) / 1e9


def run(rounds, seconds):
    secured.Secured, before = World, secured.Secured
    with tempfile.TemporaryDirectory(prefix="atoll-bench-") as _, secured.running() as (there, server):
        secured.Secured = before
        api = server.api()
        with secured.vault(api, there, server) as vault, api.sandbox(internet=True) as direct:
            vault.put([{"id": "api", "host": "api.test", "action": "inject",
                        "inject": [{"kind": "header", "name": "authorization", "value": "Bearer ${credential.github.token}"}]}],
                      [{"name": "github", "hosts": ["api.test"], "fields": {"token": "0123456789abcdef0123456789abcdef"}}])
            ways = {"atoll": (vault.sandbox, "https://api.test"), "nginx": (direct, f"https://{there.addresses[2]}"), "none": (direct, f"https://{there.addresses[1]}")}
            found = {name: {measure: [] for measure in ("requests", "latency", "body", "streams", "body of HTTP/2")} for name in ways}
            for _ in range(rounds):
                for name, (sandbox, url) in ways.items():
                    found[name]["requests"].append(requests(api, sandbox, url, 16, seconds)[0])
                    found[name]["latency"].append(requests(api, sandbox, url, 1, seconds)[1])
                    found[name]["body"].append(body(api, sandbox, url, "1.1"))
                    found[name]["streams"].append(streams(api, sandbox, url, 4, 16, seconds))
                    found[name]["body of HTTP/2"].append(body(api, sandbox, url, "2"))
    for measure, unit, best in (("requests", "requests/s, 16 connections", max), ("latency", "ms, the middle of one connection", min), ("body", "GB/s", max),
                                ("streams", "requests/s of HTTP/2, 4 connections of 16 streams", max), ("body of HTTP/2", "GB/s", max)):
        print(f"{measure} ({unit}): " + ", ".join(f"{name} {best(f[measure]):.3f} (middle {statistics.median(f[measure]):.3f})" for name, f in found.items()))
    for measure in ("requests", "body", "streams", "body of HTTP/2"):
        print(f"{measure}: {max(found['atoll'][measure]) / max(found['nginx'][measure]):.2f} times nginx")
    print(f"added latency: {min(found['atoll']['latency']) - min(found['none']['latency']):.3f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=3)
    options = parser.parse_args()
    run(options.rounds, options.seconds)


if __name__ == "__main__":
    main()
