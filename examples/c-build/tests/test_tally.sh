#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The program as a user sees it.
set -eu
tally=$1
passed=0

same() {
	if [ "$2" != "$3" ]; then
		printf 'FAILED: %s\nexpected: %s\ngot: %s\n' "$1" "$2" "$3" >&2
		exit 1
	fi
	passed=$((passed + 1))
}

status_of() { "$@" </dev/null >/dev/null 2>&1 && echo 0 || echo $?; }

same "counts, commonest first" "$(printf '5 words, 3 different\n      3 a\n      1 b\n      1 c')" \
	"$(printf 'b A a\nc a\n' | "$tally")"
same "a limit" "$(printf '3 words, 2 different\n      2 a')" "$(echo 'a b a' | "$tally" -n 1)"
same "an empty text" "0 words, 0 different" "$("$tally" </dev/null)"
same "a wrong argument" 2 "$(status_of "$tally" --wrong)"
same "a wrong count" 2 "$(status_of "$tally" -n x)"
echo "test_tally: $passed passed"
