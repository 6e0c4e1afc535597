import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

/// Writes `files` under the names given, scans them all, and hands over the result while the files still exist.
func withScan<R>(_ files: [String: [UInt8]], _ body: (DICOMScanner.Scan) throws -> R) throws -> R {
    try TemporaryFolder.with("dicom") { folder in
        let paths = try files.map { try folder.write($0.value, to: $0.key).path }
        return try body(try DICOMScanner.scan(paths: paths, scope: .serial()))
    }
}

/// Names `slices` so that neither their order nor their instance numbers show.
func shuffledFiles(_ slices: [TestSlice], _ syntax: TestSlice.Syntax = .explicit) -> [String: [UInt8]] {
    var random = SplitMix64(seed: 7)
    return Dictionary(
        uniqueKeysWithValues: slices.enumerated().map {
            ("\(random.next() % 1000)-\($0.offset)", $0.element.file(syntax))
        }
    )
}

/// The only series of a scan of `slices`.
func onlySeries(_ slices: [TestSlice]) throws -> DICOMSeries {
    try withScan(shuffledFiles(slices)) { scan in
        #expect(scan.rejectedFiles.isEmpty)
        #expect(scan.series.count == 1)
        return try #require(scan.series.first)
    }
}

/// All voxels in storage order.
func voxels(_ volume: Volume) -> [Float] { volume.voxels.withUnsafeBufferPointer { Array($0) } }
