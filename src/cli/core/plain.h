/* SPDX-License-Identifier: Apache-2.0 */
/* cli/core/plain.h — plain commands: a row names an operation of the API and the members that
 * options and arguments set. The operation's shape gives the types of the members. */
#pragma once

#include "cli/core/command.h"

struct json_value;
/* Runs cli->command: makes the call and prints the answer as the row says. */
MUST_CHECK int plain_run(struct cli *cli);
/* Makes the call of cli->command. *ret is NULL if the answer has no body. */
MUST_CHECK int plain_call(struct cli *cli, const struct json_value **ret);
/* The path of the call, with its query. */
MUST_CHECK int plain_path(struct cli *cli, const char **ret);
/* Prints the answer as the row says. */
void plain_print(struct cli *cli, const struct json_value *answer);
/* How many arguments the operation needs. */
unsigned plain_words(const struct cli_command *command);
/* The member that the option sets; NULL = none, `*ret_value` = the text behind '='. */
const struct operation_member *plain_member(const struct cli_command *command,
                                            const struct command_option *option,
                                            const char **ret_value);
