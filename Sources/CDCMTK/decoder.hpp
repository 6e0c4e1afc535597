#ifndef CDCMTK_DECODER_HPP
#define CDCMTK_DECODER_HPP

#include "codecs.hpp"

/// One open object, and its most recently decoded frame.
struct cdcmtk_decoder {
    cdicom::Object object;
    cdicom::Layout layout;
    cdicom::Samples samples;
    uint32_t kept_frame = 0;
    std::vector<std::string> notes;
    /// The notes as returned to the caller, one per line.
    std::string joined_notes;

    cdicom_code decode(uint32_t frame, cdicom_error *error);
};

#endif
