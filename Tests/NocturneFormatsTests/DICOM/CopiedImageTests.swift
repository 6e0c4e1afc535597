import NocturneConcurrency
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("A slice that is there twice under two UIDs is used once")
struct CopiedImageTests {
    private func copy(of slice: TestSlice, number: Int) -> TestSlice {
        var copy = slice
        copy.instance = number
        copy.instanceUID = "1.2.7.\(number)"
        return copy
    }

    @Test("with the same pixels, with a note", arguments: [1, 3, 8])
    func same(count: Int) throws {
        var slices = TestSlice.stack(8)
        slices += (0..<count).map { copy(of: slices[$0], number: 20 + $0) }
        let series = try onlySeries(slices)
        #expect(series.problem == nil && series.slices.count == 8)
        #expect(series.notes.count == 1)
        #expect(
            series.notes.texts[0].contains(
                "the same position and the same pixels under another SOPInstanceUID (0008,0018)"
            )
        )
    }

    @Test(
        "also where the copy has another window, time, number or kind",
        arguments: [
            (0x0028_1050, "DS", "50"), (0x0008_0033, "TM", "101112"), (0x0008_0032, "TM", "101112"),
            (0x0020_0012, "IS", "7"), (0x0018_0081, "DS", "9"), (0x0008_0008, "CS", "DERIVED\\SECONDARY"),
            (0x0018_0050, "DS", "7"),
        ] as [(UInt32, String, String)]
    )
    func otherLabels(tag: UInt32, representation: String, value: String) throws {
        let slices = TestSlice.stack(8)
        var copy = copy(of: slices[2], number: 20)
        copy.change = { $0.text(tag, representation, value) }
        let series = try onlySeries(slices + [copy])
        #expect(series.problem == nil && series.slices.count == 8)
        #expect(series.notes.texts.contains { $0.hasPrefix("1 copy was omitted") })
    }

    @Test(
        "also where the tool that stored all again dropped a setting of the scanner",
        arguments: [(0x0018_0060, "DS", "120"), (0x0018_1210, "SH", "B30f"), (0x0018_0080, "DS", "500")]
            as [(UInt32, String, String)]
    )
    func droppedSettings(tag: UInt32, representation: String, value: String) throws {
        let copies = TestSlice.stack(8).enumerated().map { copy(of: $1, number: 20 + $0) }
        let slices = TestSlice.stack(8).map { slice in
            var slice = slice
            slice.change = { $0.text(tag, representation, value) }
            return slice
        }
        let series = try onlySeries(slices + copies)
        #expect(series.problem == nil && series.slices.count == 8)
        #expect(series.notes.texts.contains { $0.hasPrefix("8 copies were omitted") })
    }

    @Test("but not with other pixels, or another slope")
    func other() throws {
        var slices = TestSlice.stack(8)
        var copy = copy(of: slices[2], number: 20)
        copy.cells[5] += 1
        #expect(try onlySeries(slices + [copy]).problem?.code == .duplicateSlices)
        copy = self.copy(of: slices[2], number: 20)
        copy.slope = (2, 0)
        slices.append(copy)
        #expect(try onlySeries(slices).problem?.code == .duplicateSlices)
    }

    @Test("and not where phases have some equal slices")
    func phases() throws {
        var slices = TestSlice.stack(4)
        slices[0].cells = Array(repeating: 0, count: TestSlice.ramp.count)
        for k in 0..<4 {
            var later = copy(of: slices[k], number: 20 + k)
            if k > 0 { later.cells[7] += 1 }
            slices.append(later)
        }
        try withScan(shuffledFiles(slices)) { scan in
            #expect(scan.series.map(\.slices.count) == [4, 4])
            #expect(scan.series.allSatisfy { $0.problem == nil })
        }
    }
}
