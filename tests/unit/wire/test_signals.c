/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "unit.h"
#include "wire/agent_cause.h"

TEST(signals_have_names_and_numbers)
{
	static const char *const names[] = {"SIGTERM", "TERM", "term", "15"};
	char name[16];
	uint32_t signal;
	struct error err;

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		assert_int_equal(agent_signal_parse(names[i], &signal, &err), 0);
		assert_int_equal(signal, 15);
	}
	assert_int_equal(agent_signal_parse("SIGNOTHING", &signal, &err), -1);
	assert_int_equal(agent_signal_parse("0", &signal, &err), -1);
	assert_int_equal(agent_signal_parse("65", &signal, &err), -1);
	agent_signal_name(9, name);
	assert_string_equal(name, "SIGKILL");
	agent_signal_name(0, name);
	assert_string_equal(name, "");
	agent_signal_name(4000000000u, name);
	assert_int_equal(strncmp(name, "SIG", 3), 0);
}

int main(void)
{
	return RUN(CASE(signals_have_names_and_numbers));
}
