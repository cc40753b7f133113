/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent.h"

#include <string.h>

#include "agent/pod.h"

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], POD_COPY_OPTION) == 0)
		return pod_copy(argv[2]);
	if (argc == 3 && strcmp(argv[1], POD_JOIN_OPTION) == 0)
		return pod_join(argv[2]);
	return agent_main(argc, argv);
}
