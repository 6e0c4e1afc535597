/* Greedy search for repetitions: a run of one voxel, the previous row, or the last position with the same hash of four
 * bytes.
 *
 * Only whole voxels are hashed. In a noisy 16-bit image the high bytes repeat and the low ones do not, so nearly every
 * worthwhile repetition starts at a voxel or at the high byte before it, which a test of the preceding byte finds. Such
 * repetitions are four or five bytes long and occur every few voxels, at unpredictable positions: a branch for each
 * would cost more than all the rest. Therefore voxels are looked up in batches without a branch; the result is a word
 * whose bits mark where repetitions start, and these are processed one after another. */
#include "internal.h"

/* The number of equal bytes from `a` and `b` on, at most `most`; no bytes beyond that are read. */
static inline size_t match_length(const uint8_t *a, const uint8_t *b, size_t most) {
    size_t length = 0;
    while (length + 8 <= most) {
        uint64_t difference = nocturne_load64(a + length) ^ nocturne_load64(b + length);
        if (difference) return length + (size_t)(__builtin_ctzll(difference) >> 3);
        length += 8;
    }
    while (length < most && a[length] == b[length]) length++;
    return length;
}

static inline uint32_t hash(uint32_t word) { return (word * 0x9E3779B1u) >> (32 - HASH_BITS); }

/* Adds the bytes before a repetition, and the repetition. Four bytes from `literals` on can be read. */
static inline void add(
    nocturne_deflater *deflater,
    const uint8_t *literals,
    size_t count,
    size_t length,
    size_t distance) {
    nocturne_sequence *sequence = &deflater->sequences[deflater->sequence_count++];
    sequence->literals = (uint32_t)count;
    sequence->length = (uint16_t)length;
    sequence->distance = (uint16_t)(distance - 1);
    deflater->symbol_counts[deflater->length_symbol[length] + 257]++;
    deflater->distance_counts[nocturne_distance_symbol(deflater, (unsigned)distance - 1)]++;
    /* Four tables, so that increments for equal neighbours do not depend on each other. */
    for (; count > 4; count -= 4, literals += 4) {
        for (int i = 0; i < 4; i++) deflater->literal_counts[i][literals[i]]++;
    }
    for (unsigned i = 0; i < 4; i++) deflater->literal_counts[i][literals[i]] += count > i;
}

/* The block's last bytes, which no repetition follows. */
static void finish(nocturne_deflater *deflater, const uint8_t *literals, size_t count) {
    nocturne_sequence *sequence = &deflater->sequences[deflater->sequence_count++];
    *sequence = (nocturne_sequence){.literals = (uint32_t)count};
    for (size_t i = 0; i < count; i++) deflater->literal_counts[0][literals[i]]++;
}

static inline size_t next_voxel(size_t at, size_t width) { return (at + width - 1) / width * width; }

/* The longer of a run and a repetition of the previous row; 0 if it is shorter than `least`.
 *
 * Seven parameters, because it is inlined into the innermost loop, with `width` and `least` as constants. */
static inline size_t longest_run_or_row_match(
    const uint8_t *content,
    size_t at,
    size_t end,
    size_t width,
    size_t row,
    size_t least,
    size_t *distance) {
    const uint8_t *here = content + at;
    const uint32_t word = nocturne_load32(here);
    const size_t most = end - at < LONGEST_MATCH ? end - at : LONGEST_MATCH;
    size_t length = least - 1;
    if (at >= width && nocturne_load32(here - width) == word) {
        const size_t found = match_length(here, here - width, most);
        if (found > length) {
            length = found;
            *distance = width;
        }
    }
    if (row && length < most && at >= row && nocturne_load32(here - row) == word) {
        const size_t found = match_length(here, here - row, most);
        if (found > length) {
            length = found;
            *distance = row;
        }
    }
    return length < least ? 0 : length;
}

/* For single bytes, such as labels, which consist mostly of runs and repeated rows. */
static void find_in_bytes(nocturne_deflater *deflater, const uint8_t *content, size_t start, size_t end, size_t row) {
    size_t done = start;
    size_t at = start;
    while (at + 8 <= end) {
        const uint32_t word = nocturne_load32(content + at);
        uint32_t *seen = &deflater->last_position[hash(word)];
        const uint32_t candidate = *seen;
        *seen = (uint32_t)at;
        size_t distance = 0;
        size_t length = longest_run_or_row_match(content, at, end, 1, row, SHORTEST_MATCH, &distance);
        if (!length && (uint32_t)at - candidate <= FARTHEST && nocturne_load32(content + candidate) == word) {
            const size_t most = end - at < LONGEST_MATCH ? end - at : LONGEST_MATCH;
            distance = at - candidate;
            length = match_length(content + at, content + candidate, most);
        }
        if (length == 0) {
            at++;
            continue;
        }
        deflater->last_position[hash(nocturne_load32(content + at + 1))] = (uint32_t)(at + 1);
        add(deflater, content + done, at - done, length, distance);
        at += length;
        done = at;
    }
    finish(deflater, content + done, end - done);
}

/* Looks up `count` voxels, at most 64, and stores them in the table. A bit is set where four bytes are a repetition. */
static inline __attribute__((always_inline)) uint64_t look_up(
    nocturne_deflater *deflater,
    const uint8_t *content,
    size_t at,
    size_t count,
    size_t width,
    uint32_t *candidates) {
    uint64_t found = 0;
    for (size_t i = 0; i < count; i++, at += width) {
        const uint32_t word = nocturne_load32(content + at);
        uint32_t *seen = &deflater->last_position[hash(word)];
        const uint32_t candidate = *seen;
        *seen = (uint32_t)at;
        const int is_near = (uint32_t)at - candidate <= FARTHEST;
        const uint32_t old = nocturne_load32(content + (is_near ? candidate : 0));
        found |= (uint64_t)(is_near & (old == word)) << i;
        candidates[i] = candidate;
    }
    return found;
}

static inline __attribute__((always_inline)) void find_in_words(
    nocturne_deflater *deflater,
    const uint8_t *content,
    size_t start,
    size_t end,
    size_t width,
    size_t row) {
    size_t done = start;
    size_t at = next_voxel(start, width);
    while (at + 8 <= end) {
        size_t distance = 0;
        size_t length = longest_run_or_row_match(content, at, end, width, row, 32, &distance);
        if (length) {
            add(deflater, content + done, at - done, length, distance);
            done = at + length;
            at = next_voxel(done, width);
            continue;
        }
        uint32_t candidates[64];
        const size_t first = at;
        const size_t voxels = (end - 8 - at) / width + 1;
        const size_t count = voxels < 64 ? voxels : 64;
        const uint64_t found = look_up(deflater, content, first, count, width, candidates);
        at = first + count * width;
        uint64_t left = found;
        while (left) {
            const int place = __builtin_ctzll(left);
            size_t here = first + (size_t)place * width;
            distance = here - candidates[place];
            const uint64_t difference = nocturne_load64(content + here) ^ nocturne_load64(content + here - distance);
            if (difference) {
                length = (size_t)(__builtin_ctzll(difference) >> 3);
            } else {
                const size_t most = end - here < LONGEST_MATCH ? end - here : LONGEST_MATCH;
                length = 8 + match_length(content + here + 8, content + here + 8 - distance, most - 8);
            }
            const size_t back = (here > done) & (here > distance) & (length < LONGEST_MATCH)
                & (content[here - (here > 0)] == content[here - distance - (here > distance)]);
            /* The repetition at the next voxel is as good as the shortest one, and often longer. */
            if (length == SHORTEST_MATCH && !back && (left >> 1 >> place & 1)) {
                left &= left - 1;
                continue;
            }
            here -= back;
            add(deflater, content + done, here - done, length + back, distance);
            done = here + back + length;
            const size_t passed = (next_voxel(done, width) - first) / width;
            left = passed < 64 ? found >> passed << passed : 0;
        }
        if (done > at) at = next_voxel(done, width);
    }
    finish(deflater, content + done, end - done);
}

void nocturne_find_matches(
    nocturne_deflater *deflater,
    const uint8_t *content,
    size_t start,
    size_t end,
    nocturne_voxels voxels) {
    size_t row = voxels.row;
    deflater->sequence_count = 0;
    memset(deflater->literal_counts, 0, sizeof deflater->literal_counts);
    memset(deflater->symbol_counts, 0, sizeof deflater->symbol_counts);
    memset(deflater->distance_counts, 0, sizeof deflater->distance_counts);
    if (row < (size_t)voxels.width || row > FARTHEST) row = 0;
    switch (voxels.width) {
    case 1: find_in_bytes(deflater, content, start, end, row); break;
    case 2: find_in_words(deflater, content, start, end, 2, row); break;
    default: find_in_words(deflater, content, start, end, 4, row); break;
    }
    for (int byte = 0; byte < 256; byte++) {
        for (int table = 0; table < 4; table++) {
            deflater->symbol_counts[byte] += deflater->literal_counts[table][byte];
        }
    }
    deflater->symbol_counts[END_OF_BLOCK] = 1;
}
