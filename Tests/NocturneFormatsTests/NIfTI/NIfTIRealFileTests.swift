import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("Real NIfTI files against the facts that nibabel found")
struct NIfTIRealFileTests {
    /// What nibabel says about a file; nil for what it could not say.
    struct Facts {
        let path: String
        let shape: [Int]
        let type: String
        let affine: [[Double]]
        let qformCode: Int?
        let sformCode: Int?
        let range: ClosedRange<Double>?
        let mean: Double?

        /// The shape without the ones at its end.
        var essentialShape: [Int] { Array(shape.reversed().drop { $0 == 1 }.reversed()) }
        var isScalar: Bool { !type.hasPrefix("[") && !type.hasPrefix("complex") }
    }

    static func facts(in folder: URL) throws -> [Facts] {
        let data = try Data(contentsOf: folder.appendingPathComponent("facts.json"))
        let root = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        let files = try #require(root["nifti"] as? [String: [String: Any]])
        return files.sorted { $0.key < $1.key }.map { path, entry in
            func numbers(_ value: Any?) -> [Double] { (value as? [NSNumber])?.map(\.doubleValue) ?? [] }
            let least = (entry["min"] as? NSNumber)?.doubleValue
            let most = (entry["max"] as? NSNumber)?.doubleValue
            return Facts(
                path: path,
                shape: numbers(entry["shape"]).map { Int($0) },
                type: entry["dtype"] as? String ?? "",
                affine: (entry["affine"] as? [Any] ?? []).map(numbers),
                qformCode: (entry["qform_code"] as? NSNumber)?.intValue,
                sformCode: (entry["sform_code"] as? NSNumber)?.intValue,
                range: least.flatMap { least in most.map { least...$0 } },
                mean: (entry["mean"] as? NSNumber)?.doubleValue
            )
        }
    }

    @Test("Volumes have nibabel's shape, affine, codes and values; the others are refused")
    func everyFile() throws {
        guard let folder = SharedData.folder else { return }
        var (read, refused) = (0, 0)
        for facts in try Self.facts(in: folder) {
            let path = folder.appendingPathComponent(facts.path).path
            // An image that nibabel does not pair, because only one of the two is compressed.
            let isPair = facts.path.hasSuffix("minimal2.hdr")
            guard facts.isScalar, facts.range != nil || isPair, (2...3).contains(facts.essentialShape.count) else {
                let fault = niftiFault { _ = try VolumeFileReader.readVolume(at: path, scope: .serial()) }
                let expected: [VolumeFileErrorCode] =
                    facts.path.hasSuffix(".mgz") || facts.path.contains("analyze")
                    ? [.notNIfTI]
                    : facts.range == nil && facts.isScalar
                        ? [.unreadable] : [.notThreeDimensional, .unsupportedDataType]
                #expect(fault.map { expected.contains($0.code) } == true, "\(facts.path): \(String(describing: fault))")
                refused += 1
                continue
            }
            let result = try VolumeFileReader.readVolume(at: path, assumesOrientation: true, scope: .serial())
            let header = result.header
            let sizes = facts.essentialShape + (facts.essentialShape.count == 2 ? [1] : [])
            #expect([header.shape.x, header.shape.y, header.shape.z] == sizes, "\(facts.path)")
            #expect(header.qformCode == facts.qformCode && header.sformCode == facts.sformCode, "\(facts.path)")
            let found = header.geometry.affine.rows.prefix(3).joined()
            #expect(allClose(Array(found), facts.affine.flatMap { $0 }, absolute: 1e-4), "\(facts.path)")
            if let range = facts.range, let mean = facts.mean {
                // nibabel's facts pass over NaN, which one of the files holds.
                let values = result.volume.voxels.array().filter(\.isFinite)
                #expect(values.count + result.nonFiniteCount == header.shape.count)
                let sum = values.reduce(0.0) { $0 + Double($1) }
                let scale = max(abs(range.lowerBound), abs(range.upperBound))
                #expect(isClose(Double(values.min() ?? 0), range.lowerBound, absolute: 1e-4 + 1e-6 * scale))
                #expect(isClose(Double(values.max() ?? 0), range.upperBound, absolute: 1e-4 + 1e-6 * scale))
                #expect(isClose(sum / Double(values.count), mean, absolute: 1e-4 + 1e-6 * scale), "\(facts.path)")
            }
            read += 1
        }
        print("notice: \(read) real NIfTI volumes agree, \(refused) other files are refused")
    }

    @Test("An extension of a real file is kept")
    func realExtension() throws {
        guard let url = SharedData.url("nifti-odd/nifti-reader-js/with_extension.nii.gz") else { return }
        let header = try VolumeFileReader.readHeader(at: url.path)
        #expect(header.dataOffset == 736)
        let bytes = header.extensions.reduce(0) { $0 + $1.bytes.count + 8 }
        #expect(bytes == 736 - 352)
    }

    @Test(
        "The q-form of rotated scans agrees with their s-form",
        arguments: [
            "nifti-ct-mr/niivue/CT_pitch.nii.gz", "nifti-ct-mr/niivue/chris_MRA.nii.gz",
            "nifti-ct-mr/niivue/fmri_pitch.nii.gz", "nifti-odd/nibabel/someones_epi.nii.gz", "mr-12bit/ref/2.nii",
            "transfer-syntaxes/mr-mosaic-9-ref.nii",
        ]
    )
    func formsAgree(name: String) throws {
        guard let url = SharedData.url(name) else { return }
        let header = try VolumeFileReader.readHeader(at: url.path)
        #expect(header.qform != nil && header.sform != nil && header.qform != header.sform)
        #expect(!header.formsDisagree)
    }

    @Test("The phantom counts up along its axes")
    func orientation() throws {
        guard let url = SharedData.url("orientation-phantom/orientation.nii.gz") else { return }
        let volume = try VolumeFileReader.readVolume(at: url.path, scope: .serial()).volume
        let shape = volume.geometry.shape
        #expect(volume.geometry.orientationCode == "LPS")
        for (i, j, k) in [(0, 0, 0), (31, 0, 0), (0, 47, 0), (0, 0, 63), (5, 6, 7)] {
            #expect(volume.voxels[shape.offset(i, j, k)] == Float(i + j + k))
        }
    }

    @Test("Files that once crashed other readers are refused")
    func crashers() throws {
        guard let folder = SharedData.url("fuzz/nifti") else { return }
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
            let path = folder.appendingPathComponent(name).path
            #expect(niftiFault { _ = try VolumeFileReader.readVolume(at: path, scope: .serial()) } != nil, "\(name)")
        }
    }

    @Test("Segmentations written again are the same label maps")
    func rewritten() throws {
        guard let url = SharedData.url("nifti-ct-mr/totalseg/example_seg.nii.gz") else { return }
        try TemporaryFolder.with { folder in
            let (header, labels) = try VolumeFileReader.readLabels(at: url.path, scope: .serial())
            let path = folder("again.nii.gz").path
            try NIfTIWriter.writeLabels(
                labels,
                names: [],
                forms: NIfTIForms(of: header),
                to: path,
                scope: .serial()
            )
            let again = try VolumeFileReader.readLabels(at: path, scope: .serial())
            #expect(again.labels.voxels.array() == labels.voxels.array())
            #expect(again.header.geometry == header.geometry)
            #expect((again.header.qformCode, again.header.sformCode) == (header.qformCode, header.sformCode))
        }
    }
}
