import NocturneCore
import NocturneFormats
import NocturneRecipeSupport

extension ItemInspection {
    /// Reads the DICOM segmentation on the grid of the label map, and counts the voxels of its segments.
    mutating func inspectSegmentationObject(_ labels: [RecordedLabelMap.Label], on grid: VolumeGeometry) throws {
        let file = ClinicalObjects.segmentationFile
        try inspect(file) { inspection, path in
            let object = try DICOMSegmentation.read(path: path, on: grid, flag: inspection.flag)
            var counts: [String: Int] = [:]
            // By name, since result.json does not have the numbers of segments.
            for segment in object.segments { counts[segment.label, default: 0] += segment.voxelCount }
            for label in labels where label.voxelCount != counts[label.name] ?? 0 {
                inspection.add(
                    file,
                    "has \(counts[label.name] ?? 0) voxels of \(label.name), result.json states \(label.voxelCount)"
                )
            }
            let known = Set(labels.map(\.name))
            // Sorted: dictionaries are unordered, and the report must be the same every time.
            for name in counts.keys.sorted() where !known.contains(name) {
                inspection.add(file, "has a segment \(name), which result.json does not list")
            }
        }
    }

    /// Reads the contours: each label with voxels has some, and all lie in its box.
    mutating func inspectStructureSet(_ labels: [RecordedLabelMap.Label], on grid: VolumeGeometry) throws {
        let file = ClinicalObjects.structureSetFile
        try inspect(file) { inspection, path in
            let object = try DICOMStructureSet.read(path: path, flag: inspection.flag)
            guard let toIndex = grid.affine.inverse else { return }
            for label in labels {
                let points = object.regions.filter { $0.name == label.name }.flatMap(\.contours).flatMap(\.points)
                // The number of voxels cannot be compared: contours are polygons between the centres of voxels.
                if points.isEmpty != (label.voxelCount == 0) {
                    let amount = points.isEmpty ? "no contour" : "contours"
                    inspection.add(
                        file,
                        "has \(amount) of \(label.name), result.json states \(label.voxelCount) voxels"
                    )
                }
                guard let box = label.box else { continue }
                // Half a voxel to the border, plus the precision of decimals in the file.
                let isInside = points.allSatisfy { point in
                    let index = toIndex(point)
                    return (0..<3).allSatisfy { axis in
                        index[axis] > Double(box.lower[axis]) - 0.51 && index[axis] < Double(box.upper[axis]) + 0.51
                    }
                }
                if !isInside { inspection.add(file, "has a contour of \(label.name) outside the box of its voxels") }
            }
            let known = Set(labels.map(\.name))
            for region in object.regions where !known.contains(region.name) {
                inspection.add(file, "has a region \(region.name), which result.json does not list")
            }
        }
    }
}
