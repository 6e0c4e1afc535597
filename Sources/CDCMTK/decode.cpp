#include "shim.hpp"

#include "dcmtk/dcmdata/dcfcache.h"
#include "dcmtk/dcmdata/dcpixel.h"
#include "dcmtk/dcmdata/dcpixseq.h"
#include "dcmtk/dcmdata/dcpxitem.h"

#include <memory>

/// One open object.
struct cdcmtk_decoder {
    DcmFileFormat file;
    DcmFileCache cache;
};

namespace {

using cdcmtk::fail;

/// More pixels than any CT, MR or PET slice has; keeps what one slice can ask for under a GiB.
const uint64_t largest_slice = 1u << 28;

/// Turns cells of type `Cell` into rescaled floats: the stored bits alone, the highest of them the sign.
template <typename Cell>
void rescale(const void *cells, const cdcmtk_pixel_layout &layout, double slope, double intercept, float *pixels,
             size_t count) {
    const Cell *source = static_cast<const Cell *>(cells);
    const unsigned shift = layout.high_bit + 1 - layout.bits_stored;
    const uint32_t mask = layout.bits_stored >= 32 ? 0xFFFFFFFFu : (1u << layout.bits_stored) - 1;
    const uint32_t sign = layout.is_signed ? 1u << (layout.bits_stored - 1) : 0;
    for (size_t index = 0; index < count; index += 1) {
        const uint32_t stored = (static_cast<uint32_t>(source[index]) >> shift) & mask;
        const int64_t value = static_cast<int64_t>(stored ^ sign) - static_cast<int64_t>(sign);
        pixels[index] = static_cast<float>(slope * static_cast<double>(value) + intercept);
    }
}

bool is_jpeg2000(E_TransferSyntax syntax) {
    return syntax == EXS_JPEG2000LosslessOnly || syntax == EXS_JPEG2000;
}

/// All compressed bytes of a one-frame object; the first item is the offset table.
cdcmtk_code gather(DcmPixelSequence &sequence, std::vector<uint8_t> &stream, cdcmtk_error *error) {
    for (unsigned long index = 1; index < sequence.card(); index += 1) {
        DcmPixelItem *item = nullptr;
        OFCondition condition = sequence.getItem(item, index);
        if (condition.bad() || !item) return fail(error, CDCMTK_DECODER_FAILED, condition);
        Uint8 *bytes = nullptr;
        condition = item->getUint8Array(bytes);
        if (condition.bad()) return fail(error, CDCMTK_WRONG_PIXEL_LENGTH, condition);
        if (bytes) stream.insert(stream.end(), bytes, bytes + item->getLength());
    }
    return stream.empty() ? fail(error, CDCMTK_NO_PIXEL_DATA, std::string("the pixel data is empty")) : CDCMTK_OK;
}

/// Looks at a JPEG or JPEG-LS stream before a decoder does: one that is smaller than the header says would leave part
/// of the picture undefined.
cdcmtk_code check_jpeg(const std::vector<uint8_t> &stream, const cdcmtk_pixel_layout &layout, cdcmtk_error *error) {
    cdcmtk::Codestream facts;
    if (!cdcmtk::read_jpeg_frame_header(stream, facts)) {
        return fail(error, CDCMTK_DECODER_FAILED, std::string("the compressed stream has no JPEG frame header"));
    }
    if (facts.components != 1 || facts.rows != static_cast<unsigned long>(layout.rows)
        || facts.columns != static_cast<unsigned long>(layout.columns)) {
        return fail(error, CDCMTK_DECODER_FAILED,
                    "the compressed stream holds " + std::to_string(facts.columns) + " × " + std::to_string(facts.rows)
                        + " pixels of " + std::to_string(facts.components) + " component(s), the header says "
                        + std::to_string(layout.columns) + " × " + std::to_string(layout.rows) + " of 1");
    }
    if (facts.precision > static_cast<unsigned>(layout.bits_allocated)) {
        return fail(error, CDCMTK_DECODER_FAILED,
                    "the compressed stream has " + std::to_string(facts.precision)
                        + " bits a pixel, the header allocates " + std::to_string(layout.bits_allocated));
    }
    return CDCMTK_OK;
}

/// The layout the file itself states must be the one asked for: a file can change between scan and decoding.
bool agrees(DcmItem &set, const cdcmtk_pixel_layout &layout) {
    Uint16 rows = 0, columns = 0, allocated = 0, stored = 0, sign = 0;
    return set.findAndGetUint16(DCM_Rows, rows).good() && set.findAndGetUint16(DCM_Columns, columns).good()
        && set.findAndGetUint16(DCM_BitsAllocated, allocated).good()
        && set.findAndGetUint16(DCM_BitsStored, stored).good()
        && set.findAndGetUint16(DCM_PixelRepresentation, sign).good() && rows == layout.rows
        && columns == layout.columns && allocated == layout.bits_allocated && stored == layout.bits_stored
        && (sign != 0) == (layout.is_signed != 0);
}

bool sane(const cdcmtk_pixel_layout &layout) {
    const int32_t allocated = layout.bits_allocated;
    return layout.rows > 0 && layout.columns > 0 && (allocated == 8 || allocated == 16 || allocated == 32)
        && layout.bits_stored >= 1 && layout.bits_stored <= allocated && layout.high_bit < allocated
        && layout.high_bit >= layout.bits_stored - 1
        && static_cast<uint64_t>(layout.rows) * layout.columns <= largest_slice;
}

cdcmtk_code check_native(DcmPixelData &pixels, uint64_t needed, cdcmtk_error *error) {
    const uint64_t length = pixels.getLength();
    // One byte of padding makes an odd length even; a second frame's worth is not padding.
    if (length < needed || (length >= 2 * needed && length > needed + 1)) {
        return fail(error, CDCMTK_WRONG_PIXEL_LENGTH,
                    "the pixel data holds " + std::to_string(length) + " bytes, rows and columns need "
                        + std::to_string(needed));
    }
    return CDCMTK_OK;
}

}  // namespace

extern "C" cdcmtk_code cdcmtk_decoder_open(const char *path, cdcmtk_decoder **decoder, cdcmtk_error *error) {
    *decoder = nullptr;
    return cdcmtk::guarded(error, [=]() -> cdcmtk_code {
        cdcmtk_code code = cdcmtk::prepare(error);
        if (code != CDCMTK_OK) return code;
        std::unique_ptr<cdcmtk_decoder> made(new cdcmtk_decoder);
        code = cdcmtk::load(path, made->file, nullptr, nullptr, error);
        if (code == CDCMTK_OK) *decoder = made.release();
        return code;
    });
}

extern "C" void cdcmtk_decoder_close(cdcmtk_decoder *decoder) {
    cdcmtk::guarded(nullptr, [=]() -> cdcmtk_code {
        delete decoder;
        return CDCMTK_OK;
    });
}

namespace {

void rescale_cells(const std::vector<uint32_t> &cells, const cdcmtk_pixel_layout &layout, double slope,
                   double intercept, float *pixels, size_t count) {
    switch (layout.bits_allocated) {
        case 8: rescale<uint8_t>(cells.data(), layout, slope, intercept, pixels, count); break;
        case 16: rescale<uint16_t>(cells.data(), layout, slope, intercept, pixels, count); break;
        default: rescale<uint32_t>(cells.data(), layout, slope, intercept, pixels, count); break;
    }
}

/// Has DCMTK copy, or decompress, one frame.
cdcmtk_code decode_by_dcmtk(cdcmtk_decoder &decoder, DcmPixelData &data, uint32_t frame,
                            const cdcmtk_pixel_layout &layout, std::vector<uint32_t> &cells, bool encapsulated,
                            cdcmtk_error *error) {
    DcmDataset &set = *decoder.file.getDataset();
    const size_t bytes = static_cast<size_t>(layout.rows) * layout.columns * (layout.bits_allocated / 8);
    cells.resize(bytes / 4 + 1);
    Uint32 fragment = 0;
    OFString colours;
    const cdcmtk::DecoderWords heard;
    // The decoders want an even number of bytes.
    const OFCondition condition = data.getUncompressedFrame(
        &set, frame, fragment, cells.data(), static_cast<Uint32>((bytes + 1) & ~size_t(1)), colours, &decoder.cache);
    if (condition.bad()) {
        // This is what comes of asking for the fragment after the last.
        const bool ended = encapsulated && condition == EC_IllegalCall;
        fail(error, CDCMTK_DECODER_FAILED, condition);
        if (ended && error) {
            cdcmtk::copy_text(error->text, sizeof error->text, "the compressed stream ends before the picture does");
        }
        return CDCMTK_DECODER_FAILED;
    }
    if (!heard.words.empty()) return fail(error, CDCMTK_DECODER_FAILED, heard.words);
    if (layout.bits_allocated == 32 && DcmXfer(set.getOriginalXfer()).getByteOrder() == EBO_BigEndian) {
        // DCMTK turns the bytes of 16-bit words alone; of a 32-bit cell the words are then still the wrong way round.
        for (uint32_t &value : cells) value = value << 16 | value >> 16;
    }
    return CDCMTK_OK;
}

/// Decodes a compressed frame by whatever knows its syntax.
cdcmtk_code decode_stream(cdcmtk_decoder &decoder, DcmPixelData &data, E_TransferSyntax syntax,
                          const std::vector<uint8_t> &stream, const cdcmtk_pixel_layout &layout,
                          std::vector<uint32_t> &cells, cdcmtk_error *error) {
    if (syntax == EXS_RLELossless) return cdcmtk::decode_rle(stream, layout, cells, error);
    const cdcmtk_code code = check_jpeg(stream, layout, error);
    return code == CDCMTK_OK ? decode_by_dcmtk(decoder, data, 0, layout, cells, true, error) : code;
}

}  // namespace

extern "C" cdcmtk_code cdcmtk_decoder_read_frame(cdcmtk_decoder *decoder, uint32_t frame,
                                                 const cdcmtk_pixel_layout *layout, double slope, double intercept,
                                                 float *pixels, size_t count, cdcmtk_error *error) {
    return cdcmtk::guarded(error, [=]() -> cdcmtk_code {
        if (!sane(*layout) || count != static_cast<size_t>(layout->rows) * layout->columns) {
            return fail(error, CDCMTK_UNSUPPORTED_PIXELS, std::string("rows, columns or bits are out of range"));
        }
        DcmDataset *set = decoder->file.getDataset();
        if (!agrees(*set, *layout)) {
            return fail(error, CDCMTK_UNSUPPORTED_PIXELS,
                        std::string("rows, columns or bits are not those of the scan: did the file change?"));
        }
        DcmElement *element = nullptr;
        if (set->findAndGetElement(DCM_PixelData, element).bad() || !element) {
            return fail(error, CDCMTK_NO_PIXEL_DATA, std::string("there is no element PixelData (7FE0,0010)"));
        }
        DcmPixelData *data = dynamic_cast<DcmPixelData *>(element);
        if (!data) return fail(error, CDCMTK_NO_PIXEL_DATA, std::string("PixelData (7FE0,0010) holds no pixels"));

        E_TransferSyntax syntax = EXS_Unknown;
        const DcmRepresentationParameter *parameter = nullptr;
        data->getOriginalRepresentationKey(syntax, parameter);
        std::vector<uint32_t> cells;
        if (!DcmXfer(syntax).isEncapsulated()) {
            const uint64_t needed = static_cast<uint64_t>(layout->bits_allocated / 8) * count;
            cdcmtk_code code = check_native(*data, needed * (uint64_t(frame) + 1), error);
            if (code == CDCMTK_OK) code = decode_by_dcmtk(*decoder, *data, frame, *layout, cells, false, error);
            if (code == CDCMTK_OK) rescale_cells(cells, *layout, slope, intercept, pixels, count);
            return code;
        }
        if (frame != 0) return fail(error, CDCMTK_UNSUPPORTED_PIXELS, std::string("only one frame is decoded"));
        DcmPixelSequence *sequence = nullptr;
        const OFCondition condition = data->getEncapsulatedRepresentation(syntax, parameter, sequence);
        if (condition.bad() || !sequence) return fail(error, CDCMTK_DECODER_FAILED, condition);
        std::vector<uint8_t> stream;
        cdcmtk_code code = gather(*sequence, stream, error);
        if (code != CDCMTK_OK) return code;
        if (is_jpeg2000(syntax)) {
            std::vector<int32_t> values;
            code = cdcmtk::decode_jpeg2000(stream, *layout, values, error);
            if (code != CDCMTK_OK) return code;
            for (size_t index = 0; index < count; index += 1) {
                pixels[index] = static_cast<float>(slope * values[index] + intercept);
            }
            return CDCMTK_OK;
        }
        code = decode_stream(*decoder, *data, syntax, stream, *layout, cells, error);
        if (code == CDCMTK_OK) rescale_cells(cells, *layout, slope, intercept, pixels, count);
        return code;
    });
}
