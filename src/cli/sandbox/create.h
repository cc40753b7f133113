/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/create.h — makes a sandbox, waits for it and shows the progress. */
#pragma once

#include "cli/core/resources.h"
#include "cli/sandbox/network.h"

struct create_options {
	const char *template, *name; /* NULL = the server's default */
	const char *image;           /* instead of the template */
	const char *pull;            /* of the image: "always", "missing", "never"; may be NULL */
	const char *provider, *isolation; /* NULL = the server's choice */
	const char *snapshot;             /* source of the files; NULL = the template */
	const char *config;               /* of the project; NULL = none */
	const char *workspace;            /* NULL = none */
	const char *const *env;           /* "KEY=value", NULL-terminated; may be NULL */
	struct sandbox_resources resources;
	const char *const *volumes; /* "VOLUME[:PATH[:ro]]", NULL-terminated; may be NULL */
	struct cli_egress egress;
	int64_t idle_reap_ms; /* 0 = the server's */
	int64_t gpus;
	bool no_internet;
	bool persistent;
};
/* Sets *ret_id as soon as there is a sandbox to delete, even if the call fails later. A Ctrl-C
 * during the wait deletes the sandbox, sets cli->interrupted and fails with *ret_id NULL. Call
 * session_block_signals before. */
MUST_CHECK int create_sandbox(struct cli *cli, const struct create_options *options,
                              const char **ret_id);
/* Reads the options of OPTION_TEMPLATE_OR_IMAGE, OPTIONS_RESOURCES and the like. */
MUST_CHECK int create_options_parse(struct cli *cli, struct create_options *ret);
/* Prints the sandbox that the options would make, and makes nothing. */
MUST_CHECK int plan_sandbox(struct cli *cli, const struct create_options *options);
MUST_CHECK int delete_sandbox(struct cli *cli, const char *id);

/* Adds the members of a create request to a body that has begun; create_body begins and ends it. */
MUST_CHECK int create_add(struct arena *a, const struct create_options *options, struct buf *body,
                          struct error *err);
MUST_CHECK int create_body(struct arena *a, const struct create_options *options, const char **ret,
                           struct error *err);
