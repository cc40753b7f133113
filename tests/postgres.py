# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL server of a test's own: Debian's programs, a temporary folder, a Unix socket in it."""

import atexit
import functools
import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile

import atoll


def programs():
    """The folder of the newest server's programs, or None."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    return os.path.dirname(found[-1]) if found else None


@functools.cache
def new_cluster():
    """The data folder of a server that has not run yet. initdb takes a second of a processor, a copy of what it makes some milliseconds."""
    made = Postgres(is_new=True)
    atexit.register(shutil.rmtree, made.folder, ignore_errors=True)
    assert made.run("initdb", "-D", "data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync").wait(120) == 0, \
        open(made.log.name).read()
    made.log.close()
    return os.path.join(made.folder, "data")


class Postgres:
    def __init__(self, is_new=False):
        self.folder = tempfile.mkdtemp(prefix="atoll-pg-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        self.user = pwd.getpwnam("postgres") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
        os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
        os.chmod(self.folder, 0o755)
        self.log = open(os.path.join(self.folder, "server.log"), "ab")
        self.process = None
        if not is_new:
            subprocess.run(["cp", "-a", new_cluster(), self.folder], check=True)
            self.start()

    @property
    def dsn(self):
        return f"postgresql:host={self.folder} user=postgres dbname=postgres"

    def run(self, program, *arguments):
        as_other = {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []} \
            if os.geteuid() == 0 else {}
        return subprocess.Popen([os.path.join(programs(), program), *arguments], cwd=self.folder,
                                stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                env={"LC_ALL": "C.UTF-8", "PATH": os.environ["PATH"]}, **as_other)

    def start(self):
        self.process = self.run("postgres", "-D", "data", "-k", self.folder, "-h", "",
                                "-c", "fsync=off", "-c", "full_page_writes=off")
        atoll.wait_for(lambda: self.answers(), 20, "the database server")
        return self

    def answers(self):
        return self.psql("SELECT 1", check=False).returncode == 0

    def psql(self, sql, check=True):
        return subprocess.run([os.path.join(programs(), "psql"), "-h", self.folder, "-U", "postgres", "-XAtqc", sql,
                               "postgres"], capture_output=True, text=True, check=check)

    def rows(self, sql):
        return self.psql(sql).stdout.splitlines()

    def end(self, signum=signal.SIGINT):
        """SIGINT: an orderly end that waits for no client; SIGQUIT: a crash."""
        self.process.send_signal(signum)
        self.process.wait(20)

    def remove(self):
        if self.process.poll() is None:
            self.end(signal.SIGQUIT)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)
