import CDCMTK
import CDICOMParser
import Foundation
import NocturneConcurrency
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Synchronization
import Testing

@Suite("Files that mean harm, or are no DICOM at all")
struct HostileFileTests {
    @Test("text, images of other kinds, empty files and folders are not DICOM")
    func notDICOM() throws {
        try TemporaryFolder.with("dicom") { folder in
            let gzip: [UInt8] = [0x1F, 0x8B, 8, 0] + [UInt8](repeating: 0, count: 400)
            let nifti = littleEndian(UInt32(348)) + [UInt8](repeating: 0, count: 400)
            let files: [String: [UInt8]] = [
                "text": Array("The quick brown fox\n".utf8), "empty": [], "gzip": gzip, "nifti": nifti,
                "zeros": [UInt8](repeating: 0, count: 1000), "short": [8, 0, 5, 0],
            ]
            var paths = try files.map { try folder.write($0.value, to: $0.key).path }
            paths.append(folder.path)
            let scan = try DICOMScanner.scan(paths: paths, scope: .serial())
            #expect(scan.notDICOM == paths.sorted())
            #expect(scan.series.isEmpty && scan.rejectedFiles.isEmpty)
            for path in paths { #expect(!DICOMScanner.looksLikeDICOM(path)) }
            let slice = try folder.write(TestSlice().file(), to: "slice").path
            #expect(DICOMScanner.looksLikeDICOM(slice))
        }
    }

    @Test("a file that is not there is set aside with the system's words")
    func missingFile() throws {
        let scan = try DICOMScanner.scan(paths: ["/no/such/file"], scope: .serial())
        #expect(scan.rejectedFiles.map(\.reason.code) == [.notOpened])
        #expect(scan.rejectedFiles.first?.reason.detail == "No such file or directory")
    }

    @Test("every beginning of a file gives an error or, at its end, the volume", arguments: TestSlice.Syntax.allCases)
    func prefixes(syntax: TestSlice.Syntax) throws {
        let slices = TestSlice.stack(2)
        let whole = slices[1].file(syntax)
        try TemporaryFolder.with("dicom") { folder in
            let first = try folder.write(slices[0].file(syntax), to: "0").path
            for count in 0..<whole.count {
                let second = try folder.write(Array(whole[..<count]), to: "1").path
                let scan = try DICOMScanner.scan(paths: [first, second], scope: .serial())
                for series in scan.series {
                    #expect(throws: DICOMReadError.self, "\(count) bytes") {
                        try DICOMReader.readVolume(series, scope: .serial())
                    }
                }
            }
        }
    }

    @Test("bytes changed at random give a result or an error", arguments: 0..<4)
    func mutations(seed: Int) throws {
        var random = SplitMix64(seed: UInt64(seed))
        let whole =
            seed % 2 == 0
            ? TestSlice().file()
            : TestSlice().file(
                syntax: PixelDecodingTests.streams[seed].syntax,
                fragments: [PixelDecodingTests.stream(seed)]
            )
        try TemporaryFolder.with("dicom") { folder in
            for _ in 0..<150 {
                var bytes = whole
                for _ in 0..<random.int(in: 1...8) {
                    bytes[random.int(in: 128...bytes.count - 1)] = UInt8(truncatingIfNeeded: random.next())
                }
                let path = try folder.write(bytes, to: "a").path
                let scan = try DICOMScanner.scan(paths: [path], scope: .serial())
                for object in scan.series.flatMap(\.slices) { _ = try? DICOMReader.storedValues(of: object) }
            }
        }
    }

    /// Sequences within sequences, none of which ends.
    private func nested(_ levels: Int, _ encoding: DICOMDataSet.Encoding) -> [UInt8] {
        let open: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF]
        let representation: [UInt8] = encoding == .explicit ? Array("SQ".utf8) + [0, 0] : []
        let level = [0x08, 0x00, 0x40, 0x11] + representation + open + [0xFE, 0xFF, 0x00, 0xE0] + open
        // Not `joined()`, which takes byte after byte.
        var bytes: [UInt8] = []
        bytes.reserveCapacity(levels * level.count)
        for _ in 0..<levels { bytes += level }
        return bytes
    }

    @Test(
        "sequences nested without end are an error before the pixels, and nothing behind them",
        arguments: [1_000, 100_000]
    )
    func nesting(levels: Int) throws {
        let head = TestSlice(change: { $0.remove(0x7FE0_0010) }).dataSet
        let explicit = DICOMDataSet.preamble("1.2.840.10008.1.2.1") + nested(levels, .explicit)
        let implicit = DICOMDataSet.preamble("1.2.840.10008.1.2") + nested(levels, .implicit)
        let bare = nested(levels, .implicit)
        try withScan(["explicit": explicit, "implicit": implicit, "bare": head.encoded(.implicit) + bare]) { scan in
            #expect(scan.rejectedFiles.map(\.reason.code) == [.nestedTooDeep, .nestedTooDeep, .nestedTooDeep])
        }
        // Behind the pixels nothing is looked at.
        let slices = TestSlice.stack(2)
        let files = slices.map { ("\($0.instance)", $0.file() + nested(levels, .explicit)) }
        try withScan(Dictionary(uniqueKeysWithValues: files)) { scan in
            let series = try #require(scan.series.first)
            #expect(throws: Never.self) { try DICOMReader.readVolume(series, scope: .serial()) }
        }
    }

    @Test("a few dozen levels are read, and two MiB of stack are enough")
    func honestNesting() throws {
        let closed: [UInt8] = [0xFE, 0xFF, 0x0D, 0xE0, 0, 0, 0, 0, 0xFE, 0xFF, 0xDD, 0xE0, 0, 0, 0, 0]
        let sequences = nested(60, .explicit) + Array(repeatElement(closed, count: 60).joined())
        let file = DICOMDataSet.preamble("1.2.840.10008.1.2.1") + sequences + TestSlice().dataSet.encoded(.explicit)
        let deep = DICOMDataSet.preamble("1.2.840.10008.1.2.1") + nested(100_000, .explicit)
        try TemporaryFolder.with("dicom") { folder in
            let paths = try [file, deep].enumerated().map { try folder.write($0.element, to: "\($0.offset)").path }
            let codes = Mutex<[UInt32]>([])
            let ended = DispatchSemaphore(value: 0)
            let thread = Thread {
                for path in paths {
                    var header = cdicom_header()
                    let code = cdcmtk_read_object(path, &header, nil, nil, nil, nil)
                    codes.withLock { $0.append(code.rawValue) }
                }
                ended.signal()
            }
            thread.stackSize = 2 << 20
            thread.start()
            ended.wait()
            #expect(codes.withLock { $0 } == [CDICOM_OK.rawValue, CDICOM_NESTED_TOO_DEEP.rawValue])
        }
    }

    @Test("lengths beyond the file take no memory and end in an error")
    func hugeClaims() throws {
        var set = TestSlice().dataSet
        set.remove(0x7FE0_0010)
        let pixels: [UInt8] = [0xE0, 0x7F, 0x10, 0x00] + Array("OW".utf8) + [0, 0] + littleEndian(UInt32(0xFFFF_FFFE))
        let file = DICOMDataSet.preamble("1.2.840.10008.1.2.1") + set.encoded(.explicit) + pixels
        var other = set
        other.text(0x0020_0032, "DS", "0\\0\\3")
        let second = DICOMDataSet.preamble("1.2.840.10008.1.2.1") + other.encoded(.explicit) + pixels
        try withScan(["a": file, "b": second]) { scan in
            for series in scan.series {
                #expect(throws: DICOMReadError.self) { try DICOMReader.readVolume(series, scope: .serial()) }
            }
            #expect(scan.series.count + scan.rejectedFiles.count > 0)
        }
    }

    @Test("the patient's name does not come through")
    func noName() throws {
        try withScan(["a": TestSlice().file()]) { scan in
            #expect(!"\(scan)".contains("Nobody"))
        }
    }
}
