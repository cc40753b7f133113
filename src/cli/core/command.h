/* SPDX-License-Identifier: Apache-2.0 */
/* cli/core/command.h — a command: a row with its options, and a function.
 *
 * A command's function returns an exit status, or fills cli->err and returns -1; only cli_main
 * prints errors. A command allocates in cli->arena, which lives until the process ends. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "cli/core/display.h"

/* What a shell suggests for an argument. */
enum completion {
	COMPLETE_NOTHING,
	COMPLETE_FILE,
	COMPLETE_FOLDER,
	COMPLETE_SANDBOX,
	COMPLETE_TEMPLATE,
	COMPLETE_SANDBOX_OR_FILE, /* for cp */
	COMPLETE_SHELL,           /* bash, zsh or fish */
};

struct command_option {
	const char *name;  /* "template"; NULL ends the table */
	const char *value; /* name of the value in help; NULL = a switch without a value */
	const char *about;
	char letter; /* 't', or 0 */
	bool repeats;
	enum completion completion;
	/* Of a plain command: the member that the option sets, if its name differs ("limit_usd");
	 * "internet=false" sets this value; "" = none. */
	const char *member;
	const char *otherwise; /* the value to send if the option is not given; NULL = none */
};

struct cli;
struct json_value;
struct listing_column;
struct cli_command {
	const char *name;
	const char *usage;                    /* after the name: "SANDBOX -- COMMAND [ARG...]" */
	const char *about;                    /* one line, no full stop */
	const char *more;                     /* further lines of help; may be NULL */
	const struct command_option *options; /* NULL = none */
	/* Makes the table if other tables determine it; NULL = use `options`. */
	const struct command_option *(*make_options)(void);
	unsigned arguments_min, arguments_max;
	/* Number of arguments after which options end, because the inner command follows; 0 =
	 * none. */
	unsigned own_arguments;
	bool has_inner_command;
	enum completion completion; /* of the arguments */
	/* Subcommands such as "template ls"; then `run` is NULL. */
	const struct cli_command *children; /* the last has no name */
	int (*run)(struct cli *cli);

	/* A plain command names an operation in place of `run`; see cli/core/plain.h. */
	const char *operation; /* "GET /v1/jobs/{job}/logs"; may have a query: "…?limit=1000" */
	const char *word;      /* member that the argument after those of the path sets */
	const char *fixed;     /* member with a fixed value: "enabled=true" */
	/* Adds members to the body that no option sets by itself. */
	int (*fill)(struct cli *cli, struct buf *body);
	const struct listing_column *columns; /* the answer is a list, printed as a table */
	const char *prints;                   /* the member of the answer to print; "*" = all */
	void (*print)(struct cli *cli, const struct json_value *answer); /* without --json */
	const char *done;    /* prints {"DONE":true} with --json instead of the answer */
	const char *removes; /* DELETEs each argument, a "snapshot" */
};
#define ANY_NUMBER 100000u

/* The options of every command: --json, --color and --help. */
extern const struct command_option common_options[];
const struct command_option *command_options(const struct cli_command *command);
const struct cli_command *command_find(const struct cli_command *const *table, const char *name);
const struct cli_command *command_find_child(const struct cli_command *parent, const char *name);
/* Fails with "there is no command"; the hint names the nearest one. `parent` may be NULL. */
MUST_CHECK int command_refuse(const struct cli_command *const *table,
                              const struct cli_command *parent, const char *name,
                              struct error *err);

/* The parsed command line. */
struct option_value {
	const struct command_option *option;
	const char *text; /* "" for a switch */
};
struct cli_arguments {
	struct option_value *values; /* in the order given */
	unsigned value_count;
	const char **words; /* arguments that are not options, NULL-terminated */
	unsigned count;
	const char **inner; /* the inner command, NULL-terminated; NULL = none */
};
/* Parses argv without the names of program and command. The hint of an error is the option that was
 * probably meant, or empty. */
MUST_CHECK int arguments_parse(struct arena *a, const struct cli_command *command,
                               const char *const *argv, struct cli_arguments *ret,
                               struct error *err);
/* If an option is repeated, its last value applies. */
bool arguments_has(const struct cli_arguments *args, const char *name);
const char *arguments_text(const struct cli_arguments *args, const char *name,
                           const char *fallback);
/* The i-th value of a repeated option, or NULL. */
const char *arguments_text_at(const struct cli_arguments *args, const char *name, unsigned index);
/* These keep *ret unchanged if the option is not given. */
MUST_CHECK int arguments_whole(const struct cli_arguments *args, const char *name, int64_t min,
                               int64_t *ret, struct error *err);
MUST_CHECK int arguments_number(const struct cli_arguments *args, const char *name, double *ret,
                                struct error *err);
MUST_CHECK int arguments_duration(const struct cli_arguments *args, const char *name,
                                  int64_t *ret_ms, struct error *err);
/* Parses "512", "512m" and "2g" into MiB. */
MUST_CHECK int arguments_size_mb(const struct cli_arguments *args, const char *name, int64_t *ret,
                                 struct error *err);

struct http_client;
struct http_client_options;
struct cli {
	struct arena *arena;
	const struct cli_command *command,
	        *parent; /* parent: NULL unless `command` is a subcommand */
	struct cli_arguments args;
	bool json;
	struct display display; /* of standard output */
	bool interrupted;       /* Ctrl-C before a command ran in the sandbox: exit status 130 */
	const struct http_client_options *server; /* NULL until cli_connect */
	struct http_client *client;
	struct error *err;
};
/* Finds the server, or starts the local one. Sets `server` and `client`. */
MUST_CHECK int cli_connect(struct cli *cli);
