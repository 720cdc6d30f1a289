/* SPDX-License-Identifier: MIT */
/* Known answer: no allocation at all; the only snapshot is the one at the start. */

int main(void)
{
	return 0;
}
