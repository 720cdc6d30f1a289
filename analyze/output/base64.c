/* SPDX-License-Identifier: MIT */
#include "base64.h"

void base64_write(struct out *out, const uint8_t *bytes, size_t n)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (size_t i = 0; i < n; i += 3) {
		const size_t left = n - i;
		const uint32_t three = (uint32_t)bytes[i] << 16 |
				       (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
				       (left > 2 ? bytes[i + 2] : 0);
		const char four[4] = {
			digits[three >> 18],
			digits[three >> 12 & 63],
			left > 1 ? digits[three >> 6 & 63] : '=',
			left > 2 ? digits[three & 63] : '=',
		};
		out_write(out, four, sizeof(four));
	}
}
