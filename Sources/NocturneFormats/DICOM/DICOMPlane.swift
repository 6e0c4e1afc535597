internal import CDCMTK
internal import CDICOMParser

/// Where a plane lies, what its values mean, and what distinguishes it from others: as stated for a whole object, for one of its
/// frames, or for a slice.
///
/// An optional is nil when the header does not state the value, or states an unusable one.
public struct DICOMPlane: Sendable, Hashable {
    /// Of the whole object, slice or tile; nil for a frame, as ``echoNumber``, ``instanceNumber`` and ``contentTime``.
    public var rows: Int?
    /// Columns (0028,0011); as ``rows`` for a frame.
    public var columns: Int?
    /// The centre of the first pixel in mm, LPS+.
    public var position: SIMD3<Double>?
    /// The direction in which the column index grows (along a row), LPS+.
    public var rowDirection: SIMD3<Double>?
    /// The direction in which the row index grows (down a column), LPS+.
    public var columnDirection: SIMD3<Double>?
    /// mm from one row to the next: the first value of PixelSpacing.
    public var rowSpacing: Double?
    /// mm from one column to the next: the second value of PixelSpacing.
    public var columnSpacing: Double?
    /// mm. Not the distance between slices.
    public var sliceThickness: Double?

    /// The slope and intercept that convert stored values to output values; nil when missing, which means 1 and 0.
    public var rescaleSlope: Double?
    /// RescaleIntercept (0028,1052), in the unit of the output values.
    public var rescaleIntercept: Double?
    /// RescaleType (0028,1054), of what the output values are, or the type of the modality table; empty when missing.
    public var rescaleType = ""
    /// WindowCenter (0028,1050), the first one, in output values; nil also where either value of the window is missing.
    public var windowCenter: Double?
    /// WindowWidth (0028,1051), the first one, in output values.
    public var windowWidth: Double?

    /// StackID (0020,9056) of a frame.
    public var stackID: String?
    /// TemporalPositionIdentifier, or TemporalPositionIndex of a frame.
    public var temporalPosition: Int?
    /// AcquisitionNumber (0020,0012).
    public var acquisitionNumber: Int?
    /// EchoNumbers (0018,0086), the first one.
    public var echoNumber: Int?
    /// ms; of a frame, EffectiveEchoTime (0018,9082).
    public var echoTime: Double?
    /// InstanceNumber (0020,0013): the order in which a scanner lists its images, which need not be that of positions.
    public var instanceNumber: Int?
    /// ImageType, or FrameType of a frame.
    public var imageType: [String] = []
    /// ms; of a frame, NominalCardiacTriggerDelayTime (0020,9153).
    public var triggerTime: Double?
    /// Seconds of the day.
    public var contentTime: Double?
    /// Seconds of the day.
    public var acquisitionTime: Double?
    /// s/mm².
    public var diffusionBValue: Double?
    /// KVP (0018,0060), in kV; nil also where 0 is stated, as for the next three.
    public var peakVoltage: Double?
    /// RepetitionTime (0018,0080), in ms.
    public var repetitionTime: Double?
    /// InversionTime (0018,0082), in ms.
    public var inversionTime: Double?
    /// FlipAngle (0018,1314), in degrees.
    public var flipAngle: Double?
    /// ConvolutionKernel (0018,1210); empty when missing.
    public var kernel = ""
    /// DimensionIndexValues of a frame; empty when there are none.
    public var dimensionIndex: [Int] = []
}

extension DICOMPlane {
    /// Of the header of an object; or of the functional groups of one frame, whose own values take precedence over those shared
    /// by all frames.
    init(_ plane: cdicom_plane) {
        // One bit for each element that is stated, since every number can be a value.
        let numbers = DICOMObject.StatedNumbers(present: plane.present)
        rows = numbers.integer(plane.rows, CDICOM_HAS_ROWS)
        columns = numbers.integer(plane.columns, CDICOM_HAS_COLUMNS)
        if numbers.has(CDICOM_HAS_POSITION) {
            position = SIMD3(plane.position.0, plane.position.1, plane.position.2)
        }
        if numbers.has(CDICOM_HAS_ORIENTATION) {
            let cosines = plane.orientation
            // Of ImageOrientationPatient: first the direction along a row, then that along a column (PS3.3 C.7.6.2.1.1).
            rowDirection = SIMD3(cosines.0, cosines.1, cosines.2)
            columnDirection = SIMD3(cosines.3, cosines.4, cosines.5)
        }
        // PixelSpacing: first the distance of rows, then that of columns (PS3.3 10.7.1.3).
        rowSpacing = numbers.real(plane.pixel_spacing.0, CDICOM_HAS_PIXEL_SPACING)
        columnSpacing = numbers.real(plane.pixel_spacing.1, CDICOM_HAS_PIXEL_SPACING)
        sliceThickness = numbers.real(plane.slice_thickness, CDICOM_HAS_SLICE_THICKNESS)
        rescaleSlope = numbers.real(plane.rescale_slope, CDICOM_HAS_RESCALE_SLOPE)
        rescaleIntercept = numbers.real(plane.rescale_intercept, CDICOM_HAS_RESCALE_INTERCEPT)
        rescaleType = text(plane.rescale_type)
        windowCenter = numbers.real(plane.window_center, CDICOM_HAS_WINDOW)
        windowWidth = numbers.real(plane.window_width, CDICOM_HAS_WINDOW)
        echoNumber = numbers.integer(plane.echo_number, CDICOM_HAS_ECHO_NUMBER)
        echoTime = numbers.real(plane.echo_time, CDICOM_HAS_ECHO_TIME)
        triggerTime = numbers.real(plane.trigger_time, CDICOM_HAS_TRIGGER_TIME)
        contentTime = numbers.real(plane.content_time, CDICOM_HAS_CONTENT_TIME)
        acquisitionTime = numbers.real(plane.acquisition_time, CDICOM_HAS_ACQUISITION_TIME)
        diffusionBValue = numbers.real(plane.b_value, CDICOM_HAS_B_VALUE)
        func setting(_ value: Double) -> Double? { value == 0 ? nil : value }
        peakVoltage = setting(plane.peak_voltage)
        repetitionTime = setting(plane.repetition_time)
        inversionTime = setting(plane.inversion_time)
        flipAngle = setting(plane.flip_angle)
        kernel = text(plane.kernel)
        temporalPosition = numbers.integer(plane.temporal_position, CDICOM_HAS_TEMPORAL_POSITION)
        acquisitionNumber = numbers.integer(plane.acquisition_number, CDICOM_HAS_ACQUISITION_NUMBER)
        instanceNumber = numbers.integer(plane.instance_number, CDICOM_HAS_INSTANCE_NUMBER)
        let stack = text(plane.stack_id)
        stackID = stack.isEmpty ? nil : stack
        let type = text(plane.image_type)
        // A backslash separates values (PS3.5 6.4).
        imageType = type.isEmpty ? [] : type.split(separator: "\\", omittingEmptySubsequences: false).map(trimmed)
        dimensionIndex = withUnsafeBytes(of: plane.dimensions) { bytes in
            bytes.bindMemory(to: UInt32.self).prefix(Int(plane.dimension_count)).map { Int($0) }
        }
    }

    /// The values of a frame with those of the object in place of what it does not state, except its position.
    func completed(by object: DICOMPlane) -> DICOMPlane {
        // Position, stack and dimensions are those of a frame alone: those of the object would give all frames one place.
        var plane = object
        plane.position = position
        plane.rowDirection = rowDirection ?? object.rowDirection
        plane.columnDirection = columnDirection ?? object.columnDirection
        plane.rowSpacing = rowSpacing ?? object.rowSpacing
        plane.columnSpacing = columnSpacing ?? object.columnSpacing
        plane.sliceThickness = sliceThickness ?? object.sliceThickness
        plane.rescaleSlope = rescaleSlope ?? object.rescaleSlope
        plane.rescaleIntercept = rescaleIntercept ?? object.rescaleIntercept
        if !rescaleType.isEmpty { plane.rescaleType = rescaleType }
        plane.windowCenter = windowCenter ?? object.windowCenter
        plane.windowWidth = windowWidth ?? object.windowWidth
        plane.stackID = stackID
        plane.temporalPosition = temporalPosition ?? object.temporalPosition
        plane.acquisitionNumber = acquisitionNumber ?? object.acquisitionNumber
        plane.echoTime = echoTime ?? object.echoTime
        plane.triggerTime = triggerTime ?? object.triggerTime
        plane.acquisitionTime = acquisitionTime ?? object.acquisitionTime
        plane.diffusionBValue = diffusionBValue ?? object.diffusionBValue
        plane.dimensionIndex = dimensionIndex
        if !imageType.isEmpty { plane.imageType = imageType }
        return plane
    }
}
