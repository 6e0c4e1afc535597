import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("A series that holds several volumes is taken apart")
struct SliceSplittingTests {
    /// Slices of `passes` passes through one stack, numbered on; `change` gets the pass and the slice.
    private func passes(
        _ passes: Int,
        _ count: Int = 4,
        change: @escaping (Int, Int, inout DICOMDataSet) -> Void = { _, _, _ in }
    ) -> [TestSlice] {
        (0..<passes).flatMap { pass in
            TestSlice.stack(count).enumerated().map { k, slice in
                var slice = slice
                slice.instance = pass * count + k + 1
                slice.cells = TestSlice.ramp.map { $0 + UInt16(1000 * pass + 100 * k) }
                slice.change = { change(pass, k, &$0) }
                return slice
            }
        }
    }

    private func parts(_ slices: [TestSlice]) throws -> [DICOMSeries] {
        try withScan(shuffledFiles(slices)) { scan in
            #expect(scan.rejectedFiles.isEmpty)
            #expect(Set(scan.series.map(\.seriesInstanceUID)).count == 1)
            // Parts that are volumes hold the voxels of one pass, in the order of positions.
            for series in scan.series where series.problem == nil {
                let volume = try DICOMReader.readVolume(series, scope: .serial())
                #expect(volume.geometry == series.geometry)
                let instances = series.slices.compactMap(\.plane.instanceNumber)
                let expected = instances.flatMap { number in
                    slices.first { $0.instance == number }.map { $0.cells.map(Float.init) } ?? []
                }
                #expect(voxels(volume) == expected)
            }
            return scan.series
        }
    }

    /// Every part is a whole pass, and says by what it was told apart.
    private func expectPasses(_ series: [DICOMSeries], _ labels: [String], _ reason: String) {
        #expect(series.map(\.part) == labels)
        #expect(series.allSatisfy { $0.problem == nil && $0.notes.texts.contains { $0.contains(reason) } })
        for (pass, part) in series.enumerated() {
            let count = part.slices.count
            #expect(part.slices.compactMap(\.plane.instanceNumber) == (1...count).map { pass * count + $0 })
        }
    }

    @Test("by echo, and each part says so")
    func echoes() throws {
        let series = try parts(passes(2) { pass, _, set in set.text(0x0018_0086, "IS", "\(pass + 1)") })
        expectPasses(series, ["e1", "e2"], "EchoNumbers (0018,0086) is")
    }

    @Test("by magnitude, phase, real and imaginary")
    func components() throws {
        let words = ["M", "P", "R", "I"]
        let series = try parts(
            passes(4) { pass, _, set in set.text(0x0008_0008, "CS", "ORIGINAL\\PRIMARY\\\(words[pass])\\ND") }
        )
        expectPasses(series, ["magnitude", "phase", "real", "imaginary"], "ImageType (0008,0008)")
    }

    @Test("by water and fat, even where each covers other places")
    func waterAndFat() throws {
        var slices = passes(2) { pass, _, set in
            set.text(0x0008_0008, "CS", "DERIVED\\PRIMARY\\OTHER\\" + (pass == 0 ? "WATER" : "FAT"))
        }
        for k in 4..<8 { slices[k].position.z += 6 }
        expectPasses(try parts(slices), ["water", "fat"], "ImageType (0008,0008)")
    }

    @Test("by acquisition where passes repeat positions, and not where they do not")
    func acquisitions() throws {
        let repeated = try parts(passes(3) { pass, _, set in set.text(0x0020_0012, "IS", "\(pass + 1)") })
        expectPasses(repeated, ["a1", "a2", "a3"], "AcquisitionNumber (0020,0012)")
        // Step-and-shoot: every slice is an acquisition of its own.
        let single = try parts(passes(1, 6) { _, k, set in set.text(0x0020_0012, "IS", "\(k + 1)") })
        #expect(single.map(\.part) == [nil])
        #expect(single[0].problem == nil && single[0].notes.isEmpty)
    }

    @Test("by acquisition where two regions make an even stack each, but not together")
    func regions() throws {
        var slices = passes(2) { pass, _, set in set.text(0x0020_0012, "IS", "\(pass + 1)") }
        for k in 4..<8 { slices[k].position.z += 50.3 }
        expectPasses(try parts(slices), ["a1", "a2"], "AcquisitionNumber (0020,0012)")
    }

    @Test(
        "by the order in which passes were numbered or taken",
        arguments: ["number", "acquisition time", "content time", "one time a pass"]
    )
    func runs(order: String) throws {
        var slices = passes(2) { pass, k, set in
            let time = order == "one time a pass" ? "1200\(10 + pass)" : "1200\(10 + pass * 4 + k).25"
            if order == "acquisition time" || order == "one time a pass" { set.text(0x0008_0032, "TM", time) }
            if order == "content time" { set.text(0x0008_0033, "TM", time) }
        }
        // Numbers that run through nothing, as below, where the time is to tell.
        let numbers = order == "number" ? Array(1...8) : [1, 3, 4, 6, 2, 8, 5, 7]
        for (k, number) in numbers.enumerated() { slices[k].instance = number }
        let series = try parts(slices)
        #expect(series.map(\.part) == ["p1", "p2"])
        #expect(series.flatMap { $0.slices.compactMap(\.plane.instanceNumber) } == numbers)
        let reason = order == "one time a pass" ? "AcquisitionTime (0008,0032) is 12:00:1" : "4 positions occur 2 times"
        #expect(series.allSatisfy { $0.problem == nil && $0.notes.texts.contains { $0.contains(reason) } })
    }

    @Test("slices numbered position by position are told apart too")
    func positionByPosition() throws {
        var slices = passes(2)
        for k in slices.indices { slices[k].instance = (k % 4) * 2 + k / 4 + 1 }
        let series = try parts(slices)
        #expect(series.map(\.part) == ["p1", "p2"])
        #expect(series.map { $0.slices.compactMap(\.plane.instanceNumber) } == [[1, 3, 5, 7], [2, 4, 6, 8]])
    }

    @Test("a last pass that was broken off stands for itself")
    func brokenOff() throws {
        let series = try parts(Array(passes(3).dropLast()))
        #expect(series.map(\.part) == ["p1", "p2", "p3"])
        #expect(series.map(\.slices.count) == [4, 4, 3])
        #expect(series.allSatisfy { $0.problem == nil })
    }

    @Test("an order that does not run through the positions splits nothing")
    func noOrder() throws {
        var slices = passes(2)
        for (k, number) in [1, 3, 4, 6, 2, 8, 5, 7].enumerated() { slices[k].instance = number }
        let series = try parts(slices)
        #expect(series.map(\.part) == [nil])
        #expect(series[0].problem?.code == .duplicateSlices)
        #expect(series[0].problem?.detail.contains("8 slices share 4 positions") == true)
    }

    @Test("by two things at once, with both in the name")
    func nested() throws {
        let slices = passes(4) { pass, _, set in
            set.text(0x0018_0086, "IS", "\(pass / 2 + 1)")
            set.text(0x0020_0012, "IS", "\(pass % 2 + 1)")
        }
        expectPasses(try parts(slices), ["e1_a1", "e1_a2", "e2_a1", "e2_a2"], "EchoNumbers")
    }

    @Test("by plane, matrix and pixel spacing")
    func grids() throws {
        var planes = TestSlice.stack(4) + TestSlice.stack(3, row: SIMD3(0, 1, 0), column: SIMD3(0, 0, -1))
        for k in planes.indices { planes[k].instance = k + 1 }
        #expect(try parts(planes).map(\.part) == ["axial", "sagittal"])

        var sizes = TestSlice.stack(4) + TestSlice.stack(3)
        for k in sizes.indices {
            sizes[k].instance = k + 1
            if k >= 4 {
                sizes[k].cells = Array(TestSlice.ramp.prefix(24))
                sizes[k].change = { $0.short(0x0028_0010, 3) }
            }
        }
        #expect(try parts(sizes).map(\.part) == ["8x3", "8x6"])

        var spacings = TestSlice.stack(4) + TestSlice.stack(3)
        for k in spacings.indices {
            spacings[k].instance = k + 1
            if k >= 4 { spacings[k].spacing = (2.5, 0.5) }
        }
        #expect(try parts(spacings).map(\.part) == ["2x0.5mm", "2.5x0.5mm"])
    }

    @Test("a scout and a map within a series do not take the volume with them")
    func kinds() throws {
        var slices = TestSlice.stack(6)
        slices[0].change = { $0.text(0x0008_0008, "CS", "ORIGINAL\\PRIMARY\\LOCALIZER") }
        slices[5].change = { $0.text(0x0008_0008, "CS", "DERIVED\\SECONDARY\\MPR") }
        let series = try parts(slices)
        #expect(series.map(\.part) == [nil, "derived", "localizer"])
        #expect(series.map { $0.problem?.code } == [nil, .derived, .localizer])
        #expect(series[1].problem?.detail.contains("MPR") == true)
    }

    @Test("DERIVED alone is no reason: compressed and resampled volumes carry it")
    func derivedAlone() throws {
        var slices = TestSlice.stack(4)
        for k in slices.indices { slices[k].change = { $0.text(0x0008_0008, "CS", "DERIVED\\SECONDARY\\AXIAL") } }
        #expect(try parts(slices).map { $0.problem?.code } == [nil])
    }

    @Test("the slices that were found are found again by their names")
    func foundAgain() throws {
        let slices = passes(3)
        try withScan(shuffledFiles(slices)) { scan in
            #expect(scan.series.count == 3)
            for series in scan.series {
                let names = series.slices.map { DICOMSlice.Name($0) }
                let again = try DICOMScanner.series(of: names, scope: .serial())
                #expect(again.geometry == series.geometry && again.slices == series.slices)
                #expect(again.problem == nil)
            }
            let wrong = DICOMSlice.Name(path: scan.series[0].files[0], frame: 1)
            #expect(throws: DICOMReadError.self) { try DICOMScanner.series(of: [wrong], scope: .serial()) }
        }
    }
}

@Suite("Copies of one object")
struct IdenticalCopiesTests {
    @Test("are left out where the bytes are the same, and the note says so")
    func sameBytes() throws {
        let slices = TestSlice.stack(4)
        try withScan(shuffledFiles(slices + [slices[2], slices[0]])) { scan in
            let series = try #require(scan.series.first)
            #expect(scan.series.count == 1 && series.problem == nil)
            #expect(series.slices.count == 4 && series.part == nil)
            #expect(
                series.notes.texts.count { $0.hasPrefix("2 copies were omitted") && $0.contains("same bytes") } == 1
            )
        }
    }

    @Test("are left out where another encoding holds the same pixels")
    func samePixels() throws {
        let slices = TestSlice.stack(4)
        var files = shuffledFiles(slices)
        files["again"] = slices[1].file(.implicit)
        try withScan(files) { scan in
            let series = try #require(scan.series.first)
            #expect(series.problem == nil && series.slices.count == 4)
            #expect(series.notes.texts.contains { $0.hasPrefix("1 copy was omitted") && $0.contains("same pixels") })
        }
    }

    @Test("are a fault where pixels or places differ")
    func different() throws {
        for moved in [false, true] {
            let slices = TestSlice.stack(4)
            var other = slices[1]
            if moved { other.slope = (2, 0) } else { other.cells[7] += 1 }
            try withScan(shuffledFiles(slices + [other])) { scan in
                let series = try #require(scan.series.first)
                let problem = try #require(series.problem)
                #expect(problem.code == .duplicateSlices && scan.series.count == 1)
                #expect(problem.detail.contains("the same SOPInstanceUID (0008,0018), but not the same pixels"))
                #expect(series.slices.count == 5)
            }
        }
    }

    @Test("of a copy in another encoding are copies of the first")
    func chain() throws {
        let slices = TestSlice.stack(4)
        var files = Dictionary(uniqueKeysWithValues: slices.enumerated().map { ("\($0.offset)", $0.element.file()) })
        for name in ["8", "9"] { files[name] = slices[1].file(.implicit) }
        try withScan(files) { scan in
            let series = try #require(scan.series.first)
            #expect(series.problem == nil && series.slices.count == 4)
            #expect(series.slices.map { $0.path.split(separator: "/").last } == ["0", "1", "2", "3"])
            #expect(series.notes.texts.contains { $0.hasPrefix("2 copies were omitted") && $0.contains("same pixels") })
        }
    }

    @Test("are looked for file by file, not pair by pair", .timeLimit(.minutes(1)))
    func many() throws {
        let files = (0..<1000).map { index -> (String, [UInt8]) in
            var slice = TestSlice()
            slice.cells[0] = UInt16(index)
            return ("\(index)", slice.file())
        }
        try withScan(Dictionary(uniqueKeysWithValues: files)) { scan in
            let series = try #require(scan.series.first)
            #expect(series.slices.count == 1000 && series.problem?.code == .duplicateSlices)
        }
    }

    @Test("are not decoded where they are larger than any slice")
    func large() throws {
        var slice = TestSlice()
        slice.bits = (8, 8, 7, 0)
        slice.pixelBytes = [UInt8](repeating: 1, count: 4100 * 4100)
        slice.change = {
            $0.short(0x0028_0010, 4100)
            $0.short(0x0028_0011, 4100)
        }
        try withScan(["a": slice.file(), "b": slice.file(.implicit)]) { scan in
            let series = try #require(scan.series.first)
            #expect(series.slices.count == 2 && series.problem?.code == .duplicateSlices)
        }
        // Bytes are compared all the same.
        try withScan(["a": slice.file(), "b": slice.file()]) { scan in
            #expect(scan.series.first?.slices.count == 1)
        }
    }

    @Test("are not guessed: without SOPInstanceUID the same pixels at one place are a fault")
    func withoutUID() throws {
        var slices = TestSlice.stack(4)
        slices.append(slices[1])
        for k in slices.indices { slices[k].change = { $0.remove(0x0008_0018) } }
        try withScan(shuffledFiles(slices)) { scan in
            #expect(scan.series.map { $0.problem?.code } == [.duplicateSlices])
        }
    }
}
