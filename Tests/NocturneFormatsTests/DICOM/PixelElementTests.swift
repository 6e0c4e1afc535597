import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Pixel data of odd kinds and odd lengths")
struct PixelElementTests {
    private func read(_ files: [String: [UInt8]]) throws -> (values: [Float], notes: [String]) {
        try withScan(files) { scan in
            let series = try #require(scan.series.first)
            var notes: [String] = []
            let volume = try DICOMReader.readVolume(series, scope: .serial()) { notes.append($0.description) }
            return (voxels(volume), notes)
        }
    }

    private func files(_ slices: [TestSlice]) -> [String: [UInt8]] {
        Dictionary(uniqueKeysWithValues: slices.map { ("s\($0.instance)", $0.file()) })
    }

    @Test("bytes after the last pixel are skipped, with a note")
    func trailing() throws {
        var slices = TestSlice.stack(2)
        slices[1].pixelBytes = slices[1].cells.flatMap { littleEndian($0) } + [1, 2, 3, 4]
        let (values, notes) = try read(files(slices))
        #expect(values == slices.flatMap { $0.cells.map { Float($0) } })
        #expect(notes == ["s2: 4 bytes after the last pixel were skipped"])
    }

    @Test("a length beyond the file is no harm where the pixels are there")
    func claims() throws {
        let slices = TestSlice.stack(2)
        var files = files(slices)
        let last = try #require(files["s2"])
        let length = last.count - 96 - 4
        files["s2"] = Array(last[..<length]) + littleEndian(UInt32(120)) + Array(last[(length + 4)...])
        let (values, notes) = try read(files)
        #expect(values == slices.flatMap { $0.cells.map { Float($0) } })
        #expect(
            notes == ["s2: the stated length of the pixel data is 120 bytes, the file ends after 96, which suffice"]
        )
    }

    @Test("float and double pixels are read", arguments: [4, 8])
    func floats(bytes: Int) throws {
        var slices = TestSlice.stack(2)
        let numbers = (0..<48).map { Double($0) / 4 - 3 }
        for k in slices.indices {
            slices[k].slope = (2, 1)
            slices[k].change = { set in
                for tag: UInt32 in [0x7FE0_0010, 0x0028_0101, 0x0028_0102, 0x0028_0103] { set.remove(tag) }
                set.short(0x0028_0100, bytes * 8)
                if bytes == 4 {
                    set.bytes(0x7FE0_0008, "OF", numbers.flatMap { littleEndian(Float($0).bitPattern) })
                } else {
                    set.bytes(0x7FE0_0009, "OD", numbers.flatMap { littleEndian($0.bitPattern) })
                }
            }
        }
        let expected = numbers.map { Float(2 * $0 + 1) }
        #expect(try read(files(slices)).values == expected + expected)
    }

    @Test("a modality table maps stored values, beginning at its first one", arguments: [0, 1])
    func table(signed: Int) throws {
        let first = signed == 1 ? -20 : 10
        let entries = (0..<100).map { UInt16($0 * $0) }
        var slices = TestSlice.stack(2)
        let stored = (0..<48).map { signed == 1 ? $0 * 5 - 100 : $0 * 5 }
        for k in slices.indices {
            slices[k].bits.signed = signed
            slices[k].pixelBytes = stored.flatMap { littleEndian(Int16($0)) }
            slices[k].change = { set in
                var item = DICOMDataSet()
                item.bytes(
                    0x0028_3002,
                    signed == 1 ? "SS" : "US",
                    littleEndian(Int16(100)) + littleEndian(Int16(first)) + littleEndian(Int16(16))
                )
                item.bytes(0x0028_3006, "US", entries.flatMap { littleEndian($0) })
                set.sequence(0x0028_3000, [item])
            }
        }
        let expected: [Float] = stored.map { (value: Int) -> Float in Float(entries[min(max(value - first, 0), 99)]) }
        #expect(try read(files(slices)).values == expected + expected)
    }

    @Test("an overlay in the unused high bits is masked")
    func overlay() throws {
        var slices = TestSlice.stack(2)
        for k in slices.indices {
            slices[k].bits = (16, 12, 11, 0)
            slices[k].cells = TestSlice.ramp.map { $0 | 0x8000 }
        }
        let expected = TestSlice.ramp.map { Float($0) }
        #expect(try read(files(slices)).values == expected + expected)
    }

    @Test("padding and PET units are told")
    func notes() throws {
        var slices = TestSlice.stack(2)
        for k in slices.indices {
            slices[k].change = {
                $0.short(0x0028_0120, 63536)
                $0.short(0x0028_0103, 1)
                $0.text(0x0008_0060, "CS", "PT")
                $0.text(0x0054_1001, "CS", "BQML")
            }
        }
        let notes = try onlySeries(slices).notes.texts
        #expect(notes.contains { $0.contains("(0028,0120) -2000:") })
        #expect(notes.contains { $0.contains("BQML") })
    }

    @Test("frames in several fragments are told apart without an offset table")
    func fragments() throws {
        var slice = TestSlice()
        slice.bits = (16, 12, 11, 0)
        slice.change = { $0.text(0x0028_0008, "IS", "2") }
        let stream = PixelDecodingTests.stream(0)
        let (head, tail) = (Array(stream[..<60]), Array(stream[60...]))
        let file = slice.file(syntax: PixelDecodingTests.streams[0].syntax, fragments: [head, tail, head, tail])
        try TemporaryFolder.with("dicom") { folder in
            let object = try DICOMObject.readHeader(path: try folder.write(file, to: "a").path)
            for frame in 0..<2 {
                #expect(try DICOMReader.storedValues(of: object, frame: frame) == PixelDecodingTests.pattern)
            }
            #expect(throws: DICOMReadError.self) { try DICOMReader.storedValues(of: object, frame: 2) }
        }
    }
}
