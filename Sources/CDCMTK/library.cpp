#include "shim.hpp"

#include "dcmtk/dcmdata/dcuid.h"
#include "dcmtk/dcmjpeg/djdecode.h"
#include "dcmtk/dcmjpls/djdecode.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <sys/stat.h>

namespace cdcmtk {

void copy_text(char *field, size_t capacity, const std::string &text) {
    size_t length = std::min(text.size(), capacity - 1);
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\0')) length -= 1;
    std::memcpy(field, text.data(), length);
    field[length] = 0;
}

cdcmtk_code fail(cdcmtk_error *error, cdcmtk_code code, const std::string &text) {
    if (error) {
        error->condition = 0;
        copy_text(error->text, sizeof error->text, text);
    }
    return code;
}

cdcmtk_code fail(cdcmtk_error *error, cdcmtk_code code, const OFCondition &condition) {
    fail(error, code, std::string(condition.text() ? condition.text() : "unknown condition"));
    if (error) error->condition = static_cast<uint32_t>(condition.module()) << 16 | condition.code();
    return code;
}

cdcmtk_code prepare(cdcmtk_error *error) {
    static std::once_flag once;
    std::call_once(once, [] {
        silence_log();
        // Colour spaces stay as stored, the samples of a pixel side by side.
        DJDecoderRegistration::registerCodecs(EDC_never, EUC_default, EPC_colorByPixel);
        DJLSDecoderRegistration::registerCodecs(EJLSUC_default, EJLSPC_colorByPixel);
    });
    if (!dcmDataDict.isDictionaryLoaded()) {
        return fail(error, CDCMTK_NO_DICTIONARY,
                    "DCMTK finds no data dictionary (install its dicom.dic or point DCMDICTPATH to it)");
    }
    return CDCMTK_OK;
}

}  // namespace cdcmtk

namespace {

/// Whether `bytes` could be the first element of a data set without preamble, of group 2 or 8.
bool plausible_first_element(const unsigned char *bytes, size_t count, uint64_t size) {
    if (count < 12) return false;
    const bool little = bytes[1] == 0 && (bytes[0] == 2 || bytes[0] == 8);
    const bool big = bytes[0] == 0 && (bytes[1] == 2 || bytes[1] == 8);
    if (!little && !big) return false;
    const unsigned element = little ? bytes[2] | bytes[3] << 8 : bytes[2] << 8 | bytes[3];
    if (element > 0x0100) return false;
    static const char representations[] = "AEASATCSDADSDTFLFDISLOLTOBODOFOLOWPNSHSLSQSSSTTMUCUIULUNURUSUTUVSVOV";
    for (size_t at = 0; at + 1 < sizeof representations - 1; at += 2) {
        if (bytes[4] == representations[at] && bytes[5] == representations[at + 1]) return true;
    }
    if (big) return false;  // big endian is always explicit
    const uint64_t length = bytes[4] | bytes[5] << 8 | bytes[6] << 16 | static_cast<uint64_t>(bytes[7]) << 24;
    return length <= size - 8 && length <= 1024;
}

}  // namespace

extern "C" int cdcmtk_looks_like_dicom(const char *path, cdcmtk_error *error) {
    struct stat facts;
    if (stat(path, &facts) != 0) {
        cdcmtk::fail(error, CDCMTK_NOT_OPENED, std::string(std::strerror(errno)));
        return -1;
    }
    if (!S_ISREG(facts.st_mode)) return 0;
    std::FILE *file = std::fopen(path, "rb");
    if (!file) {
        cdcmtk::fail(error, CDCMTK_NOT_OPENED, std::string(std::strerror(errno)));
        return -1;
    }
    unsigned char bytes[132];
    const size_t count = std::fread(bytes, 1, sizeof bytes, file);
    const bool broken = std::ferror(file) != 0;
    std::fclose(file);
    if (broken) {
        cdcmtk::fail(error, CDCMTK_NOT_OPENED, std::string(std::strerror(errno)));
        return -1;
    }
    if (count == sizeof bytes && std::memcmp(bytes + 128, "DICM", 4) == 0) return 1;
    return plausible_first_element(bytes, count, static_cast<uint64_t>(facts.st_size)) ? 1 : 0;
}

extern "C" const char *cdcmtk_version(void) { return OFFIS_DCMTK_VERSION_STRING; }
