#include "cdicom/frames.hpp"

#include <cstring>

namespace {

using cdicom::note_once;
using cdicom::Object;
using cdicom::PixelElement;

/// The first fragment of each frame according to the offset table; empty when the table does not match the fragments.
std::vector<size_t> by_table(const PixelElement &pixels, size_t frames) {
    std::vector<size_t> starts;
    if (pixels.offsets.size() != frames || pixels.fragments.empty()) return starts;
    // Offsets count from the item tag of the first fragment.
    const uint64_t base = pixels.fragments[0].at;
    size_t fragment = 0;
    for (const uint64_t offset : pixels.offsets) {
        while (fragment < pixels.fragments.size() && pixels.fragments[fragment].at - base < offset) fragment += 1;
        if (fragment >= pixels.fragments.size() || pixels.fragments[fragment].at - base != offset) return {};
        if (!starts.empty() && starts.back() >= fragment) return {};
        starts.push_back(fragment);
    }
    if (starts[0] != 0) starts.clear();
    return starts;
}

/// The fragments that start like a JPEG, JPEG-LS or JPEG 2000 stream.
std::vector<size_t> by_stream_starts(Object &object) {
    std::vector<size_t> starts;
    const std::vector<PixelElement::Piece> &fragments = object.pixels.fragments;
    for (size_t index = 0; index < fragments.size(); index += 1) {
        const uint8_t *start = fragments[index].length >= 12 ? object.bytes->view(fragments[index].at, 12) : nullptr;
        if (!start) continue;
        const bool jpeg = start[0] == 0xFF && start[1] == 0xD8 && start[2] == 0xFF;
        const bool jpeg2000 = start[0] == 0xFF && start[1] == 0x4F && start[2] == 0xFF && start[3] == 0x51;
        const bool boxed = std::memcmp(start, "\0\0\0\x0CjP  \r\n\x87\n", 12) == 0;
        if (jpeg || jpeg2000 || boxed) starts.push_back(index);
    }
    if (!starts.empty() && starts[0] != 0) starts.clear();
    return starts;
}

/// Finds the fragments that start a frame: by the table, by their number, or by their first bytes.
cdicom_code find_starts(Object &object, size_t frames, std::vector<std::string> &notes, cdicom_error *error) {
    const size_t count = object.pixels.fragments.size();
    if (count < frames) {
        return cdicom::fail(error, CDICOM_WRONG_PIXEL_LENGTH,
                            "the pixel data has " + std::to_string(count) + " fragments, " + std::to_string(frames)
                                + " frames need at least as many");
    }
    std::vector<size_t> starts = by_table(object.pixels, frames);
    const std::string table =
        object.pixels.offsets.empty() ? "there is no offset table; " : "the offset table is wrong; ";
    if (starts.empty() && count == frames) {
        if (!object.pixels.offsets.empty()) note_once(notes, table + "each fragment was treated as a frame");
        for (size_t index = 0; index < count; index += 1) starts.push_back(index);
    } else if (starts.empty()) {
        starts = by_stream_starts(object);
        if (starts.size() != frames) {
            return cdicom::fail(error, CDICOM_WRONG_PIXEL_LENGTH,
                                std::to_string(count) + " fragments without a usable offset table cannot be "
                                    + "assigned to " + std::to_string(frames) + " frames: "
                                    + std::to_string(starts.size()) + " of them begin a stream");
        }
        note_once(notes, table + "frames were found by the starts of their streams");
    }
    object.pixels.starts = std::move(starts);
    return CDICOM_OK;
}

}  // namespace

cdicom_code cdicom::read_stream(Object &object, const Layout &layout, uint32_t frame, std::vector<uint8_t> &stream,
                                std::vector<std::string> &notes, cdicom_error *error) {
    const std::vector<PixelElement::Piece> &fragments = object.pixels.fragments;
    const size_t frames = static_cast<size_t>(layout.frames), count = fragments.size();
    if (count == 0) return fail(error, CDICOM_NO_PIXEL_DATA, "the pixel data is empty");
    size_t first = 0, end = count;
    if (frames > 1) {
        if (object.pixels.starts.empty()) {
            const cdicom_code code = find_starts(object, frames, notes, error);
            if (code != CDICOM_OK) return code;
        }
        const std::vector<size_t> &starts = object.pixels.starts;
        first = starts[frame];
        end = frame + 1 < frames ? starts[frame + 1] : count;
    }
    uint64_t length = 0;
    for (size_t index = first; index < end; index += 1) length += fragments[index].length;
    if (length == 0) return fail(error, CDICOM_NO_PIXEL_DATA, "the pixel data is empty");
    if (length >= UINT32_MAX) {
        return fail(error, CDICOM_UNSUPPORTED_PIXELS, "a compressed frame of 4 GiB or more");
    }
    stream.resize(static_cast<size_t>(length));
    size_t at = 0;
    for (size_t index = first; index < end; index += 1) {
        const size_t piece = static_cast<size_t>(fragments[index].length);
        if (piece > 0 && !object.bytes->copy(fragments[index].at, piece, stream.data() + at)) {
            return fail(error, CDICOM_WRONG_PIXEL_LENGTH, "the pixel data cannot be read");
        }
        at += piece;
    }
    return CDICOM_OK;
}
