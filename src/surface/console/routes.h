/* SPDX-License-Identifier: Apache-2.0 */
/* surface/console/routes.h — the route table of the web console. */
#pragma once

#include "http/server/http.h"

extern const struct route console_routes[];
