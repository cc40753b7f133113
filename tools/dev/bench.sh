# SPDX-License-Identifier: Apache-2.0
# ./dev bench — tests/bench, beside the runtimes that can be had.

source tools/dev/build.sh

# A peer that cannot be had is skipped by the benchmark itself, with the reason.
ensure_peers()
{
	if (ensure_packages tools/packages-bench.txt); then
		return
	fi
	note "some runtimes to compare with are missing; going on without them"
}

dev_bench()
{
	build_programs gcc || die "the build failed"
	ensure_peers
	step "measuring"
	ATOLL=$PWD/build/atoll exec tests/bench/run "$@"
}
