#include "cdicom/errors.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sys/stat.h>

namespace {

/// Whether `bytes` could be the first element of a data set without preamble, of group 2 or 8.
bool is_plausible_first_element(const unsigned char *bytes, size_t count, uint64_t size) {
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

int not_opened(cdicom_error *error) {
    cdicom::fail(error, CDICOM_NOT_OPENED, std::strerror(errno));
    return -1;
}

}  // namespace

extern "C" int cdicom_looks_like_dicom(const char *path, cdicom_error *error) {
    struct stat facts;
    if (stat(path, &facts) != 0) return not_opened(error);
    if (!S_ISREG(facts.st_mode)) return 0;
    std::FILE *file = std::fopen(path, "rb");
    if (!file) return not_opened(error);
    unsigned char bytes[132];
    const size_t count = std::fread(bytes, 1, sizeof bytes, file);
    const bool is_broken = std::ferror(file) != 0;
    const int reason = errno;
    std::fclose(file);
    if (is_broken) {
        errno = reason;
        return not_opened(error);
    }
    if (count == sizeof bytes && std::memcmp(bytes + 128, "DICM", 4) == 0) return 1;
    return is_plausible_first_element(bytes, count, static_cast<uint64_t>(facts.st_size)) ? 1 : 0;
}
