internal import NocturneConcurrency
internal import NocturneCore
import NocturneSystem

extension ConnectedComponents {
    /// The voxels of a region as runs along i, row after row: the input of the component search.
    ///
    /// 12 bytes per run and 4 bytes per row (j, k) of the region. Runs are counted first, so that memory is allocated once
    /// and each part of the volume can be written by another thread. Within a row, and from row to row, runs are in storage
    /// order.
    package struct Runs: Sendable {
        /// Consecutive voxels of one value in a row: columns `begin..<end`.
        package struct Run: Sendable {
            var begin: UInt32
            var end: UInt32
            var value: UInt16
        }

        /// The voxels that form runs.
        package enum Selection: Sendable {
            /// Every voxel that is not 0; a run ends where the value changes.
            case everyLabel
            /// Every voxel of one value, which may be 0.
            case value(UInt16)
            /// Every voxel whose value is marked true in an array of 65,536 entries; 0 is not marked.
            case values([Bool])

            static func labels(_ values: some Collection<UInt16>) -> Selection {
                if values.count == 1, let value = values.first, value != 0 { return .value(value) }
                var table = [Bool](repeating: false, count: 1 << 16)
                for value in values where value != 0 { table[Int(value)] = true }
                return .values(table)
            }
        }

        let shape: VolumeShape
        let region: VoxelBox
        let runs: [Run]
        /// The first run of each row of the region, and the number of runs at the end. Row (j, k) is `row(j, k)`.
        let rowStart: [UInt32]

        /// Uses runs that already exist.
        init(shape: VolumeShape, region: VoxelBox, runs: [Run], rowStart: [UInt32]) {
            self.shape = shape
            self.region = region
            self.runs = runs
            self.rowStart = rowStart
        }

        /// - Throws: ``CancelledError`` when the flag is raised; it is checked about every million voxels.
        init(
            in voxels: ParallelReader<UInt16>,
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
            var total = 0
            let counts = try Self.counts(in: voxels, shape: shape, region: region, selection: selection, scope: scope)
            for row in 0..<rows {
                total += Int(counts[row])
                precondition(total < Int(UInt32.max), "a volume holds fewer than 2³² runs")
                starts[row + 1] = UInt32(total)
            }

            var runs = [Run](repeating: Run(begin: 0, end: 0, value: 0), count: total)
            let rowStart = starts
            try runs.withParallelBuffer { target throws(CancelledError) in
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

        /// The number of runs in each row of a region.
        /// - Throws: ``CancelledError`` when the flag is raised; it is checked about every million voxels.
        static func counts(
            in voxels: ParallelReader<UInt16>,
            shape: VolumeShape,
            region: VoxelBox,
            selection: Selection,
            scope: ComputeScope
        ) throws(CancelledError) -> [UInt32] {
            let size = region.shape
            var counts = [UInt32](repeating: 0, count: size.y * size.z)
            try counts.withParallelBuffer { target throws(CancelledError) in
                try scope.forEachRange(of: size.y * size.z, by: rowsAtOnce(size)) { range in
                    for row in range {
                        let line = voxels.base + Self.offset(ofRow: row, in: region, shape)
                        target[row] = UInt32(countRuns(line, size.x, selection))
                    }
                }
            }
            return counts
        }

        /// The number of all runs in a label map, and of its rows.
        static func totals(
            in labels: borrowing VoxelBuffer<UInt16>,
            _ shape: VolumeShape,
            _ selection: Selection,
            _ scope: ComputeScope
        ) throws(CancelledError) -> (runs: Int, rows: Int) {
            let counts = try labels.withParallelReader { voxels throws(CancelledError) in
                try Self.counts(
                    in: voxels,
                    shape: shape,
                    region: VoxelBox(all: shape),
                    selection: selection,
                    scope: scope
                )
            }
            return (counts.reduce(0) { $0 + Int($1) }, counts.count)
        }

        var rowCount: Int { rowStart.count - 1 }

        /// The number of rows that a thread processes at a time: about a million voxels.
        var rowsAtOnce: Int { Self.rowsAtOnce(region.shape) }

        private static func rowsAtOnce(_ size: VolumeShape) -> Int { max(1, (1 << 20) / size.x) }

        /// The storage offset of the first voxel of a row of the region.
        func offset(ofRow row: Int) -> Int { Self.offset(ofRow: row, in: region, shape) }

        /// The storage offset of the first voxel of a run that lies in `row`.
        func offset(of run: Run, inRow row: Int) -> Int {
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
                // Most rows of a label map are empty, and this loop runs at memory speed.
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
            case .values(let wanted):
                var any: UInt16 = 0
                for i in 0..<count { any |= line[i] }
                guard any != 0 else { return 0 }
                found = wanted[Int(line[0])] ? 1 : 0
                for i in 1..<max(count, 1) where line[i] != line[i - 1] { found &+= wanted[Int(line[i])] ? 1 : 0 }
            }
            return found
        }

        private static func writeRuns(
            _ line: UnsafePointer<UInt16>,
            _ count: Int,
            firstColumn: Int,
            _ selection: Selection,
            to target: UnsafeMutablePointer<Run>
        ) {
            var next = target
            var i = 0
            while i < count {
                let value = line[i]
                let selected: Bool
                switch selection {
                case .everyLabel: selected = value != 0
                case .value(let wanted): selected = value == wanted
                case .values(let wanted): selected = wanted[Int(value)]
                }
                let begin = i
                i += 1
                while i < count, line[i] == value { i += 1 }
                if selected {
                    next.pointee = Run(
                        begin: UInt32(firstColumn + begin),
                        end: UInt32(firstColumn + i),
                        value: value
                    )
                    next += 1
                }
            }
        }
    }
}

/// Which of the 26 voxels around a voxel count as its neighbours.
public enum Connectivity: Int, Sendable, Codable, CaseIterable {
    /// The 6 that share a face.
    case faces = 6
    /// The 18 that share a face or an edge.
    case edges = 18
    /// All 26: a face, an edge or a corner.
    case corners = 26

    /// The gap in voxels along i across which two runs still touch, for rows one step apart along j or k.
    var reachInNextRow: Int { self == .faces ? 0 : 1 }

    /// The same for rows one step apart along both j and k; nil when such rows never touch.
    var reachInDiagonalRow: Int? {
        switch self {
        case .faces: nil
        case .edges: 0
        case .corners: 1
        }
    }
}
