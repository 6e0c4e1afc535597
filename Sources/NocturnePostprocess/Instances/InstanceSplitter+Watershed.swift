import NocturneSystem

/// Watershed with 256 heights and given seeds: every pixel of the mask is assigned to the seed that floods it first.
///
/// Meyer's flooding (F. Meyer, "Topographic distance and watershed lines", 1994) over edges (4 neighbours), without
/// watershed lines: lowest height first, of equal heights the pixel that was reached first, so the result depends only
/// on the input. The queue is one list per height, linked through an array: 4 bytes per pixel, whatever the input.
extension InstanceSplitter {
    /// - Parameters:
    ///   - heights: one per pixel, x fastest.
    ///   - labels: seeds above 0; flooded in place.
    ///   - isInside: the mask; flooding never leaves it.
    static func watershed(
        heights: [UInt8],
        labels: inout [Int32],
        isInside: [Bool],
        width: Int,
        flag: CancellationFlag
    ) throws(CancelledError) {
        let count = labels.count
        var next = [Int32](repeating: -1, count: count)
        var first = [Int32](repeating: -1, count: 256)
        var last = [Int32](repeating: -1, count: 256)
        var level = 255
        func push(_ place: Int) {
            let height = Int(heights[place])
            if first[height] < 0 {
                first[height] = Int32(place)
            } else {
                next[Int(last[height])] = Int32(place)
            }
            last[height] = Int32(place)
            // Behind a ridge heights may decrease again: lower pixels are processed first.
            level = min(level, height)
        }
        for place in 0..<count where labels[place] > 0 && isInside[place] { push(place) }
        var popped = 0
        while level < 256 {
            guard first[level] >= 0 else {
                level += 1
                continue
            }
            let place = Int(first[level])
            first[level] = next[place]
            popped += 1
            if popped & 0xFFFF == 0 { try flag.check() }
            let label = labels[place]
            let x = place % width
            func reach(_ neighbour: Int) {
                guard isInside[neighbour], labels[neighbour] == 0 else { return }
                labels[neighbour] = label
                push(neighbour)
            }
            if place >= width { reach(place - width) }
            if x > 0 { reach(place - 1) }
            if x < width - 1 { reach(place + 1) }
            if place + width < count { reach(place + width) }
        }
    }
}
