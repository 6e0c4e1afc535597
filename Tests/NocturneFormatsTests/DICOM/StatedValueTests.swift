import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("A number that a header states is used, or refused with its value, and never replaced by a default")
struct StatedValueTests {
    /// What becomes of a series whose slices all state a value.
    enum Outcome: Sendable {
        /// The volume, with this note; nil for none.
        case read(note: String?)
        case refused(DICOMReadError.Code, String)
    }

    struct Stated: Sendable, CustomTestStringConvertible {
        let tag: UInt32
        /// Nil where the element is absent.
        let text: String?
        let outcome: Outcome

        init(_ tag: UInt32, _ text: String?, _ outcome: Outcome) {
            (self.tag, self.text, self.outcome) = (tag, text, outcome)
        }

        var testDescription: String { "\(String(tag, radix: 16)) \(text ?? "absent")" }
    }

    private static let (slope, intercept, spacing): (UInt32, UInt32, UInt32) = (0x0028_1053, 0x0028_1052, 0x0028_0030)
    private static let (position, orientation, frames): (UInt32, UInt32, UInt32) = (
        0x0020_0032, 0x0020_0037, 0x0028_0008
    )
    private static let (thickness, echoTime): (UInt32, UInt32) = (0x0018_0050, 0x0018_0081)

    private static func repaired(_ text: String, _ numbers: String) -> Outcome {
        .read(note: "\"\(text)\" was read as \(numbers)")
    }

    private static func unusable(_ text: String) -> Outcome { .refused(.unusableValue, "\"\(text)\"") }

    private static let intercepts = [
        Stated(intercept, "-1024", .read(note: nil)), Stated(intercept, " -1.024E3 ", .read(note: nil)),
        Stated(intercept, "-1024,0", repaired("-1024,0", "-1024")),
        Stated(intercept, "-1024 HU", repaired("-1024 HU", "-1024")),
        Stated(intercept, "-1024hu", repaired("-1024hu", "-1024")),
        Stated(intercept, "-1024\\-1024", repaired("-1024\\-1024", "-1024")),
        Stated(intercept, "-1024\\", repaired("-1024\\", "-1024")),
        Stated(intercept, "\t-1024", .read(note: "was read as -1024")),
    ]

    @Test("an intercept with one meaning is read", arguments: intercepts)
    func repairedIntercepts(stated: Stated) throws {
        try check(stated) { voxels in #expect(voxels == TestSlice.ramp.map { Float($0) - 1024 }) }
    }

    private static let values = [
        Stated(
            intercept,
            nil,
            .read(note: "RescaleIntercept (0028,1052) is missing or empty in 4 of 4 slices: taken as 0")
        ),
        Stated(
            intercept,
            " ",
            .read(note: "RescaleIntercept (0028,1052) is missing or empty in 4 of 4 slices: taken as 0")
        ),
        Stated(intercept, "-1,024", unusable("-1,024")), Stated(intercept, "-1024\\0", unusable("-1024\\0")),
        Stated(intercept, "-1024 mm", unusable("-1024 mm")), Stated(intercept, "abc", unusable("abc")),
        Stated(intercept, "nan", unusable("nan")), Stated(intercept, "-1e999", unusable("-1e999")),
        Stated(intercept, "+-1024", unusable("+-1024")), Stated(intercept, "-1024.0,5", unusable("-1024.0,5")),
        Stated(slope, nil, .read(note: "RescaleSlope (0028,1053) is missing or empty in 4 of 4 slices: taken as 1")),
        Stated(slope, "1,0", repaired("1,0", "1")), Stated(slope, "1 HU", unusable("1 HU")),
        Stated(slope, "1\\2", unusable("1\\2")),
        Stated(spacing, nil, .refused(.missingElement, "missing or empty")),
        Stated(spacing, "\\", .refused(.missingElement, "missing or empty")),
        Stated(spacing, "0.7\\0.8\\1", unusable("0.7\\0.8\\1")), Stated(spacing, "a\\b", unusable("a\\b")),
        Stated(spacing, "0.7 cm\\0.8 cm", unusable("0.7 cm\\0.8 cm")),
        Stated(spacing, "1,250\\1,250", unusable("1,250\\1,250")),
        Stated(position, nil, .refused(.missingElement, "missing or empty")),
        Stated(position, "1\\2", unusable("1\\2")), Stated(position, "1\\2\\x", unusable("1\\2\\x")),
        Stated(position, "1\\2\\3\\4", unusable("1\\2\\3\\4")),
        Stated(orientation, nil, .refused(.missingElement, "missing or empty")),
        Stated(orientation, "1\\0\\0\\0\\1", unusable("1\\0\\0\\0\\1")),
        Stated(orientation, "1,0\\0\\0\\0\\1,0\\0", repaired("1,0\\0\\0\\0\\1,0\\0", "1\\0\\0\\0\\1\\0")),
        Stated(frames, nil, .read(note: nil)), Stated(frames, "", .read(note: nil)),
        Stated(frames, "1 frame", unusable("1 frame")), Stated(frames, "1.5", unusable("1.5")),
        Stated(frames, "1\\2", unusable("1\\2")),
        Stated(thickness, "1,5", repaired("1,5", "1.5")), Stated(thickness, "1.5 mm", repaired("1.5 mm", "1.5")),
        Stated(
            thickness,
            "thin",
            .read(note: "cannot be used: it is not a number; it counts as missing, in 4 of 4 files")
        ),
        Stated(echoTime, "12 ms", repaired("12 ms", "12")), Stated(echoTime, "x", .read(note: "it counts as missing")),
        Stated(0x0020_0013, "x", .read(note: "InstanceNumber (0020,0013)")),
        Stated(0x0008_0032, "256161", .read(note: "AcquisitionTime (0008,0032)")),
        Stated(0x0028_1050, "40\\-600", .read(note: nil)),
        Stated(0x0028_1050, "x", .read(note: "WindowCenter (0028,1050)")),
    ]

    @Test("all elements: absent, empty, with another notation, unreadable, or of another count", arguments: values)
    func everyElement(stated: Stated) throws {
        try check(stated) { voxels in #expect(voxels == TestSlice.ramp.map(Float.init)) }
    }

    @Test(
        "numbers in binary of which there are several",
        arguments: [0x0028_0002, 0x0028_0010, 0x0028_0011, 0x0028_0100, 0x0028_0101, 0x0028_0102, 0x0028_0103]
            as [UInt32]
    )
    func binary(tag: UInt32) throws {
        for isFallback in [false, true] {
            let series = try scanned(isFallback: isFallback) { set in
                let own = set.elements[tag]?.value ?? []
                set.bytes(tag, "US", own + [9, 0])
            }
            let problem = try #require(series.problem)
            #expect(problem.code == .unusableValue && problem.detail.contains("\\9\""), "\(problem)")
        }
    }

    @Test(
        "values that are neither texts nor numbers are shown as bytes",
        arguments: [
            ("OB", [0, 0x80, 0, 0], "\\x00\\x80\\x00\\x00"), ("UN", [50, 10, 120, 1], "2\\x0Ax\\x01"),
            ("UL", [1, 0, 2, 0, 3, 0], "\\x01\\x00\\x02\\x00\\x03\\x00"),
            ("FD", [0, 0, 0, 0, 0, 0, 0xF8, 0x7F], "\\xF8\\x7F"),
        ] as [(String, [UInt8], String)]
    )
    func bytes(representation: String, bytes: [UInt8], shown: String) throws {
        let problem = try #require(try scanned { $0.bytes(Self.intercept, representation, bytes) }.problem)
        #expect(problem.code == .unusableValue && problem.detail.contains(shown + "\""), "\(problem)")
    }

    @Test("a slope of 0 is refused with what to do")
    func slopeOfZero() throws {
        let problem = try #require(try scanned { $0.text(Self.slope, "DS", "0") }.problem)
        #expect(problem.code == .unusableValue && problem.detail.contains("export the series again"))
    }

    @Test("one pixel distance holds for both directions, and commas are read in both")
    func pixelSpacing() throws {
        for (text, expected, note) in [
            ("0.7", SIMD2(0.7, 0.7), "\"0.7\" was read as 0.7\\0.7"),
            ("0,7\\0,8", SIMD2(0.8, 0.7), "was read as 0.7\\0.8"),
            ("0.7mm\\0.8 mm", SIMD2(0.8, 0.7), "was read as 0.7\\0.8"),
        ] {
            for isFallback in [false, true] {
                let series = try scanned(isFallback: isFallback) { $0.text(Self.spacing, "DS", text) }
                let found = try #require(series.geometry).spacing
                #expect(abs(found.x - expected.x) < 1e-9 && abs(found.y - expected.y) < 1e-9)
                #expect(series.notes.texts.contains { $0.contains(note) })
            }
        }
    }

    @Test("positions with commas are those with points")
    func positions() throws {
        let series = try scanned { set in
            let text = String(decoding: set.elements[Self.position]?.value ?? [], as: UTF8.self)
            set.text(Self.position, "DS", text.replacingOccurrences(of: ".", with: ","))
        }
        let plain = try scanned()
        #expect(series.geometry == plain.geometry && series.geometry != nil)
        #expect(series.notes.count == 1 && series.notes.texts[0].hasSuffix("in 4 of 4 files"))
    }

    @Test("an element that is there twice is read if both are equal")
    func twice() throws {
        for (second, isRead) in [("0.0", true), ("-1024", false)] {
            let files = TestSlice.stack(4).enumerated().map { ("\($0)", Self.file($1, again: Self.intercept, second)) }
            try withScan(Dictionary(uniqueKeysWithValues: files)) { scan in
                let series = try #require(scan.series.first)
                #expect((series.problem == nil) == isRead)
                if let problem = series.problem {
                    #expect(problem.code == .unusableValue)
                    #expect(problem.detail.contains("RescaleIntercept (0028,1052) is there twice"))
                }
            }
        }
    }

    @Test("an element that only some slices state is no default for the others")
    func mixedPresence() throws {
        for (tag, value, plain) in [(Self.intercept, "-1024", "0"), (Self.slope, "2", "1")] {
            let refused = try scanned { set in
                set.text(tag, "DS", value)
                if set.elements[0x0020_0013]?.value == [50] { set.remove(tag) }
            }
            let problem = try #require(refused.problem)
            #expect(problem.code == .valuesDiffer && problem.detail.contains("in 1 of 4 slices"))
            // The default itself.
            let read = try scanned { set in
                set.text(tag, "DS", plain)
                if set.elements[0x0020_0013]?.value == [50] { set.remove(tag) }
            }
            #expect(
                read.problem == nil && read.notes.texts.contains { $0.contains("in 1 of 4 slices: taken as \(plain)") }
            )
        }
        for (tag, value) in [(0x0028_1054 as UInt32, "MGML"), (0x0054_1001, "BQML")] {
            let refused = try scanned { set in
                if set.elements[0x0020_0013]?.value == [50] { set.text(tag, "LO", value) }
            }
            #expect(refused.problem?.code == .valuesDiffer)
            #expect(refused.problem?.detail.contains("\"\(value)\"") == true)
        }
    }

    @Test("values of CT are in HU where nothing else is stated")
    func valueTypes() throws {
        for (type, expected) in [
            ("", nil), ("HU", nil), ("hu ", nil), ("MGML", "MGML"), ("US", "US"), ("Z_EFF", "Z_EFF"),
        ]
            as [(String, String?)]
        {
            let series = try scanned { if !type.isEmpty { $0.text(0x0028_1054, "LO", type) } }
            #expect(series.problem == nil && series.otherValueType == expected)
            #expect(series.notes.texts.contains { $0.contains("not in HU") } == (expected != nil))
        }
    }

    // MARK: Support

    /// A series of four slices, read by the parser, or by DCMTK's because the files have no preamble.
    private func scanned(
        isFallback: Bool = false,
        _ change: @escaping (inout DICOMDataSet) -> Void = { _ in }
    ) throws -> DICOMSeries {
        let files = TestSlice.stack(4).enumerated().map { index, slice in
            var slice = slice
            slice.cells = TestSlice.ramp
            slice.change = change
            return ("\(index)", isFallback ? slice.dataSet.encoded(.explicit) : slice.file())
        }
        return try withScan(Dictionary(uniqueKeysWithValues: files)) { scan in
            #expect(scan.series.count == 1)
            return try #require(scan.series.first)
        }
    }

    private func check(_ stated: Stated, _ body: ([Float]) throws -> Void) throws {
        for isFallback in [false, true] {
            try TemporaryFolder.with("dicom") { folder in
                let paths = try TestSlice.stack(4).enumerated().map { index, slice in
                    var slice = slice
                    slice.cells = TestSlice.ramp
                    slice.change = { set in
                        if let text = stated.text {
                            set.text(stated.tag, stated.tag == 0x0008_0032 ? "TM" : "DS", text)
                        } else {
                            set.remove(stated.tag)
                        }
                    }
                    let bytes = isFallback ? slice.dataSet.encoded(.explicit) : slice.file()
                    return try folder.write(bytes, to: "\(index)").path
                }
                let series = try #require(try DICOMScanner.scan(paths: paths, scope: .serial()).series.first)
                switch stated.outcome {
                case .refused(let code, let text):
                    let problem = try #require(series.problem)
                    #expect(problem.code == code && problem.detail.contains(text), "\(problem)")
                case .read(let note):
                    #expect(series.problem == nil)
                    if let note {
                        #expect(series.notes.texts.contains { $0.contains(note) }, "\(series.notes)")
                    } else {
                        #expect(series.notes.isEmpty)
                    }
                    try body(
                        Array(voxels(try DICOMReader.readVolume(series, scope: .serial())).prefix(TestSlice.ramp.count))
                    )
                }
            }
        }
    }

    /// A file in which an element follows itself with another value.
    private static func file(_ slice: TestSlice, again tag: UInt32, _ text: String) -> [UInt8] {
        let elements = slice.dataSet.elements.sorted { $0.key < $1.key }
        let encoded = elements.flatMap { key, element in
            DICOMDataSet.element(key, element.vr, element.value, .explicit)
                + (key == tag ? DICOMDataSet.element(tag, "DS", Array(text.utf8), .explicit) : [])
        }
        return DICOMDataSet.preamble(TestSlice.Syntax.explicit.rawValue) + encoded
    }
}
