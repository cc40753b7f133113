/* SPDX-License-Identifier: Apache-2.0 */
/* wire/names.h — names of requests, for metrics and traces: "create", "exec", …; "other" for a type
 * that has none. Static storage. */
#pragma once

#include <stdint.h>

const char *agent_type_name(uint16_t type);
const char *broker_type_name(uint16_t type);
