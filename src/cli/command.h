/* SPDX-License-Identifier: Apache-2.0 */
/* cli/command.h — what a command is: a row with its options, and a function.
 *
 * Private to this folder. A command function fills cli->err and returns -1, or returns an exit
 * status; only cli_main prints errors. Everything a command allocates lives in cli->arena until the
 * process ends. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/* What a shell offers in a place. */
enum completion {
	COMPLETE_NOTHING,
	COMPLETE_FILE,
	COMPLETE_FOLDER,
	COMPLETE_SANDBOX,
	COMPLETE_TEMPLATE,
	COMPLETE_SANDBOX_OR_FILE, /* of cp */
	COMPLETE_SHELL,           /* bash, zsh, fish */
};

struct command_option {
	const char *name; /* "template"; NULL ends a table */
	char letter;      /* 't', or 0 */
	bool repeats;
	const char *value; /* how help calls it; NULL = a switch without a value */
	const char *about;
	enum completion completion;
};

struct cli;
struct cli_command {
	const char *name;
	const char *usage;                    /* after the name: "SANDBOX -- COMMAND [ARG...]" */
	const char *about;                    /* one line, no full stop */
	const char *more;                     /* further lines of help; may be NULL */
	const struct command_option *options; /* NULL = none */
	const struct command_option *(*make_options)(
	        void); /* instead, when other tables give them */
	unsigned arguments_min, arguments_max;
	/* Options end at this many arguments: what follows is the inner command's. 0 = nowhere. */
	unsigned own_arguments;
	bool has_inner_command;
	enum completion completion; /* of arguments */
	const struct cli_command *const
	        *children; /* NULL-terminated: "template ls"; then run is NULL */
	int (*run)(struct cli *cli);
};
#define ANY_NUMBER 100000u

/* Every command, NULL-terminated. */
extern const struct cli_command *const commands[];
/* Those that every command has: --json, --help. */
extern const struct command_option common_options[];
const struct command_option *command_options(const struct cli_command *command);
const struct cli_command *command_find(const struct cli_command *const *table, const char *name);

/* The parsed command line. */
struct option_value {
	const struct command_option *option;
	const char *text; /* "" for a switch */
};
struct cli_arguments {
	struct option_value *values; /* in the order given */
	unsigned value_count;
	const char **words; /* arguments that are no options, NULL-terminated */
	unsigned count;
	const char **inner; /* the inner command, NULL-terminated; NULL = none */
};
/* argv without program and command names. */
MUST_CHECK int arguments_parse(struct arena *a, const struct cli_command *command,
                               const char *const *argv, struct cli_arguments *ret,
                               struct error *err);
/* Of the option called `name`, last given wins. */
bool arguments_has(const struct cli_arguments *args, const char *name);
const char *arguments_text(const struct cli_arguments *args, const char *name,
                           const char *fallback);
/* The i-th value of a repeated option, or NULL. */
const char *arguments_text_at(const struct cli_arguments *args, const char *name, unsigned index);
/* *ret keeps what it holds when the option was not given. */
MUST_CHECK int arguments_whole(const struct cli_arguments *args, const char *name, int64_t min,
                               int64_t *ret, struct error *err);
MUST_CHECK int arguments_number(const struct cli_arguments *args, const char *name, double *ret,
                                struct error *err);
MUST_CHECK int arguments_duration(const struct cli_arguments *args, const char *name,
                                  int64_t *ret_ms, struct error *err);
/* "512", "512m", "2g" -> MiB. */
MUST_CHECK int arguments_size_mb(const struct cli_arguments *args, const char *name, int64_t *ret,
                                 struct error *err);

struct http_client;
struct http_client_options;
struct cli {
	struct arena *arena;
	const struct cli_command *command, *parent; /* parent: of a subcommand */
	struct cli_arguments args;
	bool json;
	bool interrupted; /* by Ctrl-C, before there was a command to pass it to: exit status 130 */
	const struct http_client_options *server; /* NULL until cli_connect */
	struct http_client *client;
	struct error *err;
};
/* Finds the server, or starts the local one; sets server and client. */
MUST_CHECK int cli_connect(struct cli *cli);
