internal import CDCMTK

/// Limits for reading an object. A file that exceeds them is refused before memory is allocated for it.
public struct DICOMObjectLimits: Hashable, Sendable {
    /// Frames of a segmentation.
    public var frames: Int
    /// Segments, or regions of a structure set.
    public var segments: Int
    /// Contours of a structure set.
    public var contours: Int
    /// Points of all contours together.
    public var points: Int
    /// Voxels of one mask volume.
    public var voxels: Int
    /// Label volumes used to store overlapping segments.
    public var volumes: Int

    /// The defaults are far above real objects, and low enough that a hostile header cannot take all memory: 2³⁰ voxels of two
    /// bytes are 2 GiB.
    public init(
        frames: Int = 1 << 18,
        segments: Int = 4096,
        contours: Int = 1 << 20,
        points: Int = 1 << 26,
        voxels: Int = 1 << 30,
        volumes: Int = 64
    ) {
        self.frames = frames
        self.segments = segments
        self.contours = contours
        self.points = points
        self.voxels = voxels
        self.volumes = volumes
    }
}

/// An image that segmentations and structure sets refer to.
public struct DICOMImageReference: Hashable, Sendable {
    /// SOPInstanceUID.
    public var instanceUID: String
    /// One of its frames, counted from 1; 0 for all of them.
    public var frame: Int

    /// - Parameter frame: counted from 1; 0 for all of them.
    public init(instanceUID: String, frame: Int = 0) {
        (self.instanceUID, self.frame) = (instanceUID, frame)
    }

    /// Nil where it names no instance.
    init?(_ reference: cdcmtk_image_reference) {
        let uid = text(reference.instance_uid)
        guard !uid.isEmpty else { return nil }
        self.init(instanceUID: uid, frame: Int(reference.frame))
    }

    /// Reads a list, each image once and in its order.
    static func list(
        _ count: Int,
        read: (Int) throws(DICOMReadError) -> cdcmtk_image_reference
    ) throws(DICOMReadError) -> [DICOMImageReference] {
        var images: [DICOMImageReference] = []
        var known: Set<DICOMImageReference> = []
        for index in 0..<count {
            guard let image = DICOMImageReference(try read(index)) else { continue }
            if known.insert(image).inserted { images.append(image) }
        }
        return images
    }
}
