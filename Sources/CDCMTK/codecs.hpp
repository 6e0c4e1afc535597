#ifndef CDCMTK_CODECS_HPP
#define CDCMTK_CODECS_HPP

#include "frames.hpp"

namespace cdcmtk {

/// DCMTK's own RLE decoder takes a stream that ends early for a picture with a blank rest; here that is an error.
cdcmtk_code decode_rle(const std::vector<uint8_t> &stream, const Layout &layout, Samples &samples,
                       cdcmtk_error *error);

cdcmtk_code decode_jpeg2000(const std::vector<uint8_t> &stream, const Layout &layout, Samples &samples,
                            cdcmtk_error *error);

/// JPEG and JPEG-LS, by DCMTK.
cdcmtk_code decode_jpeg(const std::vector<uint8_t> &stream, const Layout &layout, E_TransferSyntax syntax,
                        Samples &samples, cdcmtk_error *error);

}  // namespace cdcmtk

#endif
