import NocturneConcurrency
import NocturneCore
import NocturneInference
import NocturneRecipeSupport
import NocturneSystem

/// The mean of the logits of several networks and several mirrored passes for one tile.
extension SessionSet {
    /// Runs the tile in ``input`` through `sessions` and stores the mean of their logits in ``sum``.
    func infer(
        _ sessions: ArraySlice<any NetworkSession>,
        _ passes: MirrorPasses,
        _ model: LevelModel,
        _ scope: ComputeScope
    ) throws {
        let runs = sessions.count * passes.count
        if runs == 1, let session = sessions.first {
            try input.withUnsafeBufferPointer { input in
                try sum.withUnsafeMutableBufferPointer { sum in
                    try session.run(input: input, output: sum, scope: scope)
                }
            }
            return
        }
        sum.withUnsafeMutableBufferPointer { $0.update(repeating: 0) }
        for session in sessions {
            for axes in passes.flips { try add(session, axes, model, scope) }
        }
        try sum.withUnsafeMutableBufferPointer { sum in
            nonisolated(unsafe) let sum = sum
            try scope.forEachRange(of: sum.count, by: 1 << 16) { range in
                for index in range { sum[index] /= Float(runs) }
            }
        }
    }

    private func add(_ session: any NetworkSession, _ axes: [Int], _ model: LevelModel, _ scope: ComputeScope) throws {
        let voxels = model.patch.count
        try input.withUnsafeBufferPointer { input in
            try flipped.withUnsafeMutableBufferPointer { flipped in
                // Every channel is written by one body only.
                nonisolated(unsafe) let (from, to) = (input, flipped)
                try scope.forEach(model.settings.inputChannels) { channel in
                    let range = channel * voxels..<(channel + 1) * voxels
                    MirrorPasses.flip(
                        UnsafeBufferPointer(rebasing: from[range]),
                        channels: 1,
                        patch: model.patch,
                        along: axes,
                        into: UnsafeMutableBufferPointer(rebasing: to[range])
                    )
                }
                try logits.withUnsafeMutableBufferPointer { logits in
                    try session.run(input: UnsafeBufferPointer(flipped), output: logits, scope: scope)
                }
            }
        }
        try logits.withUnsafeBufferPointer { logits in
            try sum.withUnsafeMutableBufferPointer { sum in
                nonisolated(unsafe) let (from, to) = (logits, sum)
                try scope.forEach(model.classes) { output in
                    let range = output * voxels..<(output + 1) * voxels
                    MirrorPasses.accumulate(
                        UnsafeBufferPointer(rebasing: from[range]),
                        channels: 1,
                        patch: model.patch,
                        flippedAlong: axes,
                        into: UnsafeMutableBufferPointer(rebasing: to[range])
                    )
                }
            }
        }
    }
}
