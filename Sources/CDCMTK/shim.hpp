#ifndef CDCMTK_SHIM_HPP
#define CDCMTK_SHIM_HPP

#include "CDCMTK.h"

#include "dcmtk/config/osconfig.h"
#include "dcmtk/dcmdata/dctk.h"
#include "dcmtk/dcmdata/dcistrmf.h"

#include <algorithm>
#include <exception>
#include <string>
#include <vector>

namespace cdcmtk {

cdcmtk_code fail(cdcmtk_error *error, cdcmtk_code code, const std::string &text);
cdcmtk_code fail(cdcmtk_error *error, cdcmtk_code code, const OFCondition &condition);

/// Silences the log, registers the codecs (once) and looks for the data dictionary.
cdcmtk_code prepare(cdcmtk_error *error);

/// Runs `body` so that no exception leaves.
template <typename Body>
cdcmtk_code guarded(cdcmtk_error *error, Body body) noexcept {
    try {
        return body();
    } catch (const std::bad_alloc &) {
        return fail(error, CDCMTK_NO_MEMORY, "no memory");
    } catch (const std::exception &exception) {
        return fail(error, CDCMTK_INTERNAL, exception.what());
    } catch (...) {
        return fail(error, CDCMTK_INTERNAL, "an unknown exception");
    }
}

/// Reads `path` into `file`, up to `stop` if that is given; safe against any depth of nesting.
cdcmtk_code load(const char *path, DcmFileFormat &file, const DcmTagKey *stop, int64_t *size, cdcmtk_error *error);

/// What a compressed frame says of itself.
struct Codestream {
    unsigned long rows = 0, columns = 0;
    unsigned precision = 0, components = 0;
};

/// Finds the frame header of a JPEG or JPEG-LS stream. False when there is none.
bool read_jpeg_frame_header(const std::vector<uint8_t> &stream, Codestream &facts);

/// Takes DCMTK's log off the console. Part of ``prepare``.
void silence_log();

/// Whether a warning means that the picture is not the one that was compressed.
bool tells_of_damage(const std::string &words);

/// Collects, while it lives, what this thread's JPEG decoder says of damage: DCMTK takes such a picture for good.
struct DecoderWords {
    std::string words;

    DecoderWords();
    ~DecoderWords();
    DecoderWords(const DecoderWords &) = delete;
    DecoderWords &operator=(const DecoderWords &) = delete;
};

/// Text of an element cut to a field, without the padding of the standard.
void copy_text(char *field, size_t capacity, const std::string &text);

}  // namespace cdcmtk

#endif
