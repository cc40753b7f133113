/* SPDX-License-Identifier: Apache-2.0 */
#include "json/json.h"
#include "unit.h"

#include <string.h>

#include "job/job.h"
#include "json/json.h"

static int check(const char *json, struct error *err)
{
	AUTO(arena_done) struct arena a = {0};
	struct job_origin origin;

	*err = (struct error){0};
	if (json_parse(&a, span_of(json), &job_origin_shape, &origin, err) < 0)
		return -1;
	return job_origin_check(&origin, err);
}

TEST(an_origin_names_what_its_channel_needs_and_nothing_else)
{
	static const char *const right[] = {
	        "{}",
	        "{\"type\":\"none\"}",
	        "{\"type\":\"stream\"}",
	        "{\"type\":\"slack\",\"channel\":\"C1\"}",
	        "{\"type\":\"slack\",\"channel\":\"C1\",\"thread\":\"17.01\",\"credential\":\"x\"}",
	        "{\"type\":\"discord\",\"channel\":\"1\",\"message\":\"2\"}",
	        "{\"type\":\"telegram\",\"chat\":\"@name\",\"thread\":\"3\"}",
	        "{\"type\":\"github\",\"repository\":\"a.b/c-d_e\",\"issue\":\"9\"}",
	        "{\"type\":\"zalo\",\"user\":\"1\"}",
	        "{\"type\":\"pancake\",\"page\":\"wa_1@c.us\",\"chat\":\"1_2\"}",
	};
	static const char *const wrong[] = {
	        "{\"type\":\"slack\"}",
	        "{\"type\":\"slack\",\"channel\":\"\"}",
	        "{\"type\":\"slack\",\"channel\":\"..\"}",
	        "{\"type\":\"slack\",\"channel\":\"a b\"}",
	        "{\"type\":\"slack\",\"channel\":\"C1\",\"user\":\"U1\"}",
	        "{\"type\":\"discord\",\"channel\":\"general\"}",
	        "{\"type\":\"telegram\",\"chat\":\"1\",\"thread\":\"x\"}",
	        "{\"type\":\"github\",\"repository\":\"a/b/c\",\"issue\":\"1\"}",
	        "{\"type\":\"github\",\"repository\":\"a/..\",\"issue\":\"1\"}",
	        "{\"type\":\"github\",\"repository\":\"/b\",\"issue\":\"1\"}",
	        "{\"type\":\"github\",\"repository\":\"a/b\"}",
	        "{\"type\":\"webhook\",\"credential\":\"x\"}",
	        "{\"type\":\"pigeon\"}",
	        "{\"type\":\"zalo\",\"user\":\"1?x=2\"}",
	};
	struct error err;

	for (size_t i = 0; i < COUNT_OF(right); i++)
		if (check(right[i], &err) < 0)
			fail_msg("%s: %s", right[i], err.text);
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		if (check(wrong[i], &err) == 0)
			fail_msg("%s was taken", wrong[i]);
		assert_int_equal(err.code, ERROR_INVALID);
	}
}

int main(void)
{
	return RUN(CASE(an_origin_names_what_its_channel_needs_and_nothing_else));
}
