# SPDX-License-Identifier: Apache-2.0
"""Atoll beside bwrap, crun, runc, podman and docker on this machine, in one alternating run.

    ./dev bench [--rounds 200] [--only api,peers,memory,transfer,http,state,many,code,grep,terminals,preview,fairness,burst] [--json FILE] [--markdown FILE]

Absolute times on a shared machine move by a factor of two between its phases; what counts is the ratio
to a peer that was measured in the same rounds, or to the start of one program without any isolation:
posix_spawn of /bin/true, in each round, and with the same pause before it. Every figure is a single operation, timed by
stopwatch.c, p50 and p99 over all rounds, once back to back and once spaced by 100 ms (idle CPUs, as a
real request meets them). A peer that this machine cannot run is listed with its reason.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import atoll  # noqa: E402
import code_blocks  # noqa: E402
import many  # noqa: E402
import state  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
CREATE = {"template": "host", "internet": False}


class Stopwatch:
    """The C program that times; see stopwatch.c."""

    def __init__(self, folder):
        program = folder / "stopwatch"
        subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-o", program, HERE / "stopwatch.c",
                        "-lpthread"], check=True)
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def order(self, *words):
        self.process.stdin.write("\t".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"stopwatch ended at {words}")
        took, status, text = line.rstrip("\n").split("\t", 2)
        return float(took), int(status), text

    def spawn(self, *command):
        took, status, _ = self.order("spawn", *command)
        if status != 0:
            raise RuntimeError(f"{command[0]} ended with {status}")
        return took

    def http(self, method, path, body=None):
        took, status, text = self.order("http", method, path, json.dumps(body) if body is not None else "")
        if status >= 300:
            raise RuntimeError(f"{method} {path}: {status} {text}")
        return took, text


class Series:
    """Samples in µs per name, in the order of their first appearance."""

    BARE = "/bin/true on the host"

    def __init__(self):
        self.samples = {}

    def add(self, name, value):
        self.samples.setdefault(name, []).append(value)

    def add_bare(self, watch, suffix):
        """What the least of all runs takes just now, and what the others are compared with."""
        self.add(f"{self.BARE}{suffix}", watch.spawn("/bin/true"))

    def bare(self, name):
        """The p50 of those that were spaced as `name` was, or None."""
        values = self.samples.get(self.BARE + (", spaced" if name.endswith(("spaced", "apart")) else ""))
        return self.quantile(values, 0.5) if values else None

    @staticmethod
    def quantile(values, q):
        ordered = sorted(values)
        return ordered[min(len(ordered) - 1, int(len(ordered) * q))]

    def rows(self):
        return [self.row(name, values) for name, values in self.samples.items()]

    def row(self, name, values):
        p50, bare = self.quantile(values, 0.5), self.bare(name)
        row = {"name": name, "count": len(values), "p50_us": round(p50, 1), "p99_us": round(self.quantile(values, 0.99), 1)}
        return {**row, "times_bare": round(p50 / bare, 1)} if bare else row


# ---- peers: each is (name, why it cannot run or None, its command) ----


def oci_bundle(folder):
    """A bundle of the machine's own root, read-only, all namespaces, running /bin/true."""
    bundle = folder / "bundle"
    (bundle / "rootfs").mkdir(parents=True)
    for name in ("usr", "proc", "dev", "tmp", "etc", "sys"):
        (bundle / "rootfs" / name).mkdir()
    for link in ("bin", "lib", "lib64", "sbin"):
        os.symlink(f"usr/{link}", bundle / "rootfs" / link)
    spec = json.loads(subprocess.run(["runc", "spec"], cwd=bundle, check=True, capture_output=True) and
                      (bundle / "config.json").read_text())
    spec["process"].update({"terminal": False, "args": ["/bin/true"]})
    spec["process"]["rlimits"] = []
    spec["mounts"].append({"destination": "/usr", "source": "/usr", "type": "bind", "options": ["rbind", "ro"]})
    (bundle / "config.json").write_text(json.dumps(spec))
    return bundle


def peer_commands(folder):
    bwrap = ["bwrap", "--unshare-all", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink",
             "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev", "--tmpfs",
             "/tmp", "/bin/true"]
    yield "bwrap", bwrap
    if not shutil.which("runc"):
        yield "runc", None
        return
    bundle = oci_bundle(folder)
    yield "crun", ["crun", "--root", str(folder / "crun"), "--cgroup-manager=disabled", "run", "--bundle",
                   str(bundle), "bench"]
    yield "runc", ["runc", "--root", str(folder / "runc"), "run", "--bundle", str(bundle), "bench"]
    image = "atoll-bench:latest"
    yield "podman", ["podman", "--root", str(folder / "podman"), "--runroot", str(folder / "podman-run"),
                     "--cgroup-manager", "cgroupfs", "--runtime", "runc", "run", "--rm", "--network", "none", image,
                     "/bin/true"]
    yield "docker", ["docker", "-H", f"unix://{folder}/docker/docker.sock", "run", "--rm", "--network", "none",
                     image, "/bin/true"]


def busybox_image(folder):
    """A root filesystem of busybox alone, as a tar: what podman and docker import."""
    root = folder / "busybox"
    (root / "bin").mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), root / "bin" / "busybox")
    for name in ("true", "sh", "sleep"):
        os.symlink("busybox", root / "bin" / name)
    tar = folder / "busybox.tar"
    subprocess.run(["tar", "-C", root, "-cf", tar, "."], check=True)
    return tar


class Docker:
    """A private dockerd (Debian's docker.io) without a bridge."""

    def __init__(self, folder):
        self.folder = folder / "docker"
        for name in ("data", "exec"):
            (self.folder / name).mkdir(parents=True)
        self.process = subprocess.Popen(
            ["dockerd", "-H", f"unix://{self.folder}/docker.sock", "--data-root", self.folder / "data", "--exec-root",
             self.folder / "exec", "--pidfile", self.folder / "docker.pid", "--storage-driver", "overlay2",
             "--exec-opt", "native.cgroupdriver=cgroupfs", "--bridge=none", "--iptables=false",
             "--ip6tables=false", "--ip-forward=false", "--ip-masq=false"],
            stdout=subprocess.DEVNULL, stderr=open(self.folder / "log", "wb"), start_new_session=True)
        end = time.monotonic() + 20
        while not (self.folder / "docker.sock").exists() and time.monotonic() < end:
            time.sleep(0.1)
        time.sleep(0.5)

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


def prepare_containers(folder, skipped):
    """Imports the busybox image into podman and docker; returns the daemon to stop, if any."""
    if not shutil.which("busybox"):
        skipped.update(dict.fromkeys(("podman", "docker"), "no busybox for their image (Debian package busybox-static)"))
        return None
    tar, daemon = busybox_image(folder), None
    if shutil.which("podman"):
        (folder / "containers.conf").write_text(
            '[engine]\nruntime="runc"\n[containers]\ndefault_ulimits=["nofile=20000:20000","nproc=20000:20000"]\n')
        os.environ["CONTAINERS_CONF"] = str(folder / "containers.conf")
        subprocess.run(["podman", "--root", folder / "podman", "--runroot", folder / "podman-run", "--cgroup-manager",
                        "cgroupfs", "import", tar, "atoll-bench:latest"], capture_output=True)
    if shutil.which("dockerd"):
        daemon = Docker(folder)
        subprocess.run(["docker", "-H", f"unix://{folder}/docker/docker.sock", "import", tar, "atoll-bench:latest"],
                       capture_output=True)
    else:
        skipped["docker"] = "no dockerd (Debian package docker.io)"
    return daemon


def usable_peers(watch, folder, skipped):
    usable = {}
    for name, command in peer_commands(folder):
        if name in skipped:
            continue
        if not command or not shutil.which(command[0]):
            skipped[name] = f"'{name}' is not installed"
            continue
        probe = subprocess.run(command, capture_output=True, text=True)
        if probe.returncode != 0:
            skipped[name] = (probe.stderr.strip().splitlines() or [f"exit {probe.returncode}"])[-1][:160]
        else:
            usable[name] = command
    return usable


# ---- Atoll ----


def measure_cycle(watch, series, suffix, pause):
    def step(name, method, path, body=None):
        took, text = watch.http(method, path, body)
        series.add(f"atoll {name}{suffix}", took)
        if pause:
            time.sleep(pause)
        return took, text

    create_us, text = watch.http("POST", "/api/sandbox/instances", CREATE)
    sandbox = json.loads(text)["id"]
    path = f"/api/sandbox/instances/{sandbox}"
    first_us, _ = watch.http("POST", f"{path}/exec", {"cmd": "/bin/true"})
    series.add(f"atoll create{suffix}", create_us)
    series.add(f"atoll create + first /bin/true{suffix}", create_us + first_us)
    if pause:
        time.sleep(pause)
    step("exec /bin/true", "POST", f"{path}/exec", {"cmd": "/bin/true"})
    delete_us, _ = step("delete", "DELETE", path)
    return create_us + first_us + delete_us


def measure_peer(watch, series, name, command, suffix):
    """Why it failed, or None: a peer that gives up half-way is left out, and said so."""
    try:
        series.add(f"{name} run /bin/true{suffix}", watch.spawn(*command))
    except RuntimeError as failure:
        return str(failure)
    return None


def measure_latency(watch, peers, skipped, rounds, pause):
    series, suffix = Series(), ", spaced" if pause else ""
    for _ in range(rounds):
        time.sleep(pause)
        series.add_bare(watch, suffix)
        total = measure_cycle(watch, series, suffix, pause)
        series.add(f"atoll create, /bin/true, delete{suffix}", total)
        for name, command in list(peers.items()):
            if pause:
                time.sleep(pause)
            why = measure_peer(watch, series, name, command, suffix)
            if why:
                skipped[name] = why
                del peers[name]
    return series.rows()


def measure_throughput(watch, seconds):
    took, cycles, _ = watch.order("cycles", seconds, 4, json.dumps(CREATE), json.dumps({"cmd": "/bin/true"}))
    return [{"name": "create-exec-delete cycles per second, 4 clients", "value": round(cycles / (took / 1e6), 1)}]


def measure_healthz(port, seconds):
    if not shutil.which("wrk"):
        return [], {"healthz": "'wrk' is not installed"}
    out = subprocess.run(["wrk", "-t1", "-c32", f"-d{seconds}s", f"http://127.0.0.1:{port}/healthz"],
                         capture_output=True, text=True, check=True).stdout
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", out).group(1))
    return [{"name": "GET /healthz per second, 32 connections", "value": round(rate)}], {}


def measure_transfer(watch, size):
    _, text = watch.http("POST", "/api/sandbox/instances",
                         {**CREATE, "resources": {"cpu": 2, "memory_mb": 4096, "disk_mb": 4096}})
    sandbox = json.loads(text)["id"]
    path = f"/api/sandbox/instances/{sandbox}/files/content?path=/home/user/big"
    rows = []
    for name in ("upload", "download"):
        rates = []
        for _ in range(3):
            took, status, body = watch.order(name, path, size) if name == "upload" else watch.order(name, path)
            if status >= 300:
                raise RuntimeError(f"{name}: {status} {body}")
            rates.append(size / (1 << 20) / (took / 1e6))
        rows.append({"name": f"{name} of {size >> 20} MiB, MiB/s (median of 3)", "value": round(sorted(rates)[1])})
    watch.http("DELETE", f"/api/sandbox/instances/{sandbox}")
    return rows


def available_bytes():
    text = pathlib.Path("/proc/meminfo").read_text()
    return int(re.search(r"MemAvailable:\s+(\d+)", text).group(1)) * 1024


def measure_memory(watch, count):
    """Memory that the whole machine lacks while `count` idle sandboxes are alive, per sandbox."""
    made, before = [], available_bytes()
    started = time.monotonic()
    for _ in range(count):
        _, text = watch.http("POST", "/api/sandbox/instances",
                             {**CREATE, "resources": {"cpu": 0.1, "memory_mb": 64}})
        made.append(json.loads(text)["id"])
    took = time.monotonic() - started
    time.sleep(2)
    used = before - available_bytes()
    for sandbox in made:
        watch.http("DELETE", f"/api/sandbox/instances/{sandbox}")
    return [{"name": f"memory per idle sandbox with {count} alive, MiB", "value": round(used / count / (1 << 20), 2)},
            {"name": f"creating {count} in a row, per second", "value": round(count / took)}]


def step_breakdown(server):
    """The broker's own µs per step of a create, p50 over what the log holds."""
    steps = {}
    for line in (server.data / "serve.log").read_text(errors="replace").splitlines():
        match = re.search(r'steps="([^"]+)"', line)
        for name, value in re.findall(r"(\w+)=(\d+)", match.group(1)) if match else ():
            steps.setdefault(name, []).append(int(value))
    return [{"name": name, "p50_us": Series.quantile(values, 0.5)} for name, values in steps.items()]


# ---- report ----


def ratios(rows):
    by_name = {row["name"]: row["p50_us"] for row in rows}
    for suffix in ("", ", spaced"):
        own = by_name.get(f"atoll create, /bin/true, delete{suffix}")
        for row in rows:
            if own and row["name"].endswith(f"run /bin/true{suffix}") and ("spaced" in row["name"]) == bool(suffix):
                row["ratio_to_atoll"] = round(row["p50_us"] / own, 1)


def markdown(report):
    lines = [f"Measured {report['date']} on {report['machine']}.", "",
             f"| operation | p50 µs | p99 µs | times {Series.BARE} | times Atoll |", "|---|---|---|---|---|"]
    lines += [f"| {r['name']} | {r['p50_us']:.0f} | {r['p99_us']:.0f} | {r.get('times_bare', '')} | {r.get('ratio_to_atoll', '')} |"
              for r in report["latency"]]
    lines += ["", "| figure | value |", "|---|---|"]
    lines += [f"| {r['name']} | {r['value']} |" for r in report["figures"]]
    if report["steps"]:
        lines += ["", "| step of a create in the broker | p50 µs |", "|---|---|"]
        lines += [f"| {r['name']} | {r['p50_us']} |" for r in report["steps"]]
    lines += [f"\nSkipped: {name}: {why}." for name, why in report["skipped"].items()]
    return "\n".join(lines) + "\n"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--only", default="api,peers,memory,transfer,http,state,many,code")
    parser.add_argument("--sandboxes", type=int, default=1000)
    parser.add_argument("--paused", type=int, default=5000)
    parser.add_argument("--json", type=os.path.abspath)
    parser.add_argument("--markdown", type=os.path.abspath)
    return parser.parse_args()


def run(arguments, folder):
    only, skipped, report = set(arguments.only.split(",")), {}, {"latency": [], "figures": [], "steps": []}
    has_peers = bool(only & {"peers", "state"})
    daemon = prepare_containers(folder, skipped) if has_peers else None
    watch = Stopwatch(folder)  # after what podman needs is in the environment
    usable = usable_peers(watch, folder, skipped) if has_peers else {}
    peers = usable if "peers" in only else {}
    server = atoll.Server(flags=["--log-level", "debug", "--debug", "provider", "--sandboxes-max", "10000", "--pool-max", "128"]).start()
    try:
        watch.order("connect", "127.0.0.1", server.port, server.key)
        for pause, rounds in ((0, arguments.rounds), (0.1, arguments.rounds)) if "api" in only else ():
            print(f"{rounds} rounds, {'spaced' if pause else 'back to back'} …", file=sys.stderr)
            report["latency"] += measure_latency(watch, peers, skipped, rounds, pause)
        report["steps"] = step_breakdown(server)
        if "api" in only:
            report["figures"] += measure_throughput(watch, 5)
        if "http" in only:
            rows, why = measure_healthz(server.port, 5)
            report["figures"] += rows
            skipped.update(why)
        if "state" in only:
            series = Series()
            place = folder, usable, skipped
            report["figures"] += state.measure(watch, series, CREATE, place, arguments.rounds)
            report["latency"] += series.rows()
        if "code" in only:
            series = Series()
            code_blocks.measure(watch, series, CREATE, arguments.rounds)
            report["latency"] += series.rows()
        if "many" in only:
            series = Series()
            many.measure_burst(watch, series, CREATE, 50, max(3, arguments.rounds // 10))
            report["latency"] += series.rows()
            report["figures"] += many.measure_paused(watch, CREATE, arguments.paused, available_bytes)
        if "transfer" in only:
            report["figures"] += measure_transfer(watch, 1 << 30)
        if "memory" in only:
            report["figures"] += measure_memory(watch, arguments.sandboxes)
    finally:
        server.remove_all()
        if daemon:
            daemon.stop()
    ratios(report["latency"])
    report.update(skipped=skipped, date=time.strftime("%Y-%m-%d"),
                  machine=f"{os.cpu_count()} cores, Linux {platform.release().split('-')[0]}")
    return report


# Each has a server of its own, and says its figures itself.
PROGRAMS = ("grep", "terminals", "preview", "fairness", "burst")


def run_programs(names):
    """Whether all could be run."""
    done = True
    for name in names:
        print(f"\n## {name}\n", flush=True)
        done = subprocess.run([sys.executable, pathlib.Path(__file__).with_name(f"{name}.py")]).returncode == 0 and done
    return done


def enter_work_folder():
    """What a measured program leaves in its folder is left in the ignored one of the build."""
    work = atoll.ROOT / "build/bench"
    work.mkdir(parents=True, exist_ok=True)
    os.chdir(work)


def main():
    arguments = parse_arguments()
    enter_work_folder()
    wanted = arguments.only.split(",")
    programs = [name for name in PROGRAMS if name in wanted]
    arguments.only = ",".join(name for name in wanted if name not in PROGRAMS)
    if arguments.only:
        measure(arguments)
    if not run_programs(programs):
        sys.exit(1)


def measure(arguments):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="atoll-bench-"))
    try:
        report = run(arguments, folder)
    finally:
        # podman binds its overlay folder onto itself and leaves that behind
        subprocess.run(["umount", "-l", folder / "podman" / "overlay"], capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)
    text = markdown(report)
    print(text)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(report, indent=1))
    if arguments.markdown:
        pathlib.Path(arguments.markdown).write_text(text)


if __name__ == "__main__":
    main()
