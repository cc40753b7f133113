/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/sandbox.h"

/* Bounds of sensible values. Below the minimum, a sandbox could not start its own agent. */
#define CPU_MIN 0.01
#define CPU_MAX 1024.0

static const struct bounds {
	const char *name, *unit;
	size_t offset;
	int64_t min, max;
} bounds[] = {
        {"memory", " MiB", offsetof(struct sandbox_resources, memory_mb), 16, 16 << 20},
        {"disk", " MiB", offsetof(struct sandbox_resources, disk_mb), 16, 1 << 30},
        {"pids", "", offsetof(struct sandbox_resources, pids), 8, 1 << 22},
};

static int64_t whole_get(const struct sandbox_resources *r, const struct bounds *b)
{
	return *(const int64_t *)(const void *)((const char *)r + b->offset);
}

static void whole_set(struct sandbox_resources *r, const struct bounds *b, int64_t value)
{
	*(int64_t *)(void *)((char *)r + b->offset) = value;
}

const char *sandbox_resource_name(unsigned resource)
{
	static const char *const names[SANDBOX_RESOURCE_COUNT] = {"cpu", "memory_mb", "disk_mb",
	                                                          "pids"};

	return names[resource];
}

double sandbox_resource_get(const struct sandbox_resources *r, unsigned resource)
{
	return resource == 0 ? r->cpu : (double)whole_get(r, &bounds[resource - 1]);
}

struct sandbox_resources sandbox_resources_resolve(const struct sandbox_resources *layers,
                                                   unsigned count,
                                                   const struct sandbox_resources *cap)
{
	struct sandbox_resources resolved = {0};

	for (unsigned i = count; i-- > 0;) {
		if (layers[i].cpu > 0)
			resolved.cpu = layers[i].cpu;
		for (size_t b = 0; b < COUNT_OF(bounds); b++)
			if (whole_get(&layers[i], &bounds[b]) > 0)
				whole_set(&resolved, &bounds[b], whole_get(&layers[i], &bounds[b]));
	}
	if (cap->cpu > 0 && resolved.cpu > cap->cpu)
		resolved.cpu = cap->cpu;
	for (size_t b = 0; b < COUNT_OF(bounds); b++) {
		int64_t most = whole_get(cap, &bounds[b]);

		if (most > 0 && whole_get(&resolved, &bounds[b]) > most)
			whole_set(&resolved, &bounds[b], most);
	}
	return resolved;
}

int sandbox_resources_check(const struct sandbox_resources *r, struct error *err)
{
	/* This form also refuses NaN. */
	if (!(r->cpu == 0 || (r->cpu >= CPU_MIN && r->cpu <= CPU_MAX)))
		return FAIL(err, ERROR_INVALID, "cpu must be from %g to %g", CPU_MIN, CPU_MAX);
	for (size_t b = 0; b < COUNT_OF(bounds); b++) {
		int64_t value = whole_get(r, &bounds[b]);

		if (value != 0 && (value < bounds[b].min || value > bounds[b].max))
			return FAIL(err, ERROR_INVALID, "%s must be from %lld to %lld%s",
			            bounds[b].name, (long long)bounds[b].min,
			            (long long)bounds[b].max, bounds[b].unit);
	}
	return 0;
}

int sandbox_resources_within(const struct sandbox_resources *r,
                             const struct sandbox_resources *most, struct error *err)
{
	if (most->cpu > 0 && r->cpu > most->cpu)
		return FAIL(err, ERROR_INVALID, "cpu: at most %g", most->cpu);
	for (size_t b = 0; b < COUNT_OF(bounds); b++) {
		int64_t value = whole_get(r, &bounds[b]), limit = whole_get(most, &bounds[b]);

		if (limit > 0 && value > limit)
			return FAIL(err, ERROR_INVALID, "%s: at most %lld%s", bounds[b].name,
			            (long long)limit, bounds[b].unit);
	}
	return 0;
}
