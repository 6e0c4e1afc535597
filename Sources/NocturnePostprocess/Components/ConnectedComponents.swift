public import NocturneConcurrency
public import NocturneCore
public import NocturneSystem

/// The connected components of a label map. Voxels connect only to neighbours of the same value; 0 is ignored.
///
/// Components are numbered from 0 in the order of their first voxels in storage order (i fastest), for any number of
/// threads. Time is linear in the voxels, at memory speed where rows are empty; the rest is linear in the runs. Extra
/// memory: 16 bytes per run of equal voxels along i, 4 bytes per row, 24 bytes per component.
public struct ConnectedComponents: Sendable {
    /// One component.
    public struct Component: Hashable, Sendable {
        /// The label.
        public let value: UInt16
        /// The number of its voxels.
        public internal(set) var voxelCount: Int
        /// The storage offset of its first voxel.
        public let firstVoxel: Int
    }

    /// All components in the order of their first voxels.
    public let components: [Component]
    let runs: Runs
    let componentOfRun: [UInt32]

    /// Finds the components of all labels, or of one.
    ///
    /// - Parameters:
    ///   - labels: the label map, i fastest.
    ///   - value: the only label to search; nil for all. 0 finds the components of the background.
    /// - Throws: ``CancelledError`` when the flag of `scope` is raised.
    public init(
        of labels: LabelVolume,
        only value: UInt16? = nil,
        connectivity: Connectivity,
        scope: ComputeScope
    ) throws(CancelledError) {
        let shape = labels.geometry.shape
        let selection: Runs.Selection = if let value { .value(value) } else { .everyLabel }
        self = try labels.voxels.withUnsafeBufferPointer { voxels throws(CancelledError) in
            try Self(voxels, shape, VoxelBox(all: shape), selection, connectivity, scope)
        }
    }

    /// Searches only a region; components that touch its border may continue outside.
    /// - Throws: ``CancelledError`` when the flag of `scope` is raised.
    package init(
        _ voxels: UnsafeBufferPointer<UInt16>,
        _ shape: VolumeShape,
        _ region: VoxelBox,
        _ selection: Runs.Selection,
        _ connectivity: Connectivity,
        _ scope: ComputeScope
    ) throws(CancelledError) {
        let runs = try Runs(
            in: ParallelReader(voxels.baseAddress!),
            shape: shape,
            region: region,
            selection: selection,
            scope: scope
        )
        let (ofRun, count) = try runs.components(connectivity, scope)

        // In storage order, so that a component is met first at its first voxel, which gives it its number.
        var components: [Component] = []
        components.reserveCapacity(count)
        for row in 0..<runs.rowCount {
            for index in Int(runs.rowStart[row])..<Int(runs.rowStart[row + 1]) {
                let run = runs.runs[index]
                let length = Int(run.end - run.begin)
                let component = Int(ofRun[index])
                if component == components.count {
                    components.append(
                        Component(
                            value: run.value,
                            voxelCount: length,
                            firstVoxel: runs.offset(of: run, inRow: row)
                        )
                    )
                } else {
                    components[component].voxelCount += length
                }
            }
        }
        self.components = components
        self.runs = runs
        self.componentOfRun = ofRun
    }

    /// The peak memory in bytes for this number of runs and rows, while components are searched and afterwards.
    ///
    /// A run needs 12 bytes and 4 for its component, a row 12 at first, and there are no more components than runs.
    static func bytes(runs: Int, rows: Int) -> Int { runs * (16 + MemoryLayout<Component>.stride) + rows * 12 }

    /// The components as a volume: 0 for voxels without a component, else the component's number plus 1.
    ///
    /// Memory: 4 bytes per voxel.
    /// - Throws: ``AllocationError`` when the system has not enough memory, ``CancelledError`` when the flag is raised.
    public func painted(scope: ComputeScope = .serial()) throws -> VoxelBuffer<UInt32> {
        var target = try VoxelBuffer<UInt32>(count: runs.shape.count)
        try target.withParallelBuffer { painting throws(CancelledError) in
            try scope.forEachRange(of: runs.rowCount, by: runs.rowsAtOnce) { rows in
                forEachRun(inRows: rows) { component, voxels, _, _ in
                    (painting.base + voxels.lowerBound).update(repeating: UInt32(component) + 1, count: voxels.count)
                }
            }
        }
        return target
    }

    /// Calls `body` with the component, the storage offsets, the run and the row of every run, in storage order.
    package func forEachRun(
        _ body: (_ component: Int, _ voxels: Range<Int>, _ run: Runs.Run, _ row: Int) -> Void
    ) {
        forEachRun(inRows: 0..<runs.rowCount, body)
    }

    /// The same for some rows.
    @inline(__always)
    func forEachRun(
        inRows rows: Range<Int>,
        _ body: (_ component: Int, _ voxels: Range<Int>, _ run: Runs.Run, _ row: Int) -> Void
    ) {
        for row in rows {
            let own = Int(runs.rowStart[row])..<Int(runs.rowStart[row + 1])
            guard !own.isEmpty else { continue }
            let start = runs.offset(ofRow: row) - runs.region.lower.x
            for index in own {
                let run = runs.runs[index]
                body(Int(componentOfRun[index]), start + Int(run.begin)..<start + Int(run.end), run, row)
            }
        }
    }
}
