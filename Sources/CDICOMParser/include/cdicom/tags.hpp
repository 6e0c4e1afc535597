#ifndef CDICOM_TAGS_HPP
#define CDICOM_TAGS_HPP

#include <cstdint>

/// The tags that are read, named by their keywords in DICOM PS3.6 (those of Siemens' private elements: by the vendor's
/// names).
namespace cdicom::tag {

// File meta information.
constexpr uint32_t MediaStorageSOPClassUID = 0x00020002;
constexpr uint32_t TransferSyntaxUID = 0x00020010;

// Identification.
constexpr uint32_t SpecificCharacterSet = 0x00080005;
constexpr uint32_t ImageType = 0x00080008;
constexpr uint32_t SOPClassUID = 0x00080016;
constexpr uint32_t SOPInstanceUID = 0x00080018;
constexpr uint32_t StudyDate = 0x00080020;
constexpr uint32_t SeriesDate = 0x00080021;
constexpr uint32_t AcquisitionDate = 0x00080022;
constexpr uint32_t AcquisitionDateTime = 0x0008002A;
constexpr uint32_t StudyTime = 0x00080030;
constexpr uint32_t SeriesTime = 0x00080031;
constexpr uint32_t AcquisitionTime = 0x00080032;
constexpr uint32_t ContentTime = 0x00080033;
constexpr uint32_t AccessionNumber = 0x00080050;
constexpr uint32_t Modality = 0x00080060;
constexpr uint32_t Manufacturer = 0x00080070;
constexpr uint32_t TimezoneOffsetFromUTC = 0x00080201;
constexpr uint32_t SeriesDescription = 0x0008103E;
constexpr uint32_t FrameType = 0x00089007;

// GE: a private block of group 0009, see private_element.
constexpr uint32_t PrivateCreator0009 = 0x00090010;
constexpr uint32_t GEScanDateTime = 0x0009100D;

// The patient: what file names may repeat, and what standardized uptake values are relative to.
constexpr uint32_t PatientName = 0x00100010;
constexpr uint32_t PatientID = 0x00100020;
constexpr uint32_t IssuerOfPatientID = 0x00100021;
constexpr uint32_t PatientBirthDate = 0x00100030;
constexpr uint32_t PatientSex = 0x00100040;
constexpr uint32_t PatientWeight = 0x00101030;
constexpr uint32_t PatientIdentityRemoved = 0x00120062;

// Acquisition.
constexpr uint32_t SliceThickness = 0x00180050;
constexpr uint32_t KVP = 0x00180060;
constexpr uint32_t RepetitionTime = 0x00180080;
constexpr uint32_t EchoTime = 0x00180081;
constexpr uint32_t InversionTime = 0x00180082;
constexpr uint32_t EchoNumbers = 0x00180086;
constexpr uint32_t SpacingBetweenSlices = 0x00180088;
constexpr uint32_t TriggerTime = 0x00181060;
constexpr uint32_t RadiopharmaceuticalStartTime = 0x00181072;
constexpr uint32_t RadionuclideTotalDose = 0x00181074;
constexpr uint32_t RadionuclideHalfLife = 0x00181075;
constexpr uint32_t RadiopharmaceuticalStartDateTime = 0x00181078;
constexpr uint32_t GantryDetectorTilt = 0x00181120;
constexpr uint32_t ConvolutionKernel = 0x00181210;
constexpr uint32_t ActualFrameDuration = 0x00181242;
constexpr uint32_t FlipAngle = 0x00181314;
constexpr uint32_t FrameAcquisitionDateTime = 0x00189074;
constexpr uint32_t EffectiveEchoTime = 0x00189082;
constexpr uint32_t DiffusionBValue = 0x00189087;
constexpr uint32_t MREchoSequence = 0x00189114;
constexpr uint32_t MRDiffusionSequence = 0x00189117;
constexpr uint32_t CardiacSynchronizationSequence = 0x00189118;
constexpr uint32_t MRImageFrameTypeSequence = 0x00189226;
constexpr uint32_t CTImageFrameTypeSequence = 0x00189329;
constexpr uint32_t PETFrameAcquisitionSequence = 0x00189732;

// Siemens: the private block of group 0019, and the three blocks that a scanner header (CSA) may occupy in group 0029.
constexpr uint32_t PrivateCreator0019 = 0x00190010;
constexpr uint32_t SiemensNumberOfImagesInMosaic = 0x0019100A;
constexpr uint32_t SiemensBValue = 0x0019100C;
constexpr uint32_t SiemensMosaicRefAcqTimes = 0x00191029;
constexpr uint32_t PrivateCreator0029First = 0x00290010;
constexpr uint32_t PrivateCreator0029Second = 0x00290011;
constexpr uint32_t PrivateCreator0029Third = 0x00290012;
constexpr uint32_t CSAImageHeaderInfoFirst = 0x00291010;
constexpr uint32_t CSAImageHeaderInfoSecond = 0x00291110;
constexpr uint32_t CSAImageHeaderInfoThird = 0x00291210;

// Relationship.
constexpr uint32_t StudyInstanceUID = 0x0020000D;
constexpr uint32_t SeriesInstanceUID = 0x0020000E;
constexpr uint32_t SeriesNumber = 0x00200011;
constexpr uint32_t AcquisitionNumber = 0x00200012;
constexpr uint32_t InstanceNumber = 0x00200013;
constexpr uint32_t ImagePositionPatient = 0x00200032;
constexpr uint32_t ImageOrientationPatient = 0x00200037;
constexpr uint32_t FrameOfReferenceUID = 0x00200052;
constexpr uint32_t TemporalPositionIdentifier = 0x00200100;
constexpr uint32_t StackID = 0x00209056;
constexpr uint32_t FrameContentSequence = 0x00209111;
constexpr uint32_t PlanePositionSequence = 0x00209113;
constexpr uint32_t PlaneOrientationSequence = 0x00209116;
constexpr uint32_t TemporalPositionIndex = 0x00209128;
constexpr uint32_t NominalCardiacTriggerDelayTime = 0x00209153;
constexpr uint32_t FrameAcquisitionNumber = 0x00209156;
constexpr uint32_t DimensionIndexValues = 0x00209157;
constexpr uint32_t ConcatenationUID = 0x00209161;
constexpr uint32_t InConcatenationNumber = 0x00209162;
constexpr uint32_t InConcatenationTotalNumber = 0x00209163;

// Image presentation.
constexpr uint32_t SamplesPerPixel = 0x00280002;
constexpr uint32_t PhotometricInterpretation = 0x00280004;
constexpr uint32_t PlanarConfiguration = 0x00280006;
constexpr uint32_t NumberOfFrames = 0x00280008;
constexpr uint32_t Rows = 0x00280010;
constexpr uint32_t Columns = 0x00280011;
constexpr uint32_t PixelSpacing = 0x00280030;
constexpr uint32_t CorrectedImage = 0x00280051;
constexpr uint32_t BitsAllocated = 0x00280100;
constexpr uint32_t BitsStored = 0x00280101;
constexpr uint32_t HighBit = 0x00280102;
constexpr uint32_t PixelRepresentation = 0x00280103;
constexpr uint32_t PixelPaddingValue = 0x00280120;
constexpr uint32_t PixelPaddingRangeLimit = 0x00280121;
constexpr uint32_t WindowCenter = 0x00281050;
constexpr uint32_t WindowWidth = 0x00281051;
constexpr uint32_t RescaleIntercept = 0x00281052;
constexpr uint32_t RescaleSlope = 0x00281053;
constexpr uint32_t RescaleType = 0x00281054;
constexpr uint32_t RedPaletteColorLookupTableDescriptor = 0x00281101;
constexpr uint32_t GreenPaletteColorLookupTableDescriptor = 0x00281102;
constexpr uint32_t BluePaletteColorLookupTableDescriptor = 0x00281103;
constexpr uint32_t RedPaletteColorLookupTableData = 0x00281201;
constexpr uint32_t GreenPaletteColorLookupTableData = 0x00281202;
constexpr uint32_t BluePaletteColorLookupTableData = 0x00281203;
constexpr uint32_t ModalityLUTSequence = 0x00283000;
constexpr uint32_t LUTDescriptor = 0x00283002;
constexpr uint32_t ModalityLUTType = 0x00283004;
constexpr uint32_t LUTData = 0x00283006;
constexpr uint32_t VOILUTSequence = 0x00283010;
constexpr uint32_t PixelMeasuresSequence = 0x00289110;
constexpr uint32_t FrameVOILUTSequence = 0x00289132;
constexpr uint32_t PixelValueTransformationSequence = 0x00289145;

// Nuclear medicine, and functional groups of multi-frame objects.
constexpr uint32_t RadiopharmaceuticalInformationSequence = 0x00540016;
constexpr uint32_t NumberOfSlices = 0x00540081;
constexpr uint32_t Units = 0x00541001;
constexpr uint32_t SUVType = 0x00541006;
constexpr uint32_t DecayCorrection = 0x00541102;
constexpr uint32_t FrameReferenceTime = 0x00541300;
// United Imaging: the private block of group 0065.
constexpr uint32_t PrivateCreator0065 = 0x00650010;
constexpr uint32_t UnitedImagingSlicesInGrid = 0x00651050;
constexpr uint32_t UnitedImagingFrameSequence = 0x00651051;
constexpr uint32_t SharedFunctionalGroupsSequence = 0x52009229;
constexpr uint32_t PerFrameFunctionalGroupsSequence = 0x52009230;
// Philips: a private block of group 7053, see private_element.
constexpr uint32_t PrivateCreator7053 = 0x70530010;
constexpr uint32_t PhilipsSUVFactor = 0x70531000;
constexpr uint32_t PhilipsActivityConcentrationFactor = 0x70531009;

// Pixels.
constexpr uint32_t ExtendedOffsetTable = 0x7FE00001;
constexpr uint32_t FloatPixelData = 0x7FE00008;
constexpr uint32_t DoubleFloatPixelData = 0x7FE00009;
constexpr uint32_t PixelData = 0x7FE00010;

// Items of sequences and fragments of pixels, which have no representation.
constexpr uint32_t Item = 0xFFFEE000;
constexpr uint32_t ItemDelimitationItem = 0xFFFEE00D;
constexpr uint32_t SequenceDelimitationItem = 0xFFFEE0DD;

constexpr uint32_t group_of(uint32_t tag) { return tag >> 16; }

/// Block 10 in place of any other block of the groups whose private blocks are found by their creators; other tags as they are.
constexpr uint32_t in_first_block(uint32_t tag) {
    const uint32_t element = tag & 0xFFFF;
    if (group_of(tag) != group_of(PrivateCreator0009) && group_of(tag) != group_of(PrivateCreator7053)) return tag;
    if (element >= 0x10 && element <= 0xFF) return (tag & 0xFFFF0000) | 0x10;
    return element >= 0x1000 ? (tag & 0xFFFF00FF) | 0x1000 : tag;
}
constexpr uint32_t pixel_group = 0x7FE0, item_group = 0xFFFE;

}  // namespace cdicom::tag

#endif
