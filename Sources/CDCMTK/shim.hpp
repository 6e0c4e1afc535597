#ifndef CDCMTK_SHIM_HPP
#define CDCMTK_SHIM_HPP

#include "CDCMTK.h"

#include "cdicom/errors.hpp"

#include "dcmtk/config/osconfig.h"
#include "dcmtk/dcmdata/dctk.h"
#include "dcmtk/dcmdata/dcistrmf.h"

#include <algorithm>
#include <string>
#include <vector>

namespace cdcmtk {

using cdicom::copy_text;
using cdicom::fail;
using cdicom::guarded;

/// Fills the caller's error with a condition of DCMTK.
cdicom_code fail(cdicom_error *error, cdicom_code code, const OFCondition &condition);

/// A condition of DCMTK as an exception, so that code that builds a data set is a plain sequence of calls.
struct ConditionError {
    OFCondition condition;
};
inline void require(const OFCondition &condition) {
    if (condition.bad()) throw ConditionError{condition};
}

/// Silences the log, registers the codecs (once) and checks that the data dictionary is loaded.
cdicom_code prepare(cdicom_error *error);

/// Reads `path` into `file`, up to `stop` if that is given; safe for any depth of nesting.
cdicom_code load(const char *path, DcmFileFormat &file, const DcmTagKey *stop, int64_t *size, cdicom_error *error);

/// Values stated in the header of a compressed frame.
struct Codestream {
    unsigned long rows = 0, columns = 0;
    unsigned precision = 0, components = 0;
    uint8_t marker = 0;
};

/// Finds the frame header of a JPEG or JPEG-LS stream. False when there is none.
bool read_jpeg_frame_header(const std::vector<uint8_t> &stream, Codestream &facts);

/// Disables DCMTK's log output on the console. Part of ``prepare``.
void silence_log();

/// Stores, during its lifetime, the first warning of this thread's JPEG decoder that indicates damage: DCMTK itself
/// returns such an image without an error.
struct DamageWarningScope {
    std::string text;

    DamageWarningScope();
    ~DamageWarningScope();
    DamageWarningScope(const DamageWarningScope &) = delete;
    DamageWarningScope &operator=(const DamageWarningScope &) = delete;
};

}  // namespace cdcmtk

#endif
