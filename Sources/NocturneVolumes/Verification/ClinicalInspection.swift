import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneRecipeSupport
import NocturneSystem

extension ItemInspection {
    /// Reads the DICOM segmentation on the grid of the label map, and counts the voxels of its segments.
    mutating func inspectSegmentationObject(_ labels: [StatedLabelMap.Label], on grid: VolumeGeometry) throws {
        let file = ClinicalObjects.segmentationFile
        try inspect(file) { look, path in
            let object = try DICOMSegmentationReader.read(path: path, on: grid, flag: look.flag)
            var counts: [String: Int] = [:]
            for segment in object.segments { counts[segment.label, default: 0] += segment.voxelCount }
            for label in labels where label.voxelCount != counts[label.name] ?? 0 {
                look.add(
                    file,
                    "has \(counts[label.name] ?? 0) voxels of \(label.name), result.json says \(label.voxelCount)"
                )
            }
            let known = Set(labels.map(\.name))
            for name in counts.keys.sorted() where !known.contains(name) {
                look.add(file, "has a segment \(name), which result.json does not know")
            }
        }
    }

    /// Reads the contours: each label with voxels has some, and all lie in its box.
    mutating func inspectStructureSet(_ labels: [StatedLabelMap.Label], on grid: VolumeGeometry) throws {
        let file = ClinicalObjects.structureSetFile
        try inspect(file) { look, path in
            let object = try DICOMStructureSetReader.read(path: path, flag: look.flag)
            guard let toIndex = grid.affine.inverse else { return }
            for label in labels {
                let points = object.regions.filter { $0.name == label.name }.flatMap(\.contours).flatMap(\.points)
                if points.isEmpty != (label.voxelCount == 0) {
                    let words = points.isEmpty ? "no contour" : "contours"
                    look.add(file, "has \(words) of \(label.name), result.json says \(label.voxelCount) voxels")
                }
                guard let box = label.box else { continue }
                // Half a voxel to the border, plus the precision of decimals in the file.
                let isInside = points.allSatisfy { point in
                    let index = toIndex(point)
                    return (0..<3).allSatisfy { axis in
                        index[axis] > Double(box.lower[axis]) - 0.51 && index[axis] < Double(box.upper[axis]) + 0.51
                    }
                }
                if !isInside { look.add(file, "has a contour of \(label.name) outside the box of its voxels") }
            }
            let known = Set(labels.map(\.name))
            for region in object.regions where !known.contains(region.name) {
                look.add(file, "has a region \(region.name), which result.json does not know")
            }
        }
    }
}
