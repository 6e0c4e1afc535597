import Foundation
import NocturneCore
import NocturnePostprocess
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Rotated boxes and reading order")
struct BoxAndOrderTests {
    /// The pixels whose middle lies in a rectangle turned clockwise by `degrees`.
    private func turned(_ width: Double, _ height: Double, degrees: Double) -> RunLengthMask {
        let (sine, cosine) = (sin(degrees * .pi / 180), cos(degrees * .pi / 180))
        return RunLengthMask(width: 240, height: 220) { x, y in
            let (dx, dy) = (Double(x) + 0.5 - 120, Double(y) + 0.5 - 110)
            let (across, down) = (dx * cosine + dy * sine, -dx * sine + dy * cosine)
            return abs(across) <= width / 2 && abs(down) <= height / 2
        }
    }

    @Test("A turned book's box has its size, place and angle", arguments: [-44.0, -20, -3, 0, 7, 30, 44])
    func standing(_ degrees: Double) throws {
        let box = try #require(RotatedBox(around: turned(30, 150, degrees: degrees)))
        #expect(abs(box.degrees - degrees) < 1.2)
        #expect(abs(box.width - 30) < 2.5 && abs(box.height - 150) < 2.5)
        #expect(abs(box.centre.x - 120) < 1 && abs(box.centre.y - 110) < 1)
        let up = box.corners[0] - box.corners[3]
        #expect(up.y < 0 && box.corners[1].x > box.corners[0].x)
    }

    @Test("What lies has its head on the left", arguments: [-90.0, -80, -100, 90])
    func lying(_ degrees: Double) throws {
        let box = try #require(RotatedBox(around: turned(30, 150, degrees: degrees)))
        #expect(abs(box.degrees - (degrees > 0 ? degrees - 180 : degrees)) < 1.2)
        #expect(abs(box.height - 150) < 2.5 && abs(box.width - 30) < 2.5)
        // The corner that will be top left is the left end's lower one.
        #expect(box.corners[0].x < box.corners[3].x && box.corners[0].y > box.corners[1].y)
    }

    @Test("No smaller rectangle is around a mask, as trying all angles shows")
    func slowReference() throws {
        var random = SplitMix64(seed: 12)
        for _ in 0..<20 {
            let points = (0..<5).map { _ in
                SIMD2(Int.random(in: 2..<58, using: &random), Int.random(in: 2..<48, using: &random))
            }
            let mask = RunLengthMask(width: 60, height: 50) { x, y in
                points.contains { abs($0.x - x) <= 2 && abs($0.y - y) <= 1 }
            }
            let box = try #require(RotatedBox(around: mask))
            var best = Double.infinity
            for step in 0..<1800 {
                let angle = Double(step) * .pi / 3600
                let (sine, cosine) = (sin(angle), cos(angle))
                var low = SIMD2(repeating: Double.infinity)
                var high = -low
                mask.forEachRun { x, rows in
                    for (cx, cy) in [
                        (x, rows.lowerBound), (x + 1, rows.lowerBound), (x, rows.upperBound), (x + 1, rows.upperBound),
                    ] {
                        let place = SIMD2(
                            Double(cx) * cosine + Double(cy) * sine,
                            -Double(cx) * sine + Double(cy) * cosine
                        )
                        low = pointwiseMin(low, place)
                        high = pointwiseMax(high, place)
                    }
                }
                best = min(best, (high.x - low.x) * (high.y - low.y))
            }
            let area = box.width * box.height
            #expect(area <= best * (1 + 1e-9))
            #expect(area >= best * 0.99)
        }
    }

    @Test("One pixel has a box of one pixel, no pixel has none")
    func smallest() throws {
        let one = try #require(RotatedBox(around: RunLengthMask(width: 9, height: 9) { x, y in x == 4 && y == 2 }))
        #expect(one.width == 1 && one.height == 1 && one.degrees == 0)
        #expect(one.centre == SIMD2(4.5, 2.5))
        #expect(RotatedBox(around: RunLengthMask(width: 9, height: 9) { _, _ in false }) == nil)
    }

    // MARK: Order

    private func box(_ x: Int, _ y: Int, _ width: Int, _ height: Int) -> PixelBox {
        PixelBox(x: x, y: y, width: width, height: height)
    }

    @Test("Three tilted rows of books of many heights are read row by row")
    func rows() {
        var random = SplitMix64(seed: 3)
        var boxes: [PixelBox] = []
        var expected: [[Int]] = []
        for row in 0..<3 {
            var members: [Int] = []
            for column in 0..<12 {
                let height = Int.random(in: 100...180, using: &random)
                // The board falls by a twelfth of its length.
                let floor = 220 + 220 * row + column * 5
                members.append(boxes.count)
                boxes.append(box(20 + column * 60, floor - height, 50, height))
            }
            expected.append(members)
        }
        var places = Array(boxes.indices)
        places.shuffle(using: &random)
        let order = ReadingOrder(places.map { boxes[$0] })
        #expect(order.rows.map { $0.map { places[$0] } } == expected)
    }

    @Test("A lying stack is one place in its row, read from the top")
    func stack() {
        let boxes = [
            box(10, 20, 30, 180), box(45, 170, 120, 30), box(50, 140, 110, 30), box(48, 115, 100, 25),
            box(170, 40, 30, 160), box(205, 30, 25, 170),
        ]
        #expect(ReadingOrder(boxes).rows == [[0, 3, 2, 1, 4, 5]])
    }

    @Test("A stack that stands alone is one row; groups far apart on one board too")
    func alone() {
        #expect(ReadingOrder([box(0, 60, 100, 20), box(5, 40, 90, 20), box(0, 20, 80, 20)]).rows == [[2, 1, 0]])
        #expect(ReadingOrder([box(900, 10, 10, 100), box(0, 12, 10, 98)]).rows == [[1, 0]])
        #expect(ReadingOrder([]).rows.isEmpty)
    }
}
