# SPDX-License-Identifier: Apache-2.0
# ./dev run — Atoll started, and a real job in a sandbox.

source tools/dev/build.sh

dev_run()
{
	local job=${1:-python-report}
	[ -x "examples/$job/run" ] || die "there is no example '$job'" \
		"examples: $(find examples -mindepth 2 -maxdepth 2 -name run -printf '%h ' |
			sed 's|examples/||g')"
	build_programs gcc || die "the build failed"
	step "examples/$job"
	ATOLL=$PWD/build/atoll "examples/$job/run" "${@:2}"
	# The example's own server listens at a socket of the file system, which no browser opens.
	note "console: 'build/atoll serve --listen 127.0.0.1:7777' serves it at http://127.0.0.1:7777/"
}
