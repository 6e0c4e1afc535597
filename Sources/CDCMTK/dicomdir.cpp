#include "shim.hpp"

extern "C" cdicom_code cdcmtk_read_directory(const char *path, int (*visit)(void *context, const char *reference),
                                             void *context, cdicom_error *error) {
    return cdicom::guarded(error, [=]() -> cdicom_code {
        cdicom_code code = cdcmtk::prepare(error);
        if (code != CDICOM_OK) return code;
        DcmFileFormat file;
        const DcmTagKey stop = DCM_PixelData;
        code = cdcmtk::load(path, file, &stop, nullptr, error);
        if (code != CDICOM_OK) return code;
        DcmDataset *set = file.getDataset();
        DcmSequenceOfItems *records = nullptr;
        // DcmDicomDir is not used: it opens the files that the directory names, wherever they are.
        if (!set || set->findAndGetSequence(DCM_DirectoryRecordSequence, records).bad() || !records) return CDICOM_OK;
        // Uses the list's own cursor, because getItem(n) starts from the first item each time.
        for (DcmObject *record = records->nextInContainer(nullptr); record; record = records->nextInContainer(record)) {
            DcmItem *item = dynamic_cast<DcmItem *>(record);
            OFString reference;
            if (!item || item->findAndGetOFStringArray(DCM_ReferencedFileID, reference).bad()) continue;
            if (!reference.empty() && visit(context, reference.c_str()) != 0) break;
        }
        return CDICOM_OK;
    });
}
