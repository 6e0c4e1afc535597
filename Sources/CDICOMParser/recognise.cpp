#include "cdicom/bytes.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

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

}  // namespace

cdicom_code cdicom::FileBytes::recognise(cdicom_error *error) {
    const size_t count = static_cast<size_t>(std::min<uint64_t>(size_, 132));
    errno = 0;
    const uint8_t *bytes = count == 0 ? nullptr : view(0, count);
    if (count > 0 && !bytes) {
        return fail(error, CDICOM_NOT_OPENED, errno != 0 ? std::strerror(errno) : "the file has become shorter");
    }
    if (count == 132 && std::memcmp(bytes + 128, "DICM", 4) == 0) return CDICOM_OK;
    if (is_plausible_first_element(bytes, count, size_)) return CDICOM_OK;
    return fail(error, CDICOM_NOT_DICOM, "the file does not start like a DICOM object");
}

extern "C" int cdicom_looks_like_dicom(const char *path) {
    return cdicom::guarded(nullptr, [path]() -> cdicom_code {
        cdicom::FileBytes file;
        const cdicom_code opened = file.open(path, nullptr);
        return opened == CDICOM_OK ? file.recognise(nullptr) : opened;
    }) == CDICOM_OK;
}
