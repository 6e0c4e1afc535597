internal import NocturneConcurrency
internal import NocturneCore
import NocturneSystem

/// The number of voxel faces between each label and everything else, including the border of the volume.
///
/// A surface has exactly one point per face, so this is the size of every surface before any is extracted. Time: one
/// read of every voxel, at memory speed where neighbours are equal. Memory: 512 KiB per thread.
struct FaceCount: Sendable {
    private(set) var faces: [Int]

    /// - Throws: ``CancelledError`` when the flag is raised; it is checked for every slice.
    init(of labels: LabelVolume, scope: ComputeScope) throws(CancelledError) {
        let shape = labels.geometry.shape
        // Only a few parts, because each keeps a table; the sums are integers, so their order does not matter.
        let parts = max(1, min(scope.width, shape.z))
        var tables = [Int](repeating: 0, count: parts << 16)
        try tables.withParallelBuffer { tables throws(CancelledError) in
            try labels.voxels.withParallelReader { voxels throws(CancelledError) in
                try scope.forEach(parts) { part in
                    for k in shape.z * part / parts..<shape.z * (part + 1) / parts where !scope.flag.isCancelled {
                        Self.add(slice: k, of: voxels.base, shape, to: tables.base + part << 16)
                    }
                }
            }
        }
        faces = Array(tables[..<(1 << 16)])
        for part in 1..<max(parts, 1) {
            for value in 0..<1 << 16 { faces[value] += tables[part << 16 + value] }
        }
    }

    private static func add(
        slice k: Int,
        of voxels: UnsafePointer<UInt16>,
        _ shape: VolumeShape,
        to table: UnsafeMutablePointer<Int>
    ) {
        for j in 0..<shape.y {
            let line = voxels + shape.offset(0, j, k)
            table[Int(line[0])] += 1
            table[Int(line[shape.x - 1])] += 1
            addDifferences(line, line + 1, shape.x - 1, to: table)
            for (step, isFirst, isLast) in [
                (shape.x, j == 0, j == shape.y - 1), (shape.sliceCount, k == 0, k == shape.z - 1),
            ] {
                if isFirst { for i in 0..<shape.x { table[Int(line[i])] += 1 } }
                if isLast {
                    for i in 0..<shape.x { table[Int(line[i])] += 1 }
                } else {
                    addDifferences(line, line + step, shape.x, to: table)
                }
            }
        }
    }

    private static func addDifferences(
        _ a: UnsafePointer<UInt16>,
        _ b: UnsafePointer<UInt16>,
        _ count: Int,
        to table: UnsafeMutablePointer<Int>
    ) {
        let block = 32
        var first = 0
        while first < count {
            let end = min(count, first + block)
            var different: UInt16 = 0
            for i in first..<end { different |= a[i] ^ b[i] }
            if different != 0 {
                for i in first..<end where a[i] != b[i] {
                    table[Int(a[i])] += 1
                    table[Int(b[i])] += 1
                }
            }
            first = end
        }
    }
}
