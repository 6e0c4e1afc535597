#include "codecs.hpp"

#include "dcmtk/dcmdata/dcuid.h"

#include <cstring>

cdicom_code cdcmtk::read_object(const char *path, bool with_frames, cdicom::Object &object, cdicom_error *error) {
    cdicom_error own = {};
    const cdicom_code code = cdicom::read_object(path, with_frames, object, &own);
    if (code != CDICOM_NOT_UNDERSTOOD) {
        if (error && code != CDICOM_OK) *error = own;
        return code;
    }
    const int64_t size = object.file_size;
    object = cdicom::Object();
    object.file_size = size;
    return read_object_with_dcmtk(path, !with_frames, object, error);
}

extern "C" cdicom_code cdcmtk_read_object(const char *path, cdicom_header *header, cdcmtk_names *names,
                                          cdicom_plane **frames, size_t *count, cdicom_error *error) {
    return cdicom::guarded(error, [=]() -> cdicom_code {
        std::memset(header, 0, sizeof *header);
        if (names) std::memset(names, 0, sizeof *names);
        if (frames) *frames = nullptr;
        if (count) *count = 0;
        cdicom_code code = cdcmtk::prepare(error);
        if (code != CDICOM_OK) return code;
        cdicom::Object object;
        code = cdcmtk::read_object(path, true, object, error);
        header->file_size = object.file_size;
        if (code != CDICOM_OK) return code;
        cdicom::fill_header(object, *header);
        if (names) {
            const char *name = header->sop_class_uid[0] ? dcmFindNameOfUID(header->sop_class_uid, "") : nullptr;
            cdicom::copy_text(names->sop_class, name ? name : "");
            name = object.syntax ? DcmXfer(object.syntax->uid).getXferName() : nullptr;
            cdicom::copy_text(names->transfer_syntax, name ? name : "");
        }
        return frames && count ? cdicom::copy_frames(object.set, *header, frames, count, error) : CDICOM_OK;
    });
}

extern "C" cdicom_code cdcmtk_read_pet(const char *path, cdicom_pet *pet, cdicom_error *error) {
    return cdicom::guarded(error, [=]() -> cdicom_code {
        std::memset(pet, 0, sizeof *pet);
        cdicom_code code = cdcmtk::prepare(error);
        if (code != CDICOM_OK) return code;
        cdicom::Object object;
        code = cdcmtk::read_object(path, true, object, error);
        if (code != CDICOM_OK) return code;
        cdicom::fill_pet(object, *pet);
        return CDICOM_OK;
    });
}
