/* SPDX-License-Identifier: Apache-2.0 */
#include "http/names.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* Asked for again after so long, by the next who wants it; used for no longer than that. */
#define FRESH_MS 30000
#define STALE_MS ((int64_t)10 * 60 * 1000)
/* What is not found is not asked for again at once. */
#define FAILED_MS 2000
#define NAMES_MAX 64

struct host_entry {
	char host[NAMES_HOST_MAX + 1]; /* "": free */
	struct names_found found;
	int64_t found_at, asked_at, used_at; /* 0: never */
	struct error failure;                /* of the last look-up; ERROR_NONE: it was found */
	unsigned waiting;
	bool is_wanted;
};

struct host_lookup {
	names_lookup *lookup;
	pthread_mutex_t mutex; /* over all below */
	pthread_cond_t wanted, answered;
	pthread_t thread;
	bool has_thread, is_asking, is_closing;
	bool is_abandoned; /* closed while the thread asked: it frees this */
	struct host_entry names[NAMES_MAX];
};

/* ---- the system ---- */

static int ask_system(const char *host, struct names_found *ret, struct error *err)
{
	const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct addrinfo *list;
	int result = getaddrinfo(host, NULL, &hints, &list);

	if (result != 0)
		return FAIL(err, ERROR_UNAVAILABLE, "find '%s': %s", host, gai_strerror(result));
	ret->count = 0;
	for (const struct addrinfo *at = list; at && ret->count < NAMES_ADDRESSES_MAX;
	     at = at->ai_next) {
		struct names_address *address = &ret->items[ret->count];

		if (at->ai_addrlen > sizeof(address->at))
			continue;
		memcpy(&address->at, at->ai_addr, at->ai_addrlen);
		address->size = at->ai_addrlen;
		ret->count++;
	}
	freeaddrinfo(list);
	if (ret->count == 0)
		return FAIL(err, ERROR_UNAVAILABLE, "'%s' has no address", host);
	return 0;
}

static bool is_address(const char *host, struct names_found *ret)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
	struct names_address *address = &ret->items[0];

	if (inet_pton(AF_INET, host, &v4.sin_addr) == 1) {
		memcpy(&address->at, &v4, sizeof(v4));
		address->size = sizeof(v4);
	} else if (inet_pton(AF_INET6, host, &v6.sin6_addr) == 1) {
		memcpy(&address->at, &v6, sizeof(v6));
		address->size = sizeof(v6);
	} else {
		return false;
	}
	ret->count = 1;
	return true;
}

/* ---- the thread ---- */

static void names_destroy(struct host_lookup *names)
{
	(void)pthread_mutex_destroy(&names->mutex);
	(void)pthread_cond_destroy(&names->wanted);
	(void)pthread_cond_destroy(&names->answered);
	free(names);
}

static struct host_entry *first_wanted(struct host_lookup *names)
{
	for (size_t i = 0; i < NAMES_MAX; i++)
		if (names->names[i].is_wanted)
			return &names->names[i];
	return NULL;
}

/* Others keep their order, but for the one that was first. */
static void put_first(struct names_found *found, const struct names_address *address)
{
	for (unsigned i = 1; i < found->count; i++) {
		struct names_address first = found->items[0];

		if (found->items[i].size != address->size ||
		    memcmp(&found->items[i].at, &address->at, address->size) != 0)
			continue;
		found->items[0] = found->items[i];
		found->items[i] = first;
	}
}

/* A name that is wanted is given up by nobody, so it is the same one before and after. */
static void look_up_host(struct host_lookup *names, struct host_entry *name)
{
	struct names_found found = {.count = 0};
	struct error err = {0};
	int result;

	names->is_asking = true;
	(void)pthread_mutex_unlock(&names->mutex);
	result = names->lookup(name->host, &found, &err);
	(void)pthread_mutex_lock(&names->mutex);
	names->is_asking = false;
	name->asked_at = clock_monotonic_ms();
	name->is_wanted = false;
	name->failure = err;
	if (result == 0) {
		put_first(&found, &name->found.items[0]);
		name->found = found;
		name->found_at = name->asked_at;
		name->failure.code = ERROR_NONE;
	}
	(void)pthread_cond_broadcast(&names->answered);
}

static void *run_lookup_thread(void *context)
{
	struct host_lookup *names = context;
	struct host_entry *name;
	bool is_ours;

	(void)pthread_mutex_lock(&names->mutex);
	while (!names->is_closing) {
		name = first_wanted(names);
		if (name)
			look_up_host(names, name);
		else
			(void)pthread_cond_wait(&names->wanted, &names->mutex);
	}
	is_ours = names->is_abandoned;
	(void)pthread_mutex_unlock(&names->mutex);
	if (is_ours)
		names_destroy(names);
	return NULL;
}

/* ---- for everybody ---- */

struct host_lookup *names_new(names_lookup *lookup)
{
	struct host_lookup *names = calloc(1, sizeof(*names));

	if (!names)
		abort();
	names->lookup = lookup ? lookup : ask_system;
	(void)pthread_mutex_init(&names->mutex, NULL);
	(void)pthread_cond_init(&names->wanted, NULL);
	(void)pthread_cond_init(&names->answered, NULL);
	return names;
}

void names_free(struct host_lookup *names)
{
	bool is_asking;

	if (!names)
		return;
	(void)pthread_mutex_lock(&names->mutex);
	names->is_closing = true;
	names->is_abandoned = is_asking = names->is_asking;
	if (is_asking)
		(void)pthread_detach(names->thread);
	(void)pthread_cond_signal(&names->wanted);
	(void)pthread_mutex_unlock(&names->mutex);
	if (is_asking)
		return;
	if (names->has_thread)
		(void)pthread_join(names->thread, NULL);
	names_destroy(names);
}

/* The name's place, or one that is free, or that of the one that nobody has asked for for longest.
 * NULL: all are waited for. */
static struct host_entry *take_place(struct host_lookup *names, const char *host)
{
	struct host_entry *oldest = NULL;

	for (size_t i = 0; i < NAMES_MAX; i++) {
		struct host_entry *name = &names->names[i];

		if (strcmp(name->host, host) == 0)
			return name;
		if (!name->is_wanted && !name->waiting &&
		    (!oldest || name->used_at < oldest->used_at))
			oldest = name;
	}
	if (oldest) {
		*oldest = (struct host_entry){.used_at = 0};
		memcpy(oldest->host, host, strlen(host) + 1);
	}
	return oldest;
}

static int request_lookup(struct host_lookup *names, struct host_entry *name, struct error *err)
{
	int result;

	if (!names->has_thread) {
		result = pthread_create(&names->thread, NULL, run_lookup_thread, names);
		if (result != 0) {
			errno = result;
			return FAIL_ERRNO(err, "start the thread that looks up names");
		}
		names->has_thread = true;
	}
	name->is_wanted = true;
	(void)pthread_cond_signal(&names->wanted);
	return 0;
}

static bool is_known(const struct host_entry *name)
{
	return name->found_at && clock_monotonic_ms() - name->found_at < STALE_MS;
}

static bool is_due(const struct host_entry *name)
{
	int64_t pause = name->failure.code == ERROR_NONE ? FRESH_MS : FAILED_MS;

	return !name->is_wanted &&
	       (!name->asked_at || clock_monotonic_ms() - name->asked_at >= pause);
}

static void wait_for_lookup(struct host_lookup *names, struct host_entry *name, int64_t deadline)
{
	const struct timespec until = deadline_wall_time(deadline);
	int waited = 0;

	name->waiting++;
	while (waited == 0 && name->is_wanted && !is_known(name))
		waited = pthread_cond_timedwait(&names->answered, &names->mutex, &until);
	name->waiting--;
}

/* The caller holds the mutex. */
static int find_addresses(struct host_lookup *names, const char *host, int64_t deadline,
                          struct names_found *ret, struct error *err)
{
	struct host_entry *name = take_place(names, host);

	if (!name)
		return FAIL(err, ERROR_UNAVAILABLE, "too many names are looked up");
	name->used_at = clock_monotonic_ms();
	if (is_due(name) && request_lookup(names, name, err) < 0)
		return -1;
	wait_for_lookup(names, name, deadline);
	if (is_known(name)) {
		*ret = name->found;
		return 0;
	}
	if (name->is_wanted)
		return FAIL(err, ERROR_TIMEOUT, "the address of '%s' is not known yet", host);
	*err = name->failure;
	return -1;
}

int names_find(struct host_lookup *names, const char *host, int64_t deadline,
               struct names_found *ret, struct error *err)
{
	int result;

	if (strlen(host) > NAMES_HOST_MAX || !host[0])
		return FAIL(err, ERROR_INVALID, "'%.100s' is no name of a server", host);
	if (is_address(host, ret))
		return 0;
	(void)pthread_mutex_lock(&names->mutex);
	result = find_addresses(names, host, deadline, ret, err);
	(void)pthread_mutex_unlock(&names->mutex);
	return result;
}

void names_prefer(struct host_lookup *names, const char *host, const struct names_address *address)
{
	(void)pthread_mutex_lock(&names->mutex);
	for (size_t i = 0; i < NAMES_MAX; i++)
		if (strcmp(names->names[i].host, host) == 0)
			put_first(&names->names[i].found, address);
	(void)pthread_mutex_unlock(&names->mutex);
}
