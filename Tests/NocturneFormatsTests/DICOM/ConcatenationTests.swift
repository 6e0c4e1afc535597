import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Objects of a concatenation of which others are missing")
struct ConcatenationTests {
    /// Objects with one slice each, in the order of their numbers. Their time and position are those of their place in the image.
    private func objects(
        times: Int,
        positions: Int,
        isTimeByTime: Bool = true,
        uid: (_ number: Int) -> String = { _ in "1.2.9" }
    ) -> [TestSlice] {
        let stack = TestSlice.stack(positions)
        return (0..<times * positions).map { index in
            let (time, k) =
                isTimeByTime ? (index / positions, index % positions) : (index % times, index / times)
            let own = uid(index + 1)
            var slice = stack[k]
            slice.instance = index + 1
            slice.instanceUID = "1.2.8.\(index)"
            slice.cells = TestSlice.ramp.map { $0 + UInt16(100 * index) }
            slice.change = { set in
                set.text(0x0020_0100, "IS", "\(time + 1)")
                set.text(0x0020_9161, "UI", own)
                set.short(0x0020_9162, index + 1)
                set.short(0x0020_9163, times * positions)
            }
            return slice
        }
    }

    @Test("leave the other times as volumes, with a note")
    func times() throws {
        // The fourth time is missing.
        try withScan(shuffledFiles(Array(objects(times: 4, positions: 4).dropLast(4)))) { scan in
            #expect(scan.series.map(\.part) == ["t1", "t2", "t3"])
            for series in scan.series {
                #expect(series.problem == nil && series.geometry?.shape.z == 4)
                let note = "12 of the 16 objects of a concatenation (0020,9161) are there; missing are those with "
                #expect(series.notes.texts.contains { $0.hasPrefix(note) && $0.hasSuffix(" 13, 14, 15, 16") })
            }
        }
        // The last slice of the third time is missing too.
        try withScan(shuffledFiles(Array(objects(times: 4, positions: 4).dropLast(5)))) { scan in
            #expect(scan.series.map(\.problem?.code) == [nil, nil, .missingSlices])
        }
    }

    @Test("make volumes incomplete where each position has all times, or one time is left", arguments: [true, false])
    func incomplete(isTimeByTime: Bool) throws {
        let all = objects(times: 2, positions: 12, isTimeByTime: isTimeByTime)
        let kept = isTimeByTime ? Array(all.prefix(11)) : Array(all.dropLast(2))
        try withScan(shuffledFiles(kept)) { scan in
            #expect(scan.series.count == (isTimeByTime ? 1 : 2))
            #expect(scan.series.allSatisfy { $0.problem?.code == .missingSlices && $0.geometry == nil })
            guard isTimeByTime else { return }
            let detail = try #require(scan.series.first?.problem).detail
            #expect(detail.hasSuffix(" 12, 13, 14, 15, 16, 17, 18, 19 and 5 more"), "\(detail)")
        }
    }

    @Test("are found by their numbers where every object has a UID of its own", arguments: [false, true])
    func ownUIDs(isLastMissing: Bool) throws {
        let all = objects(times: 1, positions: 4) { "1.2.9.\($0)" }
        let series = try onlySeries(isLastMissing ? Array(all.dropLast()) : all)
        #expect(series.problem?.code == (isLastMissing ? .missingSlices : nil))
        #expect(series.geometry?.shape.z == (isLastMissing ? nil : 4))
    }
}
