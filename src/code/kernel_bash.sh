# SPDX-License-Identifier: Apache-2.0
# The bash of a context, inside the sandbox; code/code.h tells how it is talked to, code/request.c what it reads. An
# interactive shell without a terminal: an interrupt ends the line that runs, and the next one is read. This first
# shell only hands the lines over, by a descriptor, and becomes the second; that there is no terminal is no news.
exec bash --noprofile --noediting --rcfile /dev/fd/3 -i 4>&2 2>/dev/null 3<<'__ATOLL'
PS1= PS2= PROMPT_COMMAND=
unset HISTFILE
set +o history +H
exec 2>&4 3<&- 4>&-
exec {__atoll_out}>&1 {__atoll_err}>&2
__atoll_begin() {
__atoll_count=$((__atoll_count + 1))
printf '\x1e%s.{"type":"begin","count":%d}\n' "$1" "$__atoll_count" >&$__atoll_out
}
__atoll_end() {
printf '\x1e%s.{"type":"end","status":%d}\n' "$1" "$2" >&$__atoll_out
printf '\x1e%s.\n' "$1" >&$__atoll_err
}
__atoll_keep() {
local n
__atoll_env=
for n; do __atoll_env+=$(declare -p "$n" 2>/dev/null || echo "unset $n")$'\n'; done
}
__ATOLL
