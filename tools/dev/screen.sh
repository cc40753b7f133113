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

# Ticks of all processors since the machine started: all of them, and those in which a processor had nothing to do.
processor_ticks()
{
	awk '$1 == "cpu" { print $2 + $3 + $4 + $5 + $6 + $7 + $8, $5 + $6 }' /proc/stat
}

busy_begin()
{
	read -r BUSY_ALL BUSY_IDLE < <(processor_ticks)
}

# Says how busy the processors were since busy_begin: well below 100%, more tests may run at once.
busy_note()
{
	local all idle
	read -r all idle < <(processor_ticks)
	note "the processors were busy for $((100 - 100 * (idle - BUSY_IDLE) / (all - BUSY_ALL + 1)))% of that time"
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
