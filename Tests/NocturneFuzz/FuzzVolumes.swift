import NocturneConcurrency
import NocturneCore
import NocturneFormats
import NocturneSystem

/// Volumes and label maps, and surfaces.
enum FuzzVolumes {
    /// More than this is not decoded, as a memory budget would have it.
    static let maximumCount = 1 << 16

    static func volume(_ bytes: UnsafeRawBufferPointer, name: String) -> Bool {
        let path = InputFile.write(bytes, name)
        guard let header = try? VolumeFileReader.readHeader(at: path, acceptsTimeSeries: true),
            header.shape.count <= maximumCount
        else { return true }
        let scope = ComputeScope.serial()
        if let time = header.time {
            _ = try? VolumeFileReader.readVolume(at: path, timePoint: time.count - 1, scope: scope)
        }
        _ = try? VolumeFileReader.readVolume(at: path, scope: scope)
        _ = try? VolumeFileReader.readLabels(at: path, scope: scope)
        return true
    }

    /// With its voxels in the file itself, and with a file of voxels that exists.
    static func nrrd(_ bytes: UnsafeRawBufferPointer) -> Bool {
        _ = InputFile.write([UInt8](repeating: 7, count: 4096), "voxels.raw")
        return volume(bytes, name: "input.nrrd")
    }

    /// A TIFF whose pages are slices, and labels that it has.
    static func stack(_ path: String) {
        guard let shape = try? TIFFStackReader.readHeader(at: path).shape, shape.count <= maximumCount else { return }
        _ = try? TIFFStackReader.readVolume(at: path, scope: .serial())
    }

    static func stl(_ bytes: UnsafeRawBufferPointer) -> Bool {
        _ = try? STLFormat().read("", at: InputFile.write(bytes, "input.stl"), flag: CancellationFlag())
        return true
    }

    /// Every mesh format there is; the seeds call their surface "label".
    static func mesh(_ bytes: UnsafeRawBufferPointer) -> Bool {
        for format in MeshFormats.all {
            _ = try? format.read(
                "label",
                at: InputFile.write(bytes, "input.\(format.name)"),
                flag: CancellationFlag()
            )
        }
        return true
    }
}
