/// Identifies a slice: all that is needed to find it again in its file.
public struct DICOMSliceName: Sendable, Hashable, Codable {
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
