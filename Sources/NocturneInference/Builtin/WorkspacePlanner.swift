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
    /// - Returns: nil when the sum exceeds the address space.
    package static func layout(_ spans: [Span]) -> Layout? {
        var offsets = [Int](repeating: 0, count: spans.count)
        var placed: [Int] = []
        var total = 0
        // Of buffers of one size the one that is used first comes first, so that the layout is always the same.
        let order = spans.indices.sorted { (spans[$0].bytes, spans[$1].first) > (spans[$1].bytes, spans[$0].first) }
        for index in order where spans[index].bytes > 0 {
            let span = spans[index]
            // 64 TiB: half of the user address space of x86-64 with four levels of page tables.
            guard span.bytes < 1 << 46 else { return nil }
            let length = (span.bytes + alignment - 1) / alignment * alignment
            // Only buffers that are in use during one of the same steps exclude each other.
            let overlapping = placed.filter { spans[$0].first <= span.last && span.first <= spans[$0].last }
                .sorted { (offsets[$0], $0) < (offsets[$1], $1) }
            var place = 0
            // The first gap that is long enough, from low to high offsets.
            for other in overlapping {
                if offsets[other] >= place + length { break }
                let end = offsets[other] + (spans[other].bytes + alignment - 1) / alignment * alignment
                place = max(place, end)
            }
            offsets[index] = place
            total = max(total, place + length)
            guard total < 1 << 46 else { return nil }
            placed.append(index)
        }
        return Layout(offsets: offsets, bytes: total)
    }
}
