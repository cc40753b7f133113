/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/fleet/harness.h — a fleet over a store of each test's own and a provider that obeys
 * the test.
 *
 * The provider keeps a table of sandboxes. The test says which of its calls fail, holds its create
 * and its template builds back at a gate, and takes sandboxes away behind the fleet's back. It
 * outlives the fleet, so that a restart of the server is harness_restart. */
#pragma once

#include "base/clock.h"
#include "base/map.h"
#include "config/config.h"
#include "provider/provider.h"
#include "provider/templates.h"
#include "unit.h"
#include "wire/agent.h"
#include "wire/agent_services.h"
#include "fleet/lifecycle/create.h"

#include <pthread.h>
#include <string.h>

struct fleet;
struct sandbox_record;
struct store;
struct worker_pool;

#define PROJECT "pppppppppppppppppppp"

#define assert_done(call)                                                                          \
	do {                                                                                       \
		if ((call) != 0)                                                                   \
			fail_msg("%s: %s", #call, err.text);                                       \
	} while (0)
#define assert_refused(call, code_)                                                                \
	do {                                                                                       \
		err = (struct error){0};                                                           \
		assert_int_equal((call), -1);                                                      \
		if (err.code != (code_))                                                           \
			fail_msg("%s: code %d, not %d: %s", #call, err.code, (code_), err.text);   \
	} while (0)

enum call {
	CALL_CREATE,
	CALL_DESTROY,
	CALL_STOP,
	CALL_START,
	CALL_LIST,
	CALL_STATS,
	CALL_TEMPLATE,
	CALL_PAUSE,
	CALL_RESUME,
	CALL_LIMIT,
	CALL_MEASURE,
	CALL_COUNT
};

struct fake {
	const struct provider_ops *ops; /* first, as in every provider */
	struct provider_ops own;
	pthread_mutex_t mutex; /* over all below */
	pthread_cond_t changed;
	struct map sandboxes; /* id -> "running", "paused" or "files" */
	struct map tags;      /* id -> what was said of it, a struct provider_entry in the arena */
	bool fails[CALL_COUNT];
	unsigned calls[CALL_COUNT];
	enum provider_template_verb template_verb; /* of its last CALL_TEMPLATE */
	bool leaves_remains;                       /* a create that fails leaves files */
	void (*on_begun)(void); /* a create was begun, and its row is not written yet; or NULL */
	bool is_gate_shut;
	unsigned at_gate;
	uint32_t processes;              /* that its agents tell of */
	struct sandbox_resources limits; /* that it was told last, of one that runs */
	int64_t measured_bytes;
	struct arena tag_arena;
	struct arena arena;
	struct agent_exec exec; /* the last one that an agent was sent; in the arena */
	unsigned execs;
	enum error_code exec_fails; /* how; ERROR_NONE: it does not */
	/* Of its agents' hooks: how often they were asked for, whether there are any, how they end.
	 */
	unsigned hooks;
	bool has_hooks;
	uint32_t hook_exit;
	/* What its agent keeps running, which a stop ends: there is one agent for all sandboxes.
	 * Texts are in the arena. */
	struct agent_service services[AGENT_SERVICES_MAX];
	unsigned service_count;
	unsigned services_told;        /* how often it was told of one */
	enum error_code services_fail; /* how; ERROR_NONE: it does not */
};

extern char fake_running[], fake_paused[], fake_files[];

void fake_init(struct fake *f);
void fake_done(struct fake *f);
/* What the provider has of a sandbox: "running", "paused", "files" or "nothing". */
const char *fake_has(struct fake *f, const char *id);
/* NULL takes it away. */
void fake_set(struct fake *f, const char *id, char *value);
/* What its list says of a sandbox from now on. */
void fake_tag(struct fake *f, const char *id, const char *owner, int64_t epoch);
void fake_fail(struct fake *f, enum call call, bool fails);
void fake_gate(struct fake *f, bool is_shut);
/* Until a call has come to the gate. */
void fake_wait_at_gate(struct fake *f);

struct harness {
	struct config config;
	struct fake fake;
	struct store *store;
	struct worker_pool *workers;
	struct provider_set *providers; /* NULL: the fake alone */
	struct fleet *fleet;
	struct arena arena;
	char data_dir[64];
	char store_folder[64]; /* of the store that harness_open() made */
	const char *node;      /* NULL: it is alone */
};

void harness_start(struct harness *h);
/* Lets the workers finish what is queued; none is left then. */
void harness_drain(struct harness *h);
void harness_stop(struct harness *h);
/* Another store, and a fleet that knows nothing yet. */
void harness_store(struct harness *h, const char *dsn);
/* For cmocka: *state is a struct harness. */
int harness_open(void **state);
int harness_close(void **state);
/* The server goes away and comes back: what it knew is lost, store and provider are not. */
void harness_restart(struct harness *h);
struct sandbox_record create_with(struct harness *h, struct fleet_create request);
/* Started, from the default template. */
struct sandbox_record create(struct harness *h);
struct sandbox_record find(struct harness *h, const char *id);
/* Neither store nor provider has it. */
void assert_gone(struct harness *h, const char *id);

#define EACH(name) cmocka_unit_test_setup_teardown(name, harness_open, harness_close)
#define RUN_EACH(...) cmocka_run_group_tests(((const struct CMUnitTest[]){__VA_ARGS__}), NULL, NULL)
