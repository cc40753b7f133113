/* SPDX-License-Identifier: Apache-2.0 */
/* surface/gateway/routes.h — the route tables of this surface. */
#pragma once

#include "http/server/http.h"

extern const struct route gateway_routes[];
extern const struct route gateway_session_routes[];
