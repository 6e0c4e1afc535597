public import NocturneConcurrency
public import NocturneCore
public import NocturneSystem

extension LabelCleaner {
    /// The peak memory in bytes of ``apply(_:to:geometry:scope:)`` besides the labels, from a fast read of every voxel.
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
        guard !rules.isEmpty else { return 0 }
        let counts = try labels.withParallelReader { voxels throws(CancelledError) in
            try LabelRuns.counts(
                in: voxels,
                shape: shape,
                region: VoxelBox(all: shape),
                selection: .labels(rules.labels),
                scope: scope
            )
        }
        let runs = counts.reduce(0) { $0 + Int($1) }
        let rows = counts.count
        // Data of the components, and which of them are kept and which are examined.
        let found = ConnectedComponents.bytes(runs: runs, rows: rows) + 2 * runs
        var more = 0
        if rules.keepLargest.contains(where: { Set($0).subtracting([0]).count > 1 }) {
            // The mask's runs in a growing array, their origins, their components and sizes.
            more = runs * (24 + 4 + 4 + 8) + 4 * rows
        }
        if !rules.fillHoles.isEmpty {
            // A row has at most one background run more than label runs, named or not, including those that were
            // removed; the data about the surroundings of a run takes 4 bytes.
            let all = try ConnectedComponents.everyRun(in: labels, shape, scope) + rows
            more = max(more, ConnectedComponents.bytes(runs: all, rows: rows) + 4 * all)
        }
        return found + more
    }

    /// Applies the rules like ``apply(_:to:geometry:scope:)``, with the same result, in less memory if necessary.
    ///
    /// When all rules together would need more than `bytes`, each rule is applied separately for each label or group.
    /// That is slower by one read of the voxels for each, and needs the memory of the largest of them:
    /// ``leastWorkingBytes(of:for:shape:scope:)``.
    public static func apply(
        _ rules: PostprocessRules,
        to labels: inout VoxelBuffer<UInt16>,
        geometry: VolumeGeometry,
        within bytes: Int,
        scope: ComputeScope
    ) throws(CancelledError) -> [LabelCleaning] {
        if try workingBytes(of: rules, for: labels, shape: geometry.shape, scope: scope) <= bytes {
            return try apply(rules, to: &labels, geometry: geometry, scope: scope)
        }
        var report: [UInt16: LabelCleaning] = [:]
        for step in singleSteps(of: rules) {
            for entry in try apply(step, to: &labels, geometry: geometry, scope: scope) {
                // The first step that names a label processes it unchanged.
                var sum =
                    report[entry.value] ?? LabelCleaning(value: entry.value, componentsFound: entry.componentsFound)
                sum.componentsRemoved += entry.componentsRemoved
                sum.voxelsRemoved += entry.voxelsRemoved
                sum.cavitiesFilled += entry.cavitiesFilled
                sum.voxelsFilled += entry.voxelsFilled
                report[entry.value] = sum
            }
        }
        return report.values.sorted { $0.value < $1.value }
    }

    /// The peak memory in bytes of ``apply(_:to:geometry:within:scope:)`` when its limit is 0.
    /// - Throws: ``CancelledError`` when the flag of `scope` is raised.
    public static func leastWorkingBytes(
        of rules: PostprocessRules,
        for labels: borrowing VoxelBuffer<UInt16>,
        shape: VolumeShape,
        scope: ComputeScope
    ) throws(CancelledError) -> Int {
        var most = 0
        for step in singleSteps(of: rules) {
            most = max(most, try workingBytes(of: step, for: labels, shape: shape, scope: scope))
        }
        return most
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
            PostprocessRules(fillHoles: [$0], connectivity: rules.connectivity)
        }
        return minimum + largest + holes
    }
}

extension ConnectedComponents {
    /// The total number of runs of all labels.
    fileprivate static func everyRun(
        in labels: borrowing VoxelBuffer<UInt16>,
        _ shape: VolumeShape,
        _ scope: ComputeScope
    ) throws(CancelledError) -> Int {
        try labels.withParallelReader { voxels throws(CancelledError) in
            try LabelRuns.counts(
                in: voxels,
                shape: shape,
                region: VoxelBox(all: shape),
                selection: .everyLabel,
                scope: scope
            ).reduce(0) { $0 + Int($1) }
        }
    }
}
