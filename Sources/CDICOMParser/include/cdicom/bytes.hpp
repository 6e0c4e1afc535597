#ifndef CDICOM_BYTES_HPP
#define CDICOM_BYTES_HPP

#include "errors.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace cdicom {

/// The bytes of a data set, wherever they are stored. Only the requested bytes are read.
class Bytes {
  public:
    virtual ~Bytes() = default;
    /// Whether `count` bytes from `at` exist.
    virtual bool has(uint64_t at, uint64_t count) = 0;
    /// `count` bytes from `at`, valid until the next call; null when they do not exist.
    virtual const uint8_t *view(uint64_t at, size_t count) = 0;
    /// Copies `count` bytes from `at`. False when they do not exist.
    virtual bool copy(uint64_t at, size_t count, void *target) = 0;
    /// The number of bytes from `at` on.
    virtual uint64_t left(uint64_t at) = 0;
};

/// A file, read through a small window.
class FileBytes : public Bytes {
  public:
    ~FileBytes() override;
    /// CDICOM_NOT_DICOM for what is not a regular file.
    cdicom_code open(const char *path, cdicom_error *error);
    /// CDICOM_OK if the file starts like a DICOM object; see cdicom_looks_like_dicom. Defined in recognise.cpp.
    cdicom_code recognise(cdicom_error *error);
    uint64_t size() const { return size_; }

    bool has(uint64_t at, uint64_t count) override { return at <= size_ && count <= size_ - at; }
    const uint8_t *view(uint64_t at, size_t count) override;
    bool copy(uint64_t at, size_t count, void *target) override;
    uint64_t left(uint64_t at) override { return at < size_ ? size_ - at : 0; }

  private:
    /// Reads bytes that exist.
    bool read(uint64_t at, size_t count, void *target);

    int descriptor_ = -1;
    uint64_t size_ = 0, start_ = 0;
    size_t filled_ = 0;
    std::vector<uint8_t> window_;
};

/// Bytes in memory.
class MemoryBytes : public Bytes {
  public:
    std::vector<uint8_t> bytes;

    bool has(uint64_t at, uint64_t count) override { return at <= bytes.size() && count <= bytes.size() - at; }
    const uint8_t *view(uint64_t at, size_t count) override { return has(at, count) ? bytes.data() + at : nullptr; }
    bool copy(uint64_t at, size_t count, void *target) override;
    uint64_t left(uint64_t at) override { return at < bytes.size() ? bytes.size() - at : 0; }
};

/// A raw deflate stream (RFC 1951) in a file. Defined in inflate.cpp.
class InflateStream;

/// The deflated remaining part of a file, inflated as far as requested.
class InflatedBytes : public Bytes {
  public:
    /// Starts at byte `start` of the file.
    InflatedBytes(std::unique_ptr<FileBytes> file, uint64_t start);
    ~InflatedBytes() override;
    /// Whether more was requested than any slice needs.
    bool too_large() const { return too_large_; }
    /// Inflates the remaining part. Returns whether it ends, or is damaged, before the last block: the last bytes that
    /// were inflated may then be wrong, because the stream reads one zero byte after the end of the file.
    bool is_truncated();

    bool has(uint64_t at, uint64_t count) override;
    const uint8_t *view(uint64_t at, size_t count) override { return has(at, count) ? bytes_.data() + at : nullptr; }
    bool copy(uint64_t at, size_t count, void *target) override;
    uint64_t left(uint64_t at) override;

  private:
    void inflate(uint64_t end);

    std::unique_ptr<InflateStream> stream_;
    std::vector<uint8_t> bytes_;
    bool ended_ = false, too_large_ = false;
};

}  // namespace cdicom

#endif
