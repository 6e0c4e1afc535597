internal import NocturneConcurrency
internal import NocturneCore
import NocturneSystem

/// Merges touching runs of one value into components with a union-find over runs.
///
/// The root of a component is always its first run in storage order (the larger root becomes a child of the smaller),
/// so the roots, and the numbers derived from them, do not depend on the order in which runs were merged: slabs are
/// merged by different threads, then the seams between them. Source of the method: Rosenfeld and Pfaltz, "Sequential
/// operations in digital picture processing", J. ACM 13 (1966), over runs as in He, Chao and Suzuki, "A run-based
/// two-scan labeling algorithm", IEEE Trans. Image Process. 17 (2008).
///
/// ``DisjointSets`` is not used: here several threads join parts of one array.
extension ConnectedComponents.Runs {
    /// The component of every run, numbered from 0 in the order of first voxels, and the number of components.
    ///
    /// Extra memory: 4 bytes per run.
    /// - Parameter joined: for each of the first runs, what is already known: the first run of its component.
    /// - Throws: ``CancelledError`` when the flag is raised; it is checked for every slice.
    func components(
        _ connectivity: Connectivity,
        joined: [UInt32] = [],
        _ scope: ComputeScope
    ) throws(CancelledError) -> (ofRun: [UInt32], count: Int) {
        var parents = joined + (UInt32(joined.count)..<UInt32(runs.count))
        try parents.withParallelBuffer { parents throws(CancelledError) in
            try join(connectivity, parents, scope)
        }
        try scope.check()
        var count = 0
        // A parent precedes its children, so its number is already assigned.
        for run in parents.indices {
            if parents[run] == UInt32(run) {
                parents[run] = UInt32(count)
                count += 1
            } else {
                parents[run] = parents[Int(parents[run])]
            }
        }
        return (parents, count)
    }

    private func join(
        _ connectivity: Connectivity,
        _ parents: ParallelBuffer<UInt32>,
        _ scope: ComputeScope
    ) throws(CancelledError) {
        let slices = region.shape.z
        let slicesInSlab = 8
        let slabs = (slices + slicesInSlab - 1) / slicesInSlab
        try scope.forEach(slabs) { slab in
            for slice in slab * slicesInSlab..<min(slices, (slab + 1) * slicesInSlab) where !scope.flag.isCancelled {
                joinRows(inside: slice, connectivity, parents.base)
                if slice > slab * slicesInSlab { joinRows(of: slice, connectivity, withSliceBefore: parents.base) }
            }
        }
        for slab in 1..<max(slabs, 1) {
            try scope.check()
            joinRows(of: slab * slicesInSlab, connectivity, withSliceBefore: parents.base)
        }
    }

    private func joinRows(inside slice: Int, _ connectivity: Connectivity, _ parents: UnsafeMutablePointer<UInt32>) {
        let rows = region.shape.y
        for row in slice * rows + 1..<max((slice + 1) * rows, slice * rows + 1) {
            join(row, row - 1, connectivity.reachInNextRow, parents)
        }
    }

    private func joinRows(
        of slice: Int,
        _ connectivity: Connectivity,
        withSliceBefore parents: UnsafeMutablePointer<UInt32>
    ) {
        let rows = region.shape.y
        for j in 0..<rows {
            let row = slice * rows + j
            guard rowStart[row] < rowStart[row + 1] else { continue }
            join(row, row - rows, connectivity.reachInNextRow, parents)
            if let reach = connectivity.reachInDiagonalRow {
                if j > 0 { join(row, row - rows - 1, reach, parents) }
                if j + 1 < rows { join(row, row - rows + 1, reach, parents) }
            }
        }
    }

    /// Merges the runs of two rows that come within `reach` columns of each other.
    private func join(_ rowA: Int, _ rowB: Int, _ reach: Int, _ parents: UnsafeMutablePointer<UInt32>) {
        var a = Int(rowStart[rowA])
        var b = Int(rowStart[rowB])
        let endA = Int(rowStart[rowA + 1])
        let endB = Int(rowStart[rowB + 1])
        runs.withUnsafeBufferPointer { runs in
            while a < endA, b < endB {
                let runA = runs[a]
                let runB = runs[b]
                joinIfTouching(a, runA, b, runB, reach, parents)
                if runA.end < runB.end {
                    a += 1
                } else if runB.end < runA.end {
                    b += 1
                } else {
                    // Both end here, so each may still touch the other's successor across the corner.
                    if b + 1 < endB { joinIfTouching(a, runA, b + 1, runs[b + 1], reach, parents) }
                    a += 1
                }
            }
        }
    }

    private func joinIfTouching(
        _ a: Int,
        _ runA: Run,
        _ b: Int,
        _ runB: Run,
        _ reach: Int,
        _ parents: UnsafeMutablePointer<UInt32>
    ) {
        guard runA.value == runB.value, Int(runA.begin) < Int(runB.end) + reach, Int(runB.begin) < Int(runA.end) + reach
        else { return }
        let rootA = Self.root(of: UInt32(a), parents)
        let rootB = Self.root(of: UInt32(b), parents)
        if rootA < rootB { parents[Int(rootB)] = rootA } else { parents[Int(rootA)] = rootB }
    }

    /// The root; halves the path on the way.
    private static func root(of run: UInt32, _ parents: UnsafeMutablePointer<UInt32>) -> UInt32 {
        var run = run
        while parents[Int(run)] != run {
            parents[Int(run)] = parents[Int(parents[Int(run)])]
            run = parents[Int(run)]
        }
        return run
    }
}
