import Foundation
import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem
import NocturneTestSupport
import Testing

@Suite("NIfTI files with several volumes")
struct NIfTITimeSeriesTests {
    private static let count = 4

    private func series(
        _ version: VolumeFileHeader.NIfTIVersion = .nifti1,
        _ order: VolumeFileHeader.ByteOrder = .little
    ) -> HandmadeNIfTI {
        var file = HandmadeNIfTI(version: version, byteOrder: order)
        file.dimensions = [4, 5, 4, 3, Self.count]
        file.pixelDimensions = [1, 0.5, 0.75, 2, 2500]
        (file.units, file.timeOffset) = (2 | 16, 500)
        return file
    }

    private func values(of volume: Int) -> [Double] { (0..<60).map { Double(1000 * volume + $0) } }
    private var allValues: [Double] { (0..<Self.count).flatMap(values) }

    @Test("Each volume is read by itself, in every version, byte order and container", arguments: 0..<6)
    func volumes(container: Int) throws {
        try TemporaryFolder.with { folder in
            for version in VolumeFileHeader.NIfTIVersion.allCases {
                for order in VolumeFileHeader.ByteOrder.allCases {
                    var file = series(version, order)
                    file.isPair = container >= 2
                    let path = try NIfTIReaderTests.write(file, allValues, container, folder)
                    let header = try VolumeFileReader.readHeader(at: path, acceptsTimeSeries: true)
                    #expect(header.shape == VolumeShape(x: 5, y: 4, z: 3))
                    let time = try #require(header.time)
                    #expect(time.count == Self.count && time.step == 2.5 && time.start == 0.5)
                    #expect((header.volumeByteCount, header.storedByteCount) == (120, 480))
                    for volume in [2, 0, 3, 1] {
                        let read = try VolumeFileReader.readVolume(at: path, timePoint: volume, scope: .serial())
                        #expect(read.volume.voxels.array() == values(of: volume).map { Float($0) })
                        #expect(read.header == header)
                    }
                }
            }
        }
    }

    @Test("A file of more than the buffers is read at the right place, plain and compressed")
    func large() throws {
        try TemporaryFolder.with { folder in
            var file = series()
            file.dimensions = [4, 64, 50, 40, 3]
            let count = file.voxelCount
            let bytes = file.file((0..<3 * count).map { Double($0 / count * 100 + $0 % 97) })
            for (name, content) in [("a.nii", bytes), ("b.nii.gz", storedGzip(bytes))] {
                let path = try folder.write(content, to: name).path
                for volume in 0..<3 {
                    let read = try VolumeFileReader.readVolume(at: path, timePoint: volume, scope: .serial())
                    let expected = (0..<count).map { Float(volume * 100 + (volume * count + $0) % 97) }
                    #expect(read.volume.voxels.array() == expected)
                }
            }
        }
    }

    @Test("The time of a volume is known only with a unit and a distance")
    func times() throws {
        func time(_ change: (inout HandmadeNIfTI) -> Void) throws -> VolumeFileHeader.TimeSeries? {
            try TemporaryFolder.with { folder in
                var file = series()
                change(&file)
                let path = try folder.write(file.file(allValues), to: "a.nii").path
                return try VolumeFileReader.readHeader(at: path, acceptsTimeSeries: true).time
            }
        }
        #expect(try time { _ in }?.seconds(at: 3) == 8)
        #expect(try time { $0.units = 2 | 8 }?.seconds(at: 1) == 3000)
        #expect(try time { $0.units = 2 | 24 }?.seconds(at: 2) == 0.0055)
        #expect(try time { $0.units = 2 }?.seconds(at: 1) == nil)
        #expect(try time { $0.pixelDimensions[4] = 0 }?.seconds(at: 1) == nil)
        #expect(try time { $0.pixelDimensions[4] = .nan }?.seconds(at: 1) == nil)
        #expect(try time { $0.timeOffset = .infinity }?.seconds(at: 1) == 2.5)
        #expect(try time { $0.dimensions = [4, 5, 4, 12, 1] } == nil)
        #expect(try time { $0.dimensions = [5, 5, 4, 3, 4, 1] }?.count == 4)
    }

    @Test("What is not a time series is refused by name, and so is a series where one volume is expected")
    func refusals() throws {
        func fault(_ change: (inout HandmadeNIfTI) -> Void) throws -> VolumeFileError? {
            try TemporaryFolder.with { folder in
                var file = series(.nifti2)
                change(&file)
                let path = try folder.write(file.file(allValues), to: "a.nii").path
                return niftiFault { _ = try VolumeFileReader.readVolume(at: path, timePoint: 1, scope: .serial()) }
            }
        }
        #expect(try fault { _ in } == nil)
        #expect(try fault { $0.intentCode = 1007 }?.detail.contains("several values for each voxel") == true)
        #expect(try fault { $0.dimensions = [5, 5, 4, 3, 2, 2] }?.detail.contains("only 3-D volumes") == true)
        #expect(try fault { $0.units = 2 | 40 }?.detail.contains("fourth axis is in ppm") == true)
        #expect(try fault { $0.dimensions[4] = Int.max }?.code == .invalidDimensions)
        #expect(try fault { $0.dimensions[4] = 16_385 }?.code == .invalidDimensions)
        #expect(try fault { $0.dimensions[4] = 16_384 }?.code == .truncated)
        #expect(try fault { $0.dimensions[4] = 1 }?.detail == "has 1 volume, and none of number 1")
        try TemporaryFolder.with { folder in
            let path = try folder.write(series().file(allValues), to: "a.nii").path
            let faults = [
                niftiFault { _ = try VolumeFileReader.readHeader(at: path) },
                niftiFault { _ = try VolumeFileReader.readVolume(at: path, scope: .serial()) },
                niftiFault { _ = try VolumeFileReader.readLabels(at: path, scope: .serial()) },
            ]
            for fault in faults {
                #expect(fault?.code == .notThreeDimensional)
                #expect(fault?.detail == "4-D image (5×4×3×4): more than one volume in the file")
            }
        }
    }

    @Test("A file too short for its last volume is refused whole, and so is a damaged gzip file")
    func short() throws {
        try TemporaryFolder.with { folder in
            let bytes = series().file(allValues)
            let plain = try folder.write(Array(bytes.dropLast(1)), to: "a.nii").path
            let text = niftiFault { _ = try VolumeFileReader.readHeader(at: plain, acceptsTimeSeries: true) }?.detail
            #expect(text == "the voxels end after 479 of 480 bytes")
            var damaged = storedGzip(bytes)
            damaged[damaged.count - 12] ^= 1
            let cut = try folder.write(storedGzip(Array(bytes.dropLast(100))), to: "b.nii.gz").path
            let wrong = try folder.write(damaged, to: "c.nii.gz").path
            let ended = try folder.write(Array(storedGzip(bytes).dropLast(6)), to: "d.nii.gz").path
            for volume in 0..<Self.count {
                func code(_ path: String) -> VolumeFileErrorCode? {
                    niftiFault { _ = try VolumeFileReader.readVolume(at: path, timePoint: volume, scope: .serial()) }?
                        .code
                }
                #expect(code(wrong) == .corruptCompression)
                #expect(code(ended) == .truncated)
                #expect(code(cut) == .truncated)
            }
        }
    }
}
