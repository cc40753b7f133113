/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit.h — cmocka with names that are sentences:
 *
 *   TEST(a_full_buffer_refuses_more) { … }
 *   int main(void) { return RUN(CASE(a_full_buffer_refuses_more), …); } */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TEST(name) static void name(void **state __attribute__((unused)))
#define CASE(name) cmocka_unit_test(name)
#define RUN(...) cmocka_run_group_tests(((const struct CMUnitTest[]){__VA_ARGS__}), NULL, NULL)
