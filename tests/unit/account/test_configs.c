/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "account/account.h"

static const char *const known[] = {"bash", "python", "node", "r", "java", NULL};
static const char *const unknown[] = {"bash", "cobol", NULL};

TEST(limits_are_the_providers)
{
	static const struct {
		struct account_config config;
		const char *refused; /* NULL: it is fine */
	} cases[] = {
	        {{.provider = NULL}, NULL},
	        {{.provider = "lambda", .timeout_s = 300, .memory_mb = 1024}, NULL},
	        {{.provider = "lambda", .timeout_s = 301}, "300 seconds on lambda"},
	        {{.provider = "lambda", .memory_mb = 1025}, "1024 MB on lambda"},
	        {{.provider = "lambda", .persistent = true}, "lambda keeps nothing"},
	        {{.provider = "e2b", .timeout_s = 600, .memory_mb = 65536}, NULL},
	        {{.provider = "e2b", .timeout_s = 601}, "600 seconds on e2b"},
	        {{.provider = "daytona", .persistent = true}, NULL},
	        {{.provider = "kubernetes", .timeout_s = -1}, "600 seconds on kubernetes"},
	        {{.timeout_s = 600}, NULL},
	        {{.timeout_s = 601}, "this server"},
	        {{.provider = "bare", .timeout_s = 600, .persistent = true}, NULL},
	        {{.provider = "bare", .timeout_s = 601}, "this server"},
	        {{.permission_mode = "bypass", .runtimes = known}, NULL},
	        {{.permission_mode = "root"}, "permissionMode"},
	        {{.runtimes = unknown}, "cobol"},
	        {{.output_limit_bytes = 1023}, "outputLimitBytes"},
	        {{.output_limit_bytes = 65536}, NULL},
	        {{.output_limit_bytes = (16 << 20) + 1}, "outputLimitBytes"},
	        {{.has_options = true}, "only with persistent"},
	        {{.has_options = true, .persistent = true, .persistent_home = "/home/node"}, NULL},
	        {{.has_options = true, .persistent = true, .persistent_home = "home"},
	         "absolute path"},
	        {{.idle_timeout_s = 604800, .lifetime_max_s = 31536000}, NULL},
	        {{.idle_timeout_s = 604801}, "idleTimeoutSeconds"},
	        {{.lifetime_max_s = 31536001}, "maxLifetimeSeconds"},
	        {{.lifetime_max_s = -1}, "maxLifetimeSeconds"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct error err = {0};
		int result = account_config_check(&cases[i].config, &err);

		if (result != (cases[i].refused ? -1 : 0) ||
		    (cases[i].refused && !strstr(err.text, cases[i].refused)))
			fail_msg("case %zu: %d '%s'", i, result, err.text);
		if (result < 0)
			assert_int_equal(err.code, ERROR_INVALID);
	}
}

TEST(what_widens_a_limit_is_named)
{
	static const char *const bash[] = {"bash", NULL}, *const both[] = {"bash", "node", NULL};
	static const char *const none[] = {NULL};
	static const struct {
		struct account_config old, new;
		const char *widened;
	} rows[] = {
	        {{.timeout_s = 2}, {.timeout_s = 2}, NULL},
	        {{.timeout_s = 2}, {.timeout_s = 1}, NULL},
	        {{.timeout_s = 2}, {.timeout_s = 3}, "timeout"},
	        {{.timeout_s = 2}, {.timeout_s = 0}, "timeout"},
	        {{.timeout_s = 0}, {.timeout_s = 9}, NULL},
	        {{.memory_mb = 128}, {.memory_mb = 129}, "memoryLimit"},
	        {{.memory_mb = 128}, {.memory_mb = 0}, "memoryLimit"},
	        {{.output_limit_bytes = 2048}, {.output_limit_bytes = 4096}, "outputLimitBytes"},
	        {{.runtimes = bash}, {.runtimes = bash}, NULL},
	        {{.runtimes = both}, {.runtimes = bash}, NULL},
	        {{.runtimes = bash}, {.runtimes = both}, "runtimes"},
	        {{.runtimes = bash}, {.runtimes = none}, "runtimes"},
	        {{.runtimes = bash}, {.runtimes = NULL}, "runtimes"},
	        {{.runtimes = none}, {.runtimes = both}, NULL},
	        {{.permission_mode = "ask"}, {.permission_mode = "edit"}, "permissionMode"},
	        {{.permission_mode = "edit"}, {.permission_mode = NULL}, "permissionMode"},
	        {{.permission_mode = "edit"}, {.permission_mode = "bypass"}, "permissionMode"},
	        {{.permission_mode = "bypass"}, {.permission_mode = "ask"}, NULL},
	        {{.permission_mode = NULL}, {.permission_mode = "bypass"}, NULL},
	        {{.persistent = false, .lifetime_max_s = 9}, {.persistent = true}, NULL},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const char *widened = account_config_widened(&rows[i].old, &rows[i].new);

		if (!widened != !rows[i].widened ||
		    (widened && strcmp(widened, rows[i].widened) != 0))
			fail_msg("row %zu: %s", i, widened ? widened : "none");
	}
	assert_string_equal(account_config_limit(&rows[0].old), "timeout");
	assert_null(account_config_limit(&(struct account_config){.permission_mode = "bypass"}));
}

int main(void)
{
	return RUN(CASE(limits_are_the_providers), CASE(what_widens_a_limit_is_named));
}
