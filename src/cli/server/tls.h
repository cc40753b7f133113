/* SPDX-License-Identifier: Apache-2.0 */
/* cli/server/tls.h — an own authority for a server with --tls-listen. */
#pragma once

#include "base/error.h"

struct cli;

/* Makes the files of 'atoll tls init' by the options `domain`, `name`, `data`, `out` and `force` of
 * the command. *ret_path: their folder. ERROR_CONFLICT: files exist. */
MUST_CHECK int tls_authority_make(struct cli *cli, const char **ret_path);
