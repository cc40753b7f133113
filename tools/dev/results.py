# SPDX-License-Identifier: Apache-2.0
"""Results of other tools as lines of build/results/all.tsv, and the sum of those.

  results.py meson SUITE testlog.json    cmocka's cases, from what each program printed
  results.py junit SUITE report.xml      pytest's cases
  results.py tally all.tsv               what did not simply pass, with reasons, and the last line
"""

import collections
import json
import os
import re
import sys
import xml.etree.ElementTree

CASE = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] (\w+)$", re.MULTILINE)
# A test that cannot run prints why, just before cmocka says that it was skipped.
REASON = re.compile(r"^([^\[\n].*)\n\[ +SKIPPED +\] (\w+)$", re.MULTILINE)
OUTCOME = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}


lines = []


def line(outcome, suite, name, reason=""):
    lines.append("\t".join((outcome, suite, name, " ".join(reason.split())[:300])) + "\n")


def write_lines():
    """At once: others add lines to the same file meanwhile."""
    os.write(1, "".join(lines).encode())


def cases_of_program(program):
    """cmocka names a failed case twice, and a skipped one again in its summary."""
    text = program.get("stdout", "") + "\n" + program.get("stderr", "")
    cases = {name: OUTCOME[word] for word, name in CASE.findall(text)}
    if program["result"] not in ("OK", "SKIP") and "failed" not in cases.values():
        cases[f"(the program itself: {program['result']})"] = "failed"
    if program["result"] == "SKIP" and not cases:
        cases["(the whole program)"] = "skipped"
    return cases


def meson(suite, path):
    with open(path, encoding="utf-8") as log:
        for text in log:
            program = json.loads(text)
            name = program["name"].split(" / ")[-1]
            reasons = {case: why for why, case in REASON.findall(program.get("stdout", ""))}
            for case, outcome in cases_of_program(program).items():
                reason = "" if outcome == "passed" else "see meson's testlog.txt"
                line(outcome, suite, f"{name}: {case}", reasons.get(case, reason))


def junit(suite, path):
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        name = f"{case.get('classname')}: {case.get('name')}"
        skipped = case.find("skipped")
        wrong = case.find("failure")
        if wrong is None:
            wrong = case.find("error")
        if wrong is not None:
            line("failed", suite, name, wrong.get("message") or "")
        elif skipped is not None:
            line("skipped", suite, name, skipped.get("message") or "no reason given")
        else:
            line("passed", suite, name)


def rows(path):
    with open(path, encoding="utf-8") as file:
        return [text.rstrip("\n").split("\t") for text in file]


def tally(path):
    counts = collections.Counter()
    by_suite = collections.defaultdict(collections.Counter)
    skips = collections.Counter()
    failures = []
    for outcome, suite, name, reason in rows(path):
        counts[outcome] += 1
        by_suite[suite][outcome] += 1
        if outcome == "skipped":
            skips[(suite, reason)] += 1
        if outcome == "failed":
            failures.append(f"FAILED {suite} {name} {reason}")
    for suite, count in by_suite.items():
        print(f"{suite:10} {count['passed']:5} passed {count['failed']:4} failed "
              f"{count['skipped']:4} skipped")
    for (suite, reason), count in skips.items():
        print(f"SKIPPED {count} {suite}: {reason}")
    print("\n".join(failures), end="\n" if failures else "")
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    {"meson": meson, "junit": junit, "tally": tally}[sys.argv[1]](*sys.argv[2:])
    write_lines()
