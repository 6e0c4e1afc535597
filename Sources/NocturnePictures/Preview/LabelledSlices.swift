import NocturneConcurrency
import NocturneCore
import NocturneSystem

/// Finds the slices that show most of the labels, one perpendicular to each axis.
///
/// A slice counts, for every label, its voxels in relation to the slice that has most of them; the slice with the greatest sum is
/// taken, and of equal ones the one closest to the middle of the labels' box. So a small label counts as much as a large
/// one, but for a few voxels that are hardly seen, and a slice between two organs is not taken. Rejected: the middle of the box, a
/// slice that often showed no label; and the share of all voxels of a label, by which a single voxel ruled. Each voxel of the box is
/// read once.
struct LabelledSlices {
    /// More labels than this share counters.
    private static let mostCounted = 255
    /// Counted at the same time, each with separate counters: a fixed number, so that their memory can be planned.
    private static let parts = 8

    private let box: VoxelBox
    /// The counter of each value of a voxel.
    private let counter: [Int32]
    private let counterCount: Int

    /// - Parameter values: the labels that count.
    init(_ values: some Sequence<UInt16>, in box: VoxelBox) {
        self.box = box
        let values = Set(values).subtracting([0]).sorted()
        var counter = [Int32](repeating: -1, count: Int(UInt16.max) + 1)
        for (place, value) in values.enumerated() { counter[Int(value)] = Int32(place % Self.mostCounted) }
        self.counter = counter
        counterCount = min(values.count, Self.mostCounted)
    }

    private var size: SIMD3<Int> { box.upper &- box.lower }
    /// Counters of one part: for each label the slices along i, j and k.
    private var partCount: Int { counterCount * (size.x + size.y + size.z) }

    static func predictedBytes(_ shape: VolumeShape) -> Int {
        mostCounted * (shape.x + shape.y + shape.z) * 4 * (parts + 1) + (1 << 19)
    }

    /// The stored index of the slice along each stored axis.
    /// - Parameter takesHigher: the axes along which the higher of two indices equally close to the middle is taken: with
    ///   the direction of the patient's axes, the same voxels in another order give the same slices.
    /// - Throws: ``CancelledError``; the flag is checked for every slice.
    func indices(
        of labels: LabelVolume,
        takesHigher: [Bool],
        scope: ComputeScope
    ) throws(CancelledError) -> SIMD3<Int> {
        let counts = try counts(of: labels, scope)
        var indices = SIMD3<Int>()
        var start = 0
        for axis in 0..<3 {
            let shares = shares(counts, from: start, size[axis])
            indices[axis] = box.lower[axis] + Self.best(shares, takesHigher: takesHigher[axis])
            start += counterCount * size[axis]
        }
        return indices
    }

    /// Of the greatest values the one closest to the middle.
    private static func best(_ shares: [Double], takesHigher: Bool) -> Int {
        guard let most = shares.max() else { return 0 }
        let places = shares.indices.filter { shares[$0] >= most * (1 - 1e-9) }
        let isBetter = { (left: Int, right: Int) in
            let (a, b) = (abs(2 * left - (shares.count - 1)), abs(2 * right - (shares.count - 1)))
            return a != b ? a < b : (left > right) == takesHigher
        }
        return places.min(by: isBetter) ?? 0
    }

    /// A label with this many voxels in its largest slice counts half.
    private static let hardlySeen = 4.0

    /// For each slice along one axis, the sum over all labels of the voxels in it in relation to the label's largest slice.
    private func shares(_ counts: [Int32], from start: Int, _ count: Int) -> [Double] {
        var shares = [Double](repeating: 0, count: count)
        for label in 0..<counterCount {
            let own = counts[start + label * count..<start + (label + 1) * count]
            let most = Double(own.max() ?? 0)
            for (place, value) in own.enumerated() { shares[place] += Double(value) / (most + Self.hardlySeen) }
        }
        return shares
    }

    /// Numbers of voxels by axis, label and slice.
    private func counts(of labels: LabelVolume, _ scope: ComputeScope) throws(CancelledError) -> [Int32] {
        let (size, lower, shape, partCount) = (size, box.lower, labels.geometry.shape, partCount)
        var counts = [Int32](repeating: 0, count: partCount * Self.parts)
        let (second, third) = (counterCount * size.x, counterCount * (size.x + size.y))
        try labels.voxels.withParallelReader { voxels throws(CancelledError) in
            try counter.withParallelReader { counter throws(CancelledError) in
                try counts.withParallelBuffer { counts throws(CancelledError) in
                    try scope.forEach(Self.parts) { part in
                        let own = counts + part * partCount
                        for k in stride(from: part, to: size.z, by: Self.parts) where !scope.flag.isCancelled {
                            for j in 0..<size.y {
                                let row = voxels + shape.offset(lower.x, lower.y + j, lower.z + k)
                                for i in 0..<size.x where row[i] != 0 {
                                    let label = Int(counter[Int(row[i])])
                                    guard label >= 0 else { continue }
                                    own[label * size.x + i] += 1
                                    own[second + label * size.y + j] += 1
                                    own[third + label * size.z + k] += 1
                                }
                            }
                        }
                    }
                }
            }
        }
        try scope.check()
        for part in 1..<Self.parts {
            for place in 0..<partCount { counts[place] += counts[part * partCount + place] }
        }
        return counts
    }
}
