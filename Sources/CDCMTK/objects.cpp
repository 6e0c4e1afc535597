#include "objects.hpp"
#include "validity.hpp"

#include "cdicom/characters.hpp"
#include "cdicom/dataset.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>

std::string cdcmtk::decimal(double value) {
    if (value == 0) return "0";
    char text[64];
    const auto shortest = std::to_chars(text, text + sizeof text, value);
    if (shortest.ec == std::errc() && shortest.ptr - text <= 16) return std::string(text, shortest.ptr);
    for (int precision = 15; precision > 0; precision -= 1) {
        const auto made = std::to_chars(text, text + sizeof text, value, std::chars_format::general, precision);
        if (made.ec == std::errc() && made.ptr - text <= 16) return std::string(text, made.ptr);
    }
    return "0";
}

std::string cdcmtk::stated_characters(DcmItem &item) {
    OFString stated;
    DcmItem *place = &item;
    while (place && place->findAndGetOFStringArray(DCM_SpecificCharacterSet, stated).bad()) place = place->getParentItem();
    return stated.c_str();
}

std::string cdcmtk::text_in(DcmItem &item, const DcmTagKey &tag) {
    DcmElement *element = nullptr;
    OFString value;
    if (item.findAndGetElement(tag, element).bad() || element->getOFStringArray(value).bad()) return "";
    std::string text(value.c_str());
    if (dynamic_cast<DcmCharString *>(element)) {
        text = cdicom::CharacterSets(stated_characters(item)).utf8(text, element->ident() == EVR_PN);
    }
    const size_t start = text.find_first_not_of(' '), end = text.find_last_not_of(' ');
    return start == std::string::npos ? "" : text.substr(start, end - start + 1);
}

bool cdcmtk::numbers_in(DcmItem &item, const DcmTagKey &tag, double *values, unsigned long count) {
    DcmElement *element = nullptr;
    if (item.findAndGetElement(tag, element).bad() || !element || element->getVM() != count) return false;
    for (unsigned long index = 0; index < count; index += 1) {
        OFString text;
        if (element->getOFString(text, index).bad()) return false;
        // DCMTK's own conversion takes the part before a decimal comma for the number.
        cdicom::Value value;
        std::memcpy(value.vr, "DS", 2);
        value.bytes.assign(text.c_str(), text.length());
        const std::vector<double> numbers = value.numbers();
        if (numbers.size() != 1) return false;
        values[index] = numbers[0];
    }
    return true;
}

DcmItem *cdcmtk::first_item(DcmItem &item, const DcmTagKey &sequence) {
    DcmItem *found = nullptr;
    return item.findAndGetSequenceItem(sequence, found, 0).good() ? found : nullptr;
}

void cdcmtk::code_in(DcmItem &item, const DcmTagKey &sequence, cdcmtk_coded_text &code) {
    DcmItem *member = first_item(item, sequence);
    if (!member) return;
    copy(*member, DCM_CodingSchemeDesignator, code.scheme);
    copy(*member, member->tagExists(DCM_CodeValue) ? DCM_CodeValue : DCM_LongCodeValue, code.value);
    copy(*member, DCM_CodeMeaning, code.meaning);
}

void cdcmtk::put(DcmItem &item, const DcmTagKey &tag, const std::string &text) {
    require(item.putAndInsertOFStringArray(tag, OFString(text.data(), text.size())));
}

void cdcmtk::put(DcmItem &item, const DcmTagKey &tag, Uint16 value) { require(item.putAndInsertUint16(tag, value)); }

DcmItem &cdcmtk::add_item(DcmItem &item, const DcmTagKey &sequence) {
    DcmItem *made = nullptr;
    require(item.findOrCreateSequenceItem(sequence, made, -2));
    return *made;
}

void cdcmtk::put_code(DcmItem &item, const DcmTagKey &sequence, const char *scheme, const char *value,
                      const char *meaning) {
    DcmItem &code = add_item(item, sequence);
    // A code value of more than 16 characters has a separate element.
    put(code, std::strlen(value) > 16 ? DCM_LongCodeValue : DCM_CodeValue, value);
    put(code, DCM_CodingSchemeDesignator, scheme);
    put(code, DCM_CodeMeaning, meaning);
}

void cdcmtk::ImageReferences::add(DcmItem &item, const DcmTagKey &sequence) {
    for_each_item(item, sequence, [&](DcmItem &reference) {
        cdcmtk_image_reference image = {};
        copy(reference, DCM_ReferencedSOPInstanceUID, image.instance_uid);
        Sint32 frame = 0;
        for (unsigned long index = 0; images.size() < most; index += 1) {
            const bool has_frame = reference.findAndGetSint32(DCM_ReferencedFrameNumber, frame, index).good();
            if (index > 0 && !has_frame) break;
            image.frame = has_frame ? frame : 0;
            if (image.instance_uid[0] != 0) images.push_back(image);
            if (!has_frame) break;
        }
        return images.size() < most;
    });
}

cdicom_code cdcmtk::ImageReferences::get(size_t index, cdcmtk_image_reference *image, cdicom_error *error) const {
    if (index >= images.size()) return fail(error, CDICOM_INTERNAL, "no such image");
    *image = images[index];
    return CDICOM_OK;
}

void cdcmtk::refer_to(DcmItem &parent, const DcmTagKey &sequence, const ObjectSource &source, bool with_frame) {
    DcmItem &reference = add_item(parent, sequence);
    put(reference, DCM_ReferencedSOPClassUID, source.class_uid);
    put(reference, DCM_ReferencedSOPInstanceUID, source.instance_uid);
    if (with_frame && source.is_multi_frame) {
        put(reference, DCM_ReferencedFrameNumber, std::to_string(uint64_t(source.frame) + 1));
    }
}

namespace {

/// Elements copied if present: modules Patient, General Study, Patient Study, Frame of Reference.
const DcmTagKey copied[] = {
    DCM_SpecificCharacterSet, DCM_TimezoneOffsetFromUTC,
    DCM_PatientName, DCM_PatientID, DCM_IssuerOfPatientID, DCM_IssuerOfPatientIDQualifiersSequence,
    DCM_PatientBirthDate, DCM_PatientBirthTime, DCM_PatientSex, DCM_OtherPatientNames, DCM_OtherPatientIDsSequence,
    DCM_EthnicGroup, DCM_PatientComments, DCM_PatientSpeciesDescription, DCM_PatientSpeciesCodeSequence,
    DCM_PatientBreedDescription, DCM_PatientBreedCodeSequence, DCM_BreedRegistrationSequence, DCM_ResponsiblePerson,
    DCM_ResponsiblePersonRole, DCM_ResponsibleOrganization, DCM_PatientIdentityRemoved, DCM_DeidentificationMethod,
    DCM_DeidentificationMethodCodeSequence,
    DCM_StudyInstanceUID, DCM_StudyDate, DCM_StudyTime, DCM_ReferringPhysicianName, DCM_StudyID,
    DCM_AccessionNumber, DCM_IssuerOfAccessionNumberSequence, DCM_StudyDescription, DCM_ProcedureCodeSequence,
    DCM_PatientAge, DCM_PatientSize, DCM_PatientWeight, DCM_AdmissionID,
    DCM_ClinicalTrialSponsorName, DCM_ClinicalTrialProtocolID, DCM_ClinicalTrialProtocolName, DCM_ClinicalTrialSiteID,
    DCM_ClinicalTrialSiteName, DCM_ClinicalTrialSubjectID, DCM_ClinicalTrialSubjectReadingID,
    DCM_ClinicalTrialTimePointID, DCM_ClinicalTrialTimePointDescription,
    DCM_FrameOfReferenceUID, DCM_PositionReferenceIndicator,
};

/// Elements that must be present, even if empty.
const DcmTagKey present[] = {
    DCM_PatientName, DCM_PatientID, DCM_PatientBirthDate, DCM_PatientSex, DCM_StudyDate, DCM_StudyTime,
    DCM_ReferringPhysicianName, DCM_StudyID, DCM_AccessionNumber, DCM_PositionReferenceIndicator,
};

/// The value of the first of these tags that the source states validly.
std::string first_stated(DcmItem &set, std::initializer_list<DcmTagKey> tags, bool (*is_valid)(const std::string &),
                         const char *otherwise) {
    for (const DcmTagKey &tag : tags) {
        const std::string text = cdcmtk::text_in(set, tag);
        if (!text.empty() && is_valid(text)) return text;
    }
    return otherwise;
}

bool is_code_text(const std::string &text) {
    return DcmCodeString::checkStringValue(OFString(text.data(), text.size()), "1-n").good();
}

/// The number of the source's series followed by three digits, so that the series are adjacent in a list.
std::string series_number(DcmItem &set, const cdcmtk_object &object) {
    Sint32 number = 0;
    const int ours = 2 * object.maker_number + (object.is_segmentation ? 1 : 2);
    if (set.findAndGetSint32(DCM_SeriesNumber, number).bad() || number < 0 || number > 1000000) number = 9;
    return std::to_string(int64_t(number) * 1000 + ours);
}

}  // namespace

void cdcmtk::copy_modules(DcmDataset &source, cdcmtk_object &object) {
    DcmDataset &set = object.set();
    for (const DcmTagKey &tag : copied) {
        copy_valid(source, tag, set);
    }
    // Must not be empty; without it, texts are ASCII, as an empty one means.
    DcmElement *characters = nullptr;
    if (set.findAndGetElement(DCM_SpecificCharacterSet, characters).good() && characters->isEmpty()) {
        delete set.remove(characters);
    }
    for (const DcmTagKey &tag : present) {
        if (!set.tagExists(tag)) require(set.insertEmptyElement(tag));
    }
    if (text_in(set, DCM_FrameOfReferenceUID).empty()) put(set, DCM_FrameOfReferenceUID, object.fallback_frame_uid);
    object.frame_uid = text_in(set, DCM_FrameOfReferenceUID);
    object.study_uid = text_in(set, DCM_StudyInstanceUID);
    // The current date is never used: the same source gives the same bytes.
    const std::string date = first_stated(
        source, {DCM_ContentDate, DCM_SeriesDate, DCM_AcquisitionDate, DCM_StudyDate}, is_date_text,
        "19000101");
    const std::string time = first_stated(
        source, {DCM_ContentTime, DCM_SeriesTime, DCM_AcquisitionTime, DCM_StudyTime}, is_time_text,
        "000000");
    if (object.is_segmentation) {
        put(set, DCM_ContentDate, date);
        put(set, DCM_ContentTime, time);
        const bool is_lossy = text_in(source, DCM_LossyImageCompression) == "01";
        put(set, DCM_LossyImageCompression, is_lossy ? "01" : "00");
        if (is_lossy) {
            put(set, DCM_LossyImageCompressionRatio,
                first_stated(source, {DCM_LossyImageCompressionRatio}, is_decimal_text, "1"));
            put(set, DCM_LossyImageCompressionMethod,
                first_stated(source, {DCM_LossyImageCompressionMethod}, is_code_text, "ISO_10918_1"));
        }
    } else {
        put(set, DCM_StructureSetDate, date);
        put(set, DCM_StructureSetTime, time);
    }
    put(set, DCM_SeriesNumber, series_number(source, object));
}

namespace {

/// Calls `body` with each text of an element, and of the items of a sequence, whose characters depend on SpecificCharacterSet.
template <typename Body>
void for_each_text(DcmObject &object, Body body) {
    if (DcmCharString *text = dynamic_cast<DcmCharString *>(&object)) {
        body(*text);
        return;
    }
    if (!dynamic_cast<DcmItem *>(&object) && !dynamic_cast<DcmSequenceOfItems *>(&object)) return;
    DcmObject *member = nullptr;
    while ((member = object.nextInContainer(member)) != nullptr) for_each_text(*member, body);
}

std::string bytes_of(DcmCharString &text) {
    char *bytes = nullptr;
    Uint32 length = 0;
    return text.getString(bytes, length).good() && bytes ? std::string(bytes, length) : "";
}

bool is_copied(DcmObject &object) {
    const DcmTagKey tag = object.getTag();
    return std::find(std::begin(copied), std::end(copied), tag) != std::end(copied);
}

}  // namespace

void cdcmtk::unify_characters(cdcmtk_object &object) {
    bool is_ascii = true;
    DcmObject *element = nullptr;
    while ((element = object.set().nextInContainer(element)) != nullptr) {
        if (is_copied(*element)) continue;
        for_each_text(*element, [&](DcmCharString &text) {
            for (const char byte : bytes_of(text)) is_ascii = is_ascii && static_cast<unsigned char>(byte) < 0x80;
        });
    }
    if (is_ascii) return;
    for (const DcmTagKey &tag : copied) {
        DcmElement *copy = nullptr;
        if (object.set().findAndGetElement(tag, copy).bad()) continue;
        for_each_text(*copy, [](DcmCharString &text) {
            const cdicom::CharacterSets characters(stated_characters(*text.getParentItem()));
            const std::string converted = characters.utf8(bytes_of(text), text.ident() == EVR_PN);
            require(text.putOFStringArray(OFString(converted.data(), converted.size())));
        });
    }
    // Items may have stated other sets.
    object.set().findAndDeleteElement(DCM_SpecificCharacterSet, true, true);
    put(object.set(), DCM_SpecificCharacterSet, "ISO_IR 192");
}
