#include "cdicom/dataset.hpp"

#include "cdicom/tags.hpp"

#include <algorithm>
#include <iterator>

namespace {

struct KeptElement {
    uint32_t tag;
    /// The representation in the dictionary, for implicit data sets.
    const char *vr;
};

namespace tag = cdicom::tag;

/// Sorted by tag.
constexpr KeptElement kept_elements[] = {
    {tag::MediaStorageSOPClassUID, "UI"},
    {tag::TransferSyntaxUID, "UI"},
    {tag::SpecificCharacterSet, "CS"},
    {tag::ImageType, "CS"},
    {tag::SOPClassUID, "UI"},
    {tag::SOPInstanceUID, "UI"},
    {tag::StudyDate, "DA"},
    {tag::SeriesDate, "DA"},
    {tag::AcquisitionDate, "DA"},
    {tag::AcquisitionDateTime, "DT"},
    {tag::StudyTime, "TM"},
    {tag::SeriesTime, "TM"},
    {tag::AcquisitionTime, "TM"},
    {tag::ContentTime, "TM"},
    {tag::AccessionNumber, "SH"},
    {tag::Modality, "CS"},
    {tag::Manufacturer, "LO"},
    {tag::TimezoneOffsetFromUTC, "SH"},
    {tag::SeriesDescription, "LO"},
    {tag::FrameType, "CS"},
    {tag::PrivateCreator0009, "LO"},
    {tag::GEScanDateTime, "DT"},
    {tag::PatientName, "PN"},
    {tag::PatientID, "LO"},
    {tag::IssuerOfPatientID, "LO"},
    {tag::PatientBirthDate, "DA"},
    {tag::PatientSex, "CS"},
    {tag::PatientWeight, "DS"},
    {tag::PatientIdentityRemoved, "CS"},
    {tag::SliceThickness, "DS"},
    {tag::KVP, "DS"},
    {tag::RepetitionTime, "DS"},
    {tag::EchoTime, "DS"},
    {tag::InversionTime, "DS"},
    {tag::EchoNumbers, "IS"},
    {tag::SpacingBetweenSlices, "DS"},
    {tag::TriggerTime, "DS"},
    {tag::RadiopharmaceuticalStartTime, "TM"},
    {tag::RadionuclideTotalDose, "DS"},
    {tag::RadionuclideHalfLife, "DS"},
    {tag::RadiopharmaceuticalStartDateTime, "DT"},
    {tag::GantryDetectorTilt, "DS"},
    {tag::ConvolutionKernel, "SH"},
    {tag::ActualFrameDuration, "IS"},
    {tag::FlipAngle, "DS"},
    {tag::FrameAcquisitionDateTime, "DT"},
    {tag::EffectiveEchoTime, "FD"},
    {tag::DiffusionBValue, "FD"},
    {tag::MREchoSequence, "SQ"},
    {tag::MRDiffusionSequence, "SQ"},
    {tag::CardiacSynchronizationSequence, "SQ"},
    {tag::MRImageFrameTypeSequence, "SQ"},
    {tag::CTImageFrameTypeSequence, "SQ"},
    {tag::PETFrameAcquisitionSequence, "SQ"},
    {tag::PrivateCreator0019, "LO"},
    {tag::SiemensNumberOfImagesInMosaic, "US"},
    {tag::SiemensBValue, "IS"},
    {tag::SiemensMosaicRefAcqTimes, "FD"},
    {tag::StudyInstanceUID, "UI"},
    {tag::SeriesInstanceUID, "UI"},
    {tag::SeriesNumber, "IS"},
    {tag::AcquisitionNumber, "IS"},
    {tag::InstanceNumber, "IS"},
    {tag::ImagePositionPatient, "DS"},
    {tag::ImageOrientationPatient, "DS"},
    {tag::FrameOfReferenceUID, "UI"},
    {tag::TemporalPositionIdentifier, "IS"},
    {tag::StackID, "SH"},
    {tag::FrameContentSequence, "SQ"},
    {tag::PlanePositionSequence, "SQ"},
    {tag::PlaneOrientationSequence, "SQ"},
    {tag::TemporalPositionIndex, "UL"},
    {tag::NominalCardiacTriggerDelayTime, "FD"},
    {tag::FrameAcquisitionNumber, "US"},
    {tag::DimensionIndexValues, "UL"},
    {tag::ConcatenationUID, "UI"},
    {tag::InConcatenationNumber, "US"},
    {tag::InConcatenationTotalNumber, "US"},
    {tag::SamplesPerPixel, "US"},
    {tag::PhotometricInterpretation, "CS"},
    {tag::PlanarConfiguration, "US"},
    {tag::NumberOfFrames, "IS"},
    {tag::Rows, "US"},
    {tag::Columns, "US"},
    {tag::PixelSpacing, "DS"},
    {tag::CorrectedImage, "CS"},
    {tag::BitsAllocated, "US"},
    {tag::BitsStored, "US"},
    {tag::HighBit, "US"},
    {tag::PixelRepresentation, "US"},
    {tag::PixelPaddingValue, "US"},
    {tag::PixelPaddingRangeLimit, "US"},
    {tag::WindowCenter, "DS"},
    {tag::WindowWidth, "DS"},
    {tag::RescaleIntercept, "DS"},
    {tag::RescaleSlope, "DS"},
    {tag::RescaleType, "LO"},
    {tag::RedPaletteColorLookupTableDescriptor, "US"},
    {tag::GreenPaletteColorLookupTableDescriptor, "US"},
    {tag::BluePaletteColorLookupTableDescriptor, "US"},
    {tag::RedPaletteColorLookupTableData, "OW"},
    {tag::GreenPaletteColorLookupTableData, "OW"},
    {tag::BluePaletteColorLookupTableData, "OW"},
    {tag::ModalityLUTSequence, "SQ"},
    {tag::LUTDescriptor, "US"},
    {tag::ModalityLUTType, "LO"},
    {tag::LUTData, "US"},
    {tag::VOILUTSequence, "SQ"},
    {tag::PixelMeasuresSequence, "SQ"},
    {tag::FrameVOILUTSequence, "SQ"},
    {tag::PixelValueTransformationSequence, "SQ"},
    {tag::PrivateCreator0029First, "LO"},
    {tag::PrivateCreator0029Second, "LO"},
    {tag::PrivateCreator0029Third, "LO"},
    {tag::CSAImageHeaderInfoFirst, "OB"},
    {tag::CSAImageHeaderInfoSecond, "OB"},
    {tag::CSAImageHeaderInfoThird, "OB"},
    {tag::RadiopharmaceuticalInformationSequence, "SQ"},
    {tag::NumberOfSlices, "US"},
    {tag::Units, "CS"},
    {tag::SUVType, "CS"},
    {tag::DecayCorrection, "CS"},
    {tag::FrameReferenceTime, "DS"},
    {tag::PrivateCreator0065, "LO"},
    {tag::UnitedImagingSlicesInGrid, "DS"},
    {tag::UnitedImagingFrameSequence, "SQ"},
    {tag::SharedFunctionalGroupsSequence, "SQ"},
    {tag::PerFrameFunctionalGroupsSequence, "SQ"},
    {tag::PrivateCreator7053, "LO"},
    {tag::PhilipsSUVFactor, "DS"},
    {tag::PhilipsActivityConcentrationFactor, "DS"},
};

constexpr bool is_ordered() {
    for (size_t index = 1; index < std::size(kept_elements); index += 1) {
        if (kept_elements[index - 1].tag >= kept_elements[index].tag) return false;
    }
    return true;
}
static_assert(is_ordered(), "kept_elements is searched by bisection");

}  // namespace

const char *cdicom::kept_representation(uint32_t tag) {
    tag = tag::in_first_block(tag);
    const KeptElement *end = std::end(kept_elements);
    const KeptElement *found = std::lower_bound(
        std::begin(kept_elements), end, tag, [](const KeptElement &one, uint32_t other) { return one.tag < other; });
    return found != end && found->tag == tag ? found->vr : nullptr;
}
