/* SPDX-License-Identifier: Apache-2.0 */
/* api/configs.h — a sandbox from a reusable config. Private to this folder. */
#pragma once

#include "api/caller.h"

/* Fills what the request leaves open from the project's config `id_or_name`; the environment is
 * both, the request's over the config's. Refused when the config asks for what this server's
 * provider cannot give. */
MUST_CHECK int api_config_apply(struct request *rq, const char *id_or_name,
                                struct fleet_create *request, struct error *err);
