#include "segframes.hpp"

#include "codecs.hpp"

#include "dcmtk/dcmdata/dcpixel.h"
#include "dcmtk/dcmdata/dcpixseq.h"
#include "dcmtk/dcmdata/dcpxitem.h"

#include <cstring>
#include <zlib.h>

using cdcmtk::fail;

namespace {

size_t pixels_in_frame(const cdcmtk_segmentation &segmentation) {
    return size_t(segmentation.facts.rows) * size_t(segmentation.facts.columns);
}

/// Finds the first fragment of each frame: one fragment per frame, or as the offset table states.
cdicom_code assign_fragments(cdcmtk_segmentation &segmentation, cdicom_error *error) {
    const size_t frames = segmentation.facts.frames, count = segmentation.items.size();
    segmentation.fragments.clear();
    if (count == frames + 1) {
        for (size_t frame = 0; frame <= frames; frame += 1) segmentation.fragments.push_back(frame + 1);
        return CDICOM_OK;
    }
    if (frames == 1 && count > 1) {
        segmentation.fragments = {1, count};
        return CDICOM_OK;
    }
    const char *const fault = "the compressed fragments cannot be assigned to frames";
    if (count < frames + 1) return fail(error, CDICOM_WRONG_PIXEL_LENGTH, fault);
    DcmPixelItem &table = *segmentation.items[0];
    Uint8 *bytes = nullptr;
    if (table.getLength() != 4 * frames || table.getUint8Array(bytes).bad() || !bytes) {
        return fail(error, CDICOM_WRONG_PIXEL_LENGTH, fault);
    }
    uint64_t offset = 0;
    size_t frame = 0;
    for (size_t index = 1; index < count && frame < frames; index += 1) {
        const Uint8 *entry = bytes + 4 * frame;
        const uint64_t wanted = entry[0] | entry[1] << 8 | entry[2] << 16 | uint64_t(entry[3]) << 24;
        if (wanted == offset) {
            segmentation.fragments.push_back(index);
            frame += 1;
        }
        offset += 8 + uint64_t(segmentation.items[index]->getLength());
    }
    if (frame != frames || segmentation.fragments[0] != 1) return fail(error, CDICOM_WRONG_PIXEL_LENGTH, fault);
    segmentation.fragments.push_back(count);
    return CDICOM_OK;
}

cdicom_code gather(cdcmtk_segmentation &segmentation, size_t frame, std::vector<uint8_t> &stream, cdicom_error *error) {
    for (unsigned long index = segmentation.fragments[frame]; index < segmentation.fragments[frame + 1]; index += 1) {
        DcmPixelItem &item = *segmentation.items[index];
        Uint8 *bytes = nullptr;
        const OFCondition condition = item.getUint8Array(bytes);
        if (condition.bad()) return fail(error, CDICOM_WRONG_PIXEL_LENGTH, condition);
        if (bytes) stream.insert(stream.end(), bytes, bytes + item.getLength());
    }
    return stream.empty() ? fail(error, CDICOM_NO_PIXEL_DATA, "a frame without data") : CDICOM_OK;
}

cdicom_code inflate_frame(std::vector<uint8_t> &stream, std::vector<uint8_t> &bytes, cdicom_error *error) {
    z_stream state;
    std::memset(&state, 0, sizeof state);
    if (inflateInit2(&state, -MAX_WBITS) != Z_OK) return fail(error, CDICOM_NO_MEMORY, "no memory to inflate");
    state.next_in = stream.data();
    state.avail_in = static_cast<uInt>(stream.size());
    state.next_out = bytes.data();
    state.avail_out = static_cast<uInt>(bytes.size());
    const int code = inflate(&state, Z_FINISH);
    const bool is_full = state.avail_out == 0;
    inflateEnd(&state);
    if (!is_full || (code != Z_STREAM_END && code != Z_BUF_ERROR && code != Z_OK)) {
        return fail(error, CDICOM_DECODER_FAILED, "a deflated frame does not fill its picture");
    }
    return CDICOM_OK;
}

/// Bits, lowest first, from bit `start` of `bytes`.
void unpack_bits(const uint8_t *bytes, size_t start, uint16_t *values, size_t count) {
    for (size_t index = 0; index < count; index += 1) {
        const size_t bit = start + index;
        values[index] = bytes[bit >> 3] >> (bit & 7) & 1;
    }
}

void widen(const uint8_t *bytes, int32_t bits, uint16_t mask, uint16_t *values, size_t count) {
    for (size_t index = 0; index < count; index += 1) {
        const uint16_t value =
            bits == 8 ? bytes[index] : static_cast<uint16_t>(bytes[2 * index] | bytes[2 * index + 1] << 8);
        values[index] = value & mask;
    }
}

cdicom_code read_native(cdcmtk_segmentation &segmentation, size_t frame, uint16_t *values, cdicom_error *error) {
    const size_t pixels = pixels_in_frame(segmentation);
    const int32_t bits = segmentation.facts.bits_allocated;
    const uint64_t first = uint64_t(frame) * pixels * bits, end = first + uint64_t(pixels) * bits;
    // Reads whole words, because DCMTK swaps the bytes of words.
    const uint64_t from = first / 16 * 2;
    const uint64_t to = std::min<uint64_t>((end + 15) / 16 * 2, segmentation.pixels->getLength());
    std::vector<uint8_t> bytes(static_cast<size_t>(to - from));
    const OFCondition condition = segmentation.pixels->getPartialValue(
        bytes.data(), static_cast<Uint32>(from), static_cast<Uint32>(bytes.size()), &segmentation.cache,
        EBO_LittleEndian);
    if (condition.bad()) return fail(error, CDICOM_WRONG_PIXEL_LENGTH, condition);
    if (bits == 1) {
        unpack_bits(bytes.data(), static_cast<size_t>(first - from * 8), values, pixels);
    } else {
        const uint16_t mask = static_cast<uint16_t>((1u << segmentation.facts.bits_stored) - 1);
        widen(bytes.data() + (first / 8 - from), bits, mask, values, pixels);
    }
    return CDICOM_OK;
}

/// Frames of JPEG and JPEG-LS, which DCMTK decodes.
cdicom_code read_by_dcmtk(cdcmtk_segmentation &segmentation, size_t frame, const std::vector<uint8_t> &stream,
                          std::vector<uint32_t> &cells, cdicom_error *error) {
    const cdcmtk_segmentation_facts &facts = segmentation.facts;
    cdcmtk::Codestream header;
    if (!cdcmtk::read_jpeg_frame_header(stream, header) || header.components != 1
        || header.rows != static_cast<unsigned long>(facts.rows)
        || header.columns != static_cast<unsigned long>(facts.columns)
        || header.precision > static_cast<unsigned>(facts.bits_allocated) || facts.bits_allocated == 1) {
        return fail(error, CDICOM_DECODER_FAILED, "the compressed frame does not have the size stated in the header");
    }
    const size_t bytes = pixels_in_frame(segmentation) * (facts.bits_allocated / 8);
    cells.assign(bytes / 4 + 1, 0);
    Uint32 fragment = static_cast<Uint32>(segmentation.fragments[frame]);
    OFString colours;
    const cdcmtk::DamageWarningScope warning;
    const OFCondition condition = segmentation.pixels->getUncompressedFrame(
        segmentation.file.getDataset(), static_cast<Uint32>(frame), fragment, cells.data(),
        static_cast<Uint32>((bytes + 1) & ~size_t(1)), colours, &segmentation.cache);
    if (condition.bad()) return fail(error, CDICOM_DECODER_FAILED, condition);
    return warning.text.empty() ? CDICOM_OK : fail(error, CDICOM_DECODER_FAILED, warning.text);
}

cdicom_code read_compressed(cdcmtk_segmentation &segmentation, size_t frame, uint16_t *values, cdicom_error *error) {
    const cdcmtk_segmentation_facts &facts = segmentation.facts;
    const size_t pixels = pixels_in_frame(segmentation);
    const uint16_t mask = static_cast<uint16_t>((1u << facts.bits_stored) - 1);
    std::vector<uint8_t> stream;
    cdicom_code code = gather(segmentation, frame, stream, error);
    if (code != CDICOM_OK) return code;
    if (segmentation.is_deflated) {
        const size_t needed = (pixels * facts.bits_allocated + 7) / 8;
        if (needed / 1100 > stream.size()) {
            return fail(error, CDICOM_WRONG_PIXEL_LENGTH, "a deflated frame cannot hold its picture");
        }
        std::vector<uint8_t> bytes(needed);
        code = inflate_frame(stream, bytes, error);
        if (code != CDICOM_OK) return code;
        if (facts.bits_allocated == 1) unpack_bits(bytes.data(), 0, values, pixels);
        else widen(bytes.data(), facts.bits_allocated, mask, values, pixels);
        return CDICOM_OK;
    }
    cdicom::Layout layout;
    layout.rows = static_cast<uint64_t>(facts.rows);
    layout.columns = static_cast<uint64_t>(facts.columns);
    layout.allocated = static_cast<unsigned>(facts.bits_allocated);
    layout.stored = static_cast<unsigned>(facts.bits_stored);
    layout.high = static_cast<unsigned>(facts.high_bit);
    cdicom::Samples samples;
    if (segmentation.syntax == EXS_JPEG2000LosslessOnly || segmentation.syntax == EXS_JPEG2000) {
        const cdicom_code other = cdcmtk::decode_jpeg2000(stream, layout, samples, error);
        if (other != CDICOM_OK) return other;
        const int32_t *decoded = samples.as<int32_t>();
        for (size_t index = 0; index < pixels; index += 1) values[index] = static_cast<uint16_t>(decoded[index]) & mask;
        return CDICOM_OK;
    }
    if (segmentation.syntax == EXS_RLELossless) {
        if (facts.bits_allocated == 1) {
            // Bits are packed within the frame, and their bytes are compressed as if they were pixels.
            layout.rows = 1;
            layout.columns = (pixels + 7) / 8;
            layout.allocated = layout.stored = 8;
            layout.high = 7;
        }
        const cdicom_code other = cdicom::decode_rle(stream, layout, samples, error);
        if (other != CDICOM_OK) return other;
        if (facts.bits_allocated == 1) unpack_bits(samples.as<uint8_t>(), 0, values, pixels);
        else widen(samples.as<uint8_t>(), facts.bits_allocated, mask, values, pixels);
        return CDICOM_OK;
    }
    std::vector<uint32_t> cells;
    code = read_by_dcmtk(segmentation, frame, stream, cells, error);
    if (code != CDICOM_OK) return code;
    widen(reinterpret_cast<const uint8_t *>(cells.data()), facts.bits_allocated, mask, values, pixels);
    return CDICOM_OK;
}

}  // namespace

cdicom_code cdcmtk::find_frames(cdcmtk_segmentation &segmentation, cdicom_error *error) {
    DcmDataset &set = *segmentation.file.getDataset();
    DcmElement *element = nullptr;
    if (set.findAndGetElement(DCM_PixelData, element).bad() || !element) {
        return fail(error, CDICOM_NO_PIXEL_DATA, "there is no element PixelData (7FE0,0010)");
    }
    segmentation.pixels = dynamic_cast<DcmPixelData *>(element);
    if (!segmentation.pixels) return fail(error, CDICOM_NO_PIXEL_DATA, "PixelData (7FE0,0010) holds no pixels");
    const std::string stated = segmentation.file.getMetaInfo()
        ? text_in(*segmentation.file.getMetaInfo(), DCM_TransferSyntaxUID) : "";
    segmentation.is_deflated = stated == "1.2.840.10008.1.2.8.1";
    const DcmRepresentationParameter *parameter = nullptr;
    segmentation.pixels->getOriginalRepresentationKey(segmentation.syntax, parameter);
    DcmPixelSequence *sequence = nullptr;
    if (segmentation.is_deflated || DcmXfer(segmentation.syntax).isEncapsulated()) {
        const OFCondition condition =
            segmentation.pixels->getEncapsulatedRepresentation(segmentation.syntax, parameter, sequence);
        if (condition.bad() || !sequence) return fail(error, CDICOM_DECODER_FAILED, condition);
        DcmObject *object = nullptr;
        for (unsigned long index = 0; index < sequence->card(); index += 1) {
            object = sequence->nextInContainer(object);
            DcmPixelItem *item = dynamic_cast<DcmPixelItem *>(object);
            if (!item) return fail(error, CDICOM_DECODER_FAILED, "an item of the pixel data is not a fragment");
            segmentation.items.push_back(item);
        }
        return assign_fragments(segmentation, error);
    }
    const uint64_t bits =
        uint64_t(segmentation.facts.frames) * pixels_in_frame(segmentation) * segmentation.facts.bits_allocated;
    if ((bits + 7) / 8 > segmentation.pixels->getLength()) {
        return fail(error, CDICOM_WRONG_PIXEL_LENGTH,
                    "the pixel data holds " + std::to_string(segmentation.pixels->getLength())
                        + " bytes, the frames need " + std::to_string((bits + 7) / 8));
    }
    return CDICOM_OK;
}

extern "C" cdicom_code cdcmtk_segmentation_read_frame(cdcmtk_segmentation *segmentation, size_t index, uint16_t *values,
                                                      size_t count, cdicom_error *error) {
    return cdcmtk::guarded(error, [=]() -> cdicom_code {
        if (index >= segmentation->frames.size() || count != pixels_in_frame(*segmentation)) {
            return fail(error, CDICOM_INTERNAL, "no such frame, or of another size");
        }
        return segmentation->items.empty() ? read_native(*segmentation, index, values, error)
                                           : read_compressed(*segmentation, index, values, error);
    });
}
