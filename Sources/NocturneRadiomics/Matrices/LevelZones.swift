internal import NocturneCore

/// Finds zones: voxels of equal level that touch by a face, an edge or a corner, in one slice or in space.
///
/// Rows are divided into runs of equal level, which are joined with the touching runs of the rows before. Linear in
/// voxels but for the inverse Ackermann function of disjoint sets.
package struct LevelZones {
    /// Connected voxels of one grey level.
    package struct Zone: Sendable {
        /// As stored in the grid.
        package let level: Int
        /// How many voxels it has, from 1.
        package var voxels: Int
        /// The least of the distances of its voxels.
        package var distance: Int
    }

    private let grid: LevelGrid
    private var runs: [Run] = []
    /// Runs of one zone.
    private var joined = DisjointSets(count: 0)

    private struct Run {
        let start: Int32
        let end: Int32
        let level: UInt16
        var distance: UInt16
    }

    /// The zones of some slices, in the order of their first voxels.
    /// - Parameters:
    ///   - inSpace: whether voxels of neighbouring slices touch.
    ///   - distances: of each voxel of the grid; nil when they are not asked for.
    package static func zones(
        of grid: LevelGrid,
        slices: Range<Int>,
        inSpace: Bool,
        distances: [UInt16]? = nil
    ) -> [Zone] {
        var zones = LevelZones(grid: grid)
        zones.find(slices: slices, inSpace: inSpace, distances: distances)
        return zones.collected()
    }

    private init(grid: LevelGrid) { self.grid = grid }

    private mutating func find(slices: Range<Int>, inSpace: Bool, distances: [UInt16]?) {
        let shape = grid.shape
        // The first run of every row of this slice and of the one before; rows at the edges are empty.
        var before = [Int](repeating: 0, count: shape.y + 1)
        // Each slice refers to runs of the one before only, so two lists of starts are enough, whatever the number of slices.
        for slice in slices {
            var starts = [Int](repeating: runs.count, count: shape.y + 1)
            for row in 1..<shape.y - 1 {
                starts[row] = runs.count
                addRuns(of: shape.offset(0, row, slice), distances)
                let added = starts[row]..<runs.count
                join(added, starts[row - 1]..<starts[row])
                guard inSpace, slice > slices.lowerBound else { continue }
                for other in row - 1...row + 1 { join(added, before[other]..<before[other + 1]) }
            }
            for row in shape.y - 1...shape.y { starts[row] = runs.count }
            before = starts
        }
    }

    private mutating func addRuns(of first: Int, _ distances: [UInt16]?) {
        var place = 1
        while place < grid.shape.x - 1 {
            let level = grid.levels[first + place]
            guard level != 0 else {
                place += 1
                continue
            }
            let start = place
            var distance = UInt16.max
            // The layer without levels around the box ends every run, so no bound is checked.
            while grid.levels[first + place] == level {
                if let distances { distance = min(distance, distances[first + place]) }
                place += 1
            }
            _ = joined.add()
            runs.append(Run(start: Int32(start), end: Int32(place), level: level, distance: distance))
        }
    }

    /// Joins runs of a row with those of another one which touch them.
    private mutating func join(_ added: Range<Int>, _ others: Range<Int>) {
        var first = others.lowerBound
        for run in added {
            // Ends are exclusive: an end that equals the other start is a neighbour by an edge or a corner. Both lists ascend,
            // so runs before `first` touch no later run.
            while first < others.upperBound, runs[first].end < runs[run].start { first += 1 }
            var other = first
            while other < others.upperBound, runs[other].start <= runs[run].end {
                if runs[other].level == runs[run].level { joined.join(run, other) }
                other += 1
            }
        }
    }

    private mutating func collected() -> [Zone] {
        var zones: [Zone] = []
        var numbers = [Int](repeating: 0, count: runs.count)
        for place in runs.indices {
            let run = runs[place]
            let root = joined.root(of: place)
            let (voxels, distance) = (Int(run.end - run.start), Int(run.distance))
            // The root of joined runs is the first of them, so that its zone exists before later runs are added to it.
            if root == place {
                numbers[place] = zones.count
                zones.append(Zone(level: Int(run.level), voxels: voxels, distance: distance))
            } else {
                zones[numbers[root]].voxels += voxels
                zones[numbers[root]].distance = min(zones[numbers[root]].distance, distance)
            }
        }
        return zones
    }
}
