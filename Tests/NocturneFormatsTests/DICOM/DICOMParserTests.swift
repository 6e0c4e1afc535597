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
            count = nocturne_deflate(deflater, content, content.count, 1, 0, 1, target.baseAddress)
        }
        return DICOMDataSet.preamble("1.2.840.10008.1.2.1.99") + stream
    }

    /// The code and header of the parser alone, and of the parser with DCMTK behind it.
    private func read(_ path: String) -> (alone: (cdicom_code, cdicom_header), both: (cdicom_code, cdicom_header)) {
        var own = cdicom_header()
        var header = cdicom_header()
        let code = cdicom_read_object(path, &own, nil, nil, nil)
        return ((code, own), (cdcmtk_read_object(path, &header, nil, nil, nil, nil), header))
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
                let (alone, both) = read(try folder.write(bytes, to: name).path)
                #expect(alone.0 == CDICOM_OK && both.0 == CDICOM_OK, "\(name)")
                for header in [alone.1, both.1] {
                    #expect(header.rows == TestSlice.rows && header.columns == TestSlice.columns, "\(name)")
                    #expect(header.instance_number == 7, "\(name)")
                    #expect(Int(header.pixel_kind) == Int(CDICOM_PIXELS_CELLS), "\(name)")
                }
            }
        }
    }

    @Test("many threads read headers of deflated files, one at a time")
    func deflatedTogether() async throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(deflated(TestSlice(instance: 7)), to: "deflated").path
        let numbers = await withTaskGroup(of: Int64.self) { group in
            for _ in 0..<64 {
                group.addTask {
                    var header = cdicom_header()
                    return cdicom_read_object(path, &header, nil, nil, nil) == CDICOM_OK ? header.instance_number : -1
                }
            }
            return await group.reduce(into: []) { $0.append(Int($1)) }
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
                let (alone, both) = read(try folder.write(bytes, to: name).path)
                #expect(alone.0 == CDICOM_NOT_UNDERSTOOD, "\(name)")
                #expect(both.0 == CDICOM_OK && both.1.instance_number == 7, "\(name)")
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
