# SPDX-License-Identifier: Apache-2.0
"""An agent's loop without the model: write a program, run it, read what went wrong, write a better one."""

import os
import sys

from atoll_sdk import AtollError, Sandbox

OUT = os.environ.get("OUT") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "out")
os.makedirs(OUT, exist_ok=True)

DATA = "name,score\nAda,91\nGrace,n/a\nAlan,84\n"
# What a model would answer: first a careless program, then one that has seen the traceback.
DRAFTS = [
    "rows = [line.split(',') for line in open('scores.csv').read().split()[1:]]\n"
    "print('mean', sum(int(score) for _, score in rows) / len(rows))\n",
    "rows = [line.split(',') for line in open('scores.csv').read().split()[1:]]\n"
    "good = [(name, int(score)) for name, score in rows if score.isdigit()]\n"
    "open('clean.csv', 'w').writelines(f'{name},{score}\\n' for name, score in good)\n"
    "print('mean', sum(score for _, score in good) / len(good))\n",
]

try:
    with Sandbox.create(template="host", internet=False, labels={"example": "sdk"}) as sandbox:
        sandbox.files.write("scores.csv", DATA)
        for number, draft in enumerate(DRAFTS, 1):
            sandbox.files.write("program.py", draft)
            result = sandbox.commands.run("python3 program.py", timeout=30, on_stdout=sys.stdout.write)
            print(f"draft {number}: exit code {result.exit_code} after {result.duration_ms} ms")
            if result.ok:
                break
            print("  " + result.stderr.strip().splitlines()[-1])
        sandbox.files.download("clean.csv", os.path.join(OUT, "python.csv"))
except AtollError as error:
    sys.exit(f"{error} [request {error.request_id}]")
