import NocturneConcurrency
import NocturneCore

extension LabelMorphology {
    /// A voxel keeps what it has if another share is larger by no more than this: sums of rounded weights.
    static let shareTolerance: Float = 1e-5

    /// Each voxel of the labels or of the background becomes what has the largest share around it: one of the labels, or
    /// background, whose share is that of everything else.
    func smooth(
        _ slots: Slots,
        _ boxes: [VoxelBox?],
        deviation: Double,
        _ labels: inout VoxelBuffer<UInt16>,
        _ changes: inout [MorphologyStep.Change]
    ) throws {
        guard let labelled = VoxelBox(around: boxes.compactMap { $0 }) else { return }
        let reach = SharesField.reach(deviation: deviation, spacing: geometry.spacing, in: shape)
        let whole = labelled.enlarged(by: reach, in: shape)
        let present = slots.values.indices.filter { boxes[$0] != nil }
        var shares = try SharesField(box: whole, geometry: geometry, deviation: deviation)
        try shares.measure(slots, in: labels, shape, scope)
        guard present.count > 1 else {
            let value = slots.values[present[0]]
            return try shares.withShares { shares in
                try replace(in: whole, of: &labels, slots, &changes) { label, voxel in
                    // Half of the tolerance for each of the two shares, whose sum is 1.
                    let half = 0.5 + (label == value ? -0.5 : 0.5) * Self.shareTolerance
                    if label == value { return shares[voxel] >= half ? value : 0 }
                    return label == 0 && shares[voxel] > half ? value : label
                }
            }
        }
        var largest = try VoxelBuffer<Float>(count: whole.shape.count)
        var winners = try VoxelBuffer<UInt16>(count: whole.shape.count)
        try fill(&largest, in: whole, from: labels) { $0 == 0 ? Self.shareTolerance : 0 }
        try addBackground(shares, to: &largest)
        for slot in present {
            let own = Slots([slots.values[slot]])
            try shares.measure(own, in: labels, shape, scope)
            try choose(own.values[0], shares, &largest, &winners, in: labels)
        }
        try winners.withParallelReader { winners in
            try replace(in: whole, of: &labels, slots, &changes) { label, voxel in
                label == 0 || slots.contains(label) ? winners[voxel] : label
            }
        }
    }

    private func addBackground(_ shares: borrowing SharesField, to largest: inout VoxelBuffer<Float>)
        throws
    {
        let size = shares.box.shape
        try shares.withShares { shares in
            try largest.withParallelBuffer { largest in
                try scope.forEach(size.z) { k in
                    for voxel in k * size.sliceCount..<(k + 1) * size.sliceCount { largest[voxel] += 1 - shares[voxel] }
                }
            }
        }
    }

    /// Enters a label where its share is larger than those of the background and the labels before.
    private func choose(
        _ value: UInt16,
        _ shares: borrowing SharesField,
        _ largest: inout VoxelBuffer<Float>,
        _ winners: inout VoxelBuffer<UInt16>,
        in labels: borrowing VoxelBuffer<UInt16>
    ) throws {
        let (box, size, shape) = (shares.box, shares.box.shape, shape)
        try labels.withParallelReader { labels in
            try shares.withShares { shares in
                try largest.withParallelBuffer { largest in
                    try winners.withParallelBuffer { winners in
                        try scope.forEach(size.z) { k in
                            for j in 0..<size.y {
                                let source = labels + box.offset(j, k, in: shape)
                                let begin = (k * size.y + j) * size.x
                                for i in 0..<size.x {
                                    let own: Float = source[i] == value ? Self.shareTolerance : 0
                                    let share = shares[begin + i] + own
                                    guard share > largest[begin + i] else { continue }
                                    largest[begin + i] = share
                                    winners[begin + i] = value
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
