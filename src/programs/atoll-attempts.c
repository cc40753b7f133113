/* SPDX-License-Identifier: Apache-2.0 */
#include "escape/escape.h"

int main(int argc, char **argv)
{
	return escape_main(argc, argv);
}
