public import NocturneConcurrency
public import NocturneCore
public import NocturneSystem

extension LabelCleaner {
    /// The most bytes that ``apply(_:to:geometry:scope:)`` takes besides the labels, from a fast look at every voxel.
    ///
    /// Proportional to the runs along i of the labels that the rules name; specks cost the most. Extra memory: 4 bytes a
    /// row.
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
        // What is known of the components, and which of them are kept and which are looked at.
        let found = ConnectedComponents.bytes(runs: runs, rows: rows) + 2 * runs
        var more = 0
        if rules.keepLargest.contains(where: { Set($0).subtracting([0]).count > 1 }) {
            // The mask's runs in an array that grows, where they came from, their components and sizes.
            more = runs * (24 + 4 + 4 + 8) + 4 * rows
        }
        if !rules.fillHoles.isEmpty {
            // A row has at most one run of background more than runs of labels, named or not, and of those that
            // were removed; what lies around one is 4 bytes.
            let all = try ConnectedComponents.everyRun(in: labels, shape, scope) + rows
            more = max(more, ConnectedComponents.bytes(runs: all, rows: rows) + 4 * all)
        }
        return found + more
    }

    /// Follows the rules like ``apply(_:to:geometry:scope:)``, with the same result, in less memory where it must.
    ///
    /// When all at once would take more than `bytes`, each rule for each label or group is followed by itself. That is
    /// slower by a look at the voxels for each, and takes what the largest of them takes:
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
                // The first step that names a label finds it as it was.
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

    /// The most bytes that ``apply(_:to:geometry:within:scope:)`` takes when it is given none.
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

    /// The rules one by one, in the order in which they are followed.
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
    /// How many runs of any label there are.
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
