import NocturneBatch
import NocturneCore
import NocturneFormats
package import NocturneOutput
import NocturnePostprocess
import NocturneRecipeSupport
import NocturneSystem

/// What the recipe stores in the journal to locate an object again and to plan for it without reading pixels.
package struct ExistingSource: ItemSource {
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
    /// Of the images of a structure set; nil without images.
    var frameOfReferenceUID: String?
    /// Of the file.
    var bytes: Int
    /// Notes from discovery.
    var notes: [Note]
    /// The file that names the labels of a label map; nil where its header does, or nothing does.
    var namesFile: String?
    /// How results show names of inputs.
    package var identifiers: IdentifierPolicy?
    /// Words of its path that identify its patient; nil for none.
    package var words: [String]?

    /// The object, the images, and the file with names, if there are any.
    package var namedFiles: [String] { [path] + (image?.files ?? []) + (namesFile.map { [$0] } ?? []) }

    /// The paths of the object and of the images, relative to the input as given: by these, regions of interest name it.
    var paths: [String] { [name] + (image.map { [$0.name] } ?? []) }

    /// ``LabelObject/limits`` with the planned number of volumes.
    var limits: DICOMObjectLimits {
        var limits = LabelObject.limits
        limits.volumes = volumes
        return limits
    }

    /// Eight volumes, enough for nested treatment volumes and a body outline, or as many as fit into 1 GiB.
    static func volumes(atMost bound: Int, of shape: VolumeShape) -> Int {
        min(max(bound, 1), 64, max(8, (1 << 30) / (2 * shape.count)))
    }
}

/// Plans every large buffer of an object from the facts known before its pixels are read.
struct ExistingMemory {
    let source: ExistingSource
    let options: ExistingLabelsOptions
    let regions: RegionMeasures?

    private var shape: VolumeShape { source.geometry.shape }
    private var voxels: Int { shape.count }
    private var isStructureSet: Bool { source.kind == .structureSet }
    private var surfaceBytes: Int { options.surfaces.meshes == .none ? 0 : VolumeMemory.surfaceBytes(shape) }

    /// - Parameter lean: ignored; objects have no lean plan.
    func plan(threads: Int, lean: Bool) -> ItemPlan {
        let contours = isStructureSet ? 400 * source.points : surfaceBytes / 4
        return ItemPlan(
            buffers: reading(threads) + finishing(threads),
            steps: 1,
            isLean: lean,
            diskBytes: voxels * source.volumes / 4 + (1 << 20) + contours + options.pictures.diskBytes(shape)
        )
    }

    private func reading(_ threads: Int) -> [PlannedBuffer] {
        let decoder = source.image?.decoderBytes ?? VolumeSource.minimumDecoderBytes
        let reordered = source.kind == .labelMap ? voxels * 2 : 0
        let filling = 64 * source.points + (shape.sliceCount + shape.y) * threads
        return [
            // Without images, the black background that labels are drawn on.
            PlannedBuffer("source voxels", bytes: voxels * 4, from: .load, through: .finish),
            PlannedBuffer("object's file", bytes: 2 * source.bytes, in: .load),
            PlannedBuffer("decoder", bytes: decoder * threads, in: .load),
            PlannedBuffer("contours", bytes: 64 * source.points, from: .load, through: .render),
            PlannedBuffer(
                "label volumes",
                bytes: voxels * 2 * source.volumes,
                from: isStructureSet ? .prepare : .load,
                through: .write
            ),
            PlannedBuffer("labels in the order of the file", bytes: reordered, in: .load),
            PlannedBuffer("contours being filled", bytes: isStructureSet ? filling : 0, in: .prepare),
        ]
    }

    private func finishing(_ threads: Int) -> [PlannedBuffer] {
        let drawn = source.volumes > 1 ? voxels * 2 : 0
        let measuring = max(
            LabelMeasurement.predictedBytes(threads: threads),
            ComponentCounter.predictedBytes(shape),
            regions?.predictedBytes(in: source.geometry, threads: threads) ?? 0,
            source.image == nil
                ? 0
                : RadiomicsMeasurement.predictedBytes(
                    options.radiomics.choice,
                    source.geometry,
                    modality: source.image?.modality,
                    threads: threads
                )
        )
        let surfaces = isStructureSet ? bytesPerPoint * source.mostPoints + coarseBytes : surfaceBytes
        return [
            PlannedBuffer("labels as drawn", bytes: drawn, in: .finish),
            PlannedBuffer("measuring", bytes: measuring, in: .finish),
            PlannedBuffer("surfaces", bytes: surfaces, in: .render),
            PlannedBuffer("compression", bytes: NIfTIWriter.compressionBytes, in: .write),
        ] + options.pictures.buffers(shape, hasRegions: regions != nil, threads: threads)
    }

    /// About two vertices and four triangles: while they are smoothed, in the surface and during measurement.
    private let bytesPerPoint = 640
    /// For contours with few corners, whose surface has more vertices than they have; and for the bits of the grid.
    private let coarseBytes = 32 << 20
}
