import Foundation
import NocturneConcurrency
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("A data set in the other representation than its transfer syntax states")
struct RepresentationTests {
    @Test("is read as it is, and a note says so", arguments: TestSlice.Syntax.allCases)
    func misstated(stated: TestSlice.Syntax) throws {
        let slices = TestSlice.stack(4)
        let expected = try withScan(shuffledFiles(slices)) { scan in
            voxels(try DICOMReader.readVolume(try #require(scan.series.first), scope: .serial()))
        }
        let files = Dictionary(uniqueKeysWithValues: slices.map { ("\($0.instance)", $0.misstatedFile(stated)) })
        try withScan(files) { scan in
            #expect(scan.rejectedFiles.isEmpty && scan.series.count == 1)
            let series = try #require(scan.series.first)
            #expect(series.problem == nil)
            #expect(voxels(try DICOMReader.readVolume(series, scope: .serial())) == expected)
            let note = try #require(series.notes.texts.first { $0.contains("TransferSyntaxUID") })
            #expect(note.contains("states \(stated) value representations"))
        }
    }

    @Test("a file cut within such a data set is no image", arguments: TestSlice.Syntax.allCases)
    func truncated(stated: TestSlice.Syntax) throws {
        let whole = TestSlice().misstatedFile(stated)
        try TemporaryFolder.with("dicom") { folder in
            for count in [140, 200, whole.count - 400, whole.count - 96 - 20] {
                let path = try folder.write(Array(whole[..<count]), to: "a").path
                let object = try? DICOMObject.readHeader(path: path)
                #expect(object.flatMap { try? DICOMReader.storedValues(of: $0) } == nil, "\(count) bytes")
            }
        }
    }

    @Test("segmentations refer to such a source")
    func source() throws {
        let source = try SourceSeries(3, isMisstated: true)
        let labels = try source.labels()
        let path = source.folder("out.dcm").path
        _ = try DICOMSegmentation.write(
            labels,
            segments: testSegments,
            from: DICOMObjectOrigin(sources: source.sources, maker: testMaker, fingerprint: testFingerprint),
            to: path,
            scope: .serial()
        )
        let back = try DICOMSegmentation.read(path: path, on: source.geometry)
        let header = try DICOMObject.readHeader(path: path)
        #expect(header.studyInstanceUID == "1.2.3" && header.frameOfReferenceUID == "1.2.99")
        #expect(back.notes.isEmpty)
    }
}
