/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/launch.h"

int main(int argc, char **argv)
{
	return launch_main(argc, argv);
}
