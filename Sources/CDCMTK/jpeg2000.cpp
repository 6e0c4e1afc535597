#include "codecs.hpp"

#if __has_include(<openjpeg-2.5/openjpeg.h>)
#include <openjpeg-2.5/openjpeg.h>
#define HAS_STRICT_MODE 1
#else // Ubuntu 22.04
#include <openjpeg-2.4/openjpeg.h>
#define HAS_STRICT_MODE 0
#endif

#include <cstring>
#include <memory>

namespace {

using cdicom::Layout;
using cdicom::Samples;

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

/// Keeps the decoder's first error message; later ones are only consequences of it.
void keep_message(const char *message, void *data) {
    std::string &kept = *static_cast<std::string *>(data);
    if (!kept.empty() || !message) return;
    kept = message;
    while (!kept.empty() && (kept.back() == '\n' || kept.back() == ' ')) kept.pop_back();
}

void ignore_message(const char *, void *) {}

/// The low `bits` of `value`; the highest of them is the sign if `is_signed`.
int32_t in_bits(int32_t value, unsigned bits, bool is_signed) {
    if (bits >= 32) return value;
    const uint32_t mask = (1u << bits) - 1;
    const uint32_t low = static_cast<uint32_t>(value) & mask;
    return is_signed && (low >> (bits - 1)) != 0 ? static_cast<int32_t>(low | ~mask) : static_cast<int32_t>(low);
}

/// Whether the stream has a colour transform, which the decoder has then inverted: stated in its COD segment.
bool has_colour_transform(const std::vector<uint8_t> &stream) {
    size_t at = 2;
    const bool bare = stream.size() > 2 && stream[0] == 0xFF && stream[1] == 0x4F;
    if (!bare) {
        // Inside JP2 boxes the stream starts with SOC and SIZ.
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

/// An OpenJPEG decoder for one stream. Steps return null, or a message to use if OpenJPEG itself gives none.
class Decoder {
  public:
    explicit Decoder(const std::vector<uint8_t> &stream)
        : source_{stream.data(), stream.size(), 0}, codec_(nullptr, opj_destroy_codec), input_(nullptr, close_stream),
          image_(nullptr, opj_image_destroy) {}

    const char *set_up() {
        const bool is_bare = source_.count > 2 && source_.bytes[0] == 0xFF && source_.bytes[1] == 0x4F;
        codec_.reset(opj_create_decompress(is_bare ? OPJ_CODEC_J2K : OPJ_CODEC_JP2));
        if (!codec_) return "no decoder";
        opj_set_error_handler(codec_.get(), keep_message, &message_);
#if HAS_STRICT_MODE
        opj_set_warning_handler(codec_.get(), ignore_message, nullptr);
#else
        opj_set_warning_handler(codec_.get(), keep_message, &message_);
#endif
        opj_set_info_handler(codec_.get(), ignore_message, nullptr);
        opj_dparameters_t parameters;
        opj_set_default_decoder_parameters(&parameters);
        if (!opj_setup_decoder(codec_.get(), &parameters)) return "no set-up";
        // A truncated stream is an error, not an image with a blank part.
#if HAS_STRICT_MODE
        if (!opj_decoder_set_strict_mode(codec_.get(), OPJ_TRUE)) return "no strict mode";
#endif
        return nullptr;
    }

    const char *read_header() {
        input_.reset(static_cast<opj_stream_t *>(opj_stream_default_create(OPJ_TRUE)));
        if (!input_) return "no stream";
        opj_stream_set_user_data(input_.get(), &source_, nullptr);
        opj_stream_set_user_data_length(input_.get(), source_.count);
        opj_stream_set_read_function(input_.get(), read_source);
        opj_stream_set_skip_function(input_.get(), skip_source);
        opj_stream_set_seek_function(input_.get(), seek_source);
        opj_image_t *raw = nullptr;
        const bool is_read = opj_read_header(input_.get(), codec_.get(), &raw);
        image_.reset(raw);
        return is_read && image_ ? nullptr : "no image header";
    }

    const char *decode() {
        if (!opj_decode(codec_.get(), input_.get(), image_.get())) return "decoding failed";
        if (!opj_end_decompress(codec_.get(), input_.get())) return "the stream does not end";
        // Without a strict mode, the decoder warns of what is missing.
        if (!HAS_STRICT_MODE && !message_.empty()) return "decoding warned";
        return nullptr;
    }

    const opj_image_t &image() const { return *image_; }
    const std::string &message() const { return message_; }

  private:
    static void close_stream(opj_stream_t *stream) { opj_stream_destroy(stream); }

    std::string message_;
    Source source_;
    std::unique_ptr<opj_codec_t, void (*)(opj_codec_t *)> codec_;
    std::unique_ptr<opj_stream_t, void (*)(opj_stream_t *)> input_;
    std::unique_ptr<opj_image_t, void (*)(opj_image_t *)> image_;
};

/// Interleaves the components of an image. False if a component does not cover the image.
bool copy_components(const opj_image_t &image, const Layout &layout, Samples &samples) {
    const size_t width = static_cast<size_t>(layout.columns), height = static_cast<size_t>(layout.rows);
    const size_t count = width * height, components = static_cast<size_t>(layout.samples);
    samples.allocate(Samples::i32, count * components * 4);
    for (size_t number = 0; number < components; number += 1) {
        const opj_image_comp_t &component = image.comps[number];
        if (!component.data || component.w != width || component.h != height || component.prec == 0
            || component.prec > 32) {
            return false;
        }
        // Some writers omit the sign in the stream; the object's own PixelRepresentation decides.
        const bool differ = (component.sgnd != 0) != layout.is_signed;
        const unsigned bits = differ ? std::min<unsigned>(component.prec, layout.stored) : layout.stored;
        int32_t *values = samples.as<int32_t>() + number;
        for (size_t index = 0; index < count; index += 1) {
            values[index * components] = in_bits(component.data[index], bits, layout.is_signed);
        }
    }
    return true;
}

}  // namespace

cdicom_code cdcmtk::decode_jpeg2000(const std::vector<uint8_t> &stream, const Layout &layout, Samples &samples,
                                    cdicom_error *error) {
    Decoder decoder(stream);
    const auto refuse = [&](const char *otherwise) {
        const std::string &message = decoder.message();
        return fail(error, CDICOM_DECODER_FAILED, "OpenJPEG: " + (message.empty() ? std::string(otherwise) : message));
    };
    const char *fault = decoder.set_up();
    if (!fault) fault = decoder.read_header();
    if (fault) return refuse(fault);
    const opj_image_t &image = decoder.image();
    // The size is checked first: only then may the decoder allocate memory for the image.
    if (image.numcomps != layout.samples || image.x1 - image.x0 != layout.columns
        || image.y1 - image.y0 != layout.rows) {
        return fail(error, CDICOM_DECODER_FAILED,
                    "the JPEG 2000 stream holds " + std::to_string(image.x1 - image.x0) + " × "
                        + std::to_string(image.y1 - image.y0) + " pixels of " + std::to_string(image.numcomps)
                        + " component(s), the header states " + std::to_string(layout.columns) + " × "
                        + std::to_string(layout.rows) + " of " + std::to_string(layout.samples));
    }
    fault = decoder.decode();
    if (fault) return refuse(fault);
    if (!copy_components(image, layout, samples)) return refuse("the component does not fill the picture");
    samples.is_rgb = layout.samples == 3 && has_colour_transform(stream);
    return CDICOM_OK;
}

extern "C" const char *cdcmtk_openjpeg_version(void) { return opj_version(); }
