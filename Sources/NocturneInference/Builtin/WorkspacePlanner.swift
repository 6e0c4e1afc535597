/// Assigns buffers to offsets in one workspace, so that buffers that are never in use at the same time can share
/// memory.
package enum WorkspacePlanner {
    /// A buffer, with the first and last step that uses it.
    package struct Span {
        /// Its size; 0 for one that needs no memory.
        package var bytes: Int
        /// The index of the first step that uses it.
        package var first: Int
        /// The index of the last step that uses it.
        package var last: Int

        /// A buffer that the steps `first` to `last` use.
        package init(bytes: Int, first: Int, last: Int) {
            self.bytes = bytes
            self.first = first
            self.last = last
        }
    }

    /// The output of a step that may overlap one of its sources, which is not used later: where the output begins `below`
    /// bytes or more before the source, the step can run forwards, and where it begins `above` bytes or more after it, backwards.
    package struct Overlap {
        /// The index of the output.
        package var output: Int
        /// The index of the source.
        package var source: Int
        package var below: Int
        package var above: Int

        /// - Parameter distances: in bytes.
        package init(output: Int, source: Int, distances: (below: Int, above: Int)) {
            (self.output, self.source) = (output, source)
            (below, above) = distances
        }
    }

    /// Where the buffers are.
    package struct Layout: Sendable {
        /// Of each buffer, in bytes, multiples of ``alignment``.
        package var offsets: [Int]
        /// The size of the workspace.
        package var bytes: Int
    }

    /// In bytes: a cache line, and the widest vector.
    package static let alignment = 64

    /// Largest first, each at the lowest offset that is free during its whole time of use.
    ///
    /// The greedy-by-size form of Pisarchyk and Lee, "Efficient memory management for deep neural net inference"
    /// (2020).
    /// - Parameter overlaps: one for each output at most.
    /// - Returns: nil when the sum exceeds the address space.
    package static func layout(_ spans: [Span], overlaps: [Overlap] = []) -> Layout? {
        var offsets = [Int](repeating: 0, count: spans.count)
        var placed: [Int] = []
        var total = 0
        let byOutput = Dictionary(uniqueKeysWithValues: overlaps.map { ($0.output, $0) })
        // Of buffers of one size the one that is used first comes first, so that the layout is always the same.
        let order = spans.indices.sorted { (spans[$0].bytes, spans[$1].first) > (spans[$1].bytes, spans[$0].first) }
        for index in order where spans[index].bytes > 0 {
            let span = spans[index]
            // 64 TiB: half of the user address space of x86-64 with four levels of page tables.
            guard span.bytes < 1 << 46 else { return nil }
            // Only buffers that are in use during one of the same steps exclude each other: the offsets between these are not free.
            let taken = placed.filter { spans[$0].first <= span.last && span.first <= spans[$0].last }
                .map { other in
                    var (before, after) = (aligned(span.bytes), aligned(spans[other].bytes))
                    if let overlap = byOutput[index], overlap.source == other {
                        (before, after) = (min(before, aligned(overlap.below)), min(after, aligned(overlap.above)))
                    } else if let overlap = byOutput[other], overlap.source == index {
                        (before, after) = (min(before, aligned(overlap.above)), min(after, aligned(overlap.below)))
                    }
                    return (low: offsets[other] - before, high: offsets[other] + after)
                }
            var place = 0
            for range in taken.sorted(by: { $0 < $1 }) where range.low < place {
                place = max(place, range.high)
            }
            offsets[index] = place
            total = max(total, place + aligned(span.bytes))
            guard total < 1 << 46 else { return nil }
            placed.append(index)
        }
        return Layout(offsets: offsets, bytes: total)
    }

    private static func aligned(_ bytes: Int) -> Int { (bytes + alignment - 1) / alignment * alignment }
}
