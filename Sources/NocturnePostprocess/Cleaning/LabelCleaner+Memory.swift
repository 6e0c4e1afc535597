public import NocturneConcurrency
public import NocturneCore
public import NocturneSystem

extension LabelCleaner {
    /// The peak memory in bytes of ``PostprocessRules/morphology`` besides the labels, whatever they are: 4 bytes a voxel, 8 where
    /// a step dilates several labels, 10 where one smooths several, and some planes for each thread.
    public static func morphologyBytes(of rules: PostprocessRules, shape: VolumeShape, threads: Int) -> Int {
        rules.morphology.map { LabelMorphology.predictedBytes(of: $0, shape: shape, threads: threads) }.max() ?? 0
    }

    /// The peak memory in bytes of ``apply(_:to:geometry:within:scope:)`` besides the labels, from a fast read of every voxel; without that
    /// of ``PostprocessRules/morphology``, which has ended when the other rules begin.
    ///
    /// Proportional to the number of runs along i of the labels that the rules name; scattered single voxels need the
    /// most. Extra memory: 4 bytes per row.
    /// - Throws: ``CancelledError`` when the flag of `scope` is raised.
    public static func workingBytes(
        of rules: PostprocessRules,
        for labels: borrowing VoxelBuffer<UInt16>,
        shape: VolumeShape,
        scope: ComputeScope
    ) throws(CancelledError) -> Int {
        precondition(labels.count == shape.count, "voxels do not fill the shape")
        let rules = rules.ofComponents
        guard !rules.isEmpty else { return 0 }
        let (runs, rows) = try ConnectedComponents.Runs.totals(in: labels, shape, .labels(rules.labels), scope)
        // Data of the components, and which of them are kept and which are examined.
        let found = ConnectedComponents.bytes(runs: runs, rows: rows) + 2 * runs
        var more = 0
        if rules.keepLargest.contains(where: { Set($0).subtracting([0]).count > 1 }) {
            // The mask's runs in a growing array, their origins, their components and sizes.
            more = runs * (24 + 4 + 4 + 8) + 4 * rows
        }
        if !rules.fillHoles.isEmpty {
            // A row has at most one background run more than label runs, named or not, including those that were
            // removed; the data about the neighbourhood of a run takes 4 bytes.
            let all = try ConnectedComponents.Runs.totals(in: labels, shape, .everyLabel, scope).runs + rows
            more = max(more, ConnectedComponents.bytes(runs: all, rows: rows) + 4 * all)
        }
        return found + more
    }

    /// Applies each rule for each label or group by itself, with the result of all together.
    static func applySingly(
        _ rules: PostprocessRules,
        to labels: inout VoxelBuffer<UInt16>,
        _ geometry: VolumeGeometry,
        _ scope: ComputeScope
    ) throws(CancelledError) -> [LabelCleaning] {
        var report: [UInt16: LabelCleaning] = [:]
        for step in singleSteps(of: rules) {
            for entry in try applyToComponents(step, to: &labels, geometry: geometry, scope: scope) {
                // The first step that names a label processes it unchanged.
                var sum =
                    report[entry.value] ?? LabelCleaning(value: entry.value, componentsFound: entry.componentsFound)
                sum.componentsRemoved += entry.componentsRemoved
                sum.voxelsRemoved += entry.voxelsRemoved
                sum.voxelsFilled += entry.voxelsFilled
                report[entry.value] = sum
            }
        }
        return report.values.sorted { $0.value < $1.value }
    }

    /// The rules one by one, in the order in which they are applied.
    private static func singleSteps(of rules: PostprocessRules) -> [PostprocessRules] {
        let minimum = rules.minimumVolumeMm3.sorted { $0.key < $1.key }.map {
            PostprocessRules(minimumVolumeMm3: [$0.key: $0.value], connectivity: rules.connectivity)
        }
        let largest = rules.keepLargest.map {
            PostprocessRules(keepLargest: [$0], connectivity: rules.connectivity)
        }
        let holes = Set(rules.fillHoles).sorted().map {
            var step = PostprocessRules(fillHoles: [$0], connectivity: rules.connectivity)
            step.isPlane = rules.isPlane
            return step
        }
        return minimum + largest + holes
    }
}
