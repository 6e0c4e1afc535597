import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneRecipeSupport
import NocturneSystem

/// The voxel count and bounding box of each label in a file, determined without holding the volume in memory.
struct LabelCounts {
    struct Entry {
        var count = 0
        var lower = SIMD3<Int>(repeating: .max)
        var upper = SIMD3<Int>(repeating: .min)
    }

    let header: NIfTIHeader
    /// Without the background.
    let labels: [Int: Entry]

    init(at path: String, scope: ComputeScope) throws {
        var found: [Int: Entry] = [:]
        header = try NIfTIReader.scanLabels(at: path, scope: scope) { header, place, labels in
            let shape = header.shape
            var index = 0
            while index < labels.count {
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
    fileprivate mutating func add(_ first: SIMD3<Int>, length: Int) {
        count += length
        lower = pointwiseMin(lower, first)
        upper = pointwiseMax(upper, first &+ SIMD3(length - 1, 0, 0))
    }
}
