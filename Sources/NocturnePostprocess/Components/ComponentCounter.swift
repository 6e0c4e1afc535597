public import NocturneConcurrency
public import NocturneCore
public import NocturneSystem

/// Counts the connected components of every label, slice after slice.
///
/// Unlike ``ConnectedComponents`` it keeps no more than two slices: what is not continued in a slice is counted and forgotten.
public enum ComponentCounter {
    /// The components of one label.
    public struct Count: Hashable, Sendable {
        /// How many there are.
        public internal(set) var components = 0
        /// The voxels of the largest one.
        public internal(set) var largestVoxelCount = 0
    }

    /// - Parameters:
    ///   - labels: the label map.
    ///   - box: what holds all labels; nil for the whole map.
    /// - Returns: a count for every label that occurs, 0 left out.
    /// - Throws: ``CancelledError`` when the flag of `scope` is raised; it is looked at after every slice.
    /// - Complexity: linear in the voxels of the box.
    public static func counts(
        in labels: LabelVolume,
        box: VoxelBox? = nil,
        connectivity: Connectivity = .corners,
        scope: ComputeScope
    ) throws(CancelledError) -> [UInt16: Count] {
        let shape = labels.geometry.shape
        let box = box ?? VoxelBox(all: shape)
        return try labels.voxels.withParallelReader { voxels throws(CancelledError) in
            var counts: [UInt16: Count] = [:]
            var before = Slice()
            for k in box.lower.z..<box.upper.z {
                try scope.check()
                let start = before.runs.count
                let runs = try joined(&before, withSlice: k, of: voxels, shape, box, scope)
                let (ofRun, count) = try runs.components(connectivity, joined: before.firstRuns, scope)
                let sizes = sizes(of: count, ofRun, runs, before)
                let own = k == box.upper.z - 1 ? runs.runs.count : start
                var firstRuns = [UInt32](repeating: .max, count: count)
                before.set(ofRun[own...], sizes, &firstRuns)
                var next: UInt32 = 0
                // Components have the order of their first runs.
                for (run, component) in zip(runs.runs, ofRun) where component == next {
                    if firstRuns[Int(component)] == .max {
                        counts[run.value, default: Count()].add(sizes[Int(component)])
                    }
                    next += 1
                }
                before.runs = Array(runs.runs[own...])
            }
            return counts
        }
    }

    /// The most memory that it takes, where no two neighbours are of one label: runs, their components, sizes and first runs of two
    /// slices, and what is kept of one.
    public static func predictedBytes(_ shape: VolumeShape) -> Int {
        let run = MemoryLayout<ConnectedComponents.Runs.Run>.stride
        return shape.x * shape.y * (2 * (run + 4 + 8 + 4) + run + 4 + 8) + (1 << 16)
    }

    /// What is kept of a slice.
    private struct Slice {
        var runs: [ConnectedComponents.Runs.Run] = []
        /// The first run of each row, and the number of all runs.
        var rowStart: [UInt32] = [0]
        /// For each run the first one of its component in this slice.
        var firstRuns: [UInt32] = []
        /// For the first run of each component its voxels so far, 0 for other runs.
        var sizes: [Int] = []

        /// - Parameter first: gets the first run of each component that has one in this slice.
        mutating func set(_ components: ArraySlice<UInt32>, _ all: [Int], _ first: inout [UInt32]) {
            (firstRuns, sizes) = ([], [])
            firstRuns.reserveCapacity(components.count)
            sizes.reserveCapacity(components.count)
            for (run, component) in components.enumerated() {
                let isFirst = first[Int(component)] == .max
                if isFirst { first[Int(component)] = UInt32(run) }
                firstRuns.append(first[Int(component)])
                sizes.append(isFirst ? all[Int(component)] : 0)
            }
        }
    }

    /// The runs of the slice before, which connect those of slice `k` to its components, and those of slice `k`.
    private static func joined(
        _ before: inout Slice,
        withSlice k: Int,
        of voxels: ParallelReader<UInt16>,
        _ shape: VolumeShape,
        _ box: VoxelBox,
        _ scope: ComputeScope
    ) throws(CancelledError) -> ConnectedComponents.Runs {
        var region = box
        (region.lower.z, region.upper.z) = (k, k + 1)
        let own = try ConnectedComponents.Runs(
            in: voxels,
            shape: shape,
            region: region,
            selection: .everyLabel,
            scope: scope
        )
        region.lower.z = max(k - 1, box.lower.z)
        let start = UInt32(before.runs.count)
        let rowStart = before.rowStart + own.rowStart.dropFirst().map { start + $0 }
        let runs = before.runs + own.runs
        (before.runs, before.rowStart) = ([], own.rowStart)
        return ConnectedComponents.Runs(shape: shape, region: region, runs: runs, rowStart: rowStart)
    }

    private static func sizes(
        of count: Int,
        _ ofRun: [UInt32],
        _ runs: ConnectedComponents.Runs,
        _ before: Slice
    ) -> [Int] {
        var sizes = [Int](repeating: 0, count: count)
        for (component, size) in zip(ofRun, before.sizes) { sizes[Int(component)] += size }
        for index in before.sizes.count..<ofRun.count {
            sizes[Int(ofRun[index])] += Int(runs.runs[index].end - runs.runs[index].begin)
        }
        return sizes
    }
}

extension ComponentCounter.Count {
    fileprivate mutating func add(_ voxelCount: Int) {
        components += 1
        largestVoxelCount = max(largestVoxelCount, voxelCount)
    }
}
