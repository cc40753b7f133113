/* SPDX-License-Identifier: Apache-2.0 */
/* provider/kinds.h — the providers of this folder, and the first member of their own structs. */
#pragma once

#include "provider/provider.h"

struct provider {
	const struct provider_ops *ops;
};

extern const struct provider_ops provider_null, provider_host, provider_native, provider_docker,
        provider_gvisor, provider_microvm, provider_e2b, provider_daytona, provider_kubernetes,
        provider_lambda;
