import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

/// Single objects of the shared data; without it nothing is checked, and a notice says so.
@Suite("Real DICOM objects of all transfer syntaxes")
struct SharedObjectTests {
    /// Lossy streams whose last bit hangs on the decoder's rounding; compared by range and mean only.
    static let lossy = ["1.2.840.10008.1.2.4.50", "1.2.840.10008.1.2.4.51", "1.2.840.10008.1.2.4.91"]

    @Test(
        "stored values are pydicom's",
        arguments: ["transfer-syntaxes/ct-512", "transfer-syntaxes/mr-mosaic-9", "pydicom-small", "mr-12bit/in"]
    )
    func storedValues(folder: String) throws {
        guard let files = sharedFiles(folder), let all = DICOMFacts.all else { return }
        var compared = 0
        for path in files.sorted() {
            let name = (path as NSString).lastPathComponent
            guard let fact = all["\(folder)/\(name)"]?.first, let digest = fact.pixelDigest, fact.samples == 1,
                fact.bitsAllocated != 1, (fact.storedMaximum ?? 0) < 16_777_216.0
            else { continue }
            let object = try DICOMObject.readHeader(path: path)
            let frames = try (0..<(fact.frames ?? 1)).map { try DICOMReader.storedValues(of: object, frame: $0) }
            let values = Array(frames.joined())
            compared += 1
            if object.pixelKind == .float || object.pixelKind == .double {
                // Doubles do not fit a Float's digits.
                if object.pixelKind == .float { #expect(DICOMFacts.realDigest(frames) == digest, "\(name)") }
                continue
            }
            if Self.lossy.contains(object.transferSyntaxUID) {
                let mean = values.reduce(0.0) { $0 + Double($1) } / Double(values.count)
                let output = mean * (object.plane.rescaleSlope ?? 1) + (object.plane.rescaleIntercept ?? 0)
                #expect(
                    abs(output - (fact.rescaledMean ?? .nan)) < 0.01 * abs(object.plane.rescaleSlope ?? 1),
                    "\(name)"
                )
                #expect(abs(Double(values.min() ?? 0) - (fact.storedMinimum ?? .nan)) <= 1, "\(name)")
                #expect(abs(Double(values.max() ?? 0) - (fact.storedMaximum ?? .nan)) <= 1, "\(name)")
            } else {
                #expect(DICOMFacts.digest(frames) == digest, "\(name)")
            }
        }
        print("notice: \(compared) objects of \(folder) compared")
        #expect(compared > 0)
    }

    @Test(
        "12-bit lossy JPEG, which pydicom does not decode, gives SimpleITK's Hounsfield units",
        arguments: ["JPEGProcess10_12", "JPEGProcess2_4", "JPEGProcess6_8"]
    )
    func twelveBitJPEG(name: String) throws {
        guard let files = sharedFiles("transfer-syntaxes/ct-512") else { return }
        let path = try #require(files.first { $0.contains(name) })
        let object = try DICOMObject.readHeader(path: path)
        let slope = try #require(object.plane.rescaleSlope)
        let values = try DICOMReader.storedValues(of: object).map {
            Double($0) * slope + (object.plane.rescaleIntercept ?? 0)
        }
        let mean: Double = values.reduce(0, +) / Double(values.count)
        #expect(isClose(values.min() ?? 0, -3052.88, absolute: 0.01))
        #expect(isClose(values.max() ?? 0, 1369.66, absolute: 0.01))
        #expect(isClose(mean, -950.109, absolute: 0.001))
    }

    @Test("no corrupt file does harm", arguments: ["fuzz/dicom", "pydicom-small"])
    func corruptFiles(folder: String) throws {
        guard let files = sharedFiles(folder, deep: true) else { return }
        let scan = try DICOMScanner.scan(paths: files, scope: .serial())
        let inSeries = Set(scan.series.flatMap { $0.slices.map(\.path) })
        #expect(inSeries.count + scan.rejectedFiles.count + scan.notDICOM.count <= files.count)
        for aside in scan.rejectedFiles { #expect(!aside.reason.detail.isEmpty && aside.reason.path == aside.path) }
        for series in scan.series {
            #expect((series.problem == nil) == (series.geometry != nil))
            _ = try? DICOMReader.readVolume(series, scope: .serial())
            for object in series.slices { _ = try? DICOMReader.storedValues(of: object) }
        }
    }
}
