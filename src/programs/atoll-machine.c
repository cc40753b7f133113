/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/machine.h"

int main(int argc, char **argv)
{
	return machine_main(argc, argv);
}
