import NocturneCore
import NocturneSystem

/// Connected components of a plane (4 neighbours), numbered from 1 in the order of their first pixel.
///
/// Two passes with ``DisjointSets`` of provisional numbers (Rosenfeld and Pfaltz 1966). 4 bytes per pixel, and 4 per
/// provisional number.
struct PlaneComponents {
    let labels: [Int32]
    /// Area of each component in pixels; the first entry is the outside.
    let areas: [Int]

    var count: Int { areas.count - 1 }

    /// - Parameter isInside: called once for every pixel, in order.
    init(width: Int, height: Int, flag: CancellationFlag, isInside: (Int) -> Bool) throws(CancelledError) {
        var labels = [Int32](repeating: 0, count: width * height)
        // 0 is the outside.
        var numbers = DisjointSets(count: 1)
        for y in 0..<height {
            if y % 64 == 0 { try flag.check() }
            for x in 0..<width {
                let place = y * width + x
                guard isInside(place) else { continue }
                let left = x > 0 ? labels[place - 1] : 0
                let above = y > 0 ? labels[place - width] : 0
                switch (left, above) {
                case (0, 0):
                    labels[place] = Int32(numbers.add())
                case (0, _): labels[place] = above
                case (_, 0): labels[place] = left
                default:
                    labels[place] = Int32(numbers.join(Int(left), Int(above)))
                }
            }
        }
        // A root is the lowest number of its component, assigned at its first pixel: ascending numbers keep that order.
        let (ofNumber, count) = numbers.numbered()
        var areas = [Int](repeating: 0, count: count)
        for place in labels.indices {
            labels[place] = Int32(ofNumber[Int(labels[place])])
            areas[Int(labels[place])] += 1
        }
        self.labels = labels
        self.areas = areas
    }
}
