// Whole numbers that every part of the convolution uses, and the names of the axes. Layer 1, description.

#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Indices of the axes in arrays of three; x varies fastest in memory.
enum { Z, Y, X };

static inline int ceil_div(int a, int b) { return (a + b - 1) / b; }
static inline int min_int(int a, int b) { return a < b ? a : b; }
static inline int max_int(int a, int b) { return a > b ? a : b; }
static inline int modulo(int a, int b) { return (a % b + b) % b; }
static inline size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }
