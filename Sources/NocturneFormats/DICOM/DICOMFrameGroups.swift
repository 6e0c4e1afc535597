internal import CDCMTK
internal import CDICOMParser
import NocturneSystem

extension DICOMObject {
    /// The functional groups of one frame: its own values take precedence over those shared by all frames.
    struct FrameGroups: Sendable, Hashable {
        var position: SIMD3<Double>?
        var rowDirection: SIMD3<Double>?
        var columnDirection: SIMD3<Double>?
        var rowSpacing: Double?
        var columnSpacing: Double?
        var sliceThickness: Double?
        var rescaleSlope: Double?
        var rescaleIntercept: Double?
        var rescaleType: String
        var windowCenter: Double?
        var windowWidth: Double?
        var echoTime: Double?
        var triggerTime: Double?
        var acquisitionTime: Double?
        var diffusionBValue: Double?
        var temporalPosition: Int?
        var acquisitionNumber: Int?
        var inStackPosition: Int?
        var stackID: String?
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
            inStackPosition = numbers.integer(frame.in_stack_position, CDICOM_HAS_IN_STACK_POSITION)
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
