/* Prefix codes: Huffman code lengths by the two-queue method, limited in length, and canonical codes for them. */
#include "internal.h"
#include <stdlib.h>

/* A symbol and its count in one word, so that sorting orders by count and then by symbol. */
static int by_count(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static uint16_t reversed(unsigned code, int length) {
    unsigned result = 0;
    for (int bit = 0; bit < length; bit++) result |= (code >> bit & 1) << (length - 1 - bit);
    return (uint16_t)result;
}

/* The number of symbols with a code of each length: those of the Huffman tree of `used` leaves, ascending by count,
   limited to `longest`. */
static void count_lengths(const uint64_t *leaves, int used, int longest, int of_length[16]) {
    /* Nodes 0..<used are leaves, followed by the inner nodes in order of creation, also ascending by weight. */
    uint64_t weight[2 * LITERALS];
    int parent[2 * LITERALS];
    int depth[2 * LITERALS];
    for (int i = 0; i < used; i++) weight[i] = leaves[i] >> 16;
    int leaf = 0, inner = used;
    const int root = 2 * used - 2;
    for (int node = used; node <= root; node++) {
        uint64_t sum = 0;
        for (int child = 0; child < 2; child++) {
            int lightest = leaf < used && (inner >= node || weight[leaf] <= weight[inner]) ? leaf++ : inner++;
            sum += weight[lightest];
            parent[lightest] = node;
        }
        weight[node] = sum;
    }
    depth[root] = 0;
    for (int node = root - 1; node >= 0; node--) {
        depth[node] = depth[parent[node]] + 1;
        if (node < used) of_length[depth[node] < longest ? depth[node] : longest]++;
    }
    /* Shortened codes exceed the available code space: for each unit of excess, one of the longest codes below the
       limit is lengthened. */
    long space = 0;
    for (int length = 1; length <= longest; length++) space += (long)of_length[length] << (longest - length);
    while (space > 1L << longest) {
        int length = longest - 1;
        while (of_length[length] == 0) length--;
        of_length[length]--;
        of_length[length + 1] += 2;
        of_length[longest]--;
        space--;
    }
}

void nocturne_make_codes(const uint32_t *counts, int symbols, int longest, uint8_t *lengths, uint16_t *codes) {
    uint64_t leaves[LITERALS];
    int used = 0;
    memset(lengths, 0, (size_t)symbols);
    for (int symbol = 0; symbol < symbols; symbol++) {
        if (counts[symbol]) leaves[used++] = (uint64_t)counts[symbol] << 16 | (unsigned)symbol;
    }
    if (used < 2) {
        /* A single code of one bit: decompressors expect it for one symbol, and for none. */
        lengths[used ? leaves[0] & 0xffff : 0] = 1;
    } else {
        int of_length[16] = {0};
        qsort(leaves, (size_t)used, sizeof leaves[0], by_count);
        count_lengths(leaves, used, longest, of_length);
        /* The rarest symbols take the longest codes. */
        int next = 0;
        for (int length = longest; length > 0; length--) {
            for (int i = 0; i < of_length[length]; i++) lengths[leaves[next++] & 0xffff] = (uint8_t)length;
        }
    }

    unsigned first[17] = {0};
    int of_length[16] = {0};
    for (int symbol = 0; symbol < symbols; symbol++) of_length[lengths[symbol]]++;
    of_length[0] = 0;
    for (int length = 1; length < 16; length++) first[length + 1] = (first[length] + (unsigned)of_length[length]) << 1;
    for (int symbol = 0; symbol < symbols; symbol++) {
        codes[symbol] = lengths[symbol] ? reversed(first[lengths[symbol]]++, lengths[symbol]) : 0;
    }
}
