#include "cdicom/bytes.hpp"

#include <algorithm>
#include <cstring>
#include <zlib.h>

namespace {

/// A deflated data set can grow a thousandfold, and its values cannot stay in the file. One slice needs far less.
const uint64_t inflated_allowance = uint64_t(1) << 28;

/// The read-ahead for elements, and the number of bytes requested from the stream at a time.
const uint64_t read_ahead = 65536;

}  // namespace

namespace cdicom {

/// Reads in the same way as DCMTK's input filter, so that the parser and its fallback see the same bytes of a damaged
/// stream: both inflate up to 4 KiB ahead of the bytes already read, return nothing more after an error, and append one
/// zero byte to the end of the file (zlib needs a byte after a stream without header to detect its end).
class InflateStream {
  public:
    InflateStream(std::unique_ptr<FileBytes> file, uint64_t start) : file_(std::move(file)), next_(start) {
        std::memset(&state_, 0, sizeof state_);
        is_ready_ = inflateInit2(&state_, -MAX_WBITS) == Z_OK;
        is_failed_ = !is_ready_;
        if (is_ready_) fill_output();
    }
    ~InflateStream() {
        if (is_ready_) inflateEnd(&state_);
    }
    InflateStream(const InflateStream &) = delete;
    InflateStream &operator=(const InflateStream &) = delete;

    /// Reads up to `count` bytes; fewer at the end, 0 after it.
    size_t read(uint8_t *target, size_t count) {
        if (is_failed_) return 0;
        size_t taken = 0;
        do {
            const size_t piece = std::min(count - taken, output_count_);
            std::memcpy(target + taken, output_, piece);
            taken += piece;
            delivered_ += piece;
            output_count_ -= piece;
            std::memmove(output_, output_ + piece, output_count_);
            fill_output();
        } while (taken < count && output_count_ > 0);
        return taken;
    }

    /// Whether the last block of the stream has been decoded.
    bool is_complete() const { return is_complete_; }

  private:
    static const size_t buffer_size = 4096;

    /// Returns the number of bytes read from the file.
    size_t fill_input() {
        if (is_failed_ || input_count_ == buffer_size) return 0;
        const size_t wanted =
            static_cast<size_t>(std::min<uint64_t>(buffer_size - input_count_, file_->left(next_)));
        if (wanted > 0 && file_->copy(next_, wanted, input_ + input_count_)) {
            next_ += wanted;
            input_count_ += wanted;
            return wanted;
        }
        if (wanted == 0 && !is_padded_) {
            input_[input_count_] = 0;
            input_count_ += 1;
            is_padded_ = true;
        }
        return 0;
    }

    void fill_output() {
        // DCMTK's filter keeps up to 1 KiB of the bytes already read in the same buffer.
        const size_t capacity = buffer_size - static_cast<size_t>(std::min<uint64_t>(delivered_, 1024));
        size_t from_file = 0, inflated = 0;
        do {
            from_file = fill_input();
            inflated = inflate_once(capacity - output_count_);
        } while (from_file > 0 || inflated > 0);
    }

    /// Returns the number of bytes appended to the output, at most `space`.
    size_t inflate_once(size_t space) {
        if (space == 0 && input_count_ == 0) return 0;
        state_.next_in = input_;
        state_.avail_in = static_cast<uInt>(input_count_);
        state_.next_out = output_ + output_count_;
        state_.avail_out = static_cast<uInt>(space);
        // Called even without space: an error directly ahead is then detected, as in DCMTK.
        const int code = ::inflate(&state_, Z_NO_FLUSH);
        if (code == Z_STREAM_END) is_complete_ = true;
        if (code != Z_OK && code != Z_BUF_ERROR && code != Z_STREAM_END) is_failed_ = true;
        std::memmove(input_, state_.next_in, state_.avail_in);
        input_count_ = state_.avail_in;
        const size_t inflated = space - state_.avail_out;
        output_count_ += inflated;
        return inflated;
    }

    const std::unique_ptr<FileBytes> file_;
    uint64_t next_, delivered_ = 0;
    z_stream state_;
    bool is_ready_ = false, is_failed_ = false, is_padded_ = false, is_complete_ = false;
    uint8_t input_[buffer_size], output_[buffer_size];
    size_t input_count_ = 0, output_count_ = 0;
};

InflatedBytes::InflatedBytes(std::unique_ptr<FileBytes> file, uint64_t start)
    : stream_(new InflateStream(std::move(file), start)) {}

InflatedBytes::~InflatedBytes() = default;

void InflatedBytes::inflate(uint64_t end) {
    if (end > inflated_allowance) {
        too_large_ = end != UINT64_MAX || too_large_;
        end = inflated_allowance;
    }
    while (!ended_ && bytes_.size() < end) {
        const size_t filled = bytes_.size();
        // In steps, so that a stated length alone allocates no memory.
        const size_t step = static_cast<size_t>(std::min<uint64_t>(end - filled, read_ahead));
        bytes_.resize(filled + step);
        const size_t taken = stream_->read(bytes_.data() + filled, step);
        bytes_.resize(filled + taken);
        if (taken == 0) ended_ = true;
    }
}

bool InflatedBytes::has(uint64_t at, uint64_t count) {
    if (at > UINT64_MAX - 1 - count) return false;
    // Reads ahead, because elements are small.
    if (bytes_.size() < at + count) {
        inflate(at + count <= inflated_allowance - read_ahead ? at + count + read_ahead : at + count);
    }
    return bytes_.size() >= at + count;
}

bool InflatedBytes::copy(uint64_t at, size_t count, void *target) {
    if (!has(at, count)) return false;
    if (count > 0) std::memcpy(target, bytes_.data() + at, count);
    return true;
}

bool InflatedBytes::is_truncated() {
    inflate(inflated_allowance);
    return ended_ && !stream_->is_complete();
}

uint64_t InflatedBytes::left(uint64_t at) {
    inflate(inflated_allowance);
    return at < bytes_.size() ? bytes_.size() - at : 0;
}

}  // namespace cdicom
