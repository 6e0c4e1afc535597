import CDCMTK
import CDICOMParser
import CNocturneDeflate
import Foundation
import NocturneConcurrency
import NocturneFormats
import NocturneTestSupport
import Testing

@Suite("The parser of DICOM data sets, and DCMTK behind it")
struct DICOMParserTests {
    /// The data set of a slice as one deflated stream behind its file meta information.
    private func deflated(_ slice: TestSlice) -> [UInt8] {
        let content = slice.dataSet.encoded(.explicit)
        let deflater = nocturne_deflater_new()
        defer { nocturne_deflater_free(deflater) }
        let stream = [UInt8](unsafeUninitializedCapacity: nocturne_deflate_bound(content.count)) { target, count in
            let voxels = nocturne_voxels(width: 1, row: 0)
            count = nocturne_deflate(deflater, content, content.count, voxels, 1, target.baseAddress)
        }
        return DICOMDataSet.preamble("1.2.840.10008.1.2.1.99") + stream
    }

    /// Some of what is read. The header itself has arrays of kilobytes, which Swift copies one by one: the compiler takes ten
    /// minutes for functions that pass it on.
    private struct Reading {
        let code: cdicom_code
        let rows, columns, instance, pixelKind: Int

        init(_ read: (UnsafeMutablePointer<cdicom_header>) -> cdicom_code) {
            let size = MemoryLayout<cdicom_header>.size
            let memory = UnsafeMutableRawPointer.allocate(
                byteCount: size,
                alignment: MemoryLayout<cdicom_header>.alignment
            )
            defer { memory.deallocate() }
            memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
            let header = memory.assumingMemoryBound(to: cdicom_header.self)
            code = read(header)
            let plane = header.pointee.plane
            (rows, columns, instance) = (Int(plane.rows), Int(plane.columns), Int(plane.instance_number))
            pixelKind = Int(header.pointee.pixel_kind)
        }

        /// By the parser alone.
        static func alone(_ path: String) -> Reading { Reading { cdicom_read_object(path, $0, nil, nil, nil) } }
        /// By the parser, with DCMTK behind it.
        static func both(_ path: String) -> Reading { Reading { cdcmtk_read_object(path, $0, nil, nil, nil, nil) } }
    }

    @Test("ordinary files are read without DCMTK")
    func ordinaryFiles() throws {
        let slice = TestSlice(instance: 7)
        let files = [
            "explicit": slice.file(.explicit), "implicit": slice.file(.implicit), "deflated": deflated(slice),
            "fragments": slice.file(syntax: "1.2.840.10008.1.2.4.90", fragments: [[1, 2, 3, 4]]),
        ]
        try TemporaryFolder.with("dicom") { folder in
            for (name, bytes) in files {
                let path = try folder.write(bytes, to: name).path
                for reading in [Reading.alone(path), .both(path)] {
                    #expect(reading.code == CDICOM_OK, "\(name)")
                    #expect(reading.rows == TestSlice.rows && reading.columns == TestSlice.columns, "\(name)")
                    #expect(reading.instance == 7, "\(name)")
                    #expect(reading.pixelKind == Int(CDICOM_PIXELS_CELLS), "\(name)")
                }
            }
        }
    }

    @Test("many threads read headers of deflated files, one at a time")
    func deflatedTogether() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(deflated(TestSlice(instance: 7)), to: "deflated").path
        let numbers = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<64 {
                group.addTask {
                    let reading = Reading.alone(path)
                    return reading.code == CDICOM_OK ? reading.instance : -1
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(numbers == Array(repeating: 7, count: 64))
    }

    @Test("what the parser does not understand, DCMTK reads")
    func fallback() throws {
        let slice = TestSlice(instance: 7)
        // Without a preamble, and with a transfer syntax that is in no table.
        let bare = slice.dataSet.encoded(.implicit)
        let unknown = DICOMDataSet.preamble("1.2.3.4.5") + slice.dataSet.encoded(.explicit)
        try TemporaryFolder.with("dicom") { folder in
            for (name, bytes) in ["bare": bare, "unknown": unknown] {
                let path = try folder.write(bytes, to: name).path
                #expect(Reading.alone(path).code == CDICOM_NOT_UNDERSTOOD, "\(name)")
                let both = Reading.both(path)
                #expect(both.code == CDICOM_OK && both.instance == 7, "\(name)")
            }
        }
    }

    @Test("every beginning of a deflated file gives an error or, with its pixels, the picture")
    func deflatedPrefixes() throws {
        let slice = TestSlice()
        let whole = deflated(slice)
        try TemporaryFolder.with("dicom") { folder in
            let reference = try folder.write(slice.file(), to: "reference").path
            let expected = try DICOMReader.storedValues(of: DICOMObject.readHeader(path: reference))
            var complete = 0
            for count in 0...whole.count {
                let path = try folder.write(Array(whole[..<count]), to: "a").path
                guard let object = try? DICOMObject.readHeader(path: path),
                    let values = try? DICOMReader.storedValues(of: object)
                else { continue }
                #expect(values == expected, "\(count) bytes")
                complete += 1
            }
            #expect(complete > 0)
        }
    }
}
