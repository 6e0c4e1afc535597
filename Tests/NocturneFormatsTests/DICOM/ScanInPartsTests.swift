import Foundation
import NocturneConcurrency
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Synchronization
import Testing

@Suite("A scan that keeps few headers at a time")
struct ScanInPartsTests {
    /// Seven series of different lengths, whose files are mixed, a text, a broken file and a series without a UID.
    private func files(in folder: TemporaryFolder) throws -> [String] {
        var paths: [String] = []
        for number in 0..<8 {
            for var slice in TestSlice.stack(2 + number % 3) {
                slice.series = number == 7 ? "" : "1.2.\(number + 5)"
                paths.append(try folder.write(slice.file(), to: "\(slice.instance)-\(number)").path)
            }
        }
        paths.append(try folder.write("no image at all", to: "notes.txt").path)
        paths.append(try folder.write(Array(TestSlice.stack(1)[0].file().prefix(150)), to: "2-cut").path)
        return paths
    }

    @Test("finds the same as a scan at once", arguments: [1, 3, 5, 8, 24])
    func equal(filesAtOnce: Int) throws {
        let folder = try TemporaryFolder("dicom")
        let paths = try files(in: folder)
        let whole = try DICOMScanner.scan(paths: paths, scope: .serial())
        var series: [DICOMSeries] = []
        let scan = try DICOMScanner.scan(paths: paths, scope: .serial(), filesAtOnce: filesAtOnce) { series.append($0) }
        #expect(whole.series.count == 8 && whole.rejectedFiles.count == 1 && whole.notDICOM.count == 1)
        #expect(scan.series.isEmpty)
        #expect(series.map(\.slices) == whole.series.map(\.slices))
        #expect(series.map(\.geometry) == whole.series.map(\.geometry))
        #expect(series.map(\.notes) == whole.series.map(\.notes))
        #expect(scan.rejectedFiles == whole.rejectedFiles && scan.notDICOM == whole.notDICOM)
    }

    @Test("reads the headers of few files twice only where there are more, and counts each file once")
    func reading() throws {
        let folder = try TemporaryFolder("dicom")
        let paths = try files(in: folder)
        let reads = Mutex<[String: Int]>([:])
        let counts = Mutex<[Int]>([])
        func scan(_ filesAtOnce: Int) throws {
            reads.withLock { $0 = [:] }
            counts.withLock { $0 = [] }
            _ = try DICOMScanner.scan(
                paths: paths,
                scope: .serial(),
                filesAtOnce: filesAtOnce,
                progress: { done, _ in counts.withLock { $0.append(done) } },
                looking: { paths in if paths.count == 1 { reads.withLock { $0[paths[0], default: 0] += 1 } } },
                each: { _ in }
            )
        }
        try scan(paths.count)
        #expect(reads.withLock { Set($0.values) } == [1])
        try scan(paths.count - 1)
        #expect(reads.withLock { $0.values.filter { $0 == 2 }.count } == paths.count - 2)
        #expect(counts.withLock { $0 } == Array(1...paths.count))
    }
}
