/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/server/check.h"

#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"
#include "broker/layers/folder.h"
#include "broker/sandbox/probe.h"
#include "broker/sandbox/review.h"
#include "broker/volume/mount.h"
#include "sandbox/egress.h"
#include "wire/agent.h"
#include "wire/agent_warm.h"
#include "wire/broker_kind.h"
#include "wire/broker_messages.h"

#define NAME_MAX_SIZE 63
#define SOURCE_MAX 512
#define CPU_MILLI_MAX (1024 * 1000)
#define MEMORY_MIN (UINT64_C(16) << 20)
#define MEMORY_MAX (UINT64_C(64) << 40)
#define DISK_MAX (UINT64_C(1) << 50)
#define PIDS_MIN 8
#define PIDS_MAX (1 << 22)
#define GRACE_MAX_MS 600000
#define POOL_MAX 1024

static bool is_made_of(const char *text, const char *allowed)
{
	return text[strspn(text, allowed)] == '\0';
}

int check_hostname(const char *name, struct error *err)
{
	size_t size = strlen(name);

	if (size == 0 || size > NAME_MAX_SIZE || name[0] == '-' || name[size - 1] == '-' ||
	    !is_made_of(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"))
		return FAIL(err, ERROR_INVALID, "'%.70s' is not a host name", name);
	return 0;
}

int check_sandbox_id(const char *id, struct error *err)
{
	return id_is_valid(id) ? 0 : FAIL(err, ERROR_INVALID, "'%.70s' is not a sandbox id", id);
}

int check_id(const void *request, struct error *err)
{
	const struct broker_id *r = request;

	if (r->grace_ms > GRACE_MAX_MS)
		return FAIL(err, ERROR_INVALID, "grace is longer than %d ms", GRACE_MAX_MS);
	return check_sandbox_id(r->sandbox, err);
}

int check_list(const void *request, struct error *err)
{
	const struct broker_id *r = request;

	return *r->sandbox ? check_sandbox_id(r->sandbox, err) : 0;
}

int check_hello(const void *request, struct error *err)
{
	const struct broker_hello *r = request;

	if (r->protocol != BROKER_PROTOCOL)
		return FAIL(err, ERROR_INVALID,
		            "protocol %u is not %d: atolld and the broker are of "
		            "different versions",
		            r->protocol, BROKER_PROTOCOL);
	return 0;
}

struct number_range {
	const char *name;
	uint64_t value, min, max;
};

static int check_ranges(const struct number_range *rows, unsigned count, struct error *err)
{
	for (unsigned i = 0; i < count; i++)
		if (rows[i].value < rows[i].min || rows[i].value > rows[i].max)
			return FAIL(err, ERROR_INVALID, "%s %llu is not in %llu..%llu",
			            rows[i].name, (unsigned long long)rows[i].value,
			            (unsigned long long)rows[i].min,
			            (unsigned long long)rows[i].max);
	return 0;
}

static int check_numbers(const struct broker_create *r, struct error *err)
{
	const struct number_range rows[] = {
	        {"cpu_milli", r->cpu_milli, 1, CPU_MILLI_MAX},
	        {"memory_bytes", r->memory_bytes, MEMORY_MIN, MEMORY_MAX},
	        {"disk_bytes", r->disk_bytes, 0, DISK_MAX},
	        {"pids", r->pids, PIDS_MIN, PIDS_MAX},
	        {"kind", r->kind, 0, BROKER_KIND_COUNT - 1},
	        {"network", r->network, 0, 1},
	        {"privileges", r->privileges, 0, 1},
	        {"background", r->background, 0, 1},
	        {"has_kvm", r->has_kvm, 0, 1},
	};

	return check_ranges(rows, COUNT_OF(rows), err);
}

int check_limit(const void *request, struct error *err)
{
	const struct broker_limit *r = request;
	const struct number_range rows[] = {
	        {"cpu_milli", r->cpu_milli, 1, CPU_MILLI_MAX},
	        {"memory_bytes", r->memory_bytes, MEMORY_MIN, MEMORY_MAX},
	        {"pids", r->pids, PIDS_MIN, PIDS_MAX},
	};

	if (check_ranges(rows, COUNT_OF(rows), err) < 0)
		return -1;
	return check_sandbox_id(r->sandbox, err);
}

static int check_volumes(const struct broker_create *r, struct error *err)
{
	struct sandbox_mount mounts[SANDBOX_MOUNTS_MAX];
	struct mounted_volume parsed[SANDBOX_MOUNTS_MAX];
	size_t count = 0;

	for (; r->volumes && r->volumes[count]; count++) {
		if (count == SANDBOX_MOUNTS_MAX)
			return FAIL(err, ERROR_INVALID, "more than %d volumes", SANDBOX_MOUNTS_MAX);
		if (volume_mount_parse(r->volumes[count], &parsed[count], err) < 0)
			return -1;
		mounts[count] =
		        (struct sandbox_mount){parsed[count].id, parsed[count].path,
		                               parsed[count].is_read_only, parsed[count].subpath};
	}
	if (count > 0 && !broker_kind_is_isolated(r->kind))
		return FAIL(err, ERROR_UNSUPPORTED, "a sandbox without isolation has no volumes");
	return sandbox_mounts_check(mounts, count, err);
}

static int check_review(const struct broker_create *r, struct error *err)
{
	struct layer_review ignored;

	if (!r->review || !*r->review)
		return 0;
	if (!broker_kind_is_isolated(r->kind))
		return FAIL(err, ERROR_UNSUPPORTED, "a sandbox without isolation has no layers");
	if (*r->snapshot)
		return FAIL(err, ERROR_INVALID, "a review begins with a template alone");
	return review_parse(r->review, &ignored, err);
}

/* An id and a number of the caller's choice, or NULL. */
static int check_warm_name(const char *name, struct error *err)
{
	if (name && (strlen(name) > NAME_MAX_SIZE ||
	             !is_made_of(name, "abcdefghijklmnopqrstuvwxyz0123456789:")))
		return FAIL(err, ERROR_INVALID, "'%.70s' names no warm interpreter", name);
	return 0;
}

static int check_rules(const char *egress, struct error *err)
{
	struct egress_ranges ignored;

	return egress && *egress ? sandbox_egress_denied(egress, &ignored, err) : 0;
}

int check_egress(const void *request, struct error *err)
{
	const struct broker_egress *r = request;

	return check_sandbox_id(r->sandbox, err) < 0 ? -1 : check_rules(r->egress, err);
}

int check_probe(const void *request, struct error *err)
{
	const struct broker_probe *r = request;
	const struct number_range rows[] = {{"kind", r->kind, 0, BROKER_KIND_COUNT - 1},
	                                    {"network", r->network, 0, 1}};

	return check_ranges(rows, COUNT_OF(rows), err) < 0 ? -1 : check_rules(r->egress, err);
}

int check_create(const void *request, struct error *err)
{
	const struct broker_create *r = request;

	if (probe_is_id(r->sandbox))
		return FAIL(err, ERROR_INVALID, "'%.70s' is reserved: the id of a probe",
		            r->sandbox);
	if (check_sandbox_id(r->sandbox, err) < 0 || check_hostname(r->hostname, err) < 0 ||
	    check_numbers(r, err) < 0 || check_volumes(r, err) < 0 || check_review(r, err) < 0)
		return -1;
	if (*r->snapshot && !broker_kind_is_isolated(r->kind))
		return FAIL(err, ERROR_INVALID, "a sandbox without isolation has no snapshots");
	if (*r->snapshot && !id_is_valid(r->snapshot))
		return FAIL(err, ERROR_INVALID, "'%.70s' is not a snapshot's id", r->snapshot);
	/* The owner becomes a word of a line. */
	if (r->owner && *r->owner && !id_is_valid(r->owner))
		return FAIL(err, ERROR_INVALID, "'%.70s' is not an owner's id", r->owner);
	/* The host provider has no root filesystem of its own. */
	if (check_warm_name(r->warm, err) < 0 || check_rules(r->egress, err) < 0)
		return -1;
	/* The device is for QEMU of the host, not for a program of a template. */
	if (r->has_kvm && (r->kind != BROKER_NATIVE || strcmp(r->template_name, "host") != 0))
		return FAIL(err, ERROR_INVALID,
		            "only a sandbox of the template 'host' can have /dev/kvm");
	if (r->egress && *r->egress && !broker_kind_is_isolated(r->kind))
		return FAIL(err, ERROR_UNSUPPORTED,
		            "a sandbox without isolation has no network rules");
	return broker_kind_is_isolated(r->kind) ? check_template_name(r->template_name, err) : 0;
}

static int check_wish(const struct broker_pool *r, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct span rest = r->warm_wish, payload;
	struct agent_warm ignored;
	uint16_t type;

	if ((r->warm && *r->warm) != (r->warm_wish.size > 0))
		return FAIL(err, ERROR_INVALID, "a warm interpreter has a name and a wish");
	if (r->warm_wish.size == 0)
		return 0;
	while (rest.size > 0) {
		if (wire_next(&rest, &type, &payload, NULL, err) <= 0 || type != AGENT_WARM)
			return FAIL(err, ERROR_INVALID, "a warm interpreter's wish is none");
		if (wire_decode(&a, payload, agent_warm_shape, &ignored, sizeof(ignored), err) < 0)
			return -1;
	}
	return 0;
}

int check_pool(const void *request, struct error *err)
{
	const struct broker_pool *r = request;
	const struct number_range rows[] = {
	        {"cpu_milli", r->cpu_milli, 1, CPU_MILLI_MAX},
	        {"memory_bytes", r->memory_bytes, MEMORY_MIN, MEMORY_MAX},
	        {"disk_bytes", r->disk_bytes, 0, DISK_MAX},
	        {"pids", r->pids, PIDS_MIN, PIDS_MAX},
	        {"network", r->network, 0, 1},
	        {"privileges", r->privileges, 0, 1},
	        {"max", r->max, 0, POOL_MAX},
	        {"target", r->target, 0, r->max},
	        {"min", r->min, 0, r->target},
	};

	if (!id_is_valid(r->name))
		return FAIL(err, ERROR_INVALID, "'%.70s' is not a pool's name", r->name);
	/* A request that ends a pool need not describe it. */
	if (r->max == 0)
		return 0;
	if (check_ranges(rows, COUNT_OF(rows), err) < 0)
		return -1;
	if (*r->snapshot && !id_is_valid(r->snapshot))
		return FAIL(err, ERROR_INVALID, "'%.70s' is not a snapshot's id", r->snapshot);
	if (check_warm_name(r->warm, err) < 0 || check_wish(r, err) < 0)
		return -1;
	return check_template_name(r->template_name, err);
}

static int check_attachment(const struct broker_volume *r, struct error *err)
{
	struct mounted_volume mount;

	if (!id_is_valid(r->sandbox))
		return FAIL(err, ERROR_INVALID, "'%.70s' is not a sandbox's id", r->sandbox);
	if (volume_mount_parse(r->mount, &mount, err) < 0)
		return -1;
	return strcmp(mount.id, r->volume) == 0
	               ? 0
	               : FAIL(err, ERROR_INVALID, "the mount is of another volume");
}

int check_volume(const void *request, struct error *err)
{
	const struct broker_volume *r = request;

	if (!id_is_valid(r->volume))
		return FAIL(err, ERROR_INVALID, "'%.70s' is not a volume's id", r->volume);
	if (r->verb >= BROKER_VOLUME_VERB_COUNT)
		return FAIL(err, ERROR_INVALID, "volume verb %u is unknown", r->verb);
	if (r->verb == BROKER_VOLUME_ATTACH || r->verb == BROKER_VOLUME_DETACH)
		return check_attachment(r, err);
	if (r->size_bytes > DISK_MAX)
		return FAIL(err, ERROR_INVALID, "a volume has at most %llu bytes",
		            (unsigned long long)DISK_MAX);
	return 0;
}

int check_measure(const void *request, struct error *err)
{
	const struct broker_measure *r = request;

	if (!id_is_valid(r->id))
		return FAIL(err, ERROR_INVALID, "'%.70s' is not an id", r->id);
	return r->kind < BROKER_MEASURE_KIND_COUNT
	               ? 0
	               : FAIL(err, ERROR_INVALID, "there is no kind %u to measure", r->kind);
}

int check_trash(const void *request, struct error *err)
{
	const struct broker_trash *r = request;

	if (r->verb >= BROKER_TRASH_VERB_COUNT)
		return FAIL(err, ERROR_INVALID, "the trash knows no verb %u", r->verb);
	if (r->verb == BROKER_TRASH_LIST)
		return *r->id ? FAIL(err, ERROR_INVALID, "a list of the trash is of all of it") : 0;
	if (!id_is_valid(r->id))
		return FAIL(err, ERROR_INVALID, "'%.70s' is not an id", r->id);
	if (r->kind >= BROKER_TRASH_KIND_COUNT || r->reason >= BROKER_TRASH_REASON_COUNT ||
	    (r->verb == BROKER_TRASH_PUT && r->kind == BROKER_TRASH_LAYER))
		return FAIL(err, ERROR_INVALID, "kind %u, reason %u: not for the trash", r->kind,
		            r->reason);
	if (r->keep_s > BROKER_TRASH_KEEP_MAX_S)
		return FAIL(err, ERROR_INVALID, "nothing is kept in the trash for ten years");
	return 0;
}

static int check_recipe(const struct broker_template *r, struct error *err)
{
	static const char *const builds[] = {"minimal", "base", "python", "node",
	                                     "data",    "web",  "browser"};
	static const char *const imports[] = {"tar", "oci", "docker-archive", "registry", "backup"};
	bool build = r->verb == BROKER_TEMPLATE_BUILD;
	const char *const *list = build ? builds : imports;
	unsigned count = build ? COUNT_OF(builds) : COUNT_OF(imports);

	for (unsigned i = 0; i < count; i++)
		if (strcmp(r->recipe, list[i]) == 0)
			return 0;
	return FAIL(err, ERROR_INVALID, "'%.40s' is not a recipe to %s a template", r->recipe,
	            build ? "build" : "import");
}

/* The source becomes an argument of a program: nothing that looks like an option, no blanks. */
static int check_source(const char *source, struct error *err)
{
	if (strlen(source) > SOURCE_MAX || source[0] == '-' ||
	    !is_made_of(source, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	                        "._-/:@+"))
		return FAIL(err, ERROR_INVALID, "'%.70s' is not an image reference", source);
	return 0;
}

static int check_digest(const char *digest, struct error *err)
{
	if (!digest || !*digest || text_is_sha256(digest))
		return 0;
	return FAIL(err, ERROR_INVALID, "'%.80s' is no digest", digest);
}

int check_template(const void *request, struct error *err)
{
	const struct broker_template *r = request;

	if (check_template_name(r->name, err) < 0)
		return -1;
	if (strcmp(r->name, "host") == 0)
		return FAIL(err, ERROR_INVALID, "template 'host' is the machine's own");
	if (r->verb > BROKER_TEMPLATE_REMOVE)
		return FAIL(err, ERROR_INVALID, "template verb %u is unknown", r->verb);
	if (r->verb == BROKER_TEMPLATE_REMOVE)
		return 0;
	if (r->size_max > DISK_MAX)
		return FAIL(err, ERROR_INVALID, "a template has at most %llu bytes",
		            (unsigned long long)DISK_MAX);
	if (check_recipe(r, err) < 0 || check_digest(r->known_digest, err) < 0)
		return -1;
	return check_source(r->source, err);
}

int check_snapshot_id(const void *request, struct error *err)
{
	const struct broker_snapshot *r = request;

	return id_is_valid(r->snapshot)
	               ? 0
	               : FAIL(err, ERROR_INVALID, "'%.70s' is not a snapshot's id", r->snapshot);
}

int check_restore(const void *request, struct error *err)
{
	const struct broker_snapshot *r = request;

	if (check_sandbox_id(r->sandbox, err) < 0)
		return -1;
	return *r->snapshot ? check_snapshot_id(request, err) : 0;
}

int check_snapshot(const void *request, struct error *err)
{
	const struct broker_snapshot *r = request;

	if (check_sandbox_id(r->sandbox, err) < 0)
		return -1;
	return check_snapshot_id(request, err);
}

int check_backup(const void *request, struct error *err)
{
	const struct broker_backup *r = request;

	if (r->verb > BROKER_BACKUP_VERIFY)
		return FAIL(err, ERROR_INVALID, "backup verb %u does not exist", r->verb);
	if (r->size_max < 1 || r->size_max > DISK_MAX)
		return FAIL(err, ERROR_INVALID, "a backup of %llu bytes",
		            (unsigned long long)r->size_max);
	if (*r->template_name && check_template_name(r->template_name, err) < 0)
		return -1;
	if (r->verb == BROKER_BACKUP_EXPORT && !*r->template_name)
		return FAIL(err, ERROR_INVALID, "an export names its template");
	if (r->full > (r->verb == BROKER_BACKUP_EXPORT))
		return FAIL(err, ERROR_INVALID, "only an export is full, or not");
	if (r->verb == BROKER_BACKUP_VERIFY && !*r->snapshot)
		return 0;
	return check_sandbox_id(r->snapshot, err);
}
