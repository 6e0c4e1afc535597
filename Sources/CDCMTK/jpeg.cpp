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
    // No memory is allocated for an image that the stream cannot contain: a block of 8 × 8 needs at least one bit, and
    // in JPEG-LS each row does.
    if (layout.rows > bytes * 8 || (!is_ls && layout.pixels() > static_cast<uint64_t>(bytes) * 1024)) {
        return fail(error, CDICOM_WRONG_PIXEL_LENGTH,
                    std::to_string(bytes) + " compressed bytes cannot hold " + std::to_string(layout.pixels())
                        + " pixels");
    }
    return CDICOM_OK;
}

/// Decodes the stream as the only frame of a separate data set, so that nothing else in the file affects the decoder.
cdicom_code decode_alone(const std::vector<uint8_t> &stream, const Layout &layout, E_TransferSyntax syntax,
                         unsigned bits, void *target, size_t bytes, cdicom_error *error) {
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
    condition = data.getUncompressedFrame(&set, 0, fragment, target, static_cast<Uint32>(bytes), colours);
    if (condition.bad()) {
        // DCMTK returns this code for a fragment after the last one.
        const bool ended = condition == EC_IllegalCall;
        fail(error, CDICOM_DECODER_FAILED, condition);
        if (ended && error) {
            cdicom::copy_text(error->text, sizeof error->text, "the compressed stream is truncated");
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
    return decode_alone(stream, layout, syntax, bits, samples.storage.data(), bytes, error);
}
