/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/providers.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "config/config.h"
#include "config/provider_options.h"
#include "config/providers.h"
#include "provider/kind_options.h"
#include "store/access.h"

#define BROKER_WAIT_MS 20000
#define WATCHED_WAIT_MS 600000 /* with a supervisor, which restarts the broker */
#define WAIT_SAID_MS 5000
#define SECRET_MAX 65536

_Static_assert(PROVIDER_SHARED_KEY_SIZE == STORE_SERVER_KEY_SIZE, "one key");

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

static const char *value_or(struct arena *a, const struct config_provider *p, const char *name,
                            const char *otherwise)
{
	const char *value = config_provider_value(p, name);

	return value ? arena_text(a, value) : otherwise;
}

static bool flag_or(const struct config_provider *p, const char *name, bool otherwise)
{
	const char *value = config_provider_value(p, name);

	return value ? strcmp(value, "true") == 0 : otherwise;
}

/* Names with spaces in between, as the option has them, with commas. */
static const char *join_words(struct arena *a, const char *words)
{
	char *joined = arena_text(a, words);

	for (char *c = joined; *c; c++)
		*c = *c == ' ' ? ',' : *c;
	return joined;
}

static const struct docker_options *docker_options_of(struct arena *a, const struct config *config,
                                                      const struct config_provider *p,
                                                      bool is_stored)
{
	struct docker_options *docker = ARENA_NEW(a, struct docker_options);
	const char *images = config_provider_value(p, "docker_images");

	/* A provider of the store never had the folder of a version that knew one provider. */
	*docker = (struct docker_options){
	        .providers = config_count_provider_kind(config, "docker") + is_stored,
	        .host = value_or(a, p, "docker_host", config->docker_host),
	        .image = value_or(a, p, "docker_image", config->docker_image),
	        .logins = value_or(a, p, "docker_logins", NULL),
	        .runtime = value_or(a, p, "docker_runtime", config->docker_runtime),
	        .images = images ? join_words(a, images) : config->docker_images,
	        .allows_private = config->registry_allow_private,
	        .has_gpus = flag_or(p, "gpu_enabled", config->gpu_enabled),
	        .has_gpu_network = flag_or(p, "gpu_network_enabled", config->gpu_network_enabled),
	        .program = find_agent(a)};
	return docker;
}

static const struct microvm_options *
microvm_options_of(struct arena *a, const struct config *config, const struct config_provider *p)
{
	struct microvm_options *microvm = ARENA_NEW(a, struct microvm_options);

	*microvm = (struct microvm_options){
	        .kernel = value_or(a, p, "microvm_kernel", config->microvm_kernel),
	        .accelerator = value_or(a, p, "microvm_accelerator", config->microvm_accelerator),
	        .vmm = value_or(a, p, "microvm_vmm", config->microvm_vmm),
	        .program = find_agent(a)};
	return microvm;
}

/* The file of a secret that the configuration names by reference; NULL: it is in no file. */
static const char *find_secret_file(struct arena *a, const struct config_provider *p,
                                    const char *name)
{
	const char *value = p ? config_provider_value(p, name) : NULL;

	return value && strncmp(value, "file:", 5) == 0 ? arena_text(a, value + 5) : NULL;
}

static struct remote_options e2b_options_of(struct arena *a, const struct config *config,
                                            const struct config_provider *p)
{
	const char *domain = value_or(a, p, "e2b_domain", config->e2b_domain);
	const char *url = value_or(a, p, "e2b_api_url", config->e2b_api_url);

	return (struct remote_options){
	        .key = value_or(a, p, "e2b_api_key", config->e2b_api_key),
	        .url = *url ? url : arena_format(a, "https://api.%s", domain),
	        .domain = domain,
	        .sandbox_url = value_or(a, p, "e2b_sandbox_url", config->e2b_sandbox_url),
	        .image = value_or(a, p, "e2b_template", config->e2b_template),
	        .images = value_or(a, p, "e2b_templates", config->e2b_templates),
	        .target = "",
	        .program = find_agent(a),
	        .allows_internet =
	                flag_or(p, "e2b_allow_internet_access", config->e2b_allow_internet_access),
	        .is_secure = flag_or(p, "e2b_secure_access", config->e2b_secure_access)};
}

static struct remote_options daytona_options_of(struct arena *a, const struct config *config,
                                                const struct config_provider *p)
{
	return (struct remote_options){
	        .key = value_or(a, p, "daytona_api_key", config->daytona_api_key),
	        .url = value_or(a, p, "daytona_api_url", config->daytona_api_url),
	        .domain = "",
	        .sandbox_url = "",
	        .image = value_or(a, p, "daytona_snapshot", config->daytona_snapshot),
	        .images = value_or(a, p, "daytona_snapshots", config->daytona_snapshots),
	        .target = value_or(a, p, "daytona_target", config->daytona_target),
	        .program = find_agent(a),
	        .allows_internet = true,
	        .is_secure = true,
	        .blocks_by_list =
	                flag_or(p, "daytona_block_by_list", config->daytona_block_by_list)};
}

static int64_t whole_or(const struct config_provider *p, const char *name, int64_t otherwise)
{
	const char *value = config_provider_value(p, name);
	struct error ignored = {0};
	int64_t whole;

	return value && span_parse_whole(span_of(value), 1, 100, &whole, &ignored) == 0 ? whole
	                                                                                : otherwise;
}

static const struct kubernetes_options *
cluster_options_of(struct arena *a, const struct config *config, const struct config_provider *p)
{
	struct kubernetes_options *k = ARENA_NEW(a, struct kubernetes_options);

	*k = (struct kubernetes_options){
	        .config = value_or(a, p, "kubernetes_config", config->kubernetes_config),
	        .context = value_or(a, p, "kubernetes_context", config->kubernetes_context),
	        .namespace = value_or(a, p, "kubernetes_namespace", config->kubernetes_namespace),
	        .agent_image =
	                value_or(a, p, "kubernetes_agent_image", config->kubernetes_agent_image),
	        .agent_path =
	                value_or(a, p, "kubernetes_agent_path", config->kubernetes_agent_path),
	        .runtime_class = value_or(a, p, "kubernetes_runtime_class",
	                                  config->kubernetes_runtime_class),
	        .storage_class = value_or(a, p, "kubernetes_storage_class",
	                                  config->kubernetes_storage_class),
	        .snapshot_class = value_or(a, p, "kubernetes_snapshot_class",
	                                   config->kubernetes_snapshot_class),
	        .cpu_request_percent = whole_or(p, "kubernetes_cpu_request_percent",
	                                        config->kubernetes_cpu_request_percent),
	        .warm_pods = whole_or(p, "kubernetes_warm_pods", config->kubernetes_warm_pods),
	        .policies_hold =
	                flag_or(p, "kubernetes_network_policy", config->kubernetes_network_policy)};
	return k;
}

static struct remote_options kubernetes_options_of(struct arena *a, const struct config *config,
                                                   const struct config_provider *p)
{
	return (struct remote_options){
	        .image = value_or(a, p, "kubernetes_image", config->kubernetes_image),
	        .images = value_or(a, p, "kubernetes_images", config->kubernetes_images),
	        .kubernetes = cluster_options_of(a, config, p),
	        .allows_internet = true};
}

/* The kinds behind another service's API; key_option NULL: its file holds more than a key. */
static const struct {
	const char *kind, *key_option;
	struct remote_options (*options_of)(struct arena *a, const struct config *config,
	                                    const struct config_provider *p);
} remote_kinds[] = {
        {"e2b", "e2b_api_key", e2b_options_of},
        {"daytona", "daytona_api_key", daytona_options_of},
        {"kubernetes", NULL, kubernetes_options_of},
};

struct remote_source {
	const struct config *config;
	const struct config_provider *named; /* with references for secrets; NULL: there are none */
	const struct config_provider *own;   /* with their values */
};

/* NULL for another kind. */
static const struct remote_options *remote_options_of(struct arena *a,
                                                      const struct remote_source *from)
{
	struct remote_options *remote;

	for (size_t i = 0; i < COUNT_OF(remote_kinds); i++) {
		if (strcmp(remote_kinds[i].kind, from->own->kind) != 0)
			continue;
		remote = ARENA_NEW(a, struct remote_options);
		*remote = remote_kinds[i].options_of(a, from->config, from->own);
		if (remote_kinds[i].key_option)
			remote->key_file =
			        find_secret_file(a, from->named, remote_kinds[i].key_option);
		return remote;
	}
	return NULL;
}

static const struct lambda_options *lambda_options_of(struct arena *a, const struct config *config,
                                                      const struct config_provider *p)
{
	struct lambda_options *lambda = ARENA_NEW(a, struct lambda_options);
	const char *region = value_or(a, p, "lambda_region", config->lambda_region);
	const char *endpoint = value_or(a, p, "lambda_endpoint", config->lambda_endpoint);

	*lambda = (struct lambda_options){
	        .region = region,
	        .endpoint = *endpoint ? endpoint
	                              : arena_format(a, "https://lambda.%s.amazonaws.com", region),
	        .key_id = value_or(a, p, "lambda_access_key_id", config->lambda_access_key_id),
	        .secret = value_or(a, p, "lambda_secret_access_key",
	                           config->lambda_secret_access_key),
	        .session_token =
	                value_or(a, p, "lambda_session_token", config->lambda_session_token),
	        .functions =
	                {{value_or(a, p, "sandbox_fn_nomount_nonet",
	                           config->sandbox_fn_nomount_nonet),
	                  value_or(a, p, "sandbox_fn_nomount_net", config->sandbox_fn_nomount_net)},
	                 {value_or(a, p, "sandbox_fn_mount_nonet", config->sandbox_fn_mount_nonet),
	                  value_or(a, p, "sandbox_fn_mount_net", config->sandbox_fn_mount_net)}},
	        .templates = value_or(a, p, "lambda_templates", config->lambda_templates),
	        .workspace_project = value_or(a, p, "lambda_workspace_project",
	                                      config->lambda_workspace_project),
	        .memory_mb = config->lambda_memory_mb,
	};
	return lambda;
}

static int read_reference(struct arena *a, const char *reference, const char **ret,
                          struct error *err)
{
	AUTO(buf_done) struct buf text = BUF(SECRET_MAX);

	if (strncmp(reference, "env:", 4) == 0) {
		const char *value = getenv(reference + 4);

		if (!value || !*value)
			return FAIL(err, ERROR_INVALID, "the environment has no '%s'",
			            reference + 4);
		*ret = arena_text(a, value);
		return 0;
	}
	if (file_read(AT_FDCWD, reference + strlen("file:"), &text, err) < 0)
		return -1;
	/* A file ends with a line break, a secret does not; one of several lines keeps the others.
	 */
	while (text.size > 0 && strchr("\r\n", text.data[text.size - 1]))
		text.size--;
	*ret = arena_copy(a, span_trim(buf_span(&text)));
	return 0;
}

/* Replaces the references of secrets by what they name. */
static int read_secrets(struct arena *a, struct config_provider *p, struct error *err)
{
	for (unsigned i = 0; i < p->value_count; i++) {
		struct config_provider_value *v = &p->values[i];

		if (config_provider_option_find(p->kind, v->name)->is_secret &&
		    read_reference(a, v->value, &v->value, err) < 0)
			return FAIL_CONTEXT(err, "provider '%s': %s", p->name, v->name);
	}
	return 0;
}

void providers_share(struct provider_sources *sources, struct store *store)
{
	struct error err = {0};

	if (store_server_key(store, "providers", sources->identity.key, &err) < 0) {
		log_warning("the key that the store's servers share is not known", FAILURE(&err));
		return;
	}
	sources->shared.shared = &sources->identity;
}

int providers_add(struct provider_set *set, const struct provider_sources *sources,
                  const struct config_provider *p, int64_t version, struct error *err)
{
	struct arena *a = provider_set_arena(set);
	struct provider_options options = sources->shared;
	struct config_provider own = *p;
	const struct provider_entry_options entry = {
	        .name = p->name,
	        .kind = p->kind,
	        .limits = {.sandboxes_max = p->sandboxes_max,
	                   .allows_weaker = p->allows_weaker,
	                   .price_hour = p->price_hour,
	                   .cost_day_max = p->cost_day_max,
	                   .cost_month_max = p->cost_month_max,
	                   .create_timeout_ms = p->create_timeout_ms,
	                   .p99_max_ms = p->p99_max_ms},
	        .version = version,
	};

	if (version == 0 && read_secrets(a, &own, err) < 0)
		return -1;
	options.docker = docker_options_of(a, sources->config, &own, version > 0);
	options.microvm = microvm_options_of(a, sources->config, &own);
	options.lambda = lambda_options_of(a, sources->config, &own);
	const struct remote_source remote = {sources->config, version == 0 ? p : NULL, &own};
	options.remote = remote_options_of(a, &remote);
	const struct provider_member *m = provider_set_find(set, p->name);
	if (m && m->version > 0 && version > 0)
		return provider_set_change(set, &entry, &options, err);
	return provider_set_add(set, &entry, &options, err);
}

int providers_open(struct arena *a, const struct provider_sources *sources,
                   struct provider_set **ret, struct error *err)
{
	struct config_providers all;

	*ret = provider_set_new();
	if (config_providers_load(a, sources->config, &all, err) < 0)
		return -1;
	for (unsigned i = 0; i < all.count; i++)
		if (providers_add(*ret, sources, &all.items[i], 0, err) < 0)
			return -1;
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
