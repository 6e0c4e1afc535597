internal import NocturneConcurrency
internal import NocturneCore
import NocturneSystem

extension VoxelBox {
    /// The bounding box of one label; nil without a voxel. Searches all voxels, at memory speed in rows without the label.
    init?(
        around value: UInt16,
        in voxels: ParallelReader<UInt16>,
        shape: VolumeShape,
        scope: ComputeScope
    ) throws(CancelledError) {
        let rowsInPart = max(1, (1 << 20) / shape.x)
        let parts = try scope.mapRanges(of: shape.y * shape.z, by: rowsInPart) { rows in
            var box: VoxelBox?
            for row in rows {
                guard let columns = Self.columns(of: value, in: voxels.base + row * shape.x, shape.x) else { continue }
                let (j, k) = (row % shape.y, row / shape.y)
                let line = VoxelBox(
                    lower: SIMD3(columns.lowerBound, j, k),
                    upper: SIMD3(columns.upperBound, j + 1, k + 1)
                )
                box = box?.union(line) ?? line
            }
            return box
        }
        self.init(around: parts.compactMap { $0 })
    }

    /// From the first to the last voxel of a row with the label.
    private static func columns(of value: UInt16, in line: UnsafePointer<UInt16>, _ count: Int) -> Range<Int>? {
        // Searched from both ends, so that nothing between them is read.
        var block = 0
        while block < count, !isAny(of: value, in: line + block, min(Self.block, count - block)) { block += Self.block }
        guard block < count else { return nil }
        var first = block
        while line[first] != value { first += 1 }
        var end = count
        while !isAny(of: value, in: line + max(end - Self.block, first), end - max(end - Self.block, first)) {
            end -= Self.block
        }
        while line[end - 1] != value { end -= 1 }
        return first..<end
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
