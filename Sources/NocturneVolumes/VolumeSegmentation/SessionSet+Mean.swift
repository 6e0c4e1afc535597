import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneNumerics

/// The mean of the logits of several networks and several mirrored passes for one tile.
extension SessionSet {
    /// Runs the tile in ``input`` through `sessions` and stores the mean of their logits in ``sum``.
    /// - Parameter agreement: compares the passes, if there are several.
    /// - Returns: on how many voxels the passes agree; empty for a single pass.
    func infer(
        _ sessions: ArraySlice<NetworkSession>,
        _ passes: MirrorPasses,
        _ model: LevelModel,
        _ agreement: PassAgreement?,
        _ scope: ComputeScope
    ) throws -> [UInt16: AgreementTally.Counts] {
        let runs = sessions.count * passes.count
        // A single pass is its own mean: the network writes where the sum would be, without a further buffer.
        if runs == 1, let session = sessions.first {
            try input.withUnsafeBufferPointer { input in
                try sum.withUnsafeMutableBufferPointer { sum in
                    try session.run(input: input, output: sum, scope: scope)
                }
            }
            return [:]
        }
        // The sum is used again for every tile, so that it has to be cleared.
        agreement?.begin()
        let count = sum.count
        try sum.withParallelBuffer { sum in
            try scope.forEachRange(of: count, by: 1 << 20) { range in
                (sum + range.lowerBound).update(repeating: 0, count: range.count)
            }
        }
        // In a fixed order: a sum of floating-point numbers depends on it.
        for session in sessions {
            for axes in passes.flips { try add(session, axes, model, agreement, scope) }
        }
        try sum.withParallelBuffer { sum in
            try scope.forEachRange(of: count, by: 1 << 16) { range in
                for index in range { sum[index] /= Float(runs) }
            }
        }
        return try agreement?.finish(sum, scope: scope) ?? [:]
    }

    /// Runs one network on the tile mirrored along some axes, and adds its logits, mirrored back, to the sum.
    private func add(
        _ session: NetworkSession,
        _ axes: [Int],
        _ model: LevelModel,
        _ agreement: PassAgreement?,
        _ scope: ComputeScope
    ) throws {
        let voxels = model.patch.count
        try input.withParallelReader { input in
            try flipped.withParallelBuffer { flipped in
                // Every channel is written by one body only.
                try scope.forEach(model.settings.inputChannels) { channel in
                    MirrorPasses.flip(
                        UnsafeBufferPointer(start: input + channel * voxels, count: voxels),
                        channels: 1,
                        patch: model.patch,
                        along: axes,
                        into: UnsafeMutableBufferPointer(start: flipped + channel * voxels, count: voxels)
                    )
                }
            }
            try flipped.withUnsafeBufferPointer { flipped in
                try logits.withUnsafeMutableBufferPointer { logits in
                    try session.run(input: flipped, output: logits, scope: scope)
                }
            }
        }
        // Before the logits are added, so that each pass can be compared by itself.
        try agreement?.add(logits, flippedAlong: axes, scope: scope)
        try logits.withParallelReader { logits in
            try sum.withParallelBuffer { sum in
                // Every class is written by one body only.
                try scope.forEach(model.classes) { output in
                    MirrorPasses.accumulate(
                        UnsafeBufferPointer(start: logits + output * voxels, count: voxels),
                        channels: 1,
                        patch: model.patch,
                        flippedAlong: axes,
                        into: UnsafeMutableBufferPointer(start: sum + output * voxels, count: voxels)
                    )
                }
            }
        }
    }
}
