import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Frames of enhanced objects and tiles of mosaics")
struct FrameTests {
    /// An enhanced MR object whose frame n lies at z = 3 (first + n) and holds the ramp plus 1000 n.
    private func enhanced(
        _ frames: Int,
        from first: Int = 0,
        change: (inout DICOMDataSet) -> Void = { _ in }
    ) -> [UInt8] {
        var slice = TestSlice()
        slice.sopClass = "1.2.840.10008.5.1.4.1.1.4.1"
        var set = slice.dataSet
        for tag: UInt32 in [0x0020_0032, 0x0020_0037, 0x0028_0030] { set.remove(tag) }
        set.text(0x0028_0008, "IS", "\(frames)")
        var orientation = DICOMDataSet()
        orientation.text(0x0020_0037, "DS", "1\\0\\0\\0\\1\\0")
        var measures = DICOMDataSet()
        measures.text(0x0028_0030, "DS", "2\\0.5")
        measures.text(0x0018_0050, "DS", "2.5")
        var shared = DICOMDataSet()
        shared.sequence(0x0020_9116, [orientation])
        shared.sequence(0x0028_9110, [measures])
        set.sequence(0x5200_9229, [shared])
        set.sequence(
            0x5200_9230,
            (0..<frames).map { frame in
                var place = DICOMDataSet()
                place.text(0x0020_0032, "DS", "1\\2\\\(3 * (first + frame))")
                var values = DICOMDataSet()
                values.text(0x0028_1052, "DS", "\(frame)")
                values.text(0x0028_1053, "DS", "2")
                var content = DICOMDataSet()
                content.text(0x0020_9056, "SH", "1")
                content.bytes(0x0020_9157, "UL", littleEndian(UInt32(1)) + littleEndian(UInt32(frame + 1)))
                content.bytes(0x0020_9128, "UL", littleEndian(UInt32(4)))
                var item = DICOMDataSet()
                item.sequence(0x0020_9113, [place])
                item.sequence(0x0028_9145, [values])
                item.sequence(0x0020_9111, [content])
                return item
            }
        )
        set.bytes(
            0x7FE0_0010,
            "OW",
            (0..<frames).flatMap { (frame: Int) -> [UInt8] in
                TestSlice.ramp.flatMap { (cell: UInt16) -> [UInt8] in littleEndian(cell + UInt16(1000 * frame)) }
            }
        )
        change(&set)
        return DICOMDataSet.preamble("1.2.840.10008.1.2.1") + set.encoded(.explicit)
    }

    private func object<R>(_ file: [UInt8], _ body: (DICOMObject) throws -> R) throws -> R {
        try TemporaryFolder.with("dicom") { folder in
            try body(try DICOMObject.readHeader(path: try folder.write(file, to: "a").path))
        }
    }

    @Test("a frame has its own place, slope and dimensions, and shares the rest")
    func groups() throws {
        try object(enhanced(3)) { object in
            let slices = try object.slices()
            #expect(slices.map(\.frame) == [0, 1, 2])
            #expect(slices.map(\.plane.position) == (0..<3).map { SIMD3(1, 2, Double(3 * $0)) })
            #expect(
                slices.allSatisfy { slice in
                    let plane = slice.plane
                    return plane.rowSpacing == 2 && plane.columnSpacing == 0.5 && plane.sliceThickness == 2.5
                }
            )
            #expect(slices.map(\.plane.rescaleIntercept) == [0, 1, 2])
            #expect(slices.map(\.plane.dimensionIndex) == [[1, 1], [1, 2], [1, 3]])
            #expect(slices.allSatisfy { $0.plane.stackID == "1" && $0.plane.temporalPosition == 4 })
        }
    }

    @Test("40 frames become a volume with each frame's own slope, on any number of threads")
    func volume() async throws {
        let file = enhanced(40)
        let expected: [Float] = (0..<40).flatMap { (frame: Int) -> [Float] in
            TestSlice.ramp.map { (cell: UInt16) -> Float in Float(2 * (Int(cell) + 1000 * frame) + frame) }
        }
        let folder = try TemporaryFolder("dicom")
        let path = try folder.write(file, to: "a").path
        let results = try await resultsForWidths { scope in
            let series = try #require(try DICOMScanner.scan(paths: [path], scope: scope).series.first)
            let volume = try DICOMReader.readVolume(series, scope: scope)
            #expect(volume.geometry.shape == VolumeShape(x: 8, y: 6, z: 40))
            return voxels(volume)
        }
        #expect(results.allSatisfy { $0 == expected })
    }

    @Test("what a frame states counts before its data set, with a note that counts the frames")
    func conflicting() throws {
        let file = enhanced(4) { $0.text(0x0028_1052, "DS", "1") }
        try withScan(["a": file]) { scan in
            let series = try #require(scan.series.first)
            // The second frame states 1 too.
            let note = "3 frames state another RescaleIntercept (0028,1052) than the data set they are in"
            #expect(series.notes.texts.contains { $0.contains(note) }, "\(series.notes)")
            let values = voxels(try DICOMReader.readVolume(series, scope: .serial()))
            for frame in 0..<4 {
                let expected: Float = 2 * (Float(TestSlice.ramp[0]) + 1000 * Float(frame)) + Float(frame)
                #expect(values[frame * 48] == expected)
            }
        }
    }

    @Test("an image of which an object is missing is refused with its number", arguments: [nil, 1, 2, 4] as [Int?])
    func concatenation(missing: Int?) throws {
        var files: [String: [UInt8]] = [:]
        for number in 1...4 where number != missing {
            files["\(number)"] = enhanced(2, from: 2 * number) { set in
                set.text(0x0008_0018, "UI", "1.2.9.\(number)")
                set.text(0x0020_9161, "UI", "1.2.9")
                set.short(0x0020_9162, number)
                set.short(0x0020_9163, 4)
            }
        }
        try withScan(files) { scan in
            let series = try #require(scan.series.first)
            #expect(scan.series.count == 1 && series.slices.count == (missing == nil ? 8 : 6))
            #expect(series.geometry?.shape.z == (missing == nil ? 8 : nil))
            guard let missing else { return }
            let problem = try #require(series.problem)
            // A gap in the stack is found before.
            let detail = missing == 2 ? "gap of 9.0 mm" : "InConcatenationNumber (0020,9162) \(missing)"
            #expect(problem.code == .missingSlices && problem.detail.contains(detail), "\(problem)")
        }
    }

    @Test("frames without groups, or with too few, are refused with the figures")
    func missingGroups() throws {
        for (change, words): ((inout DICOMDataSet) -> Void, String) in [
            ({ $0.remove(0x5200_9230) }, "is missing"), ({ $0.text(0x0028_0008, "IS", "4") }, "has 3 items"),
        ] {
            try withScan(["a": enhanced(3, change: change)]) { scan in
                let problem = try #require(scan.series.first?.problem)
                #expect(problem.code == .multiFrame && problem.detail.contains(words))
            }
        }
    }

    @Test("frames that the file has not the bytes for do not become slices")
    func claimedPixels() throws {
        let file = enhanced(40) { $0.short(0x0028_0010, 600) }
        try object(file) { object in
            #expect(object.frameGroupCount == 40)
            let error = #expect(throws: DICOMReadError.self) { try object.slices() }
            #expect(error?.code == .wrongPixelLength)
        }
        try withScan(["a": file]) { scan in
            let series = try #require(scan.series.first)
            #expect(series.problem?.code == .wrongPixelLength && series.slices.isEmpty && series.files.count == 1)
        }
        // Beside it, a whole object of the same series: both files are told.
        try withScan(["a": file, "b": enhanced(3)]) { scan in
            let series = try #require(scan.series.first)
            #expect(scan.series.count == 1 && series.problem?.code == .wrongPixelLength && series.files.count == 2)
        }
    }

    @Test("more frames than any object has are refused before they take memory")
    func tooManyFrames() throws {
        let count = (1 << 18) + 1
        let item: [UInt8] = [0xFE, 0xFF, 0, 0xE0, 0, 0, 0, 0]
        let items = (0..<8 * count).map { (index: Int) -> UInt8 in item[index % 8] }
        let file = enhanced(1) { set in
            set.text(0x0028_0008, "IS", "\(count)")
            set.bytes(0x5200_9230, "SQ", items)
        }
        let error = #expect(throws: DICOMReadError.self) { try object(file) { _ in } }
        #expect(error?.code == .notReadable)
    }

    @Test("frames that lie in the file no more are an error", arguments: [0, 95, 190, 286])
    func cutFrames(bytes: Int) throws {
        let file = enhanced(3) { set in
            set.bytes(0x7FE0_0010, "OW", [UInt8](repeating: 1, count: bytes))
        }
        _ = try object(file) { object in
            #expect(throws: DICOMReadError.self) { try DICOMReader.storedValues(of: object) }
        }
    }

    /// A mosaic of 3 × 3 tiles of 8 × 8 pixels, eight of them used; pixel values are those of the tile.
    private func mosaic(change: @escaping (inout DICOMDataSet) -> Void = { _ in }) -> [UInt8] {
        var slice = TestSlice()
        slice.sopClass = "1.2.840.10008.5.1.4.1.1.4"
        slice.position = SIMD3(-10, -20, 5)
        slice.spacing = (2, 2)
        slice.change = { set in
            set.text(0x0008_0008, "CS", "ORIGINAL\\PRIMARY\\M\\MOSAIC")
            set.text(0x0008_0060, "CS", "MR")
            set.text(0x0018_0088, "DS", "3.5")
            set.text(0x0019_0010, "LO", "SIEMENS MR HEADER")
            set.short(0x0019_100A, 8)
            set.short(0x0028_0010, 24)
            set.short(0x0028_0011, 24)
            let cells: [UInt16] = (0..<576).map { (index: Int) -> UInt16 in
                let (row, column) = (index / 192, index % 24 / 8)
                return UInt16(row * 3 + column + 1)
            }
            set.bytes(0x7FE0_0010, "OW", cells.flatMap { littleEndian($0) })
            change(&set)
        }
        return slice.file()
    }

    @Test("the used tiles of a mosaic are slices around the mosaic's centre")
    func tiles() throws {
        try withScan(["a": mosaic()]) { scan in
            let series = try #require(scan.series.first)
            let volume = try DICOMReader.readVolume(series, scope: .serial())
            #expect(volume.geometry.shape == VolumeShape(x: 8, y: 8, z: 8))
            #expect(voxels(volume) == (1...8).flatMap { [Float](repeating: Float($0), count: 64) })
            let first = try #require(series.slices.first)
            // Half of sixteen pixels of 2 mm further in.
            #expect(first.plane.position == SIMD3(6, -4, 5))
            #expect(series.slices.last?.plane.position == SIMD3(6, -4, 5 + 7 * 3.5))
        }
    }

    @Test("the scanner's own header turns the order of a mosaic's slices")
    func normal() throws {
        func tag(_ name: String, _ values: [String]) -> [UInt8] {
            var bytes: [UInt8] = Array(name.utf8)
            bytes += [UInt8](repeating: 0, count: 64 - bytes.count)
            bytes += littleEndian(Int32(3))
            bytes += [0x46, 0x44, 0, 0] as [UInt8]
            bytes += littleEndian(Int32(0))
            bytes += littleEndian(Int32(values.count))
            bytes += littleEndian(Int32(77))
            for value in values {
                var text: [UInt8] = Array(value.utf8)
                text.append(0)
                let length = littleEndian(Int32(text.count))
                bytes += length
                bytes += length
                bytes += littleEndian(Int32(77))
                bytes += length
                bytes += text
                bytes += [UInt8](repeating: 0, count: (4 - text.count % 4) % 4)
            }
            return bytes
        }
        var header: [UInt8] = Array("SV10".utf8)
        header += [4, 3, 2, 1] as [UInt8]
        header += littleEndian(Int32(2))
        header += littleEndian(Int32(77))
        header += tag("NumberOfImagesInMosaic", ["7"])
        header += tag("SliceNormalVector", ["0.0", "0", "-1.00000000"])
        let file = mosaic { set in
            set.remove(0x0019_100A)
            set.text(0x0029_0010, "LO", "SIEMENS CSA HEADER")
            set.bytes(0x0029_1010, "OB", header)
        }
        try object(file) { object in
            let slices = try object.slices()
            #expect(slices.count == 7)
            #expect(slices.last?.plane.position == SIMD3(6, -4, 5 - 6 * 3.5))
        }
        // Every shorter header is survived.
        try TemporaryFolder.with("dicom") { folder in
            for count in stride(from: 0, to: header.count, by: 2) {
                let file = mosaic { set in
                    set.remove(0x0019_100A)
                    set.text(0x0029_0010, "LO", "SIEMENS CSA HEADER")
                    set.bytes(0x0029_1010, "OB", Array(header[..<count]))
                }
                let object = try DICOMObject.readHeader(path: try folder.write(file, to: "a").path)
                #expect([1, 7].contains(try object.slices().count))
            }
        }
    }

    @Test("tiles too small to be pictures are not slices")
    func smallTiles() throws {
        try withScan(["a": mosaic { $0.short(0x0019_100A, 16) }]) { scan in
            let problem = try #require(scan.series.first?.problem)
            #expect(problem.code == .mosaic && problem.detail.contains("its 16 tiles do not match"))
        }
    }

    @Test("a mosaic that does not say how many tiles it has is refused")
    func unknownTiles() throws {
        try withScan(["a": mosaic { $0.remove(0x0019_100A) }]) { scan in
            #expect(scan.series.first?.problem?.code == .mosaic)
        }
    }
}
