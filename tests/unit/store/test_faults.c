/* SPDX-License-Identifier: Apache-2.0 */
#include "samples.h"
int main(void){return 0;}
