// Rounding to bfloat16, one value at a time. Layer 3, execution.

#pragma once

#include <stdint.h>
#include <string.h>

/// The bfloat16 nearest to a value, ties to even.
static inline uint16_t bfloat16_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    // NaN stays NaN, whatever its bits.
    if (value != value) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// Its value as float32; NaN stays unchanged.
static inline float rounded(float value) {
    if (value != value) return value;
    const uint32_t bits = (uint32_t)bfloat16_of(value) << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}
