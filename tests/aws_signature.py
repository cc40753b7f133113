# SPDX-License-Identifier: Apache-2.0
"""Signature Version 4 of AWS, to judge requests: written from its documentation, and compared with AWS's own signer by
tests/system/test_signature.py."""

import datetime
import hashlib
import hmac
import re
import urllib.parse

CLOCK_S = 300  # by which the clocks of a client and of AWS may differ
FORM = re.compile(r"AWS4-HMAC-SHA256 Credential=([^/,]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})")


def encode(text):
    return urllib.parse.quote(text, safe="-_.~")


def canonical_path(path, service):
    if service == "s3":
        return path
    kept = []
    for part in path.split("/"):
        if part == "..":
            kept[-1:] = []
        elif part not in ("", "."):
            kept.append(encode(part))
    return "/" + "/".join(kept) + ("/" if kept and path.endswith("/") else "")


def canonical_query(query):
    pairs = [part.partition("=") for part in query.split("&") if part]
    return "&".join(f"{name}={value}" for name, _, value in sorted(pairs, key=lambda pair: (pair[0], pair[2])))


def signature(secret, method, target, headers, body, scope, names):
    """`headers` by their names in lower case; `scope` is day, region and service."""
    path, _, query = target.partition("?")
    values = [re.sub(r"\s+", " ", headers.get(name, "").strip()) for name in names]
    lines = [f"{name}:{value}" for name, value in zip(names, values)]
    digest = headers.get("x-amz-content-sha256") or hashlib.sha256(body).hexdigest()
    request = "\n".join([method, canonical_path(path, scope[2]), canonical_query(query), *lines, "", ";".join(names), digest])
    text = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"], "/".join([*scope, "aws4_request"]), hashlib.sha256(request.encode()).hexdigest()])
    key = b"AWS4" + secret.encode()
    for part in (*scope, "aws4_request", text):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key.hex()


def is_fresh(stamp, day, now):
    """Whether the request was signed just now, on the day of its scope."""
    try:
        signed = datetime.datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=datetime.timezone.utc)
    except ValueError:
        return False
    return stamp.startswith(day) and abs(now - signed.timestamp()) < CLOCK_S


def refusal(keys, method, target, headers, body, now=None):
    """Why a service refuses the request, as AWS names it; None: it is signed by one of `keys`, {id: secret}, and at `now` if that is given."""
    found = FORM.fullmatch(headers.get("authorization", ""))
    if not found:
        return "MissingAuthenticationTokenException"
    key, day, region, service, names, given = found.groups()
    names = names.split(";")
    if key not in keys:
        return "UnrecognizedClientException"
    if "host" not in names or any(name.startswith("x-amz-") and name not in names for name in headers) or names != sorted(names):
        return "IncompleteSignatureException"
    if now is not None and not is_fresh(headers.get("x-amz-date", ""), day, now):
        return "InvalidSignatureException"
    digest = headers.get("x-amz-content-sha256")
    if digest and digest != "UNSIGNED-PAYLOAD" and digest != hashlib.sha256(body).hexdigest():
        return "InvalidSignatureException"
    wanted = signature(keys[key], method, target, headers, body, (day, region, service), names)
    return None if hmac.compare_digest(wanted, given) else "InvalidSignatureException"
