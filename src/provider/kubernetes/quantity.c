/* SPDX-License-Identifier: Apache-2.0 */
#include "provider/kubernetes/quantity.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

#define TEXT_MAX 32
#define MIB 1048576.0
#define MB_MAX 1e15 /* more than a volume can have, and exact in a double */

static const struct {
	const char *suffix;
	double factor;
} suffixes[] = {
        {"", 1},
        {"m", 1e-3},
        {"k", 1e3},
        {"M", 1e6},
        {"G", 1e9},
        {"T", 1e12},
        {"P", 1e15},
        {"E", 1e18},
        {"Ki", 1024},
        {"Mi", MIB},
        {"Gi", MIB * 1024},
        {"Ti", MIB *MIB},
        {"Pi", MIB *MIB * 1024},
        {"Ei", MIB *MIB *MIB},
};

int64_t quantity_mb(const char *text)
{
	char *end;
	double number;

	/* strtod knows more than digits: names, blanks, hexadecimal numbers. */
	if (strlen(text) > TEXT_MAX || strspn(text, "0123456789.") == 0 || strpbrk(text, "xX"))
		return 0;
	number = strtod(text, &end);
	for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
		double mb = ceil(number * suffixes[i].factor / MIB);

		if (strcmp(end, suffixes[i].suffix) == 0)
			return mb >= 0 && mb <= MB_MAX ? (int64_t)mb : 0;
	}
	return 0;
}
