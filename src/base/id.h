/* SPDX-License-Identifier: Apache-2.0 */
/* base/id.h — names that Atoll gives out: lower-case base 32, random, safe in hosts, paths and SQL.
 *
 * A sandbox id is 20 characters of [a-z2-7] (100 bits), starts with a letter, and so is a DNS
 * label, a cgroup name and a folder name as it is. */
#pragma once

#include <stdbool.h>

#define ID_SIZE 20
struct id {
	char text[ID_SIZE + 1];
};

struct id id_new(void);
bool id_is_valid(const char *text);
/* The id as 32 hexadecimal digits: no other id has them. What is no id gives zeros at its end. */
#define ID_HEX_SIZE 33
void id_to_hex(const char *id, char out[ID_HEX_SIZE]);
/* And back; false for what no id gives. */
bool id_from_hex(const char *hex, struct id *ret);
/* Fills out[0..size-2] with random base-32 characters and a NUL. For keys and tokens. */
void id_random_text(char *out, unsigned size);
