/* SPDX-License-Identifier: Apache-2.0 */
#include "account/account.h"

#include <string.h>

#define OUTPUT_MIN 1024
#define OUTPUT_MAX (16 << 20)
#define IDLE_MAX_S (INT64_C(7) * 86400)
#define LIFETIME_MAX_S (INT64_C(365) * 86400)
#define HOME_MAX 1024

/* Limits per call. memory 0: the operator's limit applies. */
static const struct provider_limits {
	const char *name;
	int64_t timeout_max_s, memory_max_mb;
	bool can_persist;
} limits[] = {
        {"lambda", 300, 1024, false}, {"e2b", 600, 0, true},    {"daytona", 600, 0, true},
        {"kubernetes", 600, 0, true}, {"native", 600, 0, true}, {"docker", 600, 0, true},
        {"microvm", 600, 0, true},    {"host", 600, 0, true},   {"null", 600, 0, true},
};
/* For configs that name none of these: a provider of this server is not bounded like a function. */
static const struct provider_limits unnamed = {"this server", 600, 0, true};

static const struct provider_limits *limits_find(const char *provider)
{
	for (size_t i = 0; provider && i < COUNT_OF(limits); i++)
		if (strcmp(limits[i].name, provider) == 0)
			return &limits[i];
	return &unnamed;
}

bool account_knows_provider(const char *provider)
{
	return provider && limits_find(provider) != &unnamed;
}

static bool is_among(const char *word, const char *const *words)
{
	while (*words && strcmp(*words, word) != 0)
		words++;
	return *words != NULL;
}

static int check_words(const struct account_config *c, struct error *err)
{
	static const char *const modes[] = {"edit", "ask", "bypass", NULL};
	static const char *const runtimes[] = {"bash", "python", "node", "r", "java", NULL};

	if (c->permission_mode && !is_among(c->permission_mode, modes))
		return FAIL(err, ERROR_INVALID, "permissionMode: edit, ask or bypass, not '%.40s'",
		            c->permission_mode);
	for (const char *const *word = c->runtimes; word && *word; word++)
		if (!is_among(*word, runtimes))
			return FAIL(err, ERROR_INVALID,
			            "runtimes: bash, python, node, r and java, not '%.40s'", *word);
	return 0;
}

static int check_call(const struct account_config *c, const struct provider_limits *l,
                      struct error *err)
{
	if (c->timeout_s < 0 || c->timeout_s > l->timeout_max_s)
		return FAIL(err, ERROR_INVALID, "timeout: at most %d seconds on %s",
		            (int)l->timeout_max_s, l->name);
	if (c->memory_mb < 0 || (l->memory_max_mb && c->memory_mb > l->memory_max_mb))
		return FAIL(err, ERROR_INVALID, "memoryLimit: at most %d MB on %s",
		            (int)l->memory_max_mb, l->name);
	if (c->output_limit_bytes &&
	    (c->output_limit_bytes < OUTPUT_MIN || c->output_limit_bytes > OUTPUT_MAX))
		return FAIL(err, ERROR_INVALID, "outputLimitBytes: from %d to %d", OUTPUT_MIN,
		            OUTPUT_MAX);
	return 0;
}

static int check_life(const struct account_config *c, const struct provider_limits *l,
                      struct error *err)
{
	if (c->persistent && !l->can_persist)
		return FAIL(err, ERROR_INVALID, "persistent: %s keeps nothing between calls",
		            l->name);
	if (c->has_options && !c->persistent)
		return FAIL(err, ERROR_INVALID, "options: only with persistent");
	if (c->idle_timeout_s < 0 || c->idle_timeout_s > IDLE_MAX_S)
		return FAIL(err, ERROR_INVALID, "lifecycle.idleTimeoutSeconds: at most 7 days");
	if (c->lifetime_max_s < 0 || c->lifetime_max_s > LIFETIME_MAX_S)
		return FAIL(err, ERROR_INVALID, "lifecycle.maxLifetimeSeconds: at most 365 days");
	if (c->persistent_home &&
	    (c->persistent_home[0] != '/' || strlen(c->persistent_home) > HOME_MAX))
		return FAIL(err, ERROR_INVALID,
		            "options.persistentHome: an absolute path of at most %d bytes",
		            HOME_MAX);
	return 0;
}

int64_t account_call_max_s(const char *provider)
{
	return limits_find(provider)->timeout_max_s;
}

int account_config_check(const struct account_config *c, struct error *err)
{
	const struct provider_limits *l = limits_find(c->provider);

	if (check_words(c, err) < 0 || check_call(c, l, err) < 0)
		return -1;
	return check_life(c, l, err);
}

static bool is_wider(int64_t old, int64_t new)
{
	return old > 0 && (new == 0 || new > old);
}

static bool has_words(const char *const *words)
{
	return words && words[0];
}

static bool are_wider_runtimes(const char *const *old, const char *const *new)
{
	if (!has_words(old))
		return false;
	if (!has_words(new))
		return true;
	for (; *new; new ++)
		if (!is_among(*new, old))
			return true;
	return false;
}

/* Ranks the modes: a higher rank allows less without asking. */
static unsigned rank_of_mode(const char *mode)
{
	if (mode && strcmp(mode, "ask") == 0)
		return 2;
	return mode && strcmp(mode, "edit") == 0;
}

const char *account_config_widened(const struct account_config *old,
                                   const struct account_config *new)
{
	if (is_wider(old->timeout_s, new->timeout_s))
		return "timeout";
	if (is_wider(old->output_limit_bytes, new->output_limit_bytes))
		return "outputLimitBytes";
	if (is_wider(old->memory_mb, new->memory_mb))
		return "memoryLimit";
	if (are_wider_runtimes(old->runtimes, new->runtimes))
		return "runtimes";
	if (rank_of_mode(new->permission_mode) < rank_of_mode(old->permission_mode))
		return "permissionMode";
	return NULL;
}

const char *account_config_limit(const struct account_config *c)
{
	static const struct account_config without;

	return account_config_widened(c, &without);
}
