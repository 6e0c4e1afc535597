extension RandomAccessCollection where Index == Int {
    /// How many elements at the start fulfil a condition that none after them fulfils: a binary search.
    package func prefixCount(where holds: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if holds(self[startIndex + middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
