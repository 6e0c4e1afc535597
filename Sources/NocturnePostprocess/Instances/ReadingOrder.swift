public import NocturneCore

/// The order in which a person reads a shelf: row by row from the top, left to right, stacks from top to bottom.
public struct ReadingOrder: Sendable {
    /// Indices of the boxes, row by row.
    public let rows: [[Int]]

    /// All indices in order.
    public var order: [Int] { rows.flatMap(\.self) }

    /// Sorts boxes into rows.
    ///
    /// Two boxes share a row when they overlap by at least half of the lower one's height and are near each other
    /// (within three widths or heights), or when one lies on top of the other: so a row may be tilted, and a stack
    /// belongs to the books next to it. The time is quadratic in the number of boxes, which is at most some hundreds.
    public init(_ boxes: [PixelBox]) {
        var joined = DisjointSets(count: boxes.count)
        for first in boxes.indices {
            for second in boxes.indices.dropFirst(first + 1)
            where Self.shareRow(boxes[first], boxes[second]) || Self.areStacked(boxes[first], boxes[second]) {
                joined.join(first, second)
            }
        }
        var members: [Int: [Int]] = [:]
        for index in boxes.indices { members[joined.root(of: index), default: []].append(index) }
        var rows = members.values.map { $0.sorted() }
        rows = Self.joined(rows, boxes)
        rows.sort { (Self.middle($0, boxes), $0[0]) < (Self.middle($1, boxes), $1[0]) }
        self.rows = rows.map { Self.leftToRight($0, boxes) }
    }

    private static func overlap(_ a: Range<Int>, _ b: Range<Int>) -> Int {
        max(0, min(a.upperBound, b.upperBound) - max(a.lowerBound, b.lowerBound))
    }

    private static func shareRow(_ a: PixelBox, _ b: PixelBox) -> Bool {
        let shared = overlap(a.rows, b.rows)
        guard 2 * shared >= min(a.height, b.height) else { return false }
        let gap = max(a.columns.lowerBound, b.columns.lowerBound) - min(a.columns.upperBound, b.columns.upperBound)
        return gap <= 3 * max(a.width, b.width, a.height, b.height)
    }

    /// Whether both boxes are horizontal and one is on top of the other.
    private static func areStacked(_ a: PixelBox, _ b: PixelBox) -> Bool {
        guard a.width > a.height, b.width > b.height else { return false }
        let gap = max(a.rows.lowerBound, b.rows.lowerBound) - min(a.rows.upperBound, b.rows.upperBound)
        return 2 * overlap(a.columns, b.columns) >= min(a.width, b.width) && 2 * gap <= min(a.height, b.height)
    }

    /// Merges groups that are far apart on the same board: their heights overlap by half of the lower group's.
    private static func joined(_ rows: [[Int]], _ boxes: [PixelBox]) -> [[Int]] {
        var rows = rows
        var again = true
        while again {
            again = false
            search: for first in rows.indices {
                for second in rows.indices.dropFirst(first + 1) {
                    let (a, b) = (span(rows[first], boxes), span(rows[second], boxes))
                    guard 2 * overlap(a, b) >= min(a.count, b.count) else { continue }
                    rows[first] = (rows[first] + rows[second]).sorted()
                    rows.remove(at: second)
                    again = true
                    break search
                }
            }
        }
        return rows
    }

    /// From the middle of the tops to the middle of the bottoms of a row, which is less than its whole height if it is
    /// tilted.
    private static func span(_ row: [Int], _ boxes: [PixelBox]) -> Range<Int> {
        let tops = row.map { boxes[$0].y }.sorted()
        let bottoms = row.map { boxes[$0].y + boxes[$0].height }.sorted()
        let top = tops[tops.count / 2]
        return top..<max(top + 1, bottoms[bottoms.count / 2])
    }

    private static func middle(_ row: [Int], _ boxes: [PixelBox]) -> Int {
        let span = span(row, boxes)
        return span.lowerBound + span.upperBound
    }

    /// A stack counts as one position, and is read from top to bottom.
    private static func leftToRight(_ row: [Int], _ boxes: [PixelBox]) -> [Int] {
        var places: [(columns: Range<Int>, members: [Int])] = []
        let sorted = row.sorted { (boxes[$0].x * 2 + boxes[$0].width, $0) < (boxes[$1].x * 2 + boxes[$1].width, $1) }
        for index in sorted {
            let box = boxes[index]
            let lies = box.width > box.height
            let stack = places.firstIndex { place in
                lies && place.members.allSatisfy { boxes[$0].width > boxes[$0].height }
                    && 2 * overlap(place.columns, box.columns) >= min(place.columns.count, box.width)
            }
            if let stack {
                places[stack].members.append(index)
                let columns = places[stack].columns
                places[stack].columns =
                    min(columns.lowerBound, box.x)..<max(columns.upperBound, box.x + box.width)
            } else {
                places.append((box.columns, [index]))
            }
        }
        let middles = places.map { $0.columns.lowerBound + $0.columns.upperBound }
        let order = places.indices.sorted { (middles[$0], $0) < (middles[$1], $1) }
        return order.flatMap { place in
            places[place].members.sorted { (boxes[$0].y, $0) < (boxes[$1].y, $1) }
        }
    }
}

extension ReadingOrder {
    /// The indices of the lines of a text in the order in which a person reads them: the picture is turned so that most of the
    /// text runs to the right.
    /// - Parameter lines: four corners each, from the one where the line begins above on clockwise as it is read. Lines run to the
    ///   right or down.
    public static func order(ofLines lines: [[SIMD2<Double>]]) -> [Int] {
        let along = lines.reduce(SIMD2<Double>.zero) { $0 + ($1[1] - $1[0]) }
        let runsDown = along.y > abs(along.x)
        let boxes = lines.map { corners in
            let points = runsDown ? corners.map { SIMD2($0.y, -$0.x) } : corners
            let low = points.reduce(SIMD2<Double>(repeating: .infinity), pointwiseMin).rounded(.down)
            let high = points.reduce(SIMD2<Double>(repeating: -.infinity), pointwiseMax).rounded(.up)
            return PixelBox(
                x: Int(low.x),
                y: Int(low.y),
                width: Int(high.x - low.x) + 1,
                height: Int(high.y - low.y) + 1
            )
        }
        return ReadingOrder(boxes).order
    }
}

extension PixelBox {
    fileprivate var columns: Range<Int> { x..<x + max(width, 0) }
    fileprivate var rows: Range<Int> { y..<y + max(height, 0) }
}
