/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/account/password.h"

#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "json/write.h"

#define LINE_MAX_BYTES 1024

static int read_password(struct cli *cli, const char *prompt, char ret[LINE_MAX_BYTES])
{
	bool is_terminal = isatty(STDIN_FILENO);
	struct termios before, silent;
	char *line;

	if (is_terminal && tcgetattr(STDIN_FILENO, &before) < 0)
		return FAIL_ERRNO(cli->err, "read the terminal's settings");
	if (is_terminal) {
		silent = before;
		silent.c_lflag &= ~(tcflag_t)ECHO;
		(void)fprintf(stderr, "%s: ", prompt);
		(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
	}
	line = fgets(ret, LINE_MAX_BYTES, stdin);
	if (is_terminal) {
		(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
		(void)fputc('\n', stderr);
	}
	if (!line)
		return FAIL(cli->err, ERROR_INVALID, "standard input has no password");
	ret[strcspn(ret, "\r\n")] = '\0';
	return 0;
}

int password_ask(struct cli *cli, struct buf *body, const char *member)
{
	char password[LINE_MAX_BYTES], again[LINE_MAX_BYTES];

	if (read_password(cli, "Password", password) < 0)
		return -1;
	if (isatty(STDIN_FILENO)) {
		if (read_password(cli, "Again", again) < 0)
			return -1;
		if (strcmp(password, again) != 0)
			return FAIL(cli->err, ERROR_INVALID, "the two passwords differ");
	}
	json_add_text(body, member, password);
	return 0;
}
