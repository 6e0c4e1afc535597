#ifndef CDCMTK_SEGFRAMES_HPP
#define CDCMTK_SEGFRAMES_HPP

#include "objects.hpp"

#include "dcmtk/dcmdata/dcfcache.h"

/// An open segmentation.
struct cdcmtk_segmentation {
    DcmFileFormat file;
    DcmFileCache cache;
    cdcmtk_segmentation_facts facts = {};
    std::vector<cdcmtk_segmentation_frame> frames;
    std::vector<DcmItem *> segments;
    cdcmtk::ImageReferences images;

    DcmPixelData *pixels = nullptr;
    E_TransferSyntax syntax = EXS_Unknown;
    /// Deflated frame by frame, a syntax that DCMTK 3.6.7 does not support.
    bool is_deflated = false;
    /// For a compressed syntax: the first fragment of each frame, and one past the last fragment.
    std::vector<unsigned long> fragments;
    std::vector<DcmPixelItem *> items;
};

namespace cdcmtk {

/// Finds the frames in the pixel data, and checks that all of them exist.
cdicom_code find_frames(cdcmtk_segmentation &segmentation, cdicom_error *error);

}  // namespace cdcmtk

#endif
