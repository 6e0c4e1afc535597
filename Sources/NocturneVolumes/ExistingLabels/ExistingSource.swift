package import NocturneBatch
import NocturneCore
import NocturneFormats
public import NocturneRecipeSupport

/// What the recipe stores in the journal to locate an object again and to plan for it without reading pixels.
public struct ExistingSource: ItemSource {
    var kind: LabelObject.Kind
    var path: String
    /// The path relative to the input as given: the only location that a result may contain.
    var name: String
    /// The geometry of the label maps.
    var geometry: VolumeGeometry
    /// The segmented images, if they are among the inputs and have this grid.
    var image: VolumeSource?
    /// The maximum number of label volumes for overlapping labels.
    var volumes: Int
    /// Number of segments or regions.
    var labels: Int
    /// Points of all contours, and of the region with the most.
    var points = 0
    var mostPoints = 0
    var bytes: Int
    /// Notes from discovery.
    var notes: [String]
    /// The file that names the labels of a label map; nil where its header does, or nothing does.
    var namesFile: String?
    package var identifiers: IdentifierPolicy?
    package var words: [String]?

    package var namedFiles: [String] { [path] + (image?.files ?? []) + (namesFile.map { [$0] } ?? []) }

    /// Limits for reading an object.
    static let limits = DICOMObjectLimits(segments: 4096, contours: 1 << 18, points: 1 << 24, voxels: 1 << 29)

    /// ``limits`` with the planned number of volumes.
    var limits: DICOMObjectLimits {
        var limits = Self.limits
        limits.volumes = volumes
        return limits
    }

    /// Eight volumes, enough for nested treatment volumes and a body outline, or as many as fit into 1 GiB.
    static func volumes(atMost bound: Int, of shape: VolumeShape) -> Int {
        min(max(bound, 1), 64, max(8, (1 << 30) / (2 * shape.count)))
    }
}
