/* Functions of one value, without branches, so that loops over them become vector code. */
#pragma once

#include "internal.h"

#include <math.h>
#include <stdint.h>

/* exp by reduction to [-ln2/2, ln2/2] and a polynomial of degree 6: relative error below 2e-7. Returns the polynomial
   minus one, and the power of two. */
NK_INLINE float exponential_parts(float x, float *power_of_two) {
    float bounded = x > 88.0f ? 88.0f : x;
    bounded = bounded < -87.0f ? -87.0f : bounded;
    float scaled = bounded * 1.44269504088896341f;
    /* The nearest integer, which the last bits of this sum also contain. */
    union {
        float value;
        uint32_t bits;
    } shifted = {.value = scaled + 12582912.0f};
    float whole = shifted.value - 12582912.0f;
    float r = bounded - whole * 0.693359375f;
    r = r - whole * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    /* Taken from those bits, because converting a NaN to an integer is undefined. */
    union {
        uint32_t bits;
        float value;
    } power = {.bits = (shifted.bits + 127) << 23};
    *power_of_two = power.value;
    return p * r * r + r;
}

NK_INLINE float exponential(float x) {
    float power;
    float p = exponential_parts(x, &power);
    return (p + 1.0f) * power;
}

/* exp(x) - 1, exact to a few units in the last place near 0 too. */
NK_INLINE float exponential_minus_one(float x) {
    float power;
    float p = exponential_parts(x, &power);
    return p * power + (power - 1.0f);
}

NK_INLINE float sigmoid(float x) { return 1.0f / (1.0f + exponential(-x)); }

/* Cephes: a polynomial up to 0.625, exp beyond. */
NK_INLINE float hyperbolic_tangent(float x) {
    float t = fabsf(x);
    float s = x * x;
    float p = -5.70498872745e-3f;
    p = p * s + 2.06390887954e-2f;
    p = p * s - 5.37397155531e-2f;
    p = p * s + 1.33314422036e-1f;
    p = p * s - 3.33332819422e-1f;
    float small = p * s * x + x;
    float large = copysignf(1.0f - 2.0f / (exponential(2.0f * t) + 1.0f), x);
    return t < 0.625f ? small : large;
}

/* A polynomial up to 475/512, 1 - exp(polynomial) beyond: a few units in the last place. */
NK_INLINE float error_function(float x) {
    float t = fabsf(x);
    float s = x * x;
    float p = -5.96761703e-4f;
    p = p * s + 4.99119423e-3f;
    p = p * s - 2.67681349e-2f;
    p = p * s + 1.12819925e-1f;
    p = p * s - 3.76125336e-1f;
    p = p * s + 1.28379166e-1f;
    float small = p * x + x;
    /* Beyond 4 the result is 1, and the polynomial no longer fits. */
    float u = t < 4.0f ? t : 4.0f;
    float v = u * u;
    float q = -1.72853470e-5f * u + 3.83197126e-4f;
    q = q * v + (-3.88396438e-3f * u + 2.42546219e-2f);
    q = q * u - 1.06777877e-1f;
    q = q * u - 6.34846687e-1f;
    q = q * u - 1.28717512e-1f;
    q = q * u - u;
    float large = copysignf(1.0f - exponential(q), x);
    /* A NaN compares as false, and comes through `small`. */
    return t > 0.927734375f ? large : small;
}
