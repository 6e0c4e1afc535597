#include "header.hpp"

#include "cdicom/tags.hpp"

#include <cmath>
#include <cstring>

namespace {

using cdicom::Node;
namespace tag = cdicom::tag;

double number(const Node &node, uint32_t tag) {
    double value = 0;
    return node.numbers(tag, &value, 1) ? value : std::nan("");
}

double seconds(const Node &node, uint32_t tag) {
    double value = 0;
    return cdicom::seconds_of_day(node.text(tag), value) ? value : std::nan("");
}

}  // namespace

void cdicom::fill_pet(const Object &object, cdicom_pet &pet) {
    std::memset(&pet, 0, sizeof pet);
    const Node &set = object.set;
    put_text(set, tag::Units, pet.units, sizeof pet.units);
    put_text(set, tag::SUVType, pet.suv_type, sizeof pet.suv_type);
    put_text(set, tag::DecayCorrection, pet.decay_correction, sizeof pet.decay_correction);
    put_text(set, tag::CorrectedImage, pet.corrected_image, sizeof pet.corrected_image);
    put_text(set, tag::SeriesDate, pet.series_date, sizeof pet.series_date);
    put_text(set, tag::AcquisitionDate, pet.acquisition_date, sizeof pet.acquisition_date);
    pet.series_time = seconds(set, tag::SeriesTime);
    pet.acquisition_time = seconds(set, tag::AcquisitionTime);
    pet.weight = number(set, tag::PatientWeight);
    const auto sequence = set.sequences.find(tag::RadiopharmaceuticalInformationSequence);
    const bool has_dose = sequence != set.sequences.end() && !sequence->second.empty();
    const Node none;
    const Node &dose = has_dose ? sequence->second.front() : none;
    pet.radiopharmaceuticals = has_dose ? static_cast<int32_t>(sequence->second.size()) : 0;
    pet.total_dose = number(dose, tag::RadionuclideTotalDose);
    pet.half_life = number(dose, tag::RadionuclideHalfLife);
    pet.start_time = seconds(dose, tag::RadiopharmaceuticalStartTime);
    put_text(dose, tag::RadiopharmaceuticalStartDateTime, pet.start_date_time, sizeof pet.start_date_time);
    const bool is_philips = set.text(tag::PrivateCreator7053).compare(0, 25, "Philips PET Private Group") == 0;
    pet.philips_suv_factor = is_philips ? number(set, tag::PhilipsSUVFactor) : std::nan("");
    pet.philips_activity_factor = is_philips ? number(set, tag::PhilipsActivityConcentrationFactor) : std::nan("");
}
