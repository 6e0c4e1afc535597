internal import NocturneConcurrency
internal import NocturneCore
import NocturneSystem

/// The bounding box of one label, both ends inclusive.
struct LabelBox: Sendable {
    var lower = SIMD3<Int>(repeating: Int.max)
    var upper = SIMD3<Int>(repeating: Int.min)

    var isEmpty: Bool { upper.x < lower.x }
    var size: SIMD3<Int> { upper &- lower &+ SIMD3(1, 1, 1) }

    /// Searches all voxels, at memory speed in rows without the label.
    static func around(
        _ value: UInt16,
        in voxels: ParallelReader<UInt16>,
        shape: VolumeShape,
        scope: ComputeScope
    ) throws(CancelledError) -> LabelBox {
        let rows = shape.y * shape.z
        let rowsInPart = max(1, (1 << 20) / shape.x)
        var parts = [LabelBox](repeating: LabelBox(), count: (rows + rowsInPart - 1) / rowsInPart)
        try parts.withParallelBuffer { target throws(CancelledError) in
            try scope.forEachRange(of: rows, by: rowsInPart) { range in
                var box = LabelBox()
                for row in range { box.add(row: row, of: value, in: voxels.base + row * shape.x, shape) }
                target[range.lowerBound / rowsInPart] = box
            }
        }
        return parts.reduce(into: LabelBox()) { all, part in
            all.lower = pointwiseMin(all.lower, part.lower)
            all.upper = pointwiseMax(all.upper, part.upper)
        }
    }

    private mutating func add(row: Int, of value: UInt16, in line: UnsafePointer<UInt16>, _ shape: VolumeShape) {
        // Searched from both ends, so that nothing between them is read.
        var block = 0
        while block < shape.x, !Self.isAny(of: value, in: line + block, min(Self.block, shape.x - block)) {
            block += Self.block
        }
        guard block < shape.x else { return }
        var first = block
        while line[first] != value { first += 1 }
        var end = shape.x
        while !Self.isAny(of: value, in: line + max(end - Self.block, first), end - max(end - Self.block, first)) {
            end -= Self.block
        }
        var last = end - 1
        while line[last] != value { last -= 1 }
        let (j, k) = (row % shape.y, row / shape.y)
        lower = pointwiseMin(lower, SIMD3(first, j, k))
        upper = pointwiseMax(upper, SIMD3(last, j, k))
    }

    /// Number of voxels compared together.
    private static let block = 64

    /// Without a branch per voxel.
    @inline(__always)
    private static func isAny(of value: UInt16, in line: UnsafePointer<UInt16>, _ count: Int) -> Bool {
        var found: UInt16 = 0
        if count == block {
            let bytes = UnsafeRawPointer(line)
            let wanted = SIMD16<UInt16>(repeating: value)
            var lanes = SIMD16<UInt16>.zero
            for part in 0..<block / 16 {
                let some = bytes.loadUnaligned(fromByteOffset: part * 32, as: SIMD16<UInt16>.self)
                lanes |= SIMD16<UInt16>.zero.replacing(with: 1, where: some .== wanted)
            }
            found = lanes.wrappedSum()
        } else {
            for i in 0..<count { found |= line[i] == value ? 1 : 0 }
        }
        return found != 0
    }
}
