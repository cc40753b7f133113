/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/core/ask.h"

#include <stdio.h>
#include <unistd.h>

int ask_first(struct cli *cli, const char *question)
{
	char answer[16] = "";

	if (arguments_has(&cli->args, "yes"))
		return 0;
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
		(void)FAIL(cli->err, ERROR_INVALID, "%s There is no terminal to answer on",
		           question);
		return FAIL_HINT(cli->err, "give --yes to skip the question");
	}
	(void)fprintf(stderr, "%s [y/N] ", question);
	if (fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y'))
		return 0;
	return FAIL(cli->err, ERROR_CONFLICT, "nothing was done: the answer was not yes");
}
