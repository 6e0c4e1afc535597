#include "header.hpp"
#include "reading.hpp"

#include "cdicom/tags.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace {

uint32_t u32(const std::string &bytes, size_t at) {
    uint32_t value = 0;
    for (size_t index = 0; index < 4; index += 1) {
        value |= static_cast<uint32_t>(static_cast<uint8_t>(bytes[at + index])) << (8 * index);
    }
    return value;
}

/// The values of one tag of the scanner's own header (CSA, of the types with and without "SV10" at the start); empty
/// when it is missing or damaged.
///
/// The format is a list of tags of 84 bytes, each followed by its items: 16 bytes, whose second number is the length,
/// and the text, padded to a multiple of four.
std::vector<double> csa_numbers(const std::string &bytes, const char *wanted) {
    const size_t start = bytes.compare(0, 4, "SV10") == 0 ? 8 : 0;
    if (bytes.size() < start + 8) return {};
    const uint32_t tags = std::min<uint32_t>(u32(bytes, start), 1024);
    size_t at = start + 8;
    for (uint32_t tag = 0; tag < tags; tag += 1) {
        if (bytes.size() < 84 || at > bytes.size() - 84) return {};
        const std::string name(bytes.data() + at, strnlen(bytes.data() + at, 64));
        const uint32_t items = std::min<uint32_t>(u32(bytes, at + 76), 4096);
        at += 84;
        cdicom::Value values;
        std::memcpy(values.vr, "DS", 2);
        for (uint32_t item = 0; item < items; item += 1) {
            if (at > bytes.size() || bytes.size() - at < 16) return {};
            const size_t length = u32(bytes, at + 4);
            at += 16;
            if (length > bytes.size() - at) return {};
            if (length > 0 && name == wanted) {
                if (!values.bytes.empty()) values.bytes += '\\';
                values.bytes += bytes.substr(at, length).c_str();
            }
            at += std::min((length + 3) / 4 * 4, bytes.size() - at);
        }
        if (name == wanted) return values.numbers();
    }
    return {};
}

/// Sets the number of tiles, unless a valid one was already found.
void set_tile_count(double count, cdicom_header &header) {
    if (header.mosaic_tiles == 0 && count >= 1 && count <= 65536 && count == std::floor(count)) {
        header.mosaic_tiles = static_cast<int32_t>(count);
    }
}

}  // namespace

bool cdicom::is_united_imaging(const Node &set) {
    return set.text(tag::PrivateCreator0065).compare(0, 20, "Image Private Header") == 0;
}

void cdicom::find_mosaic(const Node &set, cdicom_header &header) {
    Reader read(set, header.remarks);
    double slices = 0;
    if (is_united_imaging(set) && read.numbers(tag::UnitedImagingSlicesInGrid, &slices, 1) && slices > 1) {
        set_tile_count(slices, header);
        return;
    }
    if (set.text(tag::ImageType).find("MOSAIC") == std::string::npos) return;
    int64_t stated = 0;
    if (set.text(tag::PrivateCreator0019).compare(0, 7, "SIEMENS") == 0) {
        if (read.integer(tag::SiemensNumberOfImagesInMosaic, stated)) {
            set_tile_count(static_cast<double>(stated), header);
        }
        if (const Value *times = set.find(tag::SiemensMosaicRefAcqTimes)) {
            set_tile_count(static_cast<double>(times->numbers().size()), header);
        }
    }
    const struct {
        uint32_t creator, csa_header;
    } blocks[] = {
        {tag::PrivateCreator0029First, tag::CSAImageHeaderInfoFirst},
        {tag::PrivateCreator0029Second, tag::CSAImageHeaderInfoSecond},
        {tag::PrivateCreator0029Third, tag::CSAImageHeaderInfoThird},
    };
    for (const auto &block : blocks) {
        if (set.text(block.creator).compare(0, 18, "SIEMENS CSA HEADER") != 0) continue;
        const Value *scanner = set.find(block.csa_header);
        if (!scanner) continue;
        const std::vector<double> count = csa_numbers(scanner->bytes, "NumberOfImagesInMosaic");
        if (!count.empty()) set_tile_count(count[0], header);
        const std::vector<double> times = csa_numbers(scanner->bytes, "MosaicRefAcqTimes");
        set_tile_count(static_cast<double>(times.size()), header);
        const std::vector<double> normal = csa_numbers(scanner->bytes, "SliceNormalVector");
        if (normal.size() == 3) {
            std::copy(normal.begin(), normal.end(), header.mosaic_normal);
            header.plane.present |= CDICOM_HAS_MOSAIC_NORMAL;
        }
    }
}
