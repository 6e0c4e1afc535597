#include "shim.hpp"

#include "dcmtk/dcmjpeg/djdecode.h"
#include "dcmtk/dcmjpls/djdecode.h"

#include <mutex>

namespace cdcmtk {

cdicom_code fail(cdicom_error *error, cdicom_code code, const OFCondition &condition) {
    fail(error, code, std::string(condition.text() ? condition.text() : "unknown condition"));
    if (error) error->condition = static_cast<uint32_t>(condition.module()) << 16 | condition.code();
    return code;
}

cdicom_code prepare(cdicom_error *error) {
    static std::once_flag once;
    std::call_once(once, [] {
        silence_log();
        // Colour spaces stay as stored, with the samples of a pixel adjacent.
        DJDecoderRegistration::registerCodecs(EDC_never, EUC_default, EPC_colorByPixel);
        DJLSDecoderRegistration::registerCodecs(EJLSUC_default, EJLSPC_colorByPixel);
    });
    if (!dcmDataDict.isDictionaryLoaded()) {
        return fail(error, CDICOM_NO_DICTIONARY,
                    "DCMTK did not find its data dictionary (install its dicom.dic or point DCMDICTPATH to it)");
    }
    return CDICOM_OK;
}

}  // namespace cdcmtk

extern "C" const char *cdcmtk_version(void) { return OFFIS_DCMTK_VERSION_STRING; }
