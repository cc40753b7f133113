/* SPDX-License-Identifier: Apache-2.0 */
/* provider/kinds.h — the tables that providers.c lists, for this folder only. */
#pragma once

#include "provider/provider.h"

extern const struct provider_ops provider_null, provider_host, provider_native;
