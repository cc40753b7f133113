/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/kubernetes/class.h"

#include <string.h>

#include "base/bytes.h"

static const struct runtime_family {
	const char *class, *handler, *isolation;
} families[] = {
        {"gvisor", "runsc", "gvisor"},
        {"runsc", "runsc", "gvisor"},
        {"kata", "kata", "microvm"},
};

static const struct runtime_family *find_family(const char *runtime_class)
{
	for (size_t i = 0; i < COUNT_OF(families); i++)
		if (strncmp(runtime_class, families[i].class, strlen(families[i].class)) == 0)
			return &families[i];
	return NULL;
}

const char *kubernetes_isolation_of(const char *runtime_class)
{
	const struct runtime_family *family = find_family(runtime_class);

	return family ? family->isolation : "namespaces";
}

int kubernetes_check_handler(const char *runtime_class, const char *handler, struct error *err)
{
	const struct runtime_family *family = find_family(runtime_class);

	if (!family || strncmp(handler, family->handler, strlen(family->handler)) == 0)
		return 0;
	return FAIL(err, ERROR_UNAVAILABLE,
	            "RuntimeClass '%s' has the handler '%.60s', which gives no isolation '%s': a "
	            "class of another handler needs another name",
	            runtime_class, handler, family->isolation);
}
