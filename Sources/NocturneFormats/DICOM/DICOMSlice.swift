public import NocturneCore
public import NocturneSystem

/// One plane of a DICOM object with its position in space: a whole single-frame object, one frame of a multi-frame
/// object, or one tile of a Siemens mosaic.
public struct DICOMSlice: Sendable, Hashable {
    /// The values that all slices of the file share.
    @SharedValue public var object: DICOMObject
    /// Index in the file, from 0.
    public var frame: Int
    /// The part of the frame that is this slice; nil for the whole frame.
    public var tile: PixelBox?
    /// The values of this slice; for a mosaic, of the tile.
    public var plane: DICOMPlane

    /// A slice that covers the whole object.
    init(of object: DICOMObject) { self.init(of: SharedValue(wrappedValue: object)) }

    /// A slice that covers the whole object, and shares it.
    init(of shared: SharedValue<DICOMObject>) {
        (_object, frame, plane) = (shared, 0, shared.wrappedValue.plane)
    }

    /// Of the file that holds the slice.
    public var path: String { object.path }

    /// A name for messages: the last component of the path, with the frame and the tile where there are several.
    package var name: String {
        if let tile { return "tile (\(tile.x), \(tile.y)) of \(object.fileName)" }
        return (object.numberOfFrames ?? 1) > 1 ? "frame \(frame + 1) of \(object.fileName)" : object.fileName
    }

    /// Identifies a slice: all that is needed to find it again in its file.
    public struct Name: Sendable, Hashable, Codable {
        /// Of the file.
        public var path: String
        /// Counted from 0.
        public var frame: Int
        /// The first pixel of the tile in its frame; 0 where the slice covers the whole frame.
        public var x: Int
        /// The first row of the tile in its frame; 0 where the slice covers the whole frame.
        public var y: Int

        /// - Parameters:
        ///   - path: of the file.
        ///   - frame: counted from 0.
        ///   - x: the first column of the tile.
        ///   - y: the first row of the tile.
        public init(path: String, frame: Int = 0, x: Int = 0, y: Int = 0) {
            self.path = path
            self.frame = frame
            self.x = x
            self.y = y
        }

        /// The name by which the slice is found again.
        public init(_ slice: DICOMSlice) {
            self.init(path: slice.object.path, frame: slice.frame, x: slice.tile?.x ?? 0, y: slice.tile?.y ?? 0)
        }
    }
}
