internal import NocturneConcurrency
internal import NocturneCore

/// Neighbouring voxels of one value in a row: columns `begin..<end`.
struct LabelRun: Sendable {
    var begin: UInt32
    var end: UInt32
    var value: UInt16
}

/// The voxels of a region as runs along i, row after row: all that the component search looks at.
///
/// 12 bytes a run and 4 bytes a row (j, k) of the region. Runs are counted first, so that memory is taken once and each
/// part of the volume can be written by another thread. Within a row, and from row to row, runs are in storage order.
struct LabelRuns: Sendable {
    /// Which voxels make runs.
    enum Selection: Sendable {
        /// Every voxel that is not 0; a run ends where the value changes.
        case everyLabel
        case value(UInt16)
    }

    let shape: VolumeShape
    let region: VoxelBox
    let runs: [LabelRun]
    /// The first run of each row of the region, and the number of runs at the end. Row (j, k) is `row(j, k)`.
    let rowStart: [UInt32]

    /// Runs that are known already.
    init(shape: VolumeShape, region: VoxelBox, runs: [LabelRun], rowStart: [UInt32]) {
        self.shape = shape
        self.region = region
        self.runs = runs
        self.rowStart = rowStart
    }

    /// - Throws: ``CancelledError`` when the flag is raised; it is looked at about every million voxels.
    init(
        in voxels: SharedReader<UInt16>,
        shape: VolumeShape,
        region: VoxelBox,
        selection: Selection,
        scope: ComputeScope
    ) throws(CancelledError) {
        precondition(shape.x < Int(UInt32.max), "a row holds fewer than 2³² voxels")
        let size = region.shape
        let rows = size.y * size.z
        let rowsAtOnce = Self.rowsAtOnce(size)

        var starts = [UInt32](repeating: 0, count: rows + 1)
        try starts.withUnsafeMutableBufferPointer { starts throws(CancelledError) in
            let counts = SharedPointer(base: starts.baseAddress!)
            try scope.forEachRange(of: rows, by: rowsAtOnce) { range in
                for row in range {
                    let line = voxels.base + Self.offset(ofRow: row, in: region, shape)
                    counts.base[row + 1] = UInt32(Self.countRuns(line, size.x, selection))
                }
            }
        }
        var total = 0
        for row in 0..<rows {
            total += Int(starts[row + 1])
            precondition(total < Int(UInt32.max), "a volume holds fewer than 2³² runs")
            starts[row + 1] = UInt32(total)
        }

        var runs = [LabelRun](repeating: LabelRun(begin: 0, end: 0, value: 0), count: total)
        let rowStart = starts
        try runs.withUnsafeMutableBufferPointer { runs throws(CancelledError) in
            guard let base = runs.baseAddress else { return }
            let target = SharedPointer(base: base)
            try scope.forEachRange(of: rows, by: rowsAtOnce) { range in
                for row in range where rowStart[row + 1] > rowStart[row] {
                    let line = voxels.base + Self.offset(ofRow: row, in: region, shape)
                    Self.writeRuns(
                        line,
                        size.x,
                        firstColumn: region.lower.x,
                        selection,
                        to: target.base + Int(rowStart[row])
                    )
                }
            }
        }
        self.shape = shape
        self.region = region
        self.runs = runs
        self.rowStart = rowStart
    }

    var rowCount: Int { rowStart.count - 1 }

    /// How many rows a thread takes at a time: about a million voxels.
    var rowsAtOnce: Int { Self.rowsAtOnce(region.shape) }

    private static func rowsAtOnce(_ size: VolumeShape) -> Int { max(1, (1 << 20) / size.x) }

    /// The storage offset of the first voxel of a row of the region.
    func offset(ofRow row: Int) -> Int { Self.offset(ofRow: row, in: region, shape) }

    /// The storage offset of the first voxel of a run that lies in `row`.
    func offset(of run: LabelRun, inRow row: Int) -> Int {
        Self.offset(ofRow: row, in: region, shape) - region.lower.x + Int(run.begin)
    }

    /// The voxel indices (j, k) of a row.
    func place(ofRow row: Int) -> (j: Int, k: Int) {
        (region.lower.y + row % region.shape.y, region.lower.z + row / region.shape.y)
    }

    private static func offset(ofRow row: Int, in region: VoxelBox, _ shape: VolumeShape) -> Int {
        let rows = region.shape.y
        return shape.offset(region.lower.x, region.lower.y + row % rows, region.lower.z + row / rows)
    }

    private static func countRuns(_ line: UnsafePointer<UInt16>, _ count: Int, _ selection: Selection) -> Int {
        var found = 0
        switch selection {
        case .everyLabel:
            // Most rows of a label map are empty, and this loop runs at the speed of memory.
            var any: UInt16 = 0
            for i in 0..<count { any |= line[i] }
            guard any != 0 else { return 0 }
            found = line[0] != 0 ? 1 : 0
            for i in 1..<max(count, 1) {
                let value = line[i]
                found &+= (value != 0 && value != line[i - 1]) ? 1 : 0
            }
        case .value(let wanted):
            found = line[0] == wanted ? 1 : 0
            for i in 1..<max(count, 1) { found &+= (line[i] == wanted && line[i - 1] != wanted) ? 1 : 0 }
        }
        return found
    }

    private static func writeRuns(
        _ line: UnsafePointer<UInt16>,
        _ count: Int,
        firstColumn: Int,
        _ selection: Selection,
        to target: UnsafeMutablePointer<LabelRun>
    ) {
        var next = target
        var i = 0
        while i < count {
            let value = line[i]
            let selected: Bool
            switch selection {
            case .everyLabel: selected = value != 0
            case .value(let wanted): selected = value == wanted
            }
            let begin = i
            i += 1
            while i < count, line[i] == value { i += 1 }
            if selected {
                next.pointee = LabelRun(
                    begin: UInt32(firstColumn + begin),
                    end: UInt32(firstColumn + i),
                    value: value
                )
                next += 1
            }
        }
    }
}
