import NocturneConcurrency
import NocturnePostprocess
import NocturneSystem
import Testing

@Suite("How clearly instances are bounded")
struct ClearOutlinesTests {
    /// Rows of digits: 0 is background. The boundary map is 1 in the pixels of `marked` that lie beside another label.
    private func scores(
        _ rows: [String],
        marked: Set<Int> = [1]
    ) throws -> (scores: [Double], areas: [Int], share: Float) {
        let (width, height) = (rows[0].count, rows.count)
        let labels = rows.joined().compactMap { $0.wholeNumberValue.map(UInt16.init) }
        let boundary = labels.indices.map { place -> Float in
            let (x, y) = (place % width, place / width)
            let around = [(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)].filter {
                (0..<width).contains($0.0) && (0..<height).contains($0.1)
            }
            let isOutline = around.contains { labels[$0.1 * width + $0.0] != labels[place] }
            return isOutline && marked.contains(Int(labels[place])) ? 1 : 0
        }
        let maps = try InstanceMaps(
            width: width,
            height: height,
            foreground: labels.map { $0 > 0 ? 1 : 0 },
            boundary: boundary,
            centre: nil
        )
        let (count, flag) = (Int(labels.max() ?? 0), CancellationFlag())
        let scores = try maps.outlineScores(of: labels, count: count, flag: flag)
        let share = try maps.clearShare(of: labels, count: count, flag: flag)
        return (scores.map(\.score), scores.map(\.area), share)
    }

    @Test("A marked rectangle scores 1, an unmarked one 0, and a picture without instances has no clear outline")
    func extremes() throws {
        let rows = ["000000", "011110", "011110", "011110", "000000"]
        #expect(try scores(rows) == ([1], [12], 1))
        #expect(try scores(rows, marked: []) == ([0], [12], 0))
        #expect(try scores(["0000", "0000"]) == ([], [], 0))
    }

    @Test("The score is the share of the smallest rectangle at any angle that is filled")
    func irregular() throws {
        #expect(try scores(["000000", "011110", "011110", "011000", "011000", "000000"]) == ([0.75], [12], 1))
        // A square on its corner, of 13 pixels: the corners of its hull are 1 apart, so that its rectangle is 18 pixels large.
        let tilted = ["0000000", "0001000", "0011100", "0111110", "0011100", "0001000", "0000000"]
        #expect(abs(try scores(tilted).scores[0] - 13 / 18) < 1e-9)
        // Five ninths of its rectangle.
        #expect(try scores(["00000", "01110", "01000", "01000", "00000"]).share == 0)
    }

    @Test("Large instances count for more")
    func weights() throws {
        let rows = ["0000000000", "0111100220", "0111100220", "0111100000", "0000000000"]
        #expect(try scores(rows) == ([1, 0], [12, 4], 0.75))
        #expect(try scores(rows, marked: [2]) == ([0, 1], [12, 4], 0.25))
    }

    @Test("The picture's edge is no outline")
    func edge() throws {
        #expect(try scores(["111100", "111100", "111100", "000000"]) == ([0.5], [12], 0))
        #expect(try scores(["1111", "1111", "1111"]) == ([0], [12], 0))
    }
}
