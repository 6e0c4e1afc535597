import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("NIfTI files that must be refused")
struct NIfTIHostileTests {
    private func fault(_ bytes: [UInt8], _ name: String = "a.nii") throws -> VolumeFileError? {
        try TemporaryFolder.with { folder in
            let path = try folder.write(bytes, to: name).path
            return niftiFault { _ = try VolumeFileReader.readVolume(at: path, scope: .serial()) }
        }
    }

    private func fault(_ change: (inout HandmadeNIfTI) -> Void) throws -> VolumeFileError? {
        var file = HandmadeNIfTI()
        change(&file)
        return try fault(file.header() + [UInt8](repeating: 0, count: 4096))
    }

    @Test("A file cut anywhere is refused", arguments: VolumeFileHeader.NIfTIVersion.allCases)
    func everyPrefix(version: VolumeFileHeader.NIfTIVersion) throws {
        try TemporaryFolder.with { folder in
            let file = HandmadeNIfTI(version: version)
            let whole = file.file((0..<file.voxelCount).map(Double.init))
            let zipped = storedGzip(whole)
            for (bytes, name) in [(whole, "a.nii"), (zipped, "a.nii.gz")] {
                let url = folder(name)
                for count in 0..<bytes.count {
                    try FileSystem.write(url.path, Array(bytes[..<count]))
                    let fault = niftiFault { _ = try VolumeFileReader.readVolume(at: url.path, scope: .serial()) }
                    // One byte of gzip's two is not gzip yet.
                    #expect(fault?.code == .truncated, "\(count) bytes of \(name)")
                }
                try FileSystem.write(url.path, bytes)
                #expect(niftiFault { _ = try VolumeFileReader.readVolume(at: url.path, scope: .serial()) } == nil)
            }
            let short = try folder.write(Array(whole.dropLast(3)), to: "b.nii").path
            let text = niftiFault { _ = try VolumeFileReader.readHeader(at: short) }?.description
            #expect(text == "\(short): the voxels end after 117 of 120 bytes")
        }
    }

    @Test("Damage in a gzip stream is found by its checksum")
    func corruptGzip() throws {
        let file = HandmadeNIfTI()
        let zipped = storedGzip(file.file((0..<file.voxelCount).map(Double.init)))
        for place in [15 + 360, zipped.count - 8, zipped.count - 1] {
            var bytes = zipped
            bytes[place] ^= 0x10
            #expect(try fault(bytes, "a.nii.gz")?.code == .corruptCompression, "byte \(place)")
        }
    }

    @Test("What is no NIfTI file is refused by what it is")
    func foreign() throws {
        let text = try #require(try fault(Array("<html>Moved</html>".utf8), "a.nii.gz"))
        #expect(text.code == .notNIfTI)
        #expect(text.detail == "not a NIfTI file: it begins like a web page (HTML)")
        // Whatever it is, nothing of it is shown: it may be another file, behind a link.
        let secret = try #require(try fault(Array("root:x:0:0:root:/root:/bin/bash".utf8)))
        #expect(!secret.description.contains("root"))
        #expect(try fault([])?.detail == "the file is empty")
        #expect(try fault([UInt8](repeating: 7, count: 1000))?.code == .notNIfTI)
        #expect(try fault(storedGzip([UInt8](repeating: 7, count: 1000)))?.code == .notNIfTI)
        var analyze = HandmadeNIfTI().header()
        analyze.replaceSubrange(344..<348, with: [0, 0, 0, 0])
        #expect(try fault(analyze)?.detail.contains("Analyze") == true)
        var translated = HandmadeNIfTI(version: .nifti2).header()
        translated.replaceSubrange(8..<12, with: [10, 26, 10, 0])
        #expect(try fault(translated)?.code == .notNIfTI)
    }

    @Test("What is not there, a folder, or half a pair cannot be read")
    func unreadable() throws {
        try TemporaryFolder.with { folder in
            func fault(_ path: String) -> VolumeFileError? {
                niftiFault { _ = try VolumeFileReader.readHeader(at: path) }
            }
            #expect(fault(folder("none.nii").path)?.detail == "cannot be opened: No such file or directory")
            #expect(fault(folder.path)?.detail == "is not a regular file")
            let pair = HandmadeNIfTI(isPair: true)
            let header = try folder.write(pair.header(), to: "alone.hdr").path
            #expect(fault(header)?.code == .unreadable)
            #expect(fault(header)?.detail.contains("Put alone.img next to alone.hdr") == true)
            let image = try folder.write([0], to: "lonely.img").path
            #expect(fault(image)?.detail.contains("Put lonely.hdr next to lonely.img") == true)
            try folder.write([0, 0], to: "alone.img")
            #expect(fault(header)?.code == .truncated)
            let pipe = folder("pipe.nii").path
            #expect(mkfifo(pipe, 0o600) == 0)
            #expect(fault(pipe)?.detail == "is not a regular file")
        }
    }

    @Test(
        "Other voxel types are refused by name",
        arguments: [
            (1, "binary"), (32, "complex64"), (128, "RGB24"), (1536, "float128"), (1792, "complex128"),
            (2048, "complex256"), (2304, "RGBA32"), (0, "unknown"), (77, "code 77"), (-4, "code -4"),
        ]
    )
    func types(code: Int, name: String) throws {
        let fault = try fault { $0.dataType = code }
        #expect(fault?.code == .unsupportedDataType)
        #expect(fault?.detail == "voxels of type \(name) are not supported")
    }

    @Test(
        "Dimensions that make no volume are refused",
        arguments: [
            ([0, 5, 4, 3], VolumeFileErrorCode.invalidDimensions), ([8, 5, 4, 3], .invalidDimensions),
            ([-1, 5, 4, 3], .invalidDimensions), ([3, 0, 4, 3], .invalidDimensions),
            ([3, 5, -4, 3], .invalidDimensions),
            ([4, 5, 4, 3, 0], .invalidDimensions), ([3, 32767, 32767, 32767], .invalidDimensions),
            ([1, 5, 4, 3], .notThreeDimensional),
            ([4, 5, 4, 3, 2], .notThreeDimensional), ([5, 5, 4, 3, 1, 3], .notThreeDimensional),
            ([3, 2000, 2000, 2000], .truncated),
        ]
    )
    func dimensions(dimensions: [Int], code: VolumeFileErrorCode) throws {
        #expect(try fault { $0.dimensions = dimensions }?.code == code)
    }

    @Test(
        "An image of one slice is read, with two axes or with one that has a single voxel",
        arguments: [([2, 5, 4, 3], [5, 4, 1]), ([3, 5, 4, 1], [5, 4, 1]), ([3, 1, 5, 4], [1, 5, 4])]
    )
    func slices(dimensions: [Int], sizes: [Int]) throws {
        let file = HandmadeNIfTI(dimensions: dimensions)
        try TemporaryFolder.with { folder in
            let path = try folder.write(file.file([Double](repeating: 0, count: file.voxelCount)), to: "slice.nii").path
            let shape = try VolumeFileReader.readHeader(at: path, assumesOrientation: true).shape
            #expect([shape.x, shape.y, shape.z] == sizes)
        }
    }

    @Test("CIFTI files are called what they are")
    func cifti() throws {
        let matrix = HandmadeNIfTI(version: .nifti2, dimensions: [6, 1, 1, 1, 1, 7, 12], intentCode: 3002)
        let fault = try fault(matrix.header())
        #expect(fault?.code == .notThreeDimensional)
        #expect(fault?.detail.hasPrefix("a CIFTI file (intent code 3002)") == true)
    }

    @Test("Sizes that overflow, and gzip files that cannot hold them, are refused before memory is taken")
    func absurd() throws {
        let huge = HandmadeNIfTI(version: .nifti2, dimensions: [3, Int.max, Int.max, 4])
        #expect(try fault(huge.header())?.code == .invalidDimensions)
        let large = HandmadeNIfTI(dimensions: [3, 2000, 2000, 2000])
        let refusal = try fault(storedGzip(large.header()), "a.nii.gz")
        #expect(refusal?.code == .truncated)
        #expect(refusal?.detail.contains("cannot hold the 16000000000 bytes") == true)
        for offset in [-1, 100, Double(Int64.max)] {
            let misplaced = HandmadeNIfTI(version: .nifti2, dataOffset: min(offset, 0x1p62))
            #expect(try fault(misplaced.header())?.code == .invalidDataOffset)
        }
        #expect(try fault { $0.dataOffset = .nan }?.code == .invalidDataOffset)
        #expect(try fault { $0.dataOffset = 1e30 }?.code == .invalidDataOffset)
    }

    @Test("Spacing that is zero or not finite is refused", arguments: [0, .nan, .infinity])
    func spacing(value: Double) throws {
        for axis in 1...3 {
            #expect(try fault { $0.pixelDimensions[axis] = value }?.code == .invalidSpacing)
        }
    }

    @Test("An affine that is singular or not finite is refused")
    func affine() throws {
        #expect(try fault { $0.sform[1][3] = .nan }?.code == .invalidAffine)
        #expect(try fault { $0.sform[2] = $0.sform[1] }?.code == .invalidAffine)
        #expect(try fault { $0.sform = $0.sform.map { _ in [0, 0, 0, 0] } }?.code == .invalidAffine)
        #expect(try fault { $0.sform[1][1] = 1e38 }?.code == .invalidAffine)
        #expect(
            try fault {
                ($0.qformCode, $0.sformCode) = (1, 0)
                $0.quaternion[0] = .nan
            }?.code == .invalidAffine
        )
        #expect(
            try fault {
                $0.slope = 2
                $0.intercept = .nan
            }?.code == .invalidScaling
        )
    }

    @Test("Of two forms the usable one is taken, with a note")
    func oneUsableForm() throws {
        try TemporaryFolder.with { folder in
            var file = HandmadeNIfTI()
            (file.qformCode, file.sformCode) = (1, 2)
            let values = [Double](repeating: 1, count: file.voxelCount)
            let both = try VolumeFileReader.readHeader(at: folder.write(file.file(values), to: "a.nii").path)
            let (qform, sform) = (try #require(both.qform), try #require(both.sform))
            file.sform = file.sform.map { _ in [0, 0, 0, 0] }
            let zeros = try VolumeFileReader.readHeader(at: folder.write(file.file(values), to: "b.nii").path)
            #expect(zeros.geometry.affine == qform && zeros.sform == nil)
            #expect(
                zeros.notes.texts == ["the s-form affine is singular: its axes lie in one plane; the q-form is used"]
            )
            file = HandmadeNIfTI()
            (file.qformCode, file.sformCode) = (1, 2)
            file.quaternion[0] = .nan
            let broken = try VolumeFileReader.readHeader(at: folder.write(file.file(values), to: "c.nii").path)
            #expect(broken.geometry.affine == sform && broken.qform == nil)
            #expect(broken.notes.texts == ["the q-form affine holds numbers that are not finite; the s-form is used"])
            file.sform = file.sform.map { _ in [0, 0, 0, 0] }
            let fault = niftiFault {
                _ = try VolumeFileReader.readHeader(at: folder.write(file.file(values), to: "d.nii").path)
            }
            #expect(fault?.code == .invalidAffine)
            #expect(
                fault?.description.contains("singular") == true && fault?.description.contains("not finite") == true
            )
        }
    }

    @Test("A thousand random damages are refused or read, never more")
    func fuzz() throws {
        try TemporaryFolder.with { folder in
            var generator = SplitMix64(seed: 17)
            let url = folder("a.nii")
            for round in 0..<1000 {
                var file = HandmadeNIfTI(version: round & 1 == 0 ? .nifti1 : .nifti2)
                file.extensions = [VolumeFileHeader.Extension(code: 6, bytes: [UInt8](repeating: 32, count: 8))]
                var bytes = file.file((0..<file.voxelCount).map(Double.init))
                if round & 2 != 0 { bytes = storedGzip(bytes) }
                for _ in 0..<(1 + round % 4) {
                    bytes[Int(generator.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: generator.next())
                }
                try FileSystem.write(url.path, bytes)
                do {
                    let read = try VolumeFileReader.readVolume(at: url.path, scope: .serial())
                    #expect(read.volume.voxels.count == read.header.shape.count)
                } catch let fault as VolumeFileError {
                    #expect(fault.description.hasPrefix(url.path))
                }
            }
        }
    }
}
