internal import CNocturneKernels
import NocturneConcurrency
import NocturneCore
import NocturneSystem
import Synchronization

/// The largest voxel of every line of a volume along each of its three stored axes.
///
/// In one pass, every voxel is read once, a plane at a time, by all threads. Each thread keeps its own plane for maxima
/// across different planes. Maxima do not depend on an order, so the result is the same for any number of threads. NaN
/// voxels are ignored; a line with only NaN voxels is minus infinity.
struct MaximumProjections {
    /// Indexed by the stored projection axis; in each map the lower of the other two axes varies fastest.
    let maps: [[Float]]

    /// The bytes of the result and of the threads' planes.
    static func predictedBytes(_ shape: VolumeShape, threads: Int) -> Int {
        (shape.x * shape.y * (max(1, threads) + 1) + shape.x * shape.z + shape.y * shape.z) * 4
    }

    /// - Throws: ``CancelledError``; the flag is checked about every million voxels.
    init(of volume: Volume, scope: ComputeScope) throws(CancelledError) {
        let shape = volume.geometry.shape
        let nothing = -Float.infinity
        var across = [Float](repeating: nothing, count: shape.y * shape.z)
        var down = [Float](repeating: nothing, count: shape.x * shape.z)
        let planes = Mutex<[[Float]]>([])
        try volume.voxels.withParallelReader { voxels throws(CancelledError) in
            try across.withParallelBuffer { across throws(CancelledError) in
                try down.withParallelBuffer { down throws(CancelledError) in
                    try scope.forEachRange(of: shape.z, by: max(1, (1 << 20) / shape.sliceCount)) { range in
                        var through =
                            planes.withLock { $0.popLast() } ?? [Float](repeating: nothing, count: shape.sliceCount)
                        through.withUnsafeMutableBufferPointer { through in
                            for k in range {
                                nk_project_plane(
                                    voxels + k * shape.sliceCount,
                                    shape.x,
                                    shape.y,
                                    through.baseAddress!,
                                    down + k * shape.x,
                                    across + k * shape.y
                                )
                            }
                        }
                        planes.withLock { $0.append(through) }
                    }
                }
            }
        }
        let kept = planes.withLock { planes in
            defer { planes = [] }
            return planes
        }
        var through = kept.first ?? [Float](repeating: nothing, count: shape.sliceCount)
        for plane in kept.dropFirst() {
            for place in through.indices where plane[place] > through[place] { through[place] = plane[place] }
        }
        maps = [across, down, through]
    }
}
