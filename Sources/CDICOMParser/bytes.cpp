#include "cdicom/bytes.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

/// Larger than most headers without their pixels; values that are skipped are not read.
const size_t window_size = 16384;

}  // namespace

namespace cdicom {

FileBytes::~FileBytes() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

cdicom_code FileBytes::open(const char *path, cdicom_error *error) {
    // Without O_NONBLOCK, opening a pipe would wait for a writer.
    descriptor_ = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat facts;
    // A socket.
    if (descriptor_ < 0 && errno == ENXIO) return fail(error, CDICOM_NOT_DICOM, "not a regular file");
    if (descriptor_ < 0 || fstat(descriptor_, &facts) != 0) {
        return fail(error, CDICOM_NOT_OPENED, std::strerror(errno));
    }
    if (!S_ISREG(facts.st_mode)) return fail(error, CDICOM_NOT_DICOM, "not a regular file");
    size_ = static_cast<uint64_t>(facts.st_size);
    return CDICOM_OK;
}

bool FileBytes::copy(uint64_t at, size_t count, void *target) {
    if (!has(at, count)) return false;
    if (count == 0) return true;
    // Nearly all values of a header are in the window: without it each would be a system call.
    if (count > window_size) return read(at, count, target);
    const uint8_t *bytes = view(at, count);
    if (bytes) std::memcpy(target, bytes, count);
    return bytes != nullptr;
}

bool FileBytes::read(uint64_t at, size_t count, void *target) {
    uint8_t *place = static_cast<uint8_t *>(target);
    while (count > 0) {
        const ssize_t taken = pread(descriptor_, place, count, static_cast<off_t>(at));
        if (taken < 0 && errno == EINTR) continue;
        // The file has become shorter: the system reports no error.
        if (taken == 0) errno = 0;
        if (taken <= 0) return false;
        place += taken;
        at += static_cast<uint64_t>(taken);
        count -= static_cast<size_t>(taken);
    }
    return true;
}

const uint8_t *FileBytes::view(uint64_t at, size_t count) {
    if (!has(at, count)) return nullptr;
    if (at < start_ || at + count > start_ + filled_) {
        const size_t wanted = static_cast<size_t>(std::min<uint64_t>(std::max(count, window_size), size_ - at));
        if (window_.size() < wanted) window_.resize(wanted);
        filled_ = 0;
        if (!read(at, wanted, window_.data())) return nullptr;
        start_ = at;
        filled_ = wanted;
    }
    return window_.data() + (at - start_);
}

bool MemoryBytes::copy(uint64_t at, size_t count, void *target) {
    if (!has(at, count)) return false;
    if (count > 0) std::memcpy(target, bytes.data() + at, count);
    return true;
}

}  // namespace cdicom
