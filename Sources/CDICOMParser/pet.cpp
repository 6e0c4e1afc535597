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

}  // namespace

void cdicom::fill_pet(const Object &object, cdicom_pet &pet) {
    std::memset(&pet, 0, sizeof pet);
    const Node &set = object.set;
    const Reader read(set, pet.remarks);
    put_text(set, tag::Units, pet.units, sizeof pet.units);
    put_text(set, tag::SUVType, pet.suv_type, sizeof pet.suv_type);
    put_text(set, tag::DecayCorrection, pet.decay_correction, sizeof pet.decay_correction);
    put_text(set, tag::CorrectedImage, pet.corrected_image, sizeof pet.corrected_image);
    put_text(set, tag::SeriesDate, pet.series_date, sizeof pet.series_date);
    put_text(set, tag::AcquisitionDate, pet.acquisition_date, sizeof pet.acquisition_date);
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
    put_text(dose, tag::RadiopharmaceuticalStartDateTime, pet.start_date_time, sizeof pet.start_date_time);
    const bool is_philips = set.text(tag::PrivateCreator7053).compare(0, 25, "Philips PET Private Group") == 0;
    pet.philips_suv_factor = is_philips ? number(read, tag::PhilipsSUVFactor) : std::nan("");
    pet.philips_activity_factor = is_philips ? number(read, tag::PhilipsActivityConcentrationFactor) : std::nan("");
}
