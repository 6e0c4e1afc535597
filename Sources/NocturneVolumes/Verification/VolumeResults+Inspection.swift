import NocturneCore
import NocturneRecipeSupport

extension SegmentationResult: InspectableResult {
    func inspectFiles(_ inspection: inout ItemInspection) throws {
        let geometry = inspection.geometry(of: source)
        let recorded = labels.map {
            RecordedLabel(value: $0.value, name: $0.name, voxelCount: $0.voxelCount, box: $0.boundingBox)
        }
        try inspection.inspectLabelMap(SegmentationWriter.labelFile, recorded, on: geometry)
        for label in labels {
            guard let mesh = label.mesh else { continue }
            // A face lies half a voxel outside; the volume that smoothing takes from a thin part is restored around it.
            try inspection.inspect(
                mesh,
                of: label.name,
                color: label.color,
                within: label.boundingBox,
                geometry,
                margin: 2
            )
        }
        for label in labels {
            guard let file = label.probabilityFile else { continue }
            try inspection.inspectProbabilities(file, of: label.name, on: geometry)
        }
        try inspection.inspectSegmentationObject(recorded, on: geometry)
        try inspection.inspectStructureSet(recorded, on: geometry)
        try inspection.inspectPictures()
    }
}

extension ItemInspection {
    /// The geometry that a result states for its volume, with which its spacing and orientation must agree.
    mutating func geometry(of source: SegmentationResult.Source) -> VolumeGeometry {
        let geometry = VolumeGeometry(shape: source.shape, affineRas: source.affineRas)
        // Spacing to the six digits it is written with.
        let spacing = geometry.spacing
        if source.orientation != geometry.orientationCode
            || !(0..<3).allSatisfy({ abs(source.spacingMm[$0] - spacing[$0]) <= 1e-5 * spacing[$0] })
        {
            add("result.json", "its spacing or orientation differs from its own affine")
        }
        return geometry
    }
}

extension VolumeGeometry {
    /// As results state it: the affine without its last row.
    fileprivate init(shape: [Int], affineRas: [[Double]]) {
        self.init(
            shape: VolumeShape(x: shape[0], y: shape[1], z: shape[2]),
            affine: Affine(rows: affineRas + [[0, 0, 0, 1]])
        )
    }
}

extension ExistingLabelsResult: InspectableResult {
    func inspectFiles(_ inspection: inout ItemInspection) throws {
        let geometry = VolumeGeometry(shape: source.shape, affineRas: source.affineRas)
        let maps = Dictionary(grouping: labels, by: \.file)
        // Sorted by file, so that faults are listed in the same order every time.
        for (file, labels) in maps.sorted(by: { $0.key < $1.key }) {
            let recorded = labels.map {
                RecordedLabel(value: $0.value, name: $0.name, voxelCount: $0.voxelCount, box: $0.boundingBox)
            }
            try inspection.inspectLabelMap(file, recorded, on: geometry)
        }
        for label in labels {
            guard let mesh = label.mesh else { continue }
            // Contours keep the object's positions: between voxels, and beyond the images.
            let place = source.kind == LabelObject.Kind.structureSet.rawValue ? nil : geometry
            try inspection.inspect(mesh, of: label.name, color: label.color, within: nil, place, margin: 2)
        }
        try inspection.inspectPictures()
    }
}
