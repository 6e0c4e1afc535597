#include "bytes.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

/// A usual header with little to spare: what is skipped is not read.
const size_t window_size = 16384;

/// A deflated data set can swell a thousandfold, and its values cannot stay in the file.
const uint64_t inflated_allowance = uint64_t(1) << 28;

}  // namespace

namespace cdcmtk {

FileBytes::~FileBytes() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

cdcmtk_code FileBytes::open(const char *path, cdcmtk_error *error) {
    // Without waiting: a pipe would never answer.
    descriptor_ = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat facts;
    if (descriptor_ < 0 || fstat(descriptor_, &facts) != 0) {
        return fail(error, CDCMTK_NOT_OPENED, std::string(std::strerror(errno)));
    }
    if (!S_ISREG(facts.st_mode)) return fail(error, CDCMTK_NOT_OPENED, std::string("not a regular file"));
    size_ = static_cast<uint64_t>(facts.st_size);
    return CDCMTK_OK;
}

bool FileBytes::copy(uint64_t at, size_t count, void *target) {
    if (!has(at, count)) return false;
    uint8_t *place = static_cast<uint8_t *>(target);
    while (count > 0) {
        const ssize_t taken = pread(descriptor_, place, count, static_cast<off_t>(at));
        if (taken < 0 && errno == EINTR) continue;
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
        if (!copy(at, wanted, window_.data())) return nullptr;
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

InflatedBytes::InflatedBytes(const char *path, uint64_t start)
    : stream_(new DcmInputFileStream(OFFilename(path), static_cast<offile_off_t>(start))) {
    if (stream_->good()) stream_->installCompressionFilter(ESC_zlib);
}

InflatedBytes::~InflatedBytes() = default;

void InflatedBytes::inflate(uint64_t end) {
    if (end > inflated_allowance) {
        too_large_ = end != UINT64_MAX || too_large_;
        end = inflated_allowance;
    }
    while (!ended_ && bytes_.size() < end) {
        const size_t filled = bytes_.size();
        // In steps, so that a claim alone takes no memory.
        const size_t step = static_cast<size_t>(std::min<uint64_t>(end - filled, 65536));
        bytes_.resize(filled + step);
        const offile_off_t taken = stream_->good() ? stream_->read(bytes_.data() + filled, step) : 0;
        bytes_.resize(filled + static_cast<size_t>(std::max<offile_off_t>(taken, 0)));
        if (taken <= 0) ended_ = true;
    }
}

bool InflatedBytes::has(uint64_t at, uint64_t count) {
    if (at > UINT64_MAX - 1 - count) return false;
    // Ahead by a piece: elements are small.
    if (bytes_.size() < at + count) inflate(at + count <= inflated_allowance - 65536 ? at + count + 65536 : at + count);
    return bytes_.size() >= at + count;
}

bool InflatedBytes::copy(uint64_t at, size_t count, void *target) {
    if (!has(at, count)) return false;
    if (count > 0) std::memcpy(target, bytes_.data() + at, count);
    return true;
}

uint64_t InflatedBytes::left(uint64_t at) {
    inflate(inflated_allowance);
    return at < bytes_.size() ? bytes_.size() - at : 0;
}

}  // namespace cdcmtk
