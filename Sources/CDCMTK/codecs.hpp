#ifndef CDCMTK_CODECS_HPP
#define CDCMTK_CODECS_HPP

#include "shim.hpp"

#include "cdicom/frames.hpp"

namespace cdcmtk {

cdicom_code decode_jpeg2000(const std::vector<uint8_t> &stream, const cdicom::Layout &layout, cdicom::Samples &samples,
                            cdicom_error *error);

/// JPEG and JPEG-LS, by DCMTK.
cdicom_code decode_jpeg(const std::vector<uint8_t> &stream, const cdicom::Layout &layout, E_TransferSyntax syntax,
                        cdicom::Samples &samples, cdicom_error *error);

/// Decodes one frame of any syntax. Irregularities that could be handled are added to `notes`.
cdicom_code decode_frame(cdicom::Object &object, const cdicom::Layout &layout, uint32_t frame,
                         cdicom::Samples &samples, std::vector<std::string> &notes, cdicom_error *error);

/// Reads an object with CDICOMParser, or with DCMTK if CDICOMParser does not understand the file. With `with_frames`
/// the functional groups of frames are kept; decoding the pixels does not need them.
cdicom_code read_object(const char *path, bool with_frames, cdicom::Object &object, cdicom_error *error);

/// The same with DCMTK alone.
cdicom_code read_object_with_dcmtk(const char *path, bool with_pixels, cdicom::Object &object, cdicom_error *error);

}  // namespace cdcmtk

#endif
