import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

/// Against pydicom and dcm2niix on public files; without the shared data nothing is checked, and a notice says so.
@Suite("Real DICOM series agree with pydicom and dcm2niix")
struct SharedSeriesTests {
    static let volumes = [
        "compressed-mr/compressed_j2k", "compressed-mr/compressed_jpeg", "compressed-mr/compressed_jpegls",
        "compressed-mr/compressed_rle", "ct-body-j2k/dicom",
        "ct-irregular/two-slices-only", "mr-classic/anisotropic-pixels-rescaled", "mr-classic/hitachi-oblique",
        "mr-classic/philips-cor", "mr-classic/siemens-sag", "orientation-phantom/dicom",
        "pydicom-dicomdir/98892001/CT5N", "rtstruct/ct-phantom-2slices", "rtstruct/oblique-ct-3slices",
        "rtstruct/sts002/CT/image", "rtstruct/sts002/MR_T1/image", "rtstruct/sts002/PET/image",
        "seg-dcmqi/23x38x3/image", "seg-dcmqi/24x38x3/image", "seg-dcmqi/ct-3slice",
    ]

    @Test("volumes have pydicom's values and place", arguments: volumes)
    func volume(folder: String) throws {
        guard let files = sharedFiles(folder), let facts = DICOMFacts.all?[folder] else { return }
        let scan = try DICOMScanner.scan(paths: files, scope: .serial())
        let found = scan.series.filter { $0.problem == nil }
        var expected = facts.filter { $0.modality != "RTSTRUCT" && $0.modality != "SEG" }
        #expect(found.count == expected.count)
        for series in found {
            let geometry = try #require(series.geometry)
            let stored = try series.slices.map { try DICOMReader.storedValues(of: $0) }
            let digest = DICOMFacts.digest(stored)
            let place = try #require(expected.firstIndex { $0.pixelDigest == digest } ?? expected.indices.first)
            let fact = expected.remove(at: place)
            #expect(digest == fact.pixelDigest)
            #expect(fact.files == series.slices.count)
            #expect(stored.joined().min().map(Double.init) == fact.storedMinimum)
            #expect(stored.joined().max().map(Double.init) == fact.storedMaximum)
            let values = voxels(try DICOMReader.readVolume(series, scope: .serial()))
            let mean = values.reduce(0.0) { $0 + Double($1) } / Double(values.count)
            #expect(abs(mean - (fact.rescaledMean ?? .nan)) < 1e-3)
            let affine = Affine(rows: try #require(fact.affine))
            // Four digits of each number: half of the last one a step.
            let tolerance = 1e-4 * Double(geometry.shape.x + geometry.shape.y + geometry.shape.z)
            let isAlike = geometry.matches(VolumeGeometry(shape: geometry.shape, affine: affine), tolerance: tolerance)
            #expect(isAlike, "\(geometry.affine.rows) against \(affine.rows)")
        }
    }

    /// Frames and tiles: the same box, and the same mean over all that is read.
    static let severalInOne = [
        "mr-mosaic/axasc36", "mr-mosaic/corasc36", "mr-mosaic/sagint35", "mr-enhanced/philips-fieldmap",
        "mr-enhanced/siemens-multiframe", "mr-enhanced/siemens-xa10-4d",
    ]

    /// Not Philips: there dcm2niix takes the scanner's private scale instead of RescaleSlope.
    @Test(
        "frames and tiles have the values dcm2niix gives",
        arguments: severalInOne.filter { !$0.contains("philips") }
    )
    func means(folder: String) throws {
        guard let files = sharedFiles(folder), let means = DICOMFacts.convertedMeans[folder], !means.isEmpty else {
            return
        }
        let scan = try DICOMScanner.scan(paths: files, scope: .serial())
        var sum = 0.0
        var count = 0
        for series in scan.series where series.problem == nil {
            let values = voxels(try DICOMReader.readVolume(series, scope: .serial()))
            sum += values.reduce(0.0) { $0 + Double($1) }
            count += values.count
        }
        let expected: Double = means.reduce(0, +) / Double(means.count)
        #expect(count > 0)
        #expect(abs(sum / Double(max(count, 1)) - expected) < 1e-3 * max(1, abs(expected)))
    }

    @Test("every folder is read or refused, and what is refused says why")
    func outcomes() throws {
        guard let root = SharedData.url("README.md")?.deletingLastPathComponent().path,
            let files = sharedFiles("", deep: true)
        else { return }
        let folders = Dictionary(grouping: files.filter { !$0.contains("/fuzz/") }) { path in
            (path as NSString).deletingLastPathComponent
        }
        for (folder, paths) in folders.sorted(by: { $0.key < $1.key }) {
            let scan = try DICOMScanner.scan(paths: paths, scope: .serial())
            for series in scan.series {
                let shape = series.geometry.map { "\($0.shape)" } ?? "-"
                var outcome = series.problem.map { "refused, \($0.code)" } ?? "read"
                if series.problem == nil {
                    do {
                        _ = try DICOMReader.readVolume(series, scope: .serial())
                    } catch let error as DICOMReadError {
                        outcome = "not decoded, \(error.code)"
                        #expect(!error.detail.isEmpty)
                    }
                }
                print("outcome: \(folder.dropFirst(root.count)) \(series.modality) \(shape) \(outcome)")
            }
            for aside in scan.rejectedFiles {
                print("outcome: \(aside.path.dropFirst(root.count)) set aside, \(aside.reason.code)")
            }
        }
    }

    @Test("volumes fill the same box in space as dcm2niix's", arguments: volumes + severalInOne)
    func box(folder: String) throws {
        guard let files = sharedFiles(folder), let outputs = DICOMFacts.converted[folder], !outputs.isEmpty else {
            return
        }
        let scan = try DICOMScanner.scan(paths: files, scope: .serial())
        for series in scan.series where series.problem == nil {
            let geometry = try #require(series.geometry)
            let own = corners(geometry)
            let nearest =
                outputs.map { output in
                    let affine = Affine(rows: output.affine)
                    let shape = VolumeShape(x: output.shape[0], y: output.shape[1], z: output.shape[2])
                    let others = corners(VolumeGeometry(shape: shape, affine: affine))
                    return own.map { corner in others.map { length($0 - corner) }.min() ?? .infinity }.max()
                        ?? .infinity
                }.min() ?? .infinity
            let reach = Double(geometry.shape.x + geometry.shape.y + geometry.shape.z)
            #expect(nearest < 0.02 + 1e-4 * reach, "\(nearest) mm")
        }
    }

    @Test(
        "every decoder gives the same volume on any number of threads",
        arguments: ["compressed_j2k", "compressed_jpeg", "compressed_jpegls", "compressed_rle"]
    )
    func threads(folder: String) async throws {
        guard let files = sharedFiles("compressed-mr/\(folder)") else { return }
        let results = try await resultsForWidths { scope in
            let scan = try DICOMScanner.scan(paths: files, scope: scope)
            return try scan.series.map { voxels(try DICOMReader.readVolume($0, scope: scope)) }
        }
        #expect(results[0].count == 1)
        #expect(results.allSatisfy { $0 == results[0] })
    }

    static let refusals: [(folder: String, codes: Set<DICOMReadError.Code>)] = [
        ("compressed-mr/rgb_j2k", [.notAnImageClass]),
        ("ct-irregular/gantry-tilt-real", [.sheared]),
        ("ct-irregular/scout", [.localizer]),
        ("ct-irregular/tilt-and-step-varies", [.missingSlices]),
        ("mr-classic/ge-single-slice", [.singleSlice]),
        ("mr-classic/nibabel-nicom", [.derived, .singleSlice]),
        ("pydicom-dicomdir/77654033/CR1", [.notAnImageClass]),
        ("pydicom-dicomdir/77654033/CT2", [.missingSlices]),
        ("pydicom-dicomdir/98892001/CT2N", [.localizer]),
        ("pydicom-dicomdir/98892003/MR1", [.singleSlice]),
        ("pydicom-dicomdir/98892003/MR2", [.singleSlice, .localizer]),
        ("pydicom-dicomdir/98892003/MR700", [.derived]),
        ("rtstruct/without-images", [.notAnImageClass]),
        ("seg-dcmqi/23x38x3/seg", [.notAnImageClass]),
    ]

    @Test("what is no volume is set aside for the right reason", arguments: refusals.indices)
    func refusal(index: Int) throws {
        let (folder, codes) = Self.refusals[index]
        guard let files = sharedFiles(folder) else { return }
        let scan = try DICOMScanner.scan(paths: files, scope: .serial())
        #expect(!scan.series.isEmpty && scan.rejectedFiles.isEmpty)
        #expect(Set(scan.series.map { $0.problem?.code }) == Set(codes.map { $0 }))
    }

    @Test("directories of media are set aside as such")
    func mediaDirectories() throws {
        guard let files = sharedFiles("pydicom-dicomdir") else { return }
        let scan = try DICOMScanner.scan(paths: files, scope: .serial())
        let directories = files.filter { $0.contains("DICOMDIR") }.sorted()
        #expect(scan.rejectedFiles.filter { $0.reason.code == .mediaDirectory }.map(\.path) == directories)
    }
}
