/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/agent.h"

int main(int argc, char **argv)
{
	return agent_main(argc, argv);
}
