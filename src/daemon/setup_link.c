/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the operator how the first person signs in. */
#include <string.h>

#include "base/bytes.h"
#include "base/log.h"
#include "config/config.h"
#include "daemon/server.h"
#include "sign_in/sign_in.h"
#include "store/users.h"

/* A browser reaches a server that listens everywhere by this machine's own address. */
static const char *make_reachable(struct arena *a, const char *listen)
{
	static const char *const anywhere[] = {"http://0.0.0.0:", "http://[::]:"};

	for (size_t i = 0; i < COUNT_OF(anywhere); i++)
		if (strncmp(listen, anywhere[i], strlen(anywhere[i])) == 0)
			return arena_format(a, "http://127.0.0.1:%s", listen + strlen(anywhere[i]));
	return listen;
}

static int tell_link(const struct config *config, struct store *store, const char *listen,
                     struct error *err)
{
	AUTO(arena_done) struct arena a = {.blocks = NULL};
	struct sign_in_token token;
	int64_t users, expires_at;

	if (store_user_count(store, &users, err) < 0)
		return -1;
	if (users > 0)
		return 0;
	if (sign_in_make_setup(store, &token, &expires_at, err) < 0)
		return -1;
	log_info("no user exists: this link makes the first, once",
	         TEXT("open", sign_in_setup_link(&a,
	                                         config->public_url[0] ? config->public_url
	                                                               : make_reachable(&a, listen),
	                                         &token)));
	return 0;
}

void setup_link_tell(const struct config *config, struct store *store, const char *listen)
{
	struct error err = {.code = ERROR_NONE};

	if (tell_link(config, store, listen, &err) < 0)
		log_warning("no link for the first user; 'atoll console' makes one", FAILURE(&err));
}
