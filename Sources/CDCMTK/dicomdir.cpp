#include "shim.hpp"

#include "CDCMTKDirectory.h"

extern "C" cdcmtk_code cdcmtk_read_directory(const char *path, int (*visit)(void *context, const char *reference),
                                             void *context, cdcmtk_error *error) {
    return cdcmtk::guarded(error, [=]() -> cdcmtk_code {
        cdcmtk_code code = cdcmtk::prepare(error);
        if (code != CDCMTK_OK) return code;
        DcmFileFormat file;
        const DcmTagKey stop = DCM_PixelData;
        code = cdcmtk::load(path, file, &stop, nullptr, error);
        if (code != CDCMTK_OK) return code;
        DcmDataset *set = file.getDataset();
        DcmSequenceOfItems *records = nullptr;
        // Not DcmDicomDir: it opens what the directory names, wherever that lies.
        if (!set || set->findAndGetSequence(DCM_DirectoryRecordSequence, records).bad() || !records) return CDCMTK_OK;
        // By the list's own cursor: asking for the n-th item walks from the first each time.
        for (DcmObject *record = records->nextInContainer(nullptr); record; record = records->nextInContainer(record)) {
            DcmItem *item = dynamic_cast<DcmItem *>(record);
            OFString reference;
            if (!item || item->findAndGetOFStringArray(DCM_ReferencedFileID, reference).bad()) continue;
            if (!reference.empty() && visit(context, reference.c_str()) != 0) break;
        }
        return CDCMTK_OK;
    });
}
