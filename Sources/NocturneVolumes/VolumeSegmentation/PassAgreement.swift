package import NocturneConcurrency
package import NocturneCore
package import NocturneInference
package import NocturneNumerics

/// Counts the voxels of a tile on which all passes agree. Only labels are kept: those of the first pass, of the present one,
/// and for every voxel whether all passes so far agree.
package final class PassAgreement {
    private let decision: LabelDecision
    private let patch: GridZYX
    /// The labels of the first pass, which is not flipped.
    private var first: VoxelBuffer<UInt16>
    /// Those of the present pass, as flipped as its logits; at last those of the mean.
    private var own: VoxelBuffer<UInt16>
    /// 1 where all passes so far give one label.
    private var agrees: VoxelBuffer<UInt8>
    private var passes = 0

    /// - Throws: `AllocationError`.
    package init(_ decision: LabelDecision, patch: GridZYX) throws(AllocationError) {
        self.decision = decision
        self.patch = patch
        first = try VoxelBuffer(count: patch.count)
        own = try VoxelBuffer(count: patch.count)
        agrees = try VoxelBuffer(count: patch.count)
    }

    /// Bytes for a patch.
    static func bytes(_ patch: GridZYX) -> Int { 5 * patch.count }

    /// Begins with another tile.
    package func begin() { passes = 0 }

    /// Adds a pass.
    /// - Parameters:
    ///   - axes: along which it is flipped (0 = z, 1 = y, 2 = x); none for the first pass.
    ///   - label: writes its labels, as flipped as it is.
    package func add(
        flippedAlong axes: [Int],
        scope: ComputeScope,
        label: (inout VoxelBuffer<UInt16>) throws -> Void
    ) throws {
        passes += 1
        guard passes > 1 else {
            precondition(axes.isEmpty, "the first pass is not flipped")
            try label(&first)
            return agrees.withUnsafeMutableBufferPointer { $0.update(repeating: 1) }
        }
        try label(&own)
        let (patch, flips) = (patch, (0..<3).map { axes.contains($0) })
        try first.withParallelReader { first in
            try own.withParallelReader { own in
                try agrees.withParallelBuffer { agrees in
                    try scope.forEachRange(of: patch.z * patch.y, by: 64) { rows in
                        for row in rows {
                            let (z, y) = (row / patch.y, row % patch.y)
                            let from = (flips[0] ? patch.z - 1 - z : z) * patch.y + (flips[1] ? patch.y - 1 - y : y)
                            let (to, source) = (row * patch.x, from * patch.x)
                            for x in 0..<patch.x {
                                let label = own[source + (flips[2] ? patch.x - 1 - x : x)]
                                if first[to + x] != label { agrees[to + x] = 0 }
                            }
                        }
                    }
                }
            }
        }
    }

    /// Adds a pass by its logits, `[class][z][y][x]` of the patch, flipped.
    package func add(_ logits: borrowing VoxelBuffer<Float>, flippedAlong axes: [Int], scope: ComputeScope) throws {
        try add(flippedAlong: axes, scope: scope) { try decision.label(logits, into: &$0, scope: scope) }
    }

    /// The counts of the tile by the logits of the mean of all passes.
    package func finish(
        _ mean: borrowing VoxelBuffer<Float>,
        scope: ComputeScope
    ) throws -> [UInt16: AgreementTally.Counts] {
        try finish { try decision.label(mean, into: &$0, scope: scope) }
    }

    /// The counts of the tile by label, without the background.
    /// - Parameter label: writes the labels of the mean of all passes.
    package func finish(
        label: (inout VoxelBuffer<UInt16>) throws -> Void
    ) throws -> [UInt16: AgreementTally.Counts] {
        try label(&own)
        var counts: [UInt16: AgreementTally.Counts] = [:]
        own.withUnsafeBufferPointer { labels in
            agrees.withUnsafeBufferPointer { agrees in
                var current: (label: UInt16, counts: AgreementTally.Counts) = (0, .init(agreeing: 0, all: 0))
                func close() {
                    guard current.label != 0 else { return }
                    counts[current.label, default: .init(agreeing: 0, all: 0)].agreeing += current.counts.agreeing
                    counts[current.label, default: .init(agreeing: 0, all: 0)].all += current.counts.all
                }
                for index in labels.indices where labels[index] != 0 {
                    if labels[index] != current.label {
                        close()
                        current = (labels[index], .init(agreeing: 0, all: 0))
                    }
                    current.counts.all += 1
                    // Where all passes agree, so does their mean.
                    current.counts.agreeing += Int(agrees[index])
                }
                close()
            }
        }
        return counts
    }
}
