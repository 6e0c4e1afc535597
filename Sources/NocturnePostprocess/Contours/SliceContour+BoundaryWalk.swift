import NocturneCore

extension SliceContour {
    /// Follows the edges of pixels, with the label always to the left (i to the right and j upwards).
    ///
    /// A corner has the indices of the pixel whose lowest corner it is. At a corner where two pixels of the label touch
    /// diagonally, the path turns left, and so stays with the pixel it followed.
    struct BoundaryWalk {
        private var corner: SIMD2<Int>
        /// One step along i or j.
        private var direction: SIMD2<Int>
        private let start: SIMD2<Int>
        private let startDirection: SIMD2<Int>
        /// The corner from which a hole was entered.
        private let entrance: SIMD2<Int>?

        private init(from corner: SIMD2<Int>, along direction: SIMD2<Int>, entrance: SIMD2<Int>? = nil) {
            self.corner = corner
            self.direction = direction
            start = corner
            startDirection = direction
            self.entrance = entrance
        }

        private static let right = SIMD2(1, 0)
        private static let up = SIMD2(0, 1)
        private static let down = SIMD2(0, -1)

        /// Advances by one pixel edge.
        /// - Returns: whether the path turned at the corner it reached.
        private mutating func step(in bitmap: Bitmap) -> Bool {
            corner &+= direction
            let left = SIMD2(-direction.y, direction.x)
            if !contains(left, in: bitmap) {
                direction = left
                return true
            }
            let other = SIMD2(direction.y, -direction.x)
            if contains(other, in: bitmap) {
                direction = other
                return true
            }
            return false
        }

        /// The direction counts too: a corner at which two pixels touch diagonally is passed twice.
        private var isBack: Bool { corner == start && direction == startDirection }

        /// Whether the pixel ahead on one side of the path is in the label.
        private func contains(_ side: SIMD2<Int>, in bitmap: Bitmap) -> Bool {
            // The pixel between two unit steps from a corner.
            let i = corner.x + min(direction.x + side.x, 0)
            let j = corner.y + min(direction.y + side.y, 0)
            return bitmap.contains(i, j)
        }

        /// The polygons of the 4-connected parts, with holes joined, and pixel corners as integers.
        static func polygons(of bitmap: Bitmap) -> [[SIMD2<Int>]] {
            var visited = [Bool](repeating: false, count: bitmap.placeCount)
            var parts: [SIMD2<Int>] = []
            // Keyed by the first pixel of a run, at whose left edge a hole is joined; a run has one hole at its end.
            var holes: [Int: SIMD2<Int>] = [:]
            for j in 0..<bitmap.height {
                for i in 0..<bitmap.width where bitmap.contains(i, j) && !bitmap.contains(i, j - 1) {
                    guard !visited[bitmap.place(i, j)] else { continue }
                    let (doubledArea, leftmost) = survey(from: SIMD2(i, j), bitmap, &visited)
                    guard doubledArea < 0 else {
                        parts.append(SIMD2(i, j))
                        continue
                    }
                    // The label is to the left of a hole's leftmost edge; the run there starts at an edge of the part's
                    // outline or of another hole further left.
                    var run = leftmost.x - 1
                    while bitmap.contains(run - 1, leftmost.y) { run -= 1 }
                    holes[bitmap.place(run, leftmost.y)] = leftmost
                }
            }
            return parts.map { polygon(from: $0, bitmap, holes) }
        }

        /// Follows the outline once and marks its lower edges.
        /// - Returns: twice the area, below 0 for a hole, and the lower end of the leftmost upward edge, the lowest one
        ///   first.
        private static func survey(
            from corner: SIMD2<Int>,
            _ bitmap: Bitmap,
            _ visited: inout [Bool]
        ) -> (doubledArea: Int, leftmost: SIMD2<Int>) {
            var walk = BoundaryWalk(from: corner, along: right)
            var doubledArea = 0
            var leftmost = SIMD2(Int.max, Int.max)
            repeat {
                let from = walk.corner
                let along = walk.direction
                if along == right { visited[bitmap.place(from.x, from.y)] = true }
                if along == up, (from.x, from.y) < (leftmost.x, leftmost.y) { leftmost = from }
                _ = walk.step(in: bitmap)
                doubledArea += from.x * walk.corner.y - walk.corner.x * from.y
            } while !walk.isBack
            return (doubledArea, leftmost)
        }

        /// The outline from `corner`, with each hole entered where it is joined and left at the same point.
        private static func polygon(
            from corner: SIMD2<Int>,
            _ bitmap: Bitmap,
            _ holes: [Int: SIMD2<Int>]
        ) -> [SIMD2<Int>] {
            var points: [SIMD2<Int>] = [corner]
            // Holes can be joined to other holes: the depth is limited by the number of pixels in a row.
            var walks = [BoundaryWalk(from: corner, along: right)]
            while !walks.isEmpty {
                let last = walks.count - 1
                let isDownward = walks[last].direction == down
                let turned = walks[last].step(in: bitmap)
                let here = walks[last].corner
                if walks[last].isBack {
                    // The first corner of the outline is already included; that of a hole is repeated, followed by the way
                    // back.
                    if let entrance = walks[last].entrance { points += [here, entrance] }
                    walks.removeLast()
                } else if isDownward, let hole = holes[bitmap.place(here.x, here.y)] {
                    points += [here, hole]
                    walks.append(BoundaryWalk(from: hole, along: up, entrance: here))
                } else if turned {
                    points.append(here)
                }
            }
            return points
        }

        /// The pixels of one label in its box, with an empty margin.
        struct Bitmap {
            let width: Int
            let height: Int
            /// With the margin, row after row; see ``place(_:_:)``.
            private var pixels: [Bool]

            init(width: Int, height: Int) {
                self.width = width
                self.height = height
                pixels = [Bool](repeating: false, count: (width + 2) * (height + 2))
            }

            /// The index of pixel (i, j), both from -1 to the size.
            func place(_ i: Int, _ j: Int) -> Int { (j + 1) * (width + 2) + i + 1 }

            mutating func set(_ i: Int, _ j: Int) { pixels[place(i, j)] = true }

            func contains(_ i: Int, _ j: Int) -> Bool { pixels[place(i, j)] }

            var placeCount: Int { pixels.count }
        }
    }
}
