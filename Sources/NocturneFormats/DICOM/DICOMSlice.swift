public import NocturneCore
public import NocturneSystem

/// One plane of a DICOM object with its position in space: a whole single-frame object, one frame of a multi-frame
/// object, or one tile of a Siemens mosaic.
///
/// An optional is nil when the header does not state the value, or states an unusable one.
public struct DICOMSlice: Sendable, Hashable {
    /// The values that all slices of the file share.
    @SharedValue public var object: DICOMObject
    /// Index in the file, from 0.
    public var frame: Int
    /// The part of the frame that is this slice; nil for the whole frame.
    public var tile: PixelBox?

    /// Of this slice; for a mosaic, of the tile.
    public var rows: Int?
    public var columns: Int?
    /// The centre of the slice's first pixel in mm, LPS+.
    public var position: SIMD3<Double>?
    /// The direction in which the column index grows (along a row), LPS+.
    public var rowDirection: SIMD3<Double>?
    /// The direction in which the row index grows (down a column), LPS+.
    public var columnDirection: SIMD3<Double>?
    /// mm from one row to the next.
    public var rowSpacing: Double?
    /// mm from one column to the next.
    public var columnSpacing: Double?
    /// mm. Not the distance between slices.
    public var sliceThickness: Double?

    /// The slope and intercept that convert this slice's stored values to output values; nil when missing, which means
    /// 1 and 0.
    public var rescaleSlope: Double?
    public var rescaleIntercept: Double?
    /// RescaleType, of what the output values are; empty when missing.
    public var rescaleType: String
    public var windowCenter: Double?
    public var windowWidth: Double?

    public var stackID: String?
    /// TemporalPositionIdentifier, or TemporalPositionIndex of a frame.
    public var temporalPosition: Int?
    public var acquisitionNumber: Int?
    public var echoNumber: Int?
    /// ms.
    public var echoTime: Double?
    public var instanceNumber: Int?
    /// ImageType, or FrameType of a frame.
    public var imageType: [String]
    /// ms.
    public var triggerTime: Double?
    /// Seconds of the day.
    public var contentTime: Double?
    /// Seconds of the day.
    public var acquisitionTime: Double?
    /// s/mm².
    public var diffusionBValue: Double?
    /// DimensionIndexValues of a frame; empty when there are none.
    public var dimensionIndex: [Int]

    public var path: String { object.path }

    /// A name for messages: the last component of the path, with the frame and the tile where there are several.
    package var name: String {
        if let tile { return "tile (\(tile.x), \(tile.y)) of \(object.fileName)" }
        return (object.numberOfFrames ?? 1) > 1 ? "frame \(frame + 1) of \(object.fileName)" : object.fileName
    }

    /// Identifies a slice: all that is needed to find it again in its file.
    public struct Name: Sendable, Hashable, Codable {
        public var path: String
        /// Counted from 0.
        public var frame: Int
        /// The first pixel of the tile in its frame; 0 where the slice covers the whole frame.
        public var x: Int
        public var y: Int

        public init(path: String, frame: Int = 0, x: Int = 0, y: Int = 0) {
            self.path = path
            self.frame = frame
            self.x = x
            self.y = y
        }

        public init(_ slice: DICOMSlice) {
            self.init(path: slice.object.path, frame: slice.frame, x: slice.tile?.x ?? 0, y: slice.tile?.y ?? 0)
        }
    }
}
