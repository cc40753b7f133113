/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include <string.h>

#include "provider/compute.h"
#include "provider/provider.h"

TEST(every_provider_is_found_by_its_name)
{
	unsigned count = 0;

	for (; providers[count]; count++)
		assert_ptr_equal(provider_find(providers[count]->name), providers[count]);
	assert_int_equal(count, 10);
	assert_null(provider_find("nonsense"));
	assert_null(provider_find(""));
}

TEST(every_table_is_whole)
{
	for (unsigned i = 0; providers[i]; i++) {
		const struct provider_ops *ops = providers[i];
		assert_non_null(ops->isolation);
		assert_true(ops->open && ops->close && ops->create && ops->destroy && ops->list);
		assert_true(ops->health && ops->compute && ops->compute->connect);
		assert_int_equal(!!(ops->abilities & PROVIDER_CAN_STOP), ops->stop && ops->start);
		assert_int_equal(!!(ops->abilities & PROVIDER_CAN_STATS), !!ops->stats);
		assert_int_equal(!!(ops->abilities & PROVIDER_CAN_FILTER), !!ops->filter);
		assert_int_equal(!!(ops->abilities & PROVIDER_CAN_TEMPLATE), !!ops->template_make);
	}
}

TEST(all_but_null_and_host_isolate)
{
	for (unsigned i = 0; providers[i]; i++)
		assert_int_equal(!!(providers[i]->abilities & PROVIDER_CAN_ISOLATE),
		                 strcmp(providers[i]->name, "null") != 0 &&
		                         strcmp(providers[i]->name, "host") != 0);
}

TEST(a_missing_ability_is_refused_by_name)
{
	struct provider_options options = {0};
	struct provider *p = NULL;
	struct error err = {0};

	assert_int_equal(provider_find("null")->open(&options, &p, &err), 0);
	assert_int_equal(provider_require(p, PROVIDER_CAN_EXEC, &err), 0);
	assert_int_equal(provider_require(p, PROVIDER_CAN_PTY, &err), -1);
	assert_int_equal(err.code, ERROR_UNSUPPORTED);
	assert_string_equal(err.text, "provider 'null' cannot do this: terminal");
	provider_ops_of(p)->close(p);
}

TEST(every_ability_has_a_name)
{
	for (unsigned bit = PROVIDER_CAN_STOP; bit <= PROVIDER_CAN_TEMPLATE; bit <<= 1)
		assert_string_not_equal(provider_ability_name(bit), "unknown");
	assert_string_equal(provider_ability_name(0), "unknown");
}

int main(void)
{
	return RUN(CASE(every_provider_is_found_by_its_name), CASE(every_table_is_whole),
	           CASE(all_but_null_and_host_isolate), CASE(a_missing_ability_is_refused_by_name),
	           CASE(every_ability_has_a_name));
}
