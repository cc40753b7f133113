/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "box.h"
#include "wire/agent_machine.h"

/* It would change the host's name and clock. */
TEST(an_agent_outside_of_a_machine_takes_no_identity)
{
	static const char entropy[AGENT_IDENTITY_ENTROPY];
	const struct agent_identity identity = {.hostname = "taken",
	                                        .entropy = {entropy, sizeof(entropy)},
	                                        .unix_us = 1,
	                                        .pids_max = 1};
	struct box b = box_start(BOX_HOST);
	AUTO_CLOSE int link = box_connect(&b);

	say(&b, link, AGENT_IDENTITY, agent_identity_shape, &identity);
	assert_int_equal(hear_failed(&b, link).code, ERROR_INVALID);
	say(&b, link, AGENT_PING, NULL, NULL);
	assert_int_equal(hear_any(&b, link), AGENT_PONG);
	box_end(&b);
}

int main(void)
{
	return RUN(CASE(an_agent_outside_of_a_machine_takes_no_identity));
}
