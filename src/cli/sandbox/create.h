/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/create.h — makes a sandbox and waits for it, telling what takes long. Private to this
 * folder.
 */
#pragma once

#include "cli/resources.h"

struct create_options {
	const char *template, *name; /* NULL = the server's choice */
	const char *snapshot;        /* whose files it begins with; NULL = the template's */
	const char *const *env;      /* "KEY=value", NULL-terminated; may be NULL */
	struct sandbox_resources resources;
	const char *const *volumes; /* "VOLUME[:PATH[:ro]]", NULL-terminated; may be NULL */
	const char *const *allow, *const *deny; /* addresses; NULL-terminated, may be NULL */
	bool no_internet;
	bool persistent;
};
/* *ret_id is set as soon as there is something to delete, also when it fails later. A Ctrl-C while
 * it waits deletes the sandbox, sets cli->interrupted and fails with *ret_id NULL
 * (session_block_signals was called before). */
MUST_CHECK int create_sandbox(struct cli *cli, const struct create_options *options,
                              const char **ret_id);
/* Fills what the options of OPTION_TEMPLATE, OPTIONS_RESOURCES and so on say. */
MUST_CHECK int create_options_parse(struct cli *cli, struct create_options *ret);
MUST_CHECK int delete_sandbox(struct cli *cli, const char *id);

/* ---- pure, for tests ---- */
MUST_CHECK int create_body(struct arena *a, const struct create_options *options, const char **ret,
                           struct error *err);
