import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneRecipeSupport

/// A label of a label map as described by a result.
struct RecordedLabel {
    let value: Int
    let name: String
    let voxelCount: Int
    let box: SegmentationResult.Box?
}

extension ItemInspection {
    /// Reads the complete map and counts its labels.
    mutating func inspectLabelMap(_ file: String, _ labels: [RecordedLabel], on geometry: VolumeGeometry) throws {
        try inspect(file) { inspection, path in
            let counts = try LabelCounts(at: path, scope: inspection.scope)
            let found = counts.header.geometry
            // One fault for one cause: positions of another number of voxels cannot agree anyway.
            if found.shape != geometry.shape {
                inspection.add(file, "has \(found.shape) voxels, result.json states \(geometry.shape)")
            } else if !found.matches(geometry) {
                // float32 precision: far below any scanner's tolerance.
                inspection.add(file, "its voxel positions differ from result.json by more than 0.001 mm")
            }
            for label in labels {
                let counted = counts.labels[label.value]
                if (counted?.count ?? 0) != label.voxelCount {
                    inspection.add(
                        file,
                        "has \(counted?.count ?? 0) voxels of \(label.name) (\(label.value)), "
                            + "result.json states \(label.voxelCount)"
                    )
                } else if let counted, let box = label.box,
                    // Only where the number agrees: a box that differs too would be a second fault of one cause.
                    box.lower != [counted.lower.x, counted.lower.y, counted.lower.z]
                        || box.upper != [counted.upper.x, counted.upper.y, counted.upper.z]
                {
                    inspection.add(file, "\(label.name) (\(label.value)) does not fill the box given in result.json")
                }
            }
            let known = Set(labels.map(\.value))
            for (value, entry) in counts.labels.sorted(by: { $0.key < $1.key }) where !known.contains(value) {
                inspection.add(
                    file,
                    "has \(entry.count) voxels of \(value), a label that result.json does not list"
                )
            }
        }
    }

    /// Reads the header of a map of probabilities.
    mutating func inspectProbabilities(_ file: String, of label: String, on geometry: VolumeGeometry) throws {
        try inspect(file) { inspection, path in
            let header = try VolumeFileReader.readHeader(at: path)
            if header.geometry.shape != geometry.shape || !header.geometry.matches(geometry) {
                inspection.add(file, "the grid of the probabilities of \(label) is not the one of result.json")
            }
            // 1/255 is stored in single precision.
            if header.dataType != .uint8 || abs(header.scalingSlope * 255 - 1) > 1e-6 {
                inspection.add(file, "the probabilities of \(label) are not stored as uint8 with a slope of 1/255")
            }
        }
    }
}

/// The voxel count and bounding box of each label in a file, determined without holding the volume in memory.
struct LabelCounts {
    struct Entry {
        var count = 0
        var lower = SIMD3<Int>(repeating: .max)
        var upper = SIMD3<Int>(repeating: .min)
    }

    let header: VolumeFileHeader
    /// Without the background.
    let labels: [Int: Entry]

    init(at path: String, scope: ComputeScope) throws {
        var found: [Int: Entry] = [:]
        header = try VolumeFileReader.scanLabels(at: path, scope: scope) { header, place, labels in
            let shape = header.shape
            var index = 0
            while index < labels.count {
                // By runs of equal voxels: one access to the dictionary for each run instead of for each voxel.
                let value = labels[index]
                let i = (place + index) % shape.x
                // To the end of the row, or as far as the label extends.
                let end = min(labels.count, index + shape.x - i)
                var next = index + 1
                while next < end, labels[next] == value { next += 1 }
                if value != 0 {
                    let row = (place + index) / shape.x
                    let first = SIMD3(i, row % shape.y, row / shape.y)
                    found[Int(value), default: Entry()].add(first, length: next - index)
                }
                index = next
            }
        }
        labels = found
    }
}

extension LabelCounts.Entry {
    /// Adds a run of voxels along x.
    fileprivate mutating func add(_ first: SIMD3<Int>, length: Int) {
        count += length
        lower = pointwiseMin(lower, first)
        upper = pointwiseMax(upper, first &+ SIMD3(length - 1, 0, 0))
    }
}
