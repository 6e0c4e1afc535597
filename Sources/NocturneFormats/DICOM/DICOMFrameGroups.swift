internal import CDCMTK
internal import CDICOMParser

extension DICOMObject {
    /// The functional groups of one frame: its own values take precedence over those shared by all frames.
    struct FrameGroups: Sendable, Hashable {
        /// Of PlanePositionSequence (0020,9113).
        var position: SIMD3<Double>?
        /// Both of PlaneOrientationSequence (0020,9116).
        var rowDirection: SIMD3<Double>?
        var columnDirection: SIMD3<Double>?
        /// These three of PixelMeasuresSequence (0028,9110).
        var rowSpacing: Double?
        var columnSpacing: Double?
        var sliceThickness: Double?
        /// These three of PixelValueTransformationSequence (0028,9145); the type is empty where it is not stated.
        var rescaleSlope: Double?
        var rescaleIntercept: Double?
        var rescaleType: String
        /// Both of FrameVOILUTSequence (0028,9132).
        var windowCenter: Double?
        var windowWidth: Double?
        /// ms: EffectiveEchoTime (0018,9082), which enhanced objects have in place of EchoTime.
        var echoTime: Double?
        /// ms: NominalCardiacTriggerDelayTime (0020,9153), which they have in place of TriggerTime.
        var triggerTime: Double?
        /// Seconds of the day, of FrameAcquisitionDateTime (0018,9074).
        var acquisitionTime: Double?
        /// Of MRDiffusionSequence (0018,9117).
        var diffusionBValue: Double?
        /// The rest is of FrameContentSequence (0020,9111), but for the type of the frame.
        var temporalPosition: Int?
        var acquisitionNumber: Int?
        var stackID: String?
        /// FrameType (0008,9007), which has the place of ImageType; empty where it is not stated.
        var frameType: [String]
        var dimensionIndex: [Int]

        init(_ frame: cdicom_frame) {
            let numbers = DICOMObject.StatedNumbers(present: frame.present)
            if numbers.has(CDICOM_HAS_POSITION) {
                position = SIMD3(frame.position.0, frame.position.1, frame.position.2)
            }
            if numbers.has(CDICOM_HAS_ORIENTATION) {
                let cosines = frame.orientation
                rowDirection = SIMD3(cosines.0, cosines.1, cosines.2)
                columnDirection = SIMD3(cosines.3, cosines.4, cosines.5)
            }
            rowSpacing = numbers.real(frame.pixel_spacing.0, CDICOM_HAS_PIXEL_SPACING)
            columnSpacing = numbers.real(frame.pixel_spacing.1, CDICOM_HAS_PIXEL_SPACING)
            sliceThickness = numbers.real(frame.slice_thickness, CDICOM_HAS_SLICE_THICKNESS)
            rescaleSlope = numbers.real(frame.rescale_slope, CDICOM_HAS_RESCALE_SLOPE)
            rescaleIntercept = numbers.real(frame.rescale_intercept, CDICOM_HAS_RESCALE_INTERCEPT)
            rescaleType = text(frame.rescale_type)
            windowCenter = numbers.real(frame.window_center, CDICOM_HAS_WINDOW)
            windowWidth = numbers.real(frame.window_width, CDICOM_HAS_WINDOW)
            echoTime = numbers.real(frame.echo_time, CDICOM_HAS_ECHO_TIME)
            triggerTime = numbers.real(frame.trigger_time, CDICOM_HAS_TRIGGER_TIME)
            acquisitionTime = numbers.real(frame.acquisition_time, CDICOM_HAS_ACQUISITION_TIME)
            diffusionBValue = numbers.real(frame.b_value, CDICOM_HAS_B_VALUE)
            temporalPosition = numbers.integer(frame.temporal_position, CDICOM_HAS_TEMPORAL_POSITION)
            acquisitionNumber = numbers.integer(frame.acquisition_number, CDICOM_HAS_ACQUISITION_NUMBER)
            let stack = text(frame.stack_id)
            stackID = stack.isEmpty ? nil : stack
            let type = text(frame.frame_type)
            frameType = type.isEmpty ? [] : type.split(separator: "\\", omittingEmptySubsequences: false).map(trimmed)
            dimensionIndex = withUnsafeBytes(of: frame.dimensions) { bytes in
                bytes.bindMemory(to: UInt32.self).prefix(Int(frame.dimension_count)).map { Int($0) }
            }
        }
    }
}
