#include "header.hpp"
#include "reading.hpp"

#include "cdicom/tags.hpp"

#include <cmath>
#include <cstring>

namespace {

using cdicom::Node;
using cdicom::Reader;
namespace tag = cdicom::tag;

double number(Reader reader, uint32_t tag) {
    double value = 0;
    return reader.numbers(tag, &value, 1) ? value : std::nan("");
}

double seconds(Reader reader, uint32_t tag) {
    double value = 0;
    return reader.seconds(tag, value) ? value : std::nan("");
}

/// The tag of an element in the block that a creator has reserved, which may be any of its group (PS3.5 7.8.1); 0 where there is
/// none.
uint32_t private_element(const Node &set, uint32_t tag, const char *creator) {
    const uint32_t group = tag & 0xFFFF0000;
    for (auto one = set.values.lower_bound(group | 0x10); one != set.values.end() && one->first <= (group | 0xFF); ++one) {
        const uint32_t element = group | (one->first & 0xFF) << 8 | (tag & 0xFF);
        if (one->second.text().compare(0, std::strlen(creator), creator) == 0 && set.find(element)) return element;
    }
    return 0;
}

}  // namespace

void cdicom::fill_pet(const Object &object, cdicom_pet &pet) {
    std::memset(&pet, 0, sizeof pet);
    const Node &set = object.set;
    const Reader read(set, pet.remarks);
    put_text(set, tag::Units, pet.units);
    put_text(set, tag::SUVType, pet.suv_type);
    put_text(set, tag::DecayCorrection, pet.decay_correction);
    put_text(set, tag::CorrectedImage, pet.corrected_image);
    put_text(set, tag::SeriesDate, pet.series_date);
    put_text(set, tag::AcquisitionDate, pet.acquisition_date);
    pet.series_time = seconds(read, tag::SeriesTime);
    pet.acquisition_time = seconds(read, tag::AcquisitionTime);
    pet.weight = number(read, tag::PatientWeight);
    const auto sequence = set.sequences.find(tag::RadiopharmaceuticalInformationSequence);
    const bool has_dose = sequence != set.sequences.end() && !sequence->second.empty();
    const Node none;
    const Node &dose = has_dose ? sequence->second.front() : none;
    const Reader read_dose(dose, pet.remarks);
    pet.radiopharmaceuticals = has_dose ? static_cast<int32_t>(sequence->second.size()) : 0;
    pet.total_dose = number(read_dose, tag::RadionuclideTotalDose);
    pet.half_life = number(read_dose, tag::RadionuclideHalfLife);
    pet.start_time = seconds(read_dose, tag::RadiopharmaceuticalStartTime);
    put_text(dose, tag::RadiopharmaceuticalStartDateTime, pet.start_date_time);
    put_text(set, tag::TimezoneOffsetFromUTC, pet.time_zone);
    pet.frame_reference_time = number(read, tag::FrameReferenceTime);
    pet.frame_duration = number(read, tag::ActualFrameDuration);
    const uint32_t scan = private_element(set, tag::GEScanDateTime, "GEMS_PETD_01");
    put_text(set, scan, pet.ge_scan_date_time);
    const char *const philips = "Philips PET Private Group";
    pet.philips_suv_factor = number(read, private_element(set, tag::PhilipsSUVFactor, philips));
    const uint32_t activity = private_element(set, tag::PhilipsActivityConcentrationFactor, philips);
    pet.philips_activity_factor = number(read, activity);
}
