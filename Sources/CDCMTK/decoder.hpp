#ifndef CDCMTK_DECODER_HPP
#define CDCMTK_DECODER_HPP

#include "frames.hpp"

/// One open object, and the frame of it that was decoded last.
struct cdcmtk_decoder {
    cdcmtk::Object object;
    cdcmtk::Layout layout;
    cdcmtk::Samples samples;
    uint32_t kept_frame = 0;
    std::vector<std::string> notes;
    std::string words;

    cdcmtk_code decode(uint32_t frame, cdcmtk_error *error);
};

#endif
