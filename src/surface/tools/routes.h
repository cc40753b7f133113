/* SPDX-License-Identifier: Apache-2.0 */
/* surface/tools/routes.h — the route tables of this surface. */
#pragma once

#include "http/server/http.h"

extern const struct route access_routes[];
extern const struct route approvals_routes[];
extern const struct route consents_routes[];
extern const struct route skills_routes[];
extern const struct route tools_routes[];
