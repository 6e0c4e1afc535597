import NocturneSystem

extension InstanceSplitter {
    /// Merges neighbouring fragments with a weak boundary between them, such as those into which a spine with a bright band
    /// is split.
    ///
    /// The weakest contact is merged first, and after each step the contacts of the merged fragment are added up, so a
    /// strong edge further along keeps two fragments separate. A merged fragment keeps the lowest of the numbers.
    /// - Returns: its number for each fragment number, up to `pieces`. The time is at worst quadratic in that.
    func mergedFragments(
        _ labels: [Int32],
        pieces: Int,
        _ maps: InstanceMaps,
        _ flag: CancellationFlag
    ) throws(CancelledError) -> [Int] {
        // The stronger boundary of each pair of pixels.
        var graph = try PieceGraph(labels, count: pieces, width: maps.width, flag: flag) {
            Double(max(maps.boundary[$0], maps.boundary[$1]))
        }
        let (least, below) = (max(rules.minimumContact, 1), Double(rules.mergeBoundary))
        func weakest() -> PieceGraph.Pair? {
            graph.contacts.lazy.filter { $0.value.pairs >= least && $0.value.mean < below }
                .min { ($0.value.mean, $0.key.low, $0.key.high) < ($1.value.mean, $1.key.low, $1.key.high) }?.key
        }
        while let pair = weakest() {
            try flag.check()
            graph.join(pair.high, to: pair.low)
        }
        return graph.targets
    }
}
