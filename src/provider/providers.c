/* SPDX-License-Identifier: Apache-2.0 */

#include <string.h>

#include "provider/kinds.h"
#include "provider/templates.h"

const struct provider_ops *const providers[] = {
        &provider_null,
        &provider_host,
        &provider_native,
        &provider_docker,
        &provider_gvisor,
        &provider_microvm,
        &provider_e2b,
        &provider_daytona,
        &provider_kubernetes,
        &provider_lambda,
        NULL,
};

static const struct {
	enum provider_ability ability;
	const char *name;
} abilities[] = {
        {PROVIDER_CAN_STOP, "stop"},
        {PROVIDER_CAN_EXEC, "exec"},
        {PROVIDER_CAN_PTY, "terminal"},
        {PROVIDER_CAN_FILES, "files"},
        {PROVIDER_CAN_STATS, "stats"},
        {PROVIDER_CAN_BLOCK_NETWORK, "block the network"},
        {PROVIDER_CAN_LIMIT, "limit resources"},
        {PROVIDER_CAN_LIMIT_DISK, "limit the disk"},
        {PROVIDER_CAN_ISOLATE, "isolate"},
        {PROVIDER_SURVIVES, "survive a restart"},
        {PROVIDER_CAN_TEMPLATE, "make templates"},
        {PROVIDER_CAN_SNAPSHOT, "take snapshots"},
        {PROVIDER_CAN_PAUSE, "pause"},
        {PROVIDER_CAN_VOLUME, "keep volumes"},
        {PROVIDER_CAN_POOL, "keep pools"},
        {PROVIDER_CAN_DIAL, "reach servers inside"},
        {PROVIDER_CAN_FILTER, "keep a sandbox from addresses"},
        {PROVIDER_CAN_MEASURE, "measure what is kept"},
        {PROVIDER_CAN_REVIEW, "compare files"},
        {PROVIDER_CAN_BACKUP, "pack backups"},
        {PROVIDER_CAN_BUILD, "build templates from steps"},
        {PROVIDER_CAN_GPU, "give GPUs"},
        {PROVIDER_CAN_GPU_NETWORK, "give GPUs to a sandbox that has a network"},
        {PROVIDER_CAN_KEEP_MEMORY, "keep memory on disk"},
        {PROVIDER_CAN_LEAVE_BY, "leave by a source address"},
        {PROVIDER_CAN_CUT, "take the network away at a quota"},
};

const char *provider_ability_name(enum provider_ability ability)
{
	for (size_t i = 0; i < COUNT_OF(abilities); i++)
		if (abilities[i].ability == ability)
			return abilities[i].name;
	return "unknown";
}

const struct provider_ops *provider_find(const char *name)
{
	for (size_t i = 0; providers[i]; i++)
		if (!strcmp(providers[i]->name, name))
			return providers[i];
	return NULL;
}

const struct provider_ops *provider_ops_of(const struct provider *p)
{
	return p->ops;
}

int provider_require(const struct provider *p, enum provider_ability ability, struct error *err)
{
	if (p->ops->abilities & ability)
		return 0;
	return FAIL(err, ERROR_UNSUPPORTED, "provider '%s' cannot do this: %s", p->ops->name,
	            provider_ability_name(ability));
}

int provider_template(struct provider *p, const struct provider_template *request, int64_t deadline,
                      struct error *err)
{
	if (provider_require(p, PROVIDER_CAN_TEMPLATE, err) < 0)
		return -1;
	return p->ops->template_make(p, request, deadline, err);
}
