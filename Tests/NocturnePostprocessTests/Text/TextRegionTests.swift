import Foundation
import NocturnePostprocess
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Lines of text in maps of probabilities")
struct TextRegionTests {
    private static let size = (width: 160, height: 120)

    /// `value` where `isInside` says so, for centres of pixels.
    private func map(_ value: Float = 0.9, _ isInside: (Double, Double) -> Bool) -> [Float] {
        (0..<Self.size.width * Self.size.height).map { place in
            isInside(Double(place % Self.size.width), Double(place / Self.size.width)) ? value : 0.1
        }
    }

    private func isIn(_ value: Double, _ low: Double, _ high: Double) -> Bool { value >= low && value <= high }

    private func find(_ map: [Float], _ set: (inout TextRegion.Rules) -> Void = { _ in }) throws -> [TextRegion] {
        var rules = TextRegion.Rules()
        set(&rules)
        return try TextRegion.find(in: map, width: Self.size.width, height: Self.size.height, rules: rules)
    }

    @Test("An upright line grows on each side by area times growth over perimeter", arguments: [Float(0), 1.4, 1.6])
    func upright(_ growth: Float) throws {
        let found = try find(map { x, y in isIn(x, 30, 90) && isIn(y, 40, 52) }) { $0.growth = growth }
        // In whole pixels, as PaddleOCR grows it.
        let margin = (60.0 * 12 * Double(growth) / (2 * (60 + 12))).rounded()
        let expected = [
            SIMD2(30 - margin, 40 - margin), SIMD2(90 + margin, 40 - margin), SIMD2(90 + margin, 52 + margin),
            SIMD2(30 - margin, 52 + margin),
        ]
        #expect(found.count == 1 && abs(found[0].score - 0.9) < 1e-6)
        for (corner, expected) in zip(found[0].corners, expected) {
            let distance = corner - expected
            #expect((distance * distance).sum() < 1e-9)
        }
    }

    @Test("A tilted line has its place, and its top side first", arguments: [-40.0, -20, -5, 5, 20, 40])
    func tilted(_ degrees: Double) throws {
        let (sine, cosine) = (sin(degrees * .pi / 180), cos(degrees * .pi / 180))
        let tilted = map { x, y in
            let (dx, dy) = (x - 80, y - 60)
            return abs(dx * cosine + dy * sine) <= 40 && abs(-dx * sine + dy * cosine) <= 7
        }
        let found = try find(tilted) { $0.growth = 0 }
        #expect(found.count == 1)
        // From the middle: half of the length along the line, half of the height across.
        let signs: [(Double, Double)] = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
        for (corner, sign) in zip(found[0].corners, signs) {
            let (along, across) = (40 * sign.0, 7 * sign.1)
            let expected = SIMD2(80 + along * cosine - across * sine, 60 + along * sine + across * cosine)
            #expect(abs(corner.x - expected.x) < 1.6 && abs(corner.y - expected.y) < 1.6, "\(found[0].corners)")
        }
    }

    /// Of rapidocr 3.10.0 (DBPostProcess with OpenCV 4 and pyclipper), on the map of this test.
    private static let peer: [(degrees: Double, score: Float, corners: [SIMD2<Double>])] = [
        (-20, 0.84082, [SIMD2(27.05, 61.71), SIMD2(120.57, 26.80), SIMD2(131.95, 57.29), SIMD2(38.43, 92.20)]),
        (5, 0.83388, [SIMD2(31.77, 39.19), SIMD2(130.03, 47.79), SIMD2(127.23, 79.81), SIMD2(28.97, 71.21)]),
        (40, 0.83137, [SIMD2(51.86, 15.01), SIMD2(128.12, 78.97), SIMD2(107.14, 103.99), SIMD2(30.88, 40.03)]),
    ]

    @Test("Rectangle and score of a tilted line are those of RapidOCR", arguments: peer)
    func asRapidOCR(_ peer: (degrees: Double, score: Float, corners: [SIMD2<Double>])) throws {
        let (sine, cosine) = (sin(peer.degrees * .pi / 180), cos(peer.degrees * .pi / 180))
        let map = map { x, y in
            let (dx, dy) = (x - 80, y - 60)
            return abs(dx * cosine + dy * sine) <= 40 && abs(-dx * sine + dy * cosine) <= 7
        }
        let found = try #require(try find(map) { $0.growth = 1.6 }.first)
        #expect(abs(found.score - peer.score) < 0.002, "\(found.score)")
        for (corner, expected) in zip(found.corners, peer.corners) {
            let distance = corner - expected
            #expect((distance * distance).sum() < 0.0025, "\(found.corners)")
        }
    }

    @Test("Lines that are too faint, too thin or too many are left out; a line per component in the order of rows")
    func rules() throws {
        let two = map { x, y in isIn(x, 10, 60) && (isIn(y, 20, 30) || isIn(y, 60, 70)) }
        #expect(try find(two).map { $0.corners[0].y < 40 } == [true, false])
        #expect(try find(two) { $0.boxThreshold = 0.95 }.isEmpty)
        #expect(try find(two) { $0.threshold = 0.95 }.isEmpty)
        // 32 × 32 squares.
        let many = (0..<384 * 384).map { Float($0 % 12 < 6 && $0 / 384 % 12 < 6 ? 0.9 : 0) }
        #expect(try TextRegion.find(in: many, width: 384, height: 384, rules: TextRegion.Rules()).count == 1000)
        let thin = map { x, y in isIn(x, 10, 60) && isIn(y, 20, 22) }
        #expect(try find(thin).isEmpty)
        #expect(try find(map { _, _ in false }).isEmpty)
        #expect(try find(map { _, _ in true }).count == 1)
    }

    @Test("Dilation joins pieces with one pixel between them, and no others", arguments: [1, 2])
    func dilation(_ gap: Int) throws {
        let start = 41 + Double(gap)
        let pieces = map { x, y in isIn(y, 20, 30) && (isIn(x, 10, 40) || isIn(x, start, 80)) }
        #expect(try find(pieces).count == 2)
        #expect(try find(pieces) { $0.isDilated = true }.count == (gap == 1 ? 1 : 2))
    }

    @Test("Maps of another size or with values that are not numbers are refused")
    func unusable() throws {
        #expect(throws: NetworkOutputError.self) { try find([0.5]) }
        var values = map { _, _ in false }
        values[7] = .nan
        #expect(throws: NetworkOutputError.self) { try find(values) }
    }
}

@Suite("The order of lines")
struct LineOrderTests {
    /// Corners of a line that runs to the right.
    private func line(_ x: Double, _ y: Double, _ width: Double, _ height: Double) -> [SIMD2<Double>] {
        [SIMD2(x, y), SIMD2(x + width, y), SIMD2(x + width, y + height), SIMD2(x, y + height)]
    }

    @Test(
        "Lines are read from the left, stacked ones from the top; on a picture that is turned clockwise in the same order"
    )
    func order() {
        // The author on the left, then the title in two lines.
        let lines = [line(60, 20, 50, 10), line(0, 8, 40, 10), line(60, 5, 50, 10)]
        #expect(ReadingOrder.order(ofLines: lines) == [1, 2, 0])
        // A clockwise turn takes x to y, and y to the left.
        let turned = lines.map { $0.map { SIMD2(100 - $0.y, $0.x) } }
        #expect(ReadingOrder.order(ofLines: turned) == [1, 2, 0])
        #expect(ReadingOrder.order(ofLines: []).isEmpty)
    }
}

@Suite("Greedy decoding")
struct CTCDecodingTests {
    /// Probabilities with these largest classes.
    private func values(_ best: [(Int, Float)], classes: Int) -> [Float] {
        best.flatMap { index, value in
            (0..<classes).map { $0 == index ? value : (1 - value) / Float(classes) }
        }
    }

    @Test("Repetitions are one, blanks separate, and the confidence is the mean of what counts")
    func analytic() throws {
        let steps: [(Int, Float)] = [(0, 0.9), (2, 0.8), (2, 0.99), (0, 0.7), (2, 0.6), (1, 1), (0, 0.9)]
        let decoded = try CTCDecoding(values(steps, classes: 4), classCount: 4)
        #expect(decoded.classes == [2, 2, 1])
        #expect(abs(decoded.confidence - 0.8) < 1e-6)
        let blank = try CTCDecoding(values([(0, 0.9), (0, 0.9)], classes: 4), classCount: 4)
        #expect(blank.classes.isEmpty && blank.confidence == 0)
        #expect(try CTCDecoding([], classCount: 4).classes.isEmpty)
        // Of equal values the first counts.
        #expect(try CTCDecoding([0.2, 0.4, 0.4], classCount: 3).classes == [1])
    }

    @Test("Random outputs give what removing repetitions and then blanks from the whole row gives")
    func reference() throws {
        var random = SplitMix64(seed: 7)
        for _ in 0..<50 {
            let best = (0..<40).map { _ in
                (Int.random(in: 0..<4, using: &random), Float.random(in: 0.6..<1, using: &random))
            }
            let decoded = try CTCDecoding(values(best, classes: 4), classCount: 4)
            var runs: [(Int, Float)] = []
            for step in best where runs.last?.0 != step.0 { runs.append(step) }
            let kept = runs.filter { $0.0 != 0 }
            #expect(decoded.classes == kept.map(\.0))
            let mean = kept.reduce(Float(0)) { $0 + $1.1 } / Float(max(kept.count, 1))
            #expect(abs(decoded.confidence - mean) < 1e-5)
        }
    }

    @Test("A value that is not a number is refused wherever it is", arguments: [0, 4, 8])
    func notANumber(_ place: Int) {
        var values = [Float](repeating: 0.2, count: 9)
        values[place] = .nan
        #expect(throws: NetworkOutputError.self) { try CTCDecoding(values, classCount: 3) }
    }
}
