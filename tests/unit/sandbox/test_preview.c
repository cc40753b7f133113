/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "sandbox/preview.h"

static struct preview_ports parse(const char *text)
{
	struct preview_ports ports;
	struct error err;

	assert_int_equal(preview_ports_parse(text, &ports, &err), 0);
	return ports;
}

TEST(ports_and_ranges_are_what_they_say)
{
	struct preview_ports ports = parse(" 3000, 8000-8010 ,65535");

	assert_true(preview_ports_has(&ports, 3000));
	assert_true(preview_ports_has(&ports, 8000));
	assert_true(preview_ports_has(&ports, 8010));
	assert_true(preview_ports_has(&ports, 65535));
	assert_false(preview_ports_has(&ports, 2999));
	assert_false(preview_ports_has(&ports, 8011));
}

TEST(any_is_every_port_and_nothing_is_none)
{
	struct preview_ports any = parse("any"), none = parse("");

	assert_true(preview_ports_has(&any, 1));
	assert_true(preview_ports_has(&any, 65535));
	assert_false(preview_ports_has(&none, 3000));
	assert_false(preview_ports_has(&any, 49983));
	assert_false(preview_ports_has(&any, 49999));
}

TEST(what_is_no_port_is_refused)
{
	static const char *const texts[] = {
	        "0",    "65536", "x",  "1,",    ",",   "8-3", "1-",  "-1",
	        "1--2", "1-2-3", "+1", "any,1", "1 2", "0x1", "1.5", "99999999999999999999"};
	struct preview_ports ports;
	struct error err;
	uint16_t port;

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		assert_int_equal(preview_ports_parse(texts[i], &ports, &err), -1);
	assert_int_equal(preview_port_parse("80x", &port, &err), -1);
	assert_int_equal(preview_port_parse("8080", &port, &err), 0);
	assert_int_equal(port, 8080);
}

TEST(there_are_only_so_many_ranges)
{
	struct preview_ports ports;
	char text[2 * (PREVIEW_RANGES_MAX + 1)];
	struct error err;

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = i % 2 ? ',' : '7';
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(preview_ports_parse(text, &ports, &err), -1);
	assert_int_equal(err.code, ERROR_LIMIT);
	text[sizeof(text) - 3] = '\0';
	assert_int_equal(preview_ports_parse(text, &ports, &err), 0);
}

int main(void)
{
	return RUN(CASE(ports_and_ranges_are_what_they_say),
	           CASE(any_is_every_port_and_nothing_is_none), CASE(what_is_no_port_is_refused),
	           CASE(there_are_only_so_many_ranges));
}
