import Foundation
import NocturneConcurrency
import NocturnePostprocess
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Instances much smaller than the others")
struct SliverMergingTests {
    /// Rows of digits: 0 is background.
    private func tidy(_ rows: [String], below share: Float) throws -> (
        rows: [String], outcome: InstanceSplitter.SliverMerging.Outcome
    ) {
        let width = rows[0].count
        let labels = rows.joined().compactMap { $0.wholeNumberValue.map(UInt16.init) }
        let outcome = try InstanceSplitter.SliverMerging.merged(
            labels,
            count: Int(labels.max() ?? 0),
            width: width,
            below: share,
            flag: CancellationFlag()
        )
        let found = rows.indices.map { row in
            outcome.labels[row * width..<(row + 1) * width].map(String.init).joined()
        }
        return (found, outcome)
    }

    @Test("A sliver becomes part of the neighbour with the longest border, not of the largest or the first")
    func longestBorder() throws {
        // The sliver 2 has one pair with 1, two with 3 and one with 4, and 4 is the largest.
        let rows = ["111110033333", "111112233333", "111110233333", "444444444444", "444444444444"]
        let expected = ["111110022222", "111112222222", "111110222222", "333333333333", "333333333333"]
        let (found, outcome) = try tidy(rows, below: 0.25)
        #expect(outcome.slivers.merged == 1 && outcome.slivers.dropped == 0 && outcome.count == 3)
        #expect(found == expected)
    }

    @Test("A sliver beside background only is dropped, and the numbers have no gap")
    func isolated() throws {
        let rows = ["111100000", "111102000", "111100333", "111100333", "000000333", "000000333"]
        let expected = ["111100000", "111100000", "111100222", "111100222", "000000222", "000000222"]
        let (found, outcome) = try tidy(rows, below: 0.15)
        #expect(found == expected)
        #expect(outcome.slivers.merged == 0 && outcome.slivers.dropped == 1 && outcome.count == 2)
    }

    @Test("Pixels that touch at a corner, or over the end of a row, are no border")
    func corners() throws {
        let corner = ["1111000", "1111000", "1111000", "0000200", "0000033", "0033333", "0033333"]
        #expect(try tidy(corner, below: 0.15).outcome.slivers.dropped == 1)
        let rowEnd = ["000000002", "111110000", "111110000", "003333300", "003333300"]
        #expect(try tidy(rowEnd, below: 0.15).outcome.slivers.dropped == 1)
    }

    @Test("Nothing changes without slivers, with a share of 0, or without instances")
    func unchanged() throws {
        let even = ["111222333", "111222333", "111222333"]
        #expect(try tidy(even, below: 0.15).rows == even)
        // Exactly the share of the median is no sliver: 1 of 4.
        let exact = ["1222233334444"]
        #expect(try tidy(exact, below: 0.25).rows == exact)
        #expect(try tidy(exact, below: 0.26).outcome.slivers.merged == 1)
        #expect(try tidy(exact, below: 0).rows == exact)
        let none = ["0000", "0000"]
        let (rows, outcome) = try tidy(none, below: 1)
        #expect(rows == none && outcome.labels.allSatisfy { $0 == 0 } && outcome.count == 0)
    }

    @Test("One instance stays however small; of two the smaller is measured against the mean of both")
    func oneOrTwo() throws {
        let one = ["00000", "00100", "00000"]
        #expect(try tidy(one, below: 1).rows == one)
        // The median of 2 and 18 is 10.
        let two = ["11222222", "00222222", "00222222"]
        #expect(try tidy(two, below: 0.19).rows == two)
        let (found, outcome) = try tidy(two, below: 0.21)
        #expect(found == ["11111111", "00111111", "00111111"] && outcome.slivers.merged == 1 && outcome.count == 1)
        #expect(InstanceSplitter.SliverMerging.median([]) == 0 && InstanceSplitter.SliverMerging.median([7]) == 7)
        #expect(
            InstanceSplitter.SliverMerging.median([9, 2]) == 5.5
                && InstanceSplitter.SliverMerging.median([9, 1, 2]) == 2
        )
    }

    @Test("Slivers that become large enough together stay, and equal borders go to the lower number")
    func chains() throws {
        // The median is 8: 3 (one pixel) becomes part of 2 (two), which is then 3 pixels.
        let rows = ["1111111102304444", "0000000002004444", "5555555506666666", "0000000050000006"]
        let (found, outcome) = try tidy(rows, below: 0.3)
        #expect(outcome.slivers.merged == 1 && outcome.slivers.dropped == 0)
        #expect(found == ["1111111102203333", "0000000002003333", "4444444405555555", "0000000040000005"])
        let tie = ["1111112333333"]
        #expect(try tidy(tie, below: 0.5).rows == ["1111111222222"])
    }

    struct Reference: Decodable {
        struct Case: Decodable {
            let width: Int
            let share: Float
            let gone: Int
            let labels: [UInt16]
            let tidy: [UInt16]
        }
        let cases: [Case]
    }

    @Test("Irregular pieces are merged and dropped as the reference does")
    func reference() throws {
        let data = Data(try Fixtures.bytes("Instances/slivers.json"))
        let cases = try JSONDecoder().decode(Reference.self, from: data).cases
        #expect(cases.contains { $0.gone > 2 } && cases.contains { $0.gone == 0 })
        for (index, one) in cases.enumerated() {
            let outcome = try InstanceSplitter.SliverMerging.merged(
                one.labels,
                count: Int(one.labels.max() ?? 0),
                width: one.width,
                below: one.share,
                flag: CancellationFlag()
            )
            #expect(outcome.slivers.merged + outcome.slivers.dropped == one.gone, "case \(index)")
            #expect(outcome.labels == one.tidy, "case \(index)")
            #expect(outcome.count == Int(one.tidy.max() ?? 0), "case \(index)")
        }
    }

    @Test("A raised flag stops the work")
    func cancelled() {
        let flag = CancellationFlag()
        flag.cancel()
        #expect(throws: CancelledError.self) {
            try InstanceSplitter.SliverMerging.merged([1, 2, 2, 2], count: 2, width: 4, below: 0.9, flag: flag)
        }
    }
}
