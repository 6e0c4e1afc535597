// Puts mutated copies of seed files through every entry of the DICOM shim. Built and run by Tools/fuzz_dicom.py.
//
// One process works through a share of the mutations; what it is about to try is written to `current`, so that a crash
// leaves its input behind. An alarm ends a file that takes too long.

#include "CDCMTK.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

using Bytes = std::vector<unsigned char>;

Bytes load(const char *path) {
    std::ifstream file(path, std::ios::binary);
    return Bytes(std::istreambuf_iterator<char>(file), {});
}

void mutate(Bytes &bytes, std::mt19937_64 &random) {
    const auto below = [&](size_t limit) { return limit == 0 ? 0 : random() % limit; };
    // Most of what matters lies at the front.
    const auto place = [&]() { return random() % 2 ? below(bytes.size()) : below(std::min<size_t>(bytes.size(), 8192)); };
    const size_t changes = 1 + below(8);
    for (size_t change = 0; change < changes && !bytes.empty(); change += 1) {
        const size_t at = place();
        switch (below(8)) {
            case 0: bytes[at] = static_cast<unsigned char>(random()); break;
            case 1: bytes[at] ^= static_cast<unsigned char>(1u << below(8)); break;
            case 2: {
                static const uint32_t odd[] = {0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFF, 65536};
                const uint32_t value = odd[below(8)];
                for (size_t index = 0; index < 4 && at + index < bytes.size(); index += 1) {
                    bytes[at + index] = static_cast<unsigned char>(value >> (8 * index));
                }
                break;
            }
            case 3: bytes.resize(at); break;
            case 4: {
                const size_t count = std::min<size_t>(1 + below(64), bytes.size() - at);
                bytes.erase(bytes.begin() + static_cast<long>(at), bytes.begin() + static_cast<long>(at + count));
                break;
            }
            case 5: {
                const size_t from = place(), count = std::min<size_t>(1 + below(256), bytes.size() - from);
                const Bytes copy(bytes.begin() + static_cast<long>(from), bytes.begin() + static_cast<long>(from + count));
                bytes.insert(bytes.begin() + static_cast<long>(at), copy.begin(), copy.end());
                break;
            }
            case 6: bytes[at] = static_cast<unsigned char>(bytes[at] + (random() % 2 ? 1 : -1)); break;
            default: {
                const size_t count = std::min<size_t>(1 + below(16), bytes.size() - at);
                for (size_t index = 0; index < count; index += 1) {
                    bytes[at + index] = static_cast<unsigned char>(random());
                }
            }
        }
    }
}

/// 0 refused at the door, 1 a header, 2 pixels.
int exercise(const char *path) {
    cdcmtk_error error;
    std::memset(&error, 0, sizeof error);
    int reached = 0;
    cdcmtk_looks_like_dicom(path, &error);
    cdcmtk_header header;
    cdcmtk_frame *frames = nullptr;
    size_t count = 0;
    if (cdcmtk_read_object(path, &header, &frames, &count, &error) == CDCMTK_OK) reached = 1;
    std::free(frames);
    cdcmtk_decoder *decoder = nullptr;
    if (cdcmtk_decoder_open(path, &decoder, &error) != CDCMTK_OK) return reached;
    const size_t largest = size_t(1) << 22;
    const auto fits = [&](int64_t value) { return value > 0 && value < 65536; };
    if (reached && fits(header.rows) && fits(header.columns)
        && static_cast<size_t>(header.rows) * static_cast<size_t>(header.columns) <= largest) {
        const auto number = [](int64_t value) { return static_cast<int32_t>(value); };
        const bool high = (header.present & CDCMTK_HAS_HIGH_BIT) != 0;
        const cdcmtk_pixel_layout layout = {
            number(header.rows), number(header.columns), number(header.bits_allocated), number(header.bits_stored),
            number(high ? header.high_bit : header.bits_stored - 1), header.pixel_representation == 1};
        std::vector<float> pixels(static_cast<size_t>(header.rows * header.columns));
        for (const uint32_t frame : {0u, 1u, 9u, 0xFFFFFFFFu}) {
            const cdcmtk_code code = cdcmtk_decoder_read_frame(decoder, frame, &layout, nullptr, 2, 1, 1, pixels.data(),
                                                               pixels.size(), &error);
            if (code == CDCMTK_OK) reached = 2;
        }
        const cdcmtk_rectangle part = {layout.columns / 2, layout.rows / 2, layout.columns - layout.columns / 2,
                                       layout.rows - layout.rows / 2};
        cdcmtk_decoder_read_frame(decoder, 0, &layout, &part, 1, 0, 0, pixels.data(),
                                  static_cast<size_t>(part.width) * static_cast<size_t>(part.height), &error);
    }
    cdcmtk_picture picture;
    if (cdcmtk_decoder_picture(decoder, &picture, &error) == CDCMTK_OK) {
        const size_t size = static_cast<size_t>(picture.rows) * static_cast<size_t>(picture.columns);
        if (size <= largest) {
            std::vector<uint8_t> pixels(size * 3);
            if (cdcmtk_decoder_read_picture(decoder, pixels.data(), pixels.size(), &error) == CDCMTK_OK) reached = 2;
        }
    }
    std::strlen(cdcmtk_decoder_notes(decoder));
    cdcmtk_decoder_close(decoder);
    return reached;
}

}  // namespace

/// driver SCRATCH FIRST COUNT SECONDS SEED_FILE...: mutations FIRST to FIRST + COUNT - 1; number 0 to the number of
/// files - 1 are the seeds themselves.
int main(int count, char **words) {
    if (count < 6) return 2;
    const std::string current = words[1];
    const size_t first = std::strtoull(words[2], nullptr, 10), many = std::strtoull(words[3], nullptr, 10);
    const unsigned seconds = static_cast<unsigned>(std::strtoul(words[4], nullptr, 10));
    const size_t seeds = static_cast<size_t>(count - 5);
    size_t reached[3] = {};
    for (size_t number = first; number < first + many; number += 1) {
        std::mt19937_64 random(number);
        const char *seed = words[5 + number % seeds];
        Bytes bytes = load(seed);
        if (number >= seeds) mutate(bytes, random);
        std::ofstream(current, std::ios::binary).write(reinterpret_cast<const char *>(bytes.data()),
                                                        static_cast<long>(bytes.size()));
        std::fprintf(stderr, "%zu %s\n", number, seed);
        alarm(seconds);
        reached[exercise(current.c_str())] += 1;
        alarm(0);
    }
    std::printf("%zu %zu %zu\n", reached[0], reached[1], reached[2]);
    return 0;
}
