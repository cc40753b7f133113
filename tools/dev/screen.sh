# SPDX-License-Identifier: Apache-2.0
# What ./dev says. Progress goes to stderr, so that results can be piped.

STEP_CLOCK= # set: each step says how long after the start it begins

step()
{
	local at=
	[ -z "$STEP_CLOCK" ] || at=$(printf '%2d:%02d ' $((SECONDS / 60)) $((SECONDS % 60)))
	printf '\033[1m==> %s%s\033[0m\n' "$at" "$*" | plain_unless_terminal >&2
}

note()
{
	printf '    %s\n' "$*" >&2
}

# Ends ./dev; further arguments are lines that say what to do.
die()
{
	printf './dev: %s\n' "$1" >&2
	shift
	for line in "$@"; do
		printf '    %s\n' "$line" >&2
	done
	exit 1
}

plain_unless_terminal()
{
	if [ -t 2 ]; then
		cat
	else
		sed 's/\x1b\[[0-9;]*m//g'
	fi
}
