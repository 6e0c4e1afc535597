#include "shim.hpp"

bool cdcmtk::read_jpeg_frame_header(const std::vector<uint8_t> &stream, Codestream &facts) {
    size_t at = 2;
    if (stream.size() < 4 || stream[0] != 0xFF || stream[1] != 0xD8) return false;
    while (at + 4 <= stream.size()) {
        if (stream[at] != 0xFF) return false;
        const uint8_t marker = stream[at + 1];
        if (marker == 0xFF) {  // fill byte
            at += 1;
            continue;
        }
        if (marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8)) {  // markers without length
            at += 2;
            continue;
        }
        const size_t length = static_cast<size_t>(stream[at + 2]) << 8 | stream[at + 3];
        // C4, C8 and CC are tables; F7 is the frame header of JPEG-LS.
        const bool frame =
            (marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC) || marker == 0xF7;
        if (frame) {
            if (length < 8 || at + 10 > stream.size()) return false;
            facts.marker = marker;
            facts.precision = stream[at + 4];
            facts.rows = static_cast<unsigned long>(stream[at + 5]) << 8 | stream[at + 6];
            facts.columns = static_cast<unsigned long>(stream[at + 7]) << 8 | stream[at + 8];
            facts.components = stream[at + 9];
            return true;
        }
        if (marker == 0xDA || marker == 0xD9 || length < 2) return false;
        at += 2 + length;
    }
    return false;
}
