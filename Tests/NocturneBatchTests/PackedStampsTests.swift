import Foundation
import NocturneBatch
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("The stamps of files in little memory")
struct PackedStampsTests {
    @Test("come out as they went in, whatever the paths, sizes and times")
    func roundTrip() throws {
        var random = SplitMix64(seed: 5)
        for count in [0, 1, 2, 127, 128, 300] {
            let stamps = (0..<count).map { _ in Self.stamp(&random) }
            let packed = PackedStamps(stamps)
            #expect(packed.stamps == stamps && packed.isEmpty == stamps.isEmpty)
            #expect(packed == PackedStamps(packed.stamps))
        }
    }

    @Test("recorded as text come back, and a damaged text does not")
    func recorded() throws {
        var random = SplitMix64(seed: 8)
        let packed = PackedStamps((0..<20).map { _ in Self.stamp(&random) })
        #expect(PackedStamps(recorded: packed.recorded) == packed)
        #expect(PackedStamps(recorded: PackedStamps([]).recorded)?.stamps == [])
        #expect(PackedStamps(recorded: "") == nil && PackedStamps(recorded: "no base64!") == nil)
        let bytes = Array(try #require(Data(base64Encoded: packed.recorded)))
        for count in bytes.indices {
            #expect(PackedStamps(recorded: Data(bytes[..<count]).base64EncodedString()) == nil)
        }
        // Any other bytes are refused or are stamps, too.
        for _ in 0..<2000 {
            var damaged = bytes
            for _ in 0..<3 {
                damaged[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            let read = PackedStamps(recorded: Data(damaged).base64EncodedString())
            #expect(read.map { $0.stamps.count <= damaged.count } ?? true)
        }
        let absurd: [UInt8] = [255, 255, 255, 255, 255, 255, 255, 255, 127]
        #expect(PackedStamps(recorded: Data(absurd).base64EncodedString()) == nil)
    }

    @Test("of files on disk hold, and differ once a file has changed")
    func files() throws {
        let folder = try TemporaryFolder("nocturne-stamps")
        let paths = ["a/é 1.dcm", "a/é 2.dcm", "b", "gone"]
        for path in paths.dropLast() { try folder.write("abc", to: path) }
        let stamps = PackedStamps(paths.map { InputStamp(folder($0).path) })
        #expect(stamps.stamps.map(\.holds) == [true, true, true, true])
        #expect(stamps.stamps.map(\.size) == [3, 3, 3, nil])
        try folder.write("abcd", to: "a/é 2.dcm")
        #expect(stamps.stamps.map(\.holds) == [true, false, true, true])
    }

    @Test("of a series take some bytes a file")
    func size() {
        let stamps = (0..<400).map { index in
            InputStamp(
                path: "/archive/2021/patient-000123/CT/IM-00001-\(1000 + index).dcm",
                state: InputStamp.State(
                    size: 526_336,
                    seconds: 1_600_000_000 + index / 9,
                    nanoseconds: 1234567 * index % 999_999_999
                ),
                touchedSeconds: 1_700_000_000
            )
        }
        let bytes = MemoryLayout.size(ofValue: stamps[0]) * 400
        #expect(PackedStamps(stamps).byteCount < 400 * 20 && bytes > 400 * 50)
    }

    private static func stamp(_ random: inout SplitMix64) -> InputStamp {
        let letters = Array("ab/é\u{65}\u{301}日🦴_0123456789")
        let path = String(
            (0..<Int.random(in: 0...300, using: &random)).map { _ in letters.randomElement(using: &random)! }
        )
        let numbers = [0, 1, -1, 63, 64, -65, 1_000_000_000, Int.max, Int.min]
        func number() -> Int { numbers.randomElement(using: &random)! }
        let state =
            Bool.random(using: &random)
            ? nil : InputStamp.State(size: number(), seconds: number(), nanoseconds: number())
        return InputStamp(path: path, state: state, touchedSeconds: Bool.random(using: &random) ? nil : number())
    }
}
