import NocturneCore
import NocturneRecipeSupport

extension SegmentationResult: InspectableResult {
    func inspectFiles(_ inspection: inout ItemInspection) throws {
        let recorded = RecordedLabelMap(
            file: "segmentation.nii.gz",
            shape: source.shape,
            affineRas: source.affineRas,
            labels: labels.map { .init(value: $0.value, name: $0.name, voxelCount: $0.voxelCount, box: $0.boundingBox) }
        )
        if !source.agrees(with: recorded.geometry) {
            inspection.add("result.json", "its spacing or orientation differs from its own affine")
        }
        try inspection.inspect(recorded)
        for label in labels {
            guard let mesh = label.mesh else { continue }
            // A face lies half a voxel outside; the volume that smoothing takes from a thin part is restored around it.
            try inspection.inspect(
                mesh,
                of: label.name,
                color: label.color,
                within: label.boundingBox,
                recorded.geometry,
                margin: 2
            )
        }
        for label in labels {
            guard let file = label.probabilityFile else { continue }
            try inspection.inspectProbabilities(file, of: label.name, on: recorded.geometry)
        }
        try inspection.inspectSegmentationObject(recorded.labels, on: recorded.geometry)
        try inspection.inspectStructureSet(recorded.labels, on: recorded.geometry)
        try inspection.inspectPictures()
    }
}

extension SegmentationResult.Source {
    /// Spacing to the six digits it is written with.
    func agrees(with geometry: VolumeGeometry) -> Bool {
        let spacing = geometry.spacing
        return orientation == geometry.orientationCode
            && (0..<3).allSatisfy { abs(spacingMm[$0] - spacing[$0]) <= 1e-5 * spacing[$0] }
    }
}

extension ExistingLabelsResult: InspectableResult {
    func inspectFiles(_ inspection: inout ItemInspection) throws {
        let maps = Dictionary(grouping: labels, by: \.file)
        for (file, labels) in maps.sorted(by: { $0.key < $1.key }) {
            try inspection.inspect(
                RecordedLabelMap(
                    file: file,
                    shape: source.shape,
                    affineRas: source.affineRas,
                    labels: labels.map {
                        .init(value: $0.value, name: $0.name, voxelCount: $0.voxelCount, box: $0.boundingBox)
                    }
                )
            )
        }
        let geometry = VolumeGeometry(
            shape: VolumeShape(x: source.shape[0], y: source.shape[1], z: source.shape[2]),
            affine: Affine(rows: source.affineRas + [[0, 0, 0, 1]])
        )
        for label in labels {
            guard let mesh = label.mesh else { continue }
            // Contours keep the object's positions, between voxels too, and their slabs extend half a plane further.
            try inspection.inspect(mesh, of: label.name, color: label.color, within: nil, geometry, margin: 2)
        }
        try inspection.inspectPictures()
    }
}
