/* SPDX-License-Identifier: Apache-2.0 */
#include "task/task.h"

int main(int argc, char **argv)
{
	return task_main(argc, argv);
}
