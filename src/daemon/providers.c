/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/providers.h"

#include <limits.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "config/config.h"
#include "config/providers.h"
#include "provider/kind_options.h"

#define BROKER_WAIT_MS 20000
#define WATCHED_WAIT_MS 600000 /* with a supervisor, which restarts the broker */
#define WAIT_SAID_MS 5000

struct broker_wait broker_wait_begin(bool is_watched)
{
	int64_t now = clock_monotonic_ms();

	return (struct broker_wait){now, now + (is_watched ? WATCHED_WAIT_MS : BROKER_WAIT_MS),
	                            now};
}

bool broker_wait_moment(struct broker_wait *w, const struct error *why)
{
	int64_t now = clock_monotonic_ms();
	bool is_long = now - w->began_ms > 1000;
	const struct timespec pause = {.tv_nsec = is_long ? 50000000 : 2000000};

	if (now >= w->deadline)
		return false;
	if (now - w->said_ms >= WAIT_SAID_MS) {
		log_warning("waiting for the broker", NUMBER("seconds", (now - w->began_ms) / 1000),
		            FAILURE(why));
		w->said_ms = now;
	}
	(void)nanosleep(&pause, NULL);
	return true;
}

/* It lies beside this program. */
static const char *find_agent(struct arena *a)
{
	char path[PATH_MAX];
	ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[size > 0 ? size : 0] = '\0';
	char *slash = strrchr(path, '/');
	if (slash)
		*slash = '\0';
	return arena_format(a, "%s/atoll-agent", path);
}

/* A setting of one provider comes before the option of the same name. */
static const struct docker_options *docker_options_of(struct arena *a, const struct config *config,
                                                      const struct config_provider *own)
{
	struct docker_options *docker = ARENA_NEW(a, struct docker_options);

	*docker = (struct docker_options){
	        .providers = config_count_provider_kind(config, "docker"),
	        .host = own->docker_host ? own->docker_host : config->docker_host,
	        .image = own->docker_image ? own->docker_image : config->docker_image,
	        .runtime = own->docker_runtime ? own->docker_runtime : config->docker_runtime,
	        .images = config->docker_images,
	        .allows_private = config->registry_allow_private,
	        .program = find_agent(a)};
	return docker;
}

static const struct microvm_options *microvm_options_of(struct arena *a,
                                                        const struct config *config)
{
	struct microvm_options *microvm = ARENA_NEW(a, struct microvm_options);

	*microvm = (struct microvm_options){.kernel = config->microvm_kernel,
	                                    .program = find_agent(a)};
	return microvm;
}

int providers_open(struct arena *a, const struct config *config,
                   const struct provider_options *shared, struct provider_set **ret,
                   struct error *err)
{
	struct provider_options options = *shared;
	struct config_providers all;

	options.microvm = microvm_options_of(a, config);
	*ret = provider_set_new();
	if (config_providers_load(a, config, &all, err) < 0)
		return -1;
	for (unsigned i = 0; i < all.count; i++) {
		const struct config_provider *c = &all.items[i];
		const struct provider_entry_options entry = {c->name, c->kind, c->sandboxes_max,
		                                             c->allows_weaker};

		options.docker = docker_options_of(a, config, c);
		if (provider_set_add(*ret, &entry, &options, err) < 0)
			return -1;
	}
	return 0;
}

int providers_open_primary(struct provider_set *set, struct broker_wait *wait, struct error *err)
{
	while (provider_member_open(provider_set_at(set, 0), err) < 0) {
		bool is_absent = err->code == ERROR_UNAVAILABLE || err->code == ERROR_NOT_FOUND ||
		                 err->code == ERROR_TIMEOUT;

		if (!is_absent || !broker_wait_moment(wait, err))
			return -1;
	}
	(void)provider_set_retry(set);
	return 0;
}
