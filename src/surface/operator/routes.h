/* SPDX-License-Identifier: Apache-2.0 */
/* surface/operator/routes.h — the route tables of this surface. */
#pragma once

#include "http/server/http.h"

extern const struct route openapi_routes[];
extern const struct route operator_routes[];
