/* Declarations shared by the three steps of the compressor: repetitions, prefix codes, bits. */
#pragma once
#include "include/nocturne_deflate.h"
#include <string.h>

enum {
    /* Content bytes of a block: enough to justify its own codes, few enough that the counts fit. */
    BLOCK_BYTES = 128 << 10,
    SHORTEST_MATCH = 4,
    LONGEST_MATCH = 258,
    FARTHEST = 32768,
    HASH_BITS = 16,
    LITERALS = 286,
    DISTANCES = 30,
    END_OF_BLOCK = 256,
    /* Four literals plus seven pending bits then fit a word of 64 bits. */
    LONGEST_LITERAL_CODE = 14,
    LONGEST_DISTANCE_CODE = 15,
    LONGEST_LENGTH_CODE = 7,
};

/* Literal bytes, followed by a repetition; the last sequence of a block has length 0. */
typedef struct {
    uint32_t literals;
    uint16_t length;
    /* The distance minus 1. */
    uint16_t distance;
} nocturne_sequence;

struct nocturne_deflater {
    /* The last position of four bytes with this hash. */
    uint32_t last_position[1 << HASH_BITS];
    nocturne_sequence sequences[BLOCK_BYTES / SHORTEST_MATCH + 2];
    size_t sequence_count;
    /* The symbol of each length, and of each distance minus 1: below 256 by its value, above by its upper bits. */
    uint8_t length_symbol[LONGEST_MATCH + 1];
    uint8_t distance_symbol[512];
    uint32_t literal_counts[4][256];
    uint32_t symbol_counts[LITERALS];
    uint32_t distance_counts[DISTANCES];
};

static inline uint32_t nocturne_load32(const uint8_t *at) {
    uint32_t word;
    memcpy(&word, at, 4);
    return word;
}

static inline uint64_t nocturne_load64(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, 8);
    return word;
}

/* Extra bits of length symbols 257..285 and of distance symbols, and the base value of each. */
extern const uint8_t nocturne_length_extra[29];
extern const uint16_t nocturne_length_base[29];
extern const uint8_t nocturne_distance_extra[DISTANCES];
extern const uint16_t nocturne_distance_base[DISTANCES];

static inline unsigned nocturne_distance_symbol(const nocturne_deflater *deflater, unsigned less_one) {
    return deflater->distance_symbol[less_one < 256 ? less_one : 256 + (less_one >> 7)];
}

/* Divides content[start..<end] into sequences and counts their symbols. */
void nocturne_find_matches(
    nocturne_deflater *deflater,
    const uint8_t *content,
    size_t start,
    size_t end,
    nocturne_voxels voxels);

/* Prefix codes of at most `longest` bits for symbols with these counts: lengths, and codes with their first bit lowest.
 * An unused symbol has length 0; at least one symbol gets a code. */
void nocturne_make_codes(const uint32_t *counts, int symbols, int longest, uint8_t *lengths, uint16_t *codes);
