import NocturneConcurrency
import NocturneCore
import NocturnePostprocess
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Keeping the largest components")
struct LargestComponentTests {
    private func kept(
        _ groups: [[UInt16]],
        _ labels: PlainLabels,
        _ connectivity: Connectivity = .corners
    ) throws -> (labels: PlainLabels, report: [LabelCleaning]) {
        var report: [LabelCleaning] = []
        let result = try labels.changed { buffer in
            report = try LabelCleaner.apply(
                PostprocessRules(keepLargest: groups, connectivity: connectivity),
                to: &buffer,
                geometry: VolumeGeometry(shape: labels.shape, affine: .identity),
                scope: .serial()
            )
        }
        return (result, report)
    }

    /// One slice, a text a row.
    private func slice(_ rows: String...) -> PlainLabels {
        let digits = rows.map { $0.compactMap(\.wholeNumberValue) }
        return PlainLabels(digits[0].count, digits.count, 1) { UInt16(digits[$0.j][$0.i]) }
    }

    // The numbers are those that nnU-Net's own function gave.
    @Test("a mask of two labels joins across the diagonal, and both go or stay together")
    func unionOfLabels() throws {
        let labels = slice("1110000", "0002000", "0000000", "1100000", "0000022")
        let (joint, report) = try kept([[1, 2]], labels)
        #expect(joint == slice("1110000", "0002000", "0000000", "0000000", "0000000"))
        #expect(
            report == [
                LabelCleaning(value: 1, componentsFound: 2, componentsRemoved: 1, voxelsRemoved: 2),
                LabelCleaning(value: 2, componentsFound: 2, componentsRemoved: 1, voxelsRemoved: 2),
            ]
        )
        #expect(try kept([[1]], labels).labels == slice("1110000", "0002000", "0000000", "0000000", "0000022"))
        #expect(try kept([[2]], labels).labels == slice("1110000", "0000000", "0000000", "1100000", "0000022"))
    }

    @Test("all components of the largest size stay", arguments: Connectivity.allCases)
    func tie(connectivity: Connectivity) throws {
        let labels = slice("10101")
        #expect(try kept([[1]], labels, connectivity).labels == labels)
        let mixed = slice("110012", "000000", "220100")
        #expect(try kept([[1, 2]], mixed, connectivity).labels == slice("110012", "000000", "220000"))
    }

    @Test("groups follow one another: what one removed the next does not see")
    func order() throws {
        // Together the right one is larger; of label 1 alone the left one.
        let labels = slice("1110122")
        #expect(try kept([[1], [1, 2]], labels).labels == slice("1110000"))
        #expect(try kept([[1, 2], [1]], slice("11101222")).labels == slice("00001222"))
        #expect(try kept([[1], [1, 2]], slice("11101222")).labels == slice("11100222"))
    }

    @Test("a mask ends where other labels lie between its parts")
    func otherLabels() throws {
        #expect(try kept([[1, 3]], slice("1132113")).labels == slice("1132113"))
        #expect(try kept([[1, 3]], slice("113211")).labels == slice("113200"))
    }

    @Test("connectivity is that of the rule", arguments: Connectivity.allCases)
    func connectivity(connectivity: Connectivity) throws {
        // A pair, a voxel of the other label across an edge, and one across a corner.
        var labels = PlainLabels(4, 4, 4)
        labels[Voxel(0, 0, 0)] = 1
        labels[Voxel(1, 0, 0)] = 2
        labels[Voxel(2, 1, 0)] = 1
        labels[Voxel(3, 2, 1)] = 2
        let result = try kept([[1, 2]], labels, connectivity).labels
        let expected = [Connectivity.faces: 2, .edges: 3, .corners: 4]
        #expect(result.values.count { $0 != 0 } == expected[connectivity])
    }

    @Test("the background in a group, empty groups and absent labels change nothing")
    func background() throws {
        let labels = slice("1001", "0220")
        let (result, report) = try kept([[0], [], [0, 1], [5, 6]], labels)
        #expect(result == labels)
        #expect(report.map(\.value) == [1, 5, 6])
        #expect(PostprocessRules(keepLargest: [[], [0]]).isEmpty)
    }

    @Test(
        "random volumes are cleaned as a flood fill says",
        arguments: Connectivity.allCases,
        [[[1, 2]], [[1], [2], [3]], [[1, 2, 3], [2, 3], [1]], [[2], [3, 1], [3]]] as [[[UInt16]]]
    )
    func agrees(connectivity: Connectivity, groups: [[UInt16]]) throws {
        for seed in UInt64(0)..<5 {
            for empty in [0.5, 0.75, 0.9] {
                let labels = PlainLabels.random(9, 7, 17, labels: 3, empty: empty, seed: seed)
                var expected = labels
                for group in groups { expected = FloodFill.largest(of: Set(group), in: expected, connectivity) }
                let (result, report) = try kept(groups, labels, connectivity)
                #expect(result == expected)
                for entry in report {
                    let lost = labels.count(of: entry.value) - expected.count(of: entry.value)
                    let before = FloodFill.components(of: labels, connectivity) { $0 == entry.value }.count
                    let after = FloodFill.components(of: expected, connectivity) { $0 == entry.value }.count
                    #expect(entry.voxelsRemoved == lost)
                    #expect(entry.componentsFound == before)
                    #expect(entry.componentsRemoved == before - after)
                }
            }
        }
    }
}
