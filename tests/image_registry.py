# SPDX-License-Identifier: Apache-2.0
"""A registry of images on this machine (Debian's docker-registry), and images that are made blob by blob."""

import functools
import gzip
import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import urllib.error
import urllib.request

import pytest

import atoll

USER, PASSWORD = "puller", "s3cret-of-a-registry"
# bcrypt of the password; docker-registry takes nothing else.
HTPASSWD = f"{USER}:$2y$05$abcdefghijklmnopqrstuuOQtR0uvxWff5FFAyv10mwLoLR.yFTES\n"
OCI = "application/vnd.oci.image."
DOCKER = "application/vnd.docker."


class Registry:
    """Listens at `host`:`port` until it is stopped. `tls`: (certificate, key)."""

    def __init__(self, folder, host="127.0.0.1", tls=None, with_login=False, prefix=()):
        if not shutil.which("docker-registry"):
            pytest.skip("'docker-registry' is not installed (Debian package docker-registry)")
        self.folder, self.tls, self.with_login = folder, tls, with_login
        self.port = atoll.free_port()
        self.address = f"{host}:{self.port}"
        folder.mkdir(exist_ok=True)
        (folder / "htpasswd").write_text(HTPASSWD)
        (folder / "config.yml").write_text(self.config())
        with open(folder / "log", "w") as log:
            self.process = subprocess.Popen([*prefix, "docker-registry", "serve", folder / "config.yml"], stdout=log,
                                            stderr=subprocess.STDOUT)

    def config(self):
        http = {"addr": self.address}
        if self.tls:
            http["tls"] = {"certificate": str(self.tls[0]), "key": str(self.tls[1])}
        login = {"htpasswd": {"realm": "test", "path": str(self.folder / "htpasswd")}}
        return json.dumps({"version": "0.1", "log": {"level": "warn"}, "http": http,
                           "storage": {"filesystem": {"rootdirectory": str(self.folder / "data")}},
                           **({"auth": login} if self.with_login else {})})

    def wait(self):
        def answers():
            try:
                return self.call("GET", "/v2/").status == 200
            except OSError:
                assert self.process.poll() is None, (self.folder / "log").read_text()
                return False
        atoll.wait_for(answers, 20, "registry")
        return self

    def stop(self):
        self.process.terminate()
        self.process.wait(20)

    def call(self, method, path, data=None, kind="application/octet-stream"):
        url = path if path.startswith("http") else f"http://{self.address}{path}"
        request = urllib.request.Request(url, data, {"Content-Type": kind}, method=method)
        if self.with_login:
            import base64
            request.add_header("Authorization", "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode())
        return urllib.request.urlopen(request, timeout=20)

    def put_blob(self, name, data):
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        where = self.call("POST", f"/v2/{name}/blobs/uploads/", b"").headers["Location"]
        self.call("PUT", f"{where}&digest={digest}", data)
        return digest

    def put_manifest(self, name, tag, manifest, kind):
        data = json.dumps(manifest).encode()
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        self.call("PUT", f"/v2/{name}/manifests/{tag or digest}", data, kind)
        return {"mediaType": kind, "digest": digest, "size": len(data)}

    def put_image(self, name, tag, layers, config=None, architecture="amd64", docker=False):
        """`layers`: (tar, compression). Answers with the manifest's descriptor."""
        forms = {"": "tar", "gzip": "tar+gzip", "zstd": "tar+zstd"}
        blobs = [{"mediaType": DOCKER + "image.rootfs.diff.tar.gzip" if docker else OCI + "layer.v1." + forms[how],
                  "digest": self.put_blob(name, compress(tar, how)), "size": len(compress(tar, how))} for tar, how in layers]
        text = json.dumps({"architecture": architecture, "os": "linux", "config": config or {}, "rootfs": {
            "type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(tar).hexdigest() for tar, _ in layers]}}).encode()
        kind = DOCKER + "distribution.manifest.v2+json" if docker else OCI + "manifest.v1+json"
        return self.put_manifest(name, tag, {
            "schemaVersion": 2, "mediaType": kind, "layers": blobs, "config": {
                "mediaType": DOCKER + "container.image.v1+json" if docker else OCI + "config.v1+json",
                "digest": self.put_blob(name, text), "size": len(text)}}, kind)

    def put_index(self, name, tag, by_architecture):
        kind = OCI + "index.v1+json"
        return self.put_manifest(name, tag, {"schemaVersion": 2, "mediaType": kind, "manifests": [
            {**descriptor, "platform": {"os": "linux", "architecture": architecture}}
            for architecture, descriptor in by_architecture.items()]}, kind)

    def blob_path(self, digest):
        name = digest.split(":")[1]
        return self.folder / "data/docker/registry/v2/blobs/sha256" / name[:2] / name / "data"


@functools.lru_cache(8)  # a root goes under many names
def compress(tar, how):
    if how == "zstd":
        return subprocess.run(["zstd", "-q", "-c"], input=tar, stdout=subprocess.PIPE, check=True).stdout
    return gzip.compress(tar, mtime=0) if how == "gzip" else tar


def layer(**entries):
    """Of names and texts; None is a folder, ("link", target) a symbolic and ("same", name) a hard link."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, value in entries.items():
            entry = tarfile.TarInfo(name)
            entry.mode = 0o755
            if value is None:
                entry.type = tarfile.DIRTYPE
            elif isinstance(value, tuple):
                entry.type = tarfile.SYMTYPE if value[0] == "link" else tarfile.LNKTYPE
                entry.linkname = value[1]
            data = value.encode() if isinstance(value, str) else value if isinstance(value, bytes) else b""
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data) if data else None)
    return out.getvalue()
