package import NocturneBatch
import NocturneCore
import NocturneFormats
public import NocturneRecipeSupport

/// What the recipe keeps in the journal to find an object again and to plan for it without reading pixels.
public struct ExistingSource: ItemSource {
    var kind: LabelObject.Kind
    var path: String
    /// The path below the input that was named: what a result may say of where it came from.
    var name: String
    /// Of the label maps.
    var geometry: VolumeGeometry
    /// The images that were segmented, where they are among the inputs and have this grid.
    var image: VolumeSource?
    /// The most label volumes that overlapping labels may be spread over.
    var volumes: Int
    /// Segments or regions.
    var labels: Int
    /// Points of all contours, and of the region that has most.
    var points = 0
    var mostPoints = 0
    var bytes: Int
    /// What was found out when the object was found.
    var notes: [String]
    package var identifiers: IdentifierPolicy?

    package var namedFiles: [String] { [path] + (image?.files ?? []) }

    /// How much of an object is read.
    static let limits = DICOMObjectLimits(segments: 4096, contours: 1 << 18, points: 1 << 24, voxels: 1 << 29)

    /// ``limits`` with the volumes that were planned.
    var limits: DICOMObjectLimits {
        var limits = Self.limits
        limits.volumes = volumes
        return limits
    }

    /// Eight volumes, as nested treatment volumes and an outline of the body need them, or as many as fit into 1 GiB.
    static func volumes(atMost bound: Int, of shape: VolumeShape) -> Int {
        min(max(bound, 1), 64, max(8, (1 << 30) / (2 * shape.count)))
    }
}
