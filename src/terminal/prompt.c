/* SPDX-License-Identifier: Apache-2.0 */
#include "terminal/prompt.h"

#include <string.h>

#define KEY "\033[29;133~"
#define LINE_END '\x1e' /* record separator, which no line contains */

/* The first shell only passes the lines on by a descriptor and becomes the second. History
 * expansion ('!') would change a typed line, so it is off for that line. A killed command may
 * leave the alternate screen and other modes on, so they are reset. A command may set
 * PROMPT_COMMAND (". ~/.bashrc" often does), which replaces its first element. In an array, which
 * bash 5.1 runs, the other element stays and marks the end. A lost element is set again with the
 * next line. Windows outlive the server that opened them, so some have earlier scripts. The first
 * line identifies a script; it changes only when the key or the marks change. */
#define FIRST_LINE "exec bash --rcfile /dev/fd/3 -i 3<<'__ATOLL'\n"
static const char script[] = FIRST_LINE
        "[ -r /etc/profile ] && . /etc/profile\n"
        "for __atoll_f in ~/.bash_profile ~/.bash_login ~/.profile ~/.bashrc; do\n"
        "[ -r \"$__atoll_f\" ] && { . \"$__atoll_f\"; break; }\n"
        "done; unset __atoll_f; exec 3<&-\n"
        "__atoll_hook() {\n"
        "PROMPT_COMMAND=__atoll_prompt${PROMPT_COMMAND:+\";$PROMPT_COMMAND\"}\n"
        "if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] > 500)); then\n"
        "PROMPT_COMMAND[133]=__atoll_prompt; fi\n"
        "}\n"
        "__atoll_take() {\n"
        "[[ ${PROMPT_COMMAND[*]-} == *__atoll_prompt* ]] || __atoll_hook\n"
        "local n l; IFS= read -rsn 32 n; IFS= read -rsd $'\\x1e' l\n"
        "case $- in *H*) set +H; __atoll_h=1;; esac\n"
        "__atoll_n=$n READLINE_LINE=$l READLINE_POINT=${#l}\n"
        "}\n"
        "__atoll_prompt() {\n"
        "local s=$?\n"
        "case $s in 137|143) printf '\\e[?47l\\e[?25h\\e[?1l\\e>';; esac\n"
        "[ -n \"$__atoll_n\" ] && printf '\\e]133;D;%s;%s\\a' \"$s\" \"$__atoll_n\"\n"
        "[ -n \"$__atoll_h\" ] && set -H\n"
        "__atoll_n= __atoll_h=\n"
        "case $PS1 in *'133;B'*) ;; *) PS1=$PS1'\\[\\e]133;B\\a\\]';; esac\n"
        "case $PS2 in *'133;P'*) ;; *) PS2=$PS2'\\[\\e]133;P;$__atoll_n\\a\\]';; esac\n"
        "case $PS0 in *'133;C'*) ;; *) PS0=$PS0'\\e]133;C;$__atoll_n;$EPOCHREALTIME\\a';; esac\n"
        "return $s\n"
        "}\n"
        "__atoll_hook\n"
        "for __atoll_m in emacs vi-insert vi-command; do\n"
        "bind -m $__atoll_m -x '\"\\e[29;133~\": __atoll_take'\n"
        "done; unset __atoll_m\n"
        "__ATOLL\n";

const char *const *prompt_shell_args(void)
{
	static const char *const args[] = {"bash", "-c", script, NULL};

	return args;
}

bool prompt_shell_is_ours(const char *const *args)
{
	return args[0] && args[1] && args[2] && strcmp(args[0], "bash") == 0 &&
	       strcmp(args[1], "-c") == 0 && strncmp(args[2], FIRST_LINE, strlen(FIRST_LINE)) == 0;
}

int prompt_line_check(const char *command, struct error *err)
{
	if (strspn(command, " \t\n") == strlen(command))
		return FAIL(err, ERROR_INVALID, "the command is empty");
	for (const char *c = command; *c; c++) {
		if (((unsigned char)*c >= ' ' && *c != '\x7f') || *c == '\t' || *c == '\n')
			continue;
		(void)FAIL(err, ERROR_INVALID, "the command has a control character (0x%02x)",
		           (unsigned)(unsigned char)*c);
		return FAIL_HINT(err, "write it as $'\\x%02x', or type keys",
		                 (unsigned)(unsigned char)*c);
	}
	return 0;
}

/* Several lines are a single command with a single end and status. */
static void write_block(struct buf *out, const char *command)
{
	buf_add_text(out, "eval '");
	for (const char *c = command; *c; c++) {
		if (*c == '\'')
			buf_add_text(out, "'\\''");
		else
			buf_add_byte(out, *c);
	}
	buf_add_byte(out, '\'');
}

void prompt_line_write(struct buf *out, const char *nonce, const char *command)
{
	size_t length = strlen(command);

	while (length > 0 && command[length - 1] == '\n')
		length--;
	buf_add_text(out, KEY);
	buf_add_text(out, nonce);
	if (memchr(command, '\n', length))
		write_block(out, command);
	else
		buf_add(out, command, length);
	buf_add_byte(out, LINE_END);
	buf_add_byte(out, '\r');
}

static bool parse_nonce(struct span text, char out[PROMPT_NONCE_SIZE + 1])
{
	if (text.size > PROMPT_NONCE_SIZE)
		return false;
	for (size_t i = 0; i < text.size; i++)
		if (hex_digit_value(text.data[i]) < 0)
			return false;
	if (text.size)
		memcpy(out, text.data, text.size);
	out[text.size] = '\0';
	return true;
}

/* "SECONDS.MICROSECONDS", with the decimal separator of the shell's locale. */
static int64_t parse_time_ms(struct span text)
{
	int64_t ms = 0;

	if (text.size < 17)
		return 0;
	for (size_t i = 0; i < 13; i++) {
		char c = text.data[i < 10 ? i : text.size - 16 + i];

		if (c < '0' || c > '9')
			return 0;
		ms = ms * 10 + (c - '0');
	}
	return ms;
}

/* "133;D;0;NONCE" without its ends. */
static bool parse_mark(const struct prompt_scanner *m, struct prompt_mark *ret)
{
	struct span rest = {m->text, m->size}, part;
	struct prompt_mark mark = {.start = m->start, .end = m->offset};
	struct error err;

	if (!span_split(&rest, ';', &part) || !span_equals_text(part, "133"))
		return false;
	(void)span_split(&rest, ';', &part);
	if (part.size != 1 || !strchr("BCDP", part.data[0]))
		return false;
	mark.kind = part.data[0];
	if (mark.kind == 'D') {
		(void)span_split(&rest, ';', &part);
		if (span_parse_whole(part, 0, 255, &mark.status, &err) < 0)
			return false;
	}
	(void)span_split(&rest, ';', &part);
	if (!parse_nonce(part, mark.nonce) || (rest.size > 0 && mark.kind != 'C'))
		return false;
	mark.unix_ms = parse_time_ms(rest);
	*ret = mark;
	return true;
}

static void take_byte(struct prompt_scanner *m, char byte)
{
	uint64_t at = m->offset++;

	if (byte == '\033' && m->state != MARKS_INSIDE) {
		m->state = MARKS_ESCAPE;
		m->start = at;
	} else if (m->state == MARKS_ESCAPE) {
		m->state = byte == ']' ? MARKS_INSIDE : MARKS_OUTSIDE;
		m->size = 0;
	} else if (m->state == MARKS_INSIDE) {
		if (byte == '\a')
			m->state = MARKS_END;
		else if (m->size < sizeof(m->text) && (unsigned char)byte >= ' ')
			m->text[m->size++] = byte;
		else
			m->state = byte == '\033' ? MARKS_ESCAPE : MARKS_OUTSIDE;
		if (m->state == MARKS_ESCAPE)
			m->start = at;
	}
}

bool prompt_scanner_next(struct prompt_scanner *m, struct span *bytes, struct prompt_mark *ret)
{
	while (bytes->size > 0) {
		if (m->state == MARKS_OUTSIDE) {
			const char *next = memchr(bytes->data, '\033', bytes->size);
			size_t skip = next ? (size_t)(next - bytes->data) : bytes->size;

			m->offset += skip;
			span_skip(bytes, skip);
			if (!next)
				return false;
		}
		take_byte(m, bytes->data[0]);
		bytes->data++;
		bytes->size--;
		if (m->state != MARKS_END)
			continue;
		m->state = MARKS_OUTSIDE;
		if (parse_mark(m, ret))
			return true;
	}
	return false;
}
