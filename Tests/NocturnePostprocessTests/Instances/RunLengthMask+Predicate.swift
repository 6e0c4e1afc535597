import NocturnePostprocess

extension RunLengthMask {
    /// The mask of a predicate, which is called for every pixel down the columns.
    init(width: Int, height: Int, isInside: (_ x: Int, _ y: Int) -> Bool) {
        var runs: [Range<Int>] = []
        for x in 0..<width {
            var start: Int?
            for y in 0...height {
                let inside = y < height && isInside(x, y)
                if inside, start == nil { start = x * height + y }
                if !inside, let begun = start {
                    runs.append(begun..<x * height + y)
                    start = nil
                }
            }
        }
        self.init(width: width, height: height, runs: runs)
    }
}
