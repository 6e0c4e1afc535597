public import NocturneConcurrency
public import NocturneCore
public import NocturneSystem

/// Counts the connected components of every label in one pass over the slices.
///
/// Unlike ``ConnectedComponents`` it keeps no more than two slices: what is not continued in a slice is counted and forgotten.
/// Runs of equal voxels are joined by a union-find with path halving (R. E. Tarjan, J. van Leeuwen, "Worst-Case Analysis of Set
/// Union Algorithms", 1984).
public struct ComponentCounter {
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
    /// - Complexity: linear in the voxels of the box; one thread.
    public static func counts(
        in labels: LabelVolume,
        box: VoxelBox? = nil,
        connectivity: Connectivity = .corners,
        scope: ComputeScope
    ) throws(CancelledError) -> [UInt16: Count] {
        let shape = labels.geometry.shape
        let box = box ?? VoxelBox(all: shape)
        var counter = ComponentCounter(connectivity: connectivity, rows: box.shape.y)
        try labels.voxels.withUnsafeBufferPointer { voxels throws(CancelledError) in
            for k in box.lower.z..<box.upper.z {
                try scope.flag.check()
                counter.beginSlice()
                for j in box.lower.y..<box.upper.y {
                    let start = shape.offset(box.lower.x, j, k)
                    counter.addRow(UnsafeBufferPointer(rebasing: voxels[start..<start + box.shape.x]))
                }
                counter.endSlice()
            }
        }
        counter.beginSlice()
        // An empty slice behind the last one, in which its components end.
        for _ in 0..<box.shape.y { counter.endRow() }
        counter.endSlice()
        return counter.counts
    }

    /// The most memory that it takes, where no two neighbours are of one label.
    public static func predictedBytes(_ shape: VolumeShape) -> Int {
        shape.x * shape.y * (2 * (MemoryLayout<Run>.stride + 4) + 2 * MemoryLayout<Node>.stride) + (1 << 16)
    }

    private struct Run {
        var begin: Int32
        /// Exclusive.
        var end: Int32
        var value: UInt16
    }

    /// A part of a component. The first ones are the components of the slice before, the others the runs of this slice.
    private struct Node {
        /// Itself in a root.
        var parent: Int32
        /// Of a root: all voxels of its component so far.
        var voxelCount: Int
        var value: UInt16
        /// Whether a run of this slice belongs to it; of a root.
        var isContinued = false
    }

    /// The runs of a slice, row after row.
    private struct Slice {
        var runs: [Run] = []
        var rowStarts: [Int] = [0]
        /// The node of each run; once the slice is complete, that of its component.
        var nodes: [Int32] = []

        func row(_ row: Int) -> Range<Int> { rowStarts[row]..<rowStarts[row + 1] }
    }

    private let connectivity: Connectivity
    private let rows: Int
    /// Nil for the first slice.
    private var before: Slice?
    private var current = Slice()
    private var nodes: [Node] = []
    /// Of the components that have ended.
    private var counts: [UInt16: Count] = [:]

    private init(connectivity: Connectivity, rows: Int) {
        self.connectivity = connectivity
        self.rows = rows
    }

    private mutating func beginSlice() {
        current.runs.removeAll(keepingCapacity: true)
        current.rowStarts.removeAll(keepingCapacity: true)
        current.rowStarts.append(0)
        current.nodes.removeAll(keepingCapacity: true)
    }

    private mutating func addRow(_ voxels: UnsafeBufferPointer<UInt16>) {
        defer { endRow() }
        // Most rows are empty, and this loop runs at memory speed.
        var any: UInt16 = 0
        for value in voxels { any |= value }
        guard any != 0 else { return }
        var place = 0
        while place < voxels.count {
            let (value, begin) = (voxels[place], place)
            place += 1
            while place < voxels.count, voxels[place] == value { place += 1 }
            guard value != 0 else { continue }
            current.runs.append(Run(begin: Int32(begin), end: Int32(place), value: value))
            current.nodes.append(Int32(nodes.count))
            nodes.append(Node(parent: Int32(nodes.count), voxelCount: place - begin, value: value))
        }
    }

    private mutating func endRow() {
        current.rowStarts.append(current.runs.count)
        let row = current.rowStarts.count - 2
        let own = current.row(row)
        guard !own.isEmpty else { return }
        if row > 0 {
            join(own, current.row(row - 1), of: current, reach: connectivity.reachInNextRow)
        }
        guard let before else { return }
        let reaches = [
            (row - 1, connectivity.reachInDiagonalRow), (row, connectivity.reachInNextRow),
            (row + 1, connectivity.reachInDiagonalRow),
        ]
        for (other, reach) in reaches where other >= 0 && other < rows {
            guard let reach else { continue }
            join(own, before.row(other), of: before, reach: reach)
        }
    }

    /// Joins the runs of a row with those of the same label that they touch in another one.
    private mutating func join(_ own: Range<Int>, _ others: Range<Int>, of slice: Slice, reach: Int) {
        var other = others.lowerBound
        for run in own {
            let (begin, end) = (current.runs[run].begin - Int32(reach), current.runs[run].end + Int32(reach))
            while other < others.upperBound, slice.runs[other].end <= begin { other += 1 }
            var place = other
            while place < others.upperBound, slice.runs[place].begin < end {
                if slice.runs[place].value == current.runs[run].value {
                    union(Int(current.nodes[run]), Int(slice.nodes[place]))
                }
                place += 1
            }
        }
    }

    private mutating func root(of node: Int) -> Int {
        var node = node
        while nodes[node].parent != Int32(node) {
            nodes[node].parent = nodes[Int(nodes[node].parent)].parent
            node = Int(nodes[node].parent)
        }
        return node
    }

    private mutating func union(_ one: Int, _ other: Int) {
        let (a, b) = (root(of: one), root(of: other))
        guard a != b else { return }
        // The lower number stays, so that the result does not depend on the order of the calls.
        let (first, second) = (min(a, b), max(a, b))
        nodes[second].parent = Int32(first)
        nodes[first].voxelCount += nodes[second].voxelCount
    }

    /// Counts the components that end, and keeps those that may continue.
    private mutating func endSlice() {
        for node in current.nodes { nodes[root(of: Int(node))].isContinued = true }
        var kept: [Node] = []
        var numbers = [Int32](repeating: -1, count: nodes.count)
        for node in nodes.indices where nodes[node].parent == Int32(node) {
            if nodes[node].isContinued {
                // Numbers begin at 0 again in each slice: memory stays that of two slices, however many there are.
                numbers[node] = Int32(kept.count)
                kept.append(
                    Node(
                        parent: Int32(kept.count),
                        voxelCount: nodes[node].voxelCount,
                        value: nodes[node].value
                    )
                )
            } else {
                var count = counts[nodes[node].value] ?? Count()
                count.components += 1
                count.largestVoxelCount = max(count.largestVoxelCount, nodes[node].voxelCount)
                counts[nodes[node].value] = count
            }
        }
        for run in current.nodes.indices { current.nodes[run] = numbers[root(of: Int(current.nodes[run]))] }
        nodes = kept
        let old = before
        before = current
        // Its memory is used again.
        if let old { current = old }
    }
}
