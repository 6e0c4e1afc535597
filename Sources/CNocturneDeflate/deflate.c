/* Blocks: the codes of their sequences, and the bit stream. */
#include "internal.h"
#include <stdlib.h>

const uint8_t nocturne_length_extra[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                           2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
const uint16_t nocturne_length_base[29] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                           31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
const uint8_t nocturne_distance_extra[DISTANCES] = {0, 0, 0, 0, 1, 1, 2, 2,  3,  3,  4,  4,  5,  5,  6,
                                                    6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13};
/* Reduced by 1, as distances are stored. */
const uint16_t nocturne_distance_base[DISTANCES] = {0,   1,   2,   3,   4,   6,    8,    12,   16,   24,
                                                    32,  48,  64,  96,  128, 192,  256,  384,  512,  768,
                                                    1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576};

nocturne_deflater *nocturne_deflater_new(void) {
    nocturne_deflater *deflater = malloc(sizeof *deflater);
    if (!deflater) return NULL;
    for (int symbol = 0; symbol < 29; symbol++) {
        /* Length 258 comes last and has its own symbol. */
        for (int extra = 0; extra < 1 << nocturne_length_extra[symbol]; extra++) {
            int length = nocturne_length_base[symbol] + extra;
            if (length <= LONGEST_MATCH) deflater->length_symbol[length] = (uint8_t)symbol;
        }
    }
    for (int symbol = 0; symbol < DISTANCES; symbol++) {
        for (int extra = 0; extra < 1 << nocturne_distance_extra[symbol]; extra++) {
            int less_one = nocturne_distance_base[symbol] + extra;
            deflater->distance_symbol[less_one < 256 ? less_one : 256 + (less_one >> 7)] = (uint8_t)symbol;
        }
    }
    return deflater;
}

void nocturne_deflater_free(nocturne_deflater *deflater) { free(deflater); }

size_t nocturne_deflater_bytes(void) { return sizeof(nocturne_deflater); }

size_t nocturne_deflate_bound(size_t count) {
    /* Stored blocks of at most 65,535 bytes, plus the word that the bit writer may write beyond the end. */
    return count + 5 * (count / 32768 + 4) + 16;
}

typedef struct {
    uint8_t *next;
    uint64_t held;
    int count;
} bits;

/* At most 56 bits may be pending before a call; 0 to 7 are pending after it. */
static inline void flush(bits *out) {
    memcpy(out->next, &out->held, 8);
    out->next += out->count >> 3;
    out->held >>= out->count & ~7;
    out->count &= 7;
}

static inline void put(bits *out, uint64_t value, int count) {
    out->held |= value << out->count;
    out->count += count;
}

static void put_and_flush(bits *out, uint64_t value, int count) {
    put(out, value, count);
    flush(out);
}

static void put_stored(bits *out, const uint8_t *content, size_t count, int is_last) {
    do {
        size_t piece = count < 65535 ? count : 65535;
        put_and_flush(out, (uint64_t)(is_last && piece == count), 3);
        if (out->count) put_and_flush(out, 0, 8 - out->count);
        put_and_flush(out, (uint64_t)piece | (uint64_t)(piece ^ 0xffff) << 16, 32);
        if (piece) memcpy(out->next, content, piece);
        out->next += piece;
        content += piece;
        count -= piece;
    } while (count);
}

typedef struct {
    uint8_t literal_lengths[LITERALS + DISTANCES];
    uint16_t literals[LITERALS];
    uint8_t distance_lengths[DISTANCES];
    uint16_t distances[DISTANCES];
} block_codes;

/* The lengths of both codes, run-length encoded: symbol, extra value and its number of bits. */
typedef struct {
    uint8_t symbol[LITERALS + DISTANCES];
    uint8_t extra[LITERALS + DISTANCES];
    int count;
    int literals;
    int distances;
    uint8_t lengths[19];
    uint16_t codes[19];
} code_table;

static int extra_bits(int symbol) { return symbol == 16 ? 2 : symbol == 17 ? 3 : symbol == 18 ? 7 : 0; }

static void describe(const block_codes *codes, code_table *table) {
    uint8_t all[LITERALS + DISTANCES];
    uint32_t counts[19] = {0};
    table->literals = LITERALS;
    while (table->literals > 257 && codes->literal_lengths[table->literals - 1] == 0) table->literals--;
    table->distances = DISTANCES;
    while (table->distances > 1 && codes->distance_lengths[table->distances - 1] == 0) table->distances--;
    memcpy(all, codes->literal_lengths, (size_t)table->literals);
    memcpy(all + table->literals, codes->distance_lengths, (size_t)table->distances);
    const int total = table->literals + table->distances;
    table->count = 0;
    for (int at = 0; at < total;) {
        int run = 1;
        while (at + run < total && all[at + run] == all[at]) run++;
        int symbol = all[at], extra = 0, used = 1;
        if (all[at] == 0 && run >= 3) {
            used = run < 138 ? run : 138;
            symbol = used < 11 ? 17 : 18;
            extra = used < 11 ? used - 3 : used - 11;
        } else if (at > 0 && all[at] == all[at - 1] && run >= 3) {
            used = run < 6 ? run : 6;
            symbol = 16;
            extra = used - 3;
        }
        table->symbol[table->count] = (uint8_t)symbol;
        table->extra[table->count++] = (uint8_t)extra;
        counts[symbol]++;
        at += used;
    }
    nocturne_make_codes(counts, 19, LONGEST_LENGTH_CODE, table->lengths, table->codes);
}

static const uint8_t order_of_lengths[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};

static int described_lengths(const code_table *table) {
    int count = 19;
    while (count > 4 && table->lengths[order_of_lengths[count - 1]] == 0) count--;
    return count;
}

static size_t bits_of_block(const nocturne_deflater *deflater, const block_codes *codes, const code_table *table) {
    size_t sum = 3 + 5 + 5 + 4 + 3 * (size_t)described_lengths(table);
    for (int i = 0; i < table->count; i++) {
        sum += table->lengths[table->symbol[i]] + (size_t)extra_bits(table->symbol[i]);
    }
    for (int symbol = 0; symbol < LITERALS; symbol++) {
        size_t extra = symbol > 256 ? nocturne_length_extra[symbol - 257] : 0;
        sum += deflater->symbol_counts[symbol] * (codes->literal_lengths[symbol] + extra);
    }
    for (int symbol = 0; symbol < DISTANCES; symbol++) {
        size_t bits = (size_t)codes->distance_lengths[symbol] + nocturne_distance_extra[symbol];
        sum += deflater->distance_counts[symbol] * bits;
    }
    return sum;
}

static void put_codes(bits *out, const code_table *table, int is_last) {
    const int lengths = described_lengths(table);
    put_and_flush(out, (uint64_t)(is_last | 2 << 1), 3);
    put_and_flush(out, (uint64_t)(table->literals - 257) | (uint64_t)(table->distances - 1) << 5, 10);
    put_and_flush(out, (uint64_t)(lengths - 4), 4);
    for (int i = 0; i < lengths; i++) put_and_flush(out, table->lengths[order_of_lengths[i]], 3);
    for (int i = 0; i < table->count; i++) {
        const int symbol = table->symbol[i];
        put(out, table->codes[symbol], table->lengths[symbol]);
        put_and_flush(out, table->extra[i], extra_bits(symbol));
    }
}

/* A code combined with its number of bits, which is stored 24 bits higher. */
static inline uint32_t entry(uint32_t value, int bits) { return value | (uint32_t)bits << 24; }
static inline uint64_t entry_value(uint32_t entry) { return entry & 0xffffff; }
static inline int entry_bits(uint32_t entry) { return (int)(entry >> 24); }

/* Four literals at once, combined before they are added to the pending bits, so that the literals do not depend on each
   other. */
static inline void put_four(bits *out, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
    const uint64_t low = entry_value(a) | entry_value(b) << entry_bits(a);
    const uint64_t high = entry_value(c) | entry_value(d) << entry_bits(c);
    const int low_bits = entry_bits(a) + entry_bits(b);
    put(out, low | high << low_bits, low_bits + entry_bits(c) + entry_bits(d));
    flush(out);
}

static void put_sequences(
    bits *target,
    const nocturne_deflater *deflater,
    const block_codes *codes,
    const uint8_t *at) {
    bits out = *target;
    uint32_t literal[256];
    for (int byte = 0; byte < 256; byte++) literal[byte] = entry(codes->literals[byte], codes->literal_lengths[byte]);
    uint32_t repetition[LONGEST_MATCH + 1];
    for (unsigned length = SHORTEST_MATCH; length <= LONGEST_MATCH; length++) {
        const unsigned symbol = deflater->length_symbol[length];
        const int bits = codes->literal_lengths[257 + symbol];
        const uint32_t extra = length - nocturne_length_base[symbol];
        repetition[length] = entry(codes->literals[257 + symbol] | extra << bits, bits + nocturne_length_extra[symbol]);
    }
    const nocturne_sequence *last = &deflater->sequences[deflater->sequence_count - 1];
    for (const nocturne_sequence *sequence = deflater->sequences; sequence < last; sequence++) {
        size_t literals = sequence->literals;
        for (; literals > 4; literals -= 4, at += 4) {
            put_four(&out, literal[at[0]], literal[at[1]], literal[at[2]], literal[at[3]]);
        }
        /* The remaining literals, without a branch on their number. A repetition follows, so four bytes can be read. */
        put_four(
            &out,
            literal[at[0]] & -(uint32_t)(literals > 0),
            literal[at[1]] & -(uint32_t)(literals > 1),
            literal[at[2]] & -(uint32_t)(literals > 2),
            literal[at[3]] & -(uint32_t)(literals > 3));
        at += literals + sequence->length;
        const uint32_t length = repetition[sequence->length];
        const unsigned symbol = nocturne_distance_symbol(deflater, sequence->distance);
        const uint64_t extra = sequence->distance - nocturne_distance_base[symbol];
        const int bits = codes->distance_lengths[symbol];
        const uint64_t distance = codes->distances[symbol] | extra << bits;
        put(
            &out,
            entry_value(length) | distance << entry_bits(length),
            entry_bits(length) + bits + nocturne_distance_extra[symbol]);
        flush(&out);
    }
    for (const uint8_t *end = at + last->literals; at < end; at++) {
        put_and_flush(&out, entry_value(literal[*at]), entry_bits(literal[*at]));
    }
    put_and_flush(&out, codes->literals[END_OF_BLOCK], codes->literal_lengths[END_OF_BLOCK]);
    *target = out;
}

size_t nocturne_deflate(
    nocturne_deflater *deflater,
    const uint8_t *content,
    size_t count,
    nocturne_voxels voxels,
    int is_last,
    uint8_t *target) {
    bits out = {target, 0, 0};
    /* Farther away than any repetition can be. */
    for (size_t i = 0; i < 1 << HASH_BITS; i++) deflater->last_position[i] = 1u << 31;
    for (size_t start = 0; start < count;) {
        const size_t end = count - start < BLOCK_BYTES ? count : start + BLOCK_BYTES;
        const int ends_stream = is_last && end == count;
        block_codes codes;
        code_table table;
        nocturne_find_matches(deflater, content, start, end, voxels);
        nocturne_make_codes(
            deflater->symbol_counts, LITERALS, LONGEST_LITERAL_CODE, codes.literal_lengths, codes.literals);
        nocturne_make_codes(
            deflater->distance_counts, DISTANCES, LONGEST_DISTANCE_CODE, codes.distance_lengths, codes.distances);
        describe(&codes, &table);
        if (bits_of_block(deflater, &codes, &table) / 8 < end - start) {
            put_codes(&out, &table, ends_stream);
            put_sequences(&out, deflater, &codes, content + start);
        } else {
            put_stored(&out, content + start, end - start, ends_stream);
        }
        start = end;
    }
    if (!is_last || count == 0) put_stored(&out, content, 0, is_last);
    if (out.count) put_and_flush(&out, 0, 8 - out.count);
    return (size_t)(out.next - target);
}
