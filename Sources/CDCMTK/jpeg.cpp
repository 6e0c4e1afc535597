#include "codecs.hpp"

#include "dcmtk/dcmdata/dcpixel.h"
#include "dcmtk/dcmdata/dcpixseq.h"
#include "dcmtk/dcmdata/dcpxitem.h"

namespace {

using cdcmtk::fail;
using cdicom::Layout;
using cdicom::Samples;

/// Checks the stream's own header before decoding: a stream whose image is smaller than the object's header states
/// would leave part of the image undefined.
cdicom_code check(const cdcmtk::Codestream &facts, const Layout &layout, size_t bytes, bool is_ls,
                  cdicom_error *error) {
    if (facts.components != layout.samples || facts.rows != layout.rows || facts.columns != layout.columns) {
        return fail(error, CDICOM_DECODER_FAILED,
                    "the compressed stream holds " + std::to_string(facts.columns) + " × " + std::to_string(facts.rows)
                        + " pixels of " + std::to_string(facts.components) + " component(s), the header states "
                        + std::to_string(layout.columns) + " × " + std::to_string(layout.rows) + " of "
                        + std::to_string(layout.samples));
    }
    if (facts.precision > layout.allocated || facts.precision < 1 || facts.precision > 16) {
        return fail(error, CDICOM_DECODER_FAILED,
                    "the compressed stream has " + std::to_string(facts.precision)
                        + " bits per pixel, the header states " + std::to_string(layout.allocated));
    }
    if (is_ls && facts.precision < 6) {
        return fail(error, CDICOM_UNSUPPORTED_PIXELS,
                    "JPEG-LS of " + std::to_string(facts.precision) + " bits per pixel; 6 to 16 are supported");
    }
    // No memory is allocated for an image that the stream cannot contain: a block of 8 × 8 needs at least one bit, and
    // in JPEG-LS each row does.
    if (layout.rows > bytes * 8 || (!is_ls && layout.pixels() > static_cast<uint64_t>(bytes) * 1024)) {
        return fail(error, CDICOM_WRONG_PIXEL_LENGTH,
                    std::to_string(bytes) + " compressed bytes cannot hold " + std::to_string(layout.pixels())
                        + " pixels");
    }
    return CDICOM_OK;
}

/// A JPEG-LS stream of fewer than 8 bits with its thresholds stated: the decoder computes wrong default ones for it.
///
/// The formulas are those of ISO 14495-1, C.2.4.1.1.1. A stream that states its own is not changed.
std::vector<uint8_t> with_thresholds(const std::vector<uint8_t> &stream, unsigned precision) {
    const int most = (1 << precision) - 1, factor = 256 / (most + 1);
    const auto within = [most](int value, int least) { return value > most || value < least ? least : value; };
    for (size_t at = 2; at + 4 < stream.size() && stream[at] == 0xFF;) {
        const size_t length = static_cast<size_t>(stream[at + 2]) << 8 | stream[at + 3];
        if (stream[at + 1] == 0xF8) return stream;
        const size_t place_of_near = at + 5 + 2 * static_cast<size_t>(stream[at + 4]);
        if (stream[at + 1] == 0xDA && place_of_near < stream.size()) {
            const int near = stream[place_of_near];
            const int first = within(std::max(2, 3 / factor + 3 * near), near + 1);
            const int second = within(std::max(3, 7 / factor + 5 * near), first);
            const int third = within(std::max(4, 21 / factor + 7 * near), second);
            std::vector<uint8_t> segment = {0xFF, 0xF8, 0, 13, 1};
            for (const int value : {most, first, second, third, 64}) {
                segment.push_back(static_cast<uint8_t>(value >> 8));
                segment.push_back(static_cast<uint8_t>(value));
            }
            std::vector<uint8_t> whole(stream);
            whole.insert(whole.begin() + static_cast<ptrdiff_t>(at), segment.begin(), segment.end());
            return whole;
        }
        at += 2 + length;
    }
    return stream;
}

/// Decodes the stream as the only frame of a separate data set, so that nothing else in the file affects the decoder.
cdicom_code decode_alone(const std::vector<uint8_t> &stream, const Layout &layout, E_TransferSyntax syntax,
                         Samples &samples, cdicom_error *error) {
    const unsigned bits = samples.kind == Samples::u8 ? 8 : 16;
    DcmDataset set;
    const auto number = [&set](const DcmTagKey &tag, uint64_t value) {
        set.putAndInsertUint16(tag, static_cast<Uint16>(value));
    };
    number(DCM_SamplesPerPixel, layout.samples);
    set.putAndInsertString(DCM_PhotometricInterpretation, layout.samples == 1 ? "MONOCHROME2" : "RGB");
    if (layout.samples > 1) number(DCM_PlanarConfiguration, 0);
    set.putAndInsertString(DCM_NumberOfFrames, "1");
    number(DCM_Rows, layout.rows);
    number(DCM_Columns, layout.columns);
    number(DCM_BitsAllocated, bits);
    number(DCM_BitsStored, std::min(layout.stored, bits));
    number(DCM_HighBit, std::min(layout.high, bits - 1));
    number(DCM_PixelRepresentation, 0);

    std::unique_ptr<DcmPixelSequence> sequence(new DcmPixelSequence(DcmTag(DCM_PixelData, EVR_OB)));
    std::unique_ptr<DcmPixelItem> table(new DcmPixelItem(DcmTag(DCM_Item, EVR_OB)));
    if (sequence->insert(table.get()).good()) table.release();
    std::unique_ptr<DcmPixelItem> item(new DcmPixelItem(DcmTag(DCM_Item, EVR_OB)));
    std::vector<uint8_t> even(stream);
    if (even.size() % 2 == 1) even.push_back(0);
    OFCondition condition = item->putUint8Array(even.data(), static_cast<unsigned long>(even.size()));
    if (condition.good()) condition = sequence->insert(item.get());
    if (condition.bad()) return fail(error, CDICOM_DECODER_FAILED, condition);
    item.release();
    DcmPixelData data(DcmTag(DCM_PixelData, EVR_OB));
    data.putOriginalRepresentation(syntax, nullptr, sequence.release());

    Uint32 fragment = 0;
    OFString colours;
    const cdcmtk::DamageWarningScope warning;
    const Uint32 bytes = static_cast<Uint32>(samples.storage.size() * sizeof samples.storage[0]);
    condition = data.getUncompressedFrame(&set, 0, fragment, samples.storage.data(), bytes, colours);
    if (condition.bad()) {
        // DCMTK returns this code for a fragment after the last one.
        const bool ended = condition == EC_IllegalCall;
        fail(error, CDICOM_DECODER_FAILED, condition);
        if (ended && error) {
            cdicom::copy_text(error->text, "the compressed stream is truncated");
        }
        return CDICOM_DECODER_FAILED;
    }
    return warning.text.empty() ? CDICOM_OK : fail(error, CDICOM_DECODER_FAILED, warning.text);
}

}  // namespace

cdicom_code cdcmtk::decode_jpeg(const std::vector<uint8_t> &stream, const Layout &layout, E_TransferSyntax syntax,
                                Samples &samples, cdicom_error *error) {
    Codestream facts;
    if (!read_jpeg_frame_header(stream, facts)) {
        return fail(error, CDICOM_DECODER_FAILED, "the compressed stream has no JPEG frame header");
    }
    const bool is_ls = syntax == EXS_JPEGLSLossless || syntax == EXS_JPEGLSLossy;
    cdicom_code code = check(facts, layout, stream.size(), is_ls, error);
    if (code == CDICOM_OK) code = prepare(error);
    if (code != CDICOM_OK) return code;
    const unsigned bits = facts.precision <= 8 ? 8 : 16;
    // The decoders expect an even number of bytes.
    const size_t bytes = static_cast<size_t>((layout.pixels() * layout.samples * (bits / 8) + 1) & ~uint64_t(1));
    samples.allocate(bits == 8 ? Samples::u8 : Samples::u16, bytes);
    const bool lacks_thresholds = is_ls && facts.precision < 8;
    return decode_alone(lacks_thresholds ? with_thresholds(stream, facts.precision) : stream, layout, syntax, samples,
                        error);
}

namespace {

enum { start_of_lossless_frame = 0xC3, most_bytes_of_header = 1 << 16 };

cdicom_code decode_lossless(const std::vector<uint8_t> &stream, void *pixels, size_t count, cdicom_error *error) {
    cdcmtk::Codestream facts;
    if (!cdcmtk::read_jpeg_frame_header(stream, facts) || facts.marker != start_of_lossless_frame) {
        return fail(error, CDICOM_UNSUPPORTED_PIXELS, "lossless JPEG next to another process of JPEG");
    }
    Layout layout;
    layout.rows = facts.rows;
    layout.columns = facts.columns;
    layout.samples = facts.components;
    layout.stored = facts.precision;
    layout.allocated = facts.precision <= 8 ? 8 : 16;
    layout.high = facts.precision - 1;
    if (facts.components != 1 && facts.components != 3) {
        return fail(error, CDICOM_UNSUPPORTED_PIXELS,
                    "lossless JPEG of " + std::to_string(facts.components) + " components; 1 or 3 are supported");
    }
    Samples samples;
    // The decoder of this process reads all predictors.
    const cdicom_code code = cdcmtk::decode_jpeg(stream, layout, EXS_JPEGProcess14, samples, error);
    if (code != CDICOM_OK) return code;
    if (count > layout.pixels() * layout.samples * (layout.allocated / 8)) {
        return fail(error, CDICOM_DECODER_FAILED,
                    "lossless JPEG of " + std::to_string(facts.columns) + " × " + std::to_string(facts.rows)
                        + " pixels, fewer than the header states");
    }
    std::copy_n(samples.as<uint8_t>(), count, static_cast<uint8_t *>(pixels));
    return CDICOM_OK;
}

}  // namespace

int cdcmtk_read_jpeg_frame(const uint8_t *stream, size_t length, cdcmtk_jpeg_frame *frame) {
    cdcmtk::Codestream facts;
    bool found = false;
    cdcmtk::guarded(nullptr, [&] {
        const std::vector<uint8_t> beginning(stream, stream + std::min<size_t>(length, most_bytes_of_header));
        found = cdcmtk::read_jpeg_frame_header(beginning, facts);
        return CDICOM_OK;
    });
    if (!found) return 0;
    frame->marker = facts.marker;
    frame->rows = static_cast<int32_t>(facts.rows);
    frame->columns = static_cast<int32_t>(facts.columns);
    frame->components = static_cast<int32_t>(facts.components);
    frame->bits = static_cast<int32_t>(facts.precision);
    return 1;
}

cdicom_code cdcmtk_decode_lossless_jpeg(const uint8_t *stream, size_t length, void *samples, size_t count,
                                        cdicom_error *error) {
    return cdcmtk::guarded(error, [&] {
        return decode_lossless(std::vector<uint8_t>(stream, stream + length), samples, count, error);
    });
}
