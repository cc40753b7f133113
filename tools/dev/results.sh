# SPDX-License-Identifier: Apache-2.0
# One line per test in build/results/all.tsv: outcome, suite, name, reason. The last thing that
# ./dev test says is counted from it.

RESULTS=build/results

results_begin()
{
	rm -rf "$RESULTS"
	mkdir -p "$RESULTS"
	: >"$RESULTS/all.tsv"
}

# result passed|failed|skipped SUITE NAME [REASON]
result()
{
	printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "${4:-}" >>"$RESULTS/all.tsv"
}

# The results of a meson or pytest run, which are in its own file.
results_add()
{
	python3 tools/dev/results.py "$@" >>"$RESULTS/all.tsv"
}

# Prints and returns 1 when something failed.
results_end()
{
	python3 tools/dev/results.py tally "$RESULTS/all.tsv"
}
