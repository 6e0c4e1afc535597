import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("A DICOM series that is no volume says why")
struct SeriesTriageTests {
    /// The problem of a series of `slices`, whose reading must fail alike.
    private func problem(_ slices: [TestSlice]) throws -> DICOMReadError {
        let series = try onlySeries(slices)
        #expect(series.geometry == nil)
        let problem = try #require(series.problem)
        #expect(throws: problem) { try DICOMReader.readVolume(series, scope: .serial()) }
        #expect(!problem.path.isEmpty && problem.description.contains(problem.detail))
        return problem
    }

    @Test("a missing slice is named with its gap")
    func gap() throws {
        var slices = TestSlice.stack(20)
        slices.remove(at: 12)
        let problem = try problem(slices)
        #expect(problem.code == .missingSlices)
        #expect(problem.detail == "gap of 3.0 mm between slices 12 and 13, elsewhere 1.5 mm: slices are missing")
    }

    @Test("a step that is not whole is uneven, not missing")
    func uneven() throws {
        var slices = TestSlice.stack(6)
        slices[5].position.z += 0.7
        let problem = try problem(slices)
        #expect(problem.code == .spacingNotUniform)
        #expect(problem.detail.contains("step of 2.2 mm between slices 5 and 6, elsewhere 1.5 mm"))
    }

    @Test("steps that drift by small amounts of one sign are uneven")
    func drift() throws {
        var slices = TestSlice.stack(201, step: 1)
        for k in 101..<201 { slices[k].position.z += 0.008 * Double(k - 100) }
        #expect(try problem(slices).code == .spacingNotUniform)
    }

    @Test("different slices at one place that nothing tells apart")
    func duplicates() throws {
        var slices = TestSlice.stack(4)
        slices.append(slices[2])
        slices[4].instance = 9
        slices[4].cells[0] += 1
        let problem = try problem(slices)
        #expect(problem.code == .duplicateSlices)
        #expect(problem.detail.contains("5 slices share 4 positions"))
        #expect(!problem.detail.contains("SOPInstanceUID"))
    }

    @Test("a slice of another orientation is named, in a series too short to be split")
    func oddSlice() throws {
        var slices = TestSlice.stack(6)
        slices.append(TestSlice(instance: 7, row: SIMD3(0, 1, 0), column: SIMD3(0, 0, -1)))
        let files = Dictionary(uniqueKeysWithValues: slices.map { ("\($0.instance)", $0.file()) })
        try withScan(files) { scan in
            let problem = try #require(scan.series.first?.problem)
            #expect(problem.code == .orientationsDiffer && problem.path.hasSuffix("/7"))
            let words = "planes are 90.0° apart; 7 is the only one of its orientation"
            #expect(problem.detail.hasSuffix(words), "\(problem)")
        }
    }

    @Test("a single slice has no step")
    func singleSlice() throws {
        #expect(try problem(TestSlice.stack(1)).code == .singleSlice)
    }

    @Test("another orientation, matrix or pixel spacing within the series")
    func differences() throws {
        var turned = TestSlice.stack(4)
        turned[3].row = SIMD3(0, 1, 0)
        turned[3].column = SIMD3(0, 0, -1)
        let orientation = try problem(turned)
        #expect(orientation.code == .orientationsDiffer)
        #expect(orientation.detail.contains("90.0°"))

        var wider = TestSlice.stack(4)
        wider[1].change = { $0.short(0x0028_0011, 4) }
        #expect(try problem(wider).code == .matricesDiffer)

        var spaced = TestSlice.stack(4)
        spaced[1].spacing = (2.0, 0.51)
        #expect(try problem(spaced).code == .pixelSpacingsDiffer)

        var skewed = TestSlice.stack(4)
        for k in skewed.indices { skewed[k].column = SIMD3(0.1, 1, 0) }
        #expect(try problem(skewed).code == .orientationInvalid)
    }

    @Test("one slice of another size in a long series is named, and the others are not refused for a gap")
    func oddSize() throws {
        var slices = TestSlice.stack(20)
        slices[7].change = { $0.short(0x0028_0011, 4) }
        let files = Dictionary(
            uniqueKeysWithValues: slices.enumerated().map { ("\($0.offset + 10).dcm", $0.element.file()) }
        )
        try withScan(files) { scan in
            let problem = try #require(scan.series.first?.problem)
            #expect(scan.series.count == 1 && problem.code == .matricesDiffer)
            #expect(problem.detail == "17.dcm has 4×6 pixels, but 10.dcm of the same series has 8×6")
        }
        // Beyond the stack it leaves no gap.
        slices[7].change = { _ in }
        slices[19].change = { $0.short(0x0028_0011, 4) }
        try withScan(shuffledFiles(slices)) { scan in
            #expect(scan.series.map { $0.problem?.code } == [.singleSlice, nil])
        }
    }

    @Test("a spacing that no pixel has is told, on a stack that leans too", arguments: ["1e-20", "0", "1e5"])
    func pixelSpacing(_ text: String) throws {
        var slices = TestSlice.stack(4)
        for k in slices.indices {
            slices[k].position.y += Double(k)
            slices[k].change = { $0.text(0x0028_0030, "DS", "\(text)\\\(text)") }
        }
        let problem = try problem(slices)
        #expect(problem.code == .pixelSpacingsDiffer)
        #expect(problem.detail.contains("must be between 0.0001 and 10000.0 mm"))
    }

    @Test(
        "positions too far apart for a grid",
        arguments: [["1e300", "2e300", "3e300"], ["-1.7e308", "0", "1.7e308"]]
    )
    func hugePositions(_ heights: [String]) throws {
        var slices = TestSlice.stack(3)
        for (k, height) in heights.enumerated() {
            slices[k].change = { $0.text(0x0020_0032, "DS", "0\\0\\\(height)") }
        }
        #expect(try problem(slices).code == .positionsInvalid)
    }

    @Test("a leaning stack is sheared, by so many degrees")
    func sheared() throws {
        var slices = TestSlice.stack(10, step: 3)
        for k in slices.indices { slices[k].position.y += Double(k) }
        let problem = try problem(slices)
        #expect(problem.code == .sheared)
        #expect(problem.detail.contains("18.4349°"))

        var pushed = TestSlice.stack(10)
        pushed[4].position.x += 2
        let sideways = try self.problem(pushed)
        #expect(sideways.code == .sheared)
        let start = "slice 5 is shifted sideways by 2.0 mm relative to the others. It cannot be corrected"
        #expect(sideways.detail.hasPrefix(start))
    }

    @Test(
        "missing elements are named by keyword and tag",
        arguments: [
            (UInt32(0x0028_0010), "Rows (0028,0010)"), (0x0028_0011, "Columns (0028,0011)"),
            (0x0028_0100, "BitsAllocated (0028,0100)"), (0x0028_0101, "BitsStored (0028,0101)"),
            (0x0028_0103, "PixelRepresentation (0028,0103)"), (0x0028_0004, "PhotometricInterpretation (0028,0004)"),
            (0x0020_0032, "ImagePositionPatient (0020,0032)"), (0x0020_0037, "ImageOrientationPatient (0020,0037)"),
            (0x0028_0030, "PixelSpacing (0028,0030)"),
        ]
    )
    func missing(tag: UInt32, name: String) throws {
        var slices = TestSlice.stack(3)
        slices[1].change = { $0.remove(tag) }
        let problem = try problem(slices)
        #expect(problem.code == .missingElement)
        #expect(problem.detail.hasPrefix(name))
    }

    @Test(
        "numbers that are none are refused with their text",
        arguments: ["1\\2", "a\\b\\c", "1\\2\\nan", "1\\2\\inf", "1\\2\\3\\4"]
    )
    func unreadableNumbers(value: String) throws {
        var slices = TestSlice.stack(3)
        slices[2].change = { $0.text(0x0020_0032, "DS", value) }
        let problem = try problem(slices)
        #expect(problem.code == .unusableValue && problem.detail.contains("\"\(value)\""))
    }

    @Test("objects of other kinds are told by what they are")
    func otherKinds() throws {
        func code(_ change: @escaping (inout DICOMDataSet) -> Void) throws -> DICOMReadError.Code {
            var slices = TestSlice.stack(3)
            for k in slices.indices { slices[k].change = change }
            return try problem(slices).code
        }
        #expect(try code { $0.text(0x0008_0016, "UI", "1.2.840.10008.5.1.4.1.1.66.4") } == .notAnImageClass)
        #expect(try code { $0.text(0x0028_0008, "IS", "12") } == .multiFrame)
        #expect(try code { $0.text(0x0008_0008, "CS", "ORIGINAL\\PRIMARY\\M\\ND\\MOSAIC") } == .mosaic)
        #expect(try code { $0.text(0x0008_0008, "CS", "ORIGINAL\\PRIMARY\\LOCALIZER") } == .localizer)
        #expect(try code { $0.short(0x0028_0002, 3) } == .colour)
        #expect(try code { $0.text(0x0028_0004, "CS", "RGB") } == .colour)
        #expect(try code { $0.text(0x0028_0004, "CS", "PALETTE COLOR") } == .colour)
        #expect(try code { $0.short(0x0028_0100, 12) } == .unsupportedPixels)
        #expect(try code { $0.short(0x0028_0102, 16) } == .unsupportedPixels)
        #expect(try code { $0.short(0x0028_0103, 7) } == .unsupportedPixels)
        #expect(try code { $0.text(0x0028_1053, "DS", "0") } == .unusableValue)
        #expect(try code { $0.short(0x0028_0010, 65535) } == .wrongPixelLength)
        #expect(try code { $0.short(0x0028_0010, 0) } == .badDimensions)
        #expect(try code { $0.short(0x0028_0011, 0) } == .badDimensions)
    }

    @Test("no class but modality CT, MR or PT is an image")
    func modalityAlone() throws {
        var slices = TestSlice.stack(3)
        for k in slices.indices {
            slices[k].change = {
                $0.remove(0x0008_0016)
                $0.remove(0x0008_0018)
            }
        }
        #expect(try onlySeries(slices).problem == nil)
    }

    @Test("an unknown transfer syntax is named")
    func unknownSyntax() throws {
        let file = DICOMDataSet.preamble("1.2.840.10008.1.2.4.202") + TestSlice().dataSet.encoded(.explicit)
        try withScan(["a": file]) { scan in
            let problem = try #require(scan.series.first?.problem)
            #expect(problem.code == .unsupportedPixels)
            #expect(problem.detail.contains("1.2.840.10008.1.2.4.202"))
        }
    }

    @Test("a private transfer syntax is named with its manufacturer")
    func privateSyntax() throws {
        let file = DICOMDataSet.preamble("1.3.46.670589.33.1.4.1") + TestSlice().dataSet.encoded(.explicit)
        try withScan(["a": file]) { scan in
            let problem = try #require(scan.series.first?.problem)
            #expect(
                problem.detail == "no decoder for transfer syntax \"1.3.46.670589.33.1.4.1\" (a private one of Philips)"
            )
        }
    }
}
