import Foundation
import NocturneConcurrency
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Slices that repeat positions are divided into whole volumes")
struct RepeatedPositionTests {
    /// Slices of `passes` passes through `count` positions, numbered on; their UIDs end in pass and position.
    private func repeated(
        _ passes: Int,
        _ count: Int,
        change: @escaping (Int, Int, inout DICOMDataSet) -> Void
    ) -> [TestSlice] {
        (0..<passes).flatMap { pass in
            TestSlice.stack(count).enumerated().map { k, slice in
                var slice = slice
                slice.instance = pass * count + k + 1
                slice.instanceUID = "1.2.9.\(pass).\(k)"
                slice.cells = TestSlice.ramp.map { $0 + UInt16(1000 * pass + 100 * k) }
                slice.change = { change(pass, k, &$0) }
                return slice
            }
        }
    }

    /// Every part is a volume with all slices of one pass, in the order of passes.
    private func expectPasses(_ slices: [TestSlice], _ labels: [String]) throws {
        try withScan(shuffledFiles(slices)) { scan in
            #expect(scan.series.map(\.part) == labels)
            for (pass, series) in scan.series.enumerated() {
                #expect(series.problem == nil)
                let expected = (0..<slices.count / labels.count).map { "1.2.9.\(pass).\($0)" }
                #expect(series.slices.map(\.object.sopInstanceUID) == expected)
            }
        }
    }

    @Test(
        "by their times, also in a series that crosses midnight",
        arguments: [0x0008_0032, 0x0008_0033] as [UInt32],
        [true, false]
    )
    func midnight(tag: UInt32, isOfEachSlice: Bool) throws {
        // From 23:58:50 to 00:01:18.
        let slices = repeated(3, 5) { pass, k, set in
            let seconds = (86_330 + 60 * pass + (isOfEachSlice ? 7 * k : 0)) % 86_400
            let text = String(format: "%02d%02d%02d", seconds / 3600, seconds / 60 % 60, seconds % 60)
            set.text(tag, "TM", text)
            set.remove(0x0020_0013)
        }
        try expectPasses(slices, ["p1", "p2", "p3"])
    }

    @Test(
        "by their order where an element divides each volume, into halves or packages",
        arguments: ["halves", "packages", "echo times"]
    )
    func packages(by element: String) throws {
        let slices = repeated(2, 12) { pass, k, set in
            switch element {
            case "halves": set.text(0x0020_0012, "IS", "\(2 * pass + (k < 6 ? 1 : 2))")
            case "packages": set.text(0x0020_0012, "IS", "\(2 * pass + k % 2 + 1)")
            default: set.text(0x0018_0081, "DS", ["4.6", "4.7", "9.2", "9.3"][2 * pass + k % 2])
            }
        }
        try expectPasses(slices, ["p1", "p2"])
    }

    @Test("and not by their order where an element divides the passes at different positions")
    func mixedAcquisitions() throws {
        // The first acquisition covers all positions, the second the upper half, the third the lower half.
        let slices = repeated(2, 10) { pass, k, set in
            set.text(0x0020_0012, "IS", "\(pass == 0 ? 1 : k < 5 ? 3 : 2)")
        }
        try withScan(shuffledFiles(slices)) { scan in
            #expect(scan.series.map(\.part) == ["a1", "a2", "a3"])
            #expect(scan.series.map(\.slices.count) == [10, 5, 5])
            #expect(scan.series.allSatisfy { $0.problem == nil })
        }
    }

    @Test("and not by their order where it joins the b-values of two stations")
    func stations() throws {
        var slices = repeated(2, 12) { pass, k, set in
            let value: Double = k < 6 ? [50, 800][pass] : [0, 1000][pass]
            set.bytes(0x0018_9087, "FD", littleEndian(value.bitPattern))
        }
        // Numbered position by position.
        for index in slices.indices { slices[index].instance = 2 * (index % 12) + index / 12 + 1 }
        try withScan(shuffledFiles(slices)) { scan in
            #expect(scan.series.map(\.part) == ["b0", "b50", "b800", "b1000"])
            #expect(scan.series.allSatisfy { $0.problem == nil && $0.slices.count == 6 })
        }
    }

    @Test("by the first element that gives every part all positions")
    func wholeParts() throws {
        let slices = repeated(2, 12) { pass, k, set in
            // Packages, as above; the echo times are those of the volumes, as measured.
            set.text(0x0020_0012, "IS", "\(2 * pass + k % 2 + 1)")
            set.text(0x0018_0081, "DS", (pass == 0 ? "4.6" : "9.2") + (k % 2 == 0 ? "" : "001"))
            set.remove(0x0020_0013)
        }
        try expectPasses(slices, ["te4.6", "te9.2"])
    }

    @Test(
        "by what the scanner was set to",
        arguments: [
            (0x0018_0060, "80", "140", ["kv80", "kv140"]), (0x0018_0080, "500", "2000", ["tr500", "tr2000"]),
            (0x0018_0082, "150", "2500", ["ti150", "ti2500"]), (0x0018_1314, "3", "15", ["flip3", "flip15"]),
            (0x0018_1210, "B30f", "B70f", ["kernelb30f", "kernelb70f"]),
        ] as [(UInt32, String, String, [String])]
    )
    func settings(tag: UInt32, first: String, second: String, labels: [String]) throws {
        let slices = repeated(2, 4) { pass, _, set in
            set.text(tag, tag == 0x0018_1210 ? "SH" : "DS", pass == 0 ? first : second)
            set.remove(0x0020_0013)
        }
        try expectPasses(slices, labels)
    }

    @Test("What cannot be divided is refused with the elements that differ at one position")
    func differingElements() throws {
        // A number of each slice, which divides nothing; the kernel differs between positions alone.
        let slices = repeated(2, 4) { pass, k, set in
            set.text(0x0020_0012, "IS", "\(4 * pass + k)")
            set.text(0x0018_1210, "SH", k == 0 ? "B30f" : "B70f")
            set.remove(0x0020_0013)
        }
        let problem = try #require(try onlySeries(slices).problem)
        #expect(problem.code == .duplicateSlices)
        #expect(problem.detail.hasSuffix("; they differ in AcquisitionNumber (0020,0012)"), "\(problem)")
    }

    @Test("A volume that lacks a slice is refused with its position")
    func missingSlice() throws {
        var slices = repeated(3, 5) { _, _, _ in }
        slices.remove(at: 7)
        let problem = try #require(try onlySeries(slices).problem)
        #expect(problem.code == .duplicateSlices && problem.detail.hasPrefix("14 slices share 5 positions"))
        let missing = "; position 3 of 5 has 2 slices, others 3: slices are missing there"
        #expect(problem.detail.hasSuffix(missing), "\(problem)")
    }

    @Test("by an element although the last part lacks a slice")
    func incomplete() throws {
        let slices = repeated(3, 4) { pass, _, set in set.text(0x0020_0012, "IS", "\(pass + 1)") }.dropLast()
        try withScan(shuffledFiles(Array(slices))) { scan in
            #expect(scan.series.map(\.part) == ["a1", "a2", "a3"])
            #expect(scan.series.map(\.slices.count) == [4, 4, 3])
        }
    }

    @Test("Times within twelve hours around midnight are of two days, all others of one")
    func acrossMidnight() {
        #expect(secondsAcrossMidnight([86_390, 10, 86_330, 70]) == [86_390, 86_410, 86_330, 86_470])
        #expect(secondsAcrossMidnight([-.infinity, 86_000, 100]) == [-.infinity, 86_000, 86_500])
        #expect(secondsAcrossMidnight([0, 36_000, 79_000]) == [0, 36_000, 79_000])
        #expect(secondsAcrossMidnight([100, 43_300]) == [100, 43_300])
        #expect(secondsAcrossMidnight([]) == [])
    }
}
