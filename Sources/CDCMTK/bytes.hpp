#ifndef CDCMTK_BYTES_HPP
#define CDCMTK_BYTES_HPP

#include "shim.hpp"

#include <memory>

namespace cdcmtk {

/// The bytes of a data set, wherever they lie; nothing of them is trusted, and only what is asked for is read.
class Bytes {
  public:
    virtual ~Bytes() = default;
    /// Whether `count` bytes from `at` exist.
    virtual bool has(uint64_t at, uint64_t count) = 0;
    /// Up to `count` bytes from `at`, valid until the next call; null when they do not exist.
    virtual const uint8_t *view(uint64_t at, size_t count) = 0;
    /// Copies bytes to where they are wanted.
    virtual bool copy(uint64_t at, size_t count, void *target) = 0;
    /// How many bytes there are from `at` on.
    virtual uint64_t left(uint64_t at) = 0;
};

/// A file, read through a small window.
class FileBytes : public Bytes {
  public:
    ~FileBytes() override;
    cdcmtk_code open(const char *path, cdcmtk_error *error);
    uint64_t size() const { return size_; }

    bool has(uint64_t at, uint64_t count) override { return at <= size_ && count <= size_ - at; }
    const uint8_t *view(uint64_t at, size_t count) override;
    bool copy(uint64_t at, size_t count, void *target) override;
    uint64_t left(uint64_t at) override { return at < size_ ? size_ - at : 0; }

  private:
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

/// The deflated rest of a file, inflated as far as it is asked for.
class InflatedBytes : public Bytes {
  public:
    InflatedBytes(const char *path, uint64_t start);
    ~InflatedBytes() override;
    /// Whether more was asked for than any slice needs.
    bool too_large() const { return too_large_; }

    bool has(uint64_t at, uint64_t count) override;
    const uint8_t *view(uint64_t at, size_t count) override { return has(at, count) ? bytes_.data() + at : nullptr; }
    bool copy(uint64_t at, size_t count, void *target) override;
    uint64_t left(uint64_t at) override;

  private:
    void inflate(uint64_t end);

    std::unique_ptr<DcmInputFileStream> stream_;
    std::vector<uint8_t> bytes_;
    bool ended_ = false, too_large_ = false;
};

}  // namespace cdcmtk

#endif
