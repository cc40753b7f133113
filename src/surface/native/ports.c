/* SPDX-License-Identifier: Apache-2.0 */
/* /api/sandbox/instances/:id/ports — the TCP ports that programs in a sandbox listen on. The call
 * is passive: it is no use of the sandbox, and does not wake it. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/thread.h"
#include "edge/api.h"
#include "edge/target.h"
#include "fleet/core/waiting.h"
#include "fleet/sandbox/ports.h"
#include "json/json.h"
#include "surface/native/native.h"

#define VERSION_SIZE 16 /* hexadecimal digits */
#define HASH_START UINT64_C(14695981039346656037)
#define SEEN_COUNT 256
#define CHANGE_WAIT_MS 20000
#define CHANGE_EVERY_MS 500 /* the kernel reports no new listening port */

struct port_answer {
	int64_t port, pid, process;
	const char *address, *command;
	bool preview;
};
static const struct json_member port_shape_members[] = {
        JSON_WHOLE_MEMBER(port_answer, port),
        JSON_TEXT_MEMBER(port_answer, address,
                         .about = "address that the socket is bound to; 0.0.0.0 and :: are all"),
        JSON_WHOLE_MEMBER(port_answer, pid,
                          .about = "process id inside the sandbox of the first process that has "
                                   "the socket; 0: not found"),
        JSON_WHOLE_MEMBER(port_answer, process,
                          .about = "number of the process in …/processes that started it; 0: none"),
        JSON_TEXT_MEMBER(port_answer, command, .about = "command line, at most 1023 bytes"),
        JSON_BOOL_MEMBER(port_answer, preview,
                         .about = "a preview may show the port and reaches its address"),
};
static JSON_SHAPE(port_shape, "ListeningPort", port_answer, "A port that a program listens on");

struct port_list_answer {
	struct json_list items;
	bool truncated;
	const char *version;
};
static const struct json_member port_list_shape_members[] = {
        JSON_LIST_MEMBER(port_list_answer, items, &port_shape),
        JSON_BOOL_MEMBER(port_list_answer, truncated,
                         .about = "there are so many sockets that ports or processes are missing"),
        JSON_TEXT_MEMBER(port_list_answer, version,
                         .about = "changes with the ports; for changed_from"),
};
static JSON_SHAPE(port_list_shape, "ListeningPortList", port_list_answer,
                  "TCP ports that programs listen on, by number");

struct port_list_query {
	const char *changed_from;
};
static const struct json_member port_list_query_members[] = {
        JSON_TEXT_MEMBER(port_list_query, changed_from, .max = VERSION_SIZE,
                         .about = "a version: the answer waits until the ports differ from it, at "
                                  "most 20 s"),
};
static JSON_SHAPE(port_list_query, "ListeningPortListQuery", port_list_query, "When to answer");

/* FNV-1a: a client compares versions, and needs no protection from itself. */
static uint64_t mix_bytes(uint64_t hash, const void *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(1099511628211);
	return hash;
}

static const char *version_of_ports(struct arena *a, const struct fleet_ports *ports)
{
	uint64_t hash = HASH_START;

	for (size_t i = 0; i < ports->count; i++) {
		const struct fleet_port *port = &ports->items[i];

		hash = mix_bytes(hash, &port->port, sizeof(port->port));
		hash = mix_bytes(hash, &port->pid, sizeof(port->pid));
		hash = mix_bytes(hash, &port->has_preview, sizeof(port->has_preview));
		hash = mix_bytes(hash, port->address, strlen(port->address) + 1);
	}
	return arena_format(a, "%0*" PRIx64, VERSION_SIZE, hash);
}

/* The last version of some sandboxes: any number of waiting requests costs a sandbox one look per
 * CHANGE_EVERY_MS. Sandboxes that share an entry replace each other. */
static struct seen_ports {
	char key[ERROR_AWAITS_MAX]; /* of project and sandbox */
	char version[VERSION_SIZE + 1];
	int64_t at_ms;
} seen_ports[SEEN_COUNT];
static pthread_mutex_t seen_mutex = PTHREAD_MUTEX_INITIALIZER; /* guards seen_ports */

static struct seen_ports *seen_entry(const char *key)
{
	return &seen_ports[mix_bytes(HASH_START, key, strlen(key)) % SEEN_COUNT];
}

static void note_seen(const char *key, const char *version)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&seen_mutex);
	struct seen_ports *seen = seen_entry(key);

	(void)snprintf(seen->key, sizeof(seen->key), "%s", key);
	(void)snprintf(seen->version, sizeof(seen->version), "%s", version);
	seen->at_ms = clock_monotonic_ms();
}

/* Whether the ports had this version a moment ago. */
static bool was_seen(const char *key, const char *version)
{
	AUTO(thread_unlock) pthread_mutex_t *lock UNUSED = thread_lock(&seen_mutex);
	const struct seen_ports *seen = seen_entry(key);

	return strcmp(seen->key, key) == 0 && strcmp(seen->version, version) == 0 &&
	       clock_monotonic_ms() - seen->at_ms < CHANGE_EVERY_MS * 4 / 5;
}

/* The request is parked and its handler runs again, so a waiting client takes no thread. A parked
 * request without change ends before a proxy gives up. */
static int await_change(struct request *rq, const char *key, const char *version, struct error *err)
{
	const struct port_list_query *q = rq->query;
	struct fleet_awaited awaited = api_awaited(rq);

	if (!q->changed_from || strcmp(q->changed_from, version) != 0 || !api_can_park(rq) ||
	    (awaited.key && strcmp(awaited.key, key) == 0 && awaited.for_ms >= CHANGE_WAIT_MS))
		return 0;
	(void)FAIL(err, ERROR_UNAVAILABLE,
	           "the ports have not changed, and too many requests wait");
	error_await(err, key, CHANGE_EVERY_MS, -1);
	return -1;
}

/* A repeated run of a waiting request, whose sandbox another request has just looked at. */
static int await_seen_change(struct request *rq, const char *key, struct error *err)
{
	const struct port_list_query *q = rq->query;
	struct fleet_awaited awaited = api_awaited(rq);

	if (!awaited.key || strcmp(awaited.key, key) != 0 || !q->changed_from ||
	    !was_seen(key, q->changed_from))
		return 0;
	return await_change(rq, key, q->changed_from, err);
}

static int listening_ports_list(struct request *rq, UNUSED const void *body, struct reply *reply,
                                struct error *err)
{
	AUTO(api_target_done) struct api_target t = {.hold = NULL};
	char key[ERROR_AWAITS_MAX];
	struct port_list_answer answer;
	struct fleet_ports ports;
	struct port_answer *items;

	awaited_key("ports",
	            arena_format(rq->arena, "%s/%s", api_project(rq), request_param(rq, "id")),
	            key);
	if (await_seen_change(rq, key, err) < 0 || api_target_look(rq, &t, err) < 0)
		return -1;
	if (fleet_ports(api_of(rq)->fleet, rq->arena, t.record, t.hold, &ports, err) < 0)
		return -1;
	answer.version = version_of_ports(rq->arena, &ports);
	note_seen(key, answer.version);
	if (await_change(rq, key, answer.version, err) < 0)
		return -1;
	items = ARENA_ARRAY(rq->arena, struct port_answer, ports.count + 1);
	for (size_t i = 0; i < ports.count; i++) {
		const struct fleet_port *port = &ports.items[i];

		items[i] = (struct port_answer){port->port,    port->pid,     port->process,
		                                port->address, port->command, port->has_preview};
	}
	answer.items = (struct json_list){items, ports.count, .present = true};
	answer.truncated = ports.is_cut;
	reply_json(reply, &port_list_shape, &answer);
	return 0;
}

const struct route ports_routes[] = {
        {HTTP_GET, "/api/sandbox/instances/:id/ports", SCOPE_SANDBOX_READ,
         .query = &port_list_query, .answer = &port_list_shape, .handle = listening_ports_list,
         .tag = "processes",
         .summary = "List the TCP ports that programs listen on; neither wakes a sandbox nor "
                    "counts as its use"},
        {.path = NULL},
};
