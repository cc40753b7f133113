/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "account/account.h"

static const char *const known[] = {"bash", "python", "node", NULL};
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
	        {{.provider = "Lambda"}, "unknown 'Lambda'"},
	        {{.provider = "", .timeout_s = 1}, "unknown ''"},
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

int main(void)
{
	return RUN(CASE(limits_are_the_providers));
}
