import NocturneConcurrency
import NocturneSystem

/// Connected components of a plane (4 neighbours), numbered from 1 in the order of their first pixel.
///
/// Two passes with a union of provisional numbers (Rosenfeld and Pfaltz 1966). 4 bytes per pixel, and 4 per provisional
/// number.
struct PlaneComponents {
    let labels: [Int32]
    /// Area of each component in pixels; the first entry is the outside.
    let areas: [Int]

    var count: Int { areas.count - 1 }

    /// - Parameter isInside: called once for every pixel, in order.
    init(width: Int, height: Int, flag: CancellationFlag, isInside: (Int) -> Bool) throws(CancelledError) {
        var labels = [Int32](repeating: 0, count: width * height)
        var parents: [Int32] = [0]
        func root(_ label: Int32) -> Int32 {
            var label = label
            while parents[Int(label)] != label {
                parents[Int(label)] = parents[Int(parents[Int(label)])]
                label = parents[Int(label)]
            }
            return label
        }
        for y in 0..<height {
            if y % 64 == 0 { try flag.check() }
            for x in 0..<width {
                let place = y * width + x
                guard isInside(place) else { continue }
                let left = x > 0 ? labels[place - 1] : 0
                let above = y > 0 ? labels[place - width] : 0
                switch (left, above) {
                case (0, 0):
                    labels[place] = Int32(parents.count)
                    parents.append(Int32(parents.count))
                case (0, _): labels[place] = above
                case (_, 0): labels[place] = left
                default:
                    let (first, second) = (root(left), root(above))
                    labels[place] = min(first, second)
                    parents[Int(max(first, second))] = min(first, second)
                }
            }
        }
        // A root is the lowest number of its component, assigned at its first pixel: ascending numbers keep that order.
        var numbers = [Int32](repeating: 0, count: parents.count)
        var count: Int32 = 0
        for label in 1..<max(parents.count, 1) where parents[label] == label {
            count += 1
            numbers[label] = count
        }
        for label in 1..<max(parents.count, 1) { numbers[label] = numbers[Int(root(Int32(label)))] }
        var areas = [Int](repeating: 0, count: Int(count) + 1)
        for place in labels.indices {
            labels[place] = numbers[Int(labels[place])]
            areas[Int(labels[place])] += 1
        }
        self.labels = labels
        self.areas = areas
    }
}
