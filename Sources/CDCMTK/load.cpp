#include "shim.hpp"

#include "cdicom/dataset.hpp"

#include <cerrno>
#include <cstring>
#include <sys/stat.h>

namespace {

/// DCMTK's parser recurses once for every nested sequence without a limit. Each level needs about 0.5 to
/// 1.6 KiB of stack, so this allows some hundreds of levels; real objects have fewer than twenty.
const size_t stack_allowance = 1 << 20;

/// A deflated data set can grow a thousandfold, and its values cannot stay in the file. One slice needs far less.
const offile_off_t inflated_allowance = offile_off_t(1) << 28;

/// A file stream that reports an error once its reader has recursed too deeply.
///
/// The stack itself is measured, at every read. A scan of the file before parsing could be misled by a hostile file,
/// and would not detect the levels inside a deflated data set.
class LimitedStream : public DcmInputFileStream {
  public:
    explicit LimitedStream(const char *path) : DcmInputFileStream(OFFilename(path)), start_(here()) {}

    OFBool good() const override { return !stopped() && DcmInputFileStream::good(); }

    OFCondition status() const override {
        return stopped() ? OFCondition(EC_InvalidStream) : DcmInputFileStream::status();
    }

    OFCondition installCompressionFilter(E_StreamCompression type) override {
        deflated_ = true;
        return DcmInputFileStream::installCompressionFilter(type);
    }

    OFBool eos() override { return check() || DcmInputFileStream::eos(); }

    offile_off_t avail() override { return check() ? 0 : DcmInputFileStream::avail(); }

    offile_off_t read(void *buffer, offile_off_t length) override {
        return check(length) ? 0 : DcmInputFileStream::read(buffer, length);
    }

    offile_off_t skip(offile_off_t length) override {
        return check(length) ? 0 : DcmInputFileStream::skip(length);
    }

    bool too_deep() const { return too_deep_; }
    bool too_large() const { return too_large_; }

  private:
    bool stopped() const { return too_deep_ || too_large_; }

    __attribute__((noinline)) static uintptr_t here() {
        return reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    }

    /// Whether the reader is nested too deeply, or the `length` requested bytes are too many.
    bool check(offile_off_t length = 0) {
        const uintptr_t now = here();
        if ((now < start_ ? start_ - now : now - start_) > stack_allowance) too_deep_ = true;
        if (deflated_ && length > inflated_allowance - std::min(tell(), inflated_allowance)) too_large_ = true;
        return stopped();
    }

    const uintptr_t start_;
    bool deflated_ = false, too_deep_ = false, too_large_ = false;
};

/// Reads the data set of a file in the representation that it really has; false for a file that states its own.
bool load_misstated(const char *path, DcmFileFormat &file, const DcmTagKey *stop) {
    cdicom::Object object;
    if (cdicom::read_object(path, true, object, nullptr) != CDICOM_OK || !object.is_misstated) return false;
    if (object.syntax->is_encapsulated()) return false;
    const E_TransferSyntax syntax = object.syntax->is_explicit ? EXS_LittleEndianImplicit : EXS_LittleEndianExplicit;
    LimitedStream stream(path);
    stream.skip(static_cast<offile_off_t>(object.start));
    if (!stream.good()) return false;
    DcmDataset &set = *file.getDataset();
    set.clear();
    set.transferInit();
    const OFCondition condition = stop ? set.readUntilTag(stream, syntax, EGL_noChange, DCM_MaxReadLength, *stop)
                                       : set.read(stream, syntax, EGL_noChange, DCM_MaxReadLength);
    set.transferEnd();
    return condition.good() && set.card() > 0;
}

}  // namespace

cdicom_code cdcmtk::load(const char *path, DcmFileFormat &file, const DcmTagKey *stop, int64_t *size,
                         cdicom_error *error) {
    struct stat facts;
    if (stat(path, &facts) != 0) return fail(error, CDICOM_NOT_OPENED, std::string(std::strerror(errno)));
    if (!S_ISREG(facts.st_mode)) return fail(error, CDICOM_NOT_OPENED, "not a regular file");
    if (size) *size = facts.st_size;
    LimitedStream stream(path);
    if (!stream.good()) return fail(error, CDICOM_NOT_OPENED, stream.status());
    file.transferInit();
    const OFCondition condition =
        stop ? file.readUntilTag(stream, EXS_Unknown, EGL_noChange, DCM_MaxReadLength, *stop)
             : file.read(stream, EXS_Unknown, EGL_noChange, DCM_MaxReadLength);
    file.transferEnd();
    if (stream.too_deep()) {
        return fail(error, CDICOM_NESTED_TOO_DEEP,
                    "sequences are nested hundreds of levels deep, more than in any real object");
    }
    if (stream.too_large()) {
        return fail(error, CDICOM_NOT_READABLE,
                    "the deflated data set exceeds 256 MiB, more than any single slice");
    }
    if (condition.good() || load_misstated(path, file, stop)) return CDICOM_OK;
    return fail(error, CDICOM_NOT_READABLE, condition);
}
