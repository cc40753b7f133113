/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/sealed_store.h"

#include "audit/log/log.h"
#include "base/bytes.h"
#include "base/log.h"
#include "config/config.h"
#include "daemon/data.h"
#include "daemon/first_key.h"
#include "seal/seal.h"
#include "store/addresses.h"
#include "store/database.h"
#include "store/secrets.h"

/* Seals what an earlier version wrote in plain, and what a rotation that was killed has left. */
static int open_seal(const struct sealed_store_options *o, struct sealed_store *s,
                     struct error *err)
{
	const char *path = o->config->secret_key_file;
	uint64_t resealed, shut;

	if (!*path)
		path = arena_format(o->arena, "%s/keys/secret.key", o->config->data_dir);
	if (seal_open(path, &s->seal, err) < 0)
		return -1;
	store_seal(s->store, s->seal);
	if (store_secrets_reseal(s->store, &resealed, &shut, err) < 0)
		return -1;
	if (resealed + shut > 0)
		log_info("values are sealed", NUMBER("resealed", resealed), NUMBER("shut", shut));
	return 0;
}

/* Of older versions. Each start tells what stays because it would collide. */
static int lower_addresses(struct store *store, struct error *err)
{
	AUTO(arena_done) struct arena arena = {0};
	struct address_list kept;
	int64_t lowered;

	if (store_addresses_lower(store, &arena, &kept, &lowered, err) < 0)
		return -1;
	if (lowered > 0)
		log_info("addresses of users are in lower case now",
		         NUMBER("addresses", (uint64_t)lowered));
	for (size_t i = 0; i < kept.count; i++)
		log_warning("an address stays in upper case, because the same exists in another "
		            "spelling: see docs/operate/accounts.md",
		            TEXT("kind", kept.items[i].kind), TEXT("id", kept.items[i].place),
		            TEXT("address", kept.items[i].address));
	return 0;
}

int sealed_store_open(const struct sealed_store_options *options, struct sealed_store *ret,
                      struct error *err)
{
	const char *dsn = options->config->store;
	AUTO_CLOSE int own_key_fd = -1;
	int key_fd = options->key_fd;

	if (!*dsn)
		dsn = arena_format(options->arena, "sqlite:%s/store/atoll.db",
		                   options->config->data_dir);
	if (store_open(dsn, &ret->store, err) < 0 || open_seal(options, ret, err) < 0 ||
	    lower_addresses(ret->store, err) < 0)
		return -1;
	if (key_fd < 0) {
		if (data_key_open(options->data, &own_key_fd, err) < 0)
			return -1;
		key_fd = own_key_fd;
	}
	return first_key_register(ret->store, key_fd, err);
}

int sealed_store_open_audit(struct sealed_store *s, struct arena *a, const struct config *config,
                            const char *node, struct error *err)
{
	const struct audit_log_options options = {
	        .store = s->store,
	        .folder = arena_format(a, "%s/audit", config->data_dir),
	        .node = node,
	        .version = ATOLL_VERSION,
	        .keep_ms = config->audit_keep_ms,
	        .rows_max = config->audit_max,
	};

	return audit_log_open(&options, &s->audit, err);
}

void sealed_store_close(struct sealed_store *s)
{
	audit_log_close(s->audit);
	store_close(s->store);
	seal_close(s->seal);
}
