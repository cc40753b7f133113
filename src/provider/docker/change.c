/* SPDX-License-Identifier: Apache-2.0 */
/* Other options while the provider runs. Calls that run use the old ones to their end. */
#include <string.h>

#include "provider/docker/docker.h"

static bool is_same(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

int docker_change(struct provider *p, const struct provider_options *options, struct error *err)
{
	struct docker_provider *d = as_docker(p);
	const struct docker_options *next = options->docker, *now = docker_options_of(d);
	struct provider_ops described = provider_docker;

	if (!is_same(next->runtime, now->runtime)) {
		(void)FAIL(
		        err, ERROR_UNSUPPORTED,
		        "docker_runtime cannot change: its sandboxes have the isolation of '%.60s'",
		        now->runtime && *now->runtime ? now->runtime : "the daemon's default");
		return FAIL_HINT(err, "add another provider with that runtime, and drain this one");
	}
	if (!is_same(next->host, now->host) && docker_engine_move(d->engine, next->host, err) < 0)
		return -1;
	docker_describe(options, &described);
	__atomic_store_n(&d->ops.abilities, described.abilities, __ATOMIC_RELAXED);
	atomic_store(&d->docker, next);
	return 0;
}
