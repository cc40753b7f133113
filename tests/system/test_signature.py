# SPDX-License-Identifier: Apache-2.0
"""Requests signed by src/signature, and judged by tests/aws_signature.py, have the signatures of AWS's own signer."""

import json
import random
import subprocess

import pytest

import atoll
import aws_signature
import clients

TARGET = "tests/unit/signature/sign_requests"
CASES = 400
ALPHABET = "abcXYZ019-_.~ %:/?#[]@!$&'()*+,;=<>\"\\^`{|}é漢\t"
SERVICES = ("lambda", "s3", "sts", "execute-api")


def text(random_, least, most, alphabet=ALPHABET):
    return "".join(random_.choice(alphabet) for _ in range(random_.randint(least, most)))


def make_case(random_):
    segments = [random_.choice([text(random_, 1, 8).replace("/", ""), "", ".", "..", "arn:aws:lambda:us-east-1:1:function:f"])
                for _ in range(random_.randint(0, 5))]
    names = [text(random_, 1, 4) for _ in range(random_.randint(0, 4))]
    pairs = [(random_.choice(names), text(random_, 0, 6)) for _ in range(random_.randint(0, 5))] if names else []
    headers = {f"X-Amz-{text(random_, 1, 5, 'abcdXYZ')}": text(random_, 0, 9, "ab \t:;é~") for _ in range(random_.randint(0, 3))}
    host = random_.choice(["lambda.us-east-1.amazonaws.com", "127.0.0.1:4566", "localhost"])
    return {"method": random_.choice(["GET", "POST", "PUT", "DELETE"]), "host": host,
            "path": "/" + "/".join(aws_signature.encode(part) for part in segments), "pairs": pairs,
            "query": "&".join(f"{aws_signature.encode(name)}={aws_signature.encode(value)}" for name, value in pairs),
            "headers": [f"{name}: {value}" for name, value in {name.lower(): value for name, value in headers.items()}.items()],
            "body": text(random_, 0, 40), "region": random_.choice(["us-east-1", "eu-central-1"]), "service": random_.choice(SERVICES),
            "id": "AK" + text(random_, 4, 8, "ABC012"), "secret": text(random_, 20, 40, "abcXYZ019/+"),
            "token": random_.choice(["", text(random_, 10, 60, "abcXYZ019/+=")]), "unix_ms": random_.randrange(10**12, 2 * 10**12)}


def ask(command, lines):
    done = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def cases():
    random_ = random.Random(20)
    return [make_case(random_) for _ in range(CASES)]


@pytest.fixture(scope="module")
def signed(cases):
    built = subprocess.run(["ninja", "-C", atoll.BUILD, TARGET], capture_output=True, text=True)
    assert built.returncode == 0, built.stdout[-2000:]
    kept = [{name: value for name, value in case.items() if name != "pairs"} for case in cases]
    return [line.removeprefix("Authorization: ") for line in ask([atoll.BUILD / TARGET], map(json.dumps, kept))]


def test_signatures_are_those_of_the_official_signer(cases, signed):
    node = clients.node("@smithy/signature-v4")
    official = ask([node, clients.program("signature.mjs")], [json.dumps(case) for case in cases])
    wrong = [(case, ours, theirs) for case, ours, theirs in zip(cases, signed, official, strict=True) if ours != theirs]
    assert not wrong, wrong[0]


def test_the_judge_of_other_tests_agrees(cases, signed):
    for case, line in zip(cases, signed, strict=True):
        key, day, region, service, names, given = aws_signature.FORM.fullmatch(line).groups()
        headers = {name: value for name, _, value in (header.partition(":") for header in case["headers"])}
        headers |= {"host": case["host"], "x-amz-security-token": case["token"]}
        stamp = aws_signature.hashlib.sha256(case["body"].encode()).hexdigest()
        headers |= {"x-amz-content-sha256": stamp, "x-amz-date": f"{day}T{clock(case['unix_ms'])}Z"}
        target = case["path"] + ("?" + case["query"] if case["query"] else "")
        assert aws_signature.signature(case["secret"], case["method"], target, headers, case["body"].encode(), (day, region, service),
                                       names.split(";")) == given, case


def clock(unix_ms):
    seconds = unix_ms // 1000 % 86400
    return f"{seconds // 3600:02}{seconds // 60 % 60:02}{seconds % 60:02}"
