internal import NocturneConcurrency
internal import NocturneCore
import NocturneSystem

/// Selects values by their places in ascending order, without sorting: by the upper and then the lower half of their bits.
struct OrderStatistics {
    private static let bins = 1 << 16

    private let voxels: FrozenVoxels<Float>
    private let view: VoxelView
    private let upper: [Int]

    /// - Complexity: one read of the view, in parallel by slices, with 0.5 MiB a thread.
    /// - Throws: ``NumericsError`` for values that are not finite; ``CancelledError``.
    init(of voxels: FrozenVoxels<Float>, view: VoxelView, scope: ComputeScope) throws {
        guard voxels.count == view.storedCount else {
            throw NumericsError.count("image to normalise", expected: view.storedCount, found: voxels.count)
        }
        self.voxels = voxels
        self.view = view.inMemoryOrder
        let counts = try Self.counts(voxels, self.view, below: nil, scope)
        // The keys of infinities and of NaN are at both ends.
        let infinite = Int(Self.key(.infinity) >> 16)
        guard counts[infinite...].allSatisfy({ $0 == 0 }), counts[...(Self.bins - 1 - infinite)].allSatisfy({ $0 == 0 })
        else {
            throw NumericsError.value("the image has voxels that are not finite numbers, so it cannot be normalised")
        }
        upper = counts
    }

    /// The number of values.
    var count: Int { view.shape.count }

    /// The value at a place in ascending order, from 0 on.
    /// - Complexity: one read of the view.
    func value(at place: Int, scope: ComputeScope) throws -> Float {
        var rest = min(max(place, 0), count - 1)
        let bin = Self.bin(of: &rest, in: upper)
        let lower = try Self.counts(voxels, view, below: UInt32(bin), scope)
        return Float(orderedBits: UInt32(bin << 16 | Self.bin(of: &rest, in: lower)))
    }

    /// The bin that holds the value at `place`, which becomes its place in that bin.
    private static func bin(of place: inout Int, in counts: [Int]) -> Int {
        for (bin, count) in counts.enumerated() {
            if place < count { return bin }
            place -= count
        }
        return counts.count - 1
    }

    /// Keys ascend with the values. Both zeros have one key.
    @inline(__always)
    private static func key(_ value: Float) -> UInt32 { (value + 0).orderedBits }

    /// How many values have each upper half, or each lower half among those with the upper half `prefix`.
    private static func counts(
        _ voxels: FrozenVoxels<Float>,
        _ view: VoxelView,
        below prefix: UInt32?,
        _ scope: ComputeScope
    ) throws -> [Int] {
        let parts = min(view.shape.z, max(scope.width, 1))
        var counts = [Int](repeating: 0, count: parts * bins)
        try voxels.withParallelReader { source in
            try counts.withParallelBuffer { counts in
                try scope.forEach(parts) { part in
                    let own = counts + part * bins
                    for k in view.shape.z * part / parts..<view.shape.z * (part + 1) / parts {
                        // What is left of a cancelled part is skipped.
                        if scope.flag.isCancelled { return }
                        for j in 0..<view.shape.y {
                            let row = source + view.offset(0, j, k)
                            for i in 0..<view.shape.x {
                                let key = key(row[i * view.step.x])
                                if let prefix {
                                    if key >> 16 == prefix { own[Int(key & 0xFFFF)] += 1 }
                                } else {
                                    own[Int(key >> 16)] += 1
                                }
                            }
                        }
                    }
                }
            }
        }
        try scope.check()
        return (0..<bins).map { bin in (0..<parts).reduce(0) { $0 + counts[$1 * bins + bin] } }
    }
}
