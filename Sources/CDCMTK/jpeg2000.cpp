#include "codecs.hpp"

#include <openjpeg-2.5/openjpeg.h>

#include <cstring>
#include <memory>

namespace {

struct Source {
    const uint8_t *bytes;
    size_t count, at;
};

OPJ_SIZE_T read_source(void *buffer, OPJ_SIZE_T wanted, void *data) {
    Source &source = *static_cast<Source *>(data);
    const size_t left = source.count - source.at;
    if (left == 0) return static_cast<OPJ_SIZE_T>(-1);
    const size_t taken = wanted < left ? wanted : left;
    std::memcpy(buffer, source.bytes + source.at, taken);
    source.at += taken;
    return taken;
}

OPJ_OFF_T skip_source(OPJ_OFF_T count, void *data) {
    Source &source = *static_cast<Source *>(data);
    if (count < 0) return -1;
    const size_t left = source.count - source.at;
    const size_t taken = static_cast<size_t>(count) < left ? static_cast<size_t>(count) : left;
    source.at += taken;
    return taken == 0 && count > 0 ? -1 : static_cast<OPJ_OFF_T>(taken);
}

OPJ_BOOL seek_source(OPJ_OFF_T place, void *data) {
    Source &source = *static_cast<Source *>(data);
    if (place < 0 || static_cast<size_t>(place) > source.count) return OPJ_FALSE;
    source.at = static_cast<size_t>(place);
    return OPJ_TRUE;
}

/// Keeps the decoder's first complaint; later ones only follow from it.
void keep_words(const char *words, void *data) {
    std::string &kept = *static_cast<std::string *>(data);
    if (!kept.empty() || !words) return;
    kept = words;
    while (!kept.empty() && (kept.back() == '\n' || kept.back() == ' ')) kept.pop_back();
}

void ignore_words(const char *, void *) {}

/// The value of the low `bits` of `value`, the highest of them being the sign if `is_signed`.
int32_t in_bits(int32_t value, unsigned bits, bool is_signed) {
    if (bits >= 32) return value;
    const uint32_t mask = (1u << bits) - 1;
    const uint32_t low = static_cast<uint32_t>(value) & mask;
    return is_signed && (low >> (bits - 1)) != 0 ? static_cast<int32_t>(low | ~mask) : static_cast<int32_t>(low);
}

/// Whether the stream's own colour transform was undone by the decoder: said in its COD segment.
bool has_colour_transform(const std::vector<uint8_t> &stream) {
    size_t at = 2;
    const bool bare = stream.size() > 2 && stream[0] == 0xFF && stream[1] == 0x4F;
    if (!bare) {
        // Inside JP2 boxes the stream begins with SOC and SIZ.
        static const uint8_t start[] = {0xFF, 0x4F, 0xFF, 0x51};
        const auto found = std::search(stream.begin(), stream.end(), std::begin(start), std::end(start));
        if (found == stream.end()) return false;
        at = static_cast<size_t>(found - stream.begin()) + 2;
    }
    while (at + 9 <= stream.size() && stream[at] == 0xFF) {
        if (stream[at + 1] == 0x52) return stream[at + 8] != 0;
        at += 2 + (static_cast<size_t>(stream[at + 2]) << 8 | stream[at + 3]);
    }
    return false;
}

}  // namespace

cdcmtk_code cdcmtk::decode_jpeg2000(const std::vector<uint8_t> &stream, const Layout &layout, Samples &samples,
                                    cdcmtk_error *error) {
    std::string words;
    const auto refuse = [&](const char *otherwise) {
        return fail(error, CDCMTK_DECODER_FAILED, "OpenJPEG: " + (words.empty() ? std::string(otherwise) : words));
    };
    const bool bare = stream.size() > 2 && stream[0] == 0xFF && stream[1] == 0x4F;
    std::unique_ptr<opj_codec_t, void (*)(opj_codec_t *)> codec(
        opj_create_decompress(bare ? OPJ_CODEC_J2K : OPJ_CODEC_JP2), opj_destroy_codec);
    if (!codec) return refuse("no decoder");
    opj_set_error_handler(codec.get(), keep_words, &words);
    opj_set_warning_handler(codec.get(), ignore_words, nullptr);
    opj_set_info_handler(codec.get(), ignore_words, nullptr);
    opj_dparameters_t parameters;
    opj_set_default_decoder_parameters(&parameters);
    if (!opj_setup_decoder(codec.get(), &parameters)) return refuse("no set-up");
    // A stream that ends early is an error, not a picture with a blank part.
    if (!opj_decoder_set_strict_mode(codec.get(), OPJ_TRUE)) return refuse("no strict mode");

    Source source{stream.data(), stream.size(), 0};
    std::unique_ptr<opj_stream_t, void (*)(opj_stream_t *)> input(
        static_cast<opj_stream_t *>(opj_stream_default_create(OPJ_TRUE)),
        [](opj_stream_t *stream) { opj_stream_destroy(stream); });
    if (!input) return refuse("no stream");
    opj_stream_set_user_data(input.get(), &source, nullptr);
    opj_stream_set_user_data_length(input.get(), stream.size());
    opj_stream_set_read_function(input.get(), read_source);
    opj_stream_set_skip_function(input.get(), skip_source);
    opj_stream_set_seek_function(input.get(), seek_source);

    opj_image_t *raw = nullptr;
    const bool header_read = opj_read_header(input.get(), codec.get(), &raw);
    std::unique_ptr<opj_image_t, void (*)(opj_image_t *)> image(raw, opj_image_destroy);
    if (!header_read || !image) return refuse("no image header");
    const size_t width = static_cast<size_t>(layout.columns), height = static_cast<size_t>(layout.rows);
    // Size first: only then may the decoder take memory for the picture.
    if (image->numcomps != layout.samples || image->x1 - image->x0 != width || image->y1 - image->y0 != height) {
        return fail(error, CDCMTK_DECODER_FAILED,
                    "the JPEG 2000 stream holds " + std::to_string(image->x1 - image->x0) + " × "
                        + std::to_string(image->y1 - image->y0) + " pixels of " + std::to_string(image->numcomps)
                        + " component(s), the header says " + std::to_string(width) + " × " + std::to_string(height)
                        + " of " + std::to_string(layout.samples));
    }
    if (!opj_decode(codec.get(), input.get(), image.get())) return refuse("decoding failed");
    if (!opj_end_decompress(codec.get(), input.get())) return refuse("the stream does not end");
    const size_t count = width * height, components = static_cast<size_t>(layout.samples);
    samples.take(Samples::i32, count * components * 4);
    for (size_t number = 0; number < components; number += 1) {
        const opj_image_comp_t &component = image->comps[number];
        if (!component.data || component.w != width || component.h != height || component.prec == 0
            || component.prec > 32) {
            return refuse("the component does not fill the picture");
        }
        // Some writers leave the sign out of the stream; the object's own PixelRepresentation decides.
        const bool differ = (component.sgnd != 0) != layout.is_signed;
        const unsigned bits = differ ? std::min<unsigned>(component.prec, layout.stored) : layout.stored;
        int32_t *values = samples.as<int32_t>() + number;
        for (size_t index = 0; index < count; index += 1) {
            values[index * components] = in_bits(component.data[index], bits, layout.is_signed);
        }
    }
    samples.is_rgb = components == 3 && has_colour_transform(stream);
    return CDCMTK_OK;
}

extern "C" const char *cdcmtk_openjpeg_version(void) { return opj_version(); }
