/* SPDX-License-Identifier: Apache-2.0 */
/* cli/sandbox/network.h — network rules in the body of a call. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

struct cli;

/* Whether any rule is given. The lists are NULL-terminated or NULL. */
struct cli_egress {
	/* NULL-terminated; or NULL */
	const char *const *allow, *const *deny, *const *presets, *const *credentials;
	const char *mode;  /* NULL = none */
	const char *rules; /* file with rules of credentials; NULL = none */
};
/* Of the options of a command. */
struct cli_egress egress_options(struct cli *cli);
bool egress_is_said(const struct cli_egress *e);
/* Adds the members of the rules. Allow rules alone deny all other addresses. */
MUST_CHECK int egress_add(struct buf *body, const struct cli_egress *e, struct error *err);
