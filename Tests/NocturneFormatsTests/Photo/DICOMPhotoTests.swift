import Foundation
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("DICOM objects as photos")
struct DICOMPhotoTests {
    private func photo(
        of kind: String = "1.2.840.10008.5.1.4.1.1.7",
        _ change: @escaping (inout DICOMDataSet) -> Void
    ) throws -> Photo {
        var slice = TestSlice()
        slice.sopClass = kind
        slice.change = change
        return try TemporaryFolder.with("photo") { folder in
            try PhotoReader.read(at: try folder.write(slice.file(), to: "a").path)
        }
    }

    private func colour(_ set: inout DICOMDataSet, _ photometric: String, planar: Int, _ bytes: [UInt8]) {
        set.short(0x0028_0002, 3)
        set.text(0x0028_0004, "CS", photometric)
        set.short(0x0028_0006, planar)
        set.short(0x0028_0100, 8)
        set.short(0x0028_0101, 8)
        set.short(0x0028_0102, 7)
        set.bytes(0x7FE0_0010, "OB", bytes)
    }

    @Test(
        "Pictures are photos; slices and whole slides are none",
        arguments: [
            ("1.2.840.10008.5.1.4.1.1.7", true), ("1.2.840.10008.5.1.4.1.1.7.4", true),
            ("1.2.840.10008.5.1.4.1.1.77.1.4", true), ("1.2.840.10008.5.1.4.1.1.77.1.6", false),
            ("1.2.840.10008.5.1.4.1.1.2", false), ("1.2.840.10008.5.1.4.1.1.4", false),
            ("1.2.840.10008.5.1.4.1.1.66.4", false), ("1.2.840.10008.5.1.4.1.1.77", false),
        ]
    )
    func kinds(kind: String, isPhoto: Bool) throws {
        func read() throws -> Photo { try photo(of: kind) { colour(&$0, "RGB", planar: 0, Self.colours) } }
        if isPhoto {
            #expect(try read().facts.format == .dicom)
        } else {
            #expect { try read() } throws: { ($0 as? PhotoError)?.code == .notAPicture }
        }
    }

    static let colours: [UInt8] = (0..<144).map { UInt8($0 * 7 % 251) }

    @Test("RGB comes as it is, by pixel and by plane")
    func rgb() throws {
        let pixels = try photo { colour(&$0, "RGB", planar: 0, Self.colours) }
        #expect(pixels.image.samples == Self.colours)
        #expect(pixels.facts.format == .dicom && pixels.facts.colourModel == .rgb)
        let planes: [UInt8] = (0..<3).flatMap { (plane: Int) -> [UInt8] in
            stride(from: plane, to: 144, by: 3).map { Self.colours[$0] }
        }
        #expect(try photo { colour(&$0, "RGB", planar: 1, planes) }.image.samples == Self.colours)
    }

    @Test("YBR becomes RGB by the standard's coefficients")
    func ybr() throws {
        let full: [UInt8] = Array([[UInt8]](repeating: [120, 90, 200], count: 48).joined())
        let expected: [UInt8] = Array([[UInt8]](repeating: [221, 82, 53], count: 48).joined())
        #expect(try photo { colour(&$0, "YBR_FULL", planar: 0, full) }.image.samples == expected)
        let halved: [UInt8] = Array([[UInt8]](repeating: [120, 120, 90, 200], count: 24).joined())
        #expect(try photo { colour(&$0, "YBR_FULL_422", planar: 0, halved) }.image.samples == expected)
    }

    @Test("palettes are looked up")
    func palette() throws {
        let indices = (0..<48).map { UInt8($0 % 4) }
        let samples = try photo { set in
            colour(&set, "PALETTE COLOR", planar: 0, indices)
            set.short(0x0028_0002, 1)
            for channel in 0..<3 {
                let facts = littleEndian(UInt16(4)) + littleEndian(UInt16(0)) + littleEndian(UInt16(16))
                set.bytes(0x0028_1101 + UInt32(channel), "US", facts)
                let entries = (0..<4).flatMap { (entry: Int) -> [UInt8] in
                    littleEndian(UInt16((entry * 60 + channel) << 8))
                }
                set.bytes(0x0028_1201 + UInt32(channel), "OW", entries)
            }
        }.image.samples
        let expected: [UInt8] = indices.flatMap { (index: UInt8) -> [UInt8] in
            [index * 60, index * 60 + 1, index * 60 + 2]
        }
        #expect(samples == expected)
    }

    @Test("grey without a window is shown as stored, captures of more than 8 bits are stretched, with a note")
    func greyWithoutWindow() throws {
        let values = (0..<48).map { UInt8(101 + $0 % 28) }
        let (visible, capture) = ("1.2.840.10008.5.1.4.1.1.77.1.4", "1.2.840.10008.5.1.4.1.1.7")
        func grey(_ set: inout DICOMDataSet) {
            colour(&set, "MONOCHROME2", planar: 0, values)
            set.short(0x0028_0002, 1)
        }
        for kind in [visible, capture] {
            let stored = try photo(of: kind) { grey(&$0) }
            #expect(stored.image.samples == values.flatMap { [$0, $0, $0] })
            #expect(stored.facts.notes == [.small(width: 8, height: 6)])
            let inverted = try photo(of: kind) { set in
                grey(&set)
                set.text(0x0028_0004, "CS", "MONOCHROME1")
            }
            #expect(inverted.image.samples == values.flatMap { [255 - $0, 255 - $0, 255 - $0] })
        }
        let deep = try photo(of: visible) { _ in }
        let shades = TestSlice.ramp.map { UInt8((Double($0) / 65535 * 255).rounded()) }
        #expect(deep.image.samples == shades.flatMap { [$0, $0, $0] } && !deep.facts.notes.contains(.stretched))
        #expect(try photo(of: capture) { _ in }.facts.notes.contains(.stretched))
    }

    @Test("grey goes through the table of the header")
    func greyTable() throws {
        let pixels = try photo { set in
            var item = DICOMDataSet()
            // 400 entries from 0 on, of 16 bits: the values of the ramp times 100.
            item.bytes(0x0028_3002, "US", [400, 0, 16].flatMap { littleEndian(UInt16($0)) })
            item.bytes(0x0028_3006, "OW", (0..<400).flatMap { littleEndian(UInt16($0 * 100)) })
            set.sequence(0x0028_3010, [item])
        }
        let shades = TestSlice.ramp.map { UInt8((Double($0) * 100 / 65535 * 255).rounded()) }
        #expect(pixels.image.samples == shades.flatMap { [$0, $0, $0] } && !pixels.facts.notes.contains(.stretched))
    }

    @Test("grey of a capture goes from its least to its largest value, or through the window; MONOCHROME1 is turned")
    func grey() throws {
        let range = try photo { _ in }.image.samples
        #expect(range[0] == 0 && range[143] == 255 && range[0..<3].allSatisfy { $0 == range[0] })
        let turned = try photo { $0.text(0x0028_0004, "CS", "MONOCHROME1") }.image.samples
        #expect(turned == range.map { 255 - $0 } || zip(turned, range).allSatisfy { abs(Int($0) + Int($1) - 255) <= 1 })
        let window = try photo { set in
            set.text(0x0028_1050, "DS", "100")
            set.text(0x0028_1051, "DS", "101")
        }.image.samples
        for (index, value) in TestSlice.ramp.enumerated() {
            let shade = min(max((Double(value) - 49.5) / 100 * 255, 0), 255)
            #expect(abs(Double(window[index * 3]) - shade) <= 0.51)
        }
    }

    @Test("of several frames the first is read, with a note")
    func frames() throws {
        let photo = try photo { set in
            set.text(0x0028_0008, "IS", "2")
            set.bytes(0x7FE0_0010, "OW", (TestSlice.ramp + TestSlice.ramp).flatMap { littleEndian($0) })
        }
        #expect(photo.facts.pageCount == 2 && photo.facts.notes.contains(.firstOfPages(2)))
    }

    @Test("broken objects are errors that name the fact")
    func broken() throws {
        let error = #expect(throws: PhotoError.self) { try photo { $0.remove(0x7FE0_0010) } }
        #expect(error?.code == .unsupported)
        let short = #expect(throws: PhotoError.self) { try photo { $0.bytes(0x7FE0_0010, "OW", [1, 2]) } }
        #expect(short?.code == .corrupt)
    }
}
