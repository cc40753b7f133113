/* SPDX-License-Identifier: Apache-2.0 */
#include "http/client/host_lookup.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* FRESH_MS: age after which the next caller refreshes an entry. STALE_MS: age up to which it is
 * used. */
#define FRESH_MS 30000
#define STALE_MS ((int64_t)10 * 60 * 1000)
/* Pause before a failed lookup is repeated. */
#define FAILED_MS 2000
#define ENTRIES_MAX 64

struct host_entry {
	char host[HOST_NAME_SIZE_MAX + 1]; /* "": free */
	struct host_addresses found;
	int64_t found_at, asked_at, used_at; /* 0: never */
	struct error failure;                /* error of the last lookup; ERROR_NONE: success */
	unsigned waiting;
	bool is_wanted;
};

struct host_lookup {
	host_lookup_call *resolve;
	pthread_mutex_t mutex; /* over all below */
	pthread_cond_t wanted, answered;
	pthread_t thread;
	bool has_thread, is_asking, is_closing;
	bool is_abandoned; /* freed during a lookup: the thread frees this struct */
	struct host_entry entries[ENTRIES_MAX];
};

static int resolve_by_system(const char *host, struct host_addresses *ret, struct error *err)
{
	const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct addrinfo *list;
	int result = getaddrinfo(host, NULL, &hints, &list);

	if (result != 0)
		return FAIL(err, ERROR_UNAVAILABLE, "find '%s': %s", host, gai_strerror(result));
	ret->count = 0;
	for (const struct addrinfo *at = list; at && ret->count < HOST_ADDRESSES_MAX;
	     at = at->ai_next) {
		struct host_address *address = &ret->items[ret->count];

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

bool host_address_parse(const char *host, struct host_address *ret)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};

	if (inet_pton(AF_INET, host, &v4.sin_addr) == 1) {
		memcpy(&ret->at, &v4, sizeof(v4));
		ret->size = sizeof(v4);
	} else if (inet_pton(AF_INET6, host, &v6.sin6_addr) == 1) {
		memcpy(&ret->at, &v6, sizeof(v6));
		ret->size = sizeof(v6);
	} else {
		return false;
	}
	return true;
}

static void destroy_lookup(struct host_lookup *lookup)
{
	(void)pthread_mutex_destroy(&lookup->mutex);
	(void)pthread_cond_destroy(&lookup->wanted);
	(void)pthread_cond_destroy(&lookup->answered);
	free(lookup);
}

static struct host_entry *first_wanted(struct host_lookup *lookup)
{
	for (size_t i = 0; i < ENTRIES_MAX; i++)
		if (lookup->entries[i].is_wanted)
			return &lookup->entries[i];
	return NULL;
}

/* Swaps the address to the front. */
static void put_first(struct host_addresses *found, const struct host_address *address)
{
	for (unsigned i = 1; i < found->count; i++) {
		struct host_address first = found->items[0];

		if (found->items[i].size != address->size ||
		    memcmp(&found->items[i].at, &address->at, address->size) != 0)
			continue;
		found->items[0] = found->items[i];
		found->items[i] = first;
	}
}

/* The entry cannot be reused during the lookup, because is_wanted is set. */
static void look_up_host(struct host_lookup *lookup, struct host_entry *entry)
{
	struct host_addresses found = {.count = 0};
	struct error err = {0};
	int result;

	lookup->is_asking = true;
	(void)pthread_mutex_unlock(&lookup->mutex);
	result = lookup->resolve(entry->host, &found, &err);
	(void)pthread_mutex_lock(&lookup->mutex);
	lookup->is_asking = false;
	entry->asked_at = clock_monotonic_ms();
	entry->is_wanted = false;
	entry->failure = err;
	if (result == 0) {
		put_first(&found, &entry->found.items[0]);
		entry->found = found;
		entry->found_at = entry->asked_at;
		entry->failure.code = ERROR_NONE;
	}
	(void)pthread_cond_broadcast(&lookup->answered);
}

static void *run_lookup_thread(void *context)
{
	struct host_lookup *lookup = context;
	struct host_entry *entry;
	bool is_ours;

	(void)pthread_mutex_lock(&lookup->mutex);
	while (!lookup->is_closing) {
		entry = first_wanted(lookup);
		if (entry)
			look_up_host(lookup, entry);
		else
			(void)pthread_cond_wait(&lookup->wanted, &lookup->mutex);
	}
	is_ours = lookup->is_abandoned;
	(void)pthread_mutex_unlock(&lookup->mutex);
	if (is_ours)
		destroy_lookup(lookup);
	return NULL;
}

struct host_lookup *host_lookup_new(host_lookup_call *resolve)
{
	struct host_lookup *lookup = memory_new(sizeof(*lookup));

	lookup->resolve = resolve ? resolve : resolve_by_system;
	(void)pthread_mutex_init(&lookup->mutex, NULL);
	(void)pthread_cond_init(&lookup->wanted, NULL);
	(void)pthread_cond_init(&lookup->answered, NULL);
	return lookup;
}

void host_lookup_free(struct host_lookup *lookup)
{
	bool is_asking;

	if (!lookup)
		return;
	(void)pthread_mutex_lock(&lookup->mutex);
	lookup->is_closing = true;
	lookup->is_abandoned = is_asking = lookup->is_asking;
	if (is_asking)
		(void)pthread_detach(lookup->thread);
	(void)pthread_cond_signal(&lookup->wanted);
	(void)pthread_mutex_unlock(&lookup->mutex);
	if (is_asking)
		return;
	if (lookup->has_thread)
		(void)pthread_join(lookup->thread, NULL);
	destroy_lookup(lookup);
}

/* Returns the entry of the name, or a free one, or the least recently used one. NULL: threads wait
 * for all entries. */
static struct host_entry *take_entry(struct host_lookup *lookup, const char *host)
{
	struct host_entry *oldest = NULL;

	for (size_t i = 0; i < ENTRIES_MAX; i++) {
		struct host_entry *entry = &lookup->entries[i];

		if (strcmp(entry->host, host) == 0)
			return entry;
		if (!entry->is_wanted && !entry->waiting &&
		    (!oldest || entry->used_at < oldest->used_at))
			oldest = entry;
	}
	if (oldest) {
		*oldest = (struct host_entry){.used_at = 0};
		memcpy(oldest->host, host, strlen(host) + 1);
	}
	return oldest;
}

static int request_lookup(struct host_lookup *lookup, struct host_entry *entry, struct error *err)
{
	int result;

	if (!lookup->has_thread) {
		result = pthread_create(&lookup->thread, NULL, run_lookup_thread, lookup);
		if (result != 0) {
			errno = result;
			return FAIL_ERRNO(err, "start the thread that looks up lookup");
		}
		lookup->has_thread = true;
	}
	entry->is_wanted = true;
	(void)pthread_cond_signal(&lookup->wanted);
	return 0;
}

static bool is_known(const struct host_entry *entry)
{
	return entry->found_at && clock_monotonic_ms() - entry->found_at < STALE_MS;
}

static bool is_due(const struct host_entry *entry)
{
	int64_t pause = entry->failure.code == ERROR_NONE ? FRESH_MS : FAILED_MS;

	return !entry->is_wanted &&
	       (!entry->asked_at || clock_monotonic_ms() - entry->asked_at >= pause);
}

static void wait_for_lookup(struct host_lookup *lookup, struct host_entry *entry, int64_t deadline)
{
	const struct timespec until = deadline_wall_time(deadline);
	int waited = 0;

	entry->waiting++;
	while (waited == 0 && entry->is_wanted && !is_known(entry))
		waited = pthread_cond_timedwait(&lookup->answered, &lookup->mutex, &until);
	entry->waiting--;
}

/* The caller holds the mutex. */
static int find_addresses(struct host_lookup *lookup, const char *host, int64_t deadline,
                          struct host_addresses *ret, struct error *err)
{
	struct host_entry *entry = take_entry(lookup, host);

	if (!entry)
		return FAIL(err, ERROR_UNAVAILABLE, "too many lookup are looked up");
	entry->used_at = clock_monotonic_ms();
	if (is_due(entry) && request_lookup(lookup, entry, err) < 0)
		return -1;
	wait_for_lookup(lookup, entry, deadline);
	if (is_known(entry)) {
		*ret = entry->found;
		return 0;
	}
	if (entry->is_wanted)
		return FAIL(err, ERROR_TIMEOUT, "the address of '%s' is not known yet", host);
	*err = entry->failure;
	return -1;
}

int host_lookup_find(struct host_lookup *lookup, const char *host, int64_t deadline,
                     struct host_addresses *ret, struct error *err)
{
	int result;

	if (strlen(host) > HOST_NAME_SIZE_MAX || !host[0])
		return FAIL(err, ERROR_INVALID, "'%.100s' is no name of a server", host);
	if (host_address_parse(host, &ret->items[0])) {
		ret->count = 1;
		return 0;
	}
	(void)pthread_mutex_lock(&lookup->mutex);
	result = find_addresses(lookup, host, deadline, ret, err);
	(void)pthread_mutex_unlock(&lookup->mutex);
	return result;
}

void host_lookup_prefer(struct host_lookup *lookup, const char *host,
                        const struct host_address *address)
{
	(void)pthread_mutex_lock(&lookup->mutex);
	for (size_t i = 0; i < ENTRIES_MAX; i++)
		if (strcmp(lookup->entries[i].host, host) == 0)
			put_first(&lookup->entries[i].found, address);
	(void)pthread_mutex_unlock(&lookup->mutex);
}
