/* SPDX-License-Identifier: Apache-2.0 */
/* base/id.h — ids that Atoll generates: lower-case base 32, random, safe in host names, paths and
 * SQL.
 *
 * A sandbox id is 20 characters of [a-z2-7] (100 bits) and starts with a letter. It is therefore
 * valid as a DNS label, a cgroup name and a folder name. */
#pragma once

#include <stdbool.h>

#define ID_SIZE 20
struct id {
	char text[ID_SIZE + 1];
};

struct id id_new(void);
bool id_is_valid(const char *text);
/* Ids of the images of virtual machines (provider/microvm/image.h) and of the sandboxes that make
 * them begin with this; id_new never returns one. Lists for other readers leave them out. */
#define ID_IMAGE_PREFIX "vmimag"
bool id_is_of_image(const char *text);
/* The id as 32 hexadecimal digits, unique for each id. A text that is not an id gives zeros at the
 * end. */
#define ID_HEX_SIZE 33
void id_to_hex(const char *id, char out[ID_HEX_SIZE]);
/* The reverse of id_to_hex; false when the digits do not encode an id. */
bool id_from_hex(const char *hex, struct id *ret);
/* Fills out[0..size-2] with random base-32 characters and a NUL. For keys and tokens. */
void id_random_text(char *out, unsigned size);
