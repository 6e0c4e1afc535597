import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("The pixels of a DICOM series")
struct PixelDecodingTests {
    private func read(_ files: [String: [UInt8]]) throws -> [Float] {
        try withScan(files) { scan in
            let series = try #require(scan.series.first)
            return voxels(try DICOMReader.readVolume(series, scope: .serial()))
        }
    }

    private func readError(_ files: [String: [UInt8]]) throws -> DICOMReadError {
        try withScan(files) { scan in
            let series = try #require(scan.series.first)
            return try #require(throws: DICOMReadError.self) { try DICOMReader.readVolume(series, scope: .serial()) }
        }
    }

    @Test("each slice has its own slope and intercept, applied in double and rounded once")
    func slopes() throws {
        var slices = TestSlice.stack(3)
        let pairs = [(1.0, -1024.0), (0.0010346139, 33.901196), (2.5, 0.1)]
        for k in slices.indices { slices[k].slope = pairs[k] }
        let expected = slices.indices.flatMap { k in
            slices[k].cells.map { Float(Double($0) * pairs[k].0 + pairs[k].1) }
        }
        #expect(try read(shuffledFiles(slices)) == expected)
        #expect(try read(shuffledFiles(slices, .implicit)) == expected)
    }

    /// Cells of 16 bits whose unused bits are dirty, and what 12 stored bits make of them.
    static let cells: [UInt16] = (0..<48).map { UInt16(truncatingIfNeeded: $0 &* 40503 &+ 61183) }

    @Test(
        "only the stored bits count, and the high bit is the sign",
        arguments: [(16, 15, 0), (16, 15, 1), (12, 11, 0), (12, 11, 1), (12, 15, 1), (1, 0, 0), (10, 11, 1)]
    )
    func bits(stored: Int, high: Int, signed: Int) throws {
        var slices = TestSlice.stack(2)
        for k in slices.indices {
            slices[k].bits = (16, stored, high, signed)
            slices[k].cells = Self.cells
        }
        let expected = Self.cells.map { cell -> Float in
            let low = (Int(cell) >> (high + 1 - stored)) & ((1 << stored) - 1)
            return Float(signed == 1 && low >= 1 << (stored - 1) ? low - (1 << stored) : low)
        }
        #expect(try read(shuffledFiles(slices)) == expected + expected)
    }

    @Test("cells of 8 and 32 bits", arguments: [8, 32], [0, 1])
    func otherCells(allocated: Int, signed: Int) throws {
        var slices = TestSlice.stack(2)
        var expected: [Float] = []
        for k in slices.indices {
            slices[k].bits = (allocated, allocated, allocated - 1, signed)
            let values = (0..<48).map { $0 * 5 + k - (signed == 1 ? 100 : 0) }
            slices[k].pixelBytes = values.flatMap { value in
                allocated == 8 ? [UInt8(truncatingIfNeeded: value)] : littleEndian(Int32(value))
            }
            expected += values.map {
                Float(allocated == 32 ? $0 : signed == 1 ? Int(Int8(truncatingIfNeeded: $0)) : $0)
            }
        }
        #expect(try read(shuffledFiles(slices)) == expected)
    }

    @Test("MONOCHROME1 keeps its values, with a note")
    func inverted() throws {
        var slices = TestSlice.stack(2)
        for k in slices.indices { slices[k].photometric = "MONOCHROME1" }
        #expect(try read(shuffledFiles(slices)) == slices.flatMap { $0.cells.map { Float($0) } })
        #expect(try onlySeries(slices).notes.texts.contains { $0.contains("MONOCHROME1") })
    }

    @Test("without preamble and without HighBit a plain data set is read too", arguments: TestSlice.Syntax.allCases)
    func bare(syntax: TestSlice.Syntax) throws {
        let slices = TestSlice.stack(2)
        var files: [String: [UInt8]] = [:]
        for slice in slices {
            var set = slice.dataSet
            set.remove(0x0028_0102)
            files["\(slice.instance)"] = set.encoded(syntax == .explicit ? .explicit : .implicit)
        }
        #expect(try read(files) == slices.flatMap { $0.cells.map { Float($0) } })
    }

    /// 8 × 6 pixels of 12 bits, compressed by DCMTK and by OpenJPEG from ``pattern``.
    static let pattern: [Float] = (0..<48).map { (index: Int) -> Float in
        let (row, column) = (index / 8, index % 8)
        let ripple = (column * row * 13) % 17
        return Float((column * 37 + row * 211 + ripple) % 1000)
    }
    static let patternTwice: [Float] = pattern + pattern
    static let streams: [(syntax: String, hex: String)] = [
        (
            "1.2.840.10008.1.2.4.70",
            "ffd8ffe000104a46494600010100000100010000ffc3000b100006000801011100ffc400180001010101010000"
                + "0000000000000000000605080a10ffda0008010100010000f254a952a54a9769b242850b2428769aebabaeaeba"
                + "bb69aa54aacaa556769a64c993707a99371d4cd12244899a2fffffd9"
        ),
        (
            "1.2.840.10008.1.2.4.80",
            "ffd8fff7000b0c0006000801011100ffda000801010000000092525251d150d040ccc881fbe2e7842033286c4c"
                + "d0919169a4f9ebc54e9cb7344a132444000000002f5d1ed012fb93cb200c179f80ffd9"
        ),
        (
            "1.2.840.10008.1.2.4.90",
            "ff4fff5100290000000000080000000600000000000000000000000800000006000000000000000000010f0101"
                + "ff52000c00000001000104040001ff5c00074080888890ff640025000143726561746564206279204f70656e4a"
                + "5045472076657273696f6e20322e352e34ff90000a00000000005a0001ff93cffc304c08ec656b1a603c6483e3"
                + "484ef7b0b9cb850b67c01f986c03f610801f98681b34df4ab86539e8cbd79bfc650e399ac3b0fd1c1d474af669"
                + "55f7247f19b9d859cb5de56141dbdef67fffd9"
        ),
        ("1.2.840.10008.1.2.5", ""),
    ]

    /// The compressed bytes; RLE is made here.
    static func stream(_ index: Int) -> [UInt8] {
        let hex = streams[index].hex
        return hex.isEmpty ? packed(pattern.map { UInt16($0) }) : bytes(hex)
    }

    /// DICOM RLE: the high bytes, then the low bytes, here in literal runs of four and one repeated run.
    static func packed(_ cells: [UInt16]) -> [UInt8] {
        func segment(_ bytes: [UInt8]) -> [UInt8] {
            if let first = bytes.first, bytes.allSatisfy({ $0 == first }) { return [UInt8(257 - bytes.count), first] }
            return stride(from: 0, to: bytes.count, by: 4).flatMap { [3] + bytes[$0..<$0 + 4] }
        }
        let high = segment(cells.map { UInt8($0 >> 8) })
        let low = segment(cells.map { UInt8($0 & 255) })
        var header = littleEndian(UInt32(2)) + littleEndian(UInt32(64)) + littleEndian(UInt32(64 + high.count))
        header += [UInt8](repeating: 0, count: 64 - header.count)
        return header + high + low
    }

    @Test(
        "JPEG-LS of 6 and 7 bits is decoded, and fewer bits are not supported",
        arguments: [
            (
                7,
                "ffd8fff7000b070006000801011100ffda00080101000000006060606b4fe800001de026291d802000003bf106b85d800000efd2"
                    + "305d2486db3db228ffd9"
            ),
            (
                6,
                "ffd8fff7000b060006000801011100ffda000801010000000060606b4fee80c057c0112c77bf359d7d2aff7e88ffd9"
            ),
            (
                4,
                "ffd8fff7000b040006000801011100ffda000801010000000060606d4a7740602806b5f80fdec6ea52f6ab6bff2ede86ea52b6f6"
                    + "d7ff70ffd9"
            ),
        ]
    )
    func fewBits(bits: Int, hex: String) throws {
        var slice = TestSlice()
        slice.bits = (8, bits, bits - 1, 0)
        let file = slice.file(syntax: "1.2.840.10008.1.2.4.80", fragments: [Self.bytes(hex)])
        try TemporaryFolder.with { folder in
            let object = try DICOMObject.readHeader(path: folder.write(file, to: "a.dcm").path)
            guard bits > 5 else {
                let error = #expect(throws: DICOMReadError.self) { try DICOMReader.storedValues(of: object) }
                #expect(error?.code == .unsupportedPixels && error?.detail.contains("4 bits per pixel") == true)
                return
            }
            let expected = (0..<48).map { (place: Int) -> Float in Float((place * 7 + 1) % (1 << bits)) }
            #expect(try DICOMReader.storedValues(of: object) == expected)
        }
    }

    private static func bytes(_ hex: String) -> [UInt8] {
        let digits = Array(hex.utf8)
        return stride(from: 0, to: digits.count, by: 2).map {
            UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16) ?? 0
        }
    }

    private func compressedFiles(_ index: Int, _ cut: ([UInt8]) -> [[UInt8]]) -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for var slice in TestSlice.stack(2) {
            slice.bits = (16, 12, 11, 0)
            files["\(slice.instance)"] = slice.file(
                syntax: Self.streams[index].syntax,
                fragments: cut(Self.stream(index))
            )
        }
        return files
    }

    @Test("compressed slices are decoded bit for bit", arguments: streams.indices)
    func compressed(index: Int) throws {
        #expect(try read(compressedFiles(index) { [$0] }) == Self.patternTwice)
        // One frame in two fragments, at an even place.
        let half = Self.stream(index).count / 4 * 2
        if Self.streams[index].syntax != "1.2.840.10008.1.2.5" {
            let cut = compressedFiles(index) { [Array($0[..<half]), Array($0[half...])] }
            #expect(try read(cut) == Self.patternTwice)
        }
    }

    @Test("compressed slices that end early are errors, never blank", arguments: streams.indices)
    func compressedShort(index: Int) throws {
        let whole = Self.stream(index).count
        for count in stride(from: 0, to: whole - 6, by: 2) {
            let error = try readError(compressedFiles(index) { [Array($0[..<count])] })
            #expect([.decoderFailed, .wrongPixelLength, .missingPixelData].contains(error.code), "\(count): \(error)")
            #expect(error.path.hasSuffix("/1"))
        }
    }

    @Test("a JPEG stream that is damaged inside is an error with the decoder's words")
    func damagedJPEG() throws {
        let error = try readError(
            compressedFiles(0) { stream in
                var stream = stream
                // An end marker where half of the pixels are still to come.
                stream.replaceSubrange(90..<92, with: [0xFF, 0xD9])
                return [stream]
            }
        )
        #expect(error.code == .decoderFailed)
        #expect(error.detail == "Corrupt JPEG data: premature end of data segment")
    }

    @Test("a compressed picture of another size than the header's is refused", arguments: streams.indices)
    func compressedOfAnotherSize(index: Int) throws {
        for (rows, columns) in [(7, 8), (6, 9), (16000, 16000), (60, 80)] {
            var slice = TestSlice()
            slice.bits = (16, 12, 11, 0)
            slice.change = {
                $0.short(0x0028_0010, rows)
                $0.short(0x0028_0011, columns)
            }
            var other = slice
            other.position.z = 3
            other.instance = 2
            let files = [slice, other].map {
                $0.file(syntax: Self.streams[index].syntax, fragments: [Self.stream(index)])
            }
            let error = try readError(["a": files[0], "b": files[1]])
            #expect([.decoderFailed, .wrongPixelLength].contains(error.code), "\(error)")
        }
    }

    @Test("pixel data too short or too long is refused", arguments: [0, 2, 48, 94, 192, 400])
    func wrongLength(bytes: Int) throws {
        var slices = TestSlice.stack(3)
        slices[1].pixelBytes = [UInt8](repeating: 1, count: bytes)
        let error = try readError(shuffledFiles(slices))
        #expect(error.code == .wrongPixelLength)
        #expect(error.detail.contains("\(bytes) bytes"))
    }

    @Test("an object without pixel data is refused")
    func noPixels() throws {
        var slices = TestSlice.stack(3)
        slices[1].change = { $0.remove(0x7FE0_0010) }
        #expect(try readError(shuffledFiles(slices)).code == .missingPixelData)
    }

    @Test("of several faulty slices the lowest is named, for any number of threads")
    func lowestFault() async throws {
        var slices = TestSlice.stack(40)
        for k in [11, 12, 25, 39] { slices[k].pixelBytes = [1, 2] }
        let folder = try TemporaryFolder("dicom")
        let paths = try slices.map { try folder.write($0.file(), to: "s\($0.instance)").path }
        let errors = try await resultsForWidths { scope in
            let series = try DICOMScanner.scan(paths: paths, scope: scope).series[0]
            return #expect(throws: DICOMReadError.self) { try DICOMReader.readVolume(series, scope: scope) }?.path
        }
        #expect(errors == Array(repeating: folder("s12").path, count: 3))
    }

    @Test("a file that changed or went after the scan is an error that names it")
    func changedSinceScan() throws {
        try TemporaryFolder.with("dicom") { folder in
            let paths = try TestSlice.stack(3).map { try folder.write($0.file(), to: "\($0.instance)").path }
            let series = try DICOMScanner.scan(paths: paths, scope: .serial()).series[0]
            var other = TestSlice()
            other.bits = (16, 12, 11, 0)
            try folder.write(other.file(), to: "2")
            let changed = try #require(throws: DICOMReadError.self) {
                try DICOMReader.readVolume(series, scope: .serial())
            }
            #expect(changed.code == .unsupportedPixels && changed.path == paths[1])
        }
    }

    @Test("a raised flag stops scan and reading")
    func cancelled() throws {
        let flag = CancellationFlag()
        flag.cancel()
        let series = try onlySeries(TestSlice.stack(3))
        #expect(throws: CancelledError.self) { try DICOMReader.readVolume(series, scope: .serial(flag)) }
        #expect(throws: CancelledError.self) { try DICOMScanner.scan(paths: ["a"], scope: .serial(flag)) }
    }
}
