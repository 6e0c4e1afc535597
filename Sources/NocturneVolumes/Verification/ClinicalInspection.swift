import NocturneCore
import NocturneFormats
import NocturneRecipeSupport

extension ItemInspection {
    /// Reads the DICOM segmentation on the grid of the label map, and counts the voxels of its segments.
    mutating func inspectSegmentationObject(_ labels: [RecordedLabel], on grid: VolumeGeometry) throws {
        let file = ClinicalObjects.segmentationFile
        try inspect(file) { inspection, path in
            let object = try DICOMSegmentation.read(path: path, on: grid, flag: inspection.flag)
            var counts: [String: Int] = [:]
            // By name, since result.json does not have the numbers of segments.
            for segment in object.segments { counts[segment.label, default: 0] += segment.voxelCount }
            let known = labels.byObjectName
            // Sorted: dictionaries are unordered, and the report must be the same every time.
            for (name, own) in known.sorted(by: { $0.key < $1.key }) {
                let (stored, stated) = (counts[name] ?? 0, own.reduce(0) { $0 + $1.voxelCount })
                guard stored != stated else { continue }
                inspection.add(file, "has \(stored) voxels of \(name), result.json states \(stated)")
            }
            for name in counts.keys.sorted() where known[name] == nil {
                inspection.add(file, "has a segment \(name), which result.json does not list")
            }
        }
    }

    /// Reads the contours: each label with voxels has some, and all lie in the box of a label with their name.
    mutating func inspectStructureSet(_ labels: [RecordedLabel], on grid: VolumeGeometry) throws {
        let file = ClinicalObjects.structureSetFile
        try inspect(file) { inspection, path in
            let object = try DICOMStructureSet.read(path: path, flag: inspection.flag)
            guard let toIndex = grid.affine.inverse else { return }
            let known = labels.byObjectName
            for (name, own) in known.sorted(by: { $0.key < $1.key }) {
                let points = object.regions.filter { $0.name == name }.flatMap(\.contours).flatMap(\.points)
                let stated = own.reduce(0) { $0 + $1.voxelCount }
                // The number of voxels cannot be compared: contours are polygons between the centres of voxels.
                if points.isEmpty != (stated == 0) {
                    let amount = points.isEmpty ? "no contour" : "contours"
                    inspection.add(file, "has \(amount) of \(name), result.json states \(stated) voxels")
                }
                let boxes = own.compactMap(\.box)
                if boxes.isEmpty { continue }
                // Half a voxel to the border, plus the precision of decimals in the file.
                let isInside = points.allSatisfy { point in
                    let index = toIndex(point)
                    return boxes.contains { box in
                        (0..<3).allSatisfy { axis in
                            index[axis] > Double(box.lower[axis]) - 0.51 && index[axis] < Double(box.upper[axis]) + 0.51
                        }
                    }
                }
                if !isInside { inspection.add(file, "has a contour of \(name) outside the box of its voxels") }
            }
            for region in object.regions where known[region.name] == nil {
                inspection.add(file, "has a region \(region.name), which result.json does not list")
            }
        }
    }
}

extension [RecordedLabel] {
    /// The labels by their names in DICOM objects, which are cut: several labels may have one.
    fileprivate var byObjectName: [String: [RecordedLabel]] {
        Dictionary(grouping: self) { dicomText($0.name, limit: 64) }
    }
}
